import MakoStorage
import MakoTestSupport
import Testing

/// The estimated number of entries in a range, without a scan.
@Suite struct TreeShareTests {
    /// Long keys, so that the tree has three levels.
    private static func key(_ number: Int) -> [UInt8] {
        Array("\(1_000_000 + number)".utf8) + Array(repeating: UInt8(ascii: "k"), count: 90)
    }

    private static func tree(_ count: Int, ascending: Bool) throws -> (Store, Tree) {
        let store = try Store.inMemory()
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .bytes)
            for number in 0..<count {
                // A stride that reaches each number once.
                try tx.put([1], for: key(ascending ? number : number * 7919 % count), in: tree)
            }
            return tree
        }
        return (store, tree)
    }

    @Test(arguments: [true, false], [0, 1, 30, 700, 20_000])
    func rangesAreEstimated(ascending: Bool, count: Int) throws {
        let (store, tree) = try Self.tree(count, ascending: ascending)
        let view = try store.snapshot()
        #expect(try view.estimatedCount(from: [], to: nil, in: tree) == Double(count))
        for (low, high) in [
            (0, 1), (0, count), (count / 3, count / 2), (count / 10, count), (count - 9, count), (5, 300),
        ]
        where low >= 0 && high <= count && low <= high {
            let exact = Double(high - low)
            let found = try view.estimatedCount(from: Self.key(low), to: Self.key(high), in: tree)
            #expect(abs(found - exact) <= 0.2 * exact + 60, "\(low)..<\(high): \(found)")
        }
        let behind = try view.estimatedCount(from: Self.key(count + 5), to: nil, in: tree)
        #expect(behind < 1)
    }

    @Test(arguments: [true, false])
    func entriesAreFoundByTheirShare(ascending: Bool) throws {
        let (store, tree) = try Self.tree(20_000, ascending: ascending)
        let view = try store.snapshot()
        var cursor = try view.cursor(in: tree)
        for share in [0, 0.1, 0.25, 0.5, 0.75, 0.99, 1] {
            #expect(try cursor.seek(share: share))
            let rank = Double(try view.rank(of: cursor.key, in: tree))
            #expect(abs(rank - share * 20_000) < 2500, "\(share): \(rank)")
        }
        #expect(try cursor.seek(share: 0) && cursor.key == Self.key(0))
        #expect(try cursor.seek(share: 1) && cursor.key == Self.key(19_999))
    }

    @Test func anEmptyTreeHasNoEntries() throws {
        let (store, tree) = try Self.tree(0, ascending: true)
        var cursor = try store.snapshot().cursor(in: tree)
        #expect(try !cursor.seek(share: 0.5))
    }

    /// A transaction's own view, before its commit.
    @Test func inATransaction() throws {
        let (store, tree) = try Self.tree(5000, ascending: true)
        try store.write { tx in
            for number in 5000..<10_000 { try tx.put([1], for: Self.key(number), in: tree) }
            let found = try tx.view.estimatedCount(from: Self.key(5000), to: nil, in: tree)
            #expect(abs(found - 5000) < 1000, "\(found)")
        }
    }

    @Test func entriesOfIntegerTreesAreFoundByTheirShare() throws {
        let store = try Store.inMemory()
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<20_000 as Range<UInt64> { try tx.put([1, 2, 3], for: key, in: tree) }
            return tree
        }
        var cursor = try store.snapshot().cursor(in: tree)
        for share in [-1, 0, 0.25, 0.5, 0.99, 1, 2] {
            #expect(try cursor.seek(share: share))
            let wanted = min(max(0, share), 1) * 20_000
            #expect(abs(Double(cursor.integerKey) - wanted) < 2500, "\(share): \(cursor.integerKey)")
        }
        #expect(throws: StorageError.self) {
            _ = try [UInt8]([1]).withUnsafeBytes { try cursor.seek(notBehind: $0) }
        }
    }

    /// The last leaf becomes empty, because what the leaf before it stores once for all of its keys has no room in one
    /// that replaces both. The last entry is then in the leaf before, which is not in memory.
    @Test func aSeekThatFailsLeavesTheCursorWhereItWas() throws {
        func key(_ number: Int) -> [UInt8] { [UInt8](repeating: 7, count: 890) + [UInt8(number)] }
        let files = MeddledDisk(SimulatedDisk())
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        let first = try Store(at: "d/s.mako", options: options)
        try first.write { tx in
            let tree = try tx.createTree(named: "t", keys: .bytes)
            let value = [UInt8](repeating: 1, count: 60)
            for number in 0..<200 { try tx.put(value, for: key(number * 77 % 200), in: tree) }
        }
        try first.close()
        var failures = 0
        for deleted in 0..<40 {
            let writer = try Store(at: "d/s.mako", options: options)
            try writer.write { tx in
                let tree = try #require(tx.view.tree(named: "t"))
                _ = try tx.delete(key(199 - deleted), in: tree)
            }
            try writer.close()
            for fault in 0..<10 {
                let store = try Store(at: "d/s.mako", options: options)
                let view = try store.snapshot()
                var cursor = try view.cursor(in: #require(view.tree(named: "t")))
                #expect(try cursor.first())
                let reads = Guarded(0)
                files.meddle { (call, path, _) throws(FileError) in
                    guard call == .read else { return }
                    let earlier = reads.withLock { count -> Int in
                        defer { count += 1 }
                        return count
                    }
                    if earlier >= fault { throw FileError(operation: "read", path: path, code: 5) }
                }
                var hasFailed = false
                do { _ = try cursor.seek(share: 1) } catch { hasFailed = true }
                files.meddle(nil)
                if hasFailed {
                    failures += 1
                    #expect(cursor.key == key(0), "\(deleted) entries deleted, read \(fault)")
                    #expect(try cursor.next() && cursor.key == key(1))
                }
                view.close()
                try store.close()
                if !hasFailed { break }
            }
        }
        #expect(failures > 0)
    }

    /// A tree whose entries were deleted one by one.
    @Test(arguments: [0, 1, 5, 40]) func aTreeThatWasEmptiedHasNoShares(count: Int) throws {
        let (store, tree) = try Self.tree(count, ascending: true)
        try store.write { tx in for number in 0..<count { _ = try tx.delete(Self.key(number), in: tree) } }
        let view = try store.snapshot()
        var cursor = try view.cursor(in: tree)
        #expect(try !cursor.seek(share: 0.5))
        #expect(try view.estimatedCount(from: Self.key(0), to: Self.key(1), in: tree) == 0)
        #expect(try view.estimatedCount(from: [], to: Self.key(9), in: tree) == 0)
    }
}
