import CPlatform
import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// Limits of files: a file system without optional calls, and files that share a path.
@Suite struct FileEdgeTests {
    /// A file that does no more than it has to.
    private final class LeastFile: File {
        private let file: any File
        init(_ file: any File) { self.file = file }
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
        func close() { file.close() }
    }

    private struct LeastFiles: PassingFileSystem {
        let inner: any FileSystem = MemoryFileSystem()
        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
            LeastFile(try inner.open(path, mode))
        }
    }

    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory.path)
    }

    @Test func aFileThatKnowsLittleDoesAllTheSame() throws {
        let file = LeastFile(try MemoryFileSystem().open("f", .create))
        try writeBytes(file, [UInt8](repeating: 7, count: 300), count: 300, at: 0)
        #expect(try !file.pin(1) && file.pins() == [])
        file.startWriting(at: 0, count: 300)
        // Space that is allocated already, and space behind the end.
        try file.allocate(0..<100)
        #expect(try file.size() == 300)
        try file.allocate(0..<5000)
        var bytes = [UInt8](repeating: 9, count: 6000)
        let count = try bytes.withUnsafeMutableBytes { buffer throws in try file.read(into: buffer, at: 0) }
        #expect(count == 5000)
        #expect(bytes.prefix(300).allSatisfy { $0 == 7 } && bytes[300..<5000].allSatisfy { $0 == 0 })
    }

    /// Without pins a reader and a writer exclude each other.
    @Test func whereNothingCanBePinnedAReaderWaitsForTheWriter() throws {
        var options = StoreOptions()
        options.fileSystem = LeastFiles()
        options.background = .manual
        let writer = try Store(at: "d/s.mako", options: options)
        var reading = options
        reading.readOnly = true
        #expect(throws: StorageError.alreadyOpen(path: "d/s.mako")) {
            _ = try Store(at: "d/s.mako", options: reading)
        }
        try writer.close()
        #expect(try Store(at: "d/s.mako", options: reading).snapshot().trees.isEmpty)
    }

    @Test func blocksAreSharedAmongFilesOfOneKind() throws {
        try withDirectory { directory in
            let memory = try MemoryFileSystem().open("f", .create)
            let posix = try POSIXFileSystem().open(directory + "/f", .create)
            #expect(try !memory.shareBlocks(of: posix) && !posix.shareBlocks(of: memory))
            #expect(try !LeastFile(memory).shareBlocks(of: memory))
            #expect(try memory.size() == 0 && posix.size() == 0)
        }
    }

    @Test func pinsHaveTheirLimits() throws {
        try withDirectory { directory in
            let file = try POSIXFileSystem().open(directory + "/f", .create)
            #expect(throws: FileError(operation: "pin", path: directory + "/f", code: EINVAL)) {
                _ = try file.pin(.max)
            }
            try file.allocate(0..<0)
            try file.allocate(0..<10_000)
            #expect(try file.size() == 10_000)
            file.close()
            #expect(throws: FileError(operation: "pins", path: directory + "/f", code: EBADF)) { _ = try file.pins() }
        }
    }

    /// A lock of the whole file may hide pins: they are unknown, and not none.
    @Test func aLockOfTheWholeFileHidesNoPins() throws {
        try withDirectory { directory in
            let path = directory + "/f"
            let file = try POSIXFileSystem().open(path, .create)
            let reader = try POSIXFileSystem().open(path, .readOnly)
            defer { for each in [file, reader] { each.close() } }
            #expect(try reader.pin(7))
            let other = called { open(path, O_RDWR) }
            // Locks of this kind end when the process closes any descriptor of the file.
            var lock = flock()
            lock.l_type = Int16(F_RDLCK)
            lock.l_whence = Int16(SEEK_SET)
            try #require(called { fcntl(other, F_SETLK, &lock) } == 0)
            #expect(throws: FileError(operation: "pins", path: path, code: EBUSY)) { _ = try file.pins() }
            close(other)
            #expect(try file.pins() == [7])
        }
    }

    /// Then the pages that readers may see are unknown, too.
    @Test func aStoreIsNotOpenedUnderALockOfTheWholeFile() throws {
        try withDirectory { directory in
            let path = directory + "/s.mako"
            try Store(at: path).close()
            let other = called { open(path, O_RDWR) }
            var lock = flock()
            lock.l_type = Int16(F_RDLCK)
            lock.l_whence = Int16(SEEK_SET)
            try #require(called { fcntl(other, F_SETLK, &lock) } == 0)
            #expect(throws: StorageError.alreadyOpen(path: path)) { _ = try Store(at: path) }
            close(other)
            try Store(at: path).close()
        }
    }

    /// The other program comes before the file is opened, or between that and the compaction.
    @Test(arguments: [0, 1]) func aStoreIsNotCompactedUnderALockOfTheWholeFile(earlier: Int) throws {
        let files = MeddledDisk(SimulatedDisk())
        var options = StoreOptions()
        options.fileSystem = files
        try Store(at: "d/s.mako", options: options).close()
        let calls = Guarded(0)
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .pins else { return }
            let number = calls.withLock { count -> Int in
                defer { count += 1 }
                return count
            }
            if number >= earlier { throw FileError(operation: "pins", path: path, code: EBUSY) }
        }
        #expect(throws: StorageError.alreadyOpen(path: "d/s.mako")) {
            try Store.compact(at: "d/s.mako", options: options)
        }
        files.meddle(nil)
        try Store(at: "d/s.mako", options: options).close()
    }

    #if os(Linux)
        /// Other libraries write zeros instead, over what another thread writes meanwhile.
        @Test func allocatingWritesNothingWhereTheFileSystemCannotAllocate() throws {
            let descriptor = called { open("/proc/self/comm", O_RDWR) }
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            #expect(mako_allocate(descriptor, 0, 100) == MAKO_NO_SUCH_ALLOCATION)
        }

        /// The name would be repaired to that of another file, which would be opened or created.
        @Test func aLinkToANameThatIsNoTextIsRefused() throws {
            try withDirectory { directory in
                let path = directory + "/link"
                let target = Array(directory.utf8CString.dropLast()) + [0x2f, CChar(bitPattern: 0xFF), 0]
                try #require(symlink(target, path) == 0)
                let created = called { open(target, O_CREAT | O_RDWR, 0o644) }
                try #require(created >= 0)
                close(created)
                #expect(throws: FileError(operation: "open", path: path, code: EILSEQ)) {
                    _ = try POSIXFileSystem().target(of: path)
                }
                #expect(throws: StorageError.self) { _ = try Store(at: path) }
                // No path has the other name, so it is not listed.
                #expect(try POSIXFileSystem().list(directory: directory) == ["link"])
            }
        }
    #endif

    /// An incremental backup behaves as the file that it is written to, except for the places of pages.
    @Test func aPartOfABackupAppendsPages() throws {
        let file = try MemoryFileSystem().open("f", .create)
        let part = BackupPart(writing: file, listsPages: false)
        try writeBytes(part, [UInt8](repeating: 3, count: pageBytes), count: pageBytes, at: 70 * UInt64(pageBytes))
        try part.resize(to: 5)
        try part.sync()
        #expect(try part.lock(exclusive: true) && part.path == "f" && part.pages == 1)
        // Behind the block that describes it.
        #expect(try part.size() == 2 * UInt64(pageBytes))
        var bytes = [UInt8](repeating: 0, count: 10)
        _ = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: UInt64(pageBytes)) }
        #expect(bytes == [UInt8](repeating: 3, count: 10))
        part.close()
        #expect(try file.size() == 2 * UInt64(pageBytes))
    }

    @Test func durationsOfAnyLengthCount() {
        #expect(Duration.seconds(-1).nanoseconds == 0 && Duration.nanoseconds(-1).nanoseconds == 0)
        #expect(Duration.milliseconds(1500).nanoseconds == 1_500_000_000)
        #expect(Duration.seconds(Int64.max).nanoseconds == UInt64.max / 2)
        #expect(Durability.async(maxDelay: .seconds(-5)).maxDelay == 0)
    }
}

/// The result of a system call, made again while a signal interrupts it, as `make interrupted` lets them.
private func called(_ call: () -> Int32) -> Int32 {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
