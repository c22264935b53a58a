/// What a salvage recovered from a damaged database, and what was lost; see
/// ``Store/salvage(from:to:options:progress:)``.
public struct SalvageReport: Sendable, Hashable {
    /// The results by tree, in the order of the trees' numbers.
    public internal(set) var trees: [Tree] = []
    /// The commit of the checkpoint that was read. Nil if no meta page was readable, so that it is unknown.
    public internal(set) var checkpointCommit: UInt64?
    /// The number of commits replayed from the log.
    public internal(set) var logCommits = 0
    /// Why the log was not replayed to its end. Nil if it was.
    public internal(set) var logFailure: String?
    /// The number of page reads, repeated reads included.
    public internal(set) var pagesRead: UInt64 = 0
    /// The number of pages that are in use, as far as known, and damaged.
    public internal(set) var damagedPages = 0
    /// The damages, and how they were handled; at most 100 texts.
    public internal(set) var findings: [String] = []

    static let listLimit = 100

    /// Whether nothing is lost or doubtful: the new database has everything that the damaged one had.
    public var isComplete: Bool {
        logFailure == nil && isCertain && knowsAllTrees && trees.allSatisfy(\.isComplete)
    }

    /// Whether the list of trees was complete. If false, trees of which no page was found are missing from ``trees``.
    public internal(set) var knowsAllTrees = true

    /// Whether all records belong to the salvaged state. If false, some may be older versions or deleted, because the
    /// information which pages are in use was damaged.
    public internal(set) var isCertain = true

    /// The number of entries of the new database.
    public var records: UInt64 { trees.reduce(0) { $0 + $1.records } }

    mutating func note(_ finding: String) {
        if findings.count < SalvageReport.listLimit { findings.append(finding) }
    }

    /// A key of a tree.
    public enum Key: Sendable, Hashable, Comparable {
        case integer(UInt64)
        case bytes([UInt8])

        /// Compares keys; integers sort before bytes.
        public static func < (a: Key, b: Key) -> Bool {
            switch (a, b) {
            case (.integer(let a), .integer(let b)): a < b
            case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
            case (.integer, .bytes): true
            case (.bytes, .integer): false
            }
        }
    }

    /// The keys from `lower` to before `upper`; nil for no bound.
    public struct KeyRange: Sendable, Hashable {
        /// The first key; nil for the start of the tree.
        public var lower: Key?
        /// The exclusive end; nil for the end of the tree.
        public var upper: Key?

        static let all = KeyRange()

        func contains(_ key: Key) -> Bool {
            if let lower, key < lower { return false }
            if let upper, key >= upper { return false }
            return true
        }
    }

    /// The result for one tree.
    public struct Tree: Sendable, Hashable {
        /// Its number in the damaged database.
        public internal(set) var number: UInt32
        /// Its name in the new database.
        public internal(set) var name: String
        /// Whether that is its original name. If the page with the name is lost, the tree is named by its number.
        public internal(set) var hasItsName: Bool
        /// The kind of its keys.
        public internal(set) var keys: KeyKind
        /// The number of entries in the new database, those of the log included.
        public internal(set) var records: UInt64 = 0
        /// The number of entries read from pages.
        public internal(set) var recovered: UInt64 = 0
        /// The number of these that may be stale or deleted, because it is unknown whether their page is in use.
        public internal(set) var doubtful: UInt64 = 0
        /// The number of entries whose key is known and whose value is lost.
        public internal(set) var unreadable: UInt64 = 0
        /// The keys of these entries, at most 100.
        public internal(set) var unreadableKeys: [Key] = []
        /// The number of entries whose key is lost too: those that the checkpoint counts and that were not found. Nil
        /// if its count is lost.
        public internal(set) var missing: UInt64?
        /// The key ranges whose pages are lost, at most 100. Entries of these ranges that a search of the file found
        /// are in `recovered`.
        public internal(set) var damagedRanges: [KeyRange] = []

        /// Whether no entry of the tree is lost or doubtful.
        public var isComplete: Bool { unreadable == 0 && missing == 0 && doubtful == 0 }
    }
}

/// The progress of a salvage.
public struct SalvageProgress: Sendable, Hashable {
    /// The phases of a salvage, in their order.
    public enum Phase: Sendable, Hashable {
        /// Searching the file for its layout.
        case searching
        /// Reading the trees.
        case reading
        /// Searching the file for pages that no tree reaches.
        case gathering
        /// Replaying the commits of the log.
        case replaying
        /// Rebuilding indexes, in the layer above.
        case indexing
    }

    /// The current phase.
    public var phase: Phase
    /// The number of pages read in this phase; of commits when replaying, of rows when indexing.
    public var done: UInt64
    /// The number of pages of the file; nil in phases that do not count pages.
    public var total: UInt64?
    /// The number of records found so far.
    public var records: UInt64

    package init(phase: Phase, done: UInt64, total: UInt64?, records: UInt64) {
        self.phase = phase
        self.done = done
        self.total = total
        self.records = records
    }
}

extension SalvageReport.Key {
    var position: TreePosition {
        switch self {
        case .integer(let key): .integer(key)
        case .bytes(let key): .bytes(key)
        }
    }
}
