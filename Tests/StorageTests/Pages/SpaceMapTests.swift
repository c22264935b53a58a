import MakoTestSupport
import Testing

@testable import MakoStorage

/// The map of free pages by itself, over several regions, against a plain list of extents in use.
@Suite struct SpaceMapTests {
    /// The descriptor of a value in a crafted file may name pages that no value has: freeing them would give them away.
    @Test func valuesHaveNoFixedPages() {
        let (first, region) = (UInt64(SpaceMap.reserved(region: 0)), UInt64(SpaceMap.pagesPerRegion))
        let bitmaps = UInt64(SpaceMap.bitmapCopies)
        for page in [0, 1, 5, first - 1, region, region + bitmaps - 1] {
            #expect(!SpaceMap.canBeAllocated(page, count: 1), "\(page)")
        }
        for page in [first, region - 1, region + bitmaps] {
            #expect(SpaceMap.canBeAllocated(page, count: 1), "\(page)")
        }
        #expect(SpaceMap.canBeAllocated(region - 2, count: 2) && !SpaceMap.canBeAllocated(region - 2, count: 3))
    }

    /// Extents in use, by their first page; every result of the map is compared with them.
    private struct Holder {
        let space = SpaceMap()
        var runs: [Range<UInt64>] = []
        private var isHeld: [Bool] = []

        /// Takes pages that the map has handed out.
        mutating func take(_ first: UInt64, _ count: Int) {
            let pages = first..<first + UInt64(count)
            while UInt64(isHeld.count) < pages.upperBound { isHeld.append(false) }
            #expect(SpaceMap.region(of: first) == SpaceMap.region(of: pages.upperBound - 1), "over the end of a region")
            #expect(
                Int(first) % SpaceMap.pagesPerRegion >= SpaceMap.reserved(region: SpaceMap.region(of: first)),
                "the place of a bitmap")
            if pages.contains(where: { isHeld[Int($0)] }) { Issue.record("\(pages) are in use") }
            for page in pages { isHeld[Int(page)] = true }
            runs.append(pages)
        }

        mutating func giveUp(_ index: Int) -> Range<UInt64> {
            let pages = runs.remove(at: index)
            for page in pages { isHeld[Int(page)] = false }
            return pages
        }

        /// Finds the lowest extent of free pages by testing each.
        func lowestRun(_ count: Int) -> UInt64? {
            for region in 0..<space.regionCount {
                let first = region * SpaceMap.pagesPerRegion
                var length = 0
                for page in first + SpaceMap.reserved(region: region)..<first + SpaceMap.pagesPerRegion {
                    length = page < isHeld.count && isHeld[page] ? 0 : length + 1
                    if length == count { return UInt64(page + 1 - count) }
                }
            }
            return nil
        }
    }

    /// No page is handed out twice, a run is the lowest that there is, and the file grows only when there is none.
    @Test(arguments: 0..<UInt64(TestEffort.isFull ? 40 : 4)) func extentsNeverOverlap(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var holder = Holder()
        let space = holder.space
        for step in 0..<250 {
            let regions = space.regionCount
            switch random.below(12) {
            case 0..<6:
                let count = [2, 64, 700, 9000, 15_000][random.below(5)]
                let lowest = holder.lowestRun(count)
                #expect(space.lowestRun(count) == lowest, "step \(step)")
                let first = space.allocateRun(count)
                #expect(
                    first == lowest ?? UInt64(regions * SpaceMap.pagesPerRegion + SpaceMap.reserved(region: regions)))
                holder.take(first, count)
            case 6: for _ in 0..<400 { holder.take(space.allocate(), 1) }
            case 7:
                let limit = UInt64(random.below(40_000))
                let lowest =
                    holder.lowestRun(1)
                    ?? UInt64(regions * SpaceMap.pagesPerRegion + SpaceMap.reserved(region: regions))
                let page = space.allocate(below: limit)
                #expect(page == (lowest < limit ? lowest : nil), "step \(step)")
                if let page { holder.take(page, 1) }
            case 8..<11:
                for _ in 0..<min(holder.runs.count, 1 + random.below(8)) {
                    space.recycle(Array(holder.giveUp(random.below(holder.runs.count))))
                }
            default:
                // Frees all but the lowest.
                let kept = UInt64([20_000, 40_000, 70_000][random.below(3)])
                for index in holder.runs.indices.reversed() where holder.runs[index].lowerBound > kept {
                    space.recycle(Array(holder.giveUp(index)))
                }
                let last = holder.runs.map { SpaceMap.region(of: $0.lowerBound) }.max() ?? 0
                space.dropEmptyRegions()
                #expect(space.regionCount == min(regions, last + 1), "step \(step)")
            }
            let end = holder.runs.map(\.upperBound).max() ?? 0
            #expect(space.extent >= end)
        }
    }

    /// A file that has become shorter: the checkpoint before that is still retained, with regions that the newest does not have.
    @Test func whatTheOlderCheckpointHasBehindTheEndIsNotGivenAway() {
        var holder = Holder()
        let reserved = { (region: Int) -> [UInt64] in
            [1 << UInt64(SpaceMap.reserved(region: region)) - 1]
                + [UInt64](repeating: 0, count: SpaceMap.wordsPerRegion - 1)
        }
        var second = reserved(1)
        second[1] = 0xff
        let space = holder.space
        space.load(current: [reserved(0)], directory: [], older: [reserved(0), second], olderPoint: 50)
        for _ in 0..<SpaceMap.pagesPerRegion + 100 { holder.take(space.allocate(), 1) }
        let pages = UInt64(SpaceMap.pagesPerRegion + 64)..<UInt64(SpaceMap.pagesPerRegion + 72)
        #expect(holder.runs.allSatisfy { !$0.overlaps(pages) })
        space.release(points: [60])
        for _ in 0..<8 { holder.take(space.allocate(), 1) }
        #expect(holder.runs.suffix(8).allSatisfy { $0.overlaps(pages) }, "when that checkpoint goes, they serve again")
    }

    /// A file longer than the map: its free pages are withheld, so that no write replaces what a reader sees.
    @Test func whatIsFreeOfALongerFileWaits() {
        let space = SpaceMap()
        let pages = UInt64(SpaceMap.pagesPerRegion + 500)
        _ = space.allocate()
        space.keepAllUnused(of: pages, from: 10, upTo: 20)
        #expect(space.regionCount == 2)
        #expect(space.freeCount(below: pages) == 0)
        #expect(space.allocate() >= pages)
        space.release(points: [30])
        #expect(space.freeCount(below: pages) > 30_000)
        #expect(space.lowestRun(2).map { $0 < pages } == true)
    }

    /// Free pages are counted up to any end, those included that were just given back.
    @Test func freePagesAreCountedUpToAnyEnd() {
        let space = SpaceMap()
        let all = (0..<SpaceMap.pagesPerRegion + 100).map { _ in space.allocate() }
        #expect(space.regionCount == 2)
        for end in [1000, SpaceMap.pagesPerRegion, SpaceMap.pagesPerRegion + 70] {
            #expect(space.freeCount(below: UInt64(end)) == 0, "\(end)")
        }
        space.recycle(Array(all[100..<110]))
        #expect(space.freeCount(below: all[105]) == 5)
        #expect(space.freeCount(below: 1000) == 10)
        // Short runs are taken where there are no long ones, as long as that keeps the file short.
        space.recycle([all[200], all[201], all[202], all[203]])
        let run = space.allocateRun(upTo: 30, isWhole: false)
        #expect(run.count >= 4 && run.page >= all[100])
        let whole = space.allocateRun(upTo: 20, isWhole: true)
        #expect(whole.count == 20)
    }

    /// A shorter run rather than a longer file.
    @Test func aShorterRunKeepsTheFileFromGrowing() {
        let space = SpaceMap()
        let all = (0..<SpaceMap.pagesPerRegion - SpaceMap.reserved(region: 0)).map { _ in space.allocate() }
        #expect(space.regionCount == 1)
        space.recycle(Array(all[100..<110]))
        let run = space.allocateRun(upTo: 40, isWhole: false)
        #expect(run.page == all[100] && run.count == 10)
        #expect(space.regionCount == 1)
        let longer = space.allocateRun(upTo: 100, isWhole: false)
        #expect(longer.count == 100 && space.regionCount == 2)
    }
}
