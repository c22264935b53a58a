import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Threads write, read and take checkpoints; what they saw is then held against the serial order of the commit numbers.
@Suite(.serialized) struct HistoryConcurrencyTests {
    private static let path = "d/s.mako"
    private static let keys: UInt64 = 400

    /// Numbers that tell what came before what, and values that no two transactions share.
    private final class Clock: Sendable {
        private let ticks = Atomic<UInt64>(1)
        private let values = Atomic<UInt64>(1_000_000)

        func now() -> History.Moment { ticks.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue }
        func value() -> UInt64 { values.wrappingAdd(1, ordering: .relaxed).oldValue }
    }

    /// One thread's part of the history.
    private final class Part: Sendable {
        private let lock = Lock()
        nonisolated(unsafe) private var history = History(start: 0, initial: [:])
        nonisolated(unsafe) private var errors: [String] = []

        func add(_ read: History.Read) { lock.withLock { history.reads.append(read) } }
        func add(_ write: History.Write) { lock.withLock { history.writes.append(write) } }
        func note(_ error: any Error) {
            let isDisk = (error as? any DiskFailure)?.isDiskFailure ?? false
            lock.withLock { errors.append((isDisk ? "failed disk: " : "") + "\(error)") }
        }
        var all: (history: History, errors: [String]) { lock.withLock { (history, errors) } }
    }

    private func options(_ fileSystem: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = fileSystem
        options.cacheBytes = 96 << 10
        options.logSegmentBytes = 64 << 10
        options.checkpointBytes = 48 << 10
        // Commits of the vacuum would belong to no thread of the history.
        options.shrinksWhenIdle = false
        return options
    }

    // Values are long, so that the store outgrows its memory; their number is the first eight bytes.

    private static func bytes(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
            + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 90 + Int(number % 400))
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Threads

    private static func write(_ store: Store, _ tree: Tree, _ clock: Clock, _ random: inout SplitMix, _ part: Part)
        throws
    {
        let began = clock.now()
        let durability: Durability = [.full, .full, .ordered, .async][random.below(4)]
        let transaction = try store.beginWrite()
        var write = History.Write(
            began: began, ended: 0, base: transaction.view.commitNumber, seen: [:], written: [:], outcome: .rolledBack,
            isDurable: durability == .full, isVisible: durability != .async)
        for _ in 0..<random.below(4) + 1 {
            let key = UInt64(random.below(Int(keys)))
            if write.written[key] == nil {
                write.seen[key] = .some(try transaction.view.get(key, in: tree).map { number($0) })
            }
            if random.chance(15) {
                if try transaction.delete(key, in: tree) { write.written[key] = .some(nil) }
            } else {
                let value = clock.value()
                try transaction.put(bytes(value), for: key, in: tree)
                write.written[key] = .some(value)
            }
            if random.chance(10) {
                // Changes that are rolled back to a savepoint are not part of the commit.
                let savepoint = transaction.savepoint()
                try transaction.put(bytes(1), for: UInt64(random.below(Int(keys))), in: tree)
                try transaction.rollback(to: savepoint)
            }
        }
        // A transaction that changes nothing makes no commit.
        if random.chance(10) || write.written.isEmpty {
            transaction.rollback()
        } else {
            write.outcome = .unknown
            do { try transaction.commit(durability: durability) } catch {
                write.ended = clock.now()
                part.add(write)
                throw error
            }
            write.outcome = .acknowledged
        }
        write.ended = clock.now()
        part.add(write)
    }

    private static func read(_ store: Store, _ tree: Tree, _ clock: Clock, _ random: inout SplitMix, _ part: Part)
        throws
    {
        let began = clock.now()
        let snapshot = try store.snapshot()
        var values: [UInt64: UInt64?] = [:]
        switch random.below(4) {
        case 0:
            for key in 0..<keys { values[key] = .some(nil) }
            try snapshot.forEach(in: tree) { key, value in
                values[key] = .some(number(value))
                return true
            }
        case 1:
            for key in 0..<keys { values[key] = .some(nil) }
            var cursor = try snapshot.cursor(in: tree)
            var isThere = try cursor.last()
            while isThere {
                values[cursor.integerKey] = .some(number(try cursor.value()))
                isThere = try cursor.previous()
            }
        case 2:
            let wanted = (0..<60).map { _ in UInt64(random.below(Int(keys))) }
            try snapshot.withValues(of: wanted, in: tree) { index, value in
                values[wanted[index]] = .some(value.map { number($0) })
            }
        default:
            for _ in 0..<40 {
                let key = UInt64(random.below(Int(keys)))
                values[key] = .some(try snapshot.get(key, in: tree).map { number($0) })
            }
        }
        part.add(History.Read(began: began, ended: clock.now(), commit: snapshot.commitNumber, values: values))
        if random.chance(50) { snapshot.close() }
    }

    /// Three writers, three readers and one who takes checkpoints. Ends when the writers have, or have failed.
    private func run(_ store: Store, _ tree: Tree, _ history: inout History, seed: UInt64, _ writes: Int) throws
        -> [String]
    {
        let clock = Clock()
        let isDone = Atomic<Bool>(false)
        let parts = (0..<7).map { _ in Part() }
        let writers = try (0..<3).map { index throws in
            try startThread(name: "writer \(index)") {
                var random = SplitMix(seed: seed &* 31 &+ UInt64(index))
                do {
                    for _ in 0..<writes {
                        try HistoryConcurrencyTests.write(store, tree, clock, &random, parts[index])
                    }
                } catch { parts[index].note(error) }
            }
        }
        let readers = try (3..<6).map { index throws in
            try startThread(name: "reader \(index)") {
                var random = SplitMix(seed: seed &* 31 &+ UInt64(index))
                var rounds = 0
                do {
                    while !isDone.load(ordering: .acquiring) || rounds < 3 {
                        rounds += 1
                        try HistoryConcurrencyTests.read(store, tree, clock, &random, parts[index])
                    }
                } catch { parts[index].note(error) }
            }
        }
        let checkpoints = try startThread(name: "checkpoints") {
            do { while !isDone.load(ordering: .acquiring) { try store.checkpoint() } } catch { parts[6].note(error) }
        }
        for writer in writers { writer.join() }
        isDone.store(true, ordering: .releasing)
        for thread in readers + [checkpoints] { thread.join() }
        for part in parts {
            history.reads += part.all.history.reads
            history.writes += part.all.history.writes
        }
        return parts.flatMap(\.all.errors)
    }

    private func prepare(_ disk: SimulatedDisk) throws -> (Store, Tree, History) {
        let store = try Store(at: HistoryConcurrencyTests.path, options: options(disk))
        var initial: [UInt64: UInt64] = [:]
        let tree = try store.write { transaction throws -> Tree in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            for key in stride(from: UInt64(0), to: HistoryConcurrencyTests.keys, by: 2) {
                try transaction.put(HistoryConcurrencyTests.bytes(key), for: key, in: tree)
                initial[key] = key
            }
            return tree
        }
        return (store, tree, History(start: try store.read { $0.commitNumber }, initial: initial))
    }

    /// The content of a disk after a power cut, as keys and numbers.
    private func found(_ disk: SimulatedDisk) throws -> (commit: UInt64, values: [UInt64: UInt64]) {
        let store = try Store(at: HistoryConcurrencyTests.path, options: options(disk))
        defer { try? store.close() }
        #expect(try store.verify().isClean)
        let snapshot = try store.snapshot()
        var values: [UInt64: UInt64] = [:]
        if let tree = snapshot.tree(named: "t") {
            try snapshot.forEach(in: tree) { key, value in
                values[key] = HistoryConcurrencyTests.number(value)
                return true
            }
        }
        return (snapshot.commitNumber, values)
    }

    private static var seeds: Range<UInt64> { TestEffort.isFull ? 0..<200 : 0..<3 }

    @Test(arguments: seeds) func threadsSeeASerialOrder(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        var (store, tree, history) = try prepare(disk)
        let errors = try run(store, tree, &history, seed: seed, 80)
        #expect(errors.isEmpty)
        #expect(history.contradictions().prefix(5).isEmpty)
        #expect(history.reads.count >= 9 && history.writes.count == 240)
        #expect(try store.verify().isClean)
        // Commits acknowledged as durable need nothing that is still pending.
        let (commit, values) = try found(SimulatedDisk(disk.crashState().image([])))
        let acknowledged = history.writes.filter { $0.outcome == .acknowledged && $0.isDurable }.map { $0.base + 1 }
            .max()
        #expect(commit >= acknowledged ?? 0)
        #expect(history.state(at: commit) == values)
        try store.close()
    }

    /// The power goes while all of them are at work.
    @Test(arguments: seeds) func aPowerCutLeavesAPrefixOfTheOrder(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        var (store, tree, history) = try prepare(disk)
        var random = SplitMix(seed: seed &+ 900)
        disk.inject(.crashBefore, atCall: disk.callCount + 20 + random.below(400))
        // A thread that meets the cut says that the device has failed, and nothing else.
        let errors = try run(store, tree, &history, seed: seed, 80)
        #expect(errors.allSatisfy { $0.hasPrefix("failed disk: ") }, "\(errors)")
        disk.cutPower()
        let contradictions = history.contradictions()
        #expect(contradictions.prefix(5).isEmpty)
        let acknowledged = history.writes.filter { $0.outcome == .acknowledged && $0.isDurable }.map { $0.base + 1 }
            .max()
        for _ in 0..<6 {
            let (commit, values) = try found(SimulatedDisk(disk.crashState().randomImage(&random)))
            #expect(commit >= acknowledged ?? 0)
            #expect(history.state(at: commit) == values, "commit \(commit)")
        }
        withExtendedLifetime(store) {}
    }
}
