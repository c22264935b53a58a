/// A space-filling curve, so that near places mostly have near numbers: a grid of 2 by 31 bits whose cells are numbered
/// along a Z-order curve.
///
/// Bits of the latitude's row and of the longitude's column alternate, starting with the row; each prefix of bits is a
/// rectangle of the map.
enum SpaceCurve {
    static let bits = 31
    /// The number of an invalid place: after all cells.
    static let nowhere = UInt64.max

    /// Returns the cell of a place.
    static func cell(_ latitude: Double, _ longitude: Double) -> UInt64 {
        guard Sphere.isPlace(latitude, longitude) else { return nowhere }
        return spread(row(latitude)) << 1 | spread(column(Sphere.normalised(longitude)))
    }

    fileprivate static func row(_ latitude: Double) -> UInt64 { step((latitude + 90) / 180) }
    fileprivate static func column(_ longitude: Double) -> UInt64 { step((longitude + 180) / 360) }

    private static func step(_ share: Double) -> UInt64 {
        UInt64(min(max(share * Double(1 << bits), 0), Double((1 << bits) - 1)))
    }

    /// Inserts a zero before each bit.
    private static func spread(_ number: UInt64) -> UInt64 {
        var bits = number & 0x7FFF_FFFF
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }

    /// Returns sorted ranges of cells that cover the boxes: few ranges with little excess, and at most the limit for
    /// each box.
    static func ranges(_ boxes: [GeoBox], limit: Int = 24) -> [ClosedRange<UInt64>] {
        var found: [ClosedRange<UInt64>] = []
        for box in boxes where box.south <= box.north && box.west <= box.east { found += Cover(box, limit).ranges }
        found.sort { $0.lowerBound < $1.lowerBound }
        var merged: [ClosedRange<UInt64>] = []
        for range in found {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    /// The grid squares that overlap a box, largest first, subdivided as long as the limit permits.
    private struct Cover {
        private struct Square {
            let prefix: UInt64
            let level: Int
            let row: UInt64
            let column: UInt64
        }

        private let rows: ClosedRange<UInt64>
        private let columns: ClosedRange<UInt64>
        private(set) var ranges: [ClosedRange<UInt64>] = []

        init(_ box: GeoBox, _ limit: Int) {
            rows = SpaceCurve.row(box.south)...max(SpaceCurve.row(box.south), SpaceCurve.row(box.north))
            columns = SpaceCurve.column(box.west)...max(SpaceCurve.column(box.west), SpaceCurve.column(box.east))
            var waiting = [Square(prefix: 0, level: 0, row: 0, column: 0)]
            var next: [Square] = []
            while !waiting.isEmpty {
                next.removeAll(keepingCapacity: true)
                for square in waiting {
                    if square.level == SpaceCurve.bits || isInside(square) {
                        take(square)
                    } else {
                        for child in children(square) where meets(child) { next.append(child) }
                    }
                }
                if next.count + ranges.count > limit && waiting.count + ranges.count > 4 {
                    // The next level would exceed the limit: these squares are taken whole.
                    for square in next { take(square) }
                    break
                }
                swap(&waiting, &next)
            }
        }

        private mutating func take(_ square: Square) {
            let shift = UInt64(2 * (SpaceCurve.bits - square.level))
            let first = square.prefix << shift
            ranges.append(first...(first + (1 << shift - 1)))
        }

        private func span(_ square: Square) -> UInt64 { 1 << UInt64(SpaceCurve.bits - square.level) - 1 }

        private func isInside(_ square: Square) -> Bool {
            rows.lowerBound <= square.row && square.row + span(square) <= rows.upperBound
                && columns.lowerBound <= square.column && square.column + span(square) <= columns.upperBound
        }

        private func meets(_ square: Square) -> Bool {
            square.row <= rows.upperBound && rows.lowerBound <= square.row + span(square)
                && square.column <= columns.upperBound && columns.lowerBound <= square.column + span(square)
        }

        private func children(_ square: Square) -> [Square] {
            let half: UInt64 = 1 << UInt64(SpaceCurve.bits - square.level - 1)
            return (0..<4).map { number in
                Square(
                    prefix: square.prefix << 2 | number, level: square.level + 1,
                    row: square.row + (number & 2 != 0 ? half : 0), column: square.column + (number & 1 != 0 ? half : 0)
                )
            }
        }
    }
}
