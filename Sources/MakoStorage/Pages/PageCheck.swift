/// Proves that a page read from disk is safe to work on: counts, offsets and lengths lie inside the page.
///
/// The checksum finds accidents; this finds well-formed garbage, so that no load and no later change can leave the
/// page: entries that overlap would outgrow it when they are written anew, and what is written over one where it stands would give
/// the other another length. Order of the keys is `verify`'s business: wrong order gives wrong answers, never a wild read.
enum PageCheck {
    static func validate(_ base: UnsafeMutableRawPointer) throws(StorageError) {
        if let reason = TakenBytes.with({ fault(base, $0) }) {
            throw .corrupted(page: Page(base).number, reason: reason)
        }
    }

    private static func fault(_ base: UnsafeMutableRawPointer, _ taken: TakenBytes) -> String? {
        let page = Page(base)
        switch PageType(rawValue: page.type) {
        case .integerLeaf: return page.level == 0 ? integerLeaf(base, taken) : "a leaf above the lowest level"
        case .integerInner: return page.level > 0 ? integerInner(base) : "an inner node at the lowest level"
        case .byteLeaf: return page.level == 0 ? byteNode(base, isInner: false, taken) : "a leaf above the lowest level"
        case .byteInner:
            return page.level > 0 ? byteNode(base, isInner: true, taken) : "an inner node at the lowest level"
        case .overflow, .directory, .bitmap: return nil
        case .header, .meta, nil: return "its type \(page.type) is not one that a reference may lead to"
        }
    }

    private static let overlap = "its entries overlap"

    private static func heapIsSound(_ page: Page, arraysEnd: Int) -> Bool {
        page.heap <= pageBytes && arraysEnd <= page.heap && page.garbage <= pageBytes - page.heap
    }

    private static func integerLeaf(_ base: UnsafeMutableRawPointer, _ taken: TakenBytes) -> String? {
        let page = Page(base)
        let count = page.count
        guard count <= (pageBytes - IntegerNode.keysOffset) / IntegerNode.entryOverhead,
            heapIsSound(page, arraysEnd: IntegerNode.keysOffset + count * 10)
        else { return "its counts do not fit the page" }
        let slots = IntegerNode.slots(base, count: count)
        var used = page.garbage
        for slot in 0..<count {
            let offset = Int(slots[slot])
            guard offset >= page.heap, offset + 2 <= pageBytes else { return "entry \(slot) lies outside the heap" }
            let record = IntegerNode.record(base, slot)
            guard offset + 2 + record.count <= pageBytes else { return "entry \(slot) runs over the end" }
            if record.isOverflow && record.count != Overflow.descriptorBytes {
                return "entry \(slot) has a malformed overflow descriptor"
            }
            guard taken.take(offset..<offset + 2 + record.count) else { return overlap }
            used += 2 + record.count
        }
        return used <= pageBytes - page.heap ? nil : overlap
    }

    private static func integerInner(_ base: UnsafeMutableRawPointer) -> String? {
        let count = Page(base).count
        guard Page(base).prefix <= 1 else { return "its header is not that of a node" }
        return count >= 1 && count <= IntegerNode.capacity(base) ? nil : "it has \(count) children"
    }

    private static func byteNode(_ base: UnsafeMutableRawPointer, isInner: Bool, _ taken: TakenBytes) -> String? {
        let page = Page(base)
        let count = page.count
        guard count <= (pageBytes - ByteNode.headsOffset) / ByteNode.entryOverhead, !isInner || count >= 1,
            heapIsSound(page, arraysEnd: ByteNode.headsOffset + count * 6)
        else { return "its counts do not fit the page" }
        var used = page.garbage
        for place in [ByteNode.lowerFence, ByteNode.upperFence] {
            let length = ByteNode.word(base, place + 2)
            if place == ByteNode.upperFence && length == ByteNode.noUpperFence { continue }
            let offset = ByteNode.word(base, place)
            guard offset >= page.heap, offset + length <= pageBytes, length <= Limits.keyBytes else {
                return "a fence lies outside the heap"
            }
            guard taken.take(offset..<offset + length) else { return overlap }
            used += length
        }
        guard page.prefix == ByteNode.commonPrefix(ByteNode.lower(base), ByteNode.upper(base)) else {
            return "its prefix is not that of its fences"
        }
        let slots = ByteNode.slots(base, count: count)
        var childBytes = 0
        for slot in 0..<count {
            let offset = Int(slots[slot])
            guard offset >= page.heap, offset + 4 <= pageBytes else { return "entry \(slot) lies outside the heap" }
            let suffix = ByteNode.word(base, offset)
            let record = ByteNode.record(base, slot)
            guard offset + 4 + suffix + record.count <= pageBytes, page.prefix + suffix <= Limits.keyBytes else {
                return "entry \(slot) runs over the end"
            }
            if slot == 0 { childBytes = record.count > 8 ? ByteNode.countedChildBytes : ByteNode.childBytes }
            if isInner ? record.count != childBytes : record.isOverflow && record.count != Overflow.descriptorBytes {
                return "entry \(slot) has a malformed value"
            }
            guard taken.take(offset..<offset + 4 + suffix + record.count) else { return overlap }
            used += 4 + suffix + record.count
        }
        return used <= pageBytes - page.heap ? nil : overlap
    }
}

/// Which bytes of a page belong to an entry or a fence, a bit for each.
private struct TakenBytes {
    private let words: UnsafeMutablePointer<UInt64>

    static func with(_ body: (TakenBytes) -> String?) -> String? {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: pageBytes / 64) { words in
            words.initialize(repeating: 0)
            return words.baseAddress.flatMap { body(TakenBytes(words: $0)) }
        }
    }

    /// Takes bytes of the page. False: one of them belonged to something else.
    @inline(__always)
    func take(_ bytes: Range<Int>) -> Bool {
        if bytes.isEmpty || sabotaged("overlapsOverlooked") { return true }
        let last = (bytes.upperBound &- 1) &>> 6
        var word = bytes.lowerBound &>> 6
        var mask = UInt64.max &<< UInt64(bytes.lowerBound & 63)
        var met: UInt64 = 0
        while word < last {
            met |= words[word] & mask
            words[word] |= mask
            mask = .max
            word &+= 1
        }
        mask &= UInt64.max &>> UInt64(63 &- (bytes.upperBound &- 1) & 63)
        met |= words[word] & mask
        words[word] |= mask
        return met == 0
    }
}

/// What the format can hold.
enum Limits {
    /// The longest key of a byte tree: two of them must fit a node beside its fences.
    static let keyBytes = 900
    /// The longest name of a tree, in bytes.
    static let nameBytes = 4095
    /// The largest value, in bytes.
    static let valueBytes = 64 << 20
    /// Stored values from here on are read past the memory for pages, which they would fill.
    static let directBytes = 1 << 20
    /// A value whose record would be larger than this goes to overflow pages.
    ///
    /// So a leaf holds three at least. It can be divided wherever two entries meet, and an empty one has room for half a page beside the longest
    /// fences.
    static let inlineRecordBytes = (pageBytes - ByteNode.headsOffset) / 3
    /// No tree has more levels: each has at least two children a node, over fewer than 2^40 pages.
    static let levels = 40
}
