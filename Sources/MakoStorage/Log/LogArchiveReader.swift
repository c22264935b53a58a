/// A place in the log of a database: behind the frame of a commit, or behind the checkpoint that holds it.
package struct LogPlace: Sendable, Hashable {
    package var commit: UInt64
    package var lsn: UInt64
    package var chain: UInt64

    package init(commit: UInt64, lsn: UInt64, chain: UInt64) {
        self.commit = commit
        self.lsn = lsn
        self.chain = chain
    }

    init(_ version: Version) { self.init(commit: version.commit, lsn: version.log.lsn, chain: version.log.chain) }
}

/// Consecutive frames of one segment of the log as they are in its file, without the zeros between groups.
package struct SegmentFrames: Sendable, Hashable {
    /// The first bytes of the segment, which describe it.
    package var header: [UInt8]
    package var frames: [UInt8]

    package static let headerBytes = SegmentHeader.bytes

    package init(header: [UInt8], frames: [UInt8]) {
        self.header = header
        self.frames = frames
    }
}

/// What the log has behind a place.
package struct LogPiece: Sendable {
    /// Why it ends where it does.
    package enum Stop: Sendable, Hashable {
        /// The log has no more that is durable.
        case upToDate
        case limit
        /// The next commit is in a checkpoint, or names pages of the data file.
        case notSelfContained
        /// The log that goes on from here is not there any more.
        case gone
        /// The log has other commits there: the place is not of this history.
        case foreign
    }

    package fileprivate(set) var segments: [SegmentFrames] = []
    package fileprivate(set) var end: LogPlace
    package fileprivate(set) var stop = Stop.upToDate
    fileprivate var bytes = 0

    static func foreign(at place: LogPlace) -> LogPiece {
        var piece = LogPiece(end: place)
        piece.stop = .foreign
        return piece
    }
}

/// Reads frames as they are in the files of the log, for replication.
struct LogArchiveReader {
    let reader: LogReader
    /// Where the durable frames end, or a place before.
    let bound: UInt64
    /// So many bytes, and the rest of the frame they end in, at most.
    let limit: Int
    /// Whether there can be frames that name pages of the data file.
    let mayNamePages: Bool

    func read(after start: LogPlace) throws(StorageError) -> LogPiece {
        var piece = LogPiece(end: start)
        if start.lsn >= bound { return piece }
        guard var segment = try find(start) else {
            piece.stop = .gone
            return piece
        }
        while true {
            if let stop = try take(segment, &piece) {
                piece.stop = stop
                return piece
            }
            if piece.end.lsn >= bound { return piece }
            let found = try follower(of: segment.header.number)
            guard let next = found, next.header.previousEnd <= piece.end.lsn else {
                found?.file.close()
                // The log between is not there. Whether it led on from the place is to be seen in what is before it.
                piece.stop = .gone
                if piece.end == start, try contradicts(start, segment.header.number) { piece.stop = .foreign }
                return piece
            }
            guard next.header.previousEnd == piece.end.lsn, next.header.chain == piece.end.chain else {
                next.file.close()
                piece.stop = .foreign
                return piece
            }
            segment = next
        }
    }

    // MARK: Segments

    /// The segment that holds a place, or begins there.
    private func find(_ place: LogPlace) throws(StorageError) -> LogReader.Segment? {
        for number in try storage({ () throws(FileError) in try reader.segmentNumbers() }) {
            guard let segment = try open(number) else { continue }
            let header = segment.header
            let base = header.start
            if place.lsn > base && place.lsn <= base + header.segmentBytes || header.previousEnd == place.lsn {
                return segment
            }
            segment.file.close()
        }
        return nil
    }

    private func follower(of number: UInt64) throws(StorageError) -> LogReader.Segment? {
        let numbers = try storage { () throws(FileError) in try reader.segmentNumbers() }
        return try reader.first(of: numbers, behind: number) { number throws(StorageError) in try open(number) }
    }

    /// Nil when there is no such segment, or none any more.
    private func open(_ number: UInt64) throws(StorageError) -> LogReader.Segment? {
        do throws(StorageError) {
            guard let segment = try reader.open(number, whole: false) else { return nil }
            if segment.header.database == reader.database { return segment }
            segment.file.close()
            return nil
        } catch {
            if case .io(let error) = error, error.isNotFound { return nil }
            throw error
        }
    }

    /// Whether the frames of a segment lead past a place in it, or there with another chain value. Where they end before the place they say
    /// nothing about it.
    private func contradicts(_ place: LogPlace, _ number: UInt64) throws(StorageError) -> Bool {
        guard let segment = try reader.open(number, whole: true) else { return false }
        defer { segment.file.close() }
        let header = segment.header
        let block = UInt64(SegmentHeader.blockBytes)
        return try segment.bytes.withUnsafeBytes { bytes in
            result { () throws(StorageError) in
                var (lsn, chain) = (header.previousEnd, header.chain)
                while lsn < place.lsn {
                    let start = max(lsn, header.start + block)
                    var next: LogFrame?
                    for lsn in [start, (start + block - 1) / block * block] where next == nil {
                        next = try reader.frame(bytes, base: header.start, at: lsn, segment, chain)
                    }
                    guard let frame = next else { return false }
                    let offset = Int(frame.lsn - header.start)
                    chain = LogFrame.chain(of: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
                    lsn = frame.lsn + UInt64(LogFrame.bytes(payload: frame.stored))
                }
                return lsn != place.lsn || chain != place.chain
            }
        }.get()
    }

    // MARK: Frames

    /// Takes the frames of a segment behind `piece.end`, and closes the file. Nil: the next segment may go on from there.
    private func take(_ segment: LogReader.Segment, _ piece: inout LogPiece) throws(StorageError) -> LogPiece.Stop? {
        defer { segment.file.close() }
        let header = segment.header
        let base = header.start
        if header.previousEnd == piece.end.lsn && header.chain != piece.end.chain { return .foreign }
        var frames: [UInt8] = []
        defer {
            if !frames.isEmpty { piece.segments.append(SegmentFrames(header: header.encoded, frames: frames)) }
        }
        var wanted = LogReader.windowBytes
        while true {
            let start = max(piece.end.lsn, base + UInt64(SegmentHeader.blockBytes))
            let stop = min(base + header.segmentBytes, bound)
            guard start < stop else { return nil }
            let count = ByteCount.step(stop - start, most: wanted)
            let bytes = try reader.read(segment.file, from: start - base, count: count)
            let before = piece.end
            let step = try bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try scan(bytes, start, segment, &piece, &frames) }
            }.get()
            switch step {
            case .stop(let reason): return reason
            case .wants(let more) where more > count && count == wanted: wanted = more
            case .end where piece.end != before: wanted = LogReader.windowBytes
            case .end, .wants: return nil
            }
        }
    }

    private enum Step {
        case end
        case stop(LogPiece.Stop)
        /// The next frame has so many bytes, counted from where the window begins.
        case wants(Int)
    }

    private func scan(
        _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ segment: LogReader.Segment, _ piece: inout LogPiece,
        _ frames: inout [UInt8]
    ) throws(StorageError) -> Step {
        let block = UInt64(SegmentHeader.blockBytes)
        while true {
            if piece.bytes >= limit { return .stop(.limit) }
            let lsn = max(piece.end.lsn, base)
            var next: LogFrame?
            for place in [lsn, (lsn + block - 1) / block * block] where next == nil {
                if let needed = reader.bytesNeeded(bytes, base, place, segment), needed > bytes.count {
                    return .wants(needed)
                }
                next = try reader.frame(bytes, base: base, at: place, segment, piece.end.chain)
            }
            guard let frame = next else { return .end }
            let size = LogFrame.bytes(payload: frame.stored)
            guard frame.lsn + UInt64(size) <= bound else { return .end }
            guard frame.kind == .commit else { return .stop(.notSelfContained) }
            guard frame.commit == piece.end.commit + 1 else { return .stop(.gone) }
            let offset = Int(frame.lsn - base)
            let content = UnsafeRawBufferPointer(
                rebasing: bytes[offset..<offset + LogFrame.headerBytes + frame.stored])
            if mayNamePages && namesPages(frame, content, segment.cipher) { return .stop(.notSelfContained) }
            frames.append(contentsOf: content)
            frames.append(contentsOf: repeatElement(0, count: size - content.count))
            piece.bytes += size
            piece.end = LogPlace(
                commit: frame.commit, lsn: frame.lsn + UInt64(size),
                chain: LogFrame.chain(of: content))
        }
    }

    /// Whether a frame holds the places of values in the data file. One that cannot be read counts as if it did.
    private func namesPages(_ frame: LogFrame, _ content: UnsafeRawBufferPointer, _ cipher: SegmentCipher?) -> Bool {
        var payload: [UInt8]
        if let cipher {
            guard let plain = cipher.open([UInt8](content)) else { return true }
            payload = plain
        } else {
            payload = [UInt8](content[LogFrame.headerBytes...])
        }
        if frame.isCompressed {
            let raw = payload.withUnsafeBytes { bytes in
                frame.raw <= Limits.valueBytes ? LZ4.decompress(bytes, length: frame.raw) : nil
            }
            guard let raw else { return true }
            payload = raw
        }
        return payload.withUnsafeBytes { bytes in
            var operations = OperationReader(bytes)
            do throws(OperationReader.Malformed) {
                while let step = try operations.next() { if case .putRuns = step { return true } }
                return false
            } catch { return true }
        }
    }
}
