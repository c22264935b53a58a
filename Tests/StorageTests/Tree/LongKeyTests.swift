import MakoStorage
import MakoTestSupport
import Testing

/// Keys so long that a node has three or four children: those that are alike lie in groups, and between groups nodes have nothing in common.
@Suite struct LongKeyTests {
    private static func key(_ number: Int, _ length: Int) -> [UInt8] {
        [UInt8(number / 37 + 1)] + [UInt8](repeating: UInt8(number / 37), count: length) + [UInt8(number % 37)]
    }

    @Test(arguments: 0..<(TestEffort.isFull ? 60 : 10)) func rangesOfLongKeysGo(seed: Int) throws {
        var options = StoreOptions()
        options.background = .manual
        options.cacheBytes = 8 << 20
        let store = try Store.inMemory(options: options)
        var random = SplitMix(seed: UInt64(seed))
        let length = [850, 890, 600, 897][seed % 4]
        var expected = ModelTree(.bytes)
        let tree = try store.write {
            try $0.createTree(named: "t", keys: .bytes, options: seed % 3 == 0 ? .subtreeCounts : [])
        }
        for round in 0..<12 {
            try store.write { transaction in
                for _ in 0..<(round == 0 ? 900 : random.below(300)) {
                    let key = Self.key(random.below(1200), length)
                    let value = ValueShape(bytes: random.below(40)).value(seed: random.next())
                    try transaction.put(value, for: key, in: tree)
                    expected.put(value, for: .bytes(key))
                }
                for _ in 0..<1 + random.below(8) {
                    let first = random.below(1200)
                    let end = min(1200, first + 1 + random.below(random.chance(30) ? 900 : 60))
                    let removed = try transaction.deleteRange(
                        from: Self.key(first, length), to: end == 1200 ? nil : Self.key(end, length), in: tree)
                    let gone = expected.entries.map(\.0).filter {
                        guard case .bytes(let key) = $0 else { return false }
                        return !key.lexicographicallyPrecedes(Self.key(first, length))
                            && (end == 1200 || key.lexicographicallyPrecedes(Self.key(end, length)))
                    }
                    for key in gone { _ = expected.delete(key) }
                    #expect(removed == UInt64(gone.count), "round \(round)")
                    var cursor = try transaction.view.cursor(in: tree)
                    for share in [0, 0.3, 0.5, 0.8, 1] {
                        #expect(try cursor.seek(share: share) == !expected.entries.isEmpty, "\(share)")
                    }
                    _ = try transaction.view.estimatedCount(from: Self.key(first, length), to: nil, in: tree)
                }
            }
            let found = try store.read { try ModelStore(reading: $0) }
            #expect(found.trees["t"] == expected, "round \(round)")
            #expect(try store.verify().findings == [], "round \(round)")
        }
    }
}
