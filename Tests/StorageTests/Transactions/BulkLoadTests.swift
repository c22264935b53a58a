import MakoStorage
import MakoTestSupport
import Testing

/// Trees that are filled with ascending entries, leaf after leaf.
@Suite struct BulkLoadTests {
    private static func store(
        _ disk: SimulatedDisk = SimulatedDisk(seed: 1), cache: Int = 16 << 20
    ) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.cacheBytes = cache
        options.background = .manual
        options.logSegmentBytes = 256 << 10
        options.entropy = SeededEntropy(seed: 1)
        return try Store(at: "d/store.mako", options: options)
    }

    private static func check(_ store: Store, _ tree: Tree, _ model: ModelTree, _ what: String) throws {
        let found = try store.read { try ModelTree(reading: tree, of: $0) }
        #expect(found == model, "\(what)")
        let report = try store.verify()
        #expect(report.isClean, "\(what): \(report.findings)")
        #expect(try TreeShape(tree, in: store).emptyLeaves == 0, "\(what)")
    }

    // MARK: Against the model

    /// Loads, changes of what was loaded, and loads behind that.
    @Test(arguments: 0..<12) func loadedTreesAgreeWithTheModel(seed: UInt64) throws {
        var random = SplitMix(seed: seed &+ 90)
        let kind: KeyKind = seed % 2 == 0 ? .integer : .bytes
        // A small budget makes the load write its pages before the end.
        let store = try BulkLoadTests.store(cache: seed % 4 < 2 ? 1 << 16 : 16 << 20)
        let tree = try store.write {
            try $0.createTree(named: "t", keys: kind, options: seed % 3 == 0 ? .subtreeCounts : [])
        }
        var model = ModelTree(kind)
        var last: UInt64 = 0
        for round in 0..<3 {
            try store.write { transaction in
                try transaction.bulkLoad(into: tree) { loader in
                    for _ in 0..<[0, 3, 200, 600][random.below(4)] {
                        // Jumps change what neighbouring keys have in common.
                        last += random.chance(2) ? 1 + random.next() % 5000 : 1
                        let length = random.chance(1) ? 3000 + random.below(9000) : random.below([40, 400][round % 2])
                        let value = ValueShape(bytes: length, isCompressible: random.chance(20)).value(seed: last)
                        switch kind {
                        case .integer:
                            try loader.append(value, for: last)
                            model.put(value, for: .integer(last))
                        case .bytes:
                            let key = BulkLoadTests.key(last, seed)
                            try loader.append(value, for: key)
                            model.put(value, for: .bytes(key))
                        }
                    }
                }
                // Changes in the same transaction find a tree like any other.
                try BulkLoadTests.change(tree, transaction, &model, last, seed, &random)
            }
            try BulkLoadTests.check(store, tree, model, "round \(round)")
            try store.write { try BulkLoadTests.change(tree, $0, &model, last, seed, &random) }
            try BulkLoadTests.check(store, tree, model, "after round \(round)")
        }
        try store.close()
    }

    /// Digits behind a long beginning, in some runs of different length.
    private static func key(_ number: UInt64, _ seed: UInt64) -> [UInt8] {
        let digits = ScriptRun.bytes(number, length: 12)
        switch seed % 6 {
        case 1: return digits
        case 3: return [UInt8](repeating: 0xff, count: 200) + digits
        default: return digits + [UInt8](repeating: 0xff, count: Int(number % 7) * 100)
        }
    }

    private static func change(
        _ tree: Tree, _ transaction: borrowing WriteTransaction, _ model: inout ModelTree, _ last: UInt64,
        _ seed: UInt64, _ random: inout SplitMix
    ) throws {
        for _ in 0..<random.below(60) {
            let number = random.next() % (last + 1)
            let value = ValueShape(bytes: random.below(300)).value(seed: random.next())
            switch tree.keys {
            case .integer where random.chance(40):
                #expect(try transaction.delete(number, in: tree) == model.delete(.integer(number)))
            case .integer:
                try transaction.put(value, for: number, in: tree)
                model.put(value, for: .integer(number))
            case .bytes where random.chance(40):
                let key = key(number, seed)
                #expect(try transaction.delete(key, in: tree) == model.delete(.bytes(key)))
            case .bytes:
                let key = key(number, seed)
                try transaction.put(value, for: key, in: tree)
                model.put(value, for: .bytes(key))
            }
        }
    }

    /// Nodes three levels high whose counts are found out while pages go to the device.
    @Test(arguments: [KeyKind.integer, .bytes]) func countsAreRightInALoadLargerThanMemory(keys: KeyKind) throws {
        let store = try BulkLoadTests.store(cache: 1)
        let value = [UInt8](repeating: 7, count: 900)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: keys, options: .subtreeCounts)
            try transaction.bulkLoad(into: tree) { loader in
                for number in 0..<3000 as Range<UInt64> {
                    switch keys {
                    case .integer: try loader.append(value, for: number)
                    case .bytes: try loader.append(value, for: ScriptRun.bytes(number, length: 300))
                    }
                }
            }
            return tree
        }
        let report = try store.verify()
        #expect(report.isClean, "\(report.findings)")
        #expect(try TreeShape(tree, in: store).levels > 2)
        let snapshot = try store.snapshot()
        for number in [0, 1, 777, 2999, 3000] as [UInt64] {
            let rank =
                switch keys {
                case .integer: try snapshot.rank(of: number, in: tree)
                case .bytes: try snapshot.rank(of: ScriptRun.bytes(number, length: 300), in: tree)
                }
            #expect(rank == number)
        }
    }

    /// Values on pages of their own, one of them longer than what the log takes, and a stream.
    @Test func longValuesAreLoaded() throws {
        let store = try BulkLoadTests.store()
        var model = ModelTree(.integer)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            let count = try transaction.bulkLoad(into: tree) { loader in
                for (key, bytes) in [(1, 20_000), (2, 1_100_000), (3, 5), (4, 2_000_000)] as [(UInt64, Int)] {
                    let value = ValueShape(bytes: bytes, isCompressible: key == 4).value(seed: key)
                    try loader.append(value, for: key)
                    model.put(value, for: .integer(key))
                }
                let value = ValueShape(bytes: 3_000_000).value(seed: 5)
                try loader.appendBlob(for: 5) { blob in
                    for start in stride(from: 0, to: value.count, by: 1 << 16) {
                        try blob.append(Array(value[start..<min(start + 1 << 16, value.count)]))
                    }
                }
                model.put(value, for: .integer(5))
            }
            #expect(count == 5)
            return tree
        }
        try BulkLoadTests.check(store, tree, model, "loaded")
        try store.checkpoint()
        try BulkLoadTests.check(store, tree, model, "checkpoint")
    }

    // MARK: Size and work

    /// Leaves of keys with long common prefixes are filled to the last entry that fits, and each page is written once.
    @Test(arguments: [KeyKind.integer, .bytes]) func leavesAreFullAndWrittenOnce(keys: KeyKind) throws {
        let disk = SimulatedDisk(seed: 2)
        let store = try BulkLoadTests.store(disk, cache: 1 << 20)
        let count: UInt64 = 20_000
        let value = [UInt8](repeating: 7, count: 100)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: keys)
            try transaction.bulkLoad(into: tree) { loader in
                for number in 0..<count {
                    switch keys {
                    case .integer: try loader.append(value, for: number)
                    case .bytes: try loader.append(value, for: ScriptRun.bytes(number, length: 20))
                    }
                }
            }
            return tree
        }
        let shape = try TreeShape(tree, in: store)
        #expect(shape.fill > 0.97, "\(shape)")
        if keys == .bytes {
            let ordinary = try store.write { transaction in
                let ordinary = try transaction.createTree(named: "o", keys: keys)
                for number in 0..<count {
                    try transaction.put(value, for: ScriptRun.bytes(number, length: 20), in: ordinary)
                }
                return ordinary
            }
            let pages = try TreeShape(ordinary, in: store).pages
            #expect(shape.pages < pages * 9 / 10, "\(shape.pages) of \(pages)")
            return
        }
        // A page that was changed after it was written would have left its old place behind.
        #expect(store.stats.waitingPages < shape.pages / 50, "\(store.stats.waitingPages) of \(shape.pages)")
        #expect(store.stats.livePages < shape.pages + 16, "\(store.stats.livePages) for \(shape.pages)")
        #expect(try store.verify().isClean)
    }

    // MARK: Misuse

    @Test func keysThatDoNotAscendAreRefusedAndTheLoadGoesOn() throws {
        let store = try BulkLoadTests.store()
        let transaction = try store.beginWrite()
        let numbers = try transaction.createTree(named: "n", keys: .integer)
        let words = try transaction.createTree(named: "w", keys: .bytes)
        try transaction.put([1], for: 10, in: numbers)
        try transaction.bulkLoad(into: numbers) { loader in
            for key in [10, 9, 0] as [UInt64] {
                #expect(throws: StorageError.self) { try loader.append([2], for: key) }
            }
            try loader.append([3], for: 11)
            #expect(throws: StorageError.self) { try loader.append([4], for: 11) }
            #expect(throws: StorageError.self) { try loader.append([4], for: Array("x".utf8)) }
            try loader.append([5], for: .max)
            #expect(throws: StorageError.self) { try loader.append([6], for: .max) }
            #expect(loader.count == 2)
        }
        try transaction.bulkLoad(into: words) { loader in
            try loader.append([1], for: Array("b".utf8))
            for key in ["b", "a", "", "az"] {
                #expect(throws: StorageError.self) { try loader.append([2], for: Array(key.utf8)) }
            }
            #expect(throws: StorageError.keyTooLong(bytes: 901, limit: 900)) {
                try loader.append([2], for: [UInt8](repeating: 0xff, count: 901))
            }
            try loader.append([3], for: Array("b\0".utf8))
            try loader.append([4], for: [UInt8](repeating: 0xff, count: 900))
        }
        try transaction.commit()
        let snapshot = try store.snapshot()
        #expect(try snapshot.count(of: numbers) == 3 && snapshot.count(of: words) == 3)
        #expect(try snapshot.get(10, in: numbers) == [1] && snapshot.get(.max, in: numbers) == [5])
        #expect(try snapshot.get(Array("b".utf8), in: words) == [1])
        #expect(try store.verify().isClean)
    }

    /// Nothing else of the transaction can be changed meanwhile, and the tree cannot be read; others can.
    @Test func aLoadIsUndisturbed() throws {
        let store = try BulkLoadTests.store()
        let (tree, other) = try store.write { transaction in
            let trees = (
                try transaction.createTree(named: "t", keys: .bytes),
                try transaction.createTree(named: "o", keys: .integer)
            )
            try transaction.put([1], for: 1, in: trees.1)
            return trees
        }
        try store.write { transaction in
            var cursor = try transaction.view.cursor(in: tree)
            try transaction.bulkLoad(into: tree) { loader in
                for number in 0..<500 as Range<UInt64> {
                    try loader.append([UInt8](repeating: 1, count: 60), for: ScriptRun.bytes(number, length: 20))
                }
                #expect(throws: StorageError.self) { try transaction.put([1], for: [1], in: tree) }
                #expect(throws: StorageError.self) { try transaction.put([1], for: 2, in: other) }
                #expect(throws: StorageError.self) { _ = try transaction.createTree(named: "x", keys: .integer) }
                #expect(throws: StorageError.self) { try transaction.dropTree(other) }
                #expect(throws: StorageError.self) {
                    try transaction.bulkLoad(into: other) { try $0.append([1], for: 5) }
                }
                #expect(throws: StorageError.self) { _ = try transaction.view.get([1], in: tree) }
                #expect(throws: StorageError.self) { _ = try cursor.first() }
                #expect(try transaction.view.get(1, in: other) == [1])
            }
            #expect(try transaction.view.count(of: tree) == 500)
            #expect(try cursor.first())
            try transaction.put([2], for: 2, in: other)
        }
        #expect(try store.read { try $0.count(of: tree) } == 500)
        #expect(try store.verify().isClean)
    }

    @Test func loadsAreUndoneLikeOtherChanges() throws {
        struct Stop: Error {}
        let store = try BulkLoadTests.store()
        try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .bytes, options: .subtreeCounts)
            let before = transaction.savepoint()
            try transaction.bulkLoad(into: tree) { loader in
                for number in 0..<900 as Range<UInt64> {
                    try loader.append([1], for: ScriptRun.bytes(number, length: 300))
                }
            }
            try transaction.rollback(to: before)
            #expect(try transaction.view.count(of: tree) == 0)
            // Entries appended before an error of the caller stay.
            #expect(throws: Stop.self) {
                try transaction.bulkLoad(into: tree) { loader in
                    for number in 0..<100 as Range<UInt64> {
                        try loader.append([2], for: ScriptRun.bytes(number, length: 300))
                    }
                    throw Stop()
                }
            }
            #expect(try transaction.view.count(of: tree) == 100)
            let after = transaction.savepoint()
            // A savepoint in the middle would seal half a leaf.
            #expect(throws: StorageError.self) {
                try transaction.bulkLoad(into: tree) { loader in
                    try loader.append([3], for: ScriptRun.bytes(200, length: 300))
                    _ = transaction.savepoint()
                    try loader.append([3], for: ScriptRun.bytes(201, length: 300))
                }
            }
            #expect(throws: StorageError.self) { try transaction.put([1], for: [1], in: tree) }
            try transaction.rollback(to: after)
            try transaction.put([4], for: ScriptRun.bytes(300, length: 300), in: tree)
            #expect(try transaction.view.count(of: tree) == 101)
        }
        #expect(try store.verify().isClean)
    }

    /// Whichever call to the system fails, the transaction is undone as a whole.
    @Test func aFailingDiskLeavesNothingOfALoad() throws {
        func load(_ store: Store, _ tree: Tree) throws {
            _ = try store.write { transaction in
                try transaction.bulkLoad(into: tree) { loader in
                    for number in 1..<100 as Range<UInt64> {
                        let bytes = number % 30 == 0 ? 9000 : 900
                        try loader.append(ValueShape(bytes: bytes).value(seed: number), for: number)
                    }
                }
            }
        }
        func made(_ disk: SimulatedDisk) throws -> (Store, Tree) {
            let store = try BulkLoadTests.store(disk, cache: 1)
            let tree = try store.write { transaction in
                let tree = try transaction.createTree(named: "t", keys: .integer)
                try transaction.put([1], for: 0, in: tree)
                return tree
            }
            return (store, tree)
        }
        let counted = SimulatedDisk(seed: 4)
        let (whole, tree) = try made(counted)
        let before = counted.callCount
        try load(whole, tree)
        let calls = counted.callCount - before
        var failures = 0
        for call in 0..<calls {
            let disk = SimulatedDisk(seed: 4)
            let (store, tree) = try made(disk)
            disk.inject(.error(28), atCall: disk.callCount + call)
            do { try load(store, tree) } catch is StorageError { failures += 1 }
            disk.clearFaults()
            let count = try store.read { try $0.count(of: tree) }
            #expect(count == 1 || count == 100, "call \(call)")
            if store.stats.readOnlyReason == nil {
                let report = try store.verify()
                #expect(report.isClean, "call \(call): \(report.findings)")
                if count == 1 { try load(store, tree) }
                #expect(try store.read { try $0.count(of: tree) } == 100, "call \(call)")
            }
            try? store.close()
        }
        #expect(failures > 10, "\(failures) of \(calls)")
    }
}
