/// Proves that a page read from disk is safe to work on: counts, offsets and lengths lie inside the page.
///
/// The checksum finds accidents; this finds well-formed garbage, so that no load and no later change can leave the
/// page: entries that overlap would outgrow it when they are written anew, and what is written over one where it stands would give
/// the other another length. Order of the keys is `verify`'s business: wrong order gives wrong answers, never a wild read.
enum PageCheck {
    static func validate(_ base: UnsafeMutableRawPointer) throws(StorageError) {
        // Most pages hold what was entered in order. All others, and those with a fault, are looked at more closely.
        var below = BytesBelow()
        guard fault(base, &below) != nil, let reason = ByteBits.with({ fault(base, &$0) }) else { return }
        throw .corrupted(page: Page(base).number, reason: reason)
    }

    private static func fault<Taken: TakenBytes>(_ base: UnsafeMutableRawPointer, _ taken: inout Taken) -> String? {
        let page = Page(base)
        switch PageType(rawValue: page.type) {
        case .integerLeaf: return page.level == 0 ? integerLeaf(base, &taken) : "a leaf above the lowest level"
        case .integerInner: return page.level > 0 ? integerInner(base) : "an inner node at the lowest level"
        case .byteLeaf:
            return page.level == 0 ? byteNode(base, isInner: false, &taken) : "a leaf above the lowest level"
        case .byteInner:
            return page.level > 0 ? byteNode(base, isInner: true, &taken) : "an inner node at the lowest level"
        case .overflow, .directory, .bitmap: return nil
        case .header, .meta, nil: return "its type \(page.type) is not one that a reference may lead to"
        }
    }

    private static let overlap = "its entries overlap"

    private static func heapIsSound(_ page: Page, arraysEnd: Int) -> Bool {
        page.heap <= pageBytes && arraysEnd <= page.heap && page.garbage <= pageBytes - page.heap
    }

    @inline(__always)
    private static func integerLeaf<Taken: TakenBytes>(_ base: UnsafeMutableRawPointer, _ taken: inout Taken) -> String?
    {
        let page = Page(base)
        let count = page.count
        guard count <= (pageBytes - IntegerNode.keysOffset) / IntegerNode.entryOverhead,
            heapIsSound(page, arraysEnd: IntegerNode.keysOffset + count * 10)
        else { return "its counts do not fit the page" }
        let slots = IntegerNode.slots(base, count: count)
        let heap = page.heap
        var used = page.garbage
        for slot in 0..<count {
            let offset = Int(slots[slot])
            guard offset >= heap, offset &+ 2 <= pageBytes else { return "entry \(slot) lies outside the heap" }
            let record = IntegerNode.record(base, at: offset)
            let end = offset &+ 2 &+ record.count
            guard end <= pageBytes else { return "entry \(slot) runs over the end" }
            if record.isOverflow && record.count != Overflow.descriptorBytes {
                return "entry \(slot) has a malformed overflow descriptor"
            }
            guard taken.take(from: offset, to: end) else { return overlap }
            used &+= end &- offset
        }
        return used <= pageBytes - page.heap ? nil : overlap
    }

    private static func integerInner(_ base: UnsafeMutableRawPointer) -> String? {
        let count = Page(base).count
        guard Page(base).prefix <= 1 else { return "its header is not that of a node" }
        return count >= 1 && count <= IntegerNode.capacity(base) ? nil : "it has \(count) children"
    }

    @inline(__always)
    private static func byteNode<Taken: TakenBytes>(
        _ base: UnsafeMutableRawPointer, isInner: Bool, _ taken: inout Taken
    ) -> String? {
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
            guard taken.take(from: offset, to: offset + length) else { return overlap }
            used += length
        }
        guard page.prefix == ByteNode.commonPrefix(ByteNode.lower(base), ByteNode.upper(base)) else {
            return "its prefix is not that of its fences"
        }
        let slots = ByteNode.slots(base, count: count)
        let heap = page.heap
        let longestSuffix = Limits.keyBytes - page.prefix
        var childBytes = 0
        for slot in 0..<count {
            let offset = Int(slots[slot])
            guard offset >= heap, offset &+ 4 <= pageBytes else { return "entry \(slot) lies outside the heap" }
            let suffix = ByteNode.word(base, offset)
            let record = ByteNode.record(base, at: offset)
            let end = offset &+ 4 &+ suffix &+ record.count
            guard end <= pageBytes, suffix <= longestSuffix else { return "entry \(slot) runs over the end" }
            if slot == 0 { childBytes = record.count > 8 ? ByteNode.countedChildBytes : ByteNode.childBytes }
            if isInner ? record.count != childBytes : record.isOverflow && record.count != Overflow.descriptorBytes {
                return "entry \(slot) has a malformed value"
            }
            guard taken.take(from: offset, to: end) else { return overlap }
            used &+= end &- offset
        }
        return used <= pageBytes - page.heap ? nil : overlap
    }
}

/// Which bytes of a page belong to an entry or a fence.
private protocol TakenBytes {
    /// Takes bytes of the page. False: one of them belonged to something else, or may have.
    mutating func take(from start: Int, to end: Int) -> Bool
}

/// Takes what lies below everything that was taken before, as it does in a page whose entries were put in order, and nothing else.
private struct BytesBelow: TakenBytes {
    private var lowest = pageBytes

    @inline(__always)
    mutating func take(from start: Int, to end: Int) -> Bool {
        guard end <= lowest else { return false }
        lowest = start
        return true
    }
}

/// A bit for each byte.
private struct ByteBits: TakenBytes {
    private let words: UnsafeMutablePointer<UInt64>

    static func with(_ body: (inout ByteBits) -> String?) -> String? {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: pageBytes / 64) { words in
            words.initialize(repeating: 0)
            return words.baseAddress.flatMap {
                var taken = ByteBits(words: $0)
                return body(&taken)
            }
        }
    }

    @inline(__always)
    mutating func take(from start: Int, to end: Int) -> Bool {
        if start == end { return true }
        let last = (end &- 1) &>> 6
        var word = start &>> 6
        var mask = UInt64.max &<< UInt64(start & 63)
        var met: UInt64 = 0
        while word < last {
            met |= words[word] & mask
            words[word] |= mask
            mask = .max
            word &+= 1
        }
        mask &= UInt64.max &>> UInt64(63 &- (end &- 1) & 63)
        met |= words[word] & mask
        words[word] |= mask
        return met == 0
    }
}

/// What the format can hold.
package enum Limits {
    /// The longest key of a byte tree: two of them must fit a node beside its fences.
    package static let keyBytes = 900
    /// The longest name of a tree, in bytes.
    package static let nameBytes = 4095
    /// The largest value, in bytes.
    package static let valueBytes = 64 << 20
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
