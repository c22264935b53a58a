import MakoStorage

/// The header of an object of a sequence, read as `docs/replication.md` describes it.
package struct ObjectHeader {
    /// What an object holds.
    package enum Kind: UInt64 {
        case frames = 1
        case part = 2
        case full = 3
    }

    /// The size of a header in bytes.
    package static let bytes = 256

    package let kind: Kind
    /// One more than the promotions of the branch up to here.
    package let epoch: UInt64

    /// Returns nil if an object does not begin with a header.
    package init?(_ object: [UInt8]) {
        guard object.count >= ObjectHeader.bytes, Array(object[8..<16]) == Array("MakoSeq0".utf8) else { return nil }
        func number(_ place: Int) -> UInt64 { object[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        guard let kind = Kind(rawValue: number(56)) else { return nil }
        self.kind = kind
        epoch = number(64)
    }

    /// Returns the object with another number of its format, under a valid checksum.
    package static func object(_ object: [UInt8], ofFormat format: UInt8) -> [UInt8] {
        var header = Array(object.prefix(bytes))
        header[16] = format
        let checksum = Checksum.hash(header[8...], seed: 0)
        for place in 0..<8 { header[place] = UInt8(truncatingIfNeeded: checksum >> UInt64(place * 8)) }
        return header + object.dropFirst(bytes)
    }
}
