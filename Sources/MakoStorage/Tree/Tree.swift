/// What the keys of a tree are.
public enum KeyKind: UInt8, Sendable, Hashable, Codable {
    /// Unsigned 64-bit integers: row ids, for which the tree has a node form of its own.
    case integer = 1
    /// Up to 900 bytes, ordered as unsigned bytes.
    case bytes = 2
}

/// A handle to a tree: an ordered map from keys to values inside a store.
///
/// It is a name for the tree, not a view of it; reads go through a ``Snapshot``, changes through a
/// ``WriteTransaction``. A handle stays valid across transactions and reopening, until the tree is dropped.
public struct Tree: Sendable, Hashable {
    /// The tree's number in its store. Numbers are not used again.
    public let id: UInt32
    public let keys: KeyKind

    package init(id: UInt32, keys: KeyKind) {
        self.id = id
        self.keys = keys
    }
}

/// What a tree has beyond an ordered map; chosen when it is created.
public struct TreeOptions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Each inner node knows how many entries are below its children: ``Snapshot/rank(of:in:)-(UInt64,_)``,
    /// ``Snapshot/count(of:in:)`` and ``Cursor/seek(offset:)`` then take logarithmic time instead of a walk over leaves. Inner nodes are
    /// a third (of short byte keys up to a half) larger for it; changes cost about as much as without.
    public static let subtreeCounts = TreeOptions(rawValue: 1)
}

/// A tree as one snapshot sees it.
public struct TreeInfo: Sendable, Hashable {
    public var name: String
    public var tree: Tree
    /// What it was created with.
    public var options: TreeOptions
    /// Entries.
    public var count: UInt64
    /// Node levels: 0 for an empty tree, 1 for a single leaf.
    public var levels: Int
}

/// The root of a tree in one version of the store.
struct TreeState {
    var id: UInt32
    var kind: KeyKind
    var levels: Int
    var root: PageReference
    var count: UInt64
    /// False as long as no value of the tree has pages of its own: its leaves can then be given back unread.
    var mayHoldLargeValues = false
    /// Whether inner nodes have counts.
    var isCounted: Bool
    /// Some of them are to be found out yet; only inside a transaction.
    var countsAreStale = false

    init(id: UInt32, kind: KeyKind, isCounted: Bool = false) {
        self.id = id
        self.kind = kind
        self.isCounted = isCounted
        levels = 0
        root = .none
        count = 0
    }

    /// Nothing is left in it.
    mutating func becomeEmpty() { self = TreeState(id: id, kind: kind, isCounted: isCounted) }

    /// Key kind and options as one byte of the directory and the log.
    static func kindByte(_ kind: KeyKind, _ options: TreeOptions) -> UInt8 {
        kind.rawValue | (options.contains(.subtreeCounts) ? countedBit : 0)
    }

    static func kind(_ byte: UInt8) -> (KeyKind, TreeOptions)? {
        KeyKind(rawValue: byte & ~countedBit).map { ($0, byte & countedBit == 0 ? [] : .subtreeCounts) }
    }

    private static let countedBit: UInt8 = 0x80

    var options: TreeOptions { isCounted ? .subtreeCounts : [] }
}

/// The roots of all trees at one commit, in memory of its own so that readers need not count references.
final class Version: @unchecked Sendable {
    let commit: UInt64
    /// The serial boundary: pages with lower serials were born at or before this commit.
    let point: UInt64
    let trees: UnsafeMutablePointer<TreeState>
    let treeCount: Int
    let nextTreeID: UInt32
    let names: TreeNames
    /// Where the log stands after this commit's frame.
    let log: LogPosition

    init(
        commit: UInt64, point: UInt64, trees source: UnsafePointer<TreeState>, treeCount: Int, nextTreeID: UInt32,
        names: TreeNames, log: LogPosition
    ) {
        self.commit = commit
        self.point = point
        self.treeCount = treeCount
        self.nextTreeID = nextTreeID
        self.names = names
        self.log = log
        trees = .allocate(capacity: max(1, treeCount))
        trees.initialize(from: source, count: treeCount)
    }

    deinit { trees.deallocate() }
}

/// The position of a tree in a table sorted by id.
@inline(__always)
func treeIndex(_ trees: UnsafePointer<TreeState>, count: Int, id: UInt32) -> Int? {
    // Without dropped trees, ids and positions are the same but for the start.
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
