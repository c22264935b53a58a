import MakoStorage
import MakoTestSupport
import Testing

/// Every call on a snapshot that has ended throws why it ended, or answers what the snapshot showed: never as an empty store would.
@Suite struct EndedSnapshotTests {
    private struct Sample {
        var store: Store
        var clock: TestClock
        var numbers: Tree
        var words: Tree
    }

    private static func key(_ number: UInt64) -> [UInt8] { Array("word \(1000 + number)".utf8) }

    private func sample() throws -> Sample {
        let clock = TestClock()
        var options = StoreOptions()
        options.background = .manual
        options.clock = clock
        options.snapshotAgeLimit = .seconds(10)
        options.cacheBytes = 1 << 20
        let store = try Store.inMemory(options: options)
        let (numbers, words) = try store.write { tx in
            let numbers = try tx.createTree(named: "numbers", keys: .integer, options: .subtreeCounts)
            let words = try tx.createTree(named: "words", keys: .bytes)
            for key in 0..<1500 as Range<UInt64> {
                // Among them values on pages of their own.
                let size = key % 100 == 7 ? 20_000 : 60
                try tx.put(ValueShape(bytes: size).value(seed: key), for: key, in: numbers)
                try tx.put(ValueShape(bytes: size).value(seed: key), for: Self.key(key), in: words)
            }
            return (numbers, words)
        }
        return Sample(store: store, clock: clock, numbers: numbers, words: words)
    }

    /// The calls that a snapshot has, by name.
    private static let calls: [(name: String, call: @Sendable (Snapshot, Sample) throws -> Void)] = [
        ("count", { _ = try $0.count(of: $1.numbers) }),
        ("get", { _ = try $0.get(3, in: $1.numbers) }),
        ("get absent", { _ = try $0.get(.max, in: $1.numbers) }),
        ("get bytes", { _ = try $0.get(key(3), in: $1.words) }),
        ("get long", { _ = try $0.get(7, in: $1.numbers) }),
        ("withValue", { _ = try $0.withValue(of: 3, in: $1.numbers) { _ in } }),
        ("withValue bytes", { _ = try $0.withValue(of: key(7), in: $1.words) { _ in } }),
        ("withValues", { try $0.withValues(of: [1, 2], in: $1.numbers) { _, _ in } }),
        ("withValues bytes", { try $0.withValues(of: [key(1)], in: $1.words) { _, _ in } }),
        ("withSpan", { _ = try $0.withSpan(of: 3, in: $1.numbers) { _ in } }),
        ("withSpan bytes", { _ = try $0.withSpan(of: key(3), in: $1.words) { _ in } }),
        ("forEach", { try $0.forEach(in: $1.numbers, from: 0) { _, _ in true } }),
        ("forEach bytes", { try $0.forEach(in: $1.words, from: []) { _, _ in true } }),
        ("rank", { _ = try $0.rank(of: 900, in: $1.numbers) }),
        ("rank bytes", { _ = try $0.rank(of: key(900), in: $1.words) }),
        ("count of range", { _ = try $0.count(of: 5...900, in: $1.numbers) }),
        ("count of bytes", { _ = try $0.count(from: key(5), to: key(900), in: $1.words) }),
        ("blob", { _ = try $0.blob(of: 7, in: $1.numbers) }),
        ("blob bytes", { _ = try $0.blob(of: key(7), in: $1.words) }),
        (
            "first",
            {
                var cursor = try $0.cursor(in: $1.numbers)
                _ = try cursor.first()
            }
        ),
        (
            "last",
            {
                var cursor = try $0.cursor(in: $1.words)
                _ = try cursor.last()
            }
        ),
        (
            "seek",
            {
                var cursor = try $0.cursor(in: $1.numbers)
                _ = try cursor.seek(3)
            }
        ),
        (
            "seek bytes",
            {
                var cursor = try $0.cursor(in: $1.words)
                _ = try cursor.seek(key(3))
            }
        ),
        (
            "seek offset",
            {
                var cursor = try $0.cursor(in: $1.numbers)
                _ = try cursor.seek(offset: 3)
            }
        ),
        (
            "seek from end",
            {
                var cursor = try $0.cursor(in: $1.numbers)
                _ = try cursor.seek(offsetFromEnd: 3)
            }
        ),
        ("difference", { try $0.forEachDifference(from: $1.store.snapshot(), in: $1.numbers) { _ in true } }),
        ("difference to", { try $1.store.snapshot().forEachDifference(from: $0, in: $1.numbers) { _ in true } }),
        ("sharesWhole", { _ = try $0.sharesWhole($1.numbers, with: $1.store.snapshot()) }),
        ("estimatedCount", { _ = try $0.estimatedCount(from: key(1), to: nil, in: $1.words) }),
    ]

    /// All pages that only the snapshot had are used for something else.
    private func overwrite(_ sample: Sample) throws {
        for round in 0..<4 as Range<UInt64> {
            try sample.store.write { tx in
                for key in 0..<1500 as Range<UInt64> {
                    try tx.put(ValueShape(bytes: 90).value(seed: key &+ round), for: key, in: sample.numbers)
                    try tx.put(ValueShape(bytes: 90).value(seed: key &+ round), for: Self.key(key), in: sample.words)
                }
            }
            try sample.store.checkpoint()
        }
    }

    private enum End: CaseIterable { case tooOld, closed, transactionOver, transactionRolledBack }

    @Test(arguments: End.allCases) private func everyCallThrowsOrAnswersWhatWasShown(end: End) throws {
        let sample = try sample()
        let store = sample.store
        var old = try store.snapshot()
        for _ in 0..<4 { _ = try store.step() }
        if end == .transactionOver || end == .transactionRolledBack {
            struct Over: Error {}
            do {
                try store.write { tx in
                    _ = try tx.put([1], for: 1, in: sample.numbers)
                    old = tx.view
                    if end == .transactionRolledBack { throw Over() }
                }
            } catch is Over {}
        }
        let commit = old.commitNumber
        // Names read before.
        var names: [String] = []
        var blobs: [Blob] = []
        if end == .closed || end == .tooOld {
            blobs = [
                try #require(try old.blob(of: 7, in: sample.numbers)),
                try #require(try old.blob(of: 8, in: sample.numbers)),
            ]
            names = old.trees.map { "\($0)" }
        }
        var error = StorageError.closed(path: store.path)
        if end == .tooOld {
            error = .snapshotExpired(limitSeconds: 10)
            sample.clock.advance(by: .seconds(11))
            let limit = ContinuousClock.now.advanced(by: .seconds(120))
            repeat {
                for _ in 0..<4 { _ = try store.step() }
            } while store.stats.openSnapshots > 0 && ContinuousClock.now < limit
        }
        if end == .closed { old.close() }
        try store.write { tx in _ = try tx.createTree(named: "later", keys: .bytes) }
        try overwrite(sample)
        for (name, call) in Self.calls {
            #expect(throws: error, "\(name)") { try call(old, sample) }
        }
        // Names and numbers of trees are not read from pages: they are still those that were shown.
        #expect(old.commitNumber == commit)
        #expect(old.tree(named: "numbers") == sample.numbers && old.tree(named: "words") == sample.words)
        #expect(old.tree(named: "later") == nil && old.tree(named: "none") == nil)
        #expect(old.trees.map(\.name) == ["numbers", "words"] && old.trees.map(\.count) == [1500, 1500])
        if !names.isEmpty { #expect(old.trees.map { "\($0)" } == names) }
        for blob in blobs {
            // A value that was in its leaf is read from memory.
            if blob.count < 100 {
                let bytes = try blob.bytes(in: 0..<blob.count)
                #expect(bytes == ValueShape(bytes: 60).value(seed: 8))
            } else {
                #expect(throws: error) { _ = try blob.bytes(in: 0..<blob.count) }
                #expect(throws: error) { try blob.forEachPiece { _ in } }
            }
        }
        try store.close()
        #expect(old.tree(named: "numbers") == sample.numbers)
        #expect(throws: StorageError.self) { _ = try old.count(of: sample.numbers) }
    }
}
