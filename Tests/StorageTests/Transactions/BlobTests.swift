import MakoTestSupport
import Testing

@testable import MakoStorage

/// Values handed over and read in pieces, and large ones that the log names instead of holding them.
@Suite struct BlobTests {
    private static let path = "d/s.mako"

    private func options(_ disk: any FileSystem, segment: Int = 64 << 10) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = segment
        options.cacheBytes = 1 << 20
        return options
    }

    private func noise(_ bytes: Int, seed: Int) -> [UInt8] { ValueShape(bytes: bytes).value(seed: UInt64(seed)) }

    private func stream(
        _ value: [UInt8], _ key: UInt64, _ tree: Tree, _ tx: borrowing WriteTransaction, piece: Int = 5000
    )
        throws
    {
        try tx.putBlob(for: key, in: tree) { blob in
            for start in stride(from: 0, to: value.count, by: piece) {
                try blob.append(Array(value[start..<min(start + piece, value.count)]))
            }
            #expect(blob.count == UInt64(value.count))
        }
    }

    /// From nothing over one page and one run to many runs; on both sides of each limit.
    @Test func valuesOfEveryLengthComeBack() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let named = store.pipeline.namedValueBytes
        let page = Overflow.payloadBytes
        let lengths = [
            0, 1, 100, 1013, 1014, page, named - 1, named, named + 1, 4 * page, 10 * page + 1, 60 * page, 700_000,
        ]
        for (key, length) in lengths.enumerated() {
            try store.write { try stream(noise(length, seed: key), UInt64(key), tree, $0) }
        }
        for round in 0..<2 {
            let store = round == 0 ? store : try Store(at: Self.path, options: options(disk))
            let snapshot = try store.snapshot()
            for (key, length) in lengths.enumerated() {
                let value = noise(length, seed: key)
                let blob = try #require(try snapshot.blob(of: UInt64(key), in: tree))
                #expect(blob.count == UInt64(length))
                try #expect(snapshot.get(UInt64(key), in: tree) == value)
                var whole: [UInt8] = []
                try blob.forEachPiece { whole += $0 }
                #expect(whole == value)
                for offset in [0, 1, page - 1, page, named, length / 2, length - 1, length]
                where (0...length).contains(offset) {
                    let wanted = Array(value.dropFirst(offset).prefix(5000))
                    try #expect(blob.bytes(in: UInt64(offset)..<UInt64(offset + wanted.count)) == wanted)
                }
                // A read beyond the end is an error.
                for range in [UInt64(length)..<UInt64(length + 1), 0..<UInt64(length + 1), 1 << 40..<1 << 41] {
                    #expect(throws: StorageError.self) { try blob.bytes(in: range) }
                }
            }
            try #expect(snapshot.blob(of: 999, in: tree) == nil)
            try #expect(store.verify().findings == [])
            snapshot.close()
            try store.close()
        }
    }

    /// The log gets a note of a large value, however it was put; the value's bytes are written once.
    @Test func largeValuesAreNotLogged() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk, segment: 16 << 20))
        let tree = try store.write { try $0.createTree(named: "t", keys: .bytes) }
        let before = store.stats.logBytes
        try store.write { tx in
            try tx.put(noise(3 << 20, seed: 1), for: [1], in: tree)
            try tx.putBlob(for: [2], in: tree) { blob in
                for seed in 0..<12 { try blob.append(noise(1 << 20, seed: seed)) }
            }
            try #expect(tx.insert(noise(2 << 20, seed: 3), for: [3], in: tree))
            try #expect(!tx.insert(noise(2 << 20, seed: 4), for: [3], in: tree))
        }
        #expect(store.stats.logBytes - before < 1000)
        #expect(disk.contents(of: Self.path)?.count ?? 0 >= 17 << 20)
        try #expect(store.read { try $0.get([3], in: tree) } == noise(2 << 20, seed: 3))
        #expect(store.stats.cacheUsedBytes < 1 << 20)
        disk.restart(on: disk.crashState().image([]))
        let again = try Store(at: Self.path, options: options(disk, segment: 16 << 20))
        #expect(again.recovery.replayedCommits == 2)
        let blob = try #require(try again.snapshot().blob(of: [2], in: tree))
        #expect(blob.count == 12 << 20)
        try #expect(blob.bytes(in: 7 << 20..<8 << 20) == noise(1 << 20, seed: 7))
        try #expect(again.verify().findings == [])
        try again.close()
    }

    /// A reader that does not know such values must not take the file for one of its own.
    @Test func theHeaderSaysSoBeforeTheFirst() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        func bits() -> UInt8 { disk.contents(of: Self.path)?[72] ?? 255 }
        try store.write { try $0.put(noise(3000, seed: 1), for: 1, in: tree) }
        #expect(bits() == 0)
        try store.write { try $0.put(noise(30000, seed: 1), for: 1, in: tree) }
        #expect(bits() == 1)
        try store.close()
        try #expect(Store(at: Self.path, options: options(disk)).dataFile.features.load(ordering: .relaxed) == 1)
    }

    @Test func aBodyThatThrowsChangesNothing() throws {
        struct Stop: Error {}
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(50000, seed: 1), 1, tree, $0) }
        let pages = store.stats.filePages
        for _ in 0..<20 {
            try store.write { tx in
                #expect(throws: Stop.self) {
                    try tx.putBlob(for: 1, in: tree) { blob in
                        try blob.append(noise(80000, seed: 2))
                        throw Stop()
                    }
                }
                try #expect(tx.view.get(1, in: tree) == noise(50000, seed: 1))
            }
        }
        #expect(store.stats.filePages <= pages + 40)
        try #expect(store.verify().findings == [])
    }

    @Test func rolledBackToASavepointItIsGone() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(50000, seed: 1), 1, tree, $0) }
        try store.write { tx in
            try stream(noise(20000, seed: 2), 2, tree, tx)
            let mark = tx.savepoint()
            try stream(noise(60000, seed: 3), 1, tree, tx)
            try stream(noise(60000, seed: 3), 3, tree, tx)
            try tx.rollback(to: mark)
            try stream(noise(30000, seed: 4), 4, tree, tx)
        }
        disk.restart(on: disk.crashState().image([]))
        let again = try Store(at: Self.path, options: options(disk))
        try again.read { snapshot in
            try #expect(snapshot.get(1, in: tree) == noise(50000, seed: 1))
            try #expect(snapshot.get(2, in: tree) == noise(20000, seed: 2))
            try #expect(snapshot.get(3, in: tree) == nil)
            try #expect(snapshot.get(4, in: tree) == noise(30000, seed: 4))
        }
        try #expect(again.verify().findings == [])
    }

    /// A blob taken from a snapshot reads what that snapshot shows, whatever is written meanwhile.
    @Test func aBlobStaysAsItsSnapshotShowsIt() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(90000, seed: 0), 1, tree, $0) }
        let snapshot = try store.snapshot()
        let blob = try #require(try snapshot.blob(of: 1, in: tree))
        for round in 1..<30 {
            try store.write { try stream(noise(90000, seed: round), 1, tree, $0) }
            if round % 4 == 0 { try store.checkpoint() }
        }
        try #expect(blob.bytes(in: 0..<90000) == noise(90000, seed: 0))
        snapshot.close()
        #expect(throws: StorageError.closed(path: store.path)) { try blob.bytes(in: 0..<10) }
        try #expect(store.verify().findings == [])
    }

    /// Pages of values that came and went are used again, though not before the log has forgotten them.
    @Test func valuesWrittenOverAndOverTakeNoMoreSpace() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for round in 0..<200 {
            try store.write { try stream(noise(100_000, seed: round), UInt64(round % 3), tree, $0) }
            if round % 5 == 0 { try store.checkpoint() }
        }
        #expect(store.stats.filePages < 25 * 40)
        try #expect(store.verify().findings == [])
        try store.close()
    }

    /// The last run of pages of the first value.
    private func lastRun(_ store: Store, _ tree: Tree) throws -> ValueExtents.Extent? {
        try store.read { snapshot in
            var cursor = try snapshot.cursor(in: tree)
            return try cursor.first() ? try cursor.overflow()?.runs(from: store.frames).runs.last : nil
        }
    }

    @Test func damageInTheMiddleIsFound() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(200_000, seed: 1), 1, tree, $0) }
        let last = try #require(try lastRun(store, tree))
        try store.close()
        var bytes = try #require(disk.contents(of: Self.path))
        bytes[Int(last.page) * 4096 + 2000] ^= 4
        disk.setContents(of: Self.path, to: bytes)
        let again = try Store(at: Self.path, options: options(disk))
        let blob = try #require(try again.snapshot().blob(of: 1, in: tree))
        try #expect(blob.bytes(in: 0..<3000) == Array(noise(200_000, seed: 1).prefix(3000)))
        #expect(throws: StorageError.self) { try blob.forEachPiece { _ in } }
        #expect(throws: StorageError.self) { try again.read { try $0.get(1, in: tree) } }
        try #expect(!again.verify().isClean)
    }

    /// A logged commit whose named value has other bytes than its digest is damage: recovery must not show a state that
    /// never existed.
    @Test func aNamedValueThatChangedStopsRecovery() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(50_000, seed: 1), 1, tree, $0) }
        let page = try #require(try lastRun(store, tree)).page
        disk.restart(on: disk.crashState().image([]))
        disk.flipBit(0, inByte: Int(page) * 4096 + 100, of: Self.path)
        #expect(throws: StorageError.self) { _ = try Store(at: Self.path, options: options(disk)) }
    }

    /// Each page has a valid checksum; only the digest in the log shows that the value was exchanged.
    @Test func aNamedValueThatWasExchangedStopsRecovery() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(50_000, seed: 1), 1, tree, $0) }
        let page = Int(try #require(try lastRun(store, tree)).page)
        disk.restart(on: disk.crashState().image([]))
        var bytes = try #require(disk.contents(of: Self.path))
        var changed = Array(bytes[page * 4096..<(page + 1) * 4096])
        changed[300] ^= 1
        ForgedChecksums.seal(page: &changed, number: page, header: Array(bytes[..<4096]))
        bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: changed)
        disk.setContents(of: Self.path, to: bytes)
        #expect(throws: StorageError.self) { _ = try Store(at: Self.path, options: options(disk)) }
    }

    /// Lists that no program writes: they would lead readers beyond the last page, or to pages without end.
    @Test func listsThatContradictThemselvesAreDamage() throws {
        let runs = [
            ValueExtents.Extent(page: 20, writeID: 5, count: 1), ValueExtents.Extent(page: 30, writeID: 6, count: 1),
        ]
        func decoded(_ value: ValueExtents) -> ValueExtents? { value.encoded().withUnsafeBytes { ValueExtents($0) } }
        let whole = ValueExtents(length: 8000, stored: 8000, isCompressed: false, digest: 1, runs: runs)
        #expect(decoded(whole) == whole)
        let packed = ValueExtents(length: 100_000, stored: 8000, isCompressed: true, digest: 1, runs: runs)
        #expect(decoded(packed) == nil)
        let long = ValueExtents(length: 9000, stored: 9000, isCompressed: false, digest: 1, runs: runs)
        #expect(decoded(long) == nil)
        let store = try Store(at: Self.path, options: options(SimulatedDisk()))
        try store.write { tx in
            let single = ValueExtents(
                length: 9000, stored: 4000, isCompressed: true, digest: 1, runs: [runs[0]])
            let list = try tx.writer.writeList(single, tree: 1)
            #expect(throws: StorageError.self) { try list.runs(from: store.frames) }
        }
        let far = ValueExtents.Extent(page: pageNumberLimit - 10, writeID: 1, count: 5)
        #expect(try !store.reserve(far))
        #expect(try !store.reserve(ValueExtents.Extent(page: 2, writeID: 1, count: 1)))
    }

    /// Pages that replay writes must not be those that a later commit of the log names.
    @Test func replayKeepsClearOfNamedPages() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { tx in for key in 0..<200 { try tx.put(noise(100, seed: key), for: UInt64(key), in: tree) } }
        try store.checkpoint()
        try store.write { tx in
            for key in stride(from: 0, to: 200, by: 20) { try tx.put(noise(90, seed: key), for: UInt64(key), in: tree) }
        }
        try store.write { try stream(noise(120_000, seed: 1), 1000, tree, $0) }
        try store.write { try $0.put(noise(40_000, seed: 2), for: 1001, in: tree) }
        let expected = try store.read { try ModelStore(reading: $0) }
        disk.restart(on: disk.crashState().image([]))
        let again = try Store(at: Self.path, options: options(disk))
        #expect(again.recovery.replayedCommits == 3)
        try #expect(again.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
        try #expect(again.verify().findings == [])
    }

    /// A long value, and a shorter one that was put later among the pages where it had been.
    private func twoValuesOnOnePlace(
        _ disk: SimulatedDisk, streaming: Bool, between: (Store, Tree) throws -> Void
    ) throws -> (store: Store, tree: Tree, key: UInt64, page: UInt64) {
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        func pages(of key: UInt64) throws -> Range<UInt64>? {
            try store.read { snapshot in
                var cursor = try snapshot.cursor(in: tree)
                return try cursor.seek(key) ? try cursor.overflow()?.runs(from: store.frames).runs.first?.pages : nil
            }
        }
        try store.write { try $0.put(noise(200_000, seed: 1), for: 1, in: tree) }
        let first = try #require(try pages(of: 1))
        try between(store, tree)
        _ = try store.write { try $0.delete(1, in: tree) }
        for round in 0..<3 {
            try store.write { try $0.put([UInt8(round)], for: 5, in: tree) }
            try store.checkpoint()
        }
        for key in UInt64(10)..<30 {
            try store.write { tx in
                let value = noise(20_000, seed: Int(key))
                if streaming { try stream(value, key, tree, tx) } else { try tx.put(value, for: key, in: tree) }
            }
            if let pages = try pages(of: key), first.contains(pages.lowerBound), first.contains(pages.upperBound) {
                return (store, tree, key, pages.lowerBound)
            }
        }
        throw Disagreement("no value came to stand where the first had been")
    }

    /// A page that the device did not write holds an older value's share, whole and with a right checksum.
    @Test(arguments: [false, true]) func aLostWriteIsFound(streaming: Bool) throws {
        let disk = SimulatedDisk()
        var old: [UInt8] = []
        let (store, tree, key, page) = try twoValuesOnOnePlace(disk, streaming: streaming) { store, _ in
            try store.checkpoint()
            old = disk.contents(of: Self.path) ?? []
        }
        try store.close()
        var bytes = try #require(disk.contents(of: Self.path))
        let place = Int(page + 2) * 4096..<Int(page + 3) * 4096
        #expect(bytes[place] != old[place])
        bytes.replaceSubrange(place, with: old[place])
        disk.setContents(of: Self.path, to: bytes)
        let again = try Store(at: Self.path, options: options(disk))
        let blob = try #require(try again.snapshot().blob(of: key, in: tree))
        #expect(throws: StorageError.self) { try blob.bytes(in: 0..<blob.count) }
    }

    @Test func pagesThatServeAgainAreReadAnew() throws {
        let disk = SimulatedDisk()
        let (store, tree, key, _) = try twoValuesOnOnePlace(disk, streaming: false) { store, tree in
            // Now they are in memory.
            try #expect(store.read { try $0.get(1, in: tree) }?.count == 200_000)
        }
        try #expect(store.read { try $0.get(key, in: tree) } == noise(20_000, seed: Int(key)))
        try #expect(store.verify().findings == [])
    }

    /// The log may name pages of deleted values: until no retained checkpoint is older, they are not reused.
    @Test func theLogNamesNoPageThatServesAgain() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for round in 0..<12 {
            try store.write { try $0.put(noise(20_000, seed: round), for: 1, in: tree) }
            _ = try store.write { try $0.delete(1, in: tree) }
            try store.write { try $0.put(noise(20_000, seed: 50 + round), for: UInt64(2 + round % 2), in: tree) }
            let expected = try store.read { try ModelStore(reading: $0) }
            let left = SimulatedDisk(disk.crashState().image([]))
            let again = try Store(at: Self.path, options: options(left))
            try #expect(again.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
            if round % 3 == 2 { try store.checkpoint() }
        }
    }

    @Test func shrinkingMovesRuns() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<30 { try store.write { try stream(noise(150_000, seed: key), UInt64(key), tree, $0) } }
        for key in 0..<24 { _ = try store.write { try $0.delete(UInt64(key), in: tree) } }
        try store.shrink()
        #expect(disk.contents(of: Self.path)?.count ?? 0 < 6 * 150_000 * 3 / 2)
        for key in 24..<30 {
            try #expect(store.read { try $0.get(UInt64(key), in: tree) } == noise(150_000, seed: key))
        }
        try #expect(store.verify().findings == [])
        try store.close()
        let again = try Store(at: Self.path, options: options(disk))
        for key in 24..<30 {
            try #expect(again.read { try $0.get(UInt64(key), in: tree) } == noise(150_000, seed: key))
        }
        try #expect(again.verify().findings == [])
    }

    @Test func copiesAndSalvageHoldThem() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<5 { try store.write { try stream(noise(150_000, seed: key), UInt64(key), tree, $0) } }
        let expected = try store.read { try ModelStore(reading: $0) }
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/backup.mako")
        disk.restart(on: disk.crashState().image([]))
        _ = try Store.salvage(from: Self.path, to: "d/salvaged.mako", options: options(disk))
        let salvaged = try Store(at: "d/salvaged.mako", options: options(disk))
        try #expect(salvaged.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
        for name in ["d/copy.mako", "d/backup.mako"] {
            let copy = try Store(at: name, options: options(disk))
            try #expect(copy.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
            try #expect(copy.verify().findings == [])
        }
    }

    /// A full disk refuses the value, and the transaction goes on without it.
    @Test func aFullDiskRefusesTheValueAlone() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try stream(noise(50_000, seed: 1), 1, tree, $0) }
        try store.write { tx in
            disk.inject(.staysFull, atCall: disk.callCount + 3)
            #expect(throws: StorageError.diskFull(path: Self.path)) {
                try stream(noise(3_000_000, seed: 2), 2, tree, tx)
            }
            disk.clearFaults()
            try tx.put([7], for: 3, in: tree)
        }
        try store.read { snapshot in
            try #expect(snapshot.get(1, in: tree) == noise(50_000, seed: 1))
            try #expect(snapshot.get(2, in: tree) == nil)
            try #expect(snapshot.get(3, in: tree) == [7])
        }
        try #expect(store.verify().findings == [])
    }
}
