import MakoTestSupport
import Testing

@testable import MakoStorage

/// Lists of pages in a few bytes each, and sets of pages, beside arrays and sets.
@Suite struct PackedListTests {
    private static func page(_ random: inout SplitMix, near page: UInt64) -> UInt64 {
        switch random.below(5) {
        case 0: UInt64(random.below(1 << 30))
        case 1: (page &- UInt64(random.below(100))) & 0xff_ffff_ffff
        default: page &+ 1
        }
    }

    private static func elements<Element>(of list: PackedList<Element>, from first: Int = 0) -> [Element] {
        var elements: [Element] = []
        list.forEach(from: first) { elements.append($0) }
        return elements
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func aListEqualsAnArray(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (list, model) = (PackedList<SpaceMap.DeadPage>(), [SpaceMap.DeadPage]())
        var page: UInt64 = 5
        // A copy keeps its elements when the list goes on, and the list when the copy does.
        var copies: [(list: PackedList<SpaceMap.DeadPage>, model: [SpaceMap.DeadPage])] = []
        for _ in 0..<400 {
            if random.chance(10), copies.count < 8 { copies.append((list, model)) }
            if random.chance(5), let copy = copies.popLast() { (list, model) = copy }
            switch random.below(12) {
            case 0:
                let count = random.below(model.count + 1)
                list.truncate(to: count)
                model.removeLast(model.count - count)
            case 1:
                let first = random.below(model.count + 1)
                list.removeAll(from: first) { $0.page % 3 == 0 }
                model = model[..<first] + model[first...].filter { $0.page % 3 != 0 }
            case 2:
                let first = random.below(model.count + 1)
                let taken = list.removeFirst(first)
                #expect(Self.elements(of: taken).map(\.page) == model[..<first].map(\.page))
                model.removeFirst(first)
                if random.chance(50) {
                    list.append(contentsOf: taken)
                    model += Self.elements(of: taken)
                }
            case 3:
                for _ in 0..<random.below(600) {
                    let last = list.popLast()
                    #expect(last?.page == model.popLast()?.page)
                }
            case 4 where random.chance(20):
                list.removeAll()
                model.removeAll()
            default:
                for _ in 0..<random.below(500) {
                    page = Self.page(&random, near: page)
                    let dead = SpaceMap.DeadPage(page: page, bornAt: random.chance(10) ? random.next() : page &* 3)
                    list.append(dead)
                    model.append(dead)
                }
            }
            #expect(list.count == model.count && list.isEmpty == model.isEmpty)
            let first = random.below(model.count + 1)
            let found = Self.elements(of: list, from: first)
            #expect(found.map(\.page) == model[first...].map(\.page))
            #expect(found.map(\.bornAt) == model[first...].map(\.bornAt))
        }
        for copy in copies { #expect(Self.elements(of: copy.list).map(\.page) == copy.model.map(\.page)) }
    }

    @Test func pagesInOrderTakeAByteEach() {
        let list = PackedList(0..<100_000 as Range<UInt64>)
        #expect(Self.elements(of: list) == Array(0..<100_000))
        #expect(list.bytes < 130_000, "\(list.bytes) bytes")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func bitmapsEqualASet(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (bitmaps, model) = (PageBitmaps(), Set<UInt64>())
        let limit = 5 * SpaceMap.pagesPerRegion
        #expect(bitmaps.isEmpty && bitmaps.first(10, from: 0) == [])
        for round in 0..<2000 {
            let page = UInt64(random.chance(50) ? random.below(limit) : random.below(300))
            if random.chance(70) {
                bitmaps.insert(page)
                model.insert(page)
            } else {
                #expect(bitmaps.remove(page) == (model.remove(page) != nil))
            }
            #expect(bitmaps.contains(page) == model.contains(page))
            guard round % 100 == 0 else { continue }
            #expect(bitmaps.count == model.count && bitmaps.isEmpty == model.isEmpty)
            let start = UInt64(random.below(limit + 100))
            #expect(bitmaps.first(7, from: start) == Array(model.filter { $0 >= start }.sorted().prefix(7)))
        }
        var other = PageBitmaps()
        for page in 0..<UInt64(200) { other.insert(page * 1500) }
        bitmaps.formUnion(other)
        model.formUnion((0..<UInt64(200)).map { $0 * 1500 })
        #expect(bitmaps.first(.max, from: 0) == model.sorted())
        // What a shorter map of every second page has of them.
        let map = (0..<3).map { _ in [UInt64](repeating: 0x5555_5555_5555_5555, count: SpaceMap.wordsPerRegion) }
        bitmaps.formIntersection(map)
        #expect(
            bitmaps.first(.max, from: 0)
                == model.filter {
                    SpaceMap.region(of: $0) < 3 && SpaceMap.bit(of: $0) % 2 == 0
                }.sorted())
    }
}
