import MakoStorage
import MakoTestSupport

/// The transactions of all writers, as functions of the life of a process and of the number of the transaction.
///
/// Transactions are numbered in the order of their commits, beginning with 1. A tree of the store has the life that made each, so that the content
/// follows from that list alone.
enum Workload {
    static let rows = "rows"
    static let words = "words"
    static let counters = "counters"
    static let journal = "journal"
    /// The key of the newest transaction's number among the counters, and that of the count of entries.
    static let head: UInt64 = 0
    static let count: UInt64 = 1
    private static let keys = 300
    /// The size from which a value goes to pages of the file, and the log only names it: a quarter of a segment.
    private static let namedBytes = options().logSegmentBytes / 4

    static func word(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

    static func number(_ bytes: [UInt8]?) -> UInt64 {
        (bytes ?? []).enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64($1.offset * 8) }
    }

    /// The changes of a transaction; nil deletes. Even keys are of the tree of rows, odd ones of the tree of words.
    static func changes(_ life: Life, _ number: UInt64) -> [(key: UInt64, value: [UInt8]?)] {
        var random = SplitMix(seed: life.id &* 0x9e37_79b9 ^ number)
        // Now and then a transaction that is too large for the log, a long value, and one that the log only names.
        let isLarge = life.hasLargeChanges && random.below(40) == 0
        return (0..<(isLarge ? 250 : 1 + random.below(5))).map { _ in
            let key = UInt64(random.below(keys))
            if random.chance(25) { return (key, nil) }
            let isLong = life.hasLargeChanges && random.chance(2)
            guard isLong else { return (key, noise(random.below(isLarge ? 800 : 250), &random)) }
            let least = random.chance(25) ? namedBytes : 15_000
            return (key, noise(least + random.below(15_000), &random))
        }
    }

    /// Whether frames hold all of a transaction: a few values that are far from the size beyond which a checkpoint or pages of the file hold them.
    /// Of others that is open.
    static func isSelfContained(_ life: Life, _ number: UInt64) -> Bool {
        let changes = changes(life, number)
        return changes.count <= 5 && changes.allSatisfy { ($0.value?.count ?? 0) <= 250 }
    }

    /// Whether a transaction is in the log but for a value that its frame only names.
    static func namesValue(_ life: Life, _ number: UInt64) -> Bool {
        guard life.hasLargeChanges else { return false }
        let changes = changes(life, number)
        let sizes = changes.map { $0.value?.count ?? 0 }
        // What the frame holds itself is far from the size beyond which a checkpoint holds all.
        let logged = sizes.reduce(0) { $1 < namedBytes ? $0 + $1 : $0 }
        return changes.count <= 5 && logged < namedBytes / 2 && sizes.contains { $0 >= namedBytes }
    }

    private static func noise(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: random.next().littleEndian) { bytes += $0 } }
        return Array(bytes.prefix(count))
    }

    /// Commits the next transaction. Returns its number.
    static func commit(_ life: Life, _ store: Store, _ durability: Durability) throws -> UInt64 {
        try store.write(durability: durability) { transaction in
            let rows = try tree(rows, .integer, transaction)
            let words = try tree(words, .bytes, transaction)
            let counters = try tree(counters, .integer, transaction)
            let journal = try tree(journal, .integer, transaction)
            let number = Workload.number(try transaction.view.get(head, in: counters)) + 1
            for (key, value) in changes(life, number) {
                switch (key % 2, value) {
                case (0, let value?): try transaction.put(value, for: key, in: rows)
                case (0, nil): _ = try transaction.delete(key, in: rows)
                case (_, let value?): try transaction.put(value, for: word(key), in: words)
                case (_, nil): _ = try transaction.delete(word(key), in: words)
                }
            }
            let entries = try transaction.view.count(of: rows) + transaction.view.count(of: words)
            try transaction.put(word(number), for: head, in: counters)
            try transaction.put(word(UInt64(entries)), for: count, in: counters)
            try transaction.put(word(life.id), for: number, in: journal)
            return number
        }
    }

    private static func tree(
        _ name: String, _ keys: KeyKind, _ transaction: borrowing WriteTransaction
    ) throws -> Tree {
        try transaction.view.tree(named: name) ?? transaction.createTree(named: name, keys: keys)
    }

    /// Small segments and little memory, so that segments change, checkpoints run and pages are evicted all the time.
    static func options(readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.logSegmentBytes = 256 << 10
        options.checkpointBytes = 300 << 10
        options.cacheBytes = 2 << 20
        options.readOnly = readOnly
        if !readOnly { options.logArchiveBytes = 64 << 20 }
        return options
    }
}

/// One process, from its start to its death, and how it behaves, which follows from its id.
struct Life: Hashable {
    /// How a writer ships.
    enum Shipping: CaseIterable {
        /// Each commit by itself, on the thread that commits.
        case each
        /// A thread of its own beside three that commit.
        case beside
        /// By the replicator's thread.
        case byItself
        /// Commits return when an object has them.
        case confirmed
    }

    let id: UInt64
    let shipping: Shipping
    let hasLargeChanges: Bool
    /// The size of an object of frames, and of the frames before a backup.
    let objectBytes: Int
    let backupAfterBytes: UInt64

    init(id: UInt64) {
        var random = SplitMix(seed: id)
        self.id = id
        shipping = Shipping.allCases[random.below(Shipping.allCases.count)]
        hasLargeChanges = random.chance(60)
        objectBytes = random.chance(50) ? 1 << 20 : 1 << (9 + random.below(6))
        backupAfterBytes = random.chance(50) ? 64 << 20 : 30_000 + UInt64(random.below(100_000))
    }
}

/// The content of a store, and the lives that made its transactions.
struct Contents {
    private(set) var entries: [UInt64: [UInt8]] = [:]
    /// The life of each transaction, beginning with number 1.
    private(set) var history: [UInt64] = []

    init() {}

    init(reading store: Store) throws {
        self = try store.read { try Contents(reading: $0) }
    }

    init(reading snapshot: Snapshot) throws {
        guard let counters = snapshot.tree(named: Workload.counters) else { return }
        try scan(Workload.rows, snapshot) { entries[$0.integerKey] = try $0.value() }
        try scan(Workload.words, snapshot) { entries[Workload.number($0.key)] = try $0.value() }
        try scan(Workload.journal, snapshot) { cursor in
            guard cursor.integerKey == UInt64(history.count) + 1 else {
                throw Failure("the journal lacks transaction \(history.count + 1)")
            }
            history.append(Workload.number(try cursor.value()))
        }
        let head = Workload.number(try snapshot.get(Workload.head, in: counters))
        let count = Workload.number(try snapshot.get(Workload.count, in: counters))
        guard head == UInt64(history.count) else {
            throw Failure("the journal ends at \(history.count), not at \(head)")
        }
        guard count == UInt64(entries.count) else { throw Failure("\(entries.count) entries instead of \(count)") }
    }

    private func scan(_ name: String, _ snapshot: Snapshot, _ body: (borrowing Cursor) throws -> Void) throws {
        guard let tree = snapshot.tree(named: name) else { throw Failure("the tree '\(name)' is missing") }
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        while isThere {
            try body(cursor)
            isThere = try cursor.next()
        }
    }

    /// What the transactions of a history leave.
    static func expected(_ history: [UInt64]) -> [UInt64: [UInt8]] {
        var entries: [UInt64: [UInt8]] = [:]
        for (index, life) in history.enumerated() {
            for (key, value) in Workload.changes(Life(id: life), UInt64(index) + 1) { entries[key] = value }
        }
        return entries
    }
}

/// What was wrong.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
