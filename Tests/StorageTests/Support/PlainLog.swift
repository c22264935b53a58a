import MakoTestSupport

/// The segments of a log, read as `docs/format.md` describes them: frame by frame behind a checkpoint, to the end of
/// the chain.
struct PlainLog {
    private let segments: [Int: PlainBytes]
    private let segmentBytes: Int
    private let cipher: PlainCipher?

    /// - Parameters:
    ///   - files: the segments by their numbers; those of another database are left out.
    ///   - cipher: of an encrypted database.
    init(_ files: [Int: [UInt8]], of id: ArraySlice<UInt8>, cipher: PlainCipher? = nil) throws {
        self.cipher = cipher
        var segments: [Int: PlainBytes] = [:]
        for (number, bytes) in files {
            let file = PlainBytes(bytes: bytes)
            guard try file.slice(8, 8).elementsEqual("MakoLog0".utf8), try file.slice(16, 16).elementsEqual(id),
                try file.int(32, 8) == number, try file.number(0, 8) == file.checksum(8, 64, seed: 0)
            else { continue }
            segments[number] = file
        }
        self.segments = segments
        segmentBytes = try segments.values.first?.int(64, 8) ?? 1
    }

    /// The payloads of all commits behind a place, in their order.
    func payloads(from start: (lsn: Int, chain: UInt64)) throws -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var place = start
        while let frame = try next(place) {
            // A barrier has no payload: its commit is in a checkpoint.
            if frame.kind == 1 { found.append(frame.payload) }
            place = (frame.end, frame.chain)
        }
        return found
    }

    private struct Frame {
        let kind: UInt64
        let payload: ArraySlice<UInt8>
        let end: Int
        let chain: UInt64
    }

    /// The frame that continues a place: right there, in the next block, or at the start of the next segment.
    private func next(_ place: (lsn: Int, chain: UInt64)) throws -> Frame? {
        let block = (place.lsn + 4095) / 4096 * 4096
        for lsn in [place.lsn, block] {
            if let frame = try frame(at: lsn, chain: place.chain) { return frame }
        }
        let follower = try segments.first { number, file in
            try number * segmentBytes > place.lsn && file.int(48, 8) == place.lsn && file.number(56, 8) == place.chain
        }
        return try follower.flatMap { try frame(at: $0.key * segmentBytes + 4096, chain: place.chain) }
    }

    private func frame(at lsn: Int, chain: UInt64) throws -> Frame? {
        let place = lsn % segmentBytes
        guard let file = segments[lsn / segmentBytes], place >= 4096, place + 56 <= file.bytes.count,
            try file.int(place + 8, 8) == lsn
        else { return nil }
        let check = try file.checksum(place, 40, seed: file.number(40, 8))
        let stored = try file.int(place, 4)
        guard try file.number(place + 40, 8) == check, place + 56 + stored <= file.bytes.count else { return nil }
        let next = try file.checksum(place + 56, stored, seed: chain ^ check)
        guard try file.number(place + 48, 8) == next else { return nil }
        let raw = try file.int(place + 4, 4)
        let bytes = try payload(file, place, stored)
        return Frame(
            kind: try file.number(place + 32, 8),
            payload: raw >> 31 == 0 ? bytes : try PlainBytes.unpacked(bytes, count: raw & 0x7fff_ffff)[...],
            end: lsn + (56 + stored + 7) / 8 * 8, chain: next)
    }

    private func payload(_ file: PlainBytes, _ place: Int, _ stored: Int) throws -> ArraySlice<UInt8> {
        let bytes = try file.slice(place + 56, stored)
        guard let cipher else { return bytes }
        return try cipher.opened(bytes, head: file.slice(place, 40), segment: Array(file.slice(32, 16)))[...]
    }
}
