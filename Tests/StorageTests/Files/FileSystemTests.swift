import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// The same expectations for all three forms of the door to the outside world.
@Suite struct FileSystemTests {
    enum Form: CaseIterable { case posix, memory, simulated }

    private func withFileSystem(_ form: Form, _ body: (any FileSystem, String) throws -> Void) throws {
        switch form {
        case .memory: try body(MemoryFileSystem(), "d")
        case .simulated: try body(SimulatedDisk(), "d")
        case .posix:
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            try body(POSIXFileSystem(), directory.path)
        }
    }

    @Test(arguments: Form.allCases) func filesAreCreatedListedRenamedAndRemoved(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let path = directory + "/b"
            do {
                _ = try fileSystem.open(path, .readWrite)
                Issue.record("a missing file was opened")
            } catch let error as FileError {
                #expect(error.isNotFound && error.operation == "open" && error.path == path)
            }
            _ = try fileSystem.open(path, .create)
            _ = try fileSystem.open(path, .create)
            _ = try fileSystem.open(directory + "/a", .createNew)
            do {
                _ = try fileSystem.open(path, .createNew)
                Issue.record("a file was created twice")
            } catch let error as FileError {
                #expect(error.isExists)
            }
            #expect(try fileSystem.list(directory: directory) == ["a", "b"])
            try fileSystem.rename(path, to: directory + "/c")
            try fileSystem.remove(directory + "/a")
            try fileSystem.syncDirectory(directory)
            #expect(try fileSystem.list(directory: directory) == ["c"])
            #expect(fileSystem.exists(directory + "/c") && !fileSystem.exists(path))
            #expect(fileSystem.isDirectory(directory) && !fileSystem.isDirectory(directory + "/c"))
            #expect(throws: FileError.self) { try fileSystem.remove(path) }
            #expect(throws: FileError.self) { try fileSystem.rename(path, to: directory + "/d") }
        }
    }

    @Test(arguments: Form.allCases) func durableWritesAreReadBackAmongOthers(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let file = try fileSystem.open(directory + "/f", .create)
            var expected = [UInt8](repeating: 0, count: 65_536)
            try expected.withUnsafeBytes { buffer throws in try file.write(buffer, at: 0) }
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 4096)
            defer { memory.deallocate() }
            // Aligned and not, before, over and beside writes through the cache.
            let places = [
                (0, 4096), (4096, 8192), (100, 50), (4096, 4096), (4000, 300), (8192, 16_384), (9000, 4096),
                (40_960, 4096),
            ]
            for (round, (offset, count)) in places.enumerated() {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(count))
                for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: round &* 41 &+ index) }
                expected.replaceSubrange(offset..<offset + count, with: bytes)
                if round % 3 == 2 {
                    try file.write(UnsafeRawBufferPointer(bytes), at: UInt64(offset))
                } else {
                    try file.writeDurably(UnsafeRawBufferPointer(bytes), at: UInt64(offset))
                }
            }
            for handle in [file, try fileSystem.open(directory + "/f", .readOnly)] {
                var result = [UInt8](repeating: 9, count: expected.count)
                _ = try result.withUnsafeMutableBytes { buffer throws in try handle.read(into: buffer, at: 0) }
                #expect(result == expected)
            }
            file.close()
            #expect(throws: FileError.self) { try file.writeDurably(UnsafeRawBufferPointer(memory), at: 0) }
        }
    }

    @Test(arguments: Form.allCases) func bytesAreReadBack(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let file = try fileSystem.open(directory + "/f", .create)
            let pattern = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try pattern.withUnsafeBytes { buffer throws in try file.write(buffer, at: 1000) }
            #expect(try file.size() == 201_000)
            var result = [UInt8](repeating: 9, count: 300_000)
            let count = try result.withUnsafeMutableBytes { buffer throws in try file.read(into: buffer, at: 0) }
            #expect(count == 201_000)
            #expect(Array(result[1000..<201_000]) == pattern && result[0..<1000].allSatisfy { $0 == 0 })
            try file.resize(to: 70_000)
            try file.resize(to: 140_000)
            let second = try result.withUnsafeMutableBytes { buffer throws in try file.read(into: buffer, at: 0) }
            #expect(second == 140_000)
            #expect(Array(result[1000..<70_000]) == Array(pattern[0..<69_000]))
            #expect(result[70_000..<140_000].allSatisfy { $0 == 0 })
            try file.sync()
            let end = try result.withUnsafeMutableBytes { buffer throws in try file.read(into: buffer, at: 140_000) }
            #expect(end == 0)
        }
    }

    @Test(arguments: Form.allCases) func handlesKeepTheirLimits(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let file = try fileSystem.open(directory + "/f", .create)
            let reader = try fileSystem.open(directory + "/f", .readOnly)
            let bytes: [UInt8] = [1, 2, 3]
            #expect(throws: FileError.self) {
                try bytes.withUnsafeBytes { buffer throws in try reader.write(buffer, at: 0) }
            }
            #expect(throws: FileError.self) { try file.resize(to: .max) }
            #expect(throws: FileError.self) {
                try bytes.withUnsafeBytes { buffer throws in try file.write(buffer, at: .max - 1) }
            }
            #expect(try file.lock(exclusive: true))
            #expect(try !reader.lock(exclusive: false))
            file.close()
            file.close()
            #expect(try reader.lock(exclusive: false))
            #expect(throws: FileError.self) { _ = try file.size() }
            #expect(throws: FileError.self) { try file.sync() }
        }
    }

    /// A process that is being started has a copy of every descriptor until it runs its own program.
    @Test func locksEndWithTheHandleThoughADescriptorIsLeft() throws {
        try withFileSystem(.posix) { fileSystem, directory in
            let file = try #require(try fileSystem.open(directory + "/f", .create) as? POSIXFile)
            let copy = dup(file.descriptor)
            #expect(copy >= 0)
            defer { _ = close(copy) }
            #expect(try file.lock(exclusive: true))
            #expect(try file.pin(7))
            file.close()
            let next = try fileSystem.open(directory + "/f", .readWrite)
            #expect(try next.lock(exclusive: true))
            #expect(try next.pins() == [])
            next.close()
        }
    }

    /// Pins are seen by every other handle, not by the one that has them, and end with it.
    @Test(arguments: Form.allCases) func pinsLastAsLongAsTheirHandle(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let file = try fileSystem.open(directory + "/f", .create)
            let reader = try fileSystem.open(directory + "/f", .readOnly)
            let second = try fileSystem.open(directory + "/f", .readOnly)
            #expect(try file.lock(exclusive: true))
            #expect(try file.pins() == [])
            for number in [7, 8, 1 << 40, 0, 1 << 61] as [UInt64] { #expect(try reader.pin(number)) }
            #expect(try second.pin(8))
            #expect(try file.pins() == [0, 7, 8, 1 << 40, 1 << 61])
            #expect(try reader.pins() == [8])
            // Opening and closing another descriptor of the file drops no pins.
            try fileSystem.open(directory + "/f", .readWrite).close()
            #expect(try file.pins().count == 5)
            reader.close()
            #expect(try file.pins() == [8])
            second.close()
            #expect(try file.pins() == [])
            #expect(throws: FileError.self) { _ = try second.pin(1) }
        }
    }

    @Test(arguments: Form.allCases) func aClosedHandleSaysSo(form: Form) throws {
        try withFileSystem(form) { fileSystem, directory in
            let file = try fileSystem.open(directory + "/f", .create)
            var bytes: [UInt8] = [1, 2, 3]
            try bytes.withUnsafeBytes { buffer throws in try file.write(buffer, at: 0) }
            // Nothing to move, nothing to fail.
            let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            #expect(try file.read(into: nothing, at: 0) == 0)
            try file.write(UnsafeRawBufferPointer(nothing), at: 0)
            file.startWriting(at: 0, count: 3)
            #expect(try file.size() == 3)
            file.close()
            let calls: [(inout [UInt8]) throws -> Void] = [
                { bytes in _ = try bytes.withUnsafeMutableBytes { buffer in try file.read(into: buffer, at: 0) } },
                { bytes in try bytes.withUnsafeBytes { buffer in try file.write(buffer, at: 0) } },
                { bytes in try bytes.withUnsafeBytes { buffer in try file.writeDurably(buffer, at: 0) } },
                { _ in try file.resize(to: 1) }, { _ in _ = try file.size() }, { _ in try file.sync() },
                { _ in _ = try file.lock(exclusive: true) },
            ]
            for call in calls {
                let error = #expect(throws: FileError.self) { try call(&bytes) }
                #expect(error?.code == EBADF)
            }
            file.startWriting(at: 0, count: 3)
            #expect(bytes == [1, 2, 3])
        }
    }

    @Test func pathsAreTakenApartAtTheLastSlash() {
        #expect(FilePath.directory(of: "a/b/c") == "a/b" && FilePath.name(of: "a/b/c") == "c")
        #expect(FilePath.directory(of: "/c") == "/" && FilePath.name(of: "/c") == "c")
        #expect(FilePath.directory(of: "c") == "." && FilePath.name(of: "c") == "c")
    }

    /// Calls that move a part, or are interrupted, are made again until all is moved.
    @Test func transfersGoOnWhereACallStopped() throws {
        func run(
            _ moves: [(Int, Int32)],
            _ transfer: ((Int) throws(FileError) -> (moved: Int, code: Int32)) throws(FileError) -> Int
        ) -> (result: Result<Int, FileError>, requested: [Int]) {
            var requested: [Int] = []
            var left = moves[...]
            do throws(FileError) {
                let count = try transfer { done in
                    requested.append(done)
                    let (moved, code) = left.popFirst() ?? (-1, ENOSYS)
                    return (moved, code)
                }
                return (.success(count), requested)
            } catch { return (.failure(error), requested) }
        }
        func read(_ moves: [(Int, Int32)]) -> (result: Result<Int, FileError>, requested: [Int]) {
            run(moves) { call throws(FileError) in try Transfer.read(10, "f", call) }
        }
        func write(_ moves: [(Int, Int32)]) -> (result: Result<Int, FileError>, requested: [Int]) {
            run(moves) { call throws(FileError) in
                try Transfer.write(10, "f", call)
                return 10
            }
        }
        let parts: [(Int, Int32)] = [(3, 0), (-1, EINTR), (5, 0), (-1, EINTR), (2, 0)]
        for (result, requested) in [read(parts), write(parts)] {
            #expect(result == .success(10) && requested == [0, 3, 3, 8, 8])
        }
        // A file that ends is read as far as it goes; a device that takes nothing is an error.
        #expect(read([(3, 0), (0, 0)]).result == .success(3))
        #expect(write([(3, 0), (0, 0)]).result == .failure(FileError(operation: "write", path: "f", code: EIO)))
        let failed = FileError(operation: "read", path: "f", code: EIO)
        #expect(read([(3, 0), (-1, EIO)]).result == .failure(failed))
        let full = FileError(operation: "write", path: "f", code: ENOSPC)
        #expect(write([(3, 0), (-1, ENOSPC)]).result == .failure(full) && full.isNoSpace)
    }

    /// The next weaker sync is only for file systems that do not support the one before, and for no other failure.
    @Test func syncsFallBackWhereAFileSystemKnowsNoBetter() throws {
        func sync(_ codes: [Int32]) -> (failure: Int32?, calls: [Int]) {
            var left = codes[...]
            var calls: [Int] = []
            func call(_ number: Int) -> Int32 {
                calls.append(number)
                errno = left.popFirst() ?? ENOSYS
                return errno == 0 ? 0 : -1
            }
            do throws(FileError) {
                try Transfer.sync("f", { call(0) }, else: [{ call(1) }, { call(2) }])
                return (nil, calls)
            } catch { return (error.code, calls) }
        }
        #expect(sync([0]) == (nil, [0]))
        #expect(sync([EINTR, EINTR, 0]) == (nil, [0, 0, 0]))
        #expect(sync([ENOTSUP, EINTR, 0]) == (nil, [0, 1, 1]))
        #expect(sync([ENOTTY, EINVAL, 0]) == (nil, [0, 1, 2]))
        #expect(sync([ENOTTY, EINVAL, ENOTSUP]) == (ENOTSUP, [0, 1, 2]))
        #expect(sync([EIO, 0]) == (EIO, [0]))
        #expect(sync([ENOTSUP, EIO, 0]) == (EIO, [0, 1]))
    }

    /// After a partial write a refused one is no longer reported as without effect.
    @Test func aRefusalReportsWhetherAnythingWasWritten() throws {
        func write(_ moves: [(Int, Int32)]) -> FileError? {
            var left = moves[...]
            do throws(FileError) {
                try Transfer.write(10, "f") { _ throws(FileError) in left.popFirst() ?? (-1, ENOSYS) }
                return nil
            } catch { return error }
        }
        let refused = try #require(write([(-1, EPERM)]))
        #expect(refused.isRefusal && refused.operation == "write" && refused.ofRest.isRefusal == false)
        let rest = try #require(write([(4, 0), (-1, EPERM)]))
        #expect(!rest.isRefusal && "\(rest)".hasPrefix("finish writing f"))
        #expect(write([(-1, EIO)])?.isRefusal == false)
        #expect(!FileError(operation: "sync", path: "f", code: EPERM).isRefusal)
        #expect(StorageError(refused) == .protected(path: "f") && "\(StorageError(refused))".contains("unlocked"))
    }

    /// How a clone, which is always a new file, gets into the place of the one that the caller has made, locked and opened.
    @Test func aCloneTakesTheNameTheAccessAndTheLock() throws {
        try withFileSystem(.posix) { fileSystem, directory in
            let path = directory + "/copy"
            let file = try #require(
                fileSystem.open(
                    path, .createNew, access: FileAccess(permissions: 0o640, owner: getuid(), group: getgid()))
                    as? POSIXFile)
            #expect(try file.lock(exclusive: true))
            try writeBytes(fileSystem.open(directory + "/clone", .createNew), [1, 2, 3, 4], count: 4, at: 0)
            #expect(try file.takePlace(of: directory + "/clone"))
            #expect(try fileSystem.list(directory: directory) == ["copy"])
            #expect(try file.size() == 4 && file.isNamed(path) && file.access()?.permissions == 0o640)
            let other = try fileSystem.open(path, .readWrite)
            #expect(try !other.lock(exclusive: true), "the lock has gone with the file that was there")
            try writeBytes(file, [9], count: 1, at: 4)
            #expect(try other.size() == 5)
            file.close()
            #expect(try other.lock(exclusive: true))
            // A failed change leaves the file as it is.
            let posix = try #require(other as? POSIXFile)
            #expect(try !posix.takePlace(of: directory + "/none"))
            #expect(try posix.size() == 5 && posix.isNamed(path))
        }
    }

    @Test func directoriesAreRefusedAsFiles() throws {
        try withFileSystem(.posix) { fileSystem, directory in
            for mode in [OpenMode.readOnly, .readWrite, .create] {
                do {
                    _ = try fileSystem.open(directory, mode)
                    Issue.record("a directory was opened")
                } catch let error as FileError {
                    #expect(error.code == EISDIR)
                    #expect(error.description.contains(directory))
                }
            }
            #expect(throws: FileError.self) { _ = try fileSystem.list(directory: directory + "/none") }
        }
    }

    @Test func seededEntropyRepeats() {
        let first = SeededEntropy(seed: 5)
        let second = SeededEntropy(seed: 5)
        let numbers = (0..<10).map { _ in first.next() }
        #expect(numbers == (0..<10).map { _ in second.next() })
        #expect(Set(numbers).count == 10)
        #expect(SeededEntropy(seed: 6).next() != numbers[0])
    }
}

@Suite struct ThreadTests {
    /// A counter that is only right when the lock is.
    private final class Counter: @unchecked Sendable {
        let lock = Lock()
        let changed = ConditionVariable()
        var value = 0
    }

    @Test func threadsExcludeEachOtherAndWake() throws {
        let counter = Counter()
        let threads = try (0..<4).map { number throws in
            try startThread(name: "counter \(number)") {
                for _ in 0..<1000 { counter.lock.withLock { counter.value += 1 } }
                counter.changed.broadcast()
            }
        }
        counter.lock.lock()
        while counter.value < 4000 { counter.changed.wait(counter.lock) }
        counter.lock.unlock()
        for thread in threads { thread.join() }
        #expect(counter.value == 4000)
    }

    @Test func aThreadIsJoinedOnceOrLeftAlone() throws {
        let counter = Counter()
        let work: @Sendable () -> Void = {
            counter.lock.withLock { counter.value += 1 }
            counter.changed.broadcast()
        }
        let joined = try startThread(name: "joined", work)
        joined.join()
        joined.join()
        // The handle of this thread is released; the thread still runs.
        _ = try startThread(name: "left alone", work)
        counter.lock.lock()
        while counter.value < 2 { counter.changed.wait(counter.lock) }
        counter.lock.unlock()
        #expect(counter.value == 2)
    }

    @Test func waitingEndsWithItsTime() {
        let counter = Counter()
        let clock = ContinuousClock()
        let begin = clock.now
        counter.lock.lock()
        while clock.now - begin < .milliseconds(20) {
            _ = counter.changed.wait(counter.lock, timeout: .milliseconds(20))
        }
        #expect(!counter.changed.wait(counter.lock, timeout: .zero))
        counter.lock.unlock()
        #expect(clock.now - begin < .seconds(120))
    }
}
