@testable import MakoStorage

/// Passes single pages to the operations on pages, which a file with such pages would never pass to them. Whatever the
/// bytes: a typed error, or a result that keeps the promises named here. A broken promise is returned as text.
enum PageProbe {
    /// Takes a page: when its check lets it pass, every search, read and change of it stays inside, and the changed page passes again; a
    /// header block or meta that is accepted, written again, reads as the same.
    ///
    /// - Parameter bytes: the page, cut or filled up with zeros to its size.
    /// - Returns: what is wrong with Mako; nil for nothing.
    static func page(_ bytes: [UInt8], key: UInt64, word: [UInt8]) -> String? {
        withUnsafeTemporaryAllocation(byteCount: pageBytes * 2, alignment: 16) { memory in
            guard let page = memory.baseAddress else { return nil }
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory.copyBytes(from: bytes.prefix(pageBytes))
            let scratch = page + pageBytes
            let type = PageType(rawValue: Page(page).type)
            if type == .header { return header(page, scratch) }
            if type == .meta { return meta(page, scratch) }
            do throws(StorageError) { try PageCheck.validate(page) } catch { return nil }
            return word.withUnsafeBytes { word in
                let word = addressed(UnsafeRawBufferPointer(rebasing: word.prefix(Limits.keyBytes)))
                switch type {
                case .integerLeaf: return leaf(IntegerLayout.self, Page(page), key, word, Page(scratch))
                case .byteLeaf where isBetweenFences(page, word):
                    return leaf(ByteLayout.self, Page(page), word, word, Page(scratch))
                case .integerInner: return inner(IntegerLayout.self, Page(page), key)
                case .byteInner where isBetweenFences(page, word): return inner(ByteLayout.self, Page(page), word)
                default: return nil
                }
            }
        }
    }

    private static func header(_ page: UnsafeMutableRawPointer, _ scratch: UnsafeMutableRawPointer) -> String? {
        PageCodec.header.seal(page, number: 0)
        guard case .good(let header) = FileHeader.read(page, copy: 0) else { return nil }
        header.write(to: scratch, copy: 1)
        guard case .good(header) = FileHeader.read(scratch, copy: 1) else {
            return "what was written of a header block reads as something else"
        }
        return nil
    }

    private static func meta(_ page: UnsafeMutableRawPointer, _ scratch: UnsafeMutableRawPointer) -> String? {
        guard let meta = Meta(page) else { return nil }
        meta.write(to: scratch, copy: 0, .header)
        guard Meta(scratch) == meta else { return "what was written of a meta reads as something else" }
        return nil
    }

    /// A descent hands a node only keys that its fences admit.
    private static func isBetweenFences(_ page: UnsafeMutableRawPointer, _ key: KeyBytes) -> Bool {
        guard ByteNode.compare(ByteNode.lower(page), key) <= 0 else { return false }
        guard let upper = ByteNode.upper(page) else { return true }
        return ByteNode.compare(key, upper) < 0
    }

    private static func leaf<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: Page, _ key: Layout.Key, _ value: KeyBytes,
        _ scratch: Page
    ) -> String? {
        for slot in 0..<page.count { touch(Layout.record(page, slot)) }
        guard let start = value.baseAddress else { return nil }
        let record = RecordView(bytes: start, count: value.count, isOverflow: false)
        var (slot, isThere) = Layout.find(page, key)
        if isThere, Layout.replace(page, at: slot, record, scratch: scratch), let broken = check(page.base, "replace") {
            return broken
        }
        (slot, isThere) = Layout.find(page, key)
        if !isThere, Layout.fits(page, key, valueBytes: record.count) {
            Layout.insert(page, at: slot, key, record, scratch: scratch)
            if let broken = check(page.base, "insert") { return broken }
        }
        // A check looks at all entries: after each of the removals it would cost the square of them.
        while page.count > 0 {
            Layout.remove(page, at: page.count / 2)
            let count = page.count
            if count & (count - 1) == 0, let broken = check(page.base, "remove") { return broken }
        }
        return nil
    }

    private static func inner<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: Page, _ key: Layout.Key
    ) -> String? {
        let slot = Layout.childSlot(page, key)
        guard (0..<page.count).contains(slot) else { return "child \(slot) of \(page.count)" }
        _ = Layout.child(page, at: slot)
        _ = Layout.likelyOffset(of: key, inChildAt: slot, of: page)
        if Layout.hasCounts(page) { for slot in 0..<page.count { _ = Layout.count(page, at: slot) } }
        return nil
    }

    private static func check(_ page: UnsafeMutableRawPointer, _ change: String) -> String? {
        do throws(StorageError) { try PageCheck.validate(page) } catch { return "after \(change): \(error)" }
        return nil
    }

    private static func touch(_ record: RecordView) {
        var sum: UInt8 = 0
        for byte in UnsafeRawBufferPointer(start: record.bytes, count: record.count) { sum &+= byte }
        withExtendedLifetime(sum) {}
    }
}
