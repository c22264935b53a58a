/// The positions of pages in the bitmaps. Page ids have 40 bits, so the arithmetic uses 64 bits, also where `Int` has
/// 32.
extension SpaceMap {
    /// Returns the region of a page. The region of every possible page id fits 32 bits.
    static func region(of page: UInt64) -> Int { Int(truncatingIfNeeded: page / UInt64(pagesPerRegion)) }

    /// Returns the position of a page in its region.
    static func bit(of page: UInt64) -> Int { Int(truncatingIfNeeded: page % UInt64(pagesPerRegion)) }

    static func page(region: Int, bit: Int) -> UInt64 {
        let page = UInt64(region) * UInt64(pagesPerRegion) + UInt64(bit)
        return page
    }
}
