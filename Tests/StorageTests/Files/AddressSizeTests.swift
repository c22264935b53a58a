import Testing

@testable import MakoStorage

/// Arithmetic on sizes and offsets of files where the addresses of the process have 32 bits.
@Suite struct AddressSizeTests {
    @Test(arguments: [0, 1, 32_447, 32_448, 1 << 31, 1 << 32, 1 << 32 + 77, pageNumberLimit - 1] as [UInt64])
    func everyPageHasAPlaceInARegionThatThirtyTwoBitsCount(_ page: UInt64) throws {
        let region = SpaceMap.region(of: page)
        let bit = SpaceMap.bit(of: page)
        _ = try #require(Int32(exactly: region))
        #expect(bit < SpaceMap.pagesPerRegion)
        #expect(SpaceMap.page(region: region, bit: bit) == page)
    }

    @Test func theBitmapsOfTheLastRegionLieInIt() {
        let last = SpaceMap.region(of: pageNumberLimit - 1)
        let page = SpaceMap.bitmapPage(region: last, copy: 0)
        #expect(page > UInt64(UInt32.max) && SpaceMap.region(of: page) == last && SpaceMap.bit(of: page) == 0)
    }

    @Test func aStepIsNoLongerThanTheBufferOrTheRest() {
        #expect(ByteCount.step(7, most: 100 as Int32) == 7)
        #expect(ByteCount.step(100, most: 100 as Int32) == 100)
        #expect(ByteCount.step(5 << 30, most: 1 << 20 as Int32) == 1 << 20)
        #expect(ByteCount.step(1 << 32, most: 1 << 20 as Int32) == 1 << 20)
        #expect(ByteCount.step(.max, most: Int32.max) == Int32.max)
        #expect(ByteCount.step(.max, most: Int.max) == Int.max)
        #expect(ByteCount.step(0, most: Int32.max) == 0)
    }

    @Test func newSegmentsHaveASizeThatTheProcessCanRead() {
        #expect(SegmentHeader.segmentBytes(wanted: Int32.max) == 1 << 28)
        #expect(SegmentHeader.segmentBytes(wanted: Int64.max) == 1 << 32)
        for wanted in [-1, 0, 1, SegmentHeader.smallestSegment] {
            #expect(SegmentHeader.segmentBytes(wanted: Int32(wanted)) == UInt64(SegmentHeader.smallestSegment))
        }
        #expect(SegmentHeader.segmentBytes(wanted: 16 << 20 + 1 as Int32) == 16 << 20 + 4096)
        for size in [SegmentHeader.segmentBytes(wanted: Int32.max), SegmentHeader.segmentBytes(wanted: Int64.max)] {
            #expect(SegmentHeader.isPossible(segmentBytes: size))
        }
    }

    @Test func aLogThatDoesNotFitTheAddressesIsRefusedByName() throws {
        var header = FileHeader(
            id: DatabaseID(high: 1, low: 2), mustRead: 0, highWaterMark: 0, segmentBytes: 1 << 32, newestSegment: 0,
            generation: 1, key: nil)
        try header.checkSegments(path: "a.mako", addresses: Int64.self)
        let error = #expect(throws: StorageError.self) {
            try header.checkSegments(path: "a.mako", addresses: Int32.self)
        }
        let text = "\(try #require(error))"
        #expect(text.contains("a.mako has log segments of 4294967296 bytes") && text.contains("32 bits"))
        header.segmentBytes = 1 << 28
        try header.checkSegments(path: "a.mako", addresses: Int32.self)
    }
}
