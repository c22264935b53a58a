import MakoStorage

// The objects of a sequence begin with a header of 256 bytes, little-endian; docs/replication.md draws it.

/// The content of an object of a sequence.
enum SequenceKind: UInt64 {
    /// Frames of the log.
    case frames = 1
    /// An incremental backup.
    case part = 2
    /// A reference to a full backup, which is a separate object.
    case full = 3
}

/// The header of an object of a sequence: its position, its commits, and the digest of its content.
struct SequenceHeader: Hashable {
    static let bytes = 256
    static let magic: UInt64 = 0x3071_6553_6f6b_614d  // "MakoSeq0"
    static let format: UInt64 = 1
    /// The bound of commits and sizes, so that a sum of two never overflows.
    private static let limit: UInt64 = 1 << 62

    var database: ReplicaIdentity
    var branch: UInt64
    var number: UInt64
    var kind: SequenceKind
    var epoch: UInt64 = 1
    /// The ends of the object before and of this one.
    var before: LogPlace
    var after: LogPlace
    /// The creation of this object and of the one before, in milliseconds since 1970, by the clocks of their writers: `BranchDates` corrects them.
    var date: UInt64
    var dateBefore: UInt64
    /// The checksum of the header before; in the first object, of the origin.
    var previous: UInt64
    /// The basis of a backup, and the number of its base. In frames, the base is the last backup.
    var basis: UInt64 = 0
    var base: UInt64 = 0
    /// The size and the digest of the content after the header, or of the full backup.
    var contentBytes: UInt64 = 0
    var digest: UInt64 = 0

    /// The commits; nil without any.
    var commits: ClosedRange<UInt64>? {
        after.commit > before.commit ? before.commit + 1...after.commit : nil
    }

    /// The base of an incremental backup on top of this one.
    var point: BackupPoint {
        BackupPoint(
            databaseHigh: database.high, databaseLow: database.low, commit: after.commit, basis: basis,
            chain: after.chain)
    }

    /// The checksum of the header, which includes the digest of the content.
    var check: UInt64 { Words(encoded).word(0) }

    var encoded: [UInt8] {
        Words.encode(
            [
                SequenceHeader.magic, SequenceHeader.format, database.high, database.low, branch, number, kind.rawValue,
                epoch, before.commit, before.lsn, before.chain, after.commit, after.lsn, after.chain, date, dateBefore,
                previous, basis, base, contentBytes, digest,
            ], bytes: SequenceHeader.bytes)
    }

    /// The format of a header that a later version of Mako wrote; nil of other bytes.
    static func laterFormat(_ bytes: [UInt8]) -> UInt64? { Words(bytes).laterFormat(magic, format) }

    /// Decodes a header. Returns nil when the bytes are none, or damaged.
    init?(_ bytes: [UInt8]) {
        let words = Words(bytes)
        guard bytes.count == SequenceHeader.bytes, words.isSound, words.word(1) == SequenceHeader.magic,
            words.word(2) == SequenceHeader.format, let kind = SequenceKind(rawValue: words.word(7)),
            words.areZero(from: 22)
        else { return nil }
        self.kind = kind
        database = ReplicaIdentity(high: words.word(3), low: words.word(4))
        branch = words.word(5)
        number = words.word(6)
        epoch = words.word(8)
        before = LogPlace(commit: words.word(9), lsn: words.word(10), chain: words.word(11))
        after = LogPlace(commit: words.word(12), lsn: words.word(13), chain: words.word(14))
        date = words.word(15)
        dateBefore = words.word(16)
        previous = words.word(17)
        basis = words.word(18)
        base = words.word(19)
        contentBytes = words.word(20)
        digest = words.word(21)
        guard after.commit >= before.commit, after.lsn >= before.lsn, after.commit < SequenceHeader.limit,
            contentBytes < SequenceHeader.limit
        else { return nil }
    }

    init(
        _ database: ReplicaIdentity, _ branch: UInt64, _ number: UInt64, _ kind: SequenceKind,
        from before: LogPlace, to after: LogPlace
    ) {
        self.database = database
        self.branch = branch
        self.number = number
        self.kind = kind
        self.before = before
        self.after = after
        date = 0
        dateBefore = 0
        previous = 0
    }
}

/// The identity of a database.
struct ReplicaIdentity: Sendable, Hashable {
    var high: UInt64
    var low: UInt64

    var name: String { ReplicaNames.database(high: high, low: low) }
}

/// The origin of a branch.
struct BranchOrigin: Hashable {
    static let bytes = 128
    static let magic: UInt64 = 0x3067_724f_6f6b_614d  // "MakoOrg0"
    static let format: UInt64 = 1

    var database: ReplicaIdentity
    var branch: UInt64
    /// The branch that was restored; 0 without one.
    var parent: UInt64
    /// The chain value of the parent at the commit.
    var parentChain: UInt64
    /// The place where the log of this branch begins.
    var start: LogPlace
    var date: UInt64

    var check: UInt64 { Words(encoded).word(0) }

    var encoded: [UInt8] {
        Words.encode(
            [
                BranchOrigin.magic, BranchOrigin.format, database.high, database.low, branch, parent, parentChain,
                start.commit, start.lsn, start.chain, date,
            ], bytes: BranchOrigin.bytes)
    }

    init(
        _ database: ReplicaIdentity, branch: UInt64, parent: (branch: UInt64, chain: UInt64), start: LogPlace,
        date: UInt64
    ) {
        self.database = database
        self.branch = branch
        self.parent = parent.branch
        parentChain = parent.chain
        self.start = start
        self.date = date
    }

    /// The format of an origin that a later version of Mako wrote; nil of other bytes.
    static func laterFormat(_ bytes: [UInt8]) -> UInt64? { Words(bytes).laterFormat(magic, format) }

    init?(_ bytes: [UInt8]) {
        let words = Words(bytes)
        guard bytes.count == BranchOrigin.bytes, words.isSound, words.word(1) == BranchOrigin.magic,
            words.word(2) == BranchOrigin.format, words.areZero(from: 12)
        else { return nil }
        database = ReplicaIdentity(high: words.word(3), low: words.word(4))
        branch = words.word(5)
        parent = words.word(6)
        parentChain = words.word(7)
        start = LogPlace(commit: words.word(8), lsn: words.word(9), chain: words.word(10))
        date = words.word(11)
    }
}

/// Bytes as little-endian words, of which the first is the checksum of the others.
struct Words {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func encode(_ words: [UInt64], bytes count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 8)
        for word in words { bytes += self.bytes(of: word) }
        bytes.append(contentsOf: repeatElement(0, count: count - bytes.count))
        bytes.replaceSubrange(0..<8, with: self.bytes(of: Checksum.hash(bytes[8...], seed: 0)))
        return bytes
    }

    static func bytes(of word: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) }
    }

    var isSound: Bool { bytes.count >= 8 && word(0) == Checksum.hash(bytes[8...], seed: 0) }

    /// A word; 0 after the end.
    func word(_ index: Int) -> UInt64 {
        guard (index + 1) * 8 <= bytes.count else { return 0 }
        return (0..<8).reduce(0) { $0 | UInt64(bytes[index * 8 + $1]) << UInt64($1 * 8) }
    }

    /// The format that follows a magic number, if it is later than a known one; nil of other bytes.
    func laterFormat(_ magic: UInt64, _ known: UInt64) -> UInt64? {
        isSound && word(1) == magic && word(2) > known ? word(2) : nil
    }

    func areZero(from index: Int) -> Bool { bytes.dropFirst(index * 8).allSatisfy { $0 == 0 } }
}

/// A checksum of content of any size: the hash of each MiB is the seed of the next.
struct Digest {
    private(set) var value: UInt64 = 0
    private var waiting: [UInt8] = []

    mutating func add(_ bytes: [UInt8]) {
        waiting += bytes
        while waiting.count >= ObjectContent.pieceBytes {
            value = Checksum.hash(waiting[..<ObjectContent.pieceBytes], seed: value)
            waiting.removeFirst(ObjectContent.pieceBytes)
        }
    }

    /// The digest of all added bytes.
    mutating func finish() -> UInt64 {
        if !waiting.isEmpty { value = Checksum.hash(waiting[...], seed: value) }
        waiting = []
        return value
    }

    static func of(_ bytes: [UInt8]) -> UInt64 {
        var digest = Digest()
        digest.add(bytes)
        return digest.finish()
    }

    static func of(_ content: ObjectContent) throws(ObjectStoreError) -> UInt64 {
        var digest = Digest()
        try content.forEachPiece { piece throws(ObjectStoreError) in digest.add(piece) }
        return digest.finish()
    }
}
