/// The operations on one kind of node that the tree algorithms need.
///
/// The algorithms are generic over the layout. All requirements are static and specialised inside the module, so the
/// generic code has no cost at run time.
protocol NodeLayout {
    associatedtype Key

    static var leafType: PageType { get }
    static var innerType: PageType { get }
    /// Whether a node stores the bounds of its keys.
    static var hasFences: Bool { get }

    // Search.
    static func childSlot(_ page: Page, _ key: Key) -> Int
    static func child(_ page: Page, at slot: Int) -> PageReference
    static func find(_ page: Page, _ key: Key) -> (slot: Int, found: Bool)
    static func record(_ page: Page, _ slot: Int) -> RecordView
    /// Returns the offset of the record in a slot.
    static func offset(_ page: Page, _ slot: Int) -> Int
    /// Guesses the offset of the record of `key` in a leaf, from the keys beside its child in the parent. May be any
    /// number; 0 without a guess.
    static func likelyOffset(of key: Key, inChildAt slot: Int, of parent: Page) -> Int
    static func isLess(_ a: Key, _ b: Key) -> Bool
    static func keyBytes(_ key: Key) -> Int
    /// Prefetches the lines of a leaf that a search reads first.
    static func prefetchLeaf(_ page: Page)
    /// Prefetches the first line of the record that a search for a key in a leaf reads.
    static func prefetchRecord(_ page: Page, _ key: Key)

    /// Copies a key to memory of at least `keyBytes(key)` bytes, or returns it as a number.
    static func keep(_ key: Key, at memory: UnsafeMutableRawPointer) -> (number: UInt64, bytes: Int)

    /// Returns a copy of the key, in memory of at least `Limits.keyBytes` bytes if it needs any.
    static func keep(_ key: Key, in memory: UnsafeMutableRawPointer) -> Key

    /// The lowest key.
    static var lowest: Key { get }
    /// A key that no other key exceeds.
    static var highest: Key { get }

    // The hint: the leaf of the last change, which spares the next change to it the descent.
    /// Returns the hinted leaf if `key` belongs there.
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: Key) -> Page?
    /// Sets the leaf at the end of a path as the hint.
    static func setHint(
        _ hint: UnsafeMutablePointer<Writer.LeafHint>, _ path: UnsafeMutablePointer<Writer.PathStep>, levels: Int,
        slot: Int)

    // Leaf entries.
    static func fits(_ page: Page, _ key: Key, valueBytes: Int) -> Bool
    static func insert(_ page: Page, at slot: Int, _ key: Key, _ value: RecordView, scratch: Page)
    static func replace(_ page: Page, at slot: Int, _ value: RecordView, scratch: Page) -> Bool
    static func remove(_ page: Page, at slot: Int)
    /// Records the removal of an entry for the log.
    static func logRemoval(of key: Key, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes)

    // The last leaf of a level that ascending keys fill; see LeafFilling.swift.
    /// Prepares a formatted leaf.
    static func formatLeaf(_ page: Page, lower: Key)
    /// Whether a key is greater than all entries.
    static func isBehind(_ page: Page, _ key: Key) -> Bool
    /// Appends such a key. Returns false, and changes nothing, if it does not fit.
    static func append(_ page: Page, _ key: Key, _ value: RecordView, scratch: Page) -> Bool
    /// Closes the leaf, which must have entries, before another leaf follows it.
    ///
    /// - Returns: the separator, in `scratch` if it needs memory. Nil if the entries do not fit between the fences, so that the leaf must be split.
    static func close(_ page: Page, before key: Key, scratch: Scratch) -> Key?
    /// Makes the leaf a regular last leaf of its level. Returns false if the entries do not fit, so that it must be
    /// split.
    static func closeLast(_ page: Page, scratch: Scratch) -> Bool

    // Inner entries.
    /// Inserts the first child of a root.
    static func insertFirstChild(_ page: Page, _ child: PageReference, counted: Bool, scratch: Page)
    /// Whether an inner node has the number of entries below each child.
    static func hasCounts(_ page: Page) -> Bool
    static func count(_ page: Page, at slot: Int) -> UInt64
    static func setCount(_ page: Page, at slot: Int, _ count: UInt64)
    static func childFits(_ page: Page, _ key: Key) -> Bool
    static func insertChild(_ page: Page, at slot: Int, _ key: Key, _ child: PageReference, scratch: Page)
    static func setChild(_ page: Page, at slot: Int, _ child: PageReference)
    static func removeChild(_ page: Page, at slot: Int)

    /// Removes consecutive entries from a leaf or an inner node; in a byte tree's inner node, not the first.
    static func removeEntries(_ page: Page, _ slots: Range<Int>)

    // Removing a range.
    /// Returns the key before which the keys below an inner node end; nil if neither the node nor its parent has it.
    ///
    /// - Parameter slot: the slot of the node in `parent`.
    static func end(of node: Page, at slot: Int, in parent: Page) -> Key?
    /// Returns two candidates for the key that separates the entries up to the leaf `left` from those from the leaf
    /// `right` on, after everything between was removed.
    ///
    /// - Parameter slot: the slot of the child of `parent` that leads to `right`.
    static func fences(below left: Page, above right: Page, parent: Page, slot: Int) -> (Key, Key)
    /// Whether a node has space for these of its entries between other fences; nil keeps a fence.
    static func fits(_ page: Page, keeping slots: Range<Int>, lower: Key?, upper: Key?) -> Bool
    /// Keeps only these of a node's entries, between other fences; nil keeps a fence.
    static func trim(_ page: Page, keeping slots: Range<Int>, lower: Key?, upper: Key?, scratch: Scratch)

    // Whole nodes.
    /// Prepares a formatted page as the only node of its level.
    static func formatRoot(_ page: Page)
    /// Returns the entry at which to split a full node for an entry that is inserted at `slot`.
    ///
    /// - Parameter ascending: whether keys arrive in ascending order, so that the entries before the new one stay
    ///   together.
    /// - Returns: 1...count; `count` leaves the node unchanged and puts the new entry alone to the right (leaves only).
    ///   Nil if no cut leaves space on both sides, which happens only in a damaged page.
    static func cut(_ page: Page, incoming slot: Int, _ key: Key, ascending: Bool) -> Int?
    /// Moves the entries from `cut` on to the formatted page `right`.
    ///
    /// - Returns: the separator, in the memory that `scratch` has for the page's level if it needs any.
    static func split(_ page: Page, at cut: Int, into right: Page, incoming key: Key, scratch: Scratch) -> Key
    /// The bytes for entries in a leaf.
    static var leafRoom: Int { get }
    /// Returns the bytes that the entries of a node take.
    static func usedBytes(_ page: Page) -> Int
    /// Whether a leaf has entries at one end that take at most `bytes` bytes, and other entries.
    static func canGive(_ page: Page, bytes: Int, atEnd: Bool) -> Bool
    /// Moves entries of about `flow` bytes from `left` to `right`, or of about `-flow` bytes from `right` to `left`.
    /// Returns false, and changes nothing, if that is not possible.
    ///
    /// Each leaf keeps at least one entry. `separator` is the key slot of `right` in `parent`.
    static func shift(
        _ left: Page, _ right: Page, by flow: Int, parent: Page, separator slot: Int, scratch: Scratch
    ) -> Bool
    static func isSparse(_ page: Page) -> Bool
    /// Whether two neighbours fit one page with some space left, or at all if one of them is nearly empty.
    static func canMerge(_ left: Page, _ right: Page) -> Bool
    /// Moves all entries of `right` to `left`. `separator` is the key slot of `right` in `parent`.
    static func merge(_ left: Page, _ right: Page, parent: Page, separator slot: Int, scratch: Scratch)
}

/// Memory for the tree algorithms of one transaction: allocated once, never shared.
struct Scratch {
    let page: Page
    let key: UnsafeMutableRawPointer
    /// A second page.
    let neighbour: Page
    private let separators: UnsafeMutableRawPointer

    static func allocate() -> Scratch {
        Scratch(
            page: Page(.allocate(byteCount: pageBytes, alignment: 16)),
            key: .allocate(byteCount: pageBytes, alignment: 16),
            neighbour: Page(.allocate(byteCount: pageBytes, alignment: 16)),
            separators: .allocate(byteCount: (Limits.levels + 2) * 1024, alignment: 16))
    }

    /// Returns the memory for the separator of a split at `level`; two more are for the removal of ranges.
    func separator(_ level: Int) -> UnsafeMutableRawPointer { separators + level * 1024 }

    func deallocate() {
        page.base.deallocate()
        key.deallocate()
        neighbour.base.deallocate()
        separators.deallocate()
    }
}
