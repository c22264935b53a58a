import MakoStorage
import MakoTestSupport
import Testing

/// On a slow device the next pages of a scan or a batch of reads are prefetched.
@Suite struct ReadAheadTests {
    private static let keys = 10_000

    /// A database just opened, of whose trees nothing is in memory, on a disk that has become slow.
    private struct Sample {
        let disk = SlowDisk()
        let store: Store
        let numbers: Tree
        let texts: Tree

        init() throws {
            var options = StoreOptions()
            options.fileSystem = disk
            options.background = .manual
            var random = SplitMix(seed: 5)
            do {
                let store = try Store(at: "d/slow.mako", options: options)
                let (numbers, texts) = try store.write {
                    (try $0.createTree(named: "n", keys: .integer), try $0.createTree(named: "t", keys: .bytes))
                }
                // In no order, so that neighbouring leaves lie apart.
                for _ in 0..<20 {
                    try store.write { tx in
                        for _ in 0..<ReadAheadTests.keys / 20 {
                            let key = UInt64(random.below(1 << 30))
                            try tx.put(ValueShape(bytes: 60).value(seed: key), for: key, in: numbers)
                            try tx.put(ValueShape(bytes: 40).value(seed: key), for: Array("\(key)".utf8), in: texts)
                        }
                    }
                }
                try store.close()
            }
            store = try Store(at: "d/slow.mako", options: options)
            let view = try store.snapshot()
            numbers = try #require(view.tree(named: "n"))
            texts = try #require(view.tree(named: "t"))
            view.close()
            disk.becomeSlow()
        }

        /// Few of the pages that are read are waited for, each is prefetched once, and nearly none in vain.
        func expectFewWaits(_ sourceLocation: SourceLocation = #_sourceLocation) {
            let counts = disk.counts
            #expect(counts.read > 100, sourceLocation: sourceLocation)
            #expect(counts.waited < counts.read / 5, "\(counts)", sourceLocation: sourceLocation)
            #expect(counts.requested <= counts.read, "\(counts)", sourceLocation: sourceLocation)
            #expect(disk.unused <= 2, "\(counts)", sourceLocation: sourceLocation)
        }
    }

    @Test func aScanOfNumbersWaitsForFewPages() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        var last: UInt64?
        try view.forEach(in: sample.numbers) { key, _ in
            if let last { #expect(last < key) }
            last = key
            return true
        }
        sample.expectFewWaits()
    }

    @Test func aScanOfTextsWaitsForFewPages() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        try view.forEach(in: sample.texts, from: []) { _, _ in true }
        sample.expectFewWaits()
    }

    @Test(arguments: [true, false])
    func aCursorWaitsForFewPages(forward: Bool) throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        var cursor = try view.cursor(in: sample.numbers)
        var more = forward ? try cursor.first() : try cursor.last()
        var count: UInt64 = 0
        while more {
            count += 1
            more = forward ? try cursor.next() : try cursor.previous()
        }
        #expect(count == (try view.count(of: sample.numbers)))
        sample.expectFewWaits()
    }

    @Test func aCursorThatTurnsRoundPrefetchesBackwards() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        var cursor = try view.cursor(in: sample.numbers)
        var more = try cursor.seek(1 << 29)
        for _ in 0..<1000 where more { more = try cursor.next() }
        let there = sample.disk.counts
        while more { more = try cursor.previous() }
        let back = sample.disk.counts
        #expect(back.read > there.read + 50)
        #expect(back.waited - there.waited < (back.read - there.read) / 5, "\(there) \(back)")
    }

    @Test func aGroupOfReadsWaitsForFewPages() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        var random = SplitMix(seed: 77)
        for _ in 0..<40 {
            let keys = (0..<32).map { _ in UInt64(random.below(1 << 30)) }
            try view.withValues(of: keys, in: sample.numbers) { _, _ in }
        }
        let counts = sample.disk.counts
        #expect(counts.read > 100)
        #expect(counts.waited < counts.read / 5, "\(counts)")
        #expect(sample.disk.unused == 0)
    }

    @Test func aShortScanPrefetchesLittle() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        var entries = 0
        try view.forEach(in: sample.numbers, from: 1 << 28) { _, _ in
            entries += 1
            return entries < 100
        }
        #expect(sample.disk.counts.requested <= 16, "\(sample.disk.counts)")
    }

    @Test func pagesInMemoryAreNotPrefetched() throws {
        let sample = try Sample()
        let view = try sample.store.snapshot()
        defer { view.close() }
        try view.forEach(in: sample.numbers) { _, _ in true }
        let first = sample.disk.counts
        #expect(first.requested > 50)
        try view.forEach(in: sample.numbers) { _, _ in true }
        #expect(sample.disk.counts.requested == first.requested)
        #expect(sample.disk.counts.read == first.read)
    }
}
