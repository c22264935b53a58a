import MakoStorage
import MakoTestSupport
import Testing

/// Encrypted stores through the public interface.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptionTests {
    static let path = "d/store.mako"

    static func options(_ disk: any FileSystem, _ encryption: Encryption?) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 64 << 10
        options.cacheBytes = 4 << 20
        options.encryption = encryption
        return options
    }

    static func fill(_ store: Store, _ numbers: Range<UInt64>, bytes: Int = 100) throws {
        try store.write { tx in
            let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
            for number in numbers { try tx.put(ValueShape(bytes: bytes).value(seed: number), for: number, in: tree) }
        }
    }

    static func check(_ store: Store, _ numbers: Range<UInt64>, bytes: Int = 100) throws {
        let view = try store.snapshot()
        let tree = try #require(view.tree(named: "t"))
        for number in numbers {
            #expect(try view.get(number, in: tree) == ValueShape(bytes: bytes).value(seed: number))
        }
        #expect(try view.count(of: tree) == UInt64(numbers.count))
    }

    @Test(arguments: Encryption.Cipher.allCases) func whatWasWrittenIsReadAgain(cipher: Encryption.Cipher) throws {
        for number in [0, 2] {
            let disk = SimulatedDisk()
            let options = Self.options(disk, TestKeys.encryption(number, cipher))
            var store = try Store(at: Self.path, options: options)
            #expect(store.isEncrypted)
            try Self.fill(store, 0..<2000)
            try Self.check(store, 0..<2000)
            try store.close()
            store = try Store(at: Self.path, options: options)
            try Self.check(store, 0..<2000)
            try Self.fill(store, 2000..<2100)
            // Without closing: the log has to be read.
            disk.endProcess()
            store = try Store(at: Self.path, options: options)
            try Self.check(store, 0..<2100)
            #expect(try store.verify().isClean)
            try store.close()
        }
    }
}

/// The workloads of plain stores, on encrypted ones.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptedRandomTests {
    @Test(arguments: 0..<RandomSeeds.parts) func randomWorkloadsAgreeWithTheModel(part: Int) {
        #expect(RandomSeeds.failures(EncryptedStoreWorkload.self, part: part).isEmpty)
    }
}
