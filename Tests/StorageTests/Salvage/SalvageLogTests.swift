import MakoStorage
import MakoTestSupport
import Testing

/// The salvage of the log: all of it, a part with a report, or content that only the log has.
@Suite struct SalvageLogTests {
    private func log(of sample: SalvageSample) throws -> [String] {
        let prefix = SalvageSample.path + "-wal-"
        return sample.image.files.keys.filter { $0.hasPrefix(prefix) }.sorted {
            (Int($0.dropFirst(prefix.count)) ?? 0) < (Int($1.dropFirst(prefix.count)) ?? 0)
        }
    }

    @Test func whatTheLogRemovedIsRemovedAgain() throws {
        let sample = try SalvageSample(
            closing: false,
            """
            options log 1048576
            tree t int
            put t 1..300 90b
            tree u bytes
            put u 1..100 50b
            tree w int
            put w 1..50 20b
            checkpoint
            deleterange t 50 120
            deleteall u
            deleteall w
            put w 7 20b
            delete u 3
            """)
        let outcome = try SalvageSample.salvage(sample.image)
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.isComplete)
    }

    @Test func progressIsReportedForTheLogToo() throws {
        let sample = try SalvageSample(
            closing: false, "options log 1048576\ntree t int\n" + String(repeating: "put t 5 20b\n", count: 600))
        var notified: [SalvageProgress] = []
        let report = try Store.salvage(
            from: SalvageSample.path, to: SalvageSample.target,
            options: SalvageSample.options(SimulatedDisk(sample.image)), progress: { notified.append($0) })
        #expect(report.logCommits == 601)
        let replayed = notified.filter { $0.phase == .replaying }
        #expect(replayed.map(\.done) == [256, 512])
        #expect(replayed.allSatisfy { $0.total == nil })
    }

    /// The directory and all leaves of the tree are lost: its content in the log is recovered, without a name.
    @Test func aTreeThatOnlyTheLogKnowsComesBack() throws {
        let sample = try SalvageSample(
            closing: false, "tree t int\nput t 1..20 50b\nreopen\nput t 100..140 50b\nput t 5 20b")
        let outcome = try SalvageSample.salvage(sample.damaged(sample.directoryPages + sample.integerLeaves))
        let tree = try #require(outcome.found.trees["tree 1"])
        #expect(tree.count == 42)
        for key in UInt64(100)...140 { #expect(tree[.integer(key)] == sample.latest.trees["t"]?[.integer(key)]) }
        #expect(outcome.report.trees.count == 1)
    }

    /// The log is cut in its last segment, after frames and between them: commits that were acknowledged may be missing.
    @Test func aCutSegmentIsReported() throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 1048576\ntree t int\n" + (1...40).map { "put t \($0) 500b" }.joined(separator: "\n"))
        let segment = try #require(try log(of: sample).last)
        for size in [12 << 10, 512 << 10] {
            var image = sample.image
            image.files[segment]?.resize(to: UInt64(size))
            let outcome = try SalvageSample.salvage(image)
            #expect(outcome.report.logFailure?.contains("is cut short: \(size) of ") == true)
            #expect(!outcome.report.isComplete && outcome.report.logCommits > 0)
            #expect((outcome.found == sample.latest) == (size > 100_000))
        }
    }

    /// A commit too large for the log is recorded only in a checkpoint; the power fails at each moment of it.
    @Test func aLargeCommitIsThereOrNotAtAll() throws {
        let disk = SimulatedDisk()
        var options = SalvageSample.options(disk)
        options.logSegmentBytes = 1
        let store = try Store(at: SalvageSample.path, options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in UInt64(0)..<5 { try store.write { try $0.put([1], for: key, in: tree) } }
        let before = try store.read { try ModelStore(reading: $0) }
        disk.startRecording()
        try store.write { tx in
            for key in UInt64(0)..<200 { try tx.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree) }
        }
        let after = try store.read { try ModelStore(reading: $0) }
        var (old, new, barriers) = (0, 0, 0)
        for point in disk.crashPoints() {
            let outcome = try SalvageSample.salvage(point.state.image([]))
            if outcome.found == before { old += 1 }
            if outcome.found == after { new += 1 }
            if let reason = outcome.report.logFailure {
                #expect(reason.hasSuffix("was kept in a checkpoint that cannot be read"))
                #expect(outcome.found == before)
                barriers += 1
            }
        }
        #expect(old + new == disk.crashPoints().count && old > 0 && new > 0 && barriers > 0)
        disk.cutPower()
        withExtendedLifetime(store) {}
    }

    private enum Beginning: CaseIterable { case header, frame, foreign }

    /// Neither the metas nor the oldest part of the log can be read: the rest of the log counts all the same.
    @Test(arguments: Beginning.allCases) private func theLogMayHaveLostItsBeginning(_ lost: Beginning) throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 32768\ntree t int\nput t 1..10 50b\ncheckpoint\n"
                + (0..<60).map { "put t \($0 * 4)..\($0 * 4 + 3) 500b" }.joined(separator: "\n"))
        let segments = try log(of: sample)
        #expect(segments.count > 2)
        var image = sample.damaged(2..<6)
        switch lost {
        case .header: image.files[segments[0]]?.replace(at: 0, with: [UInt8](repeating: 0x5a, count: 64))
        case .frame:
            image.files[segments[0]]?.replace(at: UInt64(4096 + 60), with: [1, 2, 3, 4, 5, 6])
        case .foreign:
            let disk = SimulatedDisk()
            var options = SalvageSample.options(disk)
            options.logSegmentBytes = 32768
            options.entropy = SeededEntropy(seed: 77)
            let other = try Store(at: SalvageSample.path, options: options)
            for _ in 0..<60 where disk.contents(of: segments[0]) == nil {
                try other.write { tx in
                    let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
                    try tx.put([1], for: 1, in: tree)
                }
                try other.checkpoint()
            }
            image.files[segments[0]] = ByteImage(try #require(disk.contents(of: segments[0])))
            disk.cutPower()
            withExtendedLifetime(other) {}
        }
        let outcome = try SalvageSample.salvage(image)
        #expect(sample.strangers(in: outcome.found, among: sample.states).isEmpty)
        #expect(outcome.report.logCommits > 3)
        #expect(!outcome.report.isCertain)
        for key in UInt64(236)..<240 {
            #expect(outcome.found.trees["t"]?[.integer(key)] == sample.latest.trees["t"]?[.integer(key)])
        }
    }

    /// A damaged log still names the trees up to the damage.
    @Test func aDamagedLogStillHasNames() throws {
        let sample = try SalvageSample(
            closing: false,
            """
            options log 1048576
            tree t int
            put t 1..30 50b
            checkpoint
            tree u bytes
            put u 1..10 50b
            put u 20..30 50b
            put t 50..60 50b
            put t 70..80 50b
            """)
        let segment = try #require(try log(of: sample).last)
        var image = sample.damaged(sample.directoryPages)
        let content = try #require(image.files[segment]).bytes
        let value = try #require(sample.latest.trees["u"]?[.bytes(ScriptRun.bytes(20, length: 0))])
        let place = try #require(content.firstRange(of: value)?.lowerBound)
        image.files[segment]?.replace(at: UInt64(place), with: [content[place] ^ 1])
        let outcome = try SalvageSample.salvage(image)
        #expect(outcome.report.logFailure?.contains("damaged") == true)
        #expect(sample.states.contains(outcome.found), "the state of a moment, under its names")
        #expect(outcome.found.trees["u"]?.count == 10)
    }

    /// An operation that was written for a tree of other keys, under checksums that are right: it alone is left out.
    @Test func anOperationThatFitsNoTreeIsLeftOut() throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 1048576\ntree t int\ntree u bytes\ncheckpoint\ncheckpoint\nput t 5 20b\nput t 6 20b\nput u 7 20b"
        )
        let segment = try #require(try log(of: sample).last)
        var bytes = try #require(sample.image.files[segment]).bytes
        // The entry 5 put into tree 1.
        let operation: [UInt8] = [1, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
        let place = try #require(bytes.firstRange(of: operation)?.lowerBound)
        bytes[place + 1] = 2
        ForgedChecksums.seal(log: &bytes)
        var image = sample.image
        image.files[segment] = ByteImage(bytes)
        let outcome = try SalvageSample.salvage(image)
        var expected = sample.latest
        _ = expected.delete(.integer(5), in: "t")
        #expect(outcome.found.difference(from: expected) == nil)
        #expect(outcome.report.logFailure == nil)
    }
}
