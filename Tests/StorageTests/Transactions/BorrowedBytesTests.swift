import MakoStorage
import MakoTestSupport
import Testing

/// Changes get bytes that are borrowed from the pages which they change.
@Suite struct BorrowedBytesTests {
    private static let path = "d/s.mako"

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 256 << 10
        return options
    }

    private static func value(_ number: Int, bytes: Int = 100) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: number &* 37 &+ $0 &* 3) }
    }

    private static func key(_ number: Int) -> [UInt8] { Array("key \(100 + number)".utf8) }

    /// Runs `change` in a transaction that has filled both trees, and compares them with the model: in the transaction,
    /// after the commit, and after a crash, when only the log has the changes.
    private func check(
        rows: Int = 25, _ change: (borrowing WriteTransaction, Tree, Tree) throws -> Void,
        _ expected: (inout [Int: [UInt8]], inout [[UInt8]: [UInt8]]) -> Void
    ) throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try Store(at: Self.path, options: Self.options(disk))
        var integers: [Int: [UInt8]] = [:]
        var texts: [[UInt8]: [UInt8]] = [:]
        let trees = try store.write { tx in
            (try tx.createTree(named: "i", keys: .integer), try tx.createTree(named: "b", keys: .bytes))
        }
        try store.write { tx in
            for number in 0..<rows {
                integers[number] = Self.value(number)
                texts[Self.key(number)] = Self.value(number)
                try tx.put(Self.value(number), for: UInt64(number), in: trees.0)
                try tx.put(Self.value(number), for: Self.key(number), in: trees.1)
            }
        }
        expected(&integers, &texts)
        func compare(_ view: Snapshot, _ moment: String) throws {
            var (found, foundTexts): ([Int: [UInt8]], [[UInt8]: [UInt8]]) = ([:], [:])
            try view.forEach(in: trees.0) { key, value in
                found[Int(key)] = Array(value)
                return true
            }
            try view.forEach(in: trees.1, from: []) { key, value in
                foundTexts[Array(key)] = Array(value)
                return true
            }
            #expect(found == integers, "\(moment)")
            #expect(foundTexts == texts, "\(moment)")
        }
        try store.write { tx in
            // The transaction's own pages, which it changes in place.
            try tx.put(Self.value(0), for: 0, in: trees.0)
            try tx.put(Self.value(0), for: Self.key(0), in: trees.1)
            try change(tx, trees.0, trees.1)
            try compare(tx.view, "in the transaction")
        }
        try store.read { try compare($0, "after the commit") }
        #expect(try store.verify().isClean)
        let image = disk.crashState().image([])
        disk.cutPower()
        withExtendedLifetime(store) {}
        let again = try Store(at: Self.path, options: Self.options(SimulatedDisk(image)))
        #expect(again.recovery.replayedCommits > 0)
        try again.read { try compare($0, "after a crash") }
    }

    @Test(arguments: [0, 1, 2, 50, 99, 100]) func aPartOfAValueReplacesIt(from first: Int) throws {
        try check(
            { tx, integers, texts in
                try tx.withValue(of: 1, in: integers) {
                    try tx.put(UnsafeRawBufferPointer(rebasing: $0[first...]), for: 1, in: integers)
                }
                try tx.view.withValue(of: Self.key(1), in: texts) { value in
                    try Self.key(1).withUnsafeBytes {
                        try tx.put(UnsafeRawBufferPointer(rebasing: value[first...]), for: $0, in: texts)
                    }
                }
            },
            {
                $0[1]?.removeFirst(first); $1[Self.key(1)]?.removeFirst(first)
            })
    }

    /// Copies fill a leaf, so that it is compacted, rebalanced and split during the puts.
    @Test func valuesAreCopiedToOtherKeys() throws {
        let copies = 1...120
        try check(
            { tx, integers, texts in
                for copy in copies {
                    // Garbage, which the next put compacts.
                    try tx.put([1], for: UInt64(copy % 20), in: integers)
                    try tx.put([1], for: Self.key(copy % 20), in: texts)
                    try tx.withValue(of: 22, in: integers) { try tx.put($0, for: UInt64(1000 - copy), in: integers) }
                    try tx.view.withValue(of: Self.key(22), in: texts) { value in
                        try Self.key(400 - copy).withUnsafeBytes { try tx.put(value, for: $0, in: texts) }
                    }
                }
            },
            {
                for copy in copies {
                    ($0[copy % 20], $1[Self.key(copy % 20)]) = ([1], [1])
                    ($0[1000 - copy], $1[Self.key(400 - copy)]) = (Self.value(22), Self.value(22))
                }
            })
    }

    @Test func valuesAreKeysOfPutsAndDeletions() throws {
        try check(
            { tx, integers, texts in
                try tx.view.withValue(of: Self.key(3), in: texts) { bytes in
                    try tx.put(UnsafeRawBufferPointer(rebasing: bytes[90...]), for: bytes, in: texts)
                }
                for number in 10..<20 { try tx.put(Self.key(number), for: Self.key(number - 10), in: texts) }
                for number in 0..<5 {
                    let isGone = try tx.view.withValue(of: Self.key(number), in: texts) { try tx.delete($0, in: texts) }
                    #expect(isGone == true)
                }
                let gone = try tx.view.withValue(of: Self.key(5), in: texts) { try tx.delete(keys: [$0], in: texts) }
                #expect(gone == 1)
                let cut = try tx.view.withValue(of: Self.key(9), in: texts) {
                    try tx.deleteRange(from: $0, to: nil, in: texts)
                }
                #expect(cut == 7)
            },
            { _, texts in
                for number in 0..<10 { texts[Self.key(number)] = Self.key(number + 10) }
                for number in 10...15 { texts[Self.key(number)] = nil }
                // The key that was a value sorts behind them, so that the last range has it, too.
                for number in 19...24 { texts[Self.key(number)] = nil }
            })
    }

    @Test func valuesAreInserted() throws {
        try check(
            { tx, integers, _ in
                let isNew = try tx.withValue(of: 7, in: integers) { value in
                    let isTaken = try !tx.insert(value, for: 8, in: integers)
                    return try isTaken && tx.insert(value, for: 70, in: integers)
                }
                #expect(isNew == true)
            }, { integers, _ in integers[70] = Self.value(7) })
    }

    /// A bulk load ends its transaction's log, so only the tree is compared.
    @Test func aBulkLoadGetsAValueOfItsTree() throws {
        let store = try Store.inMemory()
        try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for number in 0..<36 { try tx.put(Self.value(number), for: UInt64(number), in: tree) }
            try tx.withValue(of: 35, in: tree) { value in
                _ = try tx.bulkLoad(into: tree) { try $0.append(value, for: 36) }
            }
            #expect(try tx.view.get(36, in: tree) == Self.value(35))
        }
    }

    /// Packing waits until the scan has ended: it moves entries of trees that the caller does not change.
    @Test func aScanMeetsEachEntryWhileAnotherTreeGrowsBeyondTheCache() throws {
        var options = Self.options(SimulatedDisk(seed: 2))
        options.cacheBytes = 4 << 20
        let store = try Store(at: Self.path, options: options)
        try store.write { tx in
            let (scanned, grown) = (
                try tx.createTree(named: "a", keys: .integer), try tx.createTree(named: "b", keys: .integer)
            )
            // In no order, so that leaves are to be packed.
            let keys = (0..<12_000 as Range<UInt64>).map { $0 * 1_237 % 12_001 }
            for key in keys { try tx.put(Self.value(Int(key), bytes: 60), for: key, in: scanned) }
            var met: [UInt64] = []
            try tx.view.forEach(in: scanned) { key, value in
                met.append(key)
                #expect(value.count == 60)
                try tx.put([UInt8](repeating: 1, count: 900), for: key, in: grown)
                return true
            }
            #expect(met == keys.sorted())
        }
        #expect(try store.verify().isClean)
    }
}
