/// Reads the log that another process writes: each time the new frames, up to the first incomplete one.
///
/// An incomplete frame is not treated as damage, because the writer may be writing it.
struct LogFollower {
    let reader: LogReader
    /// The segment read last, without its bytes.
    private var current: LogReader.Segment?

    /// Where a read ended.
    enum End {
        case upToDate
        /// A commit follows that is not in the log but in the checkpoint with the same number.
        case barrier(UInt64)
        /// The next part of the log has been removed.
        case lost
    }

    init(_ reader: LogReader) { self.reader = reader }

    /// Reads all complete frames after `tail.end`.
    ///
    /// - Parameter newest: the segment that the header named before this call. All segments before it are complete; one
    ///   more may have been started.
    mutating func read(
        _ tail: inout LogReader.Tail, newest: UInt64,
        apply: (_ operations: UnsafeRawBufferPointer, _ commit: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> End {
        if current == nil { current = try find(tail.end) }
        guard var segment = current else { return .lost }
        while true {
            if let barrier = try readFrames(of: segment, &tail, apply) { return .barrier(barrier) }
            guard let next = try follower(of: segment.header.number, tail.end, isThere: newest > segment.header.number)
            else {
                if newest <= segment.header.number, try !isReplaced(segment, newest) { return .upToDate }
                current = nil
                return .lost
            }
            segment = next
            current = next
        }
    }

    /// Finds the segment again at the next read, because the frames of this read were not shown and must be read again.
    mutating func startOver() { current = nil }

    /// Syncs the frames that were read.
    ///
    /// - Parameter named: the newest segment that the writer has recorded in the header.
    func sync(named: UInt64) throws(StorageError) {
        guard let current else { return }
        try current.file.syncForReader()
        if current.header.number > named { try reader.syncNamesForReader() }
    }

    // MARK: Segments

    /// Returns the segment that holds a position or starts at it.
    private func find(_ position: LogPosition) throws(StorageError) -> LogReader.Segment? {
        for number in try storage({ () throws(FileError) in try reader.segmentNumbers() }) {
            guard let segment = try open(number) else { continue }
            let header = segment.header
            let base = header.start
            if position.lsn > base && position.lsn <= base + header.segmentBytes
                || header.previousEnd == position.lsn && header.chain == position.chain
            {
                return segment
            }
        }
        return nil
    }

    /// Returns the segment that continues the log after segment `number`; nil without one.
    ///
    /// - Parameter isThere: whether a later segment is known to exist, with any number.
    private func follower(of number: UInt64, _ end: LogPosition, isThere: Bool) throws(StorageError)
        -> LogReader.Segment?
    {
        var numbers = [number + 1]
        if isThere { numbers = try storage { () throws(FileError) in try reader.segmentNumbers() } }
        let next = try reader.first(of: numbers, behind: number) { number throws(StorageError) in try open(number) }
        guard let segment = next, segment.header.previousEnd == end.lsn, segment.header.chain == end.chain
        else { return nil }
        return segment
    }

    /// Whether a segment was removed, and may have been begun anew under its number: the log of a follower, which the
    /// header never names, has the numbers of its writer, and a checkpoint removes it wherever it ends.
    private func isReplaced(_ segment: LogReader.Segment, _ newest: UInt64) throws(StorageError) -> Bool {
        guard newest == 0 else { return false }
        return try storage { () throws(FileError) in try !segment.file.isNamed(segment.path) }
    }

    /// Opens a segment. Returns nil if it does not exist, or no longer.
    private func open(_ number: UInt64) throws(StorageError) -> LogReader.Segment? {
        do throws(StorageError) {
            guard let segment = try reader.open(number, whole: false), segment.header.database == reader.database else {
                return nil
            }
            return segment
        } catch {
            if case .io(let error) = error, error.isNotFound { return nil }
            throw error
        }
    }

    // MARK: Frames

    /// Applies the frames of a segment after `tail.end`. Returns the commit of a barrier if it reaches one.
    private func readFrames(
        of segment: LogReader.Segment, _ tail: inout LogReader.Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> UInt64? {
        let base = segment.header.start
        var wanted = LogReader.windowBytes
        while true {
            let start = max(tail.end.lsn, base + UInt64(SegmentHeader.blockBytes))
            guard start < base + segment.header.segmentBytes else { return nil }
            let count = ByteCount.step(base + segment.header.segmentBytes - start, most: wanted)
            let bytes = try reader.read(segment.file, from: start - base, count: count)
            let before = tail.frames
            let step = try bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try scan(bytes, start, segment, &tail, apply) }
            }.get()
            switch step {
            case .barrier(let commit): return commit
            case .wants(let more) where more > count && count == wanted: wanted = more
            case .end where tail.frames > before: wanted = LogReader.windowBytes
            case .end, .wants: return nil
            }
        }
    }

    private enum Step {
        case end
        case barrier(UInt64)
        /// The number of bytes from the start of the window to the end of the next frame.
        case wants(Int)
    }

    /// Applies the frames in a window of a segment's bytes.
    private func scan(
        _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ segment: LogReader.Segment, _ tail: inout LogReader.Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> Step {
        let block = UInt64(SegmentHeader.blockBytes)
        while true {
            let lsn = max(tail.end.lsn, base)
            let places = [lsn, (lsn + block - 1) / block * block]
            var next: LogFrame?
            for place in places where next == nil {
                if let needed = reader.bytesNeeded(bytes, base, place, segment), needed > bytes.count {
                    return .wants(needed)
                }
                next = try reader.frame(bytes, base: base, at: place, segment, tail.end.chain)
            }
            guard let next else { return .end }
            if next.kind == .barrier { return .barrier(next.commit) }
            let content = UnsafeRawBufferPointer(rebasing: bytes[Int(next.lsn - base)...])
            try reader.take(next, content, segment.cipher, &tail, apply)
        }
    }
}
