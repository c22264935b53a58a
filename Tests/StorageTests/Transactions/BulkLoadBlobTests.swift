import MakoStorage
import MakoTestSupport
import Testing

/// Values that are handed over piece by piece: in a bulk load, under keys of either kind, short ones and such as fail.
@Suite struct BulkLoadBlobTests {
    private static let kinds: [KeyKind] = [.integer, .bytes]

    private static func store(_ disk: any FileSystem = SimulatedDisk(), cache: Int = 1 << 20) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.cacheBytes = cache
        options.logSegmentBytes = 64 << 10
        options.entropy = SeededEntropy(seed: 2)
        return try Store(at: "d/s.mako", options: options)
    }

    private static func value(_ number: UInt64) -> [UInt8] {
        let lengths = [0, 5, 700, 9000, 60_000, 200_000]
        return ValueShape(bytes: lengths[Int(number) % lengths.count]).value(seed: number)
    }

    private static func load(_ numbers: Range<UInt64>, _ tree: Tree, _ transaction: borrowing WriteTransaction) throws {
        func pieces(_ number: UInt64, _ blob: inout BlobWriter) throws {
            let value = value(number)
            for start in stride(from: 0, to: value.count, by: 30_000) {
                try blob.append(Array(value[start..<min(start + 30_000, value.count)]))
            }
            // Nothing more: nothing changes.
            try blob.append(UnsafeRawBufferPointer(start: nil, count: 0))
            #expect(blob.count == UInt64(value.count))
        }
        let count = try transaction.bulkLoad(into: tree) { loader in
            for number in numbers {
                switch tree.keys {
                case .integer: try loader.appendBlob(for: number) { try pieces(number, &$0) }
                case .bytes:
                    try loader.appendBlob(for: ScriptRun.bytes(number, length: 40)) { try pieces(number, &$0) }
                }
            }
        }
        #expect(count == UInt64(numbers.count))
    }

    @Test(arguments: kinds) func valuesOfEveryLengthAreLoaded(kind: KeyKind) throws {
        let disk = SimulatedDisk()
        var store = try Self.store(disk)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: kind)
            try Self.load(0..<60, tree, transaction)
            return tree
        }
        for _ in 0..<2 {
            let view = try store.snapshot()
            #expect(try view.count(of: tree) == 60)
            for number in 0..<60 as Range<UInt64> {
                let found =
                    switch kind {
                    case .integer: try view.get(number, in: tree)
                    case .bytes: try view.get(ScriptRun.bytes(number, length: 40), in: tree)
                    }
                #expect(found == Self.value(number), "\(number)")
            }
            #expect(try store.verify().isClean)
            try store.close()
            store = try Self.store(disk)
        }
    }

    @Test func keysThatDoNotFitAreRefusedBeforeTheValue() throws {
        let store = try Self.store()
        let transaction = try store.beginWrite()
        let words = try transaction.createTree(named: "w", keys: .bytes)
        let numbers = try transaction.createTree(named: "n", keys: .integer)
        let long = [UInt8](repeating: 1, count: 901)
        let tooLong = StorageError.keyTooLong(bytes: 901, limit: 900)
        var called = 0
        #expect(throws: tooLong) { try transaction.putBlob(for: long, in: words) { _ in called += 1 } }
        try transaction.bulkLoad(into: words) { loader in
            #expect(throws: tooLong) { try loader.appendBlob(for: long) { _ in called += 1 } }
            try loader.appendBlob(for: [5]) { try $0.append([1]) }
            #expect(throws: StorageError.self) { try loader.appendBlob(for: [5]) { _ in called += 1 } }
            #expect(throws: StorageError.wrongKeyKind(tree: "w", expected: .bytes)) {
                try loader.appendBlob(for: 7) { _ in called += 1 }
            }
            try loader.appendBlob(for: [6]) { try $0.append([2]) }
        }
        try transaction.bulkLoad(into: numbers) { loader in
            #expect(throws: StorageError.wrongKeyKind(tree: "n", expected: .integer)) {
                try loader.appendBlob(for: [7]) { _ in called += 1 }
            }
        }
        try transaction.commit()
        #expect(called == 0)
        #expect(try store.snapshot().count(of: words) == 2)
    }

    /// Whichever call to the system fails, nothing of a load is left.
    @Test(arguments: kinds) func aFailingDiskLeavesNothingOfALoad(kind: KeyKind) throws {
        func made(_ disk: SimulatedDisk) throws -> (Store, Tree) {
            let store = try Self.store(disk, cache: 1)
            let tree = try store.write { try $0.createTree(named: "t", keys: kind) }
            return (store, tree)
        }
        let counted = SimulatedDisk(seed: 4)
        let (whole, tree) = try made(counted)
        let before = counted.callCount
        try whole.write { try Self.load(0..<40, tree, $0) }
        let calls = counted.callCount - before
        var failures = 0
        for call in 0..<calls {
            let disk = SimulatedDisk(seed: 4)
            let (store, tree) = try made(disk)
            disk.inject(.noSpace, atCall: disk.callCount + call)
            do { try store.write { try Self.load(0..<40, tree, $0) } } catch is StorageError { failures += 1 }
            disk.clearFaults()
            let count = try store.read { try $0.count(of: tree) }
            #expect(count == 0 || count == 40, "call \(call)")
            if store.stats.readOnlyReason == nil {
                // A header that could not be written is written with the next one.
                if count == 0 { try store.write { try Self.load(0..<40, tree, $0) } }
                #expect(try store.verify().isClean, "call \(call)")
                #expect(try store.read { try $0.count(of: tree) } == 40, "call \(call)")
            }
            try? store.close()
        }
        #expect(failures > 5, "\(failures) of \(calls)")
    }

    /// A bulk load continues in a last leaf that has lost entries: their space is used for the leaf's end.
    @Test func aLoadGoesOnBehindALeafWithHoles() throws {
        for kept in 1..<24 as Range<UInt64> {
            let store = try Self.store()
            var expected = ModelTree(.bytes)
            let tree = try store.write { transaction in
                let tree = try transaction.createTree(named: "t", keys: .bytes)
                for number in 0..<24 as Range<UInt64> {
                    let key = ScriptRun.bytes(number, length: 60)
                    let value = ValueShape(bytes: 80 + Int(kept)).value(seed: number)
                    try transaction.put(value, for: key, in: tree)
                    if number >= kept {
                        _ = try transaction.delete(ScriptRun.bytes(number, length: 60), in: tree)
                    } else {
                        expected.put(value, for: .bytes(key))
                    }
                }
                return tree
            }
            _ = try store.write { transaction in
                try transaction.bulkLoad(into: tree) { loader in
                    for number in 30..<90 as Range<UInt64> {
                        let key = ScriptRun.bytes(number, length: 60)
                        let value = ValueShape(bytes: Int(number * 7 % 130)).value(seed: number)
                        try loader.append(value, for: key)
                        expected.put(value, for: .bytes(key))
                    }
                }
            }
            #expect(try store.read { try ModelStore(reading: $0) }.trees["t"] == expected, "\(kept)")
            #expect(try store.verify().isClean, "\(kept)")
        }
    }
}
