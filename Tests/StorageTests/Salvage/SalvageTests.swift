import MakoTestSupport
import Testing

@testable import MakoStorage

/// A salvage recovers the content of intact pages, invents nothing, and reports what is lost.
@Suite struct SalvageTests {
    private static let path = SalvageSample.path
    private static let target = SalvageSample.target

    // MARK: Nothing lost

    @Test(arguments: [true, false]) func anUndamagedDatabaseIsGivenBackWhole(closing: Bool) throws {
        let sample = try SalvageSample(closing: closing)
        let outcome = try SalvageSample.salvage(sample.image)
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.isComplete)
        #expect(outcome.report.damagedPages == 0)
        #expect(outcome.report.findings.isEmpty)
        #expect(outcome.report.records == UInt64(sample.latest.trees.values.reduce(0) { $0 + $1.count }))
        #expect((outcome.report.logCommits > 0) == !closing)
    }

    @Test func anEmptyDatabaseGivesAnEmptyOne() throws {
        let outcome = try SalvageSample.salvage(SalvageSample(closing: true, "tree t int").image)
        #expect(outcome.found.trees["t"]?.count == 0)
        #expect(outcome.report.isComplete)
    }

    @Test func progressIsReported() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        var notified: [SalvageProgress] = []
        let disk = SimulatedDisk(sample.damaged(layout.roots))
        _ = try Store.salvage(
            from: Self.path, to: Self.target, options: SalvageSample.options(disk), progress: { notified.append($0) })
        #expect(notified.contains { $0.phase == .gathering && $0.total == UInt64(sample.pageCount) })
        #expect(notified.allSatisfy { $0.done <= $0.total ?? .max })
    }

    // MARK: Pages here and there

    /// A hundredth of all pages is destroyed.
    @Test(arguments: SalvageSample.Damage.allCases) func intactPagesAreRecovered(
        _ damage: SalvageSample.Damage
    ) throws {
        for closing in [true, false] {
            let sample = try SalvageSample(closing: closing)
            let layout = try sample.layout()
            var intact = 0
            var recovered = 0
            for seed in 0..<UInt64(TestEffort.isFull ? 500 : 10) {
                var random = SplitMix(seed: seed)
                let pages = Set((0..<max(1, sample.pageCount / 100)).map { _ in random.below(sample.pageCount) })
                let image = sample.damaged(pages, damage, seed: seed)
                let outcome = try SalvageSample.salvage(image)
                let states = outcome.report.isCertain ? [layout.checkpoint, sample.latest] : sample.states
                #expect(sample.strangers(in: outcome.found, among: states).isEmpty, "seed \(seed)")
                for place in layout.places where pages.isDisjoint(with: place.pages) {
                    let wanted = sample.latest.trees[place.tree]?[place.key]
                    let got = outcome.found.trees[place.tree]?[place.key]
                    intact += 1
                    if got == wanted { recovered += 1 }
                }
            }
            #expect(Double(recovered) >= 0.999 * Double(intact), "\(recovered) of \(intact)")
        }
    }

    @Test func aLostLeafIsReportedByItsKeys() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let place = try #require(layout.places.first { $0.tree == "t" && $0.key == .integer(1502) })
        let lost = layout.places.filter { $0.pages[0] == place.pages[0] }
        let outcome = try SalvageSample.salvage(sample.damaged([place.pages[0]]))
        let tree = try #require(outcome.report.trees.first { $0.name == "t" })
        #expect(tree.missing == UInt64(lost.count))
        #expect(tree.damagedRanges.count == 1)
        #expect(tree.damagedRanges.first?.contains(.integer(1502)) == true)
        #expect(!tree.isComplete)
        #expect(outcome.report.damagedPages == 1)
        #expect(outcome.report.isCertain)
        var expected = sample.latest
        for place in lost { _ = expected.delete(place.key, in: "t") }
        #expect(outcome.found == expected)
    }

    @Test func aValueThatCannotBeReadIsReportedByItsKey() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let place = try #require(layout.places.first { $0.key == .integer(3000) })
        let outcome = try SalvageSample.salvage(sample.damaged([place.pages[2]], .bit))
        let tree = try #require(outcome.report.trees.first { $0.name == "t" })
        #expect(tree.unreadable == 1)
        #expect(tree.unreadableKeys == [.integer(3000)])
        #expect(tree.missing == 0)
        var expected = sample.latest
        _ = expected.delete(.integer(3000), in: "t")
        #expect(outcome.found == expected)
    }

    /// The value's pages hold another value of the same tree, under a checksum that is right.
    @Test func aValueIsNotTakenForAnother() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let first = try #require(layout.places.first { $0.key == .integer(3000) })
        let other = sample.changing([first.pages[1]]) { page in
            Page(page).writeID -= 5
            page.storeBytes(of: 77, toByteOffset: 100, as: UInt8.self)
        }
        let outcome = try SalvageSample.salvage(other.image)
        #expect(outcome.found.trees["t"]?[.integer(3000)] == nil)
        #expect(outcome.report.trees.first { $0.name == "t" }?.unreadableKeys == [.integer(3000)])
    }

    // MARK: What holds the file together

    private enum Part: CaseIterable { case header, metas, directory, bitmaps, roots }

    /// Each of the parts alone, and every combination of them. All leaves are intact, so every record comes back.
    @Test(arguments: [true, false]) func anyOfTheFixedPartsMayBeLost(closing: Bool) throws {
        let sample = try SalvageSample(closing: closing)
        let layout = try sample.layout()
        for choice in 1..<1 << Part.allCases.count {
            let lost = Part.allCases.enumerated().filter { choice & 1 << $0.offset != 0 }.map(\.element)
            let pages = lost.flatMap { part in
                switch part {
                case .header: [0, 1]
                case .metas: [2, 3, 4, 5]
                case .directory: layout.directory
                case .bitmaps: [6, 7, 8]
                case .roots: layout.roots
                }
            }
            let damage = SalvageSample.Damage.allCases[choice % 2]
            let image = sample.damaged(pages, damage, seed: UInt64(choice))
            if closing, lost.contains(.header) {
                #expect(throws: StorageError.identityLost(path: Self.path)) { try SalvageSample.salvage(image) }
                continue
            }
            let outcome = try SalvageSample.salvage(image)
            #expect(!outcome.report.findings.isEmpty || outcome.report.damagedPages > 0)
            expectEverything(outcome, of: sample, "\(lost), \(damage)")
            // The bitmaps show it, together with the directory or a meta page that names the current ones.
            let isKnown = !lost.contains(.bitmaps) && !lost.contains(.metas)
            if isKnown || lost == [.bitmaps] || lost == [.header] { #expect(outcome.report.isCertain, "\(lost)") }
        }
    }

    /// The latest state is complete; anything else is older, and only where the report permits it.
    private func expectEverything(_ outcome: SalvageSample.Outcome, of sample: SalvageSample, _ what: String) {
        let named = Dictionary(uniqueKeysWithValues: outcome.report.trees.map { ($0.number, $0.name) })
        // Trees are numbered in the order of creation: t, u, gone.
        let names = [named[1] ?? "": "t", named[2] ?? "": "u", named[3] ?? "": "gone"]
        for (name, original) in names where original != "gone" {
            for (key, value) in sample.latest.trees[original]?.entries ?? []
            where outcome.found.trees[name]?[key] != value {
                Issue.record("\(what): \(original) \(key) is missing or wrong")
                return
            }
        }
        let states = outcome.report.isCertain ? [sample.latest] : sample.states
        let strangers = sample.strangers(in: outcome.found, among: states, names: names)
        #expect(strangers.isEmpty, "\(what): \(strangers.count), \(strangers.prefix(3))")
        if outcome.report.isCertain { #expect(named[3] == nil, "\(what): a dropped tree came back") }
    }

    @Test func leavesBelowLostInnerPagesAreFound() throws {
        for closing in [true, false] {
            let sample = try SalvageSample(closing: closing)
            let layout = try sample.layout()
            let outcome = try SalvageSample.salvage(sample.damaged(layout.inner))
            #expect(outcome.found.difference(from: sample.latest) == nil)
            #expect(outcome.report.isCertain)
            #expect(outcome.report.damagedPages == layout.inner.count)
            #expect(outcome.report.trees.allSatisfy { $0.missing == 0 && !$0.damagedRanges.isEmpty })
        }
    }

    @Test func onlyTheOlderCheckpointIsLeft() throws {
        let sample = try SalvageSample(closing: false)
        let newest = try DataFile.open(SimulatedDisk(sample.image).open(Self.path, .readOnly)).readMetas()[0]
        let slot = Int(Meta.page(number: newest.number, copy: 0))
        let outcome = try SalvageSample.salvage(sample.damaged([slot, slot + 1]))
        #expect(outcome.found == sample.latest, "the log begins at the older checkpoint")
        #expect(outcome.report.isCertain)
    }

    @Test func treesAreRecoveredByTheDirectoryAlone() throws {
        let sample = try SalvageSample(closing: true)
        let outcome = try SalvageSample.salvage(sample.damaged(2..<9))
        #expect(outcome.found == sample.latest)
        #expect(!outcome.report.isCertain)
        #expect(outcome.report.trees.allSatisfy { $0.doubtful == 0 && $0.missing == 0 })
    }

    @Test func namesComeFromAnOlderDirectory() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let outcome = try SalvageSample.salvage(sample.damaged(layout.directory))
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.trees.allSatisfy { $0.hasItsName && $0.missing == nil })
    }

    @Test func treesWithoutAnyNameAreNumbered() throws {
        let sample = try SalvageSample(closing: true, "tree t int\nput t 1..300 50b")
        let outcome = try SalvageSample.salvage(sample.damaged(sample.pages(of: .directory)))
        #expect(outcome.report.trees.map(\.name) == ["tree 1"])
        #expect(outcome.report.trees.first?.hasItsName == false)
        #expect(outcome.found.trees["tree 1"] == sample.latest.trees["t"])
    }

    // MARK: The log

    @Test func theLogIsAppliedAsFarAsItHolds() throws {
        let sample = try SalvageSample(closing: false)
        let log = try #require(sample.image.files.keys.filter { $0.contains("-wal-") }.max())
        let content = sample.image.files[log] ?? ByteImage()
        var lengths: Set<Int> = []
        for cut in stride(from: 0, to: Int(content.size), by: 4096) {
            var shorter = sample.image
            shorter.files[log]?.resize(to: UInt64(cut))
            let outcome = try SalvageSample.salvage(shorter)
            let state = sample.states.lastIndex(of: outcome.found)
            #expect(state != nil, "cut at \(cut): no state that ever was")
            lengths.insert(outcome.report.logCommits)
        }
        #expect(lengths.count > 2)
    }

    @Test func aLogThatIsMissingIsReported() throws {
        var sample = try SalvageSample(closing: false)
        for name in sample.image.files.keys where name.contains("-wal-") { sample.image.files[name] = nil }
        let outcome = try SalvageSample.salvage(sample.image)
        #expect(outcome.report.logFailure != nil)
        #expect(!outcome.report.isComplete)
        #expect(try outcome.found == sample.layout().checkpoint)
    }

    @Test func aCommitThatIsOnlyInALostCheckpointStopsTheLog() throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 32768\ntree t int\nput t 1..20 50b\ncheckpoint\nput t 100..600 50b\nput t 30 50b")
        let outcome = try SalvageSample.salvage(sample.damaged(2..<6))
        #expect(outcome.found == sample.latest, "the directory names it, and the log continues behind its barrier")
        #expect(!outcome.report.isCertain)
    }

    /// Without a meta the log is made again from where it begins, over a state that has most of it already.
    @Test func theLogMayBeginBeforeTheCheckpoint() throws {
        let sample = try SalvageSample(
            closing: false,
            """
            options log 1048576
            tree a int
            put a 1..50 40b
            checkpoint
            put a 60 40b
            drop a
            tree a bytes
            put a 1..300 40b
            delete a 20..30
            checkpoint
            put a 25 40b
            tree b int
            put b 1..10 40b
            """)
        let outcome = try SalvageSample.salvage(sample.damaged(2..<6))
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.checkpointCommit == nil)
        #expect(outcome.report.logCommits > 3)
    }

    // MARK: The file

    @Test func aFileCutShortGivesWhatIsLeft() throws {
        let sample = try SalvageSample(closing: false)
        let layout = try sample.layout()
        for pages in stride(from: 0, through: sample.pageCount, by: TestEffort.isFull ? 1 : 13) {
            var file = sample.file
            file.resize(to: UInt64(pages * pageBytes))
            let outcome: SalvageSample.Outcome
            do { outcome = try SalvageSample.salvage(sample.image(with: file)) } catch let error as StorageError {
                // Nothing of the file itself is left.
                #expect(pages <= 2, "\(pages): \(error)")
                continue
            }
            guard pages > 8 else { continue }
            let states = outcome.report.isCertain ? [layout.checkpoint, sample.latest] : sample.states
            #expect(sample.strangers(in: outcome.found, among: states).isEmpty, "\(pages) pages")
            guard outcome.report.isCertain else { continue }
            for place in layout.places where place.pages.allSatisfy({ $0 < pages }) {
                let wanted = sample.latest.trees[place.tree]?[place.key]
                if outcome.found.trees[place.tree]?[place.key] != wanted {
                    Issue.record("\(pages) pages: \(place.tree) \(place.key)")
                    break
                }
            }
        }
    }

    /// The list of trees and all their pages are cut off: no tree is found, which does not mean that there was none.
    @Test func aFileWithoutItsListOfTreesIsNotComplete() throws {
        let sample = try SalvageSample(closing: true)
        var file = sample.file
        file.resize(to: UInt64(9 * pageBytes))
        let report = try SalvageSample.salvage(sample.image(with: file)).report
        #expect(report.trees.isEmpty && !report.knowsAllTrees && !report.isComplete)
    }

    @Test func whatIsNoDatabaseIsRefused() throws {
        let disk = SimulatedDisk(
            DiskImage(files: [
                "d/empty.mako": ByteImage(), "d/text.mako": ByteImage([UInt8](repeating: 65, count: 50_000)),
            ]))
        for name in ["d/empty.mako", "d/text.mako"] {
            #expect(throws: StorageError.notADatabase(path: name, reason: "nothing in it looks like one")) {
                try Store.salvage(from: name, to: Self.target, options: SalvageSample.options(disk))
            }
        }
        #expect(throws: StorageError.notFound(path: "d/none.mako")) {
            try Store.salvage(from: "d/none.mako", to: Self.target, options: SalvageSample.options(disk))
        }
        #expect(!disk.exists(Self.target))
    }

    @Test func aDatabaseThatIsOpenIsLeftAlone() throws {
        let disk = SimulatedDisk(try SalvageSample(closing: true).image)
        let options = SalvageSample.options(disk)
        let store = try Store(at: Self.path, options: options)
        #expect(throws: StorageError.alreadyOpen(path: Self.path)) {
            try Store.salvage(from: Self.path, to: Self.target, options: options)
        }
        try store.close()
    }

    @Test func nothingIsWrittenOver() throws {
        let sample = try SalvageSample(closing: true)
        let disk = SimulatedDisk(sample.image)
        #expect(throws: StorageError.self) {
            try Store.salvage(from: Self.path, to: Self.path, options: SalvageSample.options(disk))
        }
        #expect(disk.settledImage().files[Self.path] == sample.file)
    }

    @Test func aSalvageThatWasCutOffIsBegunAnew() throws {
        let sample = try SalvageSample(closing: true)
        let disk = SimulatedDisk(sample.image)
        disk.inject(.crashBefore, atCall: disk.callCount + 60)
        #expect(throws: StorageError.self) {
            try Store.salvage(from: Self.path, to: Self.target, options: SalvageSample.options(disk))
        }
        #expect(disk.hasCrashed)
        disk.restart(on: disk.crashState().image([]))
        #expect(!disk.exists(Self.target))
        let outcome = try SalvageSample.salvage(disk.settledImage())
        #expect(outcome.found == sample.latest)
    }

    /// At every call that needs space: a typed error, and nothing under the new name.
    @Test func aFullDiskLeavesNothing() throws {
        let sample = try SalvageSample(closing: false)
        let calls = SimulatedDisk(sample.image)
        _ = try Store.salvage(from: Self.path, to: Self.target, options: SalvageSample.options(calls))
        let places = calls.callLog.indices.filter { calls.callLog[$0].needsSpace }
        var refused = 0
        for call in places where TestEffort.isFull || call % 5 == 0 || call > calls.callLog.count - 30 {
            let disk = SimulatedDisk(sample.image)
            disk.inject(.staysFull, atCall: call)
            guard let error = Self.refusal(disk) else { continue }
            refused += 1
            if case .diskFull = error {} else { Issue.record("call \(call): \(error)") }
            let left = disk.settledImage().files
            #expect(left[Self.target] == nil, "call \(call)")
            #expect(left.keys.allSatisfy { sample.image.files[$0] != nil }, "call \(call): \(left.keys)")
        }
        #expect(refused > 10)
    }

    private static func refusal(_ disk: SimulatedDisk) -> StorageError? {
        do throws(StorageError) {
            _ = try Store.salvage(from: path, to: target, options: SalvageSample.options(disk))
            return nil
        } catch { return error }
    }

    /// A device that refuses to read some of the file.
    @Test func pagesThatTheDeviceRefusesAreLostAlone() throws {
        let sample = try SalvageSample(closing: true)
        let whole = SimulatedDisk(sample.image)
        _ = try Store.salvage(from: Self.path, to: Self.target, options: SalvageSample.options(whole))
        let reads = whole.callLog.indices.filter { whole.callLog[$0] == .read }
        var random = SplitMix(seed: 3)
        for _ in 0..<20 {
            let disk = SimulatedDisk(sample.image)
            disk.inject(.inputOutput, atCall: reads[6 + random.below(reads.count - 6)])
            let report = try? Store.salvage(from: Self.path, to: Self.target, options: SalvageSample.options(disk))
            guard let report else { continue }
            #expect(report.records > 1000)
        }
    }

    // MARK: Nonsense

    /// Pages that hold nonsense under a right checksum, as no accident makes them: a sound new database or a typed
    /// error, and never a trap. `SalvageSample.salvage` throws a `Disagreement` if the new database has findings or the
    /// old file was written to.
    @Test(arguments: 0..<3) func wellFormedGarbageIsSurvived(part: Int) throws {
        let sample = try SalvageSample(closing: part == 0)
        let forger = try Forger(of: sample.image)
        var random = SplitMix(seed: UInt64(part) &+ 177)
        for _ in 0..<(TestEffort.isFull ? 1000 : 12) {
            var file = sample.file
            for _ in 0..<1 + random.below(12) {
                let page = random.chance(30) ? random.below(10) : random.below(sample.pageCount)
                forger.garble(&file, page: page, &random)
            }
            do { _ = try SalvageSample.salvage(sample.image(with: file)) } catch is StorageError {}
        }
    }

    // MARK: Which leaf counts

    @Test func theNewestLeafDecidesOnEachKey() {
        var random = SplitMix(seed: 8)
        for _ in 0..<500 {
            let leaves = (0..<1 + random.below(12)).map { number in
                let low = random.below(60)
                let high = random.chance(8) ? nil : low + 1 + random.below(20)
                return LeafSweep.Leaf(
                    page: UInt64(number), writeID: random.next() % 1000,
                    range: .init(
                        lower: random.chance(8) ? nil : .integer(UInt64(low)), upper: high.map { .integer(UInt64($0)) })
                )
            }
            guard Set(leaves.map(\.writeID)).count == leaves.count else { continue }
            let segments = LeafSweep.segments(leaves)
            for key in 0..<90 {
                let key = SalvageReport.Key.integer(UInt64(key))
                let wanted = leaves.filter { $0.range.contains(key) }.max { $0.writeID < $1.writeID }?.page
                let found = segments.filter { $0.range.contains(key) }.map(\.page)
                #expect(found == (wanted.map { [$0] } ?? []), "\(leaves) at \(key): \(segments)")
            }
        }
    }
}
