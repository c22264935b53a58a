import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// A model of the content of a database: dictionaries, independent of the engine.
struct LedgerState: Hashable {
    var numbers: [UInt64: [UInt8]] = [:]
    var words: [[UInt8]: [UInt8]] = [:]

    init() {}

    /// Reads the newest snapshot of a store.
    init(reading store: Store) throws {
        let snapshot = try store.snapshot()
        if let tree = snapshot.tree(named: "numbers") {
            var cursor = try snapshot.cursor(in: tree)
            var isThere = try cursor.first()
            while isThere {
                numbers[cursor.integerKey] = try cursor.value()
                isThere = try cursor.next()
            }
        }
        if let tree = snapshot.tree(named: "words") {
            var cursor = try snapshot.cursor(in: tree)
            var isThere = try cursor.first()
            while isThere {
                words[cursor.key] = try cursor.value()
                isThere = try cursor.next()
            }
        }
        snapshot.close()
    }
}

/// A database, the model after each of its commits, and the object store that it ships to.
final class Ledger {
    static let path = "ledger.mako"

    let disk: SimulatedDisk
    let objects: SimulatedObjectStore
    /// The destination: `objects`, unless another one is given.
    let place: any ObjectStore
    var options: StoreOptions
    private(set) var store: Store
    private(set) var state = LedgerState()
    /// The model with the last commit that was attempted.
    private(set) var attempted = LedgerState()
    /// By the number of the commit.
    private(set) var states: [UInt64: LedgerState] = [:]
    /// The commits after which `states` gets the model; nil for all.
    var chosen: Set<UInt64>?
    /// Whether the frames of the last commit have all of it.
    private(set) var isSelfContained = true
    private var random: SplitMix

    init(
        seed: UInt64, disk: SimulatedDisk = SimulatedDisk(), objects: SimulatedObjectStore = SimulatedObjectStore(),
        place: (any ObjectStore)? = nil, archiveBytes: Int = 1 << 20, encryption: Encryption? = nil
    ) throws {
        self.disk = disk
        self.objects = objects
        self.place = place ?? objects
        options = Ledger.options(disk, seed: seed)
        options.logArchiveBytes = archiveBytes
        options.encryption = encryption
        random = SplitMix(seed: seed)
        store = try Store(at: Ledger.path, options: options)
        try noteState()
    }

    /// Copies another ledger's files, as to another machine.
    init(copying other: Ledger, seed: UInt64) throws {
        disk = SimulatedDisk(other.disk.settledImage())
        objects = other.objects
        place = other.place
        options = other.options
        options.fileSystem = disk
        options.entropy = SeededEntropy(seed: seed)
        random = SplitMix(seed: seed)
        state = other.state
        states = other.states
        store = try Store(at: Ledger.path, options: options)
    }

    static func options(_ disk: any FileSystem, seed: UInt64) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: seed &+ 77)
        options.logSegmentBytes = 64 << 10
        options.cacheBytes = 4 << 20
        options.diskReserveBytes = 0
        return options
    }

    func commitNumber() throws -> UInt64 { try store.read { $0.commitNumber } }

    private func noteState() throws {
        let number = try commitNumber()
        if chosen?.contains(number) != false { states[number] = state }
    }

    // MARK: Commits

    /// The kind of a commit.
    enum Change: CaseIterable {
        case small, several, delete, deleteRange
        /// A value past the log, and a transaction too large for it.
        case large, many
    }

    private func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }

    fileprivate enum Step {
        case number(UInt64, [UInt8]?)
        case word([UInt8], [UInt8])
        case range(ClosedRange<UInt64>)
    }

    private func put(_ bytes: Int) -> Step {
        let value = noise(bytes)
        return random.chance(50)
            ? .number(UInt64(random.below(200)), value) : .word(Array("word \(random.below(200))".utf8), value)
    }

    private func steps(_ change: Change) -> [Step] {
        switch change {
        case .small: return [put(20 + random.below(40))]
        case .several: return (0..<5).map { _ in put(random.below(900)) }
        case .large: return [put(20_000 + random.below(20_000))]
        case .many: return (0..<80).map { _ in put(300 + random.below(300)) }
        case .delete: return state.numbers.keys.sorted().prefix(3).map { .number($0, nil) }
        case .deleteRange:
            let first = UInt64(random.below(200))
            return [.range(first...first + 20)]
        }
    }

    func commit(_ change: Change, durability: Durability? = nil) throws {
        let steps = steps(change)
        isSelfContained = change != .large && change != .many
        attempted = state.applying(steps)
        try store.write(durability: durability) { tx in
            let numbers = try tx.view.tree(named: "numbers") ?? tx.createTree(named: "numbers", keys: .integer)
            let words = try tx.view.tree(named: "words") ?? tx.createTree(named: "words", keys: .bytes)
            for step in steps {
                switch step {
                case .number(let key, let value?): try tx.put(value, for: key, in: numbers)
                case .number(let key, nil): _ = try tx.delete(key, in: numbers)
                case .word(let key, let value): try tx.put(value, for: key, in: words)
                case .range(let range): _ = try tx.deleteRange(range, in: numbers)
                }
            }
        }
        state = attempted
        try noteState()
    }

    /// Takes the last attempt into the model: the log has it, though it is not published.
    func adoptAttempt(as commit: UInt64) {
        state = attempted
        states[commit] = state
    }

    /// Makes a random commit, and sometimes a checkpoint or a background step.
    func commitAtRandom(selfContained: Bool = false) throws {
        let kind = random.below(20)
        let change: Change =
            switch kind {
            case 0: selfContained ? .small : .large
            case 1: selfContained ? .several : .many
            case 2, 3: .delete
            case 4: .deleteRange
            case 5..<10: .several
            default: .small
            }
        let before = try commitNumber()
        try commit(change, durability: random.chance(20) ? .async : nil)
        // A transaction without changes makes no commit.
        if try commitNumber() == before { return }
        if random.chance(10) { try store.checkpoint() }
        if random.chance(30) { _ = try store.step() }
        try noteState()
    }

    // MARK: Ends of processes

    func reopen() throws {
        try store.close()
        store = try Store(at: Ledger.path, options: options)
        try noteState()
    }

    /// Ends the process without closing, and reopens the store. All commits must be durable.
    func kill() throws {
        disk.endProcess()
        store = try Store(at: Ledger.path, options: options)
        try noteState()
    }

    /// Takes the content of the store for the model, after a commit whose outcome is open.
    func adoptContent() throws {
        state = try LedgerState(reading: store)
        try noteState()
    }

    func replicator(
        branch: Replicator.Branch = .continued, objectBytes: Int = 1 << 20
    ) throws(ReplicationError) -> Replicator {
        var own = Replicator.Options()
        own.objectBytes = objectBytes
        own.now = { 1_000_000 }
        return try Replicator(store, to: place, branch: branch, options: own)
    }

    // MARK: Backups

    /// A ledger that shipped a full backup, twice frames with a backup behind them, and frames.
    static func withBackups(seed: UInt64) throws -> Ledger {
        let ledger = try Ledger(seed: seed)
        for backupAfterBytes: UInt64 in [1 << 20, 1, 1, 1 << 20] {
            var options = Replicator.Options()
            options.backupAfterBytes = backupAfterBytes
            options.now = { 1_000_000 }
            try ledger.commit(.small)
            try Replicator(ledger.store, to: ledger.objects, options: options).ship()
        }
        return ledger
    }

    /// Damages a byte of objects; without a byte, removes them.
    func damage(_ names: some Sequence<String>, byte: Int?) {
        for name in names {
            if let byte { objects.objects[name]?[byte] ^= 1 } else { objects.objects[name] = nil }
        }
    }

    // MARK: What was shipped

    var replica: Replica { get throws { try Replica(place) } }

    /// Restores a commit into a new file, opens it and reads it.
    func restored(_ commit: UInt64?, branch: UInt64? = nil, from replica: Replica? = nil) throws -> LedgerState {
        let files = MemoryFileSystem()
        var own = Ledger.options(files, seed: commit ?? 0)
        own.encryption = options.encryption
        let report = try (replica ?? self.replica).restore(
            to: "restored.mako", branch: branch, at: commit, beginsBranch: false, options: own)
        #expect(try files.list(directory: ".") == ["restored.mako"])
        let restored = try Store(at: "restored.mako", options: own)
        defer { try? restored.close() }
        #expect(try restored.read { $0.commitNumber } == report.commit)
        #expect(try restored.verify().findings == [])
        return try LedgerState(reading: restored)
    }

    /// Restores every restore point and compares it with the model.
    ///
    /// - Returns: the commits.
    @discardableResult
    func checkAll(branch: UInt64 = 1) throws -> [UInt64] {
        let replica = try self.replica
        let points = try replica.restorePoints()[Int(branch) - 1]
        #expect(points.findings == [])
        let commits = points.runs.flatMap { Array($0.commits) }
        for commit in commits {
            let state = try #require(states[commit], "commit \(commit) was made")
            #expect(try restored(commit, branch: branch, from: replica) == state, "commit \(commit)")
        }
        return commits
    }
}

extension LedgerState {
    fileprivate func applying(_ steps: [Ledger.Step]) -> LedgerState {
        var next = self
        for step in steps {
            switch step {
            case .number(let key, let value): next.numbers[key] = value
            case .word(let key, let value): next.words[key] = value
            case .range(let range): for key in range { next.numbers[key] = nil }
            }
        }
        return next
    }
}
