import CPlatform

/// What a flush does with a group once it is written.
enum FlushLevel: Comparable {
    /// Nothing.
    case written
    /// Nothing that is written later reaches the device before it.
    case ordered
    /// The device keeps it.
    case durable
}

/// The writing end of the log: segments on disk, and the flush group that is being collected.
///
/// Frames are appended to memory by committers, one at a time; a flush writes the collected group with one write
/// and one sync. The callers' commit lock guards everything here but `write(_:)`, which only one caller runs at a
/// time and which touches nothing that appending touches.
final class LogWriter {
    let fileSystem: any FileSystem
    let path: String
    let database: DatabaseID
    private let dataFile: any File
    let segmentBytes: Int
    private let keys: DatabaseKeys?
    /// What encryption adds to a frame.
    private let overhead: Int
    private let entropy: any Entropy

    private struct Segment {
        var number: UInt64
        var path: String
        var file: any File
        var salt: UInt64
        var cipher: SegmentCipher?
        /// Whether the data file's header names it, or a later one.
        var isRecorded: Bool
    }

    /// What a flush writes.
    struct Group {
        /// Everything before this group is durable.
        var isAlone: Bool
        /// The log's own memory, until the next group is taken. Empty when there is nothing to write, but something to sync.
        var bytes: UnsafeRawBufferPointer
        var file: any File
        var offset: UInt64
        /// The log is durable to here once this is written and synced.
        var end: UInt64
        /// The segment, when the data file does not name it yet.
        var unrecorded: UInt64?
    }

    /// The last group of a segment behind which another has been begun in memory.
    private struct ClosedGroup {
        var isAlone: Bool
        var segment: Segment
        var start: UInt64
        var end: UInt64
    }

    /// Segments that recovery may still need, and the one being written, last.
    @exclusivity(unchecked) private var segments: [Segment] = []
    /// Files of retired segments, to be used again.
    private var spare: [String] = []
    /// Files of retired segments that replication still wants.
    @exclusivity(unchecked) var archive: SegmentArchive
    private var lastNumber: UInt64
    /// The last segment was written by an earlier run: nothing is added to it.
    @exclusivity(unchecked) private var isSealed = false
    /// The segment before was filled since opening: the next one may be wanted soon.
    @exclusivity(unchecked) private var hasFilledSegment = false
    /// After the last appended frame.
    @exclusivity(unchecked) private(set) var position: LogPosition
    @exclusivity(unchecked) private(set) var durable: UInt64
    /// What is written behind this reaches the device after what is before.
    @exclusivity(unchecked) private var ordered: UInt64
    @exclusivity(unchecked) private var buffer = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// The group that is being written, and the memory of the one after the next.
    @exclusivity(unchecked) private var inFlight = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// What handing out that group has changed; nil for the last one of a segment.
    @exclusivity(unchecked) private var taken: (start: UInt64, nextStart: UInt64, hasUnsynced: Bool)?
    @exclusivity(unchecked) private var closed: ClosedGroup?
    /// What `closed` has to write.
    @exclusivity(unchecked) private var closedBytes = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// Something was written, or handed out to be written, without a sync, and no group with one after it.
    @exclusivity(unchecked) private var hasUnsynced = false
    @exclusivity(unchecked) private var bufferStart: UInt64 = 0
    /// Where the next group may begin: behind the last block that a sync has made, or is making, durable.
    @exclusivity(unchecked) private var nextStart: UInt64 = 0
    /// Frame bytes appended since opening.
    @exclusivity(unchecked) private(set) var appendedBytes: UInt64 = 0
    /// Their content, and what of it was written.
    @exclusivity(unchecked) private(set) var content: (bytes: UInt64, stored: UInt64) = (0, 0)
    /// File bytes taken by them since opening.
    @exclusivity(unchecked) private var filledBytes: UInt64 = 0

    init(
        fileSystem: any FileSystem, path: String, database: DatabaseID, dataFile: any File, segmentBytes: Int,
        keys: DatabaseKeys?, entropy: any Entropy, position: LogPosition, lastNumber: UInt64
    ) {
        self.fileSystem = fileSystem
        self.path = path
        self.database = database
        self.dataFile = dataFile
        self.segmentBytes = Int(SegmentHeader.segmentBytes(wanted: segmentBytes))
        archive = SegmentArchive(segmentBytes: self.segmentBytes)
        self.keys = keys
        overhead = keys == nil ? 0 : SegmentCipher.overhead
        self.entropy = entropy
        self.position = position
        self.lastNumber = lastNumber
        durable = position.lsn
        ordered = position.lsn
    }

    /// What an idle buffer keeps of its memory.
    private static let keptBytes = 1 << 20

    /// The largest payload of one frame.
    var payloadLimit: Int {
        segmentBytes - SegmentHeader.blockBytes - LogFrame.headerBytes - LogFrame.alignment - overhead
    }

    /// The number of the newest segment, or 0 when there is none in use.
    var newestSegment: UInt64 { segments.last?.number ?? 0 }
    /// Everything before is in a file, or in the group that is on its way there.
    var written: UInt64 { closed?.start ?? (buffer.isEmpty ? position.lsn : bufferStart) }
    /// Where the last group of a segment ends that has to be made durable before anything behind it is written.
    var closedEnd: UInt64? { closed?.end }
    /// Whether there are files, those that nothing needs included.
    var hasFiles: Bool { !segments.isEmpty || !spare.isEmpty }
    /// Bytes of log files since a position, the padding of small groups included: a checkpoint there would let go of them.
    func bytes(since lsn: UInt64) -> UInt64 { position.lsn > lsn ? min(position.lsn - lsn, filledBytes) : 0 }

    // MARK: Room

    /// Where a frame would go in the segment in use, or nil when it does not fit there.
    private func place(_ payload: Int, isFlushed: Bool = false) -> UInt64? {
        guard !isSealed, !segments.isEmpty else { return nil }
        var start = buffer.isEmpty ? max(nextStart, position.lsn) : position.lsn
        if isFlushed { start = max(start, roundedUp(position.lsn)) }
        let base = segments[segments.count - 1].number * UInt64(segmentBytes)
        let place = max(start, base + UInt64(SegmentHeader.blockBytes))
        return place + UInt64(LogFrame.bytes(payload: payload + overhead)) <= base + UInt64(segmentBytes) ? place : nil
    }

    private func roundedUp(_ lsn: UInt64) -> UInt64 {
        let block = UInt64(SegmentHeader.blockBytes)
        return (lsn + block - 1) / block * block
    }

    /// Whether a frame fits the segment in use, now and after the group being collected has been flushed: others may do that before the
    /// frame is appended, and it then begins in a block of its own.
    func hasRoom(payload: Int) -> Bool { place(payload, isFlushed: true) != nil }

    /// Takes the next segment into use: a spare file or a new one, filled with zeros so that later syncs change
    /// no metadata.
    ///
    /// It is begun in memory. A log that ends early and yet has a next segment is known to be damaged, so what was appended before is made
    /// durable by a flush of its own first; the header goes to the file with the first group behind it. Committers do not wait for either
    /// here. No other group may be set aside.
    func addSegment() throws(FileError) {
        guard closed == nil else { preconditionFailure("a log segment was begun while the end of another waits") }
        let number = lastNumber + 1
        let target = LogFile.segmentPath(path, number)
        let file: any File
        if let old = spare.popLast() {
            try UnfinishedFiles.whileUnfinished(target) { () throws(FileError) in
                try fileSystem.rename(old, to: target)
            }
            file = try fileSystem.open(target, .readWrite)
            // An earlier version made it, or the database has been given other permissions since.
            if let access = try fileAccess() { file.adopt(access) }
        } else {
            file = try create(target)
        }
        do throws(FileError) { try fillWithZeros(file) } catch {
            file.close()
            try? fileSystem.remove(target)
            throw error
        }
        let header = SegmentHeader(
            database: database, number: number, salt: entropy.next(), previousEnd: position.lsn,
            chain: position.chain, segmentBytes: UInt64(segmentBytes))
        closeGroup()
        lastNumber = number
        segments.append(
            Segment(
                number: number, path: target, file: file, salt: header.salt, cipher: keys?.segment(header),
                isRecorded: false))
        hasFilledSegment = !isSealed && segments.count > 1
        isSealed = false
        bufferStart = number * UInt64(segmentBytes)
        let block = buffer.extend(by: SegmentHeader.blockBytes)
        memset(block, 0, SegmentHeader.blockBytes)
        header.write(to: block)
    }

    /// Sets the group being collected aside, as the last one of its segment.
    private func closeGroup() {
        guard let segment = segments.last, !buffer.isEmpty || hasUnsynced else { return }
        closed = ClosedGroup(
            isAlone: isAlone, segment: segment, start: buffer.isEmpty ? position.lsn : bufferStart,
            end: position.lsn)
        hasUnsynced = false
        swap(&buffer, &closedBytes)
        buffer.removeAll(keeping: LogWriter.keptBytes)
    }

    private var isAlone: Bool { !hasUnsynced }

    // MARK: The next segment, made ready ahead of time

    /// Whether the segment in use is half full, or follows another that was filled, and none is ready to follow it.
    var wantsSpare: Bool {
        guard !isSealed, spare.isEmpty, let segment = segments.last else { return false }
        return hasFilledSegment
            || position.lsn > segment.number * UInt64(segmentBytes) + UInt64(segmentBytes / 2)
    }

    /// Makes a file that a segment can be put into. Touches nothing that committers use.
    func makeSpare() throws(FileError) {
        let file = try create(LogFile.sparePath(path))
        defer { file.close() }
        do throws(FileError) {
            try fillWithZeros(file)
        } catch {
            // On a full disk a half-made one would keep others from what is left.
            try? fileSystem.remove(LogFile.sparePath(path))
            throw error
        }
    }

    private func create(_ path: String) throws(FileError) -> any File {
        let access = try fileAccess()
        return try UnfinishedFiles.whileUnfinished(path) { () throws(FileError) in
            try fileSystem.open(path, .create, access: access)
        }
    }

    /// Who may open the database may open its log.
    private func fileAccess() throws(FileError) -> FileAccess? { try dataFile.access()?.forNewFile }

    func noteSpare() { spare.append(LogFile.sparePath(path)) }

    private func fillWithZeros(_ file: any File) throws(FileError) {
        guard try file.size() < UInt64(segmentBytes) else { return }
        let zeros = [UInt8](repeating: 0, count: min(segmentBytes, 1 << 16))
        var offset = 0
        while offset < segmentBytes {
            let count = min(zeros.count, segmentBytes - offset)
            try writeBytes(file, zeros, count: count, at: UInt64(offset))
            offset += count
        }
        try file.sync()
    }

    // MARK: Appending

    /// Appends a frame to the group being collected. There must be room.
    ///
    /// - Returns: the position behind the frame.
    func append(_ kind: FrameKind, commit: UInt64, payload: UnsafeRawBufferPointer) -> LogPosition {
        let block = payload.count > 1024 ? LZ4.compress(payload, limit: payload.count * 7 / 8) : nil
        let length = block?.count ?? payload.count
        guard let lsn = place(length) else {
            // To pass over it in silence would lose a commit.
            preconditionFailure("a frame was appended without room for it")
        }
        let stored = length + overhead
        if buffer.isEmpty { bufferStart = lsn }
        let frame = LogFrame(
            stored: stored, raw: payload.count,
            isCompressed: block != nil, lsn: lsn, commit: commit,
            durable: durable, kind: kind)
        let size = LogFrame.bytes(payload: stored)
        buffer.appendZeros(Int(lsn - bufferStart) - buffer.count)
        let start = buffer.extend(by: size)
        let place = start + LogFrame.headerBytes
        if let block {
            block.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress { memcpy(place, source, length) }
            }
        } else if let source = payload.baseAddress {
            memcpy(place, source, length)
        }
        memset(place + stored, 0, size - LogFrame.headerBytes - stored)
        let last = segments.count - 1
        let chain = frame.write(
            to: start, salt: segments[last].salt, cipher: segments[last].cipher, chain: position.chain)
        position = LogPosition(lsn: lsn + UInt64(size), chain: chain)
        appendedBytes += UInt64(size)
        content.bytes += UInt64(payload.count)
        content.stored += UInt64(length)
        return position
    }

    /// Appends the mark of a commit whose content went to the data file.
    func appendBarrier(commit: UInt64) -> LogPosition {
        append(.barrier, commit: commit, payload: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    // MARK: Flushing

    /// Hands out the next group for writing: the last one of a segment that has been set aside, else the one being collected. Nil when there
    /// is no segment to write to.
    ///
    /// A durable block is never written again, so the next group begins in a new one when this is to be synced.
    func takeGroup(_ level: FlushLevel) -> Group? {
        let synced = level > .written
        if let closed { return take(closed) }
        guard !segments.isEmpty else { return nil }
        let start = buffer.isEmpty ? position.lsn : bufferStart
        taken = (start, nextStart, hasUnsynced)
        if synced { nextStart = roundedUp(position.lsn) }
        let isAlone = isAlone
        hasUnsynced = level == .durable ? false : hasUnsynced || !buffer.isEmpty
        swap(&buffer, &inFlight)
        buffer.removeAll(keeping: LogWriter.keptBytes)
        let last = segments.count - 1
        return group(
            segments[last].number, segments[last].file, isRecorded: segments[last].isRecorded, from: start,
            to: position.lsn, padded: synced, isAlone: isAlone)
    }

    private func take(_ closed: ClosedGroup) -> Group {
        self.closed = nil
        taken = nil
        swap(&closedBytes, &inFlight)
        closedBytes.removeAll(keeping: LogWriter.keptBytes)
        return group(
            closed.segment.number, closed.segment.file, isRecorded: closed.segment.isRecorded, from: closed.start,
            to: closed.end, padded: true, isAlone: closed.isAlone)
    }

    /// What the memory in flight holds.
    @inline(__always)
    private func group(
        _ number: UInt64, _ file: any File, isRecorded: Bool, from start: UInt64, to end: UInt64, padded: Bool,
        isAlone: Bool
    ) -> Group {
        let base = number * UInt64(segmentBytes)
        if !inFlight.isEmpty {
            let filled = max(start, padded ? roundedUp(end) : end)
            inFlight.appendZeros(Int(filled - start) - inFlight.count)
            filledBytes += UInt64(inFlight.count)
        }
        return Group(
            isAlone: isAlone, bytes: inFlight.bytes, file: file,
            offset: inFlight.isEmpty ? 0 : start - base, end: end,
            unrecorded: isRecorded ? nil : number)
    }

    /// Writes a group, and makes it ordered or durable where the level says so.
    static func write(_ group: Group, _ level: FlushLevel) throws(FileError) {
        let synced = level == .durable
        if group.bytes.isEmpty {
            if synced { try group.file.sync() } else if level == .ordered { try group.file.barrier() }
            return
        }
        if synced && group.isAlone {
            try group.file.writeDurably(group.bytes, at: group.offset)
        } else {
            try group.file.write(group.bytes, at: group.offset)
            if synced { try group.file.sync() }
            if level == .ordered { try group.file.barrier() }
        }
    }

    /// Takes back a group that was handed out and of which no byte is in the file: it is a part of the one being collected again. False
    /// when a segment ends with it.
    func putBack(_ group: Group) -> Bool {
        guard let taken, closed == nil else { return false }
        self.taken = nil
        filledBytes -= UInt64(group.bytes.count)
        if !inFlight.isEmpty {
            inFlight.truncate(to: Int(group.end - taken.start))
            if let following = buffer.bytes.baseAddress, !buffer.isEmpty {
                inFlight.appendZeros(Int(bufferStart - taken.start) - inFlight.count)
                memcpy(inFlight.extend(by: buffer.count), following, buffer.count)
            }
            swap(&buffer, &inFlight)
            inFlight.removeAll(keeping: LogWriter.keptBytes)
            bufferStart = taken.start
        }
        nextStart = taken.nextStart
        hasUnsynced = hasUnsynced || taken.hasUnsynced
        return true
    }

    /// Forgets the frames behind a position, none of which is in a file or handed out.
    func rewind(to end: LogPosition) {
        let begins = segments.last.map { $0.number * UInt64(segmentBytes) } == bufferStart
        let count = end.lsn > bufferStart ? Int(end.lsn - bufferStart) : 0
        buffer.truncate(to: max(count, begins ? SegmentHeader.blockBytes : 0))
        position = end
    }

    /// A group has been written.
    func note(_ end: UInt64, _ level: FlushLevel) {
        if level > .written { ordered = max(ordered, end) }
        if level == .durable { durable = max(durable, end) }
    }

    /// What of the log has a level; what is only written is known by group.
    func reached(_ level: FlushLevel) -> UInt64 {
        switch level {
        case .written: .max
        case .ordered: ordered
        case .durable: durable
        }
    }

    /// The data file names a segment from now on.
    func noteRecorded(_ number: UInt64) {
        for index in segments.indices where segments[index].number <= number { segments[index].isRecorded = true }
        if let segment = closed?.segment.number, segment <= number { closed?.segment.isRecorded = true }
    }

    // MARK: Retiring

    /// Goes on behind what recovery read, in a segment of its own.
    func adopt(_ tail: LogReader.Tail) {
        segments = []
        for found in tail.segments {
            segments.append(
                Segment(number: found.number, path: found.path, file: found.file, salt: 0, isRecorded: true))
        }
        isSealed = true
        spare = archive.adopt(tail.spare, of: path, before: tail.end.lsn)
        lastNumber = max(lastNumber, tail.highestNumber)
        position = tail.end
        durable = tail.end.lsn
        ordered = tail.end.lsn
    }

    /// Lets go of the segments before the one that holds `lsn`. Some of their files serve again, the others are the caller's to remove.
    func retire(before lsn: UInt64) -> [String] {
        let keep = lsn / UInt64(segmentBytes)
        while segments.count > 1, let oldest = segments.first, oldest.number < keep {
            oldest.file.close()
            segments.removeFirst()
            archive.append(oldest.number, oldest.path)
        }
        return releaseArchive()
    }

    /// Lets go of files that replication has shipped, or that are beyond its limit. Some serve again, the others are the caller's to remove.
    func releaseArchive() -> [String] {
        var unused: [String] = []
        for path in archive.release() { if spare.count < 2 { spare.append(path) } else { unused.append(path) } }
        return unused
    }

    /// Removes all segment files. Only after a checkpoint that needs none of them.
    ///
    /// - Parameter keepsArchive: whether those that replication still wants stay.
    func removeAll(keepsArchive: Bool) throws(FileError) {
        // Should a removal fail, nothing is added to what is left.
        isSealed = true
        buffer.removeAll(keeping: LogWriter.keptBytes)
        for segment in segments {
            segment.file.close()
            if keepsArchive && archive.wants(end: min((segment.number + 1) * UInt64(segmentBytes), position.lsn)) {
                archive.append(segment.number, segment.path)
            } else {
                try fileSystem.remove(segment.path)
            }
        }
        spare += keepsArchive ? archive.release() : archive.removeAll()
        for file in spare { try fileSystem.remove(file) }
        segments = []
        spare = []
    }

    deinit {
        buffer.deallocate()
        inFlight.deallocate()
        closedBytes.deallocate()
    }

    func closeFiles() {
        for segment in segments { segment.file.close() }
        segments = []
    }
}

func writeBytes(_ file: any File, _ bytes: [UInt8], count: Int, at offset: UInt64) throws(FileError) {
    let outcome: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
        do throws(FileError) {
            return .success(try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset))
        } catch { return .failure(error) }
    }
    try outcome.get()
}
