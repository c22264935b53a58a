import MakoTestSupport
import Testing

@testable import MakoStorage

/// The older of the two retained checkpoints is there to be used: with the log behind it, it gives what the newer one
/// gave, at any moment.
@Suite struct FallbackTests {
    private static let path = ScriptRun.path

    private static let text = """
        options log 32768
        tree t int
        tree u bytes
        put t 1..80 200b
        put u 1..40 90b
        put t 500 9000b
        checkpoint
        put t 1..80/3 210b
        checkpoint
        delete t 10..50
        put t 500 5000b
        checkpoint
        put u 1..40/2 120b
        put t 90..140 180b
        checkpoint
        delete u 1..40/3
        deleterange t 100 120
        put t 1..60/2 150b
        """

    /// The number of the newest meta.
    private static func newestMeta(_ image: DiskImage, _ path: String = path) throws -> UInt64 {
        let file = try #require(image.files[path])
        func meta(_ place: UInt64) -> Meta? {
            file.bytes(at: 0, count: pageBytes).withUnsafeBytes { header in
                guard let base = header.baseAddress, case .good(let header) = FileHeader.read(base, copy: 0) else {
                    return nil
                }
                var page = file.bytes(at: place * UInt64(pageBytes), count: pageBytes)
                return page.withUnsafeMutableBytes { page in
                    page.baseAddress.flatMap { Meta($0, place: place, PageCodec(of: header.id)) }
                }
            }
        }
        let metas = (Meta.firstPage..<Meta.firstPage + 4).compactMap { meta($0) }
        return try #require(metas.map(\.number).max())
    }

    private static func without(_ pages: [UInt64], _ image: DiskImage, _ path: String = path) -> DiskImage {
        var damaged = image
        for page in pages {
            damaged.files[path]?.replace(
                at: page * UInt64(pageBytes), with: [UInt8](repeating: 0xa5, count: pageBytes))
        }
        return damaged
    }

    /// Both copies of the newest meta made unreadable.
    static func withoutNewestMeta(_ image: DiskImage, _ path: String = path) throws -> DiskImage {
        let newest = try newestMeta(image, path)
        return without((0..<Meta.copies).map { Meta.page(number: newest, copy: $0) }, image, path)
    }

    private func content(_ image: DiskImage) throws -> ModelStore {
        var options = StoreOptions()
        options.fileSystem = SimulatedDisk(image)
        options.background = .manual
        options.cacheBytes = 1 << 20
        let store = try Store(at: FallbackTests.path, options: options)
        let found = try store.read { try ModelStore(reading: $0) }
        let report = try store.verify()
        #expect(report.isClean, "\(report.findings)")
        try store.close()
        return found
    }

    @Test func theOlderCheckpointAndTheLogGiveTheLatestState() throws {
        let lines = FallbackTests.text.split(separator: "\n")
        let checkpoints = lines.indices.filter { lines[$0] == "checkpoint" }
        for end in checkpoints.dropFirst().map({ $0 + 1 }) + [lines.count] {
            let disk = SimulatedDisk()
            let run = ScriptRun(try Script(name: "fallback", lines[..<end].joined(separator: "\n")), on: disk)
            try run.run(closing: false)
            let damaged = try FallbackTests.withoutNewestMeta(disk.settledImage())
            let latest = try #require(run.states.last)
            #expect(try content(damaged) == latest, "after \(end) lines")
            run.abandon()
        }
    }

    /// A checkpoint that is being written touches nothing that the two before it have.
    @Test(arguments: [false, true]) func aRunningCheckpointSparesBothBeforeIt(afterOpening: Bool) throws {
        let disk = SimulatedDisk()
        // Opening with nothing to replay keeps the latest checkpoint, and takes another only to be rid of the older one.
        let text = FallbackTests.text + (afterOpening ? "\ncheckpoint" : "")
        let run = ScriptRun(try Script(name: "fallback", text), on: disk)
        try run.run(closing: false)
        var store = try #require(run.openStore)
        let latest = try #require(run.states.last)
        if afterOpening {
            // Another process goes on with what the first one left.
            let next = SimulatedDisk(disk.settledImage())
            run.abandon()
            store = try Store(at: FallbackTests.path, options: ScriptRun.options(run.script, on: next))
            try step(store, next, from: latest)
        } else {
            try step(store, disk, from: latest)
            run.abandon()
        }
    }

    /// Nor does recovery, wherever the power goes in the middle of it.
    @Test func recoverySparesTheOlderCheckpoint() throws {
        let disk = SimulatedDisk()
        // Each checkpoint has pages of its own, those of the older one before the others.
        let text = """
            options log 262144
            tree t int
            put t 1..80 200b
            checkpoint
            put t 1..80 210b
            checkpoint
            put t 1..80 220b
            """
        let run = ScriptRun(try Script(name: "fallback", text), on: disk)
        try run.run(closing: false)
        let image = disk.settledImage()
        let latest = try #require(run.states.last)
        run.abandon()
        var call = 0
        while true {
            let next = SimulatedDisk(image)
            next.inject(.crashBefore, atCall: call)
            let options = ScriptRun.options(run.script, on: next)
            let isOpen = (try? Store(at: FallbackTests.path, options: options)) != nil && !next.hasCrashed
            #expect(
                try content(FallbackTests.withoutNewestMeta(next.settledImage())) == latest, "cut before call \(call)")
            if isOpen { break }
            call += 1
        }
        #expect(call > 20)
    }

    /// Changes a lot and takes the checkpoint of it in steps, with a look at the disk after each.
    private func step(_ store: Store, _ disk: SimulatedDisk, from latest: ModelStore) throws {
        var model = latest
        let tree = try #require(try store.read { $0.tree(named: "t") })
        var steps = 0
        // Each small enough for the log.
        func put(_ numbers: some Sequence<UInt64>, _ bytes: Int) throws {
            try store.write { transaction throws in
                for number in numbers {
                    var random = SplitMix(seed: number)
                    let value = (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    try transaction.put(value, for: number, in: tree)
                    model.put(value, for: .integer(number), in: "t")
                }
            }
        }
        for round in UInt64(0)..<9 {
            for part in UInt64(0)..<5 { try put(stride(from: part * 30 + round, to: part * 30 + 30, by: 2), 190) }
            #expect(try store.checkpointer.lock.withLock { try store.checkpointer.begin(store) })
            while try store.checkpointer.lock.withLock({ try store.checkpointer.step(store) }) {
                steps += 1
                #expect(try content(FallbackTests.withoutNewestMeta(disk.settledImage())) == model, "step \(steps)")
                // Commits go on meanwhile, from one log segment to the next.
                let first = 1000 + UInt64(steps) * 3
                try put(first..<first + 3, 2400)
            }
            #expect(
                try content(FallbackTests.withoutNewestMeta(disk.settledImage())) == model, "after checkpoint \(round)")
            #expect(try content(disk.crashState().image([])) == model, "a crash after checkpoint \(round)")
        }
        #expect(steps > 6)
        disk.cutPower()
    }

    /// Of four meta pages any one of the newest two is enough.
    @Test(arguments: [true, false]) func oneCopyOfTheNewestMetaIsEnough(closing: Bool) throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "fallback", FallbackTests.text), on: disk)
        try run.run(closing: closing)
        let image = disk.settledImage()
        let newest = try FallbackTests.newestMeta(image)
        for copy in 0..<Meta.copies {
            let kept = Meta.page(number: newest, copy: copy)
            let others = (Meta.firstPage..<Meta.firstPage + 4).filter { $0 != kept }
            #expect(try content(FallbackTests.without(others, image)) == run.states.last, "page \(kept)")
        }
        run.abandon()
    }

    @Test func afterClosingEitherSlotIsEnough() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "fallback", FallbackTests.text), on: disk)
        try run.run()
        let latest = try #require(run.states.last)
        #expect(try content(FallbackTests.withoutNewestMeta(disk.settledImage())) == latest)
        #expect(try content(disk.settledImage()) == latest)
    }

    /// A page write that the disk loses leaves an older page in its place, whole and with a right checksum.
    @Test func anOlderPageIsNotTakenForTheNewOne() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "stale", "options log 32768\ntree t int"), on: disk)
        try run.run(closing: false)
        let store = try #require(run.openStore)
        let tree = try #require(try store.read { $0.tree(named: "t") })
        var images: [DiskImage] = []
        for round in 0..<40 {
            try store.write { transaction throws in
                for key in UInt64(0)..<60 {
                    try transaction.put([UInt8](repeating: UInt8(round), count: 250), for: key, in: tree)
                }
            }
            try store.checkpoint()
            images.append(disk.settledImage())
        }
        let latest = try #require(images.last)
        let right = try content(latest)
        let file = try #require(latest.files[FallbackTests.path])
        var refused = 0
        for page in 9..<file.size / UInt64(pageBytes) {
            for older in images.dropLast().suffix(20) {
                guard let bytes = older.files[FallbackTests.path]?.bytes(at: page * UInt64(pageBytes), count: pageBytes)
                else { continue }
                var stale = latest
                stale.files[FallbackTests.path]?.replace(at: page * UInt64(pageBytes), with: bytes)
                do {
                    let store = try Store(
                        at: FallbackTests.path, options: ScriptRun.options(run.script, on: SimulatedDisk(stale)))
                    #expect(try store.read { try ModelStore(reading: $0) } == right, "page \(page)")
                } catch is StorageError { refused += 1 }
            }
        }
        #expect(refused > 50)
        run.abandon()
    }

    /// A bitmap write that the disk loses leaves an older bitmap in its place, whole and with a right checksum.
    @Test func anOlderBitmapIsNotTakenForTheNewOne() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "fallback", FallbackTests.text), on: disk)
        try run.run(closing: false)
        let store = try #require(run.openStore)
        let tree = try #require(try store.read { $0.tree(named: "t") })
        let latest = try #require(run.states.last)
        for round in UInt64(0)..<4 {
            let before = disk.settledImage()
            try store.write { try $0.put([UInt8](repeating: 7, count: 3000), for: 1000 + round, in: tree) }
            try store.checkpoint()
            let after = disk.settledImage()
            let copy = UInt64(store.checkpointer.last.regions[0].copy)
            let place = (UInt64(SpaceMap.fixedPages) + copy) * UInt64(pageBytes)
            var stale = after
            let old = try #require(before.files[FallbackTests.path]).bytes(at: place, count: pageBytes)
            stale.files[FallbackTests.path]?.replace(at: place, with: old)
            // With its own bitmap unusable the newer checkpoint is passed over for the older one and the log.
            #expect(try content(stale) != latest, "round \(round)")
            #expect(try content(stale) == content(after), "round \(round)")
        }
        run.abandon()
    }
}
