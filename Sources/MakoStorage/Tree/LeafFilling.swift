import CPlatform

// Filling a leaf with ascending keys. Until it is closed it is the last of its level and has no upper fence. The
// entries of a byte leaf nevertheless leave out the prefix that they share with its lower fence, so that the leaf takes
// as many entries as it can hold when closed.

extension IntegerLayout {
    static func formatLeaf(_ page: Page, lower: UInt64) {}

    @inline(__always)
    static func isBehind(_ page: Page, _ key: UInt64) -> Bool {
        let count = page.count
        return count == 0 || IntegerNode.keys(page.base)[count &- 1] < key
    }

    @inline(__always)
    static func append(_ page: Page, _ key: UInt64, _ value: RecordView, scratch: Page) -> Bool {
        guard IntegerNode.fits(page.base, valueBytes: value.count) else { return false }
        IntegerNode.insert(page.base, at: page.count, key: key, value: value, scratch: scratch.base)
        return true
    }

    static func close(_ page: Page, before key: UInt64, scratch: Scratch) -> UInt64? { key }

    static func closeLast(_ page: Page, scratch: Scratch) -> Bool { true }
}

extension ByteLayout {
    static func formatLeaf(_ page: Page, lower: KeyBytes) {
        ByteNode.setFences(page.base, lower: lower, upper: nil)
        // The first key determines how much of the fence is shared.
        page.prefix = lower.count
    }

    static func isBehind(_ page: Page, _ key: KeyBytes) -> Bool {
        let count = page.count
        guard count > 0 else { return true }
        let shared = KeyBytes(rebasing: ByteNode.lower(page.base)[..<page.prefix])
        let order = ByteNode.compare(KeyBytes(rebasing: key.prefix(shared.count)), shared)
        guard order == 0 else { return order > 0 }
        let suffix = ByteNode.suffix(page.base, count - 1, count: count)
        return ByteNode.compare(suffix, KeyBytes(rebasing: key[shared.count...])) < 0
    }

    static func append(_ page: Page, _ key: KeyBytes, _ value: RecordView, scratch: Page) -> Bool {
        let shared = KeyBytes(rebasing: ByteNode.lower(page.base)[..<page.prefix])
        let isShared = ByteNode.compare(KeyBytes(rebasing: key.prefix(shared.count)), shared) == 0
        if !isShared, !shorten(page, to: common(shared, key), key, value, scratch: scratch) { return false }
        let needed = key.count - page.prefix + value.count + ByteNode.entryOverhead + fenceBytes(behind: key)
        guard ByteNode.gap(page.base) + page.garbage >= needed else { return false }
        ByteNode.insert(page.base, at: page.count, key: key, value: value, scratch: scratch.base)
        return true
    }

    /// Returns the most bytes that the separator before the next key may need.
    private static func fenceBytes(behind key: KeyBytes) -> Int { key.count + 1 }

    /// Re-encodes the entries with another prefix, if they and one more entry then fit.
    private static func shorten(
        _ page: Page, to prefix: Int, _ key: KeyBytes, _ value: RecordView, scratch: Page
    ) -> Bool {
        let count = page.count
        let needed = key.count - prefix + value.count + ByteNode.entryOverhead + fenceBytes(behind: key)
        guard
            ByteNode.lower(page.base).count + ByteNode.entryBytes(page.base, 0..<count, prefix: prefix) + needed
                <= leafRoom
        else { return false }
        memcpy(scratch.base, page.base, pageBytes)
        ByteNode.setFences(page.base, lower: ByteNode.lower(scratch.base), upper: nil)
        page.prefix = prefix
        ByteNode.copyEntries(page.base, from: scratch.base, 0..<count, key: scratch.base)
        return true
    }

    static func close(_ page: Page, before key: KeyBytes, scratch: Scratch) -> KeyBytes? {
        let count = page.count
        let prefix = page.prefix
        let last = KeyBytes(start: scratch.key, count: ByteNode.copyKey(page.base, count - 1, to: scratch.key))
        let memory = scratch.separator(0)
        memcpy(memory, key.baseAddress.unsafelyUnwrapped, key.count)
        var separator = KeyBytes(start: memory, count: separatorLength(last, key))
        let shared = ByteNode.commonPrefix(ByteNode.lower(page.base), separator)
        if shared != prefix {
            if fits(page, keeping: 0..<count, lower: nil, upper: separator) {
                trim(page, keeping: 0..<count, lower: nil, upper: separator, scratch: scratch)
                return separator
            }
            // The common prefix became too short for the entries to fit. Use a longer separator that keeps the prefix.
            guard let place = (prefix..<max(prefix, last.count)).first(where: { last[$0] < 0xff }) else { return nil }
            memcpy(memory, scratch.key, place)
            memory.storeBytes(of: last[place] + 1, toByteOffset: place, as: UInt8.self)
            separator = KeyBytes(start: memory, count: place + 1)
        }
        ByteNode.writeUpperFence(page.base, separator, scratch: scratch.page.base)
        return separator
    }

    static func closeLast(_ page: Page, scratch: Scratch) -> Bool {
        guard page.prefix > 0 else { return true }
        let entries = 0..<page.count
        guard fits(page, keeping: entries, lower: nil, upper: nil) else { return false }
        trim(page, keeping: entries, lower: nil, upper: nil, scratch: scratch)
        return true
    }
}
