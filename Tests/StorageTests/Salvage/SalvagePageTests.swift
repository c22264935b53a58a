import MakoTestSupport
import Testing

@testable import MakoStorage

/// Pages that are lost in combinations, or have false content with a valid checksum: the content of all other pages is
/// recovered.
@Suite struct SalvagePageTests {
    /// Expects the content of all undamaged pages.
    private func expectAll(
        _ outcome: SalvageSample.Outcome, of sample: SalvageSample, besides lost: Set<Int> = [], _ what: String = ""
    ) throws {
        let names = Dictionary(uniqueKeysWithValues: outcome.report.trees.map { ($0.number, $0.name) })
        let numbers = ["t": UInt32(1), "u": 2]
        for place in try sample.layout().places where lost.isDisjoint(with: place.pages) {
            let name = numbers[place.tree].flatMap { names[$0] } ?? place.tree
            if outcome.found.trees[name]?[place.key] != sample.latest.trees[place.tree]?[place.key] {
                Issue.record("\(what): \(place.tree) \(place.key) is missing or wrong")
                return
            }
        }
    }

    // MARK: Bitmaps

    /// One bitmap of three says which pages are in use; without a directory the right one is unknown.
    @Test func anyBitmapMayBeLostWithTheDirectory() throws {
        let sample = try SalvageSample(closing: true)
        let directory = try sample.layout().directory
        for page in 6..<9 {
            let outcome = try SalvageSample.salvage(sample.damaged(directory + [page]))
            try expectAll(outcome, of: sample, "without page \(page)")
            let strangers = sample.strangers(
                in: outcome.found, among: outcome.report.isCertain ? [sample.latest] : sample.states)
            #expect(strangers.isEmpty, "without page \(page): \(strangers.prefix(3))")
        }
    }

    /// The disk lost the write of a bitmap: an older one is in its place, intact. It does not say what is in use now.
    @Test func anOlderBitmapIsNotBelieved() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let stale = sample.changing([layout.bitmap]) { page in
            Page(page).writeID -= 1
            for word in 0..<SpaceMap.wordsPerRegion {
                page.storeBytes(of: 0, toByteOffset: Page.bodyOffset + word * 8, as: UInt64.self)
            }
        }
        let outcome = try SalvageSample.salvage(stale.damaged(layout.inner))
        try expectAll(outcome, of: sample)
        #expect(!outcome.report.isCertain)
    }

    // MARK: Directories

    /// More trees than one page of the directory can list.
    private func manyTrees() throws -> SalvageSample {
        let names = (1...150).map { "t\($0)" + String(repeating: "x", count: 60) }
        return try SalvageSample(
            closing: true,
            "begin\n" + names.map { "tree \($0) int\nput \($0) 1..3 20b" }.joined(separator: "\n") + "\ncommit")
    }

    @Test func aDirectoryOfSeveralPagesIsFoundBySearching() throws {
        let sample = try manyTrees()
        let directory = try sample.layout().directory
        #expect(directory.count > 2)
        let outcome = try SalvageSample.salvage(sample.damaged(2..<6))
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.trees.allSatisfy { $0.hasItsName })
        // Without one of its pages the rows are still there.
        for metas in [[], [2, 3, 4, 5]] as [[Int]] {
            let cut = try SalvageSample.salvage(sample.damaged(metas + [directory[1]]))
            #expect(cut.report.records == 450, "without \(metas)")
            #expect(cut.report.trees.map(\.records) == [UInt64](repeating: 3, count: 150))
        }
    }

    // MARK: Trees

    /// Of a tree of three levels two inner nodes are lost, and the bitmap; older versions of its leaves lie about.
    @Test func severalRangesOfATreeMayBeOpen() throws {
        let sample = try SalvageSample(
            closing: true,
            "options cache 16777216\ntree t int\nput t 2..6000/2 700b\ncheckpoint\nput t 1..5999/2 700b\ncheckpoint\nput t 7000 10b"
        )
        let layout = try sample.layout()
        let inner = layout.inner.filter { !layout.roots.contains($0) }
        #expect(inner.count >= 4)
        let outcome = try SalvageSample.salvage(sample.damaged([inner[0], inner[2], 6, 7, 8]))
        #expect(outcome.found.difference(from: sample.latest) == nil)
        #expect(outcome.report.trees.first?.damagedRanges.count == 2)
        #expect(!outcome.report.isCertain)
    }

    @Test func theLargestKeyComesBackToo() throws {
        let sample = try SalvageSample(
            closing: true, "tree t int\nput t 1..30 50b\nput t \(UInt64.max) 50b")
        let outcome = try SalvageSample.salvage(sample.damaged(Array(2..<9) + sample.pages(of: .directory)))
        #expect(outcome.found.trees["tree 1"] == sample.latest.trees["t"])
    }

    /// An inner node that names the same leaf twice: its records are taken once, and what it does not name is missing.
    @Test func aLeafWithTwoParentsIsTakenOnce() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let root = try #require(layout.roots.first)
        var forgotten = 0
        let twice = sample.changing([root]) { page in
            forgotten = Int(IntegerLayout.child(Page(page), at: 2).page)
            IntegerNode.children(page)[2] = IntegerNode.children(page)[1]
        }
        let outcome = try SalvageSample.salvage(twice.image)
        try expectAll(outcome, of: sample, besides: [forgotten])
        #expect(sample.strangers(in: outcome.found, among: [sample.latest]).isEmpty)
        let lost = layout.places.filter { $0.pages[0] == forgotten }.count
        #expect(lost > 0 && outcome.report.trees.first?.missing == UInt64(lost))
        #expect(outcome.report.findings.contains { $0.contains("two pages refer to it") })
    }

    /// The descriptor of a large value contradicts itself: the salvage reports the key and recovers the rest of the
    /// leaf.
    @Test func aValueThatIsSaidToLieNowhereIsUnreadable() throws {
        let sample = try SalvageSample(closing: true)
        let layout = try sample.layout()
        let place = try #require(layout.places.first { $0.key == .integer(3000) })
        let broken = sample.changing([place.pages[0]]) { page in
            for slot in 0..<Page(page).count where IntegerNode.keys(page)[slot] == 3000 {
                UnsafeMutableRawPointer(mutating: IntegerNode.record(page, slot).bytes)
                    .storeBytes(of: UInt32.max, toByteOffset: 16, as: UInt32.self)
            }
        }
        let outcome = try SalvageSample.salvage(broken.image)
        #expect(outcome.report.trees.first { $0.name == "t" }?.unreadableKeys == [.integer(3000)])
        var expected = sample.latest
        _ = expected.delete(.integer(3000), in: "t")
        #expect(outcome.found == expected)
    }

    /// A leaf that names a tree with keys of another kind; no bitmap or directory says which pages count.
    @Test func aLeafOfAnotherTreeIsNotMixedIn() throws {
        let sample = try SalvageSample(closing: true, "tree t int\nput t 1..900 90b\ntree u bytes\nput u 1..900 90b")
        let layout = try sample.layout()
        let leaf = try #require(layout.places.last { $0.tree == "u" }?.pages[0])
        let first = try #require(layout.places.filter { $0.tree == "t" }.map { $0.pages[0] }.min())
        #expect(leaf > first)
        let mixed = sample.changing([leaf]) { Page($0).tree = 1 }
        let outcome = try SalvageSample.salvage(mixed.damaged(Array(2..<9) + sample.pages(of: .directory)))
        try expectAll(outcome, of: sample, besides: [leaf])
    }

    /// The file ends behind the directory, before some of the leaves.
    @Test func leavesBehindTheEndOfTheFileAreReported() throws {
        // A directory of several pages takes the first free extent: that of the dropped tree.
        let trees = (1...150).map { "tree t\($0)" + String(repeating: "x", count: 60) + " int" }.joined(separator: "\n")
        let sample = try SalvageSample(
            closing: true,
            "tree a int\nput a 1..500 90b\nbegin\n\(trees)\ncommit\ntree t int\nput t 1..2500 90b\ndrop a\n"
                + "checkpoint\nput t 1 5b\ncheckpoint\nput t 2 5b\ncheckpoint")
        let layout = try sample.layout()
        let end = (layout.directory.max() ?? 0) + 1
        let lost = Set(layout.leaves.filter { $0 >= end })
        try #require(!lost.isEmpty)
        var file = sample.file
        file.resize(to: UInt64(end * pageBytes))
        let outcome = try SalvageSample.salvage(sample.image(with: file))
        for place in layout.places where place.pages.allSatisfy({ $0 < end }) {
            #expect(outcome.found.trees[place.tree]?[place.key] == sample.latest.trees[place.tree]?[place.key])
        }
        #expect(sample.strangers(in: outcome.found, among: [sample.latest]).isEmpty)
        #expect(outcome.report.findings.contains { $0.contains("the file ends before it") })
        #expect(!outcome.report.isComplete)
    }

    // MARK: Keys

    /// Keys of a report can be sorted, whatever trees they are from.
    @Test func keysOfBothKindsHaveAnOrder() {
        let sorted: [SalvageReport.Key] = [
            .integer(1), .integer(9), .integer(.max), .bytes([]), .bytes([1]), .bytes([1, 0]),
        ]
        #expect(sorted.reversed().sorted() == sorted)
        #expect(sorted.shuffled().sorted() == sorted)
        for (index, key) in sorted.enumerated() {
            for other in sorted[(index + 1)...] { #expect(key < other && !(other < key)) }
        }
    }
}
