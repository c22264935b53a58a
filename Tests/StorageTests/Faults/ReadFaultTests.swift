import MakoStorage
import MakoTestSupport
import Testing

/// A read of the disk fails in the middle of a call, in a store larger than its memory: a typed error, and nothing half done.
@Suite struct ReadFaultTests {
    private static let path = "d/s.mako"

    private static func options(_ disk: SimulatedDisk, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 256 << 10
        options.cacheBytes = 1
        options.readOnly = readOnly
        return options
    }

    private static func bytes(_ number: Int) -> [UInt8] { Array("key \(number % 10) \(number)".utf8) }

    /// Two trees of some 150 pages each, values on pages of their own among them, and a log of a few commits.
    private static let image: Result<DiskImage, any Error> = Result {
        let disk = SimulatedDisk(seed: 1)
        let store = try Store(at: path, options: options(disk))
        let trees = try store.write { tx in
            (try tx.createTree(named: "i", keys: .integer), try tx.createTree(named: "b", keys: .bytes))
        }
        for part in 0..<6 {
            try store.write { tx in
                for number in part * 100..<part * 100 + 100 {
                    let value = ValueShape(bytes: number % 97 == 5 ? 9000 : 800).value(seed: UInt64(number))
                    try tx.put(value, for: UInt64(number * 3), in: trees.0)
                    try tx.put(value, for: bytes(number), in: trees.1)
                }
            }
        }
        try store.checkpoint()
        for number in 0..<5 { try store.write { try $0.put([7], for: UInt64(number), in: trees.0) } }
        let image = disk.settledImage()
        disk.cutPower()
        withExtendedLifetime(store) {}
        return image
    }

    private struct Opened {
        var disk: SimulatedDisk
        var store: Store
        var integers: Tree
        var bytes: Tree
    }

    private func open(_ image: DiskImage) throws -> Opened {
        let disk = SimulatedDisk(image)
        let store = try Store(at: Self.path, options: Self.options(disk))
        return try store.read { view in
            Opened(
                disk: disk, store: store, integers: try #require(view.tree(named: "i")),
                bytes: try #require(view.tree(named: "b")))
        }
    }

    /// Whether the body failed by the injected fault. Other errors are rethrown.
    private func meetsFault(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return false
        } catch StorageError.io { return true }
    }

    @Test func readsFailAndWorkAgain() throws {
        let image = try Self.image.get()
        let trees = try open(image)
        let (integers, bytes) = (trees.integers, trees.bytes)
        trees.disk.cutPower()
        let calls: [(name: String, call: (Snapshot) throws -> [UInt8])] = [
            ("get", { try $0.get(909, in: integers) ?? [] }),
            ("get bytes", { try $0.get(Self.bytes(303), in: bytes) ?? [] }),
            ("get large", { try $0.get(UInt64(102 * 3), in: integers) ?? [] }),
            ("withValue", { try $0.withValue(of: 909, in: integers) { Array($0) } ?? [] }),
            ("withValue large", { try $0.withValue(of: Self.bytes(102), in: bytes) { Array($0) } ?? [] }),
            (
                "withValues",
                { view in
                    var all: [UInt8] = []
                    try view.withValues(of: (0..<40).map { $0 * 45 }, in: integers) {
                        all += $1.map { [UInt8]($0) } ?? [0]
                    }
                    return all
                }
            ),
            (
                "withValues bytes",
                { view in
                    var all: [UInt8] = []
                    try view.withValues(of: (0..<40).map { Self.bytes($0 * 30) }, in: bytes) {
                        all += $1.map { [UInt8]($0) } ?? [0]
                    }
                    return all
                }
            ),
            (
                "forEach",
                { view in
                    var sum: [UInt8] = []
                    try view.forEach(in: integers, from: 600) {
                        sum.append(UInt8(truncatingIfNeeded: $0) ^ ($1.last ?? 0)); return true
                    }
                    return sum
                }
            ),
            (
                "forEach bytes",
                { view in
                    var sum: [UInt8] = []
                    try view.forEach(in: bytes, from: Self.bytes(5)) {
                        sum.append(($0.last ?? 0) ^ ($1.last ?? 0)); return true
                    }
                    return sum
                }
            ),
            (
                "cursor",
                { view in
                    var sum: [UInt8] = []
                    var cursor = try view.cursor(in: bytes)
                    var isThere = try cursor.seek(Self.bytes(7))
                    while isThere, sum.count < 90 {
                        sum.append((cursor.key.last ?? 0) ^ (try cursor.value().last ?? 0))
                        isThere = try sum.count < 60 ? cursor.next() : cursor.previous()
                    }
                    return sum
                }
            ),
        ]
        for (name, call) in calls {
            var met = 0
            for place in 0..<6 {
                // Nothing but what recovery needed is in memory.
                let opened = try open(image)
                let snapshot = try opened.store.snapshot()
                opened.disk.inject(.inputOutput, atCall: opened.disk.callCount + place)
                if try meetsFault({ _ = try call(snapshot) }) { met += 1 }
                opened.disk.clearFaults()
                let expected = try call(snapshot)
                #expect(!expected.isEmpty)
                #expect(try call(snapshot) == expected, "\(name)")
                // Waits for every operation that has not ended.
                snapshot.close()
                opened.disk.cutPower()
            }
            #expect(met > 0, "\(name) reads nothing")
        }
    }

    /// A step that failed has not moved the cursor: made again, it goes on where it was.
    @Test(arguments: [KeyKind.integer, .bytes], [false, true]) func aFailedStepOfACursorIsMadeAgain(
        keys: KeyKind, isBackward: Bool
    ) throws {
        let image = try Self.image.get()
        let opened = try open(image)
        let tree = keys == .integer ? opened.integers : opened.bytes
        func position(_ cursor: borrowing Cursor) throws -> [UInt8] {
            try keys == .integer
                ? withUnsafeBytes(of: cursor.integerKey.bigEndian) { Array($0) } : cursor.key + cursor.value()
        }
        var healthy: [[UInt8]] = []
        let snapshot = try opened.store.snapshot()
        var cursor = try snapshot.cursor(in: tree)
        var isThere = isBackward ? try cursor.last() : try cursor.first()
        while isThere {
            healthy.append(try position(cursor))
            isThere = isBackward ? try cursor.previous() : try cursor.next()
        }
        #expect(healthy.count > 500)
        // Each call that leaves a leaf fails at its first read, once.
        var failures = 0
        var met: [[UInt8]] = []
        isThere = isBackward ? try cursor.last() : try cursor.first()
        while isThere {
            met.append(try position(cursor))
            opened.disk.inject(.inputOutput, atCall: opened.disk.callCount)
            if try meetsFault({ isThere = isBackward ? try cursor.previous() : try cursor.next() }) {
                failures += 1
                #expect(try position(cursor) == met.last)
                opened.disk.clearFaults()
                isThere = isBackward ? try cursor.previous() : try cursor.next()
            }
            opened.disk.clearFaults()
        }
        #expect(met == healthy)
        #expect(failures > 20)
        opened.disk.cutPower()
    }

    /// The same in a transaction, whose changes make the cursor search its key again.
    @Test func aFailedSearchOfACursorIsMadeAgain() throws {
        let opened = try open(try Self.image.get())
        let tx = try opened.store.beginWrite()
        var cursor = try tx.view.cursor(in: opened.integers)
        #expect(try cursor.seek(900))
        var failures = 0
        for step in 1..<100 as Range<UInt64> {
            try tx.put([1], for: 1, in: opened.integers)
            if step % 7 == 0 { #expect(try tx.delete(900 + step * 3 - 3, in: opened.integers)) }
            opened.disk.inject(.inputOutput, atCall: opened.disk.callCount)
            if try meetsFault({ _ = try cursor.next() }) {
                failures += 1
                #expect(cursor.integerKey == 900 + step * 3 - 3)
                opened.disk.clearFaults()
                #expect(try cursor.next())
            }
            opened.disk.clearFaults()
            #expect(cursor.integerKey == 900 + step * 3)
        }
        #expect(failures > 0)
        tx.rollback()
        opened.disk.cutPower()
    }

    private static let changes:
        [(name: String, change: @Sendable (borrowing WriteTransaction, Tree, Tree) throws -> Void)] = [
            ("put", { tx, integers, _ in try tx.put([1], for: 905, in: integers) }),
            (
                "put large",
                { tx, integers, _ in try tx.put([UInt8](repeating: 5, count: 9000), for: 306, in: integers) }
            ),
            ("put bytes", { tx, _, bytes in try tx.put([1], for: Self.bytes(1000), in: bytes) }),
            ("insert", { tx, _, bytes in _ = try tx.insert([1], for: Self.bytes(303), in: bytes) }),
            ("delete", { tx, integers, _ in _ = try tx.delete(909, in: integers) }),
            ("delete large", { tx, _, bytes in _ = try tx.delete(Self.bytes(102), in: bytes) }),
            ("deleteRange", { tx, integers, _ in _ = try tx.deleteRange(300...1400, in: integers) }),
            (
                "deleteRange bytes",
                { tx, _, bytes in _ = try tx.deleteRange(from: Self.bytes(103), to: Self.bytes(900), in: bytes) }
            ),
            ("deleteAll", { tx, _, bytes in try tx.deleteAll(in: bytes) }),
            ("dropTree", { tx, integers, _ in try tx.dropTree(integers) }),
        ]

    /// A failed change has no effect, or its transaction can only be rolled back; a crash leaves what was committed.
    @Test(arguments: changes.indices) func changesFailWhole(number: Int) throws {
        let (name, change) = Self.changes[number]
        let image = try Self.image.get()
        func state(_ apply: ((borrowing WriteTransaction, Tree, Tree) throws -> Void)?, marked: Bool) throws
            -> ModelStore
        {
            let opened = try open(image)
            try opened.store.write { tx in
                if let apply { try apply(tx, opened.integers, opened.bytes) }
                if marked { _ = try tx.createTree(named: "marker", keys: .integer) }
            }
            defer { opened.disk.cutPower() }
            return try opened.store.read { try ModelStore(reading: $0) }
        }
        let before = try state(nil, marked: false)
        let (withMarker, after) = (try state(nil, marked: true), try state(change, marked: true))
        // Which calls of a healthy disk are the change's reads.
        let healthy = try open(image)
        let begin = healthy.disk.callCount
        let trial = try healthy.store.beginWrite()
        try change(trial, healthy.integers, healthy.bytes)
        let reads = healthy.disk.callLog.indices.filter { $0 >= begin && healthy.disk.callLog[$0] == .read }
        trial.rollback()
        healthy.disk.cutPower()
        let later = stride(from: 6, to: reads.count, by: max(1, reads.count / 8)).map { reads[$0] }
        for read in reads.prefix(6) + later {
            let opened = try open(image)
            #expect(opened.disk.callCount == begin)
            opened.disk.inject(.inputOutput, atCall: read)
            let tx = try opened.store.beginWrite()
            let hasFailed = try meetsFault { try change(tx, opened.integers, opened.bytes) }
            var isCommitted = true
            do {
                _ = try tx.createTree(named: "marker", keys: .integer)
                try tx.commit()
            } catch {
                isCommitted = false
                guard case .io = error else { throw error }
            }
            opened.disk.clearFaults()
            #expect(hasFailed || !isCommitted, "\(name), read \(read)")
            let wanted = isCommitted ? (hasFailed ? withMarker : after) : before
            let visible = try opened.store.read { try ModelStore(reading: $0) }
            let difference = wanted.difference(from: visible)
            #expect(difference == nil, "\(name), read \(read)")
            #expect(try opened.store.verify().isClean, "\(name), read \(read)")
            let left = opened.disk.crashState().image([])
            opened.disk.cutPower()
            let again = try open(left)
            let found = try again.store.read { try ModelStore(reading: $0) }
            let lost = wanted.difference(from: found)
            #expect(lost == nil, "\(name), read \(read), after a crash")
            again.disk.cutPower()
        }
        #expect(!reads.isEmpty, "\(name) reads nothing")
    }

    /// Buffered puts are applied at the next read or at the commit. Where one fails, the commit fails, and none of them
    /// is stored.
    @Test(arguments: 0..<4) func putsThatWaitFailTogether(variant: Int) throws {
        let image = try Self.image.get()
        let before = try open(image).store.read { try ModelStore(reading: $0) }
        var failed = 0
        for place in 0..<10 {
            let opened = try open(image)
            let tx = try opened.store.beginWrite()
            for number in 0..<40 { try tx.put([9], for: UInt64(number * 41 % 600 * 3 + 1), in: opened.integers) }
            opened.disk.inject(.inputOutput, atCall: opened.disk.callCount + place)
            if variant == 0 { _ = tx.savepoint() }
            if variant == 1 { _ = tx.view.trees }
            // In the last variant the commit itself fails.
            if variant < 3 { opened.disk.clearFaults() }
            var isRefused = false
            do throws(StorageError) { try tx.commit() } catch {
                switch error {
                case .io: break
                // The write of the log follows the reads; after its failure the content of the device is unknown.
                case .readOnly where variant == 3: break
                default: throw error
                }
                isRefused = true
            }
            opened.disk.clearFaults()
            failed += isRefused ? 1 : 0
            let visible = try opened.store.read { try ModelStore(reading: $0) }
            #expect((visible == before) == isRefused, "read \(place)")
            #expect(try opened.store.verify().isClean)
            opened.disk.cutPower()
        }
        #expect(failed > 0 || variant == 2)
    }

    @Test(arguments: [false, true]) func openingFailsAndWorksAgain(readOnly: Bool) throws {
        let image = try Self.image.get()
        let healthy = SimulatedDisk(image)
        let store = try Store(at: Self.path, options: Self.options(healthy, readOnly: readOnly))
        let expected = try store.read { try ModelStore(reading: $0) }
        #expect(store.recovery.replayedCommits == 5)
        let calls = healthy.callCount
        healthy.cutPower()
        withExtendedLifetime(store) {}
        // How often pages are read again depends on when they are evicted, so a run may end before its call.
        var (met, reached) = (0, 0)
        let seldom = TestEffort.isFull ? 1 : 3
        for call in stride(from: 0, to: calls, by: seldom) {
            let disk = SimulatedDisk(image)
            disk.inject(.inputOutput, atCall: call)
            let failed = try meetsFault {
                let store = try Store(at: Self.path, options: Self.options(disk, readOnly: readOnly))
                _ = try store.read { try ModelStore(reading: $0) }
                try store.close()
            }
            met += failed ? 1 : 0
            reached += disk.callCount > call ? 1 : 0
            disk.clearFaults()
            disk.endProcess()
            let store = try Store(at: Self.path, options: Self.options(disk, readOnly: readOnly))
            #expect(try store.read { try ModelStore(reading: $0) } == expected, "call \(call)")
            disk.cutPower()
            withExtendedLifetime(store) {}
        }
        // A few calls may fail without an error: existence checks, and the closing of a file.
        #expect(met >= reached - reached / 20)
        #expect(reached > 100)
    }

    /// A read-only store sees what the log holds, and leaves the files unchanged.
    @Test func aReaderReplaysTheLogInMemoryOnly() throws {
        let image = try Self.image.get()
        let disk = SimulatedDisk(image)
        let store = try Store(at: Self.path, options: Self.options(disk, readOnly: true))
        #expect(store.recovery.replayedCommits == 5)
        #expect(try store.read { try $0.get(4, in: #require($0.tree(named: "i"))) } == [7])
        #expect(try store.verify().isClean)
        try store.close()
        #expect(disk.settledImage().fingerprint == image.fingerprint)
    }

    /// A log longer than the cache is replayed in memory all the same: a reader cannot write it elsewhere.
    @Test func aReaderWithLittleMemoryReplaysALongLog() throws {
        let disk = SimulatedDisk()
        var options = Self.options(disk)
        options.logSegmentBytes = 8 << 20
        options.checkpointBytes = 64 << 20
        // With a smaller cache commits of this size use a checkpoint.
        options.cacheBytes = 64 << 20
        let store = try Store(at: Self.path, options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for round in 1...3 as ClosedRange<UInt8> {
            try store.write { transaction in
                for key in 0..<4000 as Range<UInt64> {
                    try transaction.put([UInt8](repeating: round, count: 200), for: key, in: tree)
                }
            }
        }
        let image = disk.settledImage()
        var reading = Self.options(SimulatedDisk(image), readOnly: true)
        reading.cacheBytes = 256 << 10
        let reader = try Store(at: Self.path, options: reading)
        #expect(reader.recovery.replayedCommits > 2)
        #expect(try reader.read { try $0.get(3999, in: tree) } == [UInt8](repeating: 3, count: 200))
        #expect(try reader.verify().isClean)
        withExtendedLifetime(store) {}
    }
}
