import Foundation
import MakoStorage
import MakoTestSupport
import Testing

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
            // Aligned and not, before, upon and beside writes that go the usual way.
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
        #expect(clock.now - begin < .seconds(10))
    }
}
