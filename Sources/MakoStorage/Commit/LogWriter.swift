import CPlatform

/// The writing end of the log: the segment files, and the flush group being collected.
///
/// Committers append frames to memory, one at a time; a flush writes the collected group with one write and one sync.
/// The lock of `CommitPipeline` guards everything here except `write(_:_:)`, which one thread at a time calls and which
/// shares no state with appending.
final class LogWriter {
    let fileSystem: any FileSystem
    let path: String
    let database: DatabaseID
    let dataFile: any File
    let segmentBytes: Int
    private let keys: DatabaseKeys?
    /// The number of bytes that encryption adds to a frame.
    private let overhead: Int
    private let entropy: any Entropy

    struct Segment {
        var number: UInt64
        var path: String
        var file: any File
        var salt: UInt64
        var cipher: SegmentCipher?
        /// Up to here the log or zeros were written; the rest may only be allocated, which costs time alone.
        var cleared: UInt64
        /// Whether the header of the data file names this segment or a later one.
        var isRecorded: Bool
    }

    /// A group that a flush writes.
    struct Group {
        /// Whether everything before this group is durable, so that a durable write of this group alone is enough.
        var isAlone: Bool
        /// The allocated range after the group that is filled with zeros before it is written; nil for none.
        var zeros: Range<UInt64>?
        /// The frames, in the log's memory until the next group is taken. Empty when there is only something to sync.
        var bytes: UnsafeRawBufferPointer
        var file: any File
        var offset: UInt64
        /// The end of the log that is durable after this group is written and synced.
        var end: UInt64
        /// The number of the segment if the data file does not name it yet.
        var unrecorded: UInt64?
    }

    /// The last group of a segment, set aside because a newer segment has been started in memory.
    private struct ClosedGroup {
        var isAlone: Bool
        var segment: Segment
        var start: UInt64
        var end: UInt64
    }

    /// The segments that recovery may still need; the last one is being written.
    @exclusivity(unchecked) private(set) var segments: [Segment] = []
    /// Files of retired segments, for reuse.
    var spare: [String] = []
    /// Files of other programs under the names of segments.
    var foreign: [String] = []
    /// Files of retired segments that replication still wants.
    @exclusivity(unchecked) var archive: SegmentArchive
    private var lastNumber: UInt64
    /// Whether the last segment was written before this opening, so that nothing may be appended to it.
    @exclusivity(unchecked) private(set) var isSealed = false
    /// Whether a segment was filled since opening, so that the next one may be needed soon.
    @exclusivity(unchecked) private(set) var hasFilledSegment = false
    /// The position after the last appended frame.
    @exclusivity(unchecked) private(set) var position: LogPosition
    @exclusivity(unchecked) private(set) var durable: UInt64
    /// The log up to here reaches the device before all later writes.
    @exclusivity(unchecked) private var ordered: UInt64
    @exclusivity(unchecked) private var buffer = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// The group being written; its memory is reused for the group after the next.
    @exclusivity(unchecked) private var inFlight = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// The state before that group was taken, for `putBack`; nil for the last group of a segment.
    @exclusivity(unchecked)
    private var taken: (start: UInt64, nextStart: UInt64, hasUnsynced: Bool, cleared: UInt64)?
    @exclusivity(unchecked) private var closed: ClosedGroup?
    /// The frames of `closed`.
    @exclusivity(unchecked) private var closedBytes = GrowingBytes(alignment: SegmentHeader.blockBytes)
    /// Whether bytes were written, or handed out to be written, without a sync, and no synced group has followed.
    @exclusivity(unchecked) private var hasUnsynced = false
    @exclusivity(unchecked) private var bufferStart: UInt64 = 0
    /// The earliest start of the next group: after the last block that a sync has made, or is making, durable.
    @exclusivity(unchecked) private var nextStart: UInt64 = 0
    /// Bytes of frames appended since opening.
    @exclusivity(unchecked) private(set) var appendedBytes: UInt64 = 0
    /// Bytes of the payloads, and of what was stored for them after compression.
    @exclusivity(unchecked) private(set) var content: (bytes: UInt64, stored: UInt64) = (0, 0)
    /// Bytes of the files that the frames take, with padding, since opening.
    @exclusivity(unchecked) private var filledBytes: UInt64 = 0

    /// Creates the end of the log that `reader` reads, from `position` on.
    ///
    /// - Parameter lastNumber: the highest number that a segment may have had.
    init(
        of reader: LogReader, dataFile: any File, segmentBytes: Int, entropy: any Entropy, position: LogPosition,
        lastNumber: UInt64
    ) {
        fileSystem = reader.fileSystem
        path = reader.path
        database = reader.database
        self.dataFile = dataFile
        self.segmentBytes = Int(SegmentHeader.segmentBytes(wanted: segmentBytes))
        archive = SegmentArchive(segmentBytes: self.segmentBytes)
        keys = reader.keys
        overhead = keys == nil ? 0 : SegmentCipher.overhead
        self.entropy = entropy
        self.position = position
        self.lastNumber = lastNumber
        durable = position.lsn
        ordered = position.lsn
    }

    /// The most memory that an idle buffer keeps.
    private static let keptBytes = 1 << 20

    /// The largest payload of one frame.
    var payloadLimit: Int {
        segmentBytes - SegmentHeader.blockBytes - LogFrame.headerBytes - LogFrame.alignment - overhead
    }

    /// The highest number that a segment may have had.
    var highestNumber: UInt64 { lastNumber }
    /// The number of the newest segment; 0 without a segment.
    var newestSegment: UInt64 { segments.last?.number ?? 0 }
    /// The log before this position is in a file, or in a group that a flush is writing.
    var written: UInt64 { closed?.start ?? (buffer.isEmpty ? position.lsn : bufferStart) }
    /// The end of the closed group, which must be durable before any later frame is written; nil without one.
    var closedEnd: UInt64? { closed?.end }
    /// Whether there are log files, spare ones included.
    var hasFiles: Bool { !segments.isEmpty || !spare.isEmpty }
    /// Whether some of them are another store's, which may go on with them.
    @exclusivity(unchecked) private(set) var hasFilesOfOthers = false
    /// Returns the bytes of log files since a position, padding included: what a checkpoint at that position would
    /// release.
    func bytes(since lsn: UInt64) -> UInt64 { position.lsn > lsn ? min(position.lsn - lsn, filledBytes) : 0 }

    // MARK: Room

    /// Returns the position for a frame in the current segment; nil if it does not fit.
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

    /// Whether a frame fits the current segment, now and also after a flush of the group being collected: another
    /// thread may flush before the frame is appended, and the frame then starts in a new block.
    func hasRoom(payload: Int) -> Bool { place(payload, isFlushed: true) != nil }

    /// Starts the next segment, in a spare file or a new one.
    ///
    /// Space for a new file is allocated, so that no commit finds the disk full. The first use of a block changes
    /// metadata, which a sync must write, too. So the part ahead of the log is filled with zeros and synced together
    /// with a group: many small commits change no metadata, and neither a short session nor a large commit writes a
    /// segment twice.
    ///
    /// The segment is started in memory only, so committers wait for no write here. The header goes to the file with
    /// the first group of the segment. The frames appended before are set aside as a closed group, which a flush makes
    /// durable first: recovery treats a log that ends early and still has a next segment as damaged. There must be no
    /// closed group.
    func addSegment() throws(FileError) {
        guard closed == nil else { preconditionFailure("a log segment was begun while the end of another waits") }
        var number = lastNumber + 1
        // A file that another program created meanwhile stays.
        while number < SegmentHeader.numberLimit, fileSystem.exists(LogFile.segmentPath(path, number)) { number += 1 }
        let target = LogFile.segmentPath(path, number)
        guard number < SegmentHeader.numberLimit else { throw .noNumberLeft(target) }
        let (file, isWritten) = try open(target)
        let header = SegmentHeader(
            database: database, number: number, salt: entropy.next(), previousEnd: position.lsn,
            chain: position.chain, segmentBytes: UInt64(segmentBytes))
        closeGroup()
        // A group that is being written was the last one of its segment.
        taken = nil
        lastNumber = number
        segments.append(
            Segment(
                number: number, path: target, file: file, salt: header.salt, cipher: keys?.segment(header),
                cleared: isWritten ? UInt64(segmentBytes) : 0, isRecorded: false))
        hasFilledSegment = !isSealed && segments.count > 1
        isSealed = false
        bufferStart = number * UInt64(segmentBytes)
        let block = buffer.extend(by: SegmentHeader.blockBytes)
        memset(block, 0, SegmentHeader.blockBytes)
        header.write(to: block)
    }

    /// Opens the file of a new segment, with all its space. Returns whether it was written before.
    private func open(_ target: String) throws(FileError) -> (file: any File, isWritten: Bool) {
        let reused = try reuseSpare(as: target)
        let file = if let reused { reused } else { try create(target) }
        do throws(FileError) {
            let isWritten = try file.size() >= UInt64(segmentBytes)
            // A file of another process may have holes.
            try file.allocate(0..<UInt64(segmentBytes))
            return (file, isWritten)
        } catch {
            file.close()
            try? fileSystem.remove(target)
            throw error
        }
    }

    /// Closes the group being collected as the last one of its segment.
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

    // MARK: Appending

    /// Appends a frame to the group being collected. The frame must fit; see `hasRoom(payload:)`.
    ///
    /// - Returns: the position after the frame.
    func append(_ kind: FrameKind, commit: UInt64, payload: UnsafeRawBufferPointer) -> LogPosition {
        let block = payload.count > 1024 ? LZ4.compress(payload, limit: payload.count * 7 / 8) : nil
        let length = block?.count ?? payload.count
        guard let lsn = place(length) else {
            // Returning without the frame would lose a commit.
            preconditionFailure("a frame was appended without room for it")
        }
        assert(lsn >= position.lsn, "invariant 18: no place of the log is encrypted twice")
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

    /// Appends a barrier frame: it marks a commit whose content went to the data file.
    func appendBarrier(commit: UInt64) -> LogPosition {
        append(.barrier, commit: commit, payload: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    // MARK: Flushing

    /// Hands out the next group for writing: the closed group, else the group being collected. Returns nil without a
    /// segment.
    ///
    /// Before a sync, the next group is set to start in a new block, because a durable block is never overwritten.
    func takeGroup(_ level: FlushLevel) -> Group? {
        let synced = level > .written
        if let closed { return take(closed) }
        guard !segments.isEmpty else { return nil }
        let start = buffer.isEmpty ? position.lsn : bufferStart
        let last = segments.count - 1
        taken = (start, nextStart, hasUnsynced, segments[last].cleared)
        if synced { nextStart = roundedUp(position.lsn) }
        let isAlone = isAlone
        hasUnsynced = level == .durable ? false : hasUnsynced || !buffer.isEmpty
        swap(&buffer, &inFlight)
        buffer.removeAll(keeping: LogWriter.keptBytes)
        var group = group(of: segments[last], from: start, to: position.lsn, padded: synced, isAlone: isAlone)
        let end = group.offset + UInt64(group.bytes.count)
        if end > segments[last].cleared {
            let cleared = min(UInt64(segmentBytes), end + bytesToClear(behind: end, group: group.bytes.count))
            segments[last].cleared = cleared
            group.zeros = end..<cleared
            group.isAlone = false
        }
        return group
    }

    private func take(_ closed: ClosedGroup) -> Group {
        self.closed = nil
        taken = nil
        swap(&closedBytes, &inFlight)
        closedBytes.removeAll(keeping: LogWriter.keptBytes)
        return group(of: closed.segment, from: closed.start, to: closed.end, padded: true, isAlone: closed.isAlone)
    }

    /// Returns the group of the frames in `inFlight`, padded to a block if `padded`.
    @inline(__always)
    private func group(
        of segment: Segment, from start: UInt64, to end: UInt64, padded: Bool, isAlone: Bool
    ) -> Group {
        let base = segment.number * UInt64(segmentBytes)
        if !inFlight.isEmpty {
            let filled = max(start, padded ? roundedUp(end) : end)
            inFlight.appendZeros(Int(filled - start) - inFlight.count)
            filledBytes += UInt64(inFlight.count)
        }
        // The first group of a segment is synced with the whole file, because the size must be durable, too.
        let isFirst = start == base
        return Group(
            isAlone: isAlone && !isFirst, bytes: inFlight.bytes, file: segment.file,
            offset: inFlight.isEmpty ? 0 : start - base, end: end,
            unrecorded: segment.isRecorded ? nil : segment.number)
    }

    /// Writes a group, and syncs it as the level requires.
    static func write(_ group: Group, _ level: FlushLevel) throws(FileError) {
        let synced = level == .durable
        if group.bytes.isEmpty {
            if synced { try group.file.sync() } else if level == .ordered { try group.file.barrier() }
            return
        }
        if let zeros = group.zeros {
            // They only save time, so that the group decides whether the disk is full.
            do throws(FileError) { try group.file.writeZeros(zeros) } catch { if !error.isNoSpace { throw error } }
        }
        if synced && group.isAlone {
            try group.file.writeDurably(group.bytes, at: group.offset)
        } else {
            try group.file.write(group.bytes, at: group.offset)
            if synced { try group.file.sync() }
            if level == .ordered { try group.file.barrier() }
        }
    }

    /// Puts back a group, no byte of whose frames was written, so that it is again part of the group being collected.
    /// Returns false, and changes nothing, for the last group of a segment.
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
        segments[segments.count - 1].cleared = taken.cleared
        nextStart = taken.nextStart
        hasUnsynced = taken.hasUnsynced
        return true
    }

    /// Removes the frames after a position. None of them may be in a file or handed out.
    func rewind(to end: LogPosition) {
        let begins = segments.last.map { $0.number * UInt64(segmentBytes) } == bufferStart
        let count = end.lsn > bufferStart ? Int(end.lsn - bufferStart) : 0
        buffer.truncate(to: max(count, begins ? SegmentHeader.blockBytes : 0))
        position = end
    }

    /// Notes that a group up to `end` was written with a level.
    func note(_ end: UInt64, _ level: FlushLevel) {
        if level > .written { ordered = max(ordered, end) }
        if level == .durable { durable = max(durable, end) }
    }

    /// Returns the position up to which the log has a level; `max` for `.written`, which is tracked by group.
    func reached(_ level: FlushLevel) -> UInt64 {
        switch level {
        case .written: .max
        case .ordered: ordered
        case .durable: durable
        }
    }

    /// Notes that the header of the data file names a segment.
    func noteRecorded(_ number: UInt64) {
        for index in segments.indices where segments[index].number <= number { segments[index].isRecorded = true }
        if let segment = closed?.segment.number, segment <= number { closed?.segment.isRecorded = true }
    }

    // MARK: Retiring

    /// Continues the log after the end that recovery found, in a new segment.
    func adopt(_ tail: LogReader.Tail) {
        assert(closed == nil && !hasUnsynced, "what was appended is durable")
        // The header of a segment that was begun and got no frame.
        buffer.removeAll(keeping: LogWriter.keptBytes)
        (taken, filledBytes) = (nil, 0)
        segments = []
        for found in tail.segments {
            segments.append(
                Segment(
                    number: found.number, path: found.path, file: found.file, salt: 0, cleared: .max, isRecorded: true))
        }
        isSealed = true
        (spare, foreign) = (archive.adopt(tail.spare, of: path, before: tail.end.lsn), tail.foreign)
        hasFilesOfOthers = hasFiles
        let known = max(lastNumber, tail.end.lsn / UInt64(segmentBytes))
        lastNumber = LogFile.last(of: CollectionOfOne(tail.highestNumber), behind: known)
        position = tail.end
        durable = tail.end.lsn
        ordered = tail.end.lsn
    }

    /// Releases the segments before the one that holds `lsn`. Keeps up to two files for reuse; returns the others for
    /// the caller to remove.
    func retire(before lsn: UInt64) -> [String] {
        // A frame may end where its segment ends.
        let keep = lsn == 0 ? 0 : (lsn - 1) / UInt64(segmentBytes)
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
    /// - Parameter keepsArchive: whether the segments that replication has not shipped stay.
    func removeAll(keepsArchive: Bool) throws(FileError) {
        // If a removal fails, nothing may be appended to the remaining segments.
        isSealed = true
        buffer.removeAll(keeping: LogWriter.keptBytes)
        // The oldest first, because the files that a failure leaves must be a log without gaps.
        try removeSpare(keepsArchive ? [] : archive.removeAll())
        while let segment = segments.first {
            segment.file.close()
            if keepsArchive && archive.wants(end: min((segment.number + 1) * UInt64(segmentBytes), position.lsn)) {
                archive.append(segment.number, segment.path)
            } else {
                try removeIfThere(segment.path)
            }
            segments.removeFirst()
        }
        if keepsArchive { try removeSpare(archive.release()) }
        (hasFilesOfOthers, taken, filledBytes) = (false, nil, 0)
    }

    /// Removes the spare files and others. The list never has a removed file, because the next segment would reuse it.
    private func removeSpare(_ others: [String]) throws(FileError) {
        spare += others
        while let file = spare.first {
            try removeIfThere(file)
            spare.removeFirst()
        }
    }

    /// Removes a file that is no longer needed; another program may have removed it.
    private func removeIfThere(_ path: String) throws(FileError) {
        do throws(FileError) { try fileSystem.remove(path) } catch { if !error.isNotFound { throw error } }
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
