import MakoStorage
import MakoTestSupport
import Testing

/// The file does not grow when values are replaced, and shrinks when few are left.
@Suite struct SpaceTests {
    private func options(on disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 1 << 20
        options.cacheBytes = 8 << 20
        return options
    }

    /// As many pages as a page has bits behind its header of 40 bytes.
    private static let pagesOfARegion = UInt64(4096 - 40) * 8

    private func noise(_ bytes: Int, seed: Int) -> [UInt8] { ValueShape(bytes: bytes).value(seed: UInt64(seed)) }

    /// Each version of a large value needs a run of pages; those of earlier versions serve again.
    @Test func largeValuesWrittenOverAndOverTakeNoMoreSpace() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(on: disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let pages = 25
        for round in 0..<200 {
            try store.write { try $0.put(noise(pages * 4000, seed: round), for: UInt64(round % 4), in: tree) }
            if round % 3 == 0 { try store.checkpoint() }
        }
        // Four values, those of two retained checkpoints and the latest commits, and the free pages between.
        #expect(store.stats.filePages < 16 * UInt64(pages))
        #expect(try store.verify().findings == [])
        try store.close()
    }

    // MARK: Shrinking

    /// Three trees, then half of the entries removed.
    private func halfEmptied(on disk: SimulatedDisk, entries: Int = 6000, largeValues: Bool = false) throws -> Store {
        let store = try Store(at: "d/s.mako", options: options(on: disk))
        try store.write { tx in
            let first = try tx.createTree(named: "first", keys: .integer)
            let second = try tx.createTree(named: "second", keys: .bytes)
            let third = try tx.createTree(named: "third", keys: .integer)
            for key in 0..<entries {
                try tx.put(noise(150, seed: key), for: UInt64(key * 7919 % entries), in: first)
                try tx.put(noise(80, seed: key), for: Array("key \(key * 7919 % entries)".utf8), in: second)
                if largeValues && key % 50 == 0 { try tx.put(noise(9000, seed: key), for: UInt64(key), in: third) }
            }
        }
        try store.checkpoint()
        try store.write { tx in
            guard let first = tx.view.tree(named: "first"), let second = tx.view.tree(named: "second"),
                let third = tx.view.tree(named: "third")
            else { return }
            _ = try tx.deleteRange(0...UInt64(entries / 2), in: first)
            for key in 0..<entries where "key \(key)" < "key 4" {
                _ = try tx.delete(Array("key \(key)".utf8), in: second)
            }
            if largeValues { _ = try tx.deleteRange(0...UInt64(entries / 2), in: third) }
        }
        return store
    }

    private func fileSize(_ disk: SimulatedDisk) -> UInt64 { UInt64(disk.contents(of: "d/s.mako")?.count ?? 0) }

    @Test(arguments: [false, true]) func aHalfEmptiedFileShrinks(largeValues: Bool) throws {
        let disk = SimulatedDisk()
        let store = try halfEmptied(on: disk, largeValues: largeValues)
        let before = try store.read { try ModelStore(reading: $0) }
        let size = fileSize(disk)
        try store.shrink()
        let live = UInt64(store.stats.livePages) * 4096
        #expect(fileSize(disk) * 10 <= live * 12)
        #expect(fileSize(disk) < size * 3 / 4)
        #expect(try store.read { try ModelStore(reading: $0) } == before)
        #expect(try store.verify().findings == [])
        // It can be written to, closed and opened as ever.
        try store.write { tx in
            guard let first = tx.view.tree(named: "first") else { return }
            for key in 0..<500 { try tx.put(noise(100, seed: key), for: UInt64(key), in: first) }
        }
        #expect(try store.verify().findings == [])
        let last = try store.read { try ModelStore(reading: $0) }
        try store.close()
        let reopened = try Store(at: "d/s.mako", options: options(on: disk))
        #expect(try reopened.read { try ModelStore(reading: $0) } == last)
        try reopened.close()
    }

    /// The background steps shrink the file when nothing is written for a while.
    @Test func anIdleStoreShrinksByItself() throws {
        let disk = SimulatedDisk()
        let store = try halfEmptied(on: disk)
        let size = fileSize(disk)
        while try store.step() {}
        #expect(fileSize(disk) >= size, "right behind the commit it waits: more may come")
        #expect(try idleTenths(store, until: { isShort(disk, store) }) < 100)
        // And then there is peace: an idle store does nothing.
        let calls = disk.callCount
        let commit = try store.snapshot().commitNumber
        for _ in 0..<1000 { _ = try store.step() }
        #expect(try store.snapshot().commitNumber == commit)
        #expect(disk.callLog[calls...].filter(\.changesDisk).isEmpty)
        try store.close()
    }

    /// When a snapshot prevented shrinking, the store tries again within a minute after the snapshot has ended.
    @Test func anIdleStoreShrinksBehindASnapshot() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(on: disk))
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<6000 { try tx.put(noise(150, seed: key), for: UInt64(key), in: tree) }
            return tree
        }
        let snapshot = try store.snapshot()
        try store.write { _ = try $0.deleteRange(0...4500, in: tree) }
        #expect(try idleTenths(store, until: { isShort(disk, store) }) == 600)
        snapshot.close()
        #expect(try idleTenths(store, until: { isShort(disk, store) }) < 600)
        #expect(try store.verify().findings == [])
        try store.close()
    }

    private func isShort(_ disk: SimulatedDisk, _ store: Store) -> Bool {
        fileSize(disk) * 10 <= UInt64(store.stats.livePages) * 4096 * 12
    }

    /// How many steps found nothing to do, 600 at most, before something is so. The store's own thread waits a tenth of a second behind each.
    private func idleTenths(_ store: Store, until isSo: () -> Bool) throws -> Int {
        var tenths = 0
        while tenths < 600, !isSo() {
            if try !store.step() { tenths += 1 }
        }
        return tenths
    }

    /// Pages of an open snapshot stay in place, however the file shrinks around them.
    @Test func aSnapshotHoldsItsPagesUntilItEnds() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(on: disk))
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<6000 { try tx.put(noise(150, seed: key), for: UInt64(key), in: tree) }
            return tree
        }
        let snapshot = try store.snapshot()
        let seen = try ModelStore(reading: snapshot)
        try store.write { _ = try $0.deleteRange(0...4500, in: tree) }
        try store.shrink()
        #expect(try ModelStore(reading: snapshot) == seen)
        let held = fileSize(disk)
        snapshot.close()
        try store.shrink()
        #expect(fileSize(disk) < held / 2)
        #expect(fileSize(disk) * 10 <= UInt64(store.stats.livePages) * 4096 * 12)
        try store.close()
    }

    /// Whole regions leave the file, with their bitmaps; the store opens on what the death of its process leaves.
    @Test func regionsThatEmptiedLeaveTheFile() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/s.mako", options: options(on: disk))
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<140 { try tx.put(noise(1 << 20, seed: key), for: UInt64(key), in: tree) }
            return tree
        }
        // More than the pages of one region.
        #expect(store.stats.filePages > Self.pagesOfARegion)
        try store.write { _ = try $0.deleteRange(1...139, in: tree) }
        disk.startRecording()
        try store.shrink()
        #expect(fileSize(disk) < 3 << 20)
        // The power may go at any moment, also while one of the retained checkpoints has regions that the other has not.
        for point in disk.crashPoints().suffix(40) {
            let left = SimulatedDisk(point.state.image([]))
            let reopened = try Store(at: "d/s.mako", options: options(on: left))
            #expect(try reopened.read { try $0.get(0, in: tree) } == noise(1 << 20, seed: 0), "call \(point.call)")
            try reopened.write { try $0.put(noise(900_000, seed: 9), for: 9, in: tree) }
            #expect(try reopened.verify().findings == [], "call \(point.call)")
            try reopened.close()
        }
        let image = disk.settledImage()
        let reopened = try Store(at: "d/s.mako", options: options(on: SimulatedDisk(image)))
        #expect(try reopened.read { try $0.get(0, in: tree) } == noise(1 << 20, seed: 0))
        #expect(try reopened.verify().findings == [])
        try store.close()
    }

    /// A call that fails stops it; nothing is lost by that, and it can be tried again.
    @Test(arguments: [Fault.noSpace, .inputOutput]) func whatFailsLeavesEverything(fault: Fault) throws {
        let first = SimulatedDisk()
        let store = try halfEmptied(on: first, entries: 1500)
        let before = try store.read { try ModelStore(reading: $0) }
        try store.close()
        let image = first.settledImage()
        var failures = 0
        for call in 0..<400 {
            let disk = SimulatedDisk(image)
            let store = try Store(at: "d/s.mako", options: options(on: disk))
            let place = disk.callCount + call
            disk.inject(fault, atCall: place)
            do { try store.shrink() } catch { failures += 1 }
            let isOver = disk.callCount <= place
            disk.clearFaults()
            try? store.close()
            let reopened = try Store(at: "d/s.mako", options: options(on: disk))
            #expect(try reopened.read { try ModelStore(reading: $0) } == before, "call \(call)")
            #expect(try reopened.verify().findings == [], "call \(call)")
            try reopened.close()
            if isOver { break }
        }
        #expect(failures > 10)
    }

    @Test func onlyAnOpenWritableStoreShrinks() throws {
        let disk = SimulatedDisk()
        try Store(at: "d/s.mako", options: options(on: disk)).close()
        var reading = options(on: disk)
        reading.readOnly = true
        let reader = try Store(at: "d/s.mako", options: reading)
        #expect(throws: StorageError.readOnly(reason: "it was opened so")) { try reader.shrink() }
        try reader.close()
        #expect(throws: StorageError.closed(path: "d/s.mako")) { try reader.shrink() }
    }
}
