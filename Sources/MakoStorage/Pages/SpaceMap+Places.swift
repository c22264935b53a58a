/// The bit of a page in the bitmaps. Page numbers have 40 bits, so the arithmetic has 64 where `Int` has 32.
extension SpaceMap {
    /// Any page that a reference can name has a region that fits 32 bits.
    static func region(of page: UInt64) -> Int { Int(truncatingIfNeeded: page / UInt64(pagesPerRegion)) }

    /// The place in its region.
    static func bit(of page: UInt64) -> Int { Int(truncatingIfNeeded: page % UInt64(pagesPerRegion)) }

    static func page(region: Int, bit: Int) -> UInt64 {
        let page = UInt64(region) * UInt64(pagesPerRegion) + UInt64(bit)
        return page
    }
}
