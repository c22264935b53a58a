import MakoTestSupport
import Testing

@testable import MakoStorage

/// Ranges of entries are deleted by removing subtrees: the rest must be a valid tree.
@Suite struct RangeDeleteTests {
    private static func store(_ disk: SimulatedDisk = SimulatedDisk(seed: 1), cacheBytes: Int = 16 << 20) throws
        -> Store
    {
        var options = StoreOptions()
        options.fileSystem = disk
        options.cacheBytes = cacheBytes
        options.background = .manual
        options.logSegmentBytes = 1 << 20
        options.entropy = SeededEntropy(seed: 1)
        return try Store(at: "d/store.mako", options: options)
    }

    private static func check(_ store: Store, _ tree: Tree, _ model: ModelTree, _ what: String) throws {
        let found = try store.read { try ModelTree(reading: tree, of: $0) }
        #expect(found == model, "\(what)")
        #expect(try store.read { try $0.count(of: tree) } == UInt64(model.count), "\(what)")
        let report = try store.verify()
        #expect(report.isClean, "\(what): \(report.findings)")
    }

    // MARK: Against the model

    @Test(arguments: 0..<12) func rangesOfIntegersAgreeWithTheModel(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try RangeDeleteTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var map = SortedMap<UInt64>()
        let valueBytes = [8, 100, 900][Int(seed % 3)]
        let largeValues = seed % 4 == 3
        for round in 0..<8 {
            let count = [300, 2500][random.below(2)]
            let isOrdered = random.chance(50)
            try store.write { transaction in
                for number in 0..<count {
                    let key = isOrdered ? UInt64(number + round) : random.next() % 5000
                    let isLarge = largeValues && random.chance(2)
                    let value = ValueShape(bytes: isLarge ? 5000 : valueBytes).value(seed: random.next())
                    try transaction.put(value, for: key, in: tree)
                    map.put(value, for: key)
                }
            }
            for _ in 0..<6 {
                let first = random.chance(10) ? 0 : random.next() % 4000
                let last = random.chance(10) ? .max : first + random.next() % (random.chance(50) ? 40 : 3000)
                let removed = try store.write { try $0.deleteRange(first...last, in: tree) }
                #expect(removed == UInt64(map.delete(first...last)))
                try RangeDeleteTests.check(store, tree, .integers(map), "\(first)...\(last)")
                let shape = try TreeShape(tree, in: store)
                #expect(shape.emptyLeaves == 0 && shape.loneChildren == 0, "\(first)...\(last): \(shape)")
            }
        }
        try store.close()
    }

    /// Keys of several lengths below prefixes of several lengths: fences and prefixes change a lot where a range was.
    private static func key(_ number: Int, _ kind: Int) -> [UInt8] {
        switch kind {
        case 0: Array("user/\(1000 + number % 3)/\(100_000 + number)".utf8)
        case 1: [UInt8](repeating: UInt8(number / 40), count: 60 + number / 40) + Array("\(100_000 + number)".utf8)
        case 2: [UInt8](repeating: 7, count: number % 400) + Array("\(number)".utf8)
        default:
            // Groups with much in common, and little between them.
            [UInt8(number % 17)] + [UInt8](repeating: 3, count: 300 + number % 17 * 30) + Array("\(number)".utf8)
        }
    }

    @Test(arguments: 0..<16) func rangesOfByteKeysAgreeWithTheModel(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try RangeDeleteTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        var map = SortedMap<ByteKey>()
        let kind = Int(seed % 4)
        let valueBytes = [0, 30, 400][random.below(3)]
        for _ in 0..<6 {
            try store.write { transaction in
                for _ in 0..<700 {
                    let key = RangeDeleteTests.key(random.below(1500), kind)
                    let isLarge = seed > 11 && random.chance(2)
                    let value = ValueShape(bytes: isLarge ? 5000 : valueBytes).value(seed: random.next())
                    try transaction.put(value, for: key, in: tree)
                    map.put(value, for: ByteKey(key))
                }
            }
            for _ in 0..<6 {
                let ends = [0, 1].map { _ -> ByteKey in
                    if random.chance(50), map.count > 0 { return map.keys[random.below(map.count)] }
                    return ByteKey(RangeDeleteTests.key(random.below(1500), kind))
                }.sorted()
                let first = random.chance(5) ? [] : ends[0].bytes
                let end = random.chance(10) ? nil : ends[1].bytes
                let removed = try store.write { try $0.deleteRange(from: first, to: end, in: tree) }
                #expect(removed == UInt64(map.delete(from: ByteKey(first), to: end.map { ByteKey($0) })))
                try RangeDeleteTests.check(store, tree, .bytes(map), "\(first.count) \(end?.count ?? -1)")
                let shape = try TreeShape(tree, in: store)
                #expect(shape.loneChildren == 0, "\(shape)")
            }
        }
        try store.close()
    }

    /// Deleting ranges respects earlier changes of the transaction, savepoints and buffered puts.
    @Test func rangesInTheMiddleOfATransaction() throws {
        let store = try RangeDeleteTests.store()
        let (numbers, texts) = try store.write {
            (try $0.createTree(named: "n", keys: .integer), try $0.createTree(named: "t", keys: .bytes))
        }
        func text(_ number: UInt64) -> [UInt8] { Array("\(100_000 + number)".utf8) }
        let transaction = try store.beginWrite()
        for key in 0..<4000 as Range<UInt64> {
            // Jumping about, so that the last ones wait.
            let key = key &* 2477 % 4000
            try transaction.put([1, 2, 3], for: key, in: numbers)
            try transaction.put([1, 2, 3], for: text(key), in: texts)
        }
        let savepoint = transaction.savepoint()
        #expect(try transaction.deleteRange(100...3899, in: numbers) == 3800)
        #expect(try transaction.deleteRange(from: text(100), to: text(3900), in: texts) == 3800)
        #expect(try transaction.view.count(of: numbers) == 200)
        try transaction.rollback(to: savepoint)
        #expect(try transaction.view.count(of: texts) == 4000)
        #expect(try transaction.deleteRange(0...1999, in: numbers) == 2000)
        #expect(try transaction.deleteRange(from: text(2000), in: texts) == 2000)
        try transaction.put([9], for: 5, in: numbers)
        try transaction.commit()
        #expect(try store.read { try $0.count(of: numbers) } == 2001)
        #expect(try store.read { try $0.count(of: texts) } == 2000)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// Ranges over many inner nodes are removed in parts, in a cache that is smaller than they are.
    @Test(arguments: [KeyKind.integer, .bytes]) func rangesOverManyInnerNodesAreRemovedWhole(keys: KeyKind) throws {
        let store = try RangeDeleteTests.store(cacheBytes: 1 << 20)
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        func text(_ number: UInt64) -> [UInt8] { Array("\(100_000 + number)".utf8) }
        let count: UInt64 = 6000
        try store.write { transaction in
            for key in 0..<count {
                let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 1100)
                switch keys {
                case .integer: try transaction.put(value, for: key, in: tree)
                case .bytes: try transaction.put(value, for: text(key), in: tree)
                }
            }
        }
        #expect(try store.snapshot().trees[0].levels == 3)
        func delete(_ keys: Range<UInt64>) throws -> UInt64 {
            try store.write { transaction in
                tree.keys == .integer
                    ? try transaction.deleteRange(keys.lowerBound...keys.upperBound - 1, in: tree)
                    : try transaction.deleteRange(from: text(keys.lowerBound), to: text(keys.upperBound), in: tree)
            }
        }
        #expect(try delete(1700..<1800) == 100)
        #expect(try delete(700..<5200) == 4400)
        #expect(try store.read { try $0.count(of: tree) } == 1500)
        #expect(try store.verify().isClean)
        #expect(try delete(0..<6000) == 1500)
        #expect(try store.snapshot().trees[0].levels == 0)
        #expect(try store.verify().isClean)
        try store.close()
    }

    // MARK: Bounds

    @Test func boundsOfByteKeysMayBeAnything() throws {
        let store = try RangeDeleteTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        let highest = [UInt8](repeating: .max, count: Limits.keyBytes)
        let keys = [[], [0], [0, 0], [1], Array("log/1".utf8), Array("log/2".utf8), Array("logs".utf8), highest]
        func fill() throws {
            try store.write { transaction in
                _ = try transaction.deleteAll(in: tree)
                for key in keys { try transaction.put([7], for: key, in: tree) }
            }
        }
        func remaining(_ lower: [UInt8], _ upper: [UInt8]?) throws -> [[UInt8]] {
            try fill()
            let removed = try store.write { try $0.deleteRange(from: lower, to: upper, in: tree) }
            let left = try store.read { snapshot throws in
                var left: [[UInt8]] = []
                var cursor = try snapshot.cursor(in: tree)
                var isThere = try cursor.first()
                while isThere {
                    left.append(cursor.key)
                    isThere = try cursor.next()
                }
                return left
            }
            #expect(Int(removed) + left.count == keys.count)
            return left
        }
        #expect(try remaining([], nil) == [])
        #expect(try remaining([], []) == keys)
        #expect(try remaining([0], [0]) == keys)
        #expect(try remaining([1], [0]) == keys)
        #expect(try remaining([0], [1]) == [[]] + Array(keys[3...]))
        #expect(try remaining(Array("log/".utf8), Array("log0".utf8)) == Array(keys[..<4]) + Array(keys[6...]))
        #expect(try remaining(highest, nil) == keys.dropLast())
        // One that is too long for a key comes directly behind those that it begins with.
        #expect(try remaining(highest + [0], nil) == keys)
        #expect(try remaining([2], highest + [0]) == Array(keys[..<4]))
        #expect(try remaining([UInt8](repeating: 0, count: 5000), [1]) == keys)
        try store.close()
    }

    @Test func rangesReachTheLastIntegers() throws {
        let store = try RangeDeleteTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let keys: [UInt64] = [0, 1, .max - 1, .max]
        try store.write { for key in keys { try $0.put([1], for: key, in: tree) } }
        #expect(try store.write { try $0.deleteRange(2...(.max - 2), in: tree) } == 0)
        #expect(try store.write { try $0.deleteRange(.max...(.max), in: tree) } == 1)
        #expect(try store.write { try $0.deleteRange(0...(.max), in: tree) } == 3)
        #expect(try store.snapshot().trees[0].levels == 0)
        try store.close()
    }

    // MARK: Large values

    @Test(arguments: [KeyKind.integer, .bytes]) func pagesOfLargeValuesInARangeAreFree(keys: KeyKind) throws {
        var disk = SimulatedDisk(seed: 1)
        var store = try RangeDeleteTests.store(disk)
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        func put(_ keys: Range<UInt64>, _ bytes: Int) throws {
            try store.write { transaction in
                for key in keys {
                    let value = [UInt8](repeating: UInt8(key % 251), count: bytes)
                    switch tree.keys {
                    case .integer: try transaction.put(value, for: key, in: tree)
                    case .bytes: try transaction.put(value, for: Array("\(10_000 + key)".utf8), in: tree)
                    }
                }
            }
        }
        func delete(_ keys: Range<UInt64>) throws -> UInt64 {
            try store.write { transaction in
                switch tree.keys {
                case .integer: try transaction.deleteRange(keys.lowerBound...keys.upperBound - 1, in: tree)
                case .bytes:
                    try transaction.deleteRange(
                        from: Array("\(10_000 + keys.lowerBound)".utf8), to: Array("\(10_000 + keys.upperBound)".utf8),
                        in: tree)
                }
            }
        }
        func mayHoldLargeValues() -> Bool {
            store.newest.trees[treeIndex(store.newest.trees, count: store.newest.treeCount, id: tree.id) ?? 0]
                .mayHoldLargeValues
        }
        try put(0..<1500, 100)
        #expect(!mayHoldLargeValues())
        try put(700..<704, 90_000)
        #expect(mayHoldLargeValues())
        // The flag of the tree survives a crash and a clean end.
        for ending in 0..<2 {
            if ending == 0 { disk = SimulatedDisk(disk.settledImage()) } else { try store.close() }
            store = try RangeDeleteTests.store(disk)
            #expect(mayHoldLargeValues())
            #expect(try delete(UInt64(ending * 2) + 400..<UInt64(ending * 2) + 702) == (ending == 0 ? 302 : 2))
            #expect(try store.verify().isClean)
        }
        #expect(try delete(0..<2000) == 1196)
        #expect(!mayHoldLargeValues())
        try put(0..<1500, 100)
        try store.close()
        store = try RangeDeleteTests.store(disk)
        #expect(!mayHoldLargeValues())
        #expect(try delete(10..<1490) == 1480)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// A file of an older version has no flag for trees without large values: they are scanned.
    @Test func metasThatSayNothingOfLargeValuesAreBelievedNothing() throws {
        var meta = Meta(
            number: 0, commit: 1, point: 1, log: .start, nextTreeID: 9,
            directory: Overflow(firstPage: 9, firstWriteID: 1, length: 10, stored: 10, isCompressed: false), regions: 1)
        #expect(!meta.isPlain(0) && !meta.isPlain(63) && !meta.isPlain(100_000))
        var trees = (1...70).map { TreeState(id: $0, kind: .bytes) }
        trees[2].mayHoldLargeValues = true
        trees[64].mayHoldLargeValues = true
        meta.plainTrees = Meta.plainTrees(trees)
        #expect((0..<70).allSatisfy { meta.isPlain($0) == ($0 != 2 && $0 != 64) } && !meta.isPlain(70))
        // More than a page of them: nothing is known of the last.
        let many = Meta.plainTrees((1...40_000).map { TreeState(id: $0, kind: .bytes) })
        #expect(many.count == (4088 - 120) / 8)
    }

    /// No transaction writes such an operation; a log that holds one is damaged.
    @Test func aLoggedRangeThatEndsBeforeItBeginsIsRefused() throws {
        let store = try RangeDeleteTests.store(SimulatedDisk(seed: 1))
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        try store.write { transaction in
            for key in 0..<300 as Range<UInt64> {
                try transaction.put([UInt8](repeating: 1, count: 50), for: Array("\(key)".utf8), in: tree)
            }
        }
        for (first, end) in [("2", "1"), ("150", "15"), ("9", "")] {
            let operation =
                [Operation.deleteByteRange.rawValue, UInt8(tree.id), 0, 0, 0, UInt8(first.utf8.count), 0]
                + Array(first.utf8) + [UInt8(end.utf8.count), 0] + Array(end.utf8)
            let transaction = try store.beginWrite()
            #expect(throws: StorageError.self) { try transaction.replay(operation) }
        }
        #expect(try store.snapshot().count(of: tree) == 300)
        try store.close()
    }

    // MARK: The file's features

    @Test func theHeaderNamesRangesOfByteKeysBeforeTheyAreLogged() throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try RangeDeleteTests.store(disk)
        let numbers = try store.write { try $0.createTree(named: "n", keys: .integer) }
        let texts = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        try store.write { transaction in
            for key in 0..<50 as Range<UInt64> {
                try transaction.put([1], for: key, in: numbers)
                try transaction.put([1], for: Array("\(key)".utf8), in: texts)
            }
            _ = try transaction.deleteRange(3...9, in: numbers)
            #expect(try transaction.deleteRange(from: Array("x".utf8), in: texts) == 0)
        }
        #expect(store.dataFile.header.features == [])
        let transaction = try store.beginWrite()
        #expect(try transaction.deleteRange(from: Array("3".utf8), to: Array("4".utf8), in: texts) == 11)
        // Durable, though nothing was committed yet.
        for image in disk.crashImages() {
            let file = try image.open("d/store.mako", .readOnly)
            #expect(try DataFile.open(file).header.features == FormatFeatures.byteRanges)
        }
        try transaction.commit()
        #expect(store.dataFile.header.features == .byteRanges)
        try store.close()
    }
}
