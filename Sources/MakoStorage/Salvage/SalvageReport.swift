/// What a salvage got out of a damaged database, and what it did not; see ``Store/salvage(from:to:options:progress:)``.
public struct SalvageReport: Sendable, Hashable {
    /// What came of each tree, in the order of the trees' numbers.
    public internal(set) var trees: [Tree] = []
    /// The commit of the checkpoint that the records were read from. Nil when no meta page could be read, so that nobody knows.
    public internal(set) var checkpointCommit: UInt64?
    /// Commits of the log that were made again on top of the checkpoint.
    public internal(set) var logCommits = 0
    /// Why the log was not used to its end, or not at all. Nil when it was.
    public internal(set) var logFailure: String?
    /// Pages that were read, some of them more than once.
    public internal(set) var pagesRead: UInt64 = 0
    /// Pages that are in use, as far as that is known, and cannot be used.
    public internal(set) var damagedPages = 0
    /// What was found damaged and how it was made up for, at most 100 sentences.
    public internal(set) var findings: [String] = []

    static let listLimit = 100

    /// Whether nothing is lost and nothing doubtful: the new database holds what the damaged one held.
    public var isComplete: Bool { logFailure == nil && isCertain && trees.allSatisfy(\.isComplete) }

    /// Whether every record is known to be of the state that was salvaged. Otherwise some may be older versions, or may have been
    /// deleted: what says which pages count was itself damaged.
    public internal(set) var isCertain = true

    /// Entries of the new database.
    public var records: UInt64 { trees.reduce(0) { $0 + $1.records } }

    mutating func note(_ finding: String) {
        if findings.count < SalvageReport.listLimit { findings.append(finding) }
    }

    /// A key of a tree.
    public enum Key: Sendable, Hashable, Comparable {
        case integer(UInt64)
        case bytes([UInt8])

        public static func < (a: Key, b: Key) -> Bool {
            switch (a, b) {
            case (.integer(let a), .integer(let b)): a < b
            case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
            case (.integer, .bytes): true
            case (.bytes, .integer): false
            }
        }
    }

    /// Keys from `lower` up to, and not including, `upper`. Nil has no end.
    public struct KeyRange: Sendable, Hashable {
        public var lower: Key?
        public var upper: Key?

        static let all = KeyRange()

        func contains(_ key: Key) -> Bool {
            if let lower, key < lower { return false }
            if let upper, key >= upper { return false }
            return true
        }
    }

    /// What came of a tree.
    public struct Tree: Sendable, Hashable {
        /// Its number in the damaged database.
        public internal(set) var number: UInt32
        /// Its name in the new one.
        public internal(set) var name: String
        /// Whether that is the name it had. Otherwise the page that tells it is lost, and it is called by its number.
        public internal(set) var hasItsName: Bool
        public internal(set) var keys: KeyKind
        /// Entries in the new database, those of the log included.
        public internal(set) var records: UInt64 = 0
        /// Entries that were read from pages.
        public internal(set) var recovered: UInt64 = 0
        /// Those among them that may be stale or deleted, because nothing tells whether their page counts.
        public internal(set) var doubtful: UInt64 = 0
        /// Entries whose key is known and whose value is lost.
        public internal(set) var unreadable: UInt64 = 0
        /// The keys of such entries, at most 100.
        public internal(set) var unreadableKeys: [Key] = []
        /// Entries of which not even the key is known: as many as the checkpoint counted and nobody found. Nil when its count is lost.
        public internal(set) var missing: UInt64?
        /// Ranges of keys whose pages cannot be read, at most 100. What was found of them by searching the file is in `recovered`.
        public internal(set) var damagedRanges: [KeyRange] = []

        public var isComplete: Bool { unreadable == 0 && missing == 0 && doubtful == 0 }
    }
}

/// How far a salvage has come.
public struct SalvageProgress: Sendable, Hashable {
    public enum Phase: Sendable, Hashable {
        /// Looking through the file for what says how it is laid out.
        case searching
        /// Reading the trees.
        case reading
        /// Looking through the file for pages that no tree leads to any more.
        case gathering
        /// Making the commits of the log again.
        case replaying
        /// Building indexes anew: for the layer that knows them.
        case indexing
    }

    public var phase: Phase
    /// Pages done in this phase; commits when replaying, rows when indexing.
    public var done: UInt64
    /// Pages of the file; nil when it is not pages that are counted.
    public var total: UInt64?
    /// Records found so far.
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
