/// What the tree algorithms need to know of a kind of node.
///
/// The algorithms are written once, generic over the layout; everything here is static and specialised inside the
/// module, so that nothing is left of the generality at run time.
protocol NodeLayout {
    associatedtype Key

    static var leafType: PageType { get }
    static var innerType: PageType { get }
    /// Whether a node knows between which keys it stands.
    static var hasFences: Bool { get }

    // Looking.
    static func childSlot(_ page: UnsafeMutableRawPointer, _ key: Key) -> Int
    static func child(_ page: UnsafeMutableRawPointer, at slot: Int) -> PageReference
    static func find(_ page: UnsafeMutableRawPointer, _ key: Key) -> (slot: Int, found: Bool)
    static func record(_ page: UnsafeMutableRawPointer, _ slot: Int) -> RecordView
    /// Where the record in a slot begins.
    static func offset(_ page: UnsafeMutableRawPointer, _ slot: Int) -> Int
    /// Where in a leaf the record of `key` begins, guessed from the keys beside its child in the parent. Any number, 0 for no idea.
    static func likelyOffset(of key: Key, inChildAt slot: Int, of parent: UnsafeMutableRawPointer) -> Int
    static func isLess(_ a: Key, _ b: Key) -> Bool
    static func keyBytes(_ key: Key) -> Int
    /// Asks for the lines of a leaf that a search will touch first.
    static func prefetchLeaf(_ page: UnsafeMutableRawPointer)
    /// Asks for the first line of the record that a search for a key in a leaf would look at.
    static func prefetchRecord(_ page: UnsafeMutableRawPointer, _ key: Key)

    /// Copies a key to memory of at least `keyBytes(key)` bytes, or answers it as a number.
    static func keep(_ key: Key, at memory: UnsafeMutableRawPointer) -> (number: UInt64, bytes: Int)

    /// The key again, copied to memory of at least `Limits.keyBytes` bytes if it needs any.
    static func keep(_ key: Key, in memory: UnsafeMutableRawPointer) -> Key

    /// A key that no other is below.
    static var lowest: Key { get }
    /// A key that no other is above.
    static var highest: Key { get }

    // The hint that spares a run of changes to one leaf the descent.
    /// The hinted leaf, when `key` belongs there.
    static func hinted(_ hint: UnsafeMutablePointer<Writer.LeafHint>, _ key: Key) -> UnsafeMutableRawPointer?
    /// Makes the leaf at the end of a path the hint.
    static func setHint(
        _ hint: UnsafeMutablePointer<Writer.LeafHint>, _ path: UnsafeMutablePointer<Writer.PathStep>, levels: Int,
        slot: Int)

    // Leaf entries.
    static func fits(_ page: UnsafeMutableRawPointer, _ key: Key, valueBytes: Int) -> Bool
    static func insert(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: Key, _ value: RecordView, scratch: UnsafeMutableRawPointer
    )
    static func replace(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool
    static func remove(_ page: UnsafeMutableRawPointer, at slot: Int)
    /// Writes that an entry was removed, as it is to stand in the log.
    static func logRemoval(
        of key: Key, tree: UInt32, _ operations: inout OperationWriter, to bytes: inout GrowingBytes)

    // A leaf at the end of its level that ascending keys fill; see LeafFilling.swift.
    /// Readies a formatted leaf.
    static func formatLeaf(_ page: UnsafeMutableRawPointer, lower: Key)
    /// Whether a key comes behind all entries.
    static func isBehind(_ page: UnsafeMutableRawPointer, _ key: Key) -> Bool
    /// Enters a key that does. False when there is no room: nothing was changed then.
    static func append(
        _ page: UnsafeMutableRawPointer, _ key: Key, _ value: RecordView, scratch: UnsafeMutableRawPointer
    ) -> Bool
    /// Makes the leaf, which has entries, one that others stand behind.
    ///
    /// - Parameter separator: memory for the key that parts it from `key`, `Limits.keyBytes` long.
    /// - Returns: that key. Nil when the entries do not fit between the fences, and have to be divided.
    static func close(
        _ page: UnsafeMutableRawPointer, before key: Key, scratch: Scratch, separator: UnsafeMutableRawPointer
    ) -> Key?
    /// Makes the leaf one like any other at the end of its level. False when the entries do not fit, and have to be divided.
    static func closeLast(_ page: UnsafeMutableRawPointer, scratch: Scratch) -> Bool

    // Inner entries.
    /// Enters the only child of a root.
    static func insertFirstChild(
        _ page: UnsafeMutableRawPointer, _ child: PageReference, counted: Bool, scratch: UnsafeMutableRawPointer)
    /// Whether an inner node tells how many entries are below each child.
    static func hasCounts(_ page: UnsafeMutableRawPointer) -> Bool
    static func count(_ page: UnsafeMutableRawPointer, at slot: Int) -> UInt64
    static func setCount(_ page: UnsafeMutableRawPointer, at slot: Int, _ count: UInt64)
    static func childFits(_ page: UnsafeMutableRawPointer, _ key: Key) -> Bool
    static func insertChild(
        _ page: UnsafeMutableRawPointer, at slot: Int, _ key: Key, _ child: PageReference,
        scratch: UnsafeMutableRawPointer)
    static func setChild(_ page: UnsafeMutableRawPointer, at slot: Int, _ child: PageReference)
    static func removeChild(_ page: UnsafeMutableRawPointer, at slot: Int)

    /// Takes a run of entries out of a leaf or an inner node; of a byte tree's inner node not the first.
    static func removeEntries(_ page: UnsafeMutableRawPointer, _ slots: Range<Int>)

    // Cutting a range out.
    /// Two keys at which what stands before and in the leaf `left` may meet what stands in and behind the leaf `right`.
    ///
    /// - Parameter slot: the child of `parent` that leads to `right`.
    static func fences(
        below left: UnsafeMutableRawPointer, above right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        slot: Int
    ) -> (Key, Key)
    /// Whether a node has room for these of its entries between other fences; nil is the one it has.
    static func fits(_ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: Key?, upper: Key?) -> Bool
    /// Leaves these of a node's entries, between other fences; nil is the one it has.
    static func trim(
        _ page: UnsafeMutableRawPointer, keeping slots: Range<Int>, lower: Key?, upper: Key?, scratch: Scratch)

    // Whole nodes.
    /// Readies a formatted page to be the only node of its level.
    static func formatRoot(_ page: UnsafeMutableRawPointer)
    /// The entry at which a full node is best cut for an entry that comes in at `slot`.
    ///
    /// - Parameter ascending: keys are arriving in order: what stands before the new entry stays together.
    /// - Returns: 1...count; `count` leaves the node as it is and the new entry alone to the right (leaves only).
    ///   Nil when no cut leaves room on both sides, as only a damaged page can have it.
    static func cut(_ page: UnsafeMutableRawPointer, incoming slot: Int, _ key: Key, ascending: Bool) -> Int?
    /// Moves the entries from `cut` on into the formatted page `right`; returns the key that parts the two.
    ///
    /// - Parameter separator: memory for that key, `Limits.keyBytes` long.
    static func split(
        _ page: UnsafeMutableRawPointer, at cut: Int, into right: UnsafeMutableRawPointer, incoming key: Key,
        scratch: Scratch, separator: UnsafeMutableRawPointer
    ) -> Key
    /// Bytes for entries, of a leaf.
    static var leafRoom: Int { get }
    /// Bytes that the entries of a node take.
    static func usedBytes(_ page: UnsafeMutableRawPointer) -> Int
    /// Whether a leaf has entries at one end that take no more than so many bytes, and more besides.
    static func canGive(_ page: UnsafeMutableRawPointer, bytes: Int, atEnd: Bool) -> Bool
    /// Moves entries of about so many bytes from one leaf to the one beside it. False when it cannot: nothing was changed then.
    ///
    /// Each keeps one at least. `separator` is the key slot of `right` in `parent`.
    static func shift(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, bytes: Int, toRight: Bool,
        parent: UnsafeMutableRawPointer, separator slot: Int, scratch: Scratch
    ) -> Bool
    static func isSparse(_ page: UnsafeMutableRawPointer) -> Bool
    /// Whether two neighbours fit one page with room to spare (or at all, when one of them has next to nothing in it).
    static func canMerge(_ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer) -> Bool
    /// Moves everything from `right` into `left`. `separator` is the key slot of `right` in `parent`.
    static func merge(
        _ left: UnsafeMutableRawPointer, _ right: UnsafeMutableRawPointer, parent: UnsafeMutableRawPointer,
        separator slot: Int, scratch: Scratch)
}

/// Memory for the tree algorithms of one transaction: allocated once, never shared.
struct Scratch {
    let page: UnsafeMutableRawPointer
    let key: UnsafeMutableRawPointer
    /// Another page.
    let neighbour: UnsafeMutableRawPointer
    private let separators: UnsafeMutableRawPointer

    static func allocate() -> Scratch {
        Scratch(
            page: .allocate(byteCount: pageBytes, alignment: 16),
            key: .allocate(byteCount: pageBytes, alignment: 16),
            neighbour: .allocate(byteCount: pageBytes, alignment: 16),
            separators: .allocate(byteCount: (Limits.levels + 1) * 1024, alignment: 16))
    }

    /// The memory for the separator of a split at `level`.
    func separator(_ level: Int) -> UnsafeMutableRawPointer { separators + level * 1024 }

    func deallocate() {
        page.deallocate()
        key.deallocate()
        neighbour.deallocate()
        separators.deallocate()
    }
}
