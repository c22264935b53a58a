import MakoStorage
import Testing

/// Puts to random places of a large tree are applied in batches, without a visible difference.
@Suite struct WriteBufferTests {
    private static let rows = 3_000

    /// A store with an integer and a byte tree, each of three thousand entries.
    private func makeStore(_ configure: (inout StoreOptions) -> Void = { _ in }) throws -> (Store, Tree, Tree) {
        var options = StoreOptions()
        options.fileSystem = MemoryFileSystem()
        options.background = .manual
        configure(&options)
        let store = try Store(at: "batch.mako", options: options)
        let trees = try store.write { transaction in
            let numbers = try transaction.createTree(named: "numbers", keys: .integer)
            let texts = try transaction.createTree(named: "texts", keys: .bytes)
            for row in 0..<Self.rows {
                try transaction.put(value(row), for: UInt64(row * 2), in: numbers)
                try transaction.put(value(row), for: key(row * 2), in: texts)
            }
            return (numbers, texts)
        }
        return (store, trees.0, trees.1)
    }

    private func key(_ row: Int) -> [UInt8] { Array("row \(100_000 + row)".utf8) }
    private func value(_ row: Int) -> [UInt8] { Array("value \(row) ".utf8) + [UInt8](repeating: 1, count: 60) }
    /// Far apart from its neighbours.
    private func place(_ step: Int) -> Int { (step * 1_237) % Self.rows * 2 + 1 }

    /// Begins a transaction with puts that jump about, so that the latest are waiting.
    private func jump(_ transaction: borrowing WriteTransaction, _ numbers: Tree, _ texts: Tree, _ count: Int) throws {
        for step in 0..<count {
            try transaction.put([7], for: UInt64(place(step)), in: numbers)
            try transaction.put([8], for: key(place(step)), in: texts)
        }
    }

    @Test(arguments: [1, 5, 6, 20, 45, 333]) func everyReadSeesThem(_ count: Int) throws {
        let (store, numbers, texts) = try makeStore()
        let last = place(count - 1)
        let reads: [(String, (borrowing WriteTransaction) throws -> Bool)] = [
            ("get", { try $0.view.get(UInt64(last), in: numbers) == [7] }),
            ("get by bytes", { try $0.view.get(self.key(last), in: texts) == [8] }),
            ("withValue", { try $0.view.withValue(of: UInt64(last), in: numbers) { $0.count } == 1 }),
            (
                "withValues",
                {
                    var seen = 0
                    try $0.view.withValues(of: [UInt64(last)], in: numbers) { _, value in seen += value?.count ?? 0 }
                    return seen == 1
                }
            ),
            (
                "withValues by bytes",
                {
                    var seen = 0
                    try $0.view.withValues(of: [self.key(last)], in: texts) { _, value in seen += value?.count ?? 0 }
                    return seen == 1
                }
            ),
            ("count", { try $0.view.count(of: numbers) == UInt64(Self.rows + count) }),
            ("trees", { $0.view.trees.allSatisfy { $0.count == UInt64(Self.rows + count) } }),
            (
                "cursor",
                {
                    var cursor = try $0.view.cursor(in: texts)
                    return try cursor.seek(self.key(last)) && cursor.key == self.key(last)
                }
            ),
            (
                "forEach",
                {
                    var seen = 0
                    try $0.view.forEach(in: numbers) { _, value in
                        if value.count == 1 { seen += 1 }
                        return true
                    }
                    return seen == count
                }
            ),
            ("insert", { try !$0.insert([9], for: UInt64(last), in: numbers) }),
            ("delete", { try $0.delete(self.key(last), in: texts) }),
            ("delete of keys", { try $0.delete(keys: [UInt64(last), UInt64(last)], in: numbers) == 1 }),
            ("delete of keys of bytes", { try $0.delete(keys: [self.key(last)], in: texts) == 1 }),
            ("deleteRange", { try $0.deleteRange(UInt64(last)...UInt64(last), in: numbers) == 1 }),
        ]
        for (name, sees) in reads {
            let transaction = try store.beginWrite()
            try jump(transaction, numbers, texts, count)
            #expect(try sees(transaction), "\(name)")
            transaction.rollback()
        }
    }

    @Test func theLatestPutOfAKeyWins() throws {
        let (store, numbers, texts) = try makeStore()
        try store.write { transaction in
            for round in 0..<8 {
                for step in 0..<10 {
                    try transaction.put([UInt8(round)], for: UInt64(place(step)), in: numbers)
                    try transaction.put([UInt8(round)], for: key(place(step)), in: texts)
                }
            }
        }
        let snapshot = try store.snapshot()
        for step in 0..<10 {
            #expect(try snapshot.get(UInt64(place(step)), in: numbers) == [7])
            #expect(try snapshot.get(key(place(step)), in: texts) == [7])
        }
        #expect(try store.verify().isClean)
    }

    @Test func aRollbackToASavepointDropsBufferedInserts() throws {
        let (store, numbers, texts) = try makeStore()
        try store.write { transaction in
            try jump(transaction, numbers, texts, 50)
            let savepoint = transaction.savepoint()
            for step in 50..<75 { try transaction.put([9], for: UInt64(place(step)), in: numbers) }
            for step in 0..<25 { try transaction.put([9], for: UInt64(place(step)), in: numbers) }
            try transaction.rollback(to: savepoint)
        }
        let snapshot = try store.snapshot()
        #expect(try snapshot.count(of: numbers) == UInt64(Self.rows + 50))
        #expect(try (0..<50).allSatisfy { try snapshot.get(UInt64(place($0)), in: numbers) == [7] })
        #expect(try store.verify().isClean)
    }

    @Test func droppingATreeLeavesThePutsOfOthers() throws {
        let (store, numbers, texts) = try makeStore()
        try store.write { transaction in
            try jump(transaction, numbers, texts, 40)
            try transaction.dropTree(numbers)
            #expect(try transaction.view.get(key(place(39)), in: texts) == [8])
            try transaction.put([10], for: key(place(40)), in: texts)
        }
        #expect(try store.snapshot().count(of: texts) == UInt64(Self.rows + 41))
        #expect(try store.verify().isClean)
    }

    /// The files as they are, as after the death of the process.
    private func copy(_ files: MemoryFileSystem) throws -> MemoryFileSystem {
        let copies = MemoryFileSystem()
        for name in try files.list(directory: ".") {
            let source = try files.open(name, .readOnly)
            let target = try copies.open(name, .create)
            var bytes = [UInt8](repeating: 0, count: Int(try source.size()))
            let count = try bytes.withUnsafeMutableBytes { try source.read(into: $0, at: 0) }
            try bytes.withUnsafeBytes { try target.write($0, at: 0) }
            #expect(count == bytes.count)
        }
        return copies
    }

    @Test func theyAreInTheLog() throws {
        let files = MemoryFileSystem()
        var (store, numbers, texts) = try makeStore { $0.fileSystem = files }
        try store.checkpoint()
        try store.write { transaction in try jump(transaction, numbers, texts, 77) }
        var options = StoreOptions()
        options.fileSystem = try copy(files)
        options.background = .manual
        store = try Store(at: "batch.mako", options: options)
        #expect(store.recovery.replayedCommits == 1)
        #expect(try store.snapshot().count(of: numbers) == UInt64(Self.rows + 77))
        #expect(try store.snapshot().get(key(place(76)), in: texts) == [8])
    }

    @Test func aViewEndsWithItsTransaction() throws {
        let (store, numbers, texts) = try makeStore()
        let transaction = try store.beginWrite()
        let view = transaction.view
        try jump(transaction, numbers, texts, 60)
        transaction.rollback()
        #expect(throws: StorageError.self) { try view.get(1, in: numbers) }
        #expect(throws: StorageError.self) { try view.count(of: texts) }
        #expect(view.trees.map(\.name) == ["numbers", "texts"])
    }

    /// More than what an ascending load writes ahead of its commit, changed again afterwards.
    @Test func pagesWrittenAheadCanStillBeChanged() throws {
        let (store, numbers, _) = try makeStore { $0.cacheBytes = 64 << 20 }
        let wide = [UInt8](repeating: 3, count: 900)
        let rows = 20_000
        try store.write { transaction in
            for row in 0..<rows { try transaction.put(wide, for: UInt64(10_000 + row), in: numbers) }
            for row in stride(from: 0, to: rows, by: 997) {
                try transaction.put([5], for: UInt64(10_000 + row), in: numbers)
            }
        }
        #expect(try store.verify().isClean)
        let snapshot = try store.snapshot()
        for row in stride(from: 0, to: rows, by: 997) {
            #expect(try snapshot.get(UInt64(10_000 + row), in: numbers) == [5])
            #expect(try snapshot.get(UInt64(10_001 + row), in: numbers) == wide)
        }
    }
}
