import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Refreshes beside other calls of the same reader.
@Suite(.serialized) struct RefreshConcurrencyTests {
    private static let path = "s.mako"

    private func options(_ files: any FileSystem, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.readOnly = readOnly
        return options
    }

    /// The closing begins while the refresh reads the file, and each needs a lock that the other has acquired first.
    @Test func aReaderThatIsClosedDuringARefreshIsClosed() throws {
        let memory = MemoryFileSystem()
        let files = MeddledDisk(memory)
        let writer = try Store(at: Self.path, options: options(memory))
        let tree = try writer.write { try $0.createTree(named: "t", keys: .integer) }
        try writer.checkpoint()
        let reader = try Store(at: Self.path, options: options(files, readOnly: true))
        try writer.write { try $0.put([1], for: 1, in: tree) }

        let ended = Guarded<Set<String>>([])
        let limit = ContinuousClock.now.advanced(by: .seconds(30))
        // The threads are not joined, because then the test would not end where they do not.
        @Sendable func run(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
            do {
                _ = try startThread(name: name) {
                    do { try body() } catch { Issue.record("\(name): \(error)") }
                    _ = ended.withLock { $0.insert(name) }
                }
            } catch { Issue.record(error) }
        }
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .open, path == Self.path else { return }
            files.meddle(nil)
            run("close") { try reader.close() }
            while (try? reader.read { $0.commitNumber }) != nil, ContinuousClock.now < limit { yieldThread() }
        }
        run("refresh") {
            do {
                try reader.refresh()
                Issue.record("it was not closed meanwhile")
            } catch StorageError.closed {}
        }
        while ended.withLock({ $0.count < 2 }), ContinuousClock.now < limit { yieldThread() }
        #expect(ended.withLock { $0 } == ["close", "refresh"])
        #expect(try memory.open(Self.path, .readOnly).pins() == [])
        try writer.close()
    }
}
