import MakoStorage
import MakoTestSupport
import Testing

/// The difference between two snapshots of a tree, compared with both read as a whole.
@Suite struct TreeDifferenceTests {
    private static let path = "d/s.mako"

    private static func options(_ disk: SimulatedDisk, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.readOnly = readOnly
        options.logSegmentBytes = 256 << 10
        options.cacheBytes = 1 << 20
        return options
    }

    private static func content(_ snapshot: Snapshot, _ tree: Tree) throws -> [EntryDifference.Key: [UInt8]] {
        var content: [EntryDifference.Key: [UInt8]] = [:]
        var cursor = try snapshot.cursor(in: tree)
        var isThere = try cursor.first()
        while isThere {
            content[tree.keys == .integer ? .integer(cursor.integerKey) : .bytes(cursor.key)] = try cursor.value()
            isThere = try cursor.next()
        }
        return content
    }

    private static func precedes(_ a: EntryDifference.Key, _ b: EntryDifference.Key) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }

    private static func expectDifferences(_ earlier: Snapshot, _ later: Snapshot, _ tree: Tree) throws {
        var found: [EntryDifference] = []
        try later.forEachDifference(from: earlier, in: tree) {
            found.append($0)
            return true
        }
        let (old, new) = (try content(earlier, tree), try content(later, tree))
        let expected = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted(by: precedes)
        #expect(found.map(\.key) == expected)
        #expect(found.allSatisfy { $0.old == old[$0.key] && $0.new == new[$0.key] })
        if try later.sharesWhole(tree, with: earlier) { #expect(expected == []) }
    }

    /// Puts and removes some entries, now and then many, and values with pages of their own.
    private static func change(_ store: Store, _ tree: Tree, _ random: inout SplitMix) throws {
        let count = [0, 1, 3, 40, 1500][random.below(5)]
        let isEmptied = random.chance(5)
        try store.write { transaction in
            if isEmptied { try transaction.deleteAll(in: tree) }
            for _ in 0..<count {
                let number = UInt64(random.below(3000))
                let bytes = random.chance(2) ? 9000 : random.below(120)
                let value = random.chance(30) ? nil : [UInt8](repeating: UInt8(random.below(3)), count: bytes)
                switch tree.keys {
                case .integer:
                    if let value { try transaction.put(value, for: number, in: tree) }
                    if value == nil { _ = try transaction.delete(number, in: tree) }
                case .bytes:
                    let key = Array("user/\(number)".utf8)
                    if let value { try transaction.put(value, for: key, in: tree) }
                    if value == nil { _ = try transaction.delete(key, in: tree) }
                }
            }
        }
    }

    @Test(arguments: [KeyKind.integer, .bytes], 0..<4) func whatChangedIsFound(keys: KeyKind, seed: UInt64) throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: keys) }
        let other = try store.write { try $0.createTree(named: "o", keys: keys) }
        let reader = try Store(at: Self.path, options: Self.options(disk, readOnly: true))
        var random = SplitMix(seed: seed)
        var snapshots = [try store.snapshot()]
        var seen = try reader.snapshot()
        for round in 0..<12 {
            try Self.change(store, round % 5 == 4 ? other : tree, &random)
            // After two of them the reader reopens the file.
            if random.chance(30) { for _ in 0..<2 { try store.checkpoint() } }
            let now = try store.snapshot()
            for earlier in snapshots { try Self.expectDifferences(earlier, now, tree) }
            snapshots = Array((snapshots + [now]).suffix(3))
            try reader.refresh()
            let later = try reader.snapshot()
            try Self.expectDifferences(seen, later, tree)
            seen = later
        }
        try reader.close()
        try store.close()
    }

    @Test func pagesThatBothHaveAreNotRead() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            for key in 0..<8000 { try transaction.put([UInt8](repeating: 1, count: 200), for: UInt64(key), in: tree) }
            return tree
        }
        try store.checkpoint()
        let before = try store.snapshot()
        try store.write { try $0.put([2], for: 4000, in: tree) }
        let after = try store.snapshot()
        let read = store.stats.pageLoads
        var found = 0
        try after.forEachDifference(from: before, in: tree) { _ in
            found += 1
            return true
        }
        #expect(found == 1)
        #expect(store.stats.pageLoads - read < 20, "\(store.stats.pageLoads - read)")
        #expect(try !after.sharesWhole(tree, with: before))
        try store.close()
    }

    @Test func aClosureThatHasEnoughIsNotCalledAgain() throws {
        let store = try Store(at: Self.path, options: Self.options(SimulatedDisk()))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let before = try store.snapshot()
        try store.write { for key in 0..<10 as Range<UInt64> { try $0.put([1], for: key, in: tree) } }
        var keys: [EntryDifference.Key] = []
        try store.snapshot().forEachDifference(from: before, in: tree) {
            keys.append($0.key)
            return keys.count < 3
        }
        #expect(keys == [.integer(0), .integer(1), .integer(2)])
        before.close()
        #expect(throws: StorageError.closed(path: Self.path)) {
            try store.snapshot().forEachDifference(from: before, in: tree) { _ in true }
        }
        try store.close()
    }
}
