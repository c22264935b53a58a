/// The positions of pages in the bitmaps. Page ids have 40 bits, so the arithmetic uses 64 bits, also where `Int` has
/// 32.
extension SpaceMap {
    /// Returns the page of a bitmap copy.
    static func bitmapPage(region: Int, copy: Int) -> UInt64 {
        SpaceMap.page(region: region, bit: (region == 0 ? fixedPages : 0) + copy)
    }

    /// Returns the number of pages at the start of a region for its bitmaps and, in region 0, the fixed pages.
    static func reserved(region: Int) -> Int { bitmapCopies + (region == 0 ? fixedPages : 0) }

    static func reservedBits(region: Int) -> UInt64 { 1 << UInt64(reserved(region: region)) - 1 }

    /// Whether a run has neither fixed pages nor bitmaps, which are at the start of each region.
    static func canBeAllocated(_ first: UInt64, count: Int) -> Bool {
        let region = region(of: first)
        return bit(of: first) >= reserved(region: region)
            && SpaceMap.region(of: first + UInt64(max(1, count) - 1)) == region
    }

    /// Returns the bitmap of a region in which only the fixed pages are in use.
    static func emptyBitmap(region: Int) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: wordsPerRegion)
        words[0] = reservedBits(region: region)
        return words
    }

    /// Returns the region of a page. The region of every possible page id fits 32 bits.
    static func region(of page: UInt64) -> Int { Int(truncatingIfNeeded: page / UInt64(pagesPerRegion)) }

    /// Returns the position of a page in its region.
    static func bit(of page: UInt64) -> Int { Int(truncatingIfNeeded: page % UInt64(pagesPerRegion)) }

    static func page(region: Int, bit: Int) -> UInt64 {
        let page = UInt64(region) * UInt64(pagesPerRegion) + UInt64(bit)
        return page
    }
}
