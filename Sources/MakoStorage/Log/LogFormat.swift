// The log is a chain of segment files NAME.mako-wal-N of equal size. A segment is written once, from front to back; its
// file is reused under another name when no retained checkpoint needs it. A log position (LSN) is a byte count over all
// segments: segment number times segment size, plus the offset.
//
// A segment begins with one block of 4,096 bytes:
//
//        0  8  checksum     of bytes 8..<72
//        8  8  magic        "MakoLog0"
//       16 16  database     the id of the data file it belongs to
//       32  8  number       of the segment
//       40  8  salt         new for each use of the file; seeds every checksum in it
//       48  8  previousEnd  the LSN at which the segment before ends
//       56  8  chain        the chain value there
//       64  8  bytes        size of the segment
//
// Flush groups follow. A synced group is padded with zeros to the next block boundary, so that no durable block is
// overwritten. A group has one or more frames, each at a multiple of 8 bytes; a frame is one commit:
//
//        0  4  length       of the payload as stored
//        4  4  raw          of the payload unpacked; the top bit says that it is stored as an LZ4 block
//        8  8  lsn          of the frame itself
//       16  8  commit       number of the commit
//       24  8  durable      up to where the log was known to be durable when this was written
//       32  8  kind         FrameKind
//       40  8  check        of bytes 0..<40, seeded with the salt: whether a frame begins here at all
//       48  8  chain        of the payload and `check`, seeded with the chain value of the frame before
//       56     payload      operations; see LogRecord
//
// `chain` covers a frame and all frames before it: a frame that does not continue the chain is not part of the log. If
// an unusable frame is followed by a frame that says that it was durable, the log is damaged; otherwise it is the torn
// end of a write that was never acknowledged.

/// A position in the log, and the chain value of everything before it.
struct LogPosition: Hashable {
    var lsn: UInt64
    var chain: UInt64

    static let start = LogPosition(lsn: 0, chain: 0)
}

enum FrameKind: UInt64 {
    case commit = 1
    /// Marks a commit that is not in the log but in the checkpoint with the same number. Replay ends here.
    case barrier = 2
}

struct LogFrame {
    static let headerBytes = 56
    static let checkedBytes = 40
    static let compressedBit: UInt32 = 1 << 31
    static let alignment = 8

    var stored: Int
    var raw: Int
    var isCompressed: Bool
    var lsn: UInt64
    var commit: UInt64
    var durable: UInt64
    var kind: FrameKind

    /// Returns the size of a frame, with padding to the next frame.
    static func bytes(payload: Int) -> Int {
        (headerBytes + payload + alignment - 1) / alignment * alignment
    }

    /// Writes the header of a frame whose payload is already behind it. Returns the new chain value.
    ///
    /// - Parameter cipher: encrypts the payload, which must have space for a tag after it. The header and the chain
    ///   then cover the encrypted payload.
    func write(to frame: UnsafeMutableRawPointer, salt: UInt64, cipher: SegmentCipher? = nil, chain: UInt64) -> UInt64 {
        frame.storeBytes(of: UInt32(stored), as: UInt32.self)
        frame.storeBytes(
            of: UInt32(raw) | (isCompressed ? LogFrame.compressedBit : 0), toByteOffset: 4, as: UInt32.self)
        frame.storeBytes(of: lsn, toByteOffset: 8, as: UInt64.self)
        frame.storeBytes(of: commit, toByteOffset: 16, as: UInt64.self)
        frame.storeBytes(of: durable, toByteOffset: 24, as: UInt64.self)
        frame.storeBytes(of: kind.rawValue, toByteOffset: 32, as: UInt64.self)
        cipher?.seal(frame, stored: stored)
        let check = Checksum.hash(frame, count: LogFrame.checkedBytes, seed: salt)
        frame.storeBytes(of: check, toByteOffset: 40, as: UInt64.self)
        let next = LogFrame.chain(payload: frame + LogFrame.headerBytes, count: stored, check: check, after: chain)
        frame.storeBytes(of: next, toByteOffset: 48, as: UInt64.self)
        return next
    }

    /// Returns the chain value in the header of a frame.
    static func chain(of frame: UnsafeRawBufferPointer) -> UInt64 {
        frame.loadUnaligned(fromByteOffset: 48, as: UInt64.self)
    }

    static func chain(payload: UnsafeRawPointer, count: Int, check: UInt64, after chain: UInt64) -> UInt64 {
        Checksum.hash(payload, count: count, seed: chain ^ check)
    }
}

extension LogFrame {
    /// Reads the header of the frame at `lsn`. Nil unless the header is intact and was written there in this use of the
    /// segment. Does not check that the frame continues the chain.
    ///
    /// - Parameter overhead: the number of bytes that encryption adds to a payload.
    init?(_ bytes: UnsafeRawPointer, available: Int, lsn: UInt64, salt: UInt64, overhead: Int = 0) {
        guard available >= LogFrame.headerBytes else { return nil }
        let check = bytes.loadUnaligned(fromByteOffset: 40, as: UInt64.self)
        guard check == Checksum.hash(bytes, count: LogFrame.checkedBytes, seed: salt),
            bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == lsn,
            let kind = FrameKind(rawValue: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
        else { return nil }
        let word = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
        let length = bytes.loadUnaligned(as: UInt32.self)
        guard UInt64(length) <= SegmentHeader.largestUsable(Int.self) else { return nil }
        stored = Int(length)
        raw = Int(word & ~LogFrame.compressedBit)
        isCompressed = word & LogFrame.compressedBit != 0
        self.lsn = lsn
        commit = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        durable = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
        self.kind = kind
        guard stored >= overhead, isCompressed || raw == stored - overhead else { return nil }
    }
}

struct SegmentHeader {
    static let magic: UInt64 = 0x3067_6f4c_6f6b_614d  // "MakoLog0"
    static let bytes = 72
    /// The unit of writing: no durable block is written twice.
    static let blockBytes = 4096
    static let smallestSegment = 4 * blockBytes
    static let largestSegment: UInt64 = 1 << 32
    static let numberLimit: UInt64 = 1 << 30

    var database: DatabaseID
    var number: UInt64
    var salt: UInt64
    var previousEnd: UInt64
    var chain: UInt64
    var segmentBytes: UInt64

    /// The position of the segment's first byte.
    var start: UInt64 { number * segmentBytes }

    func write(to block: UnsafeMutableRawPointer) {
        block.storeBytes(of: SegmentHeader.magic, toByteOffset: 8, as: UInt64.self)
        block.storeBytes(of: database.high, toByteOffset: 16, as: UInt64.self)
        block.storeBytes(of: database.low, toByteOffset: 24, as: UInt64.self)
        block.storeBytes(of: number, toByteOffset: 32, as: UInt64.self)
        block.storeBytes(of: salt, toByteOffset: 40, as: UInt64.self)
        block.storeBytes(of: previousEnd, toByteOffset: 48, as: UInt64.self)
        block.storeBytes(of: chain, toByteOffset: 56, as: UInt64.self)
        block.storeBytes(of: segmentBytes, toByteOffset: 64, as: UInt64.self)
        block.storeBytes(of: Checksum.hash(block + 8, count: SegmentHeader.bytes - 8, seed: 0), as: UInt64.self)
    }

    /// Returns the largest segment that a process with this address size can use: it must hold a frame, and copies of
    /// it, in memory.
    static func largestUsable<Count: FixedWidthInteger>(_: Count.Type) -> UInt64 {
        Count.bitWidth > 32 ? largestSegment : 1 << 28
    }

    /// Returns the segment size of a new database: `wanted` in whole blocks, within the limits.
    static func segmentBytes<Count: FixedWidthInteger>(wanted: Count) -> UInt64 {
        let block = UInt64(blockBytes)
        let bytes = min(max(UInt64(smallestSegment), UInt64(clamping: wanted)), largestUsable(Count.self))
        return (bytes + block - 1) / block * block
    }

    /// Whether a segment can have this size.
    static func isPossible(segmentBytes: UInt64) -> Bool {
        (UInt64(smallestSegment)...largestSegment).contains(segmentBytes) && segmentBytes % UInt64(blockBytes) == 0
    }
}

extension SegmentHeader {
    /// The bytes that describe a segment, without the rest of its first block.
    var encoded: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: SegmentHeader.bytes)
        bytes.withUnsafeMutableBytes { buffer in
            if let block = buffer.baseAddress { write(to: block) }
        }
        return bytes
    }

    /// Reads a segment header. Nil if the block is not one.
    init?(_ block: UnsafeRawPointer) {
        guard block.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == SegmentHeader.magic,
            block.loadUnaligned(as: UInt64.self)
                == Checksum.hash(block + 8, count: SegmentHeader.bytes - 8, seed: 0)
        else { return nil }
        func word(_ offset: Int) -> UInt64 { block.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        database = DatabaseID(high: word(16), low: word(24))
        number = word(32)
        salt = word(40)
        previousEnd = word(48)
        chain = word(56)
        segmentBytes = word(64)
        guard SegmentHeader.isPossible(segmentBytes: segmentBytes), number < SegmentHeader.numberLimit else {
            return nil
        }
    }

    /// Whether a file that starts so has content that is neither a segment nor the zeros of one that was never written.
    ///
    /// - Parameter start: as many bytes as a header has, or all of a shorter file.
    static func isForeign(_ start: [UInt8]) -> Bool {
        guard start.contains(where: { $0 != 0 }) else { return false }
        guard start.count == SegmentHeader.bytes else { return true }
        return start.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) } != SegmentHeader.magic
    }

    /// Nil when the bytes are not those.
    init?(encoded bytes: [UInt8]) {
        let header = bytes.withUnsafeBytes { buffer in
            buffer.count == SegmentHeader.bytes ? buffer.baseAddress.flatMap { SegmentHeader($0) } : nil
        }
        guard let header else { return nil }
        self = header
    }
}

/// What the header of a frame says of itself. Nothing of it is checked.
struct FrameClaim {
    /// Bytes of the frame, with padding to the next one.
    var bytes: Int
    var lsn: UInt64
    var commit: UInt64
    var chain: UInt64

    /// - Parameter frame: at least a header.
    init(_ frame: ArraySlice<UInt8>) {
        func word(_ offset: Int, _ bytes: Int = 8) -> UInt64 {
            (0..<bytes).reduce(0) { $0 | UInt64(frame[frame.startIndex + offset + $1]) << UInt64($1 * 8) }
        }
        bytes = LogFrame.bytes(payload: Int(word(0, 4)))
        lsn = word(8)
        commit = word(16)
        chain = word(48)
    }
}

/// The identity of a database file, chosen at random when it is created.
struct DatabaseID: Hashable {
    var high: UInt64
    var low: UInt64

    var seed: UInt64 { Checksum.mix(high ^ 0x6d61_6b6f, low ^ 0x2d64_625f) }
}

/// The names of the files of a log.
enum LogFile {
    /// The part between the data file's name and the number of the log file.
    static let infix = "-wal-"

    static func segmentPath(_ path: String, _ number: UInt64) -> String { "\(path)\(infix)\(number)" }

    static func sparePath(_ path: String) -> String { "\(path)\(infix)spare" }

    /// Returns the highest number that a segment may have had. A file far beyond the known ones was never one, and the
    /// log must not go on behind its number, because the numbers are limited.
    static func last(of numbers: some Sequence<UInt64>, behind known: UInt64) -> UInt64 {
        numbers.reduce(known) { $1 < known + (1 << 16) ? max($0, $1) : $0 }
    }

    /// Returns the numbers of the segment files next to the data file, whatever their contents. Skips names that no
    /// segment gets, because they belong to other programs.
    static func numbers(of path: String, in fileSystem: any FileSystem) throws(FileError) -> [UInt64] {
        let prefix = FilePath.name(of: path) + infix
        return try fileSystem.list(directory: FilePath.directory(of: path)).compactMap { name in
            guard name.hasPrefix(prefix), let number = UInt64(name.dropFirst(prefix.count)),
                number < SegmentHeader.numberLimit, TextKey(name) == TextKey(prefix + String(number))
            else { return nil }
            return number
        }.sorted()
    }
}
