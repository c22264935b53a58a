// The fixed pages of the data file, each with the page header of PageFormat.swift:
//
//     page 0, 1   header block, twice; checksum seeded with 0
//     page 2, 3   meta slot A, twice
//     page 4, 5   meta slot B, twice
//     page 6...   bitmap copies of region 0; see SpaceMap.swift
//
// Header block:                                     Meta:
//
//     40  8  magic         "MakoDB00"                  40  8  number       of the checkpoint; slot = number mod 2
//     48  4  version       of the format               48  8  commit
//     52  4  page          page size in bytes          56  8  point        write id boundary of the commit
//     56 16  id            of the database             64  8  lsn          the log continues here
//     72  8  mustRead      features a reader must know  72  8  chain        the log's chain value there
//     80  8  mustWrite     features a writer must know  80  8  nextTree     number of the next tree
//     88  8  high water    write ids below may be used  88  8  directory    first page of the directory
//     96  8  segment       bytes of a log segment      96  8  write id     of that page
//    104  8  newest        segment in use, 0: none    104  8  length       of the directory in bytes
//    112  8  generation    counts rewrites            112  8  regions      number of regions
//                                                     120     plain trees  bit n of word n/64: no value of the
//                                                                          directory's n-th tree has pages of its own
//    120 100  key           of an encrypted database;  4088  8  basis        of a backup, else 0
//                           see KeyRecord.swift
//
// The directory is a run of pages as of an overflow value. It has, for each region, 1 byte bitmap copy and 8 bytes
// write id; then, for each tree in ascending order: 4 bytes number, 1 byte key kind, 1 byte levels, 2 bytes length of the
// name, 8 bytes root reference, 8 bytes entries, the name.

/// The first two pages of a database file: its identity and format, and limits that must be durable before they are
/// used.
struct FileHeader: Hashable {
    static let magic: UInt64 = 0x3030_4244_6f6b_614d  // "MakoDB00"
    static let version: UInt32 = 1
    static let copies = 2
    /// The number of write ids by which the high-water mark is raised at a time.
    static let writeIDStock: UInt64 = 1 << 20

    var id: DatabaseID
    var mustRead: UInt64
    var mustWrite: UInt64 = 0
    var highWaterMark: UInt64
    var segmentBytes: UInt64
    var newestSegment: UInt64
    var generation: UInt64
    /// The key record of an encrypted database.
    var key: KeyRecord? = nil

    /// Returns the segment that must exist to read the log after a position; 0 for none.
    ///
    /// A checkpoint may end in a segment that the header does not name only after a recovery: the process before it
    /// ended or failed while recording the segment, and a power failure may remove the file. The next commit uses a
    /// later segment.
    func segmentNeeded(behind position: LogPosition) -> UInt64 {
        let isBehind = position.lsn > 0 && (position.lsn - 1) / segmentBytes > newestSegment
        return isBehind ? 0 : newestSegment
    }

    func write(to page: UnsafeMutableRawPointer, copy: Int) {
        page.initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
        Page(page).format(page: UInt64(copy), type: .header, level: 0, writeID: generation, tree: 0)
        page.storeBytes(of: FileHeader.magic, toByteOffset: 40, as: UInt64.self)
        page.storeBytes(of: FileHeader.version, toByteOffset: 48, as: UInt32.self)
        page.storeBytes(of: UInt32(pageBytes), toByteOffset: 52, as: UInt32.self)
        for (index, word) in [
            id.high, id.low, mustRead, mustWrite, highWaterMark, segmentBytes, newestSegment, generation,
        ]
        .enumerated() {
            page.storeBytes(of: word, toByteOffset: 56 + index * 8, as: UInt64.self)
        }
        for (index, byte) in (key?.encoded ?? []).enumerated() {
            page.storeBytes(of: byte, toByteOffset: KeyRecord.offset + index, as: UInt8.self)
        }
        PageCodec.header.seal(page, number: UInt64(copy))
    }

    enum Reading {
        case good(FileHeader)
        /// It has another format version.
        case version(UInt32)
        /// It is a damaged header.
        case damaged
        /// It is something else.
        case foreign
    }

    /// Throws for a database whose log exceeds the address space of the process.
    func checkSegments<Count: FixedWidthInteger>(path: String, addresses: Count.Type) throws(StorageError) {
        guard segmentBytes <= SegmentHeader.largestUsable(addresses) else {
            throw .invalidArgument(
                "\(path) has log segments of \(segmentBytes) bytes, which a process with addresses of \(Count.bitWidth) bits cannot read; open it with a build for 64 bits"
            )
        }
    }

    static func read(_ page: UnsafeRawPointer, copy: Int) -> Reading {
        guard page.loadUnaligned(fromByteOffset: 40, as: UInt64.self) == magic else { return .foreign }
        guard Page.isSealed(page, page: UInt64(copy), seed: 0) else { return .damaged }
        let version = page.loadUnaligned(fromByteOffset: 48, as: UInt32.self)
        guard version == FileHeader.version else { return .version(version) }
        guard page.loadUnaligned(fromByteOffset: 52, as: UInt32.self) == UInt32(pageBytes) else { return .damaged }
        func word(_ index: Int) -> UInt64 { page.loadUnaligned(fromByteOffset: 56 + index * 8, as: UInt64.self) }
        // Check the limits of counters, so that sums of them cannot overflow.
        guard word(4) < counterLimit, SegmentHeader.isPossible(segmentBytes: word(5)),
            word(6) < SegmentHeader.numberLimit, word(7) < counterLimit
        else { return .damaged }
        let key = KeyRecord(
            (KeyRecord.offset..<KeyRecord.offset + KeyRecord.bytes).map {
                page.load(fromByteOffset: $0, as: UInt8.self)
            })
        let isEncrypted = FormatFeatures(rawValue: word(2)).contains(.encryption)
        guard key != nil || !isEncrypted else { return .damaged }
        return .good(
            FileHeader(
                id: DatabaseID(high: word(0), low: word(1)), mustRead: word(2), mustWrite: word(3),
                highWaterMark: word(4),
                segmentBytes: word(5), newestSegment: word(6), generation: word(7), key: isEncrypted ? key : nil))
    }
}

/// The limit of the numbers of commits, write ids and checkpoints, and of bytes of log.
let counterLimit: UInt64 = 1 << 62

/// A checkpoint: a published commit of all trees, and the log position where recovery continues.
struct Meta: Hashable {
    static let firstPage: UInt64 = 2
    static let copies = 2

    var number: UInt64
    var commit: UInt64
    var point: UInt64
    var log: LogPosition
    var nextTreeID: UInt64
    var directory: Overflow
    var regions: UInt64
    /// A bit for each of the directory's first trees, set if none of its values has pages of its own. A cleared bit
    /// says nothing, because older programs do not write these bits.
    var plainTrees: [UInt64] = []

    private static let plainTreesOffset = 120
    private static let plainTreesWords = (basisOffset - plainTreesOffset) / 8

    /// Returns the bits for the trees of a directory, without trailing zero words.
    static func plainTrees(_ trees: some Sequence<TreeState>) -> [UInt64] {
        var words: [UInt64] = []
        for (index, tree) in trees.prefix(plainTreesWords * 64).enumerated() {
            if index % 64 == 0 { words.append(0) }
            if !tree.mayHoldLargeValues {
                words[index / 64] |= 1 << UInt64(index % 64)
            }
        }
        while words.last == 0 { words.removeLast() }
        return words
    }

    /// Whether the directory's tree at a position is known to have no value with pages of its own.
    func isPlain(_ index: Int) -> Bool {
        index / 64 < plainTrees.count && plainTrees[index / 64] & 1 << UInt64(index % 64) != 0
    }
    /// In a backup, the point of a checkpoint whose pages are all in the file too; 0 elsewhere.
    var basis: UInt64 = 0

    private static let basisOffset = pageBytes - 8

    /// Returns the page of a copy of the slot for a checkpoint number.
    static func page(number: UInt64, copy: Int) -> UInt64 {
        firstPage + (number % 2) * UInt64(copies) + UInt64(copy)
    }

    func write(to page: UnsafeMutableRawPointer, copy: Int, _ codec: PageCodec) {
        let place = Meta.page(number: number, copy: copy)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
        Page(page).format(page: place, type: .meta, level: 0, writeID: number, tree: 0)
        let words = [
            number, commit, point, log.lsn, log.chain, nextTreeID, directory.firstPage, directory.firstWriteID,
            UInt64(directory.length), regions,
        ]
        for (index, word) in words.enumerated() {
            page.storeBytes(of: word, toByteOffset: Page.bodyOffset + index * 8, as: UInt64.self)
        }
        for (index, word) in plainTrees.enumerated() {
            page.storeBytes(of: word, toByteOffset: Meta.plainTreesOffset + index * 8, as: UInt64.self)
        }
        page.storeBytes(of: basis, toByteOffset: Meta.basisOffset, as: UInt64.self)
        codec.seal(page, number: place)
    }
}

extension Meta {
    /// Decodes a page of the file. Nil if it is not an intact meta.
    init?(_ page: UnsafeMutableRawPointer, place: UInt64, _ codec: PageCodec) {
        guard codec.open(page, number: place) else { return nil }
        self.init(page)
        // Checkpoints use the two slots in turn.
        guard Meta.page(number: number, copy: Int(place % UInt64(Meta.copies))) == place else { return nil }
    }

    /// Decodes an intact page. Nil if it is not a meta.
    init?(_ page: UnsafeRawPointer) {
        func word(_ index: Int) -> UInt64 {
            page.loadUnaligned(fromByteOffset: Page.bodyOffset + index * 8, as: UInt64.self)
        }
        let length = word(8)
        let basisWord = (Meta.basisOffset - Page.bodyOffset) / 8
        guard length <= UInt64(Limits.valueBytes), word(2) > 0, word(6) < pageNumberLimit, word(9) <= 1 << 20,
            [0, 1, 2, 3, 7, basisWord].allSatisfy({ word($0) < counterLimit })
        else { return nil }
        number = word(0)
        commit = word(1)
        point = word(2)
        log = LogPosition(lsn: word(3), chain: word(4))
        nextTreeID = word(5)
        directory = Overflow(
            firstPage: word(6), firstWriteID: word(7), length: Int(length), stored: Int(length), isCompressed: false)
        regions = word(9)
        // Skip trailing zero words, because most files have few trees.
        var used = Meta.plainTreesWords
        while used > 0 && word(10 + used - 1) == 0 { used -= 1 }
        plainTrees = (0..<used).map { word(10 + $0) }
        basis = word(basisWord)
    }
}

/// The contents of a checkpoint's directory.
struct Directory {
    var regions: [SpaceMap.RegionState]
    var trees: [TreeState]
    var names: TreeNames

    static func encodedBytes(regions: Int, names: TreeNames) -> Int {
        regions * 9 + names.all.reduce(0) { $0 + 24 + $1.key.utf8.count }
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Directory.encodedBytes(regions: regions.count, names: names))
        func append<Word: FixedWidthInteger>(_ word: Word) {
            withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
        }
        for region in regions {
            append(region.copy)
            append(region.writeID)
        }
        for tree in trees {
            let name = names.name(of: tree.id) ?? ""
            append(tree.id)
            append(TreeState.kindByte(tree.kind, tree.options))
            append(UInt8(truncatingIfNeeded: tree.levels))
            append(UInt16(truncatingIfNeeded: name.utf8.count))
            append(tree.root.raw)
            append(tree.count)
            bytes.append(contentsOf: name.utf8)
        }
        return bytes
    }

    /// Nil if the bytes are inconsistent.
    init?(_ bytes: [UInt8], regions: Int) {
        guard let (directory, end) = Directory.read(bytes, regions: regions), end == bytes.count else { return nil }
        self = directory
    }

    /// Reads the regions and as many trees as possible, and the end of the last tree. Returns nil if the regions cannot
    /// be read.
    static func read(_ bytes: [UInt8], regions regionCount: Int) -> (directory: Directory, end: Int)? {
        var position = 0
        func word<Word: FixedWidthInteger>(_: Word.Type) -> Word? {
            let size = MemoryLayout<Word>.size
            guard bytes.count - position >= size else { return nil }
            defer { position += size }
            return bytes.withUnsafeBytes {
                Word(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Word.self))
            }
        }
        var regions: [SpaceMap.RegionState] = []
        for _ in 0..<regionCount {
            guard let copy = word(UInt8.self), Int(copy) < SpaceMap.bitmapCopies, let writeID = word(UInt64.self) else {
                return nil
            }
            regions.append(SpaceMap.RegionState(copy: copy, writeID: writeID))
        }
        var trees: [TreeState] = []
        var ids: [String: UInt32] = [:]
        var end = position
        while position < bytes.count {
            guard let id = word(UInt32.self), let (kind, options) = word(UInt8.self).flatMap(TreeState.kind),
                let levels = word(UInt8.self), levels <= Limits.levels, let length = word(UInt16.self),
                let root = word(UInt64.self), let count = word(UInt64.self),
                bytes.count - position >= Int(length), id > (trees.last?.id ?? 0)
            else { break }
            let name = String(decoding: bytes[position..<position + Int(length)], as: UTF8.self)
            guard ids.updateValue(id, forKey: name) == nil else { break }
            position += Int(length)
            end = position
            var tree = TreeState(id: id, kind: kind, isCounted: options.contains(.subtreeCounts))
            tree.levels = Int(levels)
            tree.root = PageReference(raw: root)
            tree.count = count
            tree.mayHoldLargeValues = levels > 0
            trees.append(tree)
        }
        return (Directory(regions: regions, trees: trees, names: TreeNames(ids)), end)
    }

    init(regions: [SpaceMap.RegionState], trees: [TreeState], names: TreeNames) {
        self.regions = regions
        self.trees = trees
        self.names = names
    }
}
