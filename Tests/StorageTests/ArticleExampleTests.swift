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

/// What the examples take for the type's own initializer.
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
    // EXAMPLE Encryption.md
    var options = StoreOptions()
    options.encryption = .key(bytes)  // 32 random bytes, out of the system's key store
    let store = try Store(at: "events.mako", options: options)
    // EXAMPLE ends
    return (store, options)
}

private func underOtherKeys(
    _ plain: Store, _ options: MakoStorage.StoreOptions, _ bytes: [UInt8], _ newBytes: [UInt8]
) throws {
    // EXAMPLE Encryption.md
    try plain.copy(to: "events-2.mako", encryption: .key(bytes))
    try Store.compact(at: "events.mako", options: options, encryption: .key(newBytes))
    // EXAMPLE ends
}

/// The examples of the articles on `MakoStorage`: what stands between the marks stands there, too, which `ReadmeTests` sees to.
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

    @Test func anOperatorIsTold() throws {
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

    @Test(.enabled(if: Encryption.isAvailable)) func aStoreIsEncryptedAndGetsOtherKeys() throws {
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
