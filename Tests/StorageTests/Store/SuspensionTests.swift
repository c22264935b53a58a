import Foundation
import MakoTestSupport
import Testing

import MakoStorage

/// Stores that release their file to another process, and take it again with the commits of that process. Two stores
/// share nothing but the disk.
@Suite struct SuspensionTests: RoundValues {
    private static let path = "d/s.mako"

    private func open(_ files: any FileSystem, readOnly: Bool = false) throws -> Store {
        try Store(at: Self.path, options: options(files, readOnly: readOnly))
    }

    private let suspended = StorageError.suspended(path: path)

    // MARK: Between suspension and resumption

    @Test func aSuspendedStoreHasNoLockAndNoLog() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try fill(store, round: 2, .async)
        let file = try disk.open(Self.path, .readWrite)
        #expect(try !file.lock(exclusive: true))
        try store.suspend()
        #expect(store.isSuspended)
        #expect(try file.lock(exclusive: true))
        #expect(try file.pins() == [])
        #expect(try disk.list(directory: "d") == ["s.mako"])
        file.close()
        // Once more has no effect.
        try store.suspend()
        #expect(try !store.resume())
        #expect(!store.isSuspended)
        #expect(try !store.resume())
        #expect(try round(store) == [2])
        try fill(store, round: 3)
        #expect(try round(store) == [3])
        #expect(try store.verify().isClean)
        try store.close()
        #expect(try round(open(disk)) == [3])
    }

    @Test func everyCallSaysThatTheStoreIsSuspended() async throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        let calls = disk.callCount
        try store.suspend()
        #expect(disk.callCount > calls)
        let quiet = disk.callCount
        #expect(throws: suspended) { try store.snapshot() }
        #expect(throws: suspended) { try store.read { _ in } }
        #expect(throws: suspended) { _ = try store.beginWrite() }
        #expect(throws: suspended) { try store.write { _ in } }
        #expect(throws: suspended) { try store.checkpoint() }
        #expect(throws: suspended) { try store.verify() }
        #expect(throws: suspended) { try store.shrink() }
        #expect(throws: suspended) { try store.refresh() }
        #expect(throws: suspended) { try store.backup(to: "d/b.mako") }
        #expect(throws: suspended) { try store.copy(to: "d/c.mako") }
        // An app in the background gives memory back.
        try store.setCacheBytes(1 << 20)
        await #expect(throws: suspended) { try await store.read { _ in } }
        await #expect(throws: suspended) { try await store.write { _ in } }
        #expect(try !store.step())
        let written = disk.callLog[quiet...].filter { ![.open, .list, .size].contains($0) }
        #expect(written == [], "a suspended store uses its file")
        #expect("\(suspended)".contains("resume()"))
        try store.resume()
        #expect(try round(store) == [1])
    }

    /// A snapshot ends with the suspension, although nothing was written meanwhile: a program cannot know that.
    @Test func snapshotsAndCursorsEnd() throws {
        let store = try open(SimulatedDisk())
        try fill(store, round: 1)
        let snapshot = try store.snapshot()
        let tree = try #require(snapshot.tree(named: "t"))
        var cursor = try snapshot.cursor(in: tree)
        #expect(try cursor.first())
        try store.suspend()
        for isResumed in [false, true] {
            if isResumed { try store.resume() }
            #expect(throws: suspended) { try snapshot.get(1, in: tree) }
            // It moves within its copy of a leaf, and no further.
            #expect(throws: suspended) { while try cursor.next() {} }
            #expect(throws: suspended) { try cursor.first() }
            #expect(snapshot.tree(named: "t") == tree)
        }
        #expect(store.stats.openSnapshots == 0)
        snapshot.close()
        #expect(try round(store) == [1])
    }

    @Test func aBackupThatRunsEnds() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1, count: 8000)
        #expect(throws: suspended) {
            try store.backup(to: "d/b.mako") { progress in
                if progress.done == 256 { #expect(throws: Never.self) { try store.suspend() } }
            }
        }
        #expect(try disk.list(directory: "d") == ["s.mako"])
        try store.resume()
        try store.backup(to: "d/b.mako")
        #expect(try round(Store(at: "d/b.mako", options: options(disk))) == [1])
    }

    @Test func whatCannotBeSuspendedGoesOn() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        do {
            let transaction = try store.beginWrite()
            #expect(throws: StorageError.writerTimeout(seconds: 0)) { try store.suspend(timeout: .zero) }
            transaction.rollback()
        }
        try store.read { snapshot in
            let tree = try #require(snapshot.tree(named: "t"))
            _ = try snapshot.withValue(of: 1, in: tree) { _ in
                #expect(throws: StorageError.self) { try store.suspend() }
            }
        }
        // A full disk: the checkpoint fails, and the store is as before.
        disk.inject(.persistentError(28), atCall: disk.callCount)
        #expect(throws: StorageError.self) { try store.suspend() }
        disk.clearFaults()
        #expect(!store.isSuspended)
        try fill(store, round: 2)
        #expect(try round(store) == [2])
        try store.suspend()
        try store.close()
        #expect(throws: StorageError.closed(path: store.path)) { try store.suspend() }
        #expect(throws: StorageError.closed(path: store.path)) { try store.resume() }

        var replicated = options(disk)
        replicated.logArchiveBytes = 1 << 20
        let other = try Store(at: Self.path, options: replicated)
        #expect(throws: StorageError.self) { try other.suspend() }
        #expect(try round(other) == [2])
    }

    // MARK: Another process

    /// Two processes write by turns, with caches much smaller than the data, so that pages are reused and evicted. Large
    /// transactions commit by checkpoint, small ones by the log.
    @Test func twoProcessesTakeTurns() throws {
        let disk = SimulatedDisk()
        let first = try open(disk)
        try fill(first, round: 1, count: 2000)
        try first.suspend()
        let second = try open(disk)
        #expect(try round(second) == [1])
        for step in 1...8 as ClosedRange<UInt8> {
            try fill(second, round: step * 2, count: 2000)
            if step % 2 == 0 { try second.checkpoint() }
            for small in 1...step { try fill(second, round: small, count: 40, in: "small") }
            if step % 3 == 0 { try second.write { _ = try $0.createTree(named: "n\(step)", keys: .bytes) } }
            try second.suspend()
            #expect(try first.resume())
            #expect(try round(first) == [step * 2])
            #expect(try first.verify().isClean)
            #expect(try first.read { try round($0, in: "small") } == [step])
            try fill(first, round: step * 2 + 1, count: 2000)
            try first.suspend()
            #expect(try second.resume())
            #expect(try round(second) == [step * 2 + 1])
            #expect(try second.verify().isClean)
        }
        let model = try second.read { try ModelStore(reading: $0) }
        #expect(model.trees.keys.sorted() == ["n3", "n6", "small", "t"])
        try second.close()
        #expect(try !first.resume())
        #expect(try first.read { try ModelStore(reading: $0) } == model)
        try first.close()
    }

    /// A segment is named in the header after its first sync, for which a commit of `ordered` does not wait. The process
    /// has write ids left from an earlier turn, so that its first page needs no change of the header either.
    @Test func commitsOfAProcessThatEndsAreSeenWithoutASync() throws {
        let disk = SimulatedDisk()
        let first = try open(disk)
        try first.suspend()
        let process = MortalProcess(disk)
        let second = try open(process)
        try fill(second, round: 1, count: 20)
        try second.suspend()
        #expect(try first.resume())
        try first.suspend()
        #expect(try !second.resume())
        try fill(second, round: 2, count: 20, .ordered)
        process.die()
        #expect(try first.resume())
        #expect(try round(first) == [2])
        try fill(first, round: 3, count: 20, .ordered)
        try first.close()
        #expect(try round(open(disk)) == [3])
        withExtendedLifetime(second) {}
    }

    @Test func commitNumbersGoOn() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        let other = try open(disk)
        try fill(other, round: 2)
        let number = try other.snapshot().commitNumber
        try other.close()
        try store.resume()
        #expect(try store.snapshot().commitNumber == number)
        try fill(store, round: 3)
        #expect(try store.snapshot().commitNumber == number + 1)
    }

    @Test func aLockedFileIsWaitedForOrReported() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        let other = try open(disk)
        try fill(other, round: 2)
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) { try store.resume() }
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) { try store.resume(timeout: .milliseconds(12)) }
        #expect(store.isSuspended)
        #expect(throws: suspended) { try store.snapshot() }
        try fill(other, round: 3)
        try other.close()
        #expect(try store.resume(timeout: .seconds(1)))
        #expect(try round(store) == [3])
    }

    @Test func aReplacedFileIsReported() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        try Store.compact(at: Self.path, options: options(disk))
        for _ in 0..<2 {
            #expect(throws: StorageError.replaced(path: Self.path)) { try store.resume() }
            #expect(store.isSuspended)
        }
        // Neither the attempt nor the closing has touched the other file.
        let other = try open(disk)
        try store.close()
        try fill(other, round: 2)
        #expect(try other.verify().isClean)
        try other.close()
        #expect(try round(open(disk)) == [2])
    }

    /// Another program has copied an earlier state over the file.
    @Test func anOlderStateOfTheFileIsReported() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        let earlier = try #require(disk.contents(of: Self.path))
        try store.resume()
        try fill(store, round: 2)
        try store.suspend()
        let file = try disk.open(Self.path, .readWrite)
        try file.resize(to: 0)
        try file.write(earlier, at: 0)
        #expect(throws: StorageError.replaced(path: Self.path)) { try store.resume() }
        try store.close()
        #expect(try round(open(disk)) == [1])
    }

    @Test func aSuspendedStoreIsClosedWithoutTheFile() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        let other = try open(disk)
        try fill(other, round: 2)
        let calls = disk.callCount
        try store.close()
        #expect(disk.callLog[calls...].allSatisfy { $0 == .open })
        #expect(throws: StorageError.closed(path: store.path)) { try store.snapshot() }
        try fill(other, round: 3)
        #expect(try other.verify().isClean)
    }

    /// The key of an encrypted database may change meanwhile; the data key does not.
    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func anotherKeyIsReported() throws {
        let disk = SimulatedDisk()
        var options = options(disk)
        options.encryption = .key([UInt8](repeating: 1, count: 32))
        let store = try Store(at: Self.path, options: options)
        try fill(store, round: 1)
        try store.suspend()
        let other = try Store(at: Self.path, options: options)
        try fill(other, round: 2)
        try other.suspend()
        #expect(try store.resume())
        #expect(try round(store) == [2])
        try fill(store, round: 3)
        try store.changeKey(to: .key([UInt8](repeating: 2, count: 32)))
        try store.suspend()
        #expect(throws: StorageError.self) { try other.resume() }
        #expect(other.isSuspended)
        #expect(try !store.resume())
        #expect(try round(store) == [3])
    }

    // MARK: Readers

    @Test func aReaderReleasesItsPin() throws {
        let disk = SimulatedDisk()
        let writer = try open(disk)
        try fill(writer, round: 1)
        let reader = try open(disk, readOnly: true)
        let snapshot = try reader.snapshot()
        let tree = try #require(snapshot.tree(named: "t"))
        // Of stores that a refresh has replaced.
        var kept: [Snapshot] = []
        for step in 2...6 as ClosedRange<UInt8> {
            try reader.suspend()
            for old in kept { #expect(throws: suspended) { try old.get(1, in: tree) } }
            #expect(try disk.open(Self.path, .readOnly).pins() == [])
            #expect(throws: suspended) { try snapshot.get(1, in: tree) }
            #expect(throws: suspended) { try reader.snapshot() }
            #expect(throws: suspended) { try reader.refresh() }
            try fill(writer, round: step)
            try writer.checkpoint()
            #expect(try reader.resume())
            #expect(try round(reader) == [step])
            // The reader follows the log again.
            try fill(writer, round: step + 100)
            #expect(try reader.refresh())
            #expect(try round(reader) == [step + 100])
            kept.append(try reader.snapshot())
            try writer.checkpoint()
            try fill(writer, round: step + 150)
            try writer.checkpoint()
            try fill(writer, round: step + 200)
            #expect(try reader.refresh())
            #expect(try round(reader) == [step + 200])
        }
        try reader.suspend()
        #expect(try !reader.resume())
        #expect(try round(reader) == [206])
        try reader.suspend()
        try reader.close()
        #expect(throws: StorageError.closed(path: reader.path)) { try reader.resume() }
        #expect(try writer.verify().isClean)
    }

    /// A reader of another process keeps its pages across the turns of the writers.
    @Test func pinsOfOtherProcessesAreKept() throws {
        let disk = SimulatedDisk()
        let first = try open(disk)
        try fill(first, round: 1, count: 2000)
        try first.checkpoint()
        let reader = try open(disk, readOnly: true)
        let snapshot = try reader.snapshot()
        try first.suspend()
        let second = try open(disk)
        for step in 2...5 as ClosedRange<UInt8> {
            try fill(second, round: step * 2, count: 2000)
            try second.suspend()
            try first.resume()
            try fill(first, round: step * 2 + 1, count: 2000)
            try first.checkpoint()
            try first.suspend()
            try second.resume()
        }
        #expect(try round(snapshot) == [1])
        #expect(try reader.refresh())
        #expect(try round(reader) == [11])
        #expect(try second.verify().isClean)
    }

    // MARK: Other places of the file

    /// The locks of the operating system, which belong to open files.
    @Test func aFileOfTheSystemIsUnlocked() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("s.mako").path
        let store = try Store(at: path, options: options(POSIXFileSystem()))
        try fill(store, round: 1, count: 2000)
        #expect(throws: StorageError.alreadyOpen(path: path)) {
            try Store(at: path, options: options(POSIXFileSystem()))
        }
        let reader = try Store(at: path, options: options(POSIXFileSystem(), readOnly: true))
        let file = try POSIXFileSystem().open(path, .readOnly)
        #expect(try file.pins().count == 1)
        try reader.suspend()
        #expect(try file.pins() == [])
        try store.suspend()
        let other = try Store(at: path, options: options(POSIXFileSystem()))
        try fill(other, round: 2, count: 2000)
        #expect(throws: StorageError.alreadyOpen(path: path)) { try store.resume() }
        try other.suspend()
        #expect(try store.resume())
        #expect(throws: StorageError.alreadyOpen(path: path)) { try other.resume() }
        #expect(try reader.resume())
        #expect(try round(store) == [2])
        #expect(try round(reader) == [2])
        try fill(store, round: 3, count: 2000)
        #expect(try reader.refresh())
        #expect(try round(reader) == [3])
        #expect(try store.verify().isClean)
        for each in [reader, other, store] { try each.close() }
    }

    @Test func aStoreInMemoryCanBeSuspended() throws {
        var options = StoreOptions()
        options.background = .manual
        let store = try Store.inMemory(options: options)
        try fill(store, round: 1)
        try store.suspend()
        #expect(throws: StorageError.self) { try store.snapshot() }
        try store.resume()
        #expect(try round(store) == [1])
    }
}
