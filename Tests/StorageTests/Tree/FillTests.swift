import MakoStorage
import MakoTestSupport
import Testing

/// How much of their pages trees use, in whatever order they were filled and emptied.
@Suite struct FillTests {
    private static let count = 20_000

    private static func store() throws -> Store {
        var options = StoreOptions()
        options.background = .manual
        options.cacheBytes = 64 << 20
        return try Store.inMemory(options: options)
    }

    /// Keys of 20 digits in no order.
    private static func key(_ number: UInt64) -> [UInt8] {
        var random = SplitMix(seed: number)
        let digits = String(random.next())
        return Array((String(repeating: "0", count: 20 - digits.count) + digits).utf8)
    }

    private static func put(_ numbers: [UInt64], in tree: Tree, of store: Store, bytes: Int = 100) throws {
        try store.write { transaction in
            for number in numbers {
                let value = ValueShape(bytes: bytes).value(seed: number)
                switch tree.keys {
                case .integer: try transaction.put(value, for: number, in: tree)
                case .bytes: try transaction.put(value, for: key(number), in: tree)
                }
            }
        }
    }

    private static func delete(_ numbers: some Sequence<UInt64>, in tree: Tree, of store: Store) throws {
        try store.write { transaction in
            for number in numbers {
                let isGone =
                    switch tree.keys {
                    case .integer: try transaction.delete(number, in: tree)
                    case .bytes: try transaction.delete(key(number), in: tree)
                    }
                #expect(isGone)
            }
        }
    }

    private static func shuffled(_ count: Int, seed: UInt64) -> [UInt64] {
        var random = SplitMix(seed: seed)
        var numbers = (0..<count).map { UInt64($0) }
        for index in numbers.indices.dropLast() { numbers.swapAt(index, index + random.below(count - index)) }
        return numbers
    }

    @Test(arguments: [KeyKind.integer, .bytes]) func treesFilledInNoOrderHaveFullPages(keys: KeyKind) throws {
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        try FillTests.put(FillTests.shuffled(FillTests.count, seed: 1), in: tree, of: store)
        // Halves alone would be full to seven tenths.
        let shape = try TreeShape(tree, in: store)
        #expect(shape.fill > 0.93, "\(shape)")
        #expect(try store.verify().isClean)
        try store.close()
    }

    @Test func treesFilledInOrderAreFull() throws {
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try FillTests.put((0..<UInt64(FillTests.count)).map { $0 }, in: tree, of: store)
        #expect(try TreeShape(tree, in: store).fill > 0.98)
        try store.close()
    }

    /// Entries that go here and there leave no half-empty pages behind: at most three tenths more than a copy in the smallest form.
    @Test(arguments: [KeyKind.integer, .bytes], [true, false]) func treesEmptiedInNoOrderGiveBackPages(
        keys: KeyKind, ordered: Bool
    ) throws {
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        let numbers = FillTests.shuffled(FillTests.count, seed: 2)
        try FillTests.put(ordered ? numbers.sorted() : numbers, in: tree, of: store)
        for part in 0..<4 {
            let going = FillTests.shuffled(FillTests.count, seed: 3)[part * 2500..<(part + 1) * 2500]
            try FillTests.delete(going, in: tree, of: store)
            #expect(try store.verify().isClean)
        }
        let compact = try FillTests.store()
        let copy = try compact.write { try $0.createTree(named: "t", keys: keys) }
        try store.read { snapshot throws in
            try compact.write { transaction in
                var cursor = try snapshot.cursor(in: tree)
                var isThere = try cursor.first()
                while isThere {
                    switch keys {
                    case .integer: try transaction.put(cursor.value(), for: cursor.integerKey, in: copy)
                    case .bytes: try transaction.put(cursor.value(), for: cursor.key, in: copy)
                    }
                    isThere = try cursor.next()
                }
            }
        }
        let (pages, least) = try (TreeShape(tree, in: store).pages, TreeShape(copy, in: compact).pages)
        #expect(pages * 10 <= least * 13, "\(pages) pages where \(least) would do")
        try compact.close()
        try store.close()
    }

    /// A batch of scattered insertions copies the leaves it changes, and those only: sharing pays for small entries alone.
    @Test(arguments: [KeyKind.integer, .bytes]) func scatteredLargeRecordsCopyTheirOwnLeavesOnly(keys: KeyKind) throws {
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        let numbers = FillTests.shuffled(3000, seed: 4)
        let value = ValueShape(bytes: 1000).value(seed: 1)
        func put(_ numbers: some Sequence<UInt64>) throws {
            try store.write { transaction in
                for number in numbers {
                    switch keys {
                    case .integer: try transaction.put(value, for: number, in: tree)
                    case .bytes: try transaction.put(value, for: FillTests.key(number), in: tree)
                    }
                }
            }
        }
        try put(numbers.prefix(2950))
        try store.checkpoint()
        let before = store.stats.waitingPages
        try put(numbers.suffix(50))
        // Replaced pages wait until no checkpoint shows them: a leaf for each record, and few nodes above them.
        let copied = store.stats.waitingPages - before
        #expect(copied >= 40 && copied <= 50 + 25, "\(copied) pages were copied")
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// Transactions that change many leaves of a far larger tree keep them as full as small ones do: they have nothing to pack in the end.
    @Test(arguments: [KeyKind.integer, .bytes]) func batchesOfScatteredInsertionsKeepLeavesFull(keys: KeyKind) throws {
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        let numbers = FillTests.shuffled(26_000, seed: 5)
        try FillTests.put(Array(numbers.prefix(20_000)), in: tree, of: store, bytes: 400)
        for batch in 0..<20 {
            let part = numbers[(20_000 + batch * 300)..<(20_300 + batch * 300)]
            try FillTests.put(Array(part), in: tree, of: store, bytes: 400)
        }
        let shape = try TreeShape(tree, in: store)
        #expect(shape.fill > 0.7, "\(shape)")
        try store.close()
    }

    /// Entries of very different lengths under long keys, which neighbours cannot always share.
    @Test(arguments: 0..<6) func unequalEntriesComeAndGo(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try FillTests.store()
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        var map = SortedMap<ByteKey>()
        for _ in 0..<6 {
            let deletes = random.below(100)
            try store.write { transaction in
                for _ in 0..<800 {
                    let length = [3, 40, 300, 880][random.below(seed < 3 ? 2 : 4)]
                    let number = random.below(3000)
                    let key =
                        [UInt8](repeating: UInt8(number % 7), count: length) + Array("\(10_000 + number)".utf8)
                    if random.chance(deletes) {
                        let victim = map.count > 0 ? map.keys[random.below(map.count)].bytes : key
                        #expect(try transaction.delete(victim, in: tree) == map.delete(ByteKey(victim)))
                    } else {
                        let value = ValueShape(bytes: random.below(900)).value(seed: random.next())
                        try transaction.put(value, for: key, in: tree)
                        map.put(value, for: ByteKey(key))
                    }
                }
            }
            #expect(try store.read { try ModelTree(reading: tree, of: $0) } == .bytes(map))
            let report = try store.verify()
            #expect(report.isClean, "\(report.findings)")
        }
        try store.close()
    }
}
