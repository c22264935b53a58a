import MakoTestSupport
import Testing

import MakoStorage

/// Readers beside a writer, as other processes have them: nothing is shared but the files.
@Suite struct OtherProcessTests: RoundValues {
    private static let path = "d/s.mako"

    private func writer(_ files: any FileSystem) throws -> Store {
        try Store(at: Self.path, options: options(files))
    }

    private func reader(_ files: any FileSystem) throws -> Store {
        try Store(at: Self.path, options: options(files, readOnly: true))
    }

    /// The round of all values of a snapshot, of which there are `count`.
    private func wholeRound(_ snapshot: Snapshot, count: UInt64 = 100) throws -> UInt8? {
        guard let tree = snapshot.tree(named: "t") else { return nil }
        var rounds = Set<UInt8>()
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        var found: UInt64 = 0
        while isThere {
            rounds.formUnion(try cursor.value())
            found += 1
            isThere = try cursor.next()
        }
        #expect(found == count)
        #expect(rounds.count == min(1, Int(count)), "one commit, not \(rounds.sorted())")
        return rounds.first
    }

    // MARK: Reading beside a writer

    @Test func aReaderFollowsTheWriter() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        let reader = try reader(disk)
        let first = try reader.snapshot()
        #expect(try wholeRound(first) == 1)
        #expect(try !reader.refresh())
        try fill(writer, round: 2)
        #expect(try reader.read { try wholeRound($0) } == 1)
        #expect(try reader.refresh())
        #expect(try reader.read { try wholeRound($0) } == 2)
        #expect(try reader.snapshot().commitNumber == writer.snapshot().commitNumber)
        #expect(try wholeRound(first) == 1)
        #expect(try reader.verify().isClean)
        #expect(try !writer.refresh())
        try writer.close()
        try reader.close()
        #expect(throws: StorageError.closed(path: Self.path)) { try reader.refresh() }
    }

    /// Every page is used again many times while snapshots of the reader, whose cache is small, still show what was there.
    @Test func whatAReaderSeesIsNotWrittenOver() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1, count: 2000)
        try writer.checkpoint()
        let reader = try reader(disk)
        var kept: [(Snapshot, UInt8)] = []
        for step in 2...12 as ClosedRange<UInt8> {
            kept.append((try reader.snapshot(), step - 1))
            try fill(writer, round: step, count: 2000)
            try writer.checkpoint()
            #expect(try reader.refresh())
            for (snapshot, expected) in kept.suffix(4) { #expect(try wholeRound(snapshot, count: 2000) == expected) }
        }
        for (snapshot, expected) in kept { #expect(try wholeRound(snapshot, count: 2000) == expected) }
        #expect(try reader.verify().isClean)
        #expect(try writer.verify().isClean)
    }

    /// Pages are reused when a reader has moved on: the file does not grow with the number of rounds.
    @Test func whatNoReaderNeedsIsUsedAgain() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        let reader = try reader(disk)
        var sizes: [UInt64] = []
        for step in 1...30 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 500)
            try writer.checkpoint()
            try reader.refresh()
            #expect(try reader.read { try wholeRound($0, count: 500) } == step)
            sizes.append(writer.stats.filePages)
        }
        #expect(sizes[29] <= sizes[9], "\(sizes)")
        try reader.close()
        #expect(try disk.open(Self.path, .readOnly).pins() == [])
    }

    /// The first writer has ended and another process writes, which does not know the checkpoint of the reader.
    @Test func theNextWriterKeepsWhatReadersSee() throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        try fill(writer, round: 1, count: 2000)
        try writer.checkpoint()
        let reader = try reader(disk)
        let snapshot = try reader.snapshot()
        for step in 2...4 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 2000)
            try writer.checkpoint()
        }
        try writer.close()
        writer = try self.writer(disk)
        for step in 5...8 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 2000)
            try writer.checkpoint()
        }
        #expect(try wholeRound(snapshot, count: 2000) == 1)
        #expect(try reader.refresh())
        #expect(try reader.read { try wholeRound($0, count: 2000) } == 8)
        #expect(try writer.verify().isClean)
        let large = writer.stats.filePages
        snapshot.close()
        try reader.close()
        for step in 9...12 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 2000)
            try writer.checkpoint()
        }
        #expect(writer.stats.filePages <= large)
        try writer.shrink()
        #expect(writer.stats.filePages < large / 2)
    }

    /// A reader at a checkpoint before the two that the file has, with a snapshot of 2,000 values of round 1.
    private func leaveBehind(_ disk: SimulatedDisk, _ writer: Store) throws -> (Store, Snapshot) {
        try fill(writer, round: 1, count: 2000)
        try writer.checkpoint()
        let reader = try reader(disk)
        let snapshot = try reader.snapshot()
        for step in 2...3 as ClosedRange<UInt8> {
            try fill(writer, round: step, in: "other")
            try writer.checkpoint()
        }
        return (reader, snapshot)
    }

    /// A page that the reader and the older checkpoint see waits for both, whichever is released first.
    @Test func theNextWriterKeepsWhatReadersAndTheOlderCheckpointShare() throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        let (reader, snapshot) = try leaveBehind(disk, writer)
        // A small commit: a large one would leave one checkpoint.
        try writer.write { try $0.deleteAll(in: #require($0.view.tree(named: "t"))) }
        try writer.checkpoint()
        // As a killed process leaves it.
        writer.abandon()
        writer = try self.writer(disk)
        for step in 5...8 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 2000, in: "other")
            try writer.checkpoint()
        }
        #expect(try wholeRound(snapshot, count: 2000) == 1)
        let large = writer.stats.filePages
        snapshot.close()
        try reader.close()
        for step in 9...12 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 2000, in: "other")
            try writer.checkpoint()
        }
        #expect(writer.stats.filePages <= large)
        #expect(try writer.verify().isClean)
    }

    /// The pages of a value that the log names were free in both checkpoints, and are not the reader's.
    @Test func aReaderAtAnOlderCheckpointDoesNotHinderRecovery() throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        let (_, snapshot) = try leaveBehind(disk, writer)
        let value = [UInt8](repeating: 9, count: 1 << 20)
        try writer.write { try $0.put(value, for: 7, in: #require($0.view.tree(named: "other"))) }
        writer.abandon()
        writer = try self.writer(disk)
        #expect(try writer.read { try $0.get(7, in: #require($0.tree(named: "other"))).map { Array($0) } } == value)
        #expect(writer.recovery.replayedCommits == 1)
        #expect(try wholeRound(snapshot, count: 2000) == 1)
        #expect(try writer.verify().isClean)
    }

    @Test func aFileIsNotCutShortUnderAReader() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1, count: 2000)
        try writer.checkpoint()
        let reader = try reader(disk)
        let snapshot = try reader.snapshot()
        try writer.write { try $0.deleteAll(in: #require($0.view.tree(named: "t"))) }
        try writer.shrink()
        #expect(try wholeRound(snapshot, count: 2000) == 1)
        snapshot.close()
        try reader.refresh()
        #expect(try reader.read { try wholeRound($0, count: 0) } == nil)
        // The reader releases its pages when all operations of this process that had begun by then have ended, those of
        // other tests too.
        let limit = ContinuousClock.now.advanced(by: .seconds(120))
        repeat {
            try reader.refresh()
            try writer.shrink()
        } while try disk.open(Self.path, .readOnly).size() >= 200 << 10 && ContinuousClock.now < limit
        #expect(try disk.open(Self.path, .readOnly).size() < 200 << 10)
        #expect(try reader.verify().isClean)
    }

    /// A log segment is in use before the header names it. A power cut must not take back what a reader shows from it.
    @Test(arguments: [false, true]) func aSegmentThatTheHeaderDoesNotNameYetIsReadAndKept(refreshing: Bool) throws {
        let disk = SimulatedDisk()
        var writer = try writer(disk)
        try fill(writer, round: 1)
        try writer.close()
        writer = try self.writer(disk)
        let early = refreshing ? try reader(disk) : nil
        try fill(writer, round: 2, .ordered)
        let reader = try early ?? self.reader(disk)
        if refreshing { #expect(try reader.refresh()) }
        #expect(try reader.read { try wholeRound($0) } == 2)
        try fill(writer, round: 3, .ordered)
        #expect(try reader.refresh())
        #expect(try !reader.refresh())
        #expect(try reader.read { try wholeRound($0) } == 3)
        let left = SimulatedDisk(disk.crashState().image([]))
        disk.cutPower()
        withExtendedLifetime((writer, reader)) {}
        #expect(try self.writer(left).read { try wholeRound($0) } == 3)
    }

    // MARK: What happens in between

    /// Does something before the next pin of a file.
    private final class Interrupted: FileSystem, @unchecked Sendable {
        let disk: SimulatedDisk
        let lock = Lock()
        nonisolated(unsafe) var beforePin: (() -> Void)?
        nonisolated(unsafe) var canPin = true

        init(_ disk: SimulatedDisk) { self.disk = disk }

        final class Handle: File, @unchecked Sendable {
            let file: any File
            let owner: Interrupted
            init(_ file: any File, _ owner: Interrupted) { (self.file, self.owner) = (file, owner) }
            var path: String { file.path }
            func size() throws(FileError) -> UInt64 { try file.size() }
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
                try file.read(into: buffer, at: offset)
            }
            func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
                try file.write(buffer, at: offset)
            }
            func resize(to size: UInt64) throws(FileError) { try file.resize(to: size) }
            func sync() throws(FileError) { try file.sync() }
            func lock(exclusive: Bool) throws(FileError) -> Bool { try file.lock(exclusive: exclusive) }
            func pin(_ number: UInt64) throws(FileError) -> Bool {
                guard owner.canPin else { return false }
                let act = owner.beforePin
                owner.beforePin = nil
                act?()
                return try file.pin(number)
            }
            func pins() throws(FileError) -> [UInt64] { try file.pins() }
            func close() { file.close() }
        }

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
            Handle(try disk.open(path, mode), self)
        }
        func remove(_ path: String) throws(FileError) { try disk.remove(path) }
        func rename(_ from: String, to: String) throws(FileError) { try disk.rename(from, to: to) }
        func list(directory: String) throws(FileError) -> [String] { try disk.list(directory: directory) }
        func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
        func isDirectory(_ path: String) -> Bool { disk.isDirectory(path) }
        func exists(_ path: String) -> Bool { disk.exists(path) }
    }

    /// Between the reader's reading of the meta pages and its pin, the writer retires the newest one and overwrites its
    /// pages.
    @Test(arguments: [1, 2, 3, 5]) func aCheckpointThatGoesBeforeItIsPinnedIsNotRead(checkpoints: UInt8) throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1, count: 600)
        try writer.checkpoint()
        let files = Interrupted(disk)
        nonisolated(unsafe) var failure: (any Error)?
        files.beforePin = {
            do {
                for step in 2...1 + checkpoints {
                    try self.fill(writer, round: step, count: 600)
                    try writer.checkpoint()
                }
            } catch { failure = error }
        }
        let reader = try reader(files)
        if let failure { throw failure }
        let snapshot = try reader.snapshot()
        try fill(writer, round: 100, count: 600)
        try writer.checkpoint()
        try fill(writer, round: 101, count: 600)
        try writer.checkpoint()
        try fill(writer, round: 102, count: 600)
        try writer.checkpoint()
        #expect(try wholeRound(snapshot, count: 600) == 1 + checkpoints)
    }

    /// Where nothing can be pinned, the lock of the file makes readers and the writer exclude each other.
    @Test func withoutPinsReadersAndWriterExcludeEachOther() throws {
        let disk = SimulatedDisk()
        let files = Interrupted(disk)
        files.canPin = false
        let writer = try writer(files)
        try fill(writer, round: 1)
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) { _ = try self.reader(files) }
        try writer.close()
        let reader = try reader(files)
        let second = try self.reader(files)
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) { _ = try self.writer(files) }
        #expect(try !reader.refresh())
        #expect(try second.read { try wholeRound($0) } == 1)
    }

    @Test func aDatabaseThatIsBeingReadIsNotCompacted() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        try writer.close()
        let reader = try reader(disk)
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) {
            try Store.compact(at: Self.path, options: options(disk))
        }
        #expect(try reader.read { try wholeRound($0) } == 1)
        try reader.close()
        try Store.compact(at: Self.path, options: options(disk))
    }

    /// Another file of the same name is the database from then on.
    @Test func aFileThatWasReplacedIsFollowedByItsName() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        let reader = try reader(disk)
        let before = try reader.snapshot()
        try fill(writer, round: 2)
        try writer.backup(to: "d/b.mako")
        try writer.close()
        try disk.rename("d/b.mako", to: Self.path)
        #expect(try reader.refresh())
        #expect(try reader.read { try wholeRound($0) } == 2)
        #expect(try wholeRound(before) == 1)
        try disk.remove(Self.path)
        #expect(throws: StorageError.notFound(path: Self.path)) { try reader.refresh() }
        #expect(try reader.read { try wholeRound($0) } == 2)
    }

    // MARK: Durability and cost

    /// A power cut must not take back what a reader showed, though its writer promised less.
    @Test(arguments: [Durability.ordered, .async]) func whatAReaderShowsSurvivesAPowerCut(durability: Durability) throws
    {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        let reader = try reader(disk)
        for step in 2...6 as ClosedRange<UInt8> {
            try fill(writer, round: step, count: 100, durability)
            try reader.refresh()
            let shown = try #require(try reader.read { try wholeRound($0) })
            if durability == .ordered { #expect(shown == step) }
            for image in disk.crashState().images(CrashChoice(exhaustiveBits: 6, sampled: 16, torn: 16)) {
                let after = try self.writer(SimulatedDisk(image))
                let found = try #require(try after.read { try wholeRound($0) })
                #expect(found >= shown)
                try after.close()
            }
        }
        let late = try self.reader(disk)
        let shown = try #require(try late.read { try wholeRound($0) })
        for image in disk.crashState().images(CrashChoice(exhaustiveBits: 6, sampled: 16, torn: 16)) {
            #expect(try #require(try self.writer(SimulatedDisk(image)).read { try wholeRound($0) }) >= shown)
        }
    }

    @Test func aRefreshWithoutNewsIsCheapAndTheWriterPaysNothing() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        func calls(_ body: () throws -> Void) rethrows -> [CallKind] {
            let before = disk.callCount
            try body()
            return Array(disk.callLog[before...])
        }
        // The file is as long as it has to be from here on.
        for _ in 0..<4 { try fill(writer, round: 1) }
        let alone = try calls { try fill(writer, round: 2) }
        let reader = try reader(disk)
        let beside = try calls { try fill(writer, round: 3) }
        #expect(alone == beside)
        #expect(alone == [.write, .sync])
        #expect(try reader.refresh())
        // The header, the metas, what the log has next, and whether another segment was begun.
        let idle = try calls { try reader.refresh() }
        #expect(idle == [.open, .read, .read, .read, .open], "\(idle)")
    }

    @Test func aCloseEndsTheSuccessorsToo() throws {
        let disk = SimulatedDisk()
        let writer = try writer(disk)
        try fill(writer, round: 1)
        let reader = try reader(disk)
        for step in 2...6 as ClosedRange<UInt8> {
            try fill(writer, round: step)
            try writer.checkpoint()
        }
        #expect(try reader.refresh())
        #expect(reader.stats.commitNumber == writer.stats.commitNumber)
        let copy = try reader.backup(to: "d/copy.mako")
        #expect(copy.commitNumber == writer.stats.commitNumber)
        #expect(throws: StorageError.readOnly(reason: "it was opened so")) { _ = try reader.beginWrite() }
        try reader.close()
        #expect(throws: StorageError.closed(path: Self.path)) { _ = try reader.snapshot() }
        #expect(try disk.open(Self.path, .readOnly).pins() == [])
    }
}
