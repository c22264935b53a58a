import MakoStorage
import Testing

#if Logging && Metrics
    import Logging
    import Metrics
#endif

/// The examples name their files as a program would; here these lie in memory.
private enum ExampleDisk {
    @TaskLocal static var current = MemoryFileSystem()
}

/// Replaces the initializer of the same name in the examples.
// swift-format-ignore: AlwaysUseLowerCamelCase
private func StoreOptions() -> MakoStorage.StoreOptions {
    var options = MakoStorage.StoreOptions()
    options.fileSystem = ExampleDisk.current
    options.background = .manual
    return options
}

private func watched() -> MakoStorage.StoreOptions {
    // EXAMPLE Operating.md
    var options = StoreOptions()
    options.snapshotAgeLimit = .seconds(60)
    options.statisticsInterval = .seconds(10)
    options.eventHandler = { event in
        switch event {
        case .becameReadOnly(let reason): print("no more writes: \(reason)")
        case .checkpointFailed(let error): print("checkpoint: \(error)")
        case .snapshotsExpired(let count, _): print("\(count) readers were too slow")
        case .statistics(let stats): print("\(stats.filePages) pages")
        default: break
        }
    }
    // EXAMPLE ends
    return options
}

#if Logging && Metrics
    private func logged() throws -> Store {
        // EXAMPLE Operating.md
        var options = StoreOptions()
        options.logEvents(to: Logger(label: "events.mako"))
        options.recordMetrics(dimensions: [("store", "events")])
        let store = try Store(at: "events.mako", options: options)
        // EXAMPLE ends
        return store
    }
#endif

private func encrypted(_ bytes: [UInt8]) throws -> (Store, MakoStorage.StoreOptions) {
    // EXAMPLE EncryptedFiles.md
    var options = StoreOptions()
    options.encryption = .key(bytes)  // 32 random bytes, out of the system's key store
    let store = try Store(at: "events.mako", options: options)
    // EXAMPLE ends
    return (store, options)
}

private func underOtherKeys(
    _ plain: Store, _ options: MakoStorage.StoreOptions, _ bytes: [UInt8], _ newBytes: [UInt8]
) throws {
    // EXAMPLE EncryptedFiles.md
    try plain.copy(to: "events-2.mako", encryption: .key(bytes))
    try Store.compact(at: "events.mako", options: options, encryption: .key(newBytes))
    // EXAMPLE ends
}

private func backedUpAndRestored(_ store: Store) throws {
    // EXAMPLE Backups.md
    try store.backup(to: "sunday.mako")
    // and the next day
    let sunday = try BackupPoint(of: "sunday.mako")
    try store.backup(to: "monday.part", since: sunday)
    // and when it is needed
    try Store.restore("sunday.mako", applying: ["monday.part"], to: "events.mako")
    // EXAMPLE ends
}

// swift-format-ignore: AlwaysUseLowerCamelCase
private func BackupPoint(of path: String) throws -> MakoStorage.BackupPoint {
    try MakoStorage.BackupPoint(of: path, fileSystem: ExampleDisk.current)
}

extension Store {
    fileprivate static func restore(_ base: String, applying parts: [String], to path: String) throws {
        try restore(base, applying: parts, to: path, options: StoreOptions())
    }
}

private func following(_ turn: () -> Bool, _ show: @escaping @Sendable (Snapshot) throws -> Void) async throws {
    var isRunning: Bool { turn() }
    // EXAMPLE OtherProcesses.md
    var options = StoreOptions()
    options.readOnly = true
    let store = try Store(at: "events.mako", options: options)
    while isRunning {
        if try store.refresh() { try await store.read { try show($0) } }
        try await Task.sleep(for: .seconds(1))
    }
    // EXAMPLE ends
    try store.close()
}

private func takingTurns(_ store: Store) throws -> Bool {
    // EXAMPLE OtherProcesses.md
    try store.suspend(timeout: .seconds(2))
    // Another process opens the file, writes it, and closes or suspends it.
    let hasNews = try store.resume(timeout: .seconds(2))
    // EXAMPLE ends
    return hasNews
}

private func valueInSnapshot(of store: Store, _ tree: Tree) throws -> [UInt8]? {
    // EXAMPLE Snapshots.md
    let snapshot = try store.snapshot()
    let value = try snapshot.get(42, in: tree)
    // EXAMPLE ends
    return value
}

private func replace(_ old: UInt64, by key: UInt64, _ new: [UInt8], in tree: Tree, of store: Store) throws {
    // EXAMPLE Transactions.md
    try store.write { transaction in
        try transaction.put(new, for: key, in: tree)
        _ = try transaction.delete(old, in: tree)
    }
    // EXAMPLE ends
}

private func fillTree(of store: Store, with sorted: [(key: [UInt8], meaning: [UInt8])]) throws {
    // EXAMPLE Transactions.md
    try store.write { transaction in
        let words = try transaction.createTree(named: "words", keys: .bytes)
        try transaction.bulkLoad(into: words) { loader in
            for word in sorted { try loader.append(word.meaning, for: word.key) }
        }
    }
    // EXAMPLE ends
}

/// The examples of the articles on `MakoStorage`. `ReadmeTests` checks that the text between the marks equals that of
/// the article.
@Suite struct ArticleExampleTests {
    private static func fill(_ store: Store) throws {
        try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            try transaction.put([1, 2, 3], for: 7, in: tree)
        }
    }

    private static func check(_ store: Store) throws {
        let tree = try #require(try store.read { $0.tree(named: "t") })
        #expect(try store.read { try $0.get(7, in: tree) } == [1, 2, 3])
    }

    @Test func anOperatorIsNotified() throws {
        try ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let store = try Store(at: "events.mako", options: watched())
            try Self.fill(store)
            try Self.check(store)
            try store.close()
        }
    }

    #if Logging && Metrics
        @Test func whatHappensIsLoggedAndCounted() throws {
            try ExampleDisk.$current.withValue(MemoryFileSystem()) {
                let store = try logged()
                try Self.fill(store)
                try Self.check(store)
                try store.close()
            }
        }
    #endif

    @Test func aBackupAndItsPartAreRestored() throws {
        try ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let store = try Store(at: "today.mako", options: StoreOptions())
            try Self.fill(store)
            try backedUpAndRestored(store)
            try store.close()
            let restored = try Store(at: "events.mako", options: StoreOptions())
            try Self.check(restored)
            try restored.close()
        }
    }

    @Test func aReaderFollowsWhatIsWritten() async throws {
        let shown = Guarded<[[UInt8]?]>([])
        try await ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let writer = try Store(at: "events.mako", options: StoreOptions())
            try Self.fill(writer)
            let tree = try #require(try writer.snapshot().tree(named: "t"))
            var round: UInt8 = 0
            try await following {
                round += 1
                guard round < 3 else { return false }
                #expect(throws: Never.self) { try writer.write { try $0.put([round], for: 7, in: tree) } }
                return true
            } _: { snapshot in
                let value = try snapshot.get(7, in: tree)
                shown.withLock { $0.append(value) }
            }
            try writer.close()
        }
        #expect(shown.withLock { $0 } == [[1], [2]])
    }

    @Test func twoProcessesTakeTurns() throws {
        try ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let store = try Store(at: "events.mako", options: StoreOptions())
            #expect(try !takingTurns(store))
            try Self.fill(store)
            #expect(try !takingTurns(store))
            try store.close()
        }
    }

    @Test func transactionsChangeWhatSnapshotsShow() throws {
        try ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let store = try Store(at: "events.mako", options: StoreOptions())
            try Self.fill(store)
            let tree = try #require(try store.read { $0.tree(named: "t") })
            #expect(try valueInSnapshot(of: store, tree) == nil)
            try replace(7, by: 42, [4, 2], in: tree, of: store)
            #expect(try valueInSnapshot(of: store, tree) == [4, 2])
            #expect(try store.read { try $0.get(7, in: tree) } == nil)
            try fillTree(of: store, with: [(key: [1], meaning: [10]), (key: [2], meaning: [20])])
            let words = try #require(try store.read { $0.tree(named: "words") })
            #expect(try store.read { try $0.get([2], in: words) } == [20])
            try store.close()
        }
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func aStoreIsEncryptedAndGetsOtherKeys()
        throws
    {
        try ExampleDisk.$current.withValue(MemoryFileSystem()) {
            let (bytes, newBytes) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
            let (store, options) = try encrypted(bytes)
            #expect(store.isEncrypted)
            try Self.fill(store)
            try store.close()
            let plain = try Store(at: "plain.mako", options: StoreOptions())
            try Self.fill(plain)
            try underOtherKeys(plain, options, bytes, newBytes)
            try plain.close()
            for (path, key) in [("events-2.mako", bytes), ("events.mako", newBytes)] {
                var options = StoreOptions()
                options.encryption = .key(key)
                let store = try Store(at: path, options: options)
                try Self.check(store)
                try store.close()
            }
        }
    }
}
