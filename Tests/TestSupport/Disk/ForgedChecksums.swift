import MakoStorage

/// Gives changed bytes of a database's files valid checksums, as `docs/format.md` describes them, so that no checksum
/// reveals the change.
package enum ForgedChecksums {
    private static let pageBytes = 4096
    private static let blockBytes = 4096
    private static let segmentHeaderBytes = 72
    private static let frameHeaderBytes = 56

    /// Seals a page of a file.
    ///
    /// - Parameter header: the file's first page.
    package static func seal(page: inout [UInt8], number: Int, header: [UInt8]) {
        guard page.count == pageBytes, header.count == pageBytes else { return }
        let seed = number < 2 ? 0 : header.withUnsafeBytes { databaseSeed($0) }
        page.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            let place = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
            base.storeBytes(of: Checksum.hash(base + 8, count: pageBytes - 8, seed: seed ^ place), as: UInt64.self)
        }
    }

    /// The seed of the database whose header block this is.
    private static func databaseSeed(_ header: UnsafeRawBufferPointer) -> UInt64 {
        let high = header.load(fromByteOffset: 56, as: UInt64.self)
        let low = header.load(fromByteOffset: 64, as: UInt64.self)
        return Checksum.mix(high ^ 0x6d61_6b6f, low ^ 0x2d64_625f)
    }

    /// Seals a log segment's header and all frames in its bytes, so that the chain goes on through them.
    package static func seal(log file: inout [UInt8]) {
        file.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress, bytes.count > blockBytes else { return }
            base.storeBytes(of: Checksum.hash(base + 8, count: segmentHeaderBytes - 8, seed: 0), as: UInt64.self)
            let salt = base.load(fromByteOffset: 40, as: UInt64.self)
            var chain = base.load(fromByteOffset: 56, as: UInt64.self)
            var place = blockBytes
            while place + frameHeaderBytes <= bytes.count {
                let frame = base + place
                let stored = Int(frame.load(as: UInt32.self))
                let lsn = frame.load(fromByteOffset: 8, as: UInt64.self)
                guard lsn != 0, place + frameHeaderBytes + stored <= bytes.count else {
                    place = (place / blockBytes + 1) * blockBytes
                    continue
                }
                let check = Checksum.hash(frame, count: 40, seed: salt)
                chain = Checksum.hash(frame + frameHeaderBytes, count: stored, seed: chain ^ check)
                frame.storeBytes(of: check, toByteOffset: 40, as: UInt64.self)
                frame.storeBytes(of: chain, toByteOffset: 48, as: UInt64.self)
                place += (frameHeaderBytes + stored + 7) / 8 * 8
            }
        }
    }
}
