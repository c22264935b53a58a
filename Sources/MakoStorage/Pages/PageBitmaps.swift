/// A set of pages of the file: a bitmap for each region that has one of them, as in `SpaceMap`.
struct PageBitmaps {
    private var regions: [[UInt64]] = []

    var isEmpty: Bool { regions.allSatisfy { $0.allSatisfy { $0 == 0 } } }
    var count: Int { regions.reduce(0) { $0 + $1.reduce(0) { $0 + $1.nonzeroBitCount } } }

    @inline(__always)
    mutating func insert(_ page: UInt64) {
        let (region, bit) = (SpaceMap.region(of: page), SpaceMap.bit(of: page))
        if region >= regions.count || regions[region].isEmpty { addRegion(region) }
        regions[region][bit / 64] |= 1 << UInt64(bit % 64)
    }

    func contains(_ page: UInt64) -> Bool {
        let (region, bit) = (SpaceMap.region(of: page), SpaceMap.bit(of: page))
        guard region < regions.count, !regions[region].isEmpty else { return false }
        return regions[region][bit / 64] & 1 << UInt64(bit % 64) != 0
    }

    /// - Returns: whether the page was in the set.
    mutating func remove(_ page: UInt64) -> Bool {
        guard contains(page) else { return false }
        SpaceMap.clear(page, in: &regions)
        return true
    }

    mutating func formUnion(_ other: PageBitmaps) {
        for (region, words) in other.regions.enumerated() where !words.isEmpty {
            if region >= regions.count || regions[region].isEmpty { addRegion(region) }
            for index in words.indices { regions[region][index] |= words[index] }
        }
    }

    /// Removes the pages that are not set in a bitmap of the file.
    mutating func formIntersection(_ map: [[UInt64]]) {
        if regions.count > map.count { regions.removeLast(regions.count - map.count) }
        for region in regions.indices {
            for index in regions[region].indices { regions[region][index] &= map[region][index] }
        }
    }

    /// Returns up to `count` pages from a page on, in ascending order.
    func first(_ count: Int, from start: UInt64) -> [UInt64] {
        var pages: [UInt64] = []
        var region = SpaceMap.region(of: start)
        var bit = SpaceMap.bit(of: start)
        while region < regions.count && pages.count < count {
            appendPages(of: region, from: bit, to: &pages, upTo: count)
            (region, bit) = (region + 1, 0)
        }
        return pages
    }

    private func appendPages(of region: Int, from bit: Int, to pages: inout [UInt64], upTo count: Int) {
        let words = regions[region]
        var index = bit / 64
        var skipped: UInt64 = 1 << UInt64(bit % 64) &- 1
        while index < words.count && pages.count < count {
            var rest = words[index] & ~skipped
            while rest != 0 && pages.count < count {
                pages.append(SpaceMap.page(region: region, bit: index * 64 + rest.trailingZeroBitCount))
                rest &= rest &- 1
            }
            index += 1
            skipped = 0
        }
    }

    private mutating func addRegion(_ region: Int) {
        while regions.count <= region { regions.append([]) }
        regions[region] = [UInt64](repeating: 0, count: SpaceMap.wordsPerRegion)
    }
}
