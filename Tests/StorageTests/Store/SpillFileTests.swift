import MakoStorage
import MakoTestSupport
import Testing

/// Files of operations that do not fit into memory.
@Suite struct SpillFileTests {
    private static func options(on disk: SimulatedDisk, encrypted: Bool) -> StoreOptions {
        var options = StoreOptions()
        options.background = .manual
        options.fileSystem = disk
        options.entropy = SeededEntropy(seed: 5)
        if encrypted { options.encryption = .key([UInt8](repeating: 7, count: 32)) }
        return options
    }

    private static func block(_ number: UInt64, bytes: Int) -> [UInt8] {
        ValueShape(bytes: bytes).value(seed: number)
    }

    @Test(arguments: [false, true]) func blocksComeBackInAnyOrder(encrypted: Bool) throws {
        guard !encrypted || Encryption.isAvailable else { return }
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: Self.options(on: disk, encrypted: encrypted))
        try store.write { tx in
            let names = try disk.list(directory: "d")
            let file = try tx.makeSpillFile()
            var random = SplitMix(seed: 1)
            var lengths: [Int] = []
            for number in 0..<40 as Range<UInt64> {
                let length =
                    number == 3 ? 0 : number == 4 ? file.blockBytes : Int(random.next() % UInt64(file.blockBytes))
                lengths.append(length)
                let written = try Self.block(number, bytes: length).withUnsafeBytes { try file.append($0) }
                #expect(written == number)
            }
            #expect(try disk.list(directory: "d") == names, "a name leads to it")
            for _ in 0..<100 {
                let number = random.next() % 40
                var read = [UInt8](repeating: 1, count: file.blockBytes)
                try read.withUnsafeMutableBytes { try file.read(number, into: try #require($0.baseAddress)) }
                let length = lengths[Int(number)]
                #expect(Array(read[..<length]) == Self.block(number, bytes: length))
                #expect(read[length...].allSatisfy { $0 == 0 })
            }
        }
        try store.close()
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"))
    func blocksOfAnEncryptedDatabaseAreEncrypted() throws {
        let content = Self.block(9, bytes: 4000)
        let readable = Guarded(0)
        let watcher: @Sendable (String, UnsafeRawBufferPointer, UInt64) -> Void = { _, bytes, _ in
            let count = (0..<max(0, bytes.count - 8)).count { place in
                (0..<8).allSatisfy { bytes[place + $0] == content[100 + $0] }
            }
            readable.withLock { $0 += count }
        }
        try SimulatedDisk.$watcher.withValue(watcher) {
            for encrypted in [true, false] {
                let store = try Store(at: "s.mako", options: Self.options(on: SimulatedDisk(), encrypted: encrypted))
                try store.write { tx in
                    let file = try tx.makeSpillFile()
                    for _ in 0..<3 { _ = try content.withUnsafeBytes { try file.append($0) } }
                }
                try store.close()
                #expect(readable.withLock { $0 } == (encrypted ? 0 : 3))
            }
        }
    }

    @Test func aFullDiskIsAnErrorOfTheTransaction() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "s.mako", options: Self.options(on: disk, encrypted: false))
        let tree = try store.write { try $0.createTree(named: "numbers", keys: .integer) }
        disk.capacity = disk.usedBytes + 10_000
        #expect(throws: StorageError.diskFull(path: "s.mako")) {
            try store.write { tx in
                try tx.put([1], for: 1, in: tree)
                let file = try tx.makeSpillFile()
                for number in 0..<100 as Range<UInt64> {
                    _ = try Self.block(number, bytes: 4000).withUnsafeBytes { try file.append($0) }
                }
            }
        }
        disk.capacity = nil
        try store.write { try $0.put([2], for: 2, in: tree) }
        let view = try store.snapshot()
        #expect(try view.get(1, in: tree) == nil)
        #expect(try view.get(2, in: tree) == [2])
        try store.close()
    }
}
