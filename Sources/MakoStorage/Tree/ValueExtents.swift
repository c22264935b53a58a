// A large value whose pages are written before the commit, in one or more runs. The log has the list of runs instead of
// the value's bytes. With several runs, or a run too long for a descriptor, the list is stored on overflow pages of its
// own in place of the value, and the leaf's descriptor says so (see Overflow.swift):
//
//        0  8  length   of the value
//        8  8  stored   bytes on the pages of the runs; the top bit says that they are an LZ4 block
//       16  8  digest   of the stored bytes: the hash of each page's share, seeded with that of the pages before
//       24     runs     16 bytes each: 5 bytes first page and 3 bytes count of pages, as one word; 8 bytes write id of the first page
//
// Every page but the last is full.

/// The pages of one large value.
struct ValueExtents: Hashable {
    /// Pages with consecutive page ids and consecutive write ids.
    struct Extent: Hashable {
        var page: UInt64
        var writeID: UInt64
        var count: Int

        var pages: Range<UInt64> { page..<page + UInt64(count) }
    }

    var length: UInt64
    var stored: UInt64
    var isCompressed: Bool
    var digest: UInt64
    var runs: [Extent]

    static let headerBytes = 24
    static let runBytes = 16
    private static let compressedBit: UInt64 = 1 << 63
    /// The largest length, a petabyte, so that sums of lengths cannot overflow.
    private static let lengthLimit: UInt64 = 1 << 50

    init(length: UInt64, stored: UInt64, isCompressed: Bool, digest: UInt64, runs: [Extent]) {
        self.length = length
        self.stored = stored
        self.isCompressed = isCompressed
        self.digest = digest
        self.runs = runs
    }

    static func pageCount(of stored: UInt64) -> UInt64 {
        (stored + UInt64(Overflow.payloadBytes) - 1) / UInt64(Overflow.payloadBytes)
    }

    /// Decodes the bytes of `encoded`. Nil if its parts contradict each other.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= ValueExtents.headerBytes + ValueExtents.runBytes,
            (bytes.count - ValueExtents.headerBytes) % ValueExtents.runBytes == 0
        else { return nil }
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        length = word(0)
        stored = word(8) & ~ValueExtents.compressedBit
        isCompressed = word(8) & ValueExtents.compressedBit != 0
        digest = word(16)
        runs = []
        guard length < ValueExtents.lengthLimit, stored > 0, stored <= length, isCompressed || stored == length,
            !isCompressed || length <= UInt64(Limits.valueBytes)
        else { return nil }
        var left = ValueExtents.pageCount(of: stored)
        for offset in stride(from: ValueExtents.headerBytes, to: bytes.count, by: ValueExtents.runBytes) {
            let place = word(offset)
            let run = Extent(page: place >> 24, writeID: word(offset + 8), count: Int(place & 0xff_ffff))
            guard run.count > 0, UInt64(run.count) <= left, run.page + UInt64(run.count) <= pageNumberLimit,
                run.writeID < counterLimit
            else { return nil }
            left -= UInt64(run.count)
            runs.append(run)
        }
        // A compressed value is decompressed whole, so it must have a single run and a descriptor.
        guard left == 0, !isCompressed || runs.count == 1 else { return nil }
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(ValueExtents.headerBytes + runs.count * ValueExtents.runBytes)
        func append(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
        append(length)
        append(stored | (isCompressed ? ValueExtents.compressedBit : 0))
        append(digest)
        for run in runs {
            append(run.page << 24 | UInt64(run.count))
            append(run.writeID)
        }
        return bytes
    }

    /// The descriptor of a single run; nil if the leaf must refer to a list of runs.
    var descriptor: Overflow? {
        guard runs.count == 1, length <= UInt64(Limits.valueBytes) else { return nil }
        return Overflow(
            firstPage: runs[0].page, firstWriteID: runs[0].writeID, length: Int(length), stored: Int(stored),
            isCompressed: isCompressed)
    }

    /// The pages of an overflow value without a list. Its digest is unknown.
    init(_ overflow: Overflow) {
        self.init(
            length: UInt64(overflow.length), stored: UInt64(overflow.stored), isCompressed: overflow.isCompressed,
            digest: 0,
            runs: [Extent(page: overflow.firstPage, writeID: overflow.firstWriteID, count: max(1, overflow.pageCount))])
    }

    /// Returns the digest after the bytes of one more page.
    static func digest(_ digest: UInt64, _ start: UnsafeRawPointer, count: Int) -> UInt64 {
        Checksum.hash(start, count: count, seed: digest)
    }
}
