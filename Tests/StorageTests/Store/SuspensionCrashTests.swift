import MakoTestSupport
import Testing

@testable import MakoStorage

/// Ends of processes and power failures while two processes take turns.
@Suite struct SuspensionCrashTests: RoundValues {
    /// The files of a process that ends before a change of the disk: its locks are released, and what it has written stays
    /// in the cache of the machine.
    private final class MortalProcess: PassingFileSystem, @unchecked Sendable {
        let inner: any FileSystem
        private let lock = Lock()
        // Guarded by `lock`.
        private var files: [any MakoStorage.File] = []
        private var changes: Int
        private var isOver = false

        init(_ inner: any FileSystem, changes: Int = .max) {
            self.inner = inner
            self.changes = changes
        }

        var isDead: Bool { lock.withLock { isOver } }

        func die() {
            lock.withLock {
                isOver = true
                for file in files { file.close() }
                files = []
            }
        }

        func change(_ path: String) throws(FileError) {
            let isLast = lock.withLock {
                changes -= 1
                return changes < 0
            }
            if isLast { die() }
            if isDead { throw FileError(operation: "write", path: path, code: 5) }
        }

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
            if isDead { throw FileError(operation: "open", path: path, code: 5) }
            let file = try inner.open(path, mode)
            lock.withLock { files.append(file) }
            return MortalFile(inner: file, process: self)
        }

        func remove(_ path: String) throws(FileError) {
            try change(path)
            try inner.remove(path)
        }

        func rename(_ from: String, to: String) throws(FileError) {
            try change(from)
            try inner.rename(from, to: to)
        }

        func syncDirectory(_ path: String) throws(FileError) {
            try change(path)
            try inner.syncDirectory(path)
        }
    }

    private final class MortalFile: PassingFile {
        let inner: any MakoStorage.File
        private let process: MortalProcess

        init(inner: any MakoStorage.File, process: MortalProcess) {
            self.inner = inner
            self.process = process
        }

        func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
            try process.change(path)
            try inner.write(buffer, at: offset)
        }

        func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
            try write(buffer, at: offset)
            try sync()
        }

        func resize(to size: UInt64) throws(FileError) {
            try process.change(path)
            try inner.resize(to: size)
        }

        func sync() throws(FileError) {
            try process.change(path)
            try inner.sync()
        }
    }

    private static let path = "d/s.mako"

    private func open(_ files: any FileSystem) throws -> Store {
        var options = options(files)
        options.logSegmentBytes = 32 << 10
        return try Store(at: Self.path, options: options)
    }

    /// The other process ends before each of its changes of the disk, from its opening to its own suspension. Large
    /// transactions commit by checkpoint, small ones by the log.
    @Test(arguments: [20, 100]) func theOtherProcessMayEndAnywhere(count: UInt64) throws {
        let blank = SimulatedDisk()
        let made = try open(blank)
        try fill(made, round: 1, count: count)
        try made.close()
        let image = blank.settledImage()
        var results = Set<UInt8>()
        for changes in 0..<1000 {
            let disk = SimulatedDisk(image, seed: UInt64(changes))
            let store = try open(disk)
            try fill(store, round: 2, count: count)
            try store.suspend()
            let process = MortalProcess(disk, changes: changes)
            var acknowledged: UInt8 = 2
            var other: Store?
            do {
                let opened = try open(process)
                other = opened
                for round in 3...5 as ClosedRange<UInt8> {
                    try fill(opened, round: round, count: count)
                    acknowledged = round
                    if round == 4 { try opened.checkpoint() }
                }
                try opened.suspend()
            } catch is StorageError {}
            let isOver = !process.isDead
            process.die()

            let hasNews = try store.resume()
            let seen = try round(store)
            #expect(seen == [acknowledged] || seen == [acknowledged + 1], "change \(changes)")
            #expect(hasNews == (seen != [2]), "change \(changes)")
            #expect(try store.verify().isClean, "change \(changes)")
            results.formUnion(seen)
            try fill(store, round: 9, count: count)
            try store.suspend()
            let next = try open(disk)
            #expect(try round(next) == [9], "change \(changes)")
            #expect(try next.verify().isClean, "change \(changes)")
            try next.close()
            withExtendedLifetime(other) {}
            if isOver { break }
        }
        #expect(results == [2, 3, 4, 5])
    }

    /// What is acknowledged survives a power failure at each call of a suspension, of the work of another process, and of
    /// the resumption that replays its log.
    @Test func thePowerMayFailAnywhere() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1, count: 20)
        try fill(store, round: 2, count: 20)
        disk.tag = 2
        disk.startRecording()
        try store.suspend()
        let process = MortalProcess(disk)
        let other = try open(process)
        try fill(other, round: 3, count: 20)
        disk.tag = 3
        process.die()
        #expect(try store.resume())
        try fill(store, round: 4, count: 20)
        disk.tag = 4
        try store.suspend()
        #expect(try !store.resume())
        let points = disk.crashPoints()
        #expect(Set(points.map(\.tag)) == [2, 3, 4])
        let choice = CrashChoice(exhaustiveBits: 2, structuredUnits: 4, sampled: TestEffort.isFull ? 32 : 2, torn: 2)
        for point in points {
            for image in point.state.images(choice) {
                let after = try open(SimulatedDisk(image))
                let seen = try round(after)
                let allowed = [UInt8(point.tag), UInt8(point.tag + 1)].map { Set([$0]) }
                #expect(allowed.contains(seen), "call \(point.call)")
                try after.close()
            }
        }
        withExtendedLifetime(other) {}
    }

    /// A suspended store does not hinder or harm others when its process ends.
    @Test func aSuspendedProcessMayEnd() throws {
        let disk = SimulatedDisk()
        let process = MortalProcess(disk)
        let store = try open(process)
        try fill(store, round: 1, count: 20)
        try store.suspend()
        process.die()
        let image = disk.settledImage()
        #expect(try disk.list(directory: "d") == ["s.mako"])
        let next = try open(SimulatedDisk(image))
        #expect(next.recovery.replayedCommits == 0)
        #expect(try round(next) == [1])
        withExtendedLifetime(store) {}
    }

    /// An error of the disk at any call of `resume()` leaves the store suspended and the file unlocked, and the next
    /// attempt takes the commits.
    @Test func afterAnErrorResumingCanBeRepeated() throws {
        for call in 0..<400 {
            let disk = SimulatedDisk(seed: UInt64(call))
            let store = try open(disk)
            try fill(store, round: 1, count: 20)
            try store.suspend()
            let process = MortalProcess(disk)
            let other = try open(process)
            try fill(other, round: 2, count: 20)
            process.die()
            let place = disk.callCount + call
            disk.inject(.inputOutput, atCall: place)
            var isOver = false
            do {
                #expect(try store.resume())
                isOver = disk.callCount <= place
            } catch {
                #expect(store.isSuspended, "call \(call)")
                #expect(throws: StorageError.suspended(path: Self.path)) { try store.snapshot() }
                let file = try disk.open(Self.path, .readWrite)
                #expect(try file.lock(exclusive: true), "call \(call)")
                file.close()
                disk.clearFaults()
                #expect(try store.resume(), "call \(call)")
            }
            disk.clearFaults()
            #expect(try round(store) == [2], "call \(call)")
            #expect(try store.verify().isClean, "call \(call)")
            withExtendedLifetime(other) {}
            if isOver { break }
        }
    }
}
