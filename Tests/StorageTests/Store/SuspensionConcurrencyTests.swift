import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Threads that read and write while another one suspends and resumes their store, with the store's own threads.
@Suite(.serialized) struct SuspensionConcurrencyTests {
    private func options(_ files: any FileSystem, _ background: BackgroundWork) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.cacheBytes = 512 << 10
        options.logSegmentBytes = 128 << 10
        options.checkpointBytes = 64 << 10
        options.background = background
        return options
    }

    private static func value(_ key: UInt64) -> [UInt8] { ValueShape(bytes: 100).value(seed: key) }

    /// Each commit that returned, `async` ones too, is there in the end, and so are those of the other process. Readers see
    /// whole values, or the error.
    @Test func nothingIsLostBetweenThreads() throws {
        let files = MemoryFileSystem()
        let store = try Store(at: "s.mako", options: options(files, .threads))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let isDone = Atomic<Bool>(false)
        let counts = Guarded<[UInt64]>([0, 0, 0])
        let reads = Atomic<Int>(0)
        let writers = try (0..<3).map { writer in
            try startThread(name: "writer \(writer)") {
                var next: UInt64 = 0
                while !isDone.load(ordering: .acquiring) {
                    let key = UInt64(writer) << 32 | next
                    do {
                        try store.write(durability: next % 3 == 0 ? .async : .full) {
                            try $0.put(Self.value(key), for: key, in: tree)
                        }
                        next += 1
                        counts.withLock { $0[writer] = next }
                    } catch StorageError.suspended { yieldThread() } catch { Issue.record(error) }
                }
            }
        }
        let readers = try (0..<2).map { reader in
            try startThread(name: "reader \(reader)") {
                while !isDone.load(ordering: .acquiring) {
                    do {
                        let view = try store.snapshot()
                        var cursor = try view.cursor(in: tree)
                        var isThere = try cursor.first()
                        while isThere {
                            if try cursor.value() != Self.value(cursor.integerKey) {
                                Issue.record("key \(cursor.integerKey)")
                            }
                            isThere = try cursor.next()
                        }
                        reads.add(1, ordering: .relaxed)
                    } catch StorageError.suspended { yieldThread() } catch { Issue.record(error) }
                }
            }
        }
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        for round in UInt64(1)...15 {
            let before = counts.withLock { $0.reduce(0, +) }
            while counts.withLock({ $0.reduce(0, +) }) < before + 10, ContinuousClock.now < limit { yieldThread() }
            try store.suspend()
            let other = try Store(at: "s.mako", options: options(files, .manual))
            try other.write { transaction in
                let turns =
                    try transaction.view.tree(named: "turns") ?? transaction.createTree(named: "turns", keys: .integer)
                try transaction.put([1], for: round, in: turns)
            }
            try other.close()
            #expect(try store.resume())
        }
        isDone.store(true, ordering: .releasing)
        for thread in writers + readers { thread.join() }
        try store.read { view throws in
            for (writer, count) in counts.withLock({ $0 }).enumerated() {
                for next in 0..<count {
                    let key = UInt64(writer) << 32 | next
                    #expect(try view.get(key, in: tree) == Self.value(key), "key \(next) of writer \(writer)")
                }
            }
            #expect(try view.count(of: #require(view.tree(named: "turns"))) == 15)
        }
        #expect(reads.load(ordering: .relaxed) > 0)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// The background thread calls the handler, and `suspend()` waits for that thread.
    @Test func anEventHandlerMayUseTheStoreWhileAnotherThreadSuspends() throws {
        let isInside = Atomic<Bool>(false)
        let results = Guarded<[String]>([])
        let handler = Guarded<(@Sendable () -> Void)?>(nil)
        var options = options(MemoryFileSystem(), .threads)
        options.statisticsInterval = .milliseconds(1)
        options.eventHandler = { _ in
            let run = handler.withLock { handler -> (@Sendable () -> Void)? in
                defer { handler = nil }
                return handler
            }
            run?()
        }
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        @Sendable func result(_ name: String, _ body: () throws -> Void) {
            let text: String
            do {
                try body()
                text = "done"
            } catch StorageError.invalidArgument { text = "refused" } catch { text = "\(error)" }
            results.withLock { $0.append("\(name) \(text)") }
        }
        handler.withLock {
            $0 = {
                isInside.store(true, ordering: .releasing)
                let (lock, never) = (Lock(), ConditionVariable())
                let end = ContinuousClock.now.advanced(by: .milliseconds(200))
                // The other thread waits in suspend() then.
                lock.withLock { while ContinuousClock.now < end { _ = never.wait(lock, timeout: .milliseconds(50)) } }
                result("write") { try store.write(timeout: .seconds(5)) { try $0.put([1], for: 1, in: tree) } }
                result("suspend") { try store.suspend() }
                result("close") { try store.close() }
            }
        }
        while !isInside.load(ordering: .acquiring) { yieldThread() }
        try store.suspend()
        #expect(results.withLock { $0 } == ["write done", "suspend refused", "close refused"])
        try store.resume()
        #expect(try store.read { try $0.get(1, in: tree) } == [1])
        try store.close()
    }
}
