import MakoTestSupport
import Testing

@testable import MakoStorage

/// Ranks, offsets and counts of ranges, with counts in the inner nodes and without.
@Suite struct SubtreeCountTests {
    private static let path = "d/store.mako"

    private static func store(_ disk: SimulatedDisk, cache: Int = 4 << 20, log: Int = 64 << 10) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.cacheBytes = cache
        options.logSegmentBytes = log
        return try Store(at: path, options: options)
    }

    /// As long as it makes a tree of a few thousand entries three levels high.
    private static let value = [UInt8](repeating: 7, count: 700)

    private static func bytes(_ key: UInt64) -> [UInt8] { ScriptRun.bytes(key, length: 12) }

    private static func put(_ key: UInt64, _ tree: Tree, _ transaction: borrowing WriteTransaction) throws {
        switch tree.keys {
        case .integer: try transaction.put(value, for: key, in: tree)
        case .bytes: try transaction.put(value, for: bytes(key), in: tree)
        }
    }

    private static func delete(_ key: UInt64, _ tree: Tree, _ transaction: borrowing WriteTransaction) throws -> Bool {
        switch tree.keys {
        case .integer: try transaction.delete(key, in: tree)
        case .bytes: try transaction.delete(bytes(key), in: tree)
        }
    }

    private static func rank(_ key: UInt64, _ tree: Tree, _ snapshot: Snapshot) throws -> UInt64 {
        switch tree.keys {
        case .integer: try snapshot.rank(of: key, in: tree)
        case .bytes: try snapshot.rank(of: bytes(key), in: tree)
        }
    }

    /// From a key up to below another.
    private static func count(_ first: UInt64, _ end: UInt64, _ tree: Tree, _ snapshot: Snapshot) throws -> UInt64 {
        switch tree.keys {
        case .integer: try first < end ? snapshot.count(of: first...end - 1, in: tree) : 0
        case .bytes: try snapshot.count(from: bytes(first), to: bytes(end), in: tree)
        }
    }

    private static func key(_ cursor: borrowing Cursor, _ tree: Tree) -> UInt64? {
        tree.keys == .integer
            ? cursor.integerKey : UInt64(String(decoding: cursor.key.drop { $0 == UInt8(ascii: "p") }, as: UTF8.self))
    }

    /// Compares all counts and positions of a tree with these keys, ascending.
    private static func check(_ keys: [UInt64], _ tree: Tree, _ snapshot: Snapshot, _ random: inout SplitMix) throws {
        let limit = (keys.last ?? 0) + 2
        for _ in 0..<8 {
            let (a, b) = (random.next() % limit, random.next() % limit)
            try #expect(rank(a, tree, snapshot) == UInt64(keys.partition { $0 >= a }))
            let inside = keys.partition { $0 >= b } - keys.partition { $0 >= a }
            try #expect(count(a, b, tree, snapshot) == UInt64(max(0, inside)))
            let place = random.below(keys.count + 2)
            var cursor = try snapshot.cursor(in: tree)
            try #expect(cursor.seek(offset: UInt64(place)) == (place < keys.count))
            guard place < keys.count else { continue }
            #expect(key(cursor, tree) == keys[place])
            try #expect(cursor.next() == (place + 1 < keys.count))
            try #expect(cursor.seek(offsetFromEnd: UInt64(place)))
            #expect(key(cursor, tree) == keys[keys.count - 1 - place])
            try #expect(cursor.previous() == (place + 1 < keys.count))
        }
    }

    private static let trees: [(KeyKind, TreeOptions)] = [
        (.integer, .subtreeCounts), (.bytes, .subtreeCounts), (.integer, []), (.bytes, []),
    ]

    @Test(arguments: trees) func everyChangeLeavesRightCounts(kind: KeyKind, options: TreeOptions) throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        var random = SplitMix(seed: UInt64(kind.rawValue) + UInt64(options.rawValue) * 10)
        let tree = try store.write { try $0.createTree(named: "t", keys: kind, options: options) }
        var keys: [UInt64] = []
        func insert(_ key: UInt64, _ transaction: borrowing WriteTransaction) throws {
            try Self.put(key, tree, transaction)
            let place = keys.partition { $0 >= key }
            if place == keys.count || keys[place] != key { keys.insert(key, at: place) }
        }
        for round in 0..<12 {
            let saved = keys
            let transaction = try store.beginWrite()
            for _ in 0..<150 { try insert(random.next() % 4000, transaction) }
            // Inside the transaction, between one change and the next.
            try Self.check(keys, tree, transaction.view, &random)
            for _ in 0..<20 {
                try insert(random.next() % 4000, transaction)
                let key = random.next() % 4000
                try #expect(Self.rank(key, tree, transaction.view) == UInt64(keys.partition { $0 >= key }))
            }
            // Buffered inserts that no read has applied yet are part of a savepoint, too.
            for _ in 0..<5 { try insert(random.next() % 4000, transaction) }
            let savepoint = transaction.savepoint()
            let kept = keys
            for key in keys.shuffled(using: &random).prefix(90) {
                try #expect(Self.delete(key, tree, transaction))
                keys.remove(at: keys.partition { $0 >= key })
            }
            try Self.check(keys, tree, transaction.view, &random)
            if round % 4 == 3 {
                try transaction.rollback(to: savepoint)
                keys = kept
                try Self.check(keys, tree, transaction.view, &random)
            }
            if round % 3 == 2 {
                let first = random.next() % 3000
                let end = first + random.next() % 900
                let gone =
                    kind == .integer
                    ? try transaction.deleteRange(first...end - 1 + (end == first ? 1 : 0), in: tree)
                    : try transaction.deleteRange(from: Self.bytes(first), to: Self.bytes(end), in: tree)
                let before = keys.count
                keys.removeAll { $0 >= first && $0 < (kind == .integer ? max(end, first + 1) : end) }
                #expect(gone == UInt64(before - keys.count))
            }
            if round % 5 == 4 {
                transaction.rollback()
                keys = saved
            } else {
                try transaction.commit()
            }
            let snapshot = try store.snapshot()
            try Self.check(keys, tree, snapshot, &random)
            #expect(try store.verify().findings == [])
        }
        let shape = try TreeShape(tree, in: store)
        #expect(shape.levels >= (options.isEmpty ? 2 : 3))
        try store.close()
    }

    @Test(arguments: [KeyKind.integer, .bytes]) func anOrderedLoadThatOutgrowsItsMemoryHasItsCounts(kind: KeyKind)
        throws
    {
        let store = try Self.store(SimulatedDisk(), cache: 256 << 10)
        let transaction = try store.beginWrite()
        let tree = try transaction.createTree(named: "t", keys: kind, options: .subtreeCounts)
        for key in 0..<4000 as Range<UInt64> { try Self.put(key, tree, transaction) }
        for key in stride(from: UInt64(3000), to: 0, by: -7) { try Self.put(key + 4000, tree, transaction) }
        try #expect(Self.rank(2500, tree, transaction.view) == 2500)
        for key in 0..<1000 as Range<UInt64> { try #expect(Self.delete(key, tree, transaction)) }
        try transaction.commit()
        try #expect(Self.rank(2500, tree, store.snapshot()) == 1500)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// Pages read from a file that is not in memory yet: as many as the tree has levels, not as many as it has leaves.
    @Test(arguments: [KeyKind.integer, .bytes]) func countsSpareTheLeaves(kind: KeyKind) throws {
        let disk = SimulatedDisk()
        func loads(_ options: TreeOptions, _ read: (Snapshot, Tree) throws -> Void) throws -> UInt64 {
            let store = try Self.store(disk)
            let tree = try #require(try store.snapshot().tree(named: "t\(options.rawValue)"))
            let before = store.stats.pageLoads
            try read(try store.snapshot(), tree)
            defer { try? store.close() }
            return store.stats.pageLoads - before
        }
        let store = try Self.store(disk)
        try store.write { transaction in
            for options in [TreeOptions.subtreeCounts, []] {
                let tree = try transaction.createTree(named: "t\(options.rawValue)", keys: kind, options: options)
                for key in 0..<3000 as Range<UInt64> { try Self.put(key, tree, transaction) }
            }
        }
        try store.close()
        func seek(_ snapshot: Snapshot, _ tree: Tree) throws {
            var cursor = try snapshot.cursor(in: tree)
            try #expect(cursor.seek(offset: 1500) && Self.key(cursor, tree) == 1500)
        }
        func rank(_ snapshot: Snapshot, _ tree: Tree) throws { try #expect(Self.rank(1500, tree, snapshot) == 1500) }
        func range(_ snapshot: Snapshot, _ tree: Tree) throws {
            try #expect(Self.count(100, 2900, tree, snapshot) == 2800)
        }
        for (read, most) in [(seek, 3), (rank, 3), (range, 5)] {
            try #expect(loads(.subtreeCounts, read) <= most)
            try #expect(loads([], read) > 100)
        }
    }

    @Test func theOptionStaysWithTheTree() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        func options(_ store: Store) throws -> [String: TreeOptions] {
            Dictionary(uniqueKeysWithValues: try store.snapshot().trees.map { ($0.name, $0.options) })
        }
        let expected: [String: TreeOptions] = ["counted": .subtreeCounts, "words": .subtreeCounts, "plain": []]
        try store.write { transaction in
            let first = try transaction.createTree(named: "first", keys: .integer, options: .subtreeCounts)
            let words = try transaction.createTree(named: "words", keys: .bytes, options: .subtreeCounts)
            _ = try transaction.createTree(named: "plain", keys: .bytes)
            for key in 0..<500 as Range<UInt64> {
                try Self.put(key, first, transaction)
                try Self.put(key, words, transaction)
            }
            try transaction.deleteAll(in: first)
            for key in 0..<500 as Range<UInt64> { try Self.put(key, first, transaction) }
            try transaction.renameTree(first, to: "counted")
        }
        #expect(try options(store) == expected)
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/backup.mako")
        // By the log, and by the directory.
        disk.endProcess()
        var again = try Self.store(disk)
        #expect(try options(again) == expected)
        try again.close()
        again = try Self.store(disk)
        #expect(try options(again) == expected)
        #expect(again.dataFile.header.features.contains(.subtreeCounts))
        try again.close()
        var own = StoreOptions()
        own.fileSystem = disk
        own.background = .manual
        _ = try Store.salvage(from: Self.path, to: "d/salvaged.mako", options: own)
        for path in ["d/copy.mako", "d/backup.mako", "d/salvaged.mako"] {
            let copy = try Store(at: path, options: own)
            #expect(try options(copy) == expected, "\(path)")
            #expect(try copy.verify().findings == [])
            try copy.close()
        }
        withExtendedLifetime(store) {}
    }

    @Test func theHeaderNamesCountsBeforeThereAreAny() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        _ = try store.write { try $0.createTree(named: "plain", keys: .integer) }
        #expect(store.dataFile.header.features == [])
        let transaction = try store.beginWrite()
        _ = try transaction.createTree(named: "t", keys: .integer, options: .subtreeCounts)
        for image in disk.crashImages() {
            let file = try image.open(Self.path, .readOnly)
            #expect(try DataFile.open(file).header.features == .subtreeCounts)
        }
        transaction.rollback()
        try store.close()
    }

    @Test func aReplayFindsOutCounts() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .bytes, options: .subtreeCounts)
            for key in 0..<500 as Range<UInt64> { try Self.put(key * 2, tree, transaction) }
            return tree
        }
        for key in 100..<110 as Range<UInt64> { try store.write { try Self.put(key * 2 + 1, tree, $0) } }
        var follower = StoreOptions()
        follower.fileSystem = disk
        follower.readOnly = true
        follower.background = .manual
        let reader = try Store(at: Self.path, options: follower)
        try #expect(Self.rank(400, tree, reader.snapshot()) == 210)
        try store.write { try Self.put(1, tree, $0) }
        try reader.refresh()
        try #expect(Self.rank(400, tree, reader.snapshot()) == 211)
        try reader.close()
        disk.endProcess()
        let again = try Self.store(disk)
        #expect(again.recovery.replayedCommits == 11)
        try #expect(Self.rank(400, tree, again.snapshot()) == 211)
        #expect(try again.verify().findings == [])
        try again.close()
        withExtendedLifetime(store) {}
    }

    /// A file that was made shorter by moving pages.
    @Test func movedPagesKeepTheirCounts() throws {
        let store = try Self.store(SimulatedDisk())
        let (first, second) = try store.write { transaction in
            let first = try transaction.createTree(named: "first", keys: .integer)
            let second = try transaction.createTree(named: "second", keys: .bytes, options: .subtreeCounts)
            for key in 0..<2000 as Range<UInt64> { try Self.put(key, first, transaction) }
            for key in 0..<2000 as Range<UInt64> { try Self.put(key, second, transaction) }
            return (first, second)
        }
        try store.write { try $0.dropTree(first) }
        let before = store.stats.filePages
        try store.shrink()
        #expect(store.stats.filePages < before)
        try #expect(Self.rank(1234, second, store.snapshot()) == 1234)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    /// Wrong counts under a valid checksum: `verify` reports them, and reading them gives a result or an error.
    @Test(arguments: [KeyKind.integer, .bytes], [0, 5, UInt64.max - 1, .max])
    func countsThatLieAreFound(kind: KeyKind, lie: UInt64) throws {
        let store = try Self.store(SimulatedDisk())
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: kind, options: .subtreeCounts)
            for key in 0..<2000 as Range<UInt64> { try Self.put(key, tree, transaction) }
            return tree
        }
        let state = store.newest.trees[0]
        let entry = Epochs.enter()
        switch kind {
        case .integer:
            IntegerLayout.setCount(
                try store.frames.resolve(state.root, type: .integerInner, level: state.levels - 1), at: 1, lie)
        case .bytes:
            ByteLayout.setCount(
                try store.frames.resolve(state.root, type: .byteInner, level: state.levels - 1), at: 1, lie)
        }
        Epochs.leave(entry)
        let findings = try store.verify().findings
        #expect(findings.count == 1 && findings.allSatisfy { $0.contains("entries are below child 1, not") })
        let snapshot = try store.snapshot()
        for place in stride(from: UInt64(0), to: 2000, by: 99) {
            var cursor = try snapshot.cursor(in: tree)
            do throws(StorageError) {
                _ = try cursor.seek(offset: place)
            } catch {
                guard case .corrupted = error else { throw error }
            }
            _ = try Self.rank(place, tree, snapshot)
        }
        do throws(StorageError) {
            let transaction = try store.beginWrite()
            try transaction.put([1], at: kind == .integer ? .integer(5) : .bytes(Self.bytes(5)), in: tree)
            try transaction.commit()
        } catch {
            guard case .corrupted = error, lie == .max else { throw error }
        }
    }
}

extension SubtreeCountTests {
    /// A node without counts in a tree that has them, or below one whose count is marked as unknown: changes beside it
    /// are refused.
    @Test(arguments: [KeyKind.integer, .bytes], [true, false])
    func nodesThatAreNoneOfTheirTreeAreRefused(kind: KeyKind, isCounted: Bool) throws {
        let store = try Self.store(SimulatedDisk())
        func position(_ key: UInt64) -> TreePosition { kind == .integer ? .integer(key) : .bytes(Self.bytes(key)) }
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(
                named: "t", keys: kind, options: isCounted ? .subtreeCounts : [])
            let value = [UInt8](repeating: 7, count: 900)
            for key in 0..<2000 as Range<UInt64> { try transaction.put(value, at: position(key), in: tree) }
            return tree
        }
        let state = store.newest.trees[0]
        #expect(state.levels == 3)
        func forget<Layout: NodeLayout>(_ layout: Layout.Type) throws {
            let entry = Epochs.enter()
            defer { Epochs.leave(entry) }
            let root = try store.frames.resolve(state.root, type: Layout.innerType, level: 2)
            let child = try store.frames.resolve(Layout.child(root, at: 1), type: Layout.innerType, level: 1)
            Layout.setCount(root, at: 1, SubtreeCounts.unknown)
            Layout.setCount(child, at: 0, SubtreeCounts.unknown)
        }
        if !isCounted {
            store.newest.trees[0].isCounted = true
        } else if kind == .integer {
            try forget(IntegerLayout.self)
        } else {
            try forget(ByteLayout.self)
        }
        let error = #expect(throws: StorageError.self) {
            try store.write { try $0.put([1], at: position(5), in: tree) }
        }
        guard case .corrupted(_, let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason == (isCounted ? "one of its counts is unknown" : "it has no counts, other than its tree"))
    }
}

extension WriteTransaction {
    fileprivate func put(_ value: [UInt8], at position: TreePosition, in tree: Tree) throws(StorageError) {
        switch position {
        case .integer(let key): try put(value, for: key, in: tree)
        case .bytes(let key): try put(value, for: key, in: tree)
        case .start: break
        }
    }
}

extension [UInt64] {
    /// The first place whose key passes, in ascending keys.
    fileprivate func partition(_ passes: (UInt64) -> Bool) -> Int { firstIndex(where: passes) ?? count }
}
