import Foundation
import MakoStorage
import MakoTestSupport
import Testing

/// A store with a cache of so many megabytes, and values whose right bytes are known.
struct CacheBudgetSample {
    let store: Store
    let tree: Tree
    let keys: UInt64

    /// About 4 values a page.
    static func value(_ key: UInt64) -> [UInt8] {
        var value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 1000)
        for index in 0..<8 { value[index * 100] = UInt8(truncatingIfNeeded: key >> UInt64(index * 8)) }
        return value
    }

    init(
        megabytes: Int, cacheBytes: Int = 64 << 20, unitBytes: Int = 4096, at path: String = "d/s.mako",
        on files: any FileSystem = MemoryFileSystem()
    ) throws {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.cacheBytes = cacheBytes
        options.memoryUnitBytes = unitBytes
        options.logSegmentBytes = 4 << 20
        options.shrinksWhenIdle = false
        store = try Store(at: path, options: options)
        tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        keys = UInt64(megabytes) * 1000
        try putAll()
        try store.checkpoint()
    }

    /// In transactions that fit the log.
    func putAll() throws {
        for part in stride(from: 0, to: keys, by: 500) {
            try store.write(durability: .async) { tx in
                for key in part..<part + 500 { try tx.put(CacheBudgetSample.value(key), for: key, in: tree) }
            }
        }
    }

    func expectAllValues(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
        try store.read { view in
            for key in 0..<keys where try view.get(key, in: tree) != CacheBudgetSample.value(key) {
                Issue.record("key \(key)", sourceLocation: sourceLocation)
            }
        }
    }

    /// Waits until no operation of another test interferes.
    func settle(_ isDone: (StoreStats) -> Bool) throws -> StoreStats {
        let limit = ContinuousClock.now + .seconds(60)
        while !isDone(store.stats), ContinuousClock.now < limit {
            while try store.step() {}
            yieldThread()
        }
        return store.stats
    }
}
