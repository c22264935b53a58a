import CPlatform

// A value too large for its leaf is stored in a run of pages with consecutive page ids and consecutive write ids. Each
// has a header and a checksum; the bodies together are the value, or its LZ4 block if that saves at least a page. The
// leaf has a descriptor:
//
//        0  8  page     number of the first page
//        8  8  write id of the first page
//       16  4  length   of the value
//       20  4  stored   bytes in the run; the top bit says that they are an LZ4 block, the next that they are a list of
//                       the runs of the value's pages; see ValueExtents.swift

struct Overflow: Hashable {
    static let descriptorBytes = 24
    static let payloadBytes = pageBytes - Page.bodyOffset
    private static let compressedBit: UInt32 = 1 << 31
    private static let listBit: UInt32 = 1 << 30

    var firstPage: UInt64
    var firstWriteID: UInt64
    var length: Int
    var stored: Int
    var isCompressed: Bool
    /// Whether the pages hold a list of runs (`ValueExtents`) instead of the value.
    var isList = false

    var pageCount: Int { (stored + Overflow.payloadBytes - 1) / Overflow.payloadBytes }

    init(firstPage: UInt64, firstWriteID: UInt64, length: Int, stored: Int, isCompressed: Bool) {
        self.firstPage = firstPage
        self.firstWriteID = firstWriteID
        self.length = length
        self.stored = stored
        self.isCompressed = isCompressed
    }

    /// Reads a descriptor. Nil if its fields contradict each other.
    init?(_ record: RecordView) {
        guard record.isOverflow, record.count == Overflow.descriptorBytes else { return nil }
        firstPage = record.bytes.loadUnaligned(as: UInt64.self)
        firstWriteID = record.bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        length = Int(clamping: record.bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        let word = record.bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
        stored = Int(word & ~(Overflow.compressedBit | Overflow.listBit))
        isCompressed = word & Overflow.compressedBit != 0
        isList = word & Overflow.listBit != 0
        guard length <= Limits.valueBytes, stored <= length, firstPage < pageNumberLimit, firstWriteID < counterLimit,
            isCompressed || stored == length, length == 0 || stored > 0,
            SpaceMap.canBeAllocated(firstPage, count: pageCount)
        else { return nil }
    }

    func write(to bytes: UnsafeMutableRawPointer) {
        bytes.storeBytes(of: firstPage, as: UInt64.self)
        bytes.storeBytes(of: firstWriteID, toByteOffset: 8, as: UInt64.self)
        bytes.storeBytes(of: UInt32(length), toByteOffset: 16, as: UInt32.self)
        bytes.storeBytes(
            of: UInt32(stored) | (isCompressed ? Overflow.compressedBit : 0) | (isList ? Overflow.listBit : 0),
            toByteOffset: 20, as: UInt32.self)
    }

    func reference(at index: Int) -> PageReference {
        PageReference(page: firstPage + UInt64(index), writeID: firstWriteID &+ UInt64(index))
    }

    /// Reads the whole value.
    ///
    /// - Throws: ``StorageError/valueTooLarge(bytes:limit:)`` for a streamed value that does not fit an array.
    func read(from frames: FrameStore) throws(StorageError) -> [UInt8] {
        if isList {
            let runs = try runs(from: frames)
            guard runs.length <= UInt64(Limits.valueBytes) else {
                throw .valueTooLarge(bytes: Int(clamping: runs.length), limit: Limits.valueBytes)
            }
            return try Overflow.bytes(Int(runs.stored)) { (buffer) throws(StorageError) in
                try ExtentReader(runs, of: frames).read(at: 0, into: buffer)
            }
        }
        let block = try readStored(from: frames)
        guard isCompressed else { return block }
        guard let value = LZ4.decompress(block, length: length) else {
            throw .corrupted(page: firstPage, reason: "its LZ4 block does not unpack to \(length) bytes")
        }
        return value
    }

    /// Returns the runs of pages of the value.
    func runs(from frames: FrameStore) throws(StorageError) -> ValueExtents {
        guard isList else { return ValueExtents(self) }
        let list = try readStored(from: frames).withUnsafeBytes { ValueExtents($0) }
        guard let list, !list.isCompressed else {
            throw .corrupted(page: firstPage, reason: "its list of runs contradicts itself")
        }
        // Check the runs against the file, so that loops over their pages are bounded.
        let filePages = try storage { () throws(FileError) in try frames.file.size() } / UInt64(pageBytes)
        guard list.runs.allSatisfy({ $0.pages.upperBound <= filePages }) else {
            throw .corrupted(page: firstPage, reason: "its list of runs goes on behind the end of the file")
        }
        return list
    }

    /// Returns the stored bytes of the run's pages.
    private func readStored(from frames: FrameStore) throws(StorageError) -> [UInt8] {
        try Overflow.bytes(stored) { (buffer) throws(StorageError) in
            if stored >= Limits.directBytes {
                try ExtentReader(ValueExtents(self), of: frames).read(at: 0, into: buffer)
            } else {
                try copyPages(from: frames, to: buffer)
            }
        }
    }

    private static func bytes(
        _ count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) -> [UInt8] {
        var failure: StorageError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(StorageError) {
                try fill(UnsafeMutableRawBufferPointer(buffer))
                filled = count
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Returns the body of a page of the run. The caller must be inside an operation epoch.
    func page(_ index: Int, of frames: FrameStore) throws(StorageError) -> UnsafeRawPointer {
        let page = try frames.resolve(reference(at: index), type: .overflow, level: 0)
        return UnsafeRawPointer(page.base + Page.bodyOffset)
    }

    private func copyPages(from frames: FrameStore, to buffer: UnsafeMutableRawBufferPointer) throws(StorageError) {
        guard let start = buffer.baseAddress else { return }
        for index in 0..<pageCount {
            let page = try frames.resolve(reference(at: index), type: .overflow, level: 0)
            let offset = index * Overflow.payloadBytes
            memcpy(start + offset, page.base + Page.bodyOffset, min(Overflow.payloadBytes, stored - offset))
        }
    }
}
