import MakoTestSupport

@testable import MakoStorage

/// Gives changed pages and frames valid checksums. In an encrypted database these are authentication tags, computed
/// with its key.
struct Forger {
    private let database: DatabaseID
    private let keys: DatabaseKeys?

    init(of image: DiskImage, _ encryption: Encryption? = nil) throws {
        let page = image.files[ScriptRun.path]?.bytes(at: 0, count: pageBytes) ?? []
        let reading = page.withUnsafeBytes { $0.baseAddress.map { FileHeader.read($0, copy: 0) } }
        guard case .good(let header)? = reading else { throw Disagreement("the sample has no header") }
        database = header.id
        keys = try KeyAccess.secret(encryption).keys(of: header, path: ScriptRun.path)
    }

    // MARK: Pages

    /// Changes the content of a page and seals it again.
    ///
    /// - Parameter change: gets the page as in the file; of an encrypted page the header and the body before
    ///   encryption.
    func change(page: Int, of file: inout ByteImage, _ change: (inout [UInt8]) -> Void) {
        let place = UInt64(page * pageBytes)
        var bytes = file.bytes(at: place, count: pageBytes)
        if let keys, page >= FileHeader.copies {
            let context = Forger.bytes([database.high, database.low, UInt64(page)])
            let message = CipherKey.nonceBytes..<pageBytes - CipherKey.tagBytes
            // A page that was never written is one of zeros.
            var plain = [UInt8](repeating: 0, count: message.count)
            context.withUnsafeBytes { context in
                bytes.withUnsafeMutableBytes { box in
                    plain.withUnsafeMutableBytes { _ = keys.pages.open(box, authenticating: context, into: $0) }
                }
                bytes.replaceSubrange(message, with: plain)
                change(&bytes)
                bytes.withUnsafeMutableBytes { box in
                    let text = UnsafeMutableRawBufferPointer(rebasing: box[message])
                    keys.pages.seal(
                        UnsafeRawBufferPointer(text),
                        nonce: UnsafeRawBufferPointer(rebasing: box[..<message.lowerBound]), authenticating: context,
                        ciphertext: text, tag: UnsafeMutableRawBufferPointer(rebasing: box[message.upperBound...]))
                }
            }
        } else {
            change(&bytes)
            bytes.withUnsafeMutableBytes { buffer in
                guard let base = buffer.baseAddress else { return }
                Page.seal(base, page: UInt64(page), seed: page < FileHeader.copies ? 0 : database.seed)
            }
        }
        file.replace(at: place, with: bytes)
    }

    /// Changes some bytes of a page, mostly where counts, offsets, lengths and references stand, and seals it again.
    func garble(_ file: inout ByteImage, page: Int, _ random: inout SplitMix) {
        let isPacked = keys != nil && page >= FileHeader.copies
        change(page: page, of: &file) { bytes in
            for _ in 0..<1 + random.below(4) {
                let places =
                    isPacked
                    ? [12 + random.below(28), 24 + random.below(200), random.below(pageBytes - 16), random.below(24)]
                    : [
                        24 + random.below(40), 40 + random.below(200), 8 + random.below(pageBytes - 8),
                        8 + random.below(32),
                    ]
                // Rarely the header: with a changed header the page is mostly rejected at once.
                let place = places[random.chance(5) ? 3 : random.below(3)]
                // Log segments are written whole before their first use, and the largest would fill the memory.
                if page < FileHeader.copies && (96..<104).contains(place) { continue }
                Forger.garble(&bytes[place], &random)
            }
        }
    }

    static func garble(_ byte: inout UInt8, _ random: inout SplitMix) {
        switch random.below(4) {
        case 0: byte ^= 1 << UInt8(random.below(8))
        case 1: byte = 0xff
        case 2: byte = 0
        default: byte = UInt8(truncatingIfNeeded: random.next())
        }
    }

    // MARK: The log

    /// Changes frames of the log, and chains all of them again.
    ///
    /// - Parameter change: is called for each frame in the log's order, with its header and its payload before
    ///   encryption. Lengths stay.
    func changeLog(of image: inout DiskImage, _ change: (inout [UInt8]) -> Void) {
        var link: (before: UInt64, now: UInt64) = (0, 0)
        let names = image.files.keys.filter { $0.hasPrefix(ScriptRun.path + "-wal-") }
        for name in names.sorted(by: { ($0.count, $0) < ($1.count, $1) }) {
            guard var bytes = image.files[name]?.bytes else { continue }
            bytes.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress, var header = SegmentHeader(base) else { return }
                if header.chain == link.before {
                    header.chain = link.now
                    header.write(to: base)
                } else {
                    link = (header.chain, header.chain)
                }
                changeFrames(of: bytes, header, &link, change)
            }
            image.files[name] = ByteImage(bytes)
        }
    }

    /// - Parameter link: the chain value behind the last frame, as it was and as it is.
    private func changeFrames(
        of segment: UnsafeMutableRawBufferPointer, _ header: SegmentHeader, _ link: inout (before: UInt64, now: UInt64),
        _ change: (inout [UInt8]) -> Void
    ) {
        let cipher = keys?.segment(header)
        let block = SegmentHeader.blockBytes
        var place = block
        while place < segment.count, let start = segment.baseAddress.map({ $0 + place }) {
            let frame = LogFrame(
                start, available: segment.count - place, lsn: header.number * header.segmentBytes + UInt64(place),
                salt: header.salt, overhead: cipher == nil ? 0 : SegmentCipher.overhead)
            guard let frame, place + LogFrame.headerBytes + frame.stored <= segment.count else {
                place = (place / block + 1) * block
                continue
            }
            let head = UnsafeRawBufferPointer(start: start, count: LogFrame.headerBytes)
            let payload = UnsafeRawBufferPointer(start: start + LogFrame.headerBytes, count: frame.stored)
            var bytes = [UInt8](head) + (cipher.map { $0.open(start, stored: frame.stored) ?? [] } ?? [UInt8](payload))
            link.before = start.load(fromByteOffset: 48, as: UInt64.self)
            change(&bytes)
            start.copyMemory(from: bytes, byteCount: bytes.count)
            // The former tag is no longer valid.
            cipher?.seal(start, stored: frame.stored)
            let check = Checksum.hash(start, count: LogFrame.checkedBytes, seed: header.salt)
            link.now = LogFrame.chain(
                payload: start + LogFrame.headerBytes, count: frame.stored, check: check, after: link.now)
            start.storeBytes(of: check, toByteOffset: 40, as: UInt64.self)
            start.storeBytes(of: link.now, toByteOffset: 48, as: UInt64.self)
            place += LogFrame.bytes(payload: frame.stored)
        }
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] {
        words.flatMap { withUnsafeBytes(of: $0.littleEndian) { Array($0) } }
    }
}
