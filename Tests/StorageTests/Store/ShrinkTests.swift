import MakoStorage
import MakoTestSupport
import Testing

/// Shrinking, beside everything else that happens to a store.
@Suite struct ShrinkTests {
    private static let path = "d/s.mako"

    private func options(on disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 1 << 20
        options.cacheBytes = 8 << 20
        return options
    }

    private func noise(_ bytes: Int, seed: Int) -> [UInt8] { ValueShape(bytes: bytes).value(seed: UInt64(seed)) }

    private func fileSize(_ disk: SimulatedDisk) -> UInt64 { UInt64(disk.contents(of: Self.path)?.count ?? 0) }

    private func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }

    /// A store whose first tree was dropped, so that everything else lies behind free pages.
    private func lateStore(
        on disk: SimulatedDisk, freePages: Int = 1500, _ fill: (borrowing WriteTransaction) throws -> Void
    ) throws -> Store {
        let store = try Store(at: Self.path, options: options(on: disk))
        try store.write { tx in
            let first = try tx.createTree(named: "first", keys: .integer)
            for key in 0..<freePages { try tx.put(noise(3800, seed: key), for: UInt64(key), in: first) }
        }
        try store.write { try fill($0) }
        try store.checkpoint()
        let first = try store.read { $0.tree(named: "first") }
        try store.write { tx in if let first { try tx.dropTree(first) } }
        return store
    }

    private func expectShort(_ store: Store, _ disk: SimulatedDisk, _ expected: ModelStore) throws {
        #expect(fileSize(disk) * 10 <= UInt64(store.stats.livePages) * 4096 * 12)
        #expect(try store.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
        #expect(try store.verify().findings == [])
    }

    /// Trees of both kinds, of rows and of large values.
    private func fillBothKinds(_ tx: borrowing WriteTransaction, large: Int) throws {
        let integers = try tx.createTree(named: "integers", keys: .integer)
        let bytes = try tx.createTree(named: "bytes", keys: .bytes)
        for number in 0..<1200 {
            try tx.put(noise(60, seed: number), for: UInt64(number), in: integers)
            try tx.put(noise(60, seed: number), for: key(number), in: bytes)
        }
        for number in 0..<large {
            try tx.put(noise(9000, seed: number), for: UInt64(5000 + number), in: integers)
            try tx.put(noise(13_000, seed: number), for: key(5000 + number), in: bytes)
        }
    }

    /// More large values than one transaction moves, under keys of either kind.
    @Test func manyLargeValuesMove() throws {
        let disk = SimulatedDisk()
        let store = try lateStore(on: disk) { try fillBothKinds($0, large: 200) }
        let before = try store.read { try ModelStore(reading: $0) }
        let size = fileSize(disk)
        try store.shrink()
        #expect(fileSize(disk) < size * 2 / 3)
        try expectShort(store, disk, before)
        try store.close()
    }

    /// A store that was only opened has nothing in hand; it shrinks like any other.
    @Test func aStoreWithoutWritesShrinks() throws {
        let disk = SimulatedDisk()
        try lateStore(on: disk) { try fillBothKinds($0, large: 5) }.close()
        let store = try Store(at: Self.path, options: options(on: disk))
        let before = try store.read { try ModelStore(reading: $0) }
        try store.shrink()
        try expectShort(store, disk, before)
        try store.close()
    }

    /// The background steps do not wait for the writer lock: while a transaction is open, they try again later.
    @Test func idleStepsWaitForNoWriter() throws {
        let disk = SimulatedDisk()
        let store = try lateStore(on: disk, freePages: 600) { try fillBothKinds($0, large: 10) }
        let before = try store.read { try ModelStore(reading: $0) }
        let commit = try store.snapshot().commitNumber
        for _ in 0..<60 {
            let writing = try store.beginWrite()
            while try store.step() {}
            writing.rollback()
        }
        #expect(try store.snapshot().commitNumber == commit, "nothing moves while a transaction is open")
        for _ in 0..<1000 {
            let writing = try store.beginWrite()
            _ = try store.step()
            writing.rollback()
            _ = try store.step()
        }
        #expect(try store.snapshot().commitNumber > commit)
        try expectShort(store, disk, before)
        try store.close()
    }

    /// Whenever a tree goes, or all its entries do: what was to be moved of it is left out, and nothing else is lost.
    @Test(arguments: [false, true]) func treesMayGoMeanwhile(isDropped: Bool) throws {
        let first = SimulatedDisk()
        try lateStore(on: first, freePages: 400) { try fillBothKinds($0, large: 60) }.close()
        let image = first.settledImage()
        var moved = 0
        for steps in 30..<75 {
            let disk = SimulatedDisk(image)
            let store = try Store(at: Self.path, options: options(on: disk))
            let commit = try store.snapshot().commitNumber
            for _ in 0..<steps { _ = try store.step() }
            if try store.snapshot().commitNumber > commit { moved += 1 }
            try store.write { tx in
                guard let tree = tx.view.tree(named: "bytes") else { return }
                if isDropped { try tx.dropTree(tree) } else { try tx.deleteAll(in: tree) }
            }
            let before = try store.read { try ModelStore(reading: $0) }
            for _ in 0..<300 { _ = try store.step() }
            try expectShort(store, disk, before)
            try store.close()
        }
        #expect(moved > 0)
    }

    /// An inner node that has one child left between a full one and the end has no key of its own to be found by.
    @Test func aNodeWithOneChildMoves() throws {
        for left in 1009...1022 {
            let disk = SimulatedDisk()
            let store = try lateStore(on: disk, freePages: 500) { tx in
                let tree = try tx.createTree(named: "tree", keys: .integer)
                for key in 0..<1100 { try tx.put(noise(950, seed: key), for: UInt64(key), in: tree) }
            }
            let tree = try #require(try store.read { $0.tree(named: "tree") })
            for key in (left..<1100).reversed() { try store.write { _ = try $0.delete(UInt64(key), in: tree) } }
            let before = try store.read { try ModelStore(reading: $0) }
            try store.shrink()
            try expectShort(store, disk, before)
            try store.close()
        }
    }

    /// A store that became read-only is not shrunk, and reports why.
    @Test func aStoreThatFailedIsLeftAlone() throws {
        let disk = SimulatedDisk()
        let store = try lateStore(on: disk, freePages: 400) { try fillBothKinds($0, large: 5) }
        let before = try store.read { try ModelStore(reading: $0) }
        let begun = try store.beginWrite()
        try begun.put([1], for: 1, in: try #require(begun.view.tree(named: "integers")))
        disk.inject(.syncFails(.keepsNewContent), atCall: disk.callCount + 1)
        do throws(StorageError) {
            try begun.commit()
            Issue.record("committed")
        } catch {}
        let failure = StorageError.readOnly(reason: try #require(store.stats.readOnlyReason))
        let size = fileSize(disk)
        #expect(throws: failure) { try store.shrink() }
        for _ in 0..<100 {
            do throws(StorageError) { _ = try store.step() } catch {
                #expect(error == failure)
            }
        }
        #expect(fileSize(disk) == size)
        #expect(try store.read { try ModelStore(reading: $0) } == before)
    }

    /// Trees that have lost all their entries lie behind everything else, in a leaf without a key.
    @Test(arguments: [KeyKind.integer, .bytes]) func emptiedTreesDoNotKeepAFileLong(kind: KeyKind) throws {
        let disk = SimulatedDisk()
        let store = try lateStore(on: disk) { tx in
            for number in 0..<4 {
                let tree = try tx.createTree(named: "t\(number)", keys: kind)
                for key in 0..<40 as Range<UInt64> {
                    switch kind {
                    case .integer: try tx.put(noise(300, seed: 1), for: key, in: tree)
                    case .bytes: try tx.put(noise(300, seed: 1), for: self.key(Int(key)), in: tree)
                    }
                }
            }
        }
        for number in 0..<4 {
            try store.write { tx in
                let tree = try #require(tx.view.tree(named: "t\(number)"))
                for key in 0..<40 as Range<UInt64> {
                    switch kind {
                    case .integer: _ = try tx.delete(key, in: tree)
                    case .bytes: _ = try tx.delete(self.key(Int(key)), in: tree)
                    }
                }
            }
        }
        let expected = try store.read { try ModelStore(reading: $0) }
        try store.shrink()
        #expect(fileSize(disk) < 60 * 4096, "\(fileSize(disk) / 4096) pages")
        #expect(try store.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
        #expect(try store.verify().findings == [])
    }

    /// While the idle store moves pages, others are changed that no checkpoint has yet.
    @Test func pagesThatOnlyMemoryHasAreLookedAt() throws {
        let disk = SimulatedDisk()
        let store = try lateStore(on: disk) { try fillBothKinds($0, large: 10) }
        let tree = try #require(try store.read { $0.tree(named: "integers") })
        for step in 0..<4000 where try store.step() {
            if step % 3 == 0 {
                try store.write { try $0.put(noise(60, seed: step), for: UInt64(step % 1200), in: tree) }
            }
        }
        let expected = try store.read { try ModelStore(reading: $0) }
        let before = fileSize(disk)
        try store.shrink()
        #expect(fileSize(disk) <= before && before < 1500 * 4096)
        #expect(try store.read { try ModelStore(reading: $0) }.difference(from: expected) == nil)
        #expect(try store.verify().findings == [])
    }
}
