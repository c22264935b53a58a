import Foundation
import MakoStorage
import MakoTestSupport
import TestHelpers
import Testing

/// A writer and a reader as in two processes, of which one is at rest within a call while the other works: before a call of
/// the file system, or with a part of its bytes read or written.
@Suite struct InterleavedCallConcurrencyTests {
    @Test(arguments: 1..<(TestEffort.isFull ? 200 : TestEffort.isSmall ? 3 : 7))
    func aReaderSeesWholeCommitsWhereverBothAre(_ seed: UInt64) throws {
        let disk = SimulatedDisk()
        let turns = Turns(seed: seed, chance: [4, 10, 30, 100][Int(seed % 4)])
        let bank = try Rounds(InterleavedFiles(disk, turns, 0), seed: seed)
        let failures = Guarded<[String]>([])
        let writer = ThreadRun {
            turns.begin(0)
            do { for _ in 0..<100 { try bank.step() } } catch { failures.withLock { $0.append("writer: \(error)") } }
            turns.end(0)
        }
        let reader = ThreadRun {
            turns.begin(1)
            var random = SplitMix(seed: seed)
            while !turns.isAlone, failures.withLock({ $0.isEmpty }) {
                do { try bank.audit(InterleavedFiles(disk, turns, 1), refreshes: random.below(30)) } catch {
                    failures.withLock { $0.append("reader: \(error)") }
                }
            }
            turns.end(1)
        }
        writer.wait()
        reader.wait()
        #expect(failures.withLock { $0 } == [])
    }

    /// A store of trees, larger than its cache, in each of which all values are of the round of their commit.
    private final class Rounds: @unchecked Sendable {
        // Unchecked: one thread has its turn.
        private static let path = "d/s.mako"
        private let files: any FileSystem
        private var store: Store
        private var random: SplitMix
        private var noises: [UInt8: [UInt8]] = [:]
        /// The commits that changed values, with the rounds of the trees and the numbers of their values from then on.
        private var states: [(commit: UInt64, rounds: [UInt8], counts: [UInt64])] = [(0, [0, 0, 0, 0], [0, 0, 0, 0])]
        /// The newest commit that the end of the process must not take: it was written, or a reader has shown it.
        private var written: UInt64 = 0

        init(_ files: any FileSystem, seed: UInt64) throws {
            self.files = files
            random = SplitMix(seed: seed)
            store = try Store(at: Rounds.path, options: Rounds.options(files))
            try fill(20, .full)
        }

        private static func options(_ files: any FileSystem, readOnly: Bool = false) -> StoreOptions {
            var options = StoreOptions()
            options.fileSystem = files
            options.background = .manual
            options.readOnly = readOnly
            options.logSegmentBytes = 256 << 10
            options.cacheBytes = 64 << 10
            return options
        }

        // MARK: The writer

        func step() throws {
            let durability = random.pick([.full, .ordered, .async] as [Durability])
            switch random.below(42) {
            case 0..<18: try fill(100 + UInt64(random.below(300)), durability)
            case 18..<32:
                try store.checkpoint()
                try noteWritten()
            // Too large for the log.
            case 32: try fill(1500, durability)
            case 33..<36: try fill(0, durability)
            case 36: try store.shrink()
            case 37:
                try noteWritten()
                try store.close()
                try reopen()
            case 38, 39:
                try noteWritten()
                try store.suspend()
                try store.resume()
            default:
                store.abandon()
                try reopen()
            }
        }

        /// The key of a large value.
        private static let named: UInt64 = 1 << 40

        /// A large value that no compression makes small.
        private func noise(_ round: UInt8) -> [UInt8] {
            if let known = noises[round] { return known }
            var random = SplitMix(seed: UInt64(round))
            let noise = (0..<80_000 + 200 * Int(round)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            noises[round] = noise
            return noise
        }

        private func reopen() throws {
            store = try Store(at: Rounds.path, options: Rounds.options(files))
            let newest = try store.read { $0.commitNumber }
            guard newest >= written else {
                throw Disagreement("commit \(written) was written; commit \(newest) is the newest")
            }
            states.removeAll { $0.commit > newest }
            try check(store.snapshot())
        }

        private func noteWritten() throws { written = try max(written, store.read { $0.commitNumber }) }

        private func fill(_ count: UInt64, _ durability: Durability) throws {
            let index = random.below(4)
            var rounds = states[states.count - 1].rounds
            rounds[index] = count == 0 ? 0 : UInt8(random.below(255)) + 1
            let isNamed = count > 0 && random.below(3) == 0
            var counts = states[states.count - 1].counts
            counts[index] = count + (isNamed ? 1 : 0)
            states.append((try store.read { $0.commitNumber } + 1, rounds, counts))
            try store.write(durability: durability) { transaction in
                let name = "t\(index)"
                let tree = try transaction.view.tree(named: name) ?? transaction.createTree(named: name, keys: .integer)
                let value = [UInt8](repeating: rounds[index], count: 200)
                for key in 0..<count { try transaction.put(value, for: key, in: tree) }
                _ = try transaction.deleteRange(count...UInt64.max, in: tree)
                // Written before the commit, to pages that the log names.
                if isNamed { try transaction.put(noise(rounds[index]), for: Rounds.named, in: tree) }
            }
            if durability != .async { try noteWritten() }
        }

        // MARK: The reader

        func audit(_ files: any FileSystem, refreshes: Int) throws {
            let reader: Store
            do throws(StorageError) {
                reader = try Store(at: Rounds.path, options: Rounds.options(files, readOnly: true))
            } catch {
                // The writer is faster each time.
                if case .alreadyOpen = error { return }
                throw error
            }
            var kept = [try reader.snapshot()]
            for _ in 0..<refreshes {
                let latest = kept[kept.count - 1].commitNumber
                do throws(StorageError) { _ = try reader.refresh() } catch {
                    guard case .alreadyOpen = error else { throw error }
                }
                kept.append(try reader.snapshot())
                #expect(kept[kept.count - 1].commitNumber >= latest)
                written = max(written, kept[kept.count - 1].commitNumber)
                if kept.count > 4 { kept.remove(at: random.below(3)) }
                for snapshot in [random.pick(kept), kept[kept.count - 1]] { try check(snapshot) }
            }
            try reader.close()
        }

        private func check(_ snapshot: Snapshot) throws {
            guard let state = states.last(where: { $0.commit <= snapshot.commitNumber }) else { return }
            for (index, round) in state.rounds.enumerated() {
                let value = [UInt8](repeating: round, count: 200)
                var (count, wrong) = (0 as UInt64, 0)
                if let tree = snapshot.tree(named: "t\(index)") {
                    var cursor = try snapshot.cursor(in: tree)
                    var isThere = try cursor.first()
                    while isThere {
                        count += 1
                        if try cursor.value() != (cursor.integerKey == Rounds.named ? noise(round) : value) {
                            wrong += 1
                        }
                        isThere = try cursor.next()
                    }
                }
                #expect(wrong == 0, "tree \(index) of commit \(snapshot.commitNumber)")
                #expect(count == state.counts[index], "tree \(index) of commit \(snapshot.commitNumber)")
            }
        }
    }
}

/// Two threads, one of which runs; now and then it is the turn of the other one.
private final class Turns: @unchecked Sendable {
    private let condition = NSCondition()
    // Guarded by `condition`, or used by the thread that runs.
    private var running = 0
    /// Whether each thread has ended, or not begun.
    private var ended = [true, true]
    private var random: SplitMix
    /// The turn passes at one point of so many.
    private let chance: Int

    init(seed: UInt64, chance: Int) { (random, self.chance) = (SplitMix(seed: seed), chance) }

    var isAlone: Bool { ended.contains(true) }

    /// Waits for the first turn of a thread.
    func begin(_ thread: Int) {
        condition.lock()
        ended[thread] = false
        while running != thread { condition.wait() }
        condition.unlock()
    }

    func end(_ thread: Int) {
        condition.lock()
        ended[thread] = true
        running = 1 - thread
        condition.broadcast()
        condition.unlock()
    }

    /// Where the turn may pass.
    func pass(_ thread: Int) {
        condition.lock()
        defer { condition.unlock() }
        guard running == thread, !ended[1 - thread], random.below(chance) == 0 else { return }
        running = 1 - thread
        condition.broadcast()
        while running != thread { condition.wait() }
    }

    /// How many of `count` bytes are read or written until the turn may pass.
    func part(of count: Int) -> Int {
        condition.withLock { random.below(2) == 0 ? count : min(count, 1 + random.below(2 * pageBytes)) }
    }
}

private final class InterleavedFiles: PassingFileSystem, @unchecked Sendable {
    let inner: any FileSystem
    private let turns: Turns
    private let thread: Int

    init(_ inner: any FileSystem, _ turns: Turns, _ thread: Int) {
        (self.inner, self.turns, self.thread) = (inner, turns, thread)
    }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        turns.pass(thread)
        return InterleavedFile(try inner.open(path, mode), turns, thread)
    }
    func remove(_ path: String) throws(FileError) {
        turns.pass(thread)
        try inner.remove(path)
    }
    func rename(_ from: String, to: String) throws(FileError) {
        turns.pass(thread)
        try inner.rename(from, to: to)
    }
    func list(directory: String) throws(FileError) -> [String] {
        turns.pass(thread)
        return try inner.list(directory: directory)
    }
}

private final class InterleavedFile: PassingFile {
    let inner: any File
    private let turns: Turns
    private let thread: Int

    init(_ file: any File, _ turns: Turns, _ thread: Int) { (inner, self.turns, self.thread) = (file, turns, thread) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        // A thread that reads a page of a tree holds an epoch, for which the other one waits, as both are in one process.
        // Six pages are before those of trees and bitmaps: the header block twice, and two metas twice.
        if path.hasSuffix(".mako"), offset >= UInt64(6 * pageBytes) {
            return try inner.read(into: buffer, at: offset)
        }
        var done = 0
        while true {
            turns.pass(thread)
            let end = done + turns.part(of: buffer.count - done)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<end])
            let count = try inner.read(into: part, at: offset + UInt64(done))
            done += count
            if done == buffer.count || count < part.count { return done }
        }
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        var done = 0
        while done < buffer.count {
            turns.pass(thread)
            let part = UnsafeRawBufferPointer(rebasing: buffer[done..<done + turns.part(of: buffer.count - done)])
            try inner.write(part, at: offset + UInt64(done))
            done += part.count
        }
    }
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try inner.writeDurably(buffer, at: offset)
    }
    func resize(to size: UInt64) throws(FileError) {
        turns.pass(thread)
        try inner.resize(to: size)
    }
    func sync() throws(FileError) {
        turns.pass(thread)
        try inner.sync()
    }
    func pin(_ number: UInt64) throws(FileError) -> Bool {
        turns.pass(thread)
        return try inner.pin(number)
    }
    func pins() throws(FileError) -> [UInt64] {
        turns.pass(thread)
        return try inner.pins()
    }
    func close() {
        turns.pass(thread)
        inner.close()
    }
}
