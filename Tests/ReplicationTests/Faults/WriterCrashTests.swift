import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Power cuts at the disk calls of a writer that ships its log, and at those of the opening and the shipping that follow.
@Suite struct WriterCrashTests {
    /// What the object store has at some time, and the newest commit that the writer has promised to keep by then.
    private struct Moment {
        var objects: [String: [UInt8]] = [:]
        var acknowledged: UInt64 = 0
    }

    /// What a power cut leaves.
    private struct Cut {
        var image: DiskImage
        var moment: Moment
        var comment: String
    }

    /// A moment at which the power can go; the tag is the index of what the object store has then.
    private struct Point {
        var call: Int
        var tag: Int
        var state: CrashState
    }

    /// An object store that notes what it has at each crash point of a disk.
    private final class Recorder: ObjectStore, @unchecked Sendable {
        let disk: SimulatedDisk
        let objects = SimulatedObjectStore()
        private let lock = Lock()
        // Guarded by `lock`; the disk's tag is the index of the present moment.
        private var moments: [Moment]
        private var points: [Point] = []

        init(_ disk: SimulatedDisk, _ moment: Moment = Moment()) {
            self.disk = disk
            moments = [moment]
            objects.objects = moment.objects
        }

        func acknowledge(_ commit: UInt64) { note(acknowledged: commit) }

        private func note(acknowledged: UInt64?) {
            lock.withLock {
                var moment = moments[moments.count - 1]
                moment.objects = objects.objects
                moment.acknowledged = acknowledged ?? moment.acknowledged
                moments.append(moment)
                disk.tag = moments.count - 1
                // Between two requests there may be no call of the disk, before which it would record the moment.
                points.append(Point(call: disk.callCount, tag: moments.count - 1, state: disk.crashState()))
            }
        }

        /// What a power cut can leave since the disk records: everything under `MAKO_TEST_EFFORT=full`, otherwise one
        /// outcome of each moment.
        func cuts(_ random: inout SplitMix) -> [Cut] {
            let (known, own): ([Moment], [Point]) = lock.withLock { (moments, points) }
            var all = own
            for point in disk.crashPoints() { all.append(Point(call: point.call, tag: point.tag, state: point.state)) }
            var cuts: [Cut] = []
            for point in all {
                for image in Recorder.images(point.state, &random) {
                    cuts.append(Cut(image: image, moment: known[point.tag], comment: "before call \(point.call)"))
                }
            }
            return cuts
        }

        private static func images(_ state: CrashState, _ random: inout SplitMix) -> [DiskImage] {
            if CallPairs.isFull {
                return state.images(CrashChoice(exhaustiveBits: 3, structuredUnits: 4, sampled: 4, torn: 4))
            }
            let keepsNothing = random.chance(40)
            return [keepsNothing ? state.image([]) : state.randomImage(&random)]
        }

        func put(
            _ name: String, _ content: ObjectContent, _ condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectTag {
            let tag = try objects.put(name, content, condition)
            note(acknowledged: nil)
            return tag
        }

        func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
            try objects.get(name, range)
        }

        func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
            try objects.list(prefix, after: name, limit: limit)
        }

        func delete(_ name: String) throws(ObjectStoreError) {
            try objects.delete(name)
            note(acknowledged: nil)
        }
    }

    /// A writer whose every step is recorded.
    private final class Writer {
        let recorder: Recorder
        let ledger: Ledger
        private var replicator: Replicator?

        init(seed: UInt64) throws {
            recorder = Recorder(SimulatedDisk(seed: seed))
            ledger = try Ledger(seed: seed, disk: recorder.disk, place: recorder)
            try ledger.commit(.small)
            recorder.acknowledge(try ledger.commitNumber())
            recorder.disk.startRecording()
        }

        func commit(_ changes: [Ledger.Change]) throws {
            for change in changes {
                try ledger.commit(change)
                recorder.acknowledge(try ledger.commitNumber())
            }
        }

        /// Commits that a power cut may lose.
        func commitWithoutSync(_ durability: Durability) throws {
            for change in [Ledger.Change.several, .small, .several] {
                try ledger.commit(change, durability: durability)
            }
        }

        func ship() throws {
            let replicator = try self.replicator ?? ledger.replicator(objectBytes: 3000)
            self.replicator = replicator
            recorder.acknowledge(try replicator.ship().commit)
        }

        func shipInVain() {
            recorder.objects.isDown = true
            #expect(throws: ReplicationError.self) { try ship() }
            recorder.objects.isDown = false
        }

        /// Closes and opens the store, or ends the process and opens it. What it then shows lasts.
        func restart(closes: Bool) throws {
            replicator = nil
            if closes { try ledger.reopen() } else { try ledger.kill() }
            recorder.acknowledge(try ledger.commitNumber())
        }
    }

    /// The history of a writer over four processes, one of which is killed.
    private func history() throws -> Writer {
        let writer = try Writer(seed: 151)
        try writer.commit(Ledger.Change.allCases)
        try writer.ship()
        try writer.commit([.several, .small, .delete])
        try writer.commitWithoutSync(.async)
        try writer.ledger.store.checkpoint()
        try writer.ship()
        // The log of two segments stays over a checkpoint and a close, because it is not shipped.
        try writer.commit([.small, .many, .deleteRange, .large])
        try writer.commit(Array(repeating: .several, count: 18))
        writer.shipInVain()
        try writer.ledger.store.checkpoint()
        try writer.commit([.small, .several])
        try writer.restart(closes: true)
        try writer.commit([.several])
        try writer.ship()
        try writer.commit([.small, .several])
        try writer.commitWithoutSync(.ordered)
        try writer.restart(closes: false)
        try writer.commit([.small])
        try writer.ship()
        try writer.commitWithoutSync(.ordered)
        try writer.restart(closes: true)
        return writer
    }

    private func commits(_ objects: any ObjectStore) throws -> [UInt64] {
        let points = try Replica(objects).restorePoints()
        #expect(points.count <= 1)
        #expect(points.allSatisfy { $0.findings == [] })
        return points.flatMap { $0.runs.flatMap { Array($0.commits) } }
    }

    private func replicator(_ store: Store, _ objects: any ObjectStore) throws -> Replicator {
        var options = Replicator.Options()
        options.objectBytes = 3000
        options.now = { 1_000_000 }
        return try Replicator(store, to: objects, options: options)
    }

    /// What is compared after a power cut.
    private struct Extent {
        /// Restores every commit, not two of them.
        var restoresAll = false
        /// Commits and ships once more.
        var goesOn = true
        /// For the salts of the log, which differ from one opening to the next.
        var seed: UInt64
    }

    /// Opens and ships what a power cut has left, and compares store and objects with the history.
    ///
    /// - Returns: what the opening and the shipping recorded.
    private func reopen(_ cut: Cut, _ ledger: Ledger, _ extent: Extent, _ random: inout SplitMix) throws -> Recorder {
        let comment = Comment(rawValue: cut.comment)
        let disk = SimulatedDisk(cut.image, seed: extent.seed)
        let recorder = Recorder(disk, cut.moment)
        let old = cut.moment.objects.isEmpty ? [] : try commits(recorder)
        disk.startRecording()
        var options = ledger.options
        options.fileSystem = disk
        options.entropy = SeededEntropy(seed: extent.seed)
        let store = try Store(at: Ledger.path, options: options)
        let newest = try store.read { $0.commitNumber }
        #expect(newest >= cut.moment.acknowledged, comment)
        #expect(newest >= old.last ?? 0, comment)
        let state = try #require(ledger.states[newest], comment)
        #expect(try LedgerState(reading: store) == state, comment)
        // A commit that was shown lasts.
        recorder.acknowledge(newest)
        let replicator = try replicator(store, recorder)
        #expect(try replicator.ship().commit == newest, comment)
        let found = try commits(recorder)
        #expect(found.last == newest, comment)
        #expect(Set(old).isSubset(of: found), comment)
        let replica = try Replica(recorder)
        for commit in extent.restoresAll ? found : [newest, found[random.below(found.count)]] {
            let restored = try ledger.restored(commit, from: replica)
            #expect(restored == ledger.states[commit], "\(cut.comment): commit \(commit)")
        }
        if extent.goesOn {
            var next = state
            next.numbers[7] = [1, 2, 3]
            try store.write { tx in
                let numbers = try tx.view.tree(named: "numbers") ?? tx.createTree(named: "numbers", keys: .integer)
                try tx.put([1, 2, 3], for: 7, in: numbers)
            }
            #expect(try replicator.ship().commit == newest + 1, comment)
            #expect(try ledger.restored(newest + 1, from: replica) == next, comment)
            #expect(try store.verify().findings == [], comment)
        }
        try store.close()
        return recorder
    }

    /// The power goes at any call, and for some of the images again while the next process opens the file, ships, or
    /// closes.
    @Test func aPowerCutAtAnyCallLosesNothingThatWasAcknowledgedOrShipped() throws {
        let writer = try history()
        let ledger = writer.ledger
        var random = SplitMix(seed: 151)
        let cuts = writer.recorder.cuts(&random)
        #expect(cuts.count > 200)
        let chosen = CallPairs.isFull ? cuts : Array(cuts.shuffled(using: &random).prefix(128))
        for (index, cut) in chosen.enumerated() {
            let isCutAgain = index % 8 == 0
            let seed = 1000 + 16 * UInt64(index)
            let extent = Extent(restoresAll: index % 40 == 1, goesOn: !isCutAgain, seed: seed)
            let recorder = try reopen(cut, ledger, extent, &random)
            guard isCutAgain else { continue }
            for (place, again) in recorder.cuts(&random).shuffled(using: &random).prefix(3).enumerated() {
                var second = again
                second.comment = "\(cut.comment), then \(again.comment)"
                _ = try reopen(second, ledger, Extent(seed: seed + 1 + UInt64(place)), &random)
            }
        }
    }

    /// The next process reads commits of a killed one from the system's cache, and makes them durable in a checkpoint. Their frames must be
    /// durable, too: without them the log does not continue what was shipped, and the store would be fenced from its own branch.
    @Test func thePowerCutAfterAKilledProcessLeavesTheLogThatIsNotShipped() throws {
        let writer = try Writer(seed: 152)
        try writer.ship()
        let shipped = try writer.ledger.commitNumber()
        try writer.commitWithoutSync(.ordered)
        try writer.restart(closes: false)
        var random = SplitMix(seed: 152)
        let newest = try writer.ledger.commitNumber()
        #expect(newest == shipped + 3)
        let moment = Moment(objects: writer.recorder.objects.objects, acknowledged: newest)
        for image in writer.recorder.disk.crashState().images(.structured) {
            let cut = Cut(image: image, moment: moment, comment: "after recovery")
            _ = try reopen(cut, writer.ledger, Extent(restoresAll: true, seed: 9), &random)
        }
    }
}
