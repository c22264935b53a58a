/// Checks that a page read from the file is safe to use: counts, offsets and lengths are inside the page.
///
/// The checksum detects accidental damage; this check detects well-formed pages with wrong contents, so that no later
/// read or change leaves the page: overlapping entries would exceed the page when it is rewritten, and overwriting one
/// entry in place would change the length of another. The order of keys is checked by `verify` only, because wrong
/// order gives wrong results but no invalid access.
enum PageCheck {
    static func validate(_ base: UnsafeMutableRawPointer) throws(StorageError) {
        // Try the fast check first: in most pages entries were inserted in order. All other pages get the full check.
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

/// Tracks which bytes of a page belong to an entry or a fence.
private protocol TakenBytes {
    /// Takes bytes of the page. Returns false if one of them is taken already, or may be.
    mutating func take(from start: Int, to end: Int) -> Bool
}

/// The fast check: accepts only bytes below everything taken before, as in a page whose entries were inserted in order.
private struct BytesBelow: TakenBytes {
    private var lowest = pageBytes

    @inline(__always)
    mutating func take(from start: Int, to end: Int) -> Bool {
        guard end <= lowest else { return false }
        lowest = start
        return true
    }
}

/// The full check: one bit for each byte.
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

/// The limits of the file format.
package enum Limits {
    /// The longest key of a byte tree in bytes: two keys must fit a node beside its fences.
    package static let keyBytes = 900
    /// The longest name of a tree in bytes.
    package static let nameBytes = 4095
    /// The largest value in bytes.
    package static let valueBytes = 64 << 20
    /// The stored size from which a value bypasses the page cache, which it would fill.
    static let directBytes = 1 << 20
    /// The size of a record above which its value goes to overflow pages.
    ///
    /// A leaf holds at least three records of this size. So it can be split between any two entries, and an empty leaf
    /// has half a page free beside the longest fences.
    static let inlineRecordBytes = (pageBytes - ByteNode.headsOffset) / 3
    /// The largest number of levels of a tree: each node has at least two children, over fewer than 2^40 pages.
    static let levels = 40
}
