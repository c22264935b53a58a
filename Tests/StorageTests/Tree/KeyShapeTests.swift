import MakoStorage
import MakoTestSupport
import Testing

/// Byte keys of every length, with as much in common as keys can have: nodes are divided wherever both halves fit.
@Suite struct KeyShapeTests {
    private enum Order: CaseIterable { case ascending, descending, scattered, descendingInGroups }

    /// Each group of keys has its own long beginning, so that a node between two groups has nothing in common with either.
    @Test(arguments: [0, 40, 300, 850], Order.allCases) private func longKeysComeInAnyOrder(prefix: Int, order: Order)
        throws
    {
        for seed in UInt64(0)..<(TestEffort.isFull ? 20 : 2) {
            var random = SplitMix(seed: seed)
            var options = StoreOptions()
            options.background = .manual
            let store = try Store.inMemory(options: options)
            let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
            var keys = (0..<300).map { number in
                let digits = Array(String(10_000 + number * 7).utf8)
                let rest =
                    seed % 2 == 0 ? Limits.keyBytes - prefix - digits.count : random.below(Limits.keyBytes - prefix - 5)
                let common = [UInt8](repeating: UInt8(0x70 + number / 100), count: prefix)
                return common + digits + [UInt8](repeating: 0x7a, count: rest)
            }
            let sorted = keys
            switch order {
            case .ascending: break
            case .descending: keys.reverse()
            case .scattered: keys.shuffle(using: &random)
            case .descendingInGroups: keys = (0..<3).flatMap { keys[$0 * 100..<$0 * 100 + 100].reversed() }
            }
            var model = ModelTree(.bytes)
            try store.write { tx in
                for (number, key) in keys.enumerated() {
                    let value = ValueShape(bytes: random.below(200)).value(seed: UInt64(number))
                    model.put(value, for: .bytes(key))
                    try tx.put(value, for: key, in: tree)
                }
            }
            #expect(try store.read { try ModelStore(reading: $0) }.trees["t"] == model)
            #expect(try store.verify().isClean)
            try store.write { tx in
                for (number, key) in sorted.enumerated() where number % 3 != 0 {
                    _ = model.delete(.bytes(key))
                    _ = try tx.delete(key, in: tree)
                }
            }
            #expect(try store.read { try ModelStore(reading: $0) }.trees["t"] == model)
            #expect(try store.verify().isClean)
            try store.close()
        }
    }

    /// A scan joins the common prefix of a node with the rest of each key.
    @Test func scansShowWholeKeys() throws {
        let store = try Store.inMemory()
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        var random = SplitMix(seed: 5)
        var keys = Set<[UInt8]>()
        for length in 0..<120 {
            for common in [0, 3, 60] {
                keys.insert(
                    [UInt8](repeating: 9, count: common)
                        + (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            }
        }
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
        try store.write { tx in for key in keys { try tx.put([1, 2], for: key, in: tree) } }
        try store.read { view in
            var found: [[UInt8]] = []
            try view.forEach(in: tree, from: []) { key, _ in
                found.append([UInt8](key))
                return true
            }
            #expect(found == sorted)
        }
        try store.close()
    }
}
