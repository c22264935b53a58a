/// The kind of keys of a tree.
public enum KeyKind: UInt8, Sendable, Hashable, Codable {
    /// Unsigned 64-bit integers, as row ids; these trees have a node format of their own.
    case integer = 1
    /// Byte strings of at most 900 bytes, ordered as unsigned bytes.
    case bytes = 2
}

/// A handle to a tree: an ordered map from keys to values in a store.
///
/// A handle names a tree; reads use a ``Snapshot``, changes a ``WriteTransaction``. It stays valid across transactions
/// and reopening until the tree is dropped.
public struct Tree: Sendable, Hashable {
    /// The tree's number in its store. Numbers are never reused.
    public let id: UInt32
    /// The kind of the tree's keys.
    public let keys: KeyKind

    package init(id: UInt32, keys: KeyKind) {
        self.id = id
        self.keys = keys
    }
}

/// Features of a tree beyond an ordered map, chosen at its creation.
public struct TreeOptions: OptionSet, Sendable, Hashable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Creates options from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Inner nodes store the number of entries below each child, so that ``Snapshot/rank(of:in:)-(UInt64,_)``,
    /// ``Snapshot/count(of:in:)`` and ``Cursor/seek(offset:)`` take logarithmic time instead of a scan of leaves. Inner
    /// nodes are a third larger (up to a half with short byte keys); changes cost about the same.
    public static let subtreeCounts = TreeOptions(rawValue: 1)
}

/// A tree as seen by one snapshot.
public struct TreeInfo: Sendable, Hashable {
    /// The name of the tree.
    public var name: String
    /// The handle of the tree.
    public var tree: Tree
    /// The options of its creation.
    public var options: TreeOptions
    /// The number of entries.
    public var count: UInt64
    /// The number of node levels: 0 for an empty tree, 1 for a single leaf.
    public var levels: Int
}

/// The root of a tree in one version of the store.
struct TreeState {
    var id: UInt32
    var kind: KeyKind
    var levels: Int
    var root: PageReference
    var count: UInt64
    /// Whether a value of the tree may have pages of its own. If not, its leaves can be freed without reading them.
    var mayHoldLargeValues = false
    /// Whether inner nodes have subtree counts.
    var isCounted: Bool
    /// Whether some counts are unknown; only inside a transaction.
    var countsAreStale = false

    init(id: UInt32, kind: KeyKind, isCounted: Bool = false) {
        self.id = id
        self.kind = kind
        self.isCounted = isCounted
        levels = 0
        root = .none
        count = 0
    }

    /// Makes the tree empty.
    mutating func becomeEmpty() { self = TreeState(id: id, kind: kind, isCounted: isCounted) }

    /// Returns key kind and options as one byte of the directory and the log.
    static func kindByte(_ kind: KeyKind, _ options: TreeOptions) -> UInt8 {
        kind.rawValue | (options.contains(.subtreeCounts) ? countedBit : 0)
    }

    static func kind(_ byte: UInt8) -> (KeyKind, TreeOptions)? {
        KeyKind(rawValue: byte & ~countedBit).map { ($0, byte & countedBit == 0 ? [] : .subtreeCounts) }
    }

    private static let countedBit: UInt8 = 0x80

    var options: TreeOptions { isCounted ? .subtreeCounts : [] }
}

/// The roots of all trees at one commit, in memory of its own, so that readers touch no reference counts.
final class Version: @unchecked Sendable {
    let commit: UInt64
    /// The transaction id of the commit: pages with lower write ids were born at or before it.
    let point: UInt64
    let trees: UnsafeMutablePointer<TreeState>
    let treeCount: Int
    let nextTreeID: UInt32
    let names: TreeNames
    /// The position of the log after this commit's frame.
    let log: LogPosition

    init(
        commit: UInt64, point: UInt64, trees source: UnsafeBufferPointer<TreeState>, nextTreeID: UInt32,
        names: TreeNames, log: LogPosition
    ) {
        self.commit = commit
        self.point = point
        treeCount = source.count
        self.nextTreeID = nextTreeID
        self.names = names
        self.log = log
        trees = .allocate(capacity: max(1, treeCount))
        if let first = source.baseAddress { trees.initialize(from: first, count: treeCount) }
    }

    /// The roots of all trees, sorted by id.
    var treeTable: UnsafeBufferPointer<TreeState> { UnsafeBufferPointer(start: trees, count: treeCount) }

    deinit { trees.deallocate() }
}

/// Returns the position of a tree in a table sorted by id.
@inline(__always)
func treeIndex(_ trees: UnsafePointer<TreeState>, count: Int, id: UInt32) -> Int? {
    // Without dropped trees the position is the id minus one.
    let guess = Int(id) &- 1
    if guess >= 0 && guess < count && trees[guess].id == id { return guess }
    var low = 0
    var high = count
    while low < high {
        let middle = (low + high) / 2
        if trees[middle].id == id { return middle }
        if trees[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return nil
}
