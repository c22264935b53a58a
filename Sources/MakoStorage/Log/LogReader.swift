/// Reads the log after a checkpoint, and distinguishes a torn end from damage.
struct LogReader {
    /// The number of bytes that a read takes from a segment that is not read whole.
    static let windowBytes = 64 << 10

    let fileSystem: any FileSystem
    let path: String
    let database: DatabaseID
    let readOnly: Bool
    /// The newest segment known to have been in use, or 0. It must exist.
    let required: UInt64
    /// The keys of an encrypted database.
    var keys: DatabaseKeys?
    /// Whether the database is encrypted and its keys are unknown, so that frame headers are readable and payloads are
    /// not.
    var isLocked = false
    /// Whether to treat the missing end of a truncated segment as never written, and to skip segments of other
    /// databases.
    var isSalvaging = false
    /// For salvage without a checkpoint: whether to continue after barriers.
    var crossesBarriers = false
    /// Whether the log may end before frames that say that it was durable there: a follower copies them from elsewhere,
    /// and copies again what a crash has lost.
    var mayEndEarly = false

    /// What the log has after a position.
    struct Tail {
        /// The segments that were read, in ascending order, with open files.
        var segments: [(number: UInt64, path: String, file: any File)] = []
        /// The end of the last valid frame.
        var end: LogPosition
        var lastCommit: UInt64
        /// The highest number among the segment files, usable or not.
        var highestNumber: UInt64
        /// The commit of a barrier at the end of the log: a checkpoint that is at least as new must exist.
        var barrier: UInt64?
        /// The position before that barrier.
        var beforeBarrier: LogPosition?
        var frames = 0
        /// For salvage: how short the last segment is, if it is cut.
        var cut: String?
        /// Files of this database's log that are no longer needed.
        var spare: [String] = []
        /// Files of other programs under the names of segments.
        var foreign: [String] = []
    }

    struct Segment {
        var header: SegmentHeader
        var path: String
        var file: any File
        var bytes: [UInt8]
        var cipher: SegmentCipher?

        /// How short the segment is, read whole; nil if it has its full size.
        var cut: String? {
            guard UInt64(bytes.count) < header.segmentBytes else { return nil }
            return "\(path) is cut short: \(bytes.count) of \(header.segmentBytes) bytes"
        }
    }

    /// The number of bytes that encryption adds to a payload.
    private var overhead: Int { keys != nil || isLocked ? SegmentCipher.overhead : 0 }

    func segmentNumbers() throws(FileError) -> [UInt64] { try LogFile.numbers(of: path, in: fileSystem) }

    /// Reads all complete frames after `start`, in order.
    ///
    /// - Parameters:
    ///   - start: the end of the checkpoint in the log.
    ///   - commit: the checkpoint's commit number.
    ///   - apply: called with the operations of each commit.
    func read(
        from start: LogPosition, commit: UInt64,
        apply: (_ operations: UnsafeRawBufferPointer, _ commit: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> Tail {
        let numbers = try storage { () throws(FileError) in try segmentNumbers() }
        var tail = Tail(end: start, lastCommit: commit, highestNumber: numbers.last ?? 0)
        let first = try firstSegment(start, numbers)
        if first == nil && required == 0 {
            if !mayEndEarly { try refuseNewer(than: start, numbers) }
            try findUnusedFiles(numbers, &tail)
            return tail
        }
        guard var segment = first else {
            throw .logDamaged(
                path: path,
                reason: "the segment that continues the checkpoint is missing; segment \(required) was in use")
        }
        while true {
            tail.segments.append((segment.header.number, segment.path, segment.file))
            tail.cut = segment.cut
            try readSegment(segment, &tail, apply)
            guard let next = try follower(of: segment.header.number, tail.end, numbers) else { break }
            segment = next
        }
        if let last = tail.segments.last, last.number < required {
            throw .logDamaged(
                path: path,
                reason: "it ends in segment \(last.number), but segment \(required) was in use")
        }
        try findUnusedFiles(numbers, &tail)
        return tail
    }

    /// Throws if the log continues after `start`, where the data file needs no log: such a log belongs to a newer copy
    /// of the data file.
    private func refuseNewer(than start: LogPosition, _ numbers: [UInt64]) throws(StorageError) {
        for number in numbers {
            guard let header = try header(number), header.database == database, header.previousEnd > start.lsn else {
                continue
            }
            throw .logDamaged(
                path: path,
                reason: "\(LogFile.segmentPath(path, number)) is newer than the data file, which is an older copy")
        }
    }

    /// Finds the segment files without needed frames. Throws if one belongs to another database, because it must not be
    /// overwritten.
    private func findUnusedFiles(_ numbers: [UInt64], _ tail: inout Tail) throws(StorageError) {
        let spare = LogFile.sparePath(path)
        // The spare file comes first, so it is reused last: an unused file with a number delays the search for the next
        // segment.
        if fileSystem.exists(spare) {
            if try isForeign(spare) { tail.foreign.append(spare) } else { tail.spare.append(spare) }
        }
        for number in numbers where !tail.segments.contains(where: { $0.number == number }) {
            let path = LogFile.segmentPath(path, number)
            if try isForeign(path) {
                tail.foreign.append(path)
                continue
            }
            if let header = try header(number), header.database != database {
                // Salvage overwrites no file.
                if isSalvaging { continue }
                throw .logDamaged(path: self.path, reason: "\(path) belongs to another database; move it away")
            }
            tail.spare.append(path)
        }
    }

    /// Whether a file is another program's, which is not removed, nor overwritten.
    private func isForeign(_ path: String) throws(StorageError) -> Bool {
        let file = try storage { () throws(FileError) in try fileSystem.open(path, .readOnly) }
        defer { file.close() }
        return SegmentHeader.isForeign(try read(file, count: SegmentHeader.bytes))
    }

    /// Returns the database ids in the segment headers.
    func databases() -> [DatabaseID] {
        let numbers = (try? segmentNumbers()) ?? []
        return numbers.compactMap { number in (try? header(number))?.database }
    }

    /// Returns the start of the oldest usable segment, and the number of the commit before its first frame.
    func beginning() throws(StorageError) -> (start: LogPosition, commit: UInt64)? {
        for number in try storage({ () throws(FileError) in try segmentNumbers() }) {
            guard let segment = try open(number, whole: true) else { continue }
            defer { segment.file.close() }
            guard segment.header.database == database else { continue }
            let start = LogPosition(lsn: segment.header.previousEnd, chain: segment.header.chain)
            let base = segment.header.start
            let first = try segment.bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in
                    try frame(bytes, base: base, at: base + UInt64(SegmentHeader.blockBytes), segment, start.chain)
                }
            }.get()
            if let first, first.commit > 0 { return (start, first.commit - 1) }
        }
        return nil
    }

    private func header(_ number: UInt64) throws(StorageError) -> SegmentHeader? {
        guard let segment = try open(number, whole: false) else { return nil }
        segment.file.close()
        return segment.header
    }

    /// Opens a segment file. Returns nil if it has no segment of that number.
    func open(_ number: UInt64, whole: Bool) throws(StorageError) -> Segment? {
        let segmentPath = LogFile.segmentPath(path, number)
        let file = try storage { () throws(FileError) in
            try fileSystem.open(segmentPath, readOnly ? .readOnly : .readWrite)
        }
        let block = try read(file, count: SegmentHeader.blockBytes)
        let header = block.withUnsafeBytes { bytes in
            bytes.count >= SegmentHeader.bytes ? bytes.baseAddress.flatMap { SegmentHeader($0) } : nil
        }
        guard let header, header.number == number else {
            file.close()
            return nil
        }
        let bytes = whole ? try read(file, count: Int(clamping: header.segmentBytes)) : []
        let isCut = whole && UInt64(bytes.count) < header.segmentBytes
        if isCut && !isSalvaging {
            file.close()
            // A segment has its full size before the header names it, and is named before a commit in it is
            // acknowledged. A shorter segment that is not named was being created at a power failure, and is created
            // again; it may lie there when later ones are named. Without one that was in use the log ends early, which
            // is noticed.
            guard number == required else { return nil }
            throw .logDamaged(
                path: path, reason: "\(segmentPath) is cut short: \(bytes.count) of \(header.segmentBytes) bytes")
        }
        return Segment(
            header: header, path: segmentPath, file: file, bytes: bytes, cipher: keys?.segment(header))
    }

    /// Reads `count` bytes, or fewer at the end of the file.
    func read(_ file: any File, from offset: UInt64 = 0, count: Int) throws(StorageError) -> [UInt8] {
        var count = count
        if count > LogReader.windowBytes {
            // Limit the count to the file size, because a damaged header may give gigabytes, for which no memory must
            // be allocated.
            let size = try storage { () throws(FileError) in try file.size() }
            count = ByteCount.step(size - min(size, offset), most: count)
        }
        return try storage { [count] () throws(FileError) in try readBytes(file, count: count, at: offset) }
    }

    /// Returns the segment that holds `start`, or that starts at `start` by its header.
    private func firstSegment(_ start: LogPosition, _ numbers: [UInt64]) throws(StorageError) -> Segment? {
        for number in numbers {
            guard let segment = try open(number, whole: true) else { continue }
            let header = segment.header
            guard header.database == database else {
                segment.file.close()
                if isSalvaging { continue }
                throw .logDamaged(
                    path: path, reason: "\(segment.path) belongs to another database; put this database's own log back")
            }
            let base = header.start
            if start.lsn > base && start.lsn <= base + header.segmentBytes
                || header.previousEnd == start.lsn && header.chain == start.chain
            {
                return segment
            }
            segment.file.close()
        }
        return nil
    }

    /// Returns the next segment if it continues the log at `end`.
    private func follower(of number: UInt64, _ end: LogPosition, _ numbers: [UInt64]) throws(StorageError) -> Segment? {
        // Skip files that were created for a segment and never used.
        guard
            let segment = try first(
                of: numbers, behind: number,
                { number throws(StorageError) in
                    try open(number, whole: true)
                })
        else { return nil }
        guard segment.header.database == database else {
            segment.file.close()
            throw .logDamaged(path: path, reason: "\(segment.path) belongs to another database")
        }
        if segment.header.previousEnd == end.lsn && segment.header.chain == end.chain { return segment }
        segment.file.close()
        // A segment is started only after everything before it is durable, so a gap before it is damage.
        if segment.header.previousEnd > end.lsn && !mayEndEarly {
            throw .logDamaged(
                path: path,
                reason:
                    """
                    it breaks off at \(end.lsn), but segment \(segment.header.number) continues it from \
                    \(segment.header.previousEnd)
                    """)
        }
        return nil
    }

    /// Returns the first segment after `number` that can be opened.
    func first(
        of numbers: [UInt64], behind number: UInt64, _ open: (UInt64) throws(StorageError) -> Segment?
    ) throws(StorageError) -> Segment? {
        for next in numbers where next > number {
            if let segment = try open(next) { return segment }
        }
        return nil
    }

    private func readSegment(
        _ segment: Segment, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        var lsn = max(tail.end.lsn, segment.header.start + UInt64(SegmentHeader.blockBytes))
        var segment = segment
        var brokenAt: UInt64?
        while true {
            let outcome: Result<Void, StorageError> = segment.bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try scan(bytes, &lsn, segment, &tail, apply) }
            }
            do throws(StorageError) { return try outcome.get() } catch {
                // A reader of another process's log may have read a place before the writer wrote it, and a later frame
                // after. Read again once: the bytes are there now.
                guard readOnly, brokenAt != lsn, let again = try open(segment.header.number, whole: true),
                    again.header.salt == segment.header.salt
                else { throw error }
                brokenAt = lsn
                segment = again
            }
        }
    }

    /// Applies the frames of a segment from `lsn` on.
    private func scan(
        _ bytes: UnsafeRawBufferPointer, _ lsn: inout UInt64, _ segment: Segment, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        let base = segment.header.start
        let block = UInt64(SegmentHeader.blockBytes)
        while true {
            if let frame = try frame(bytes, base: base, at: lsn, segment, tail.end.chain) {
                let content = UnsafeRawBufferPointer(rebasing: bytes[Int(lsn - base)...])
                try take(frame, content, segment.cipher, &tail, apply)
                lsn = tail.end.lsn
                continue
            }
            // A synced group ends with zeros up to the next block.
            let boundary = (lsn + block - 1) / block * block
            if boundary != lsn, try frame(bytes, base: base, at: boundary, segment, tail.end.chain) != nil {
                lsn = boundary
                continue
            }
            return try refuseDamage(bytes, base: base, after: lsn, segment)
        }
    }

    /// Returns the frame at `lsn` if it is complete and continues the chain.
    func frame(
        _ bytes: UnsafeRawBufferPointer, base: UInt64, at lsn: UInt64, _ segment: Segment, _ chain: UInt64
    ) throws(StorageError) -> LogFrame? {
        guard lsn >= base, lsn - base < UInt64(bytes.count), let start = bytes.baseAddress else { return nil }
        let offset = Int(lsn - base)
        guard
            let frame = LogFrame(
                start + offset, available: bytes.count - offset, lsn: lsn, salt: segment.header.salt,
                overhead: overhead),
            offset + LogFrame.headerBytes + frame.stored <= bytes.count
        else { return nil }
        let check = (start + offset).loadUnaligned(fromByteOffset: 40, as: UInt64.self)
        let expected = LogFrame.chain(
            payload: start + offset + LogFrame.headerBytes, count: frame.stored, check: check, after: chain)
        return (start + offset).loadUnaligned(fromByteOffset: 48, as: UInt64.self) == expected ? frame : nil
    }

    /// Returns the bytes of the window that the frame at `lsn` needs; nil if no frame starts there.
    func bytesNeeded(
        _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ lsn: UInt64, _ segment: Segment
    ) -> Int? {
        guard lsn - base < UInt64(bytes.count), let start = bytes.baseAddress else { return nil }
        let offset = Int(lsn - base)
        guard
            let frame = LogFrame(
                start + offset, available: bytes.count - offset, lsn: lsn, salt: segment.header.salt,
                overhead: overhead)
        else { return nil }
        return offset + LogFrame.headerBytes + frame.stored
    }

    /// Returns the frame at an offset of a segment, if one starts there, whether it is complete and continues the
    /// chain, and the chain value in its header.
    func look(
        _ bytes: [UInt8], at offset: Int, _ header: SegmentHeader, after chain: UInt64
    ) -> (frame: LogFrame, isWhole: Bool, chain: UInt64)? {
        bytes.withUnsafeBytes { bytes in
            guard offset >= 0, offset <= bytes.count, let start = bytes.baseAddress else { return nil }
            let lsn = header.start + UInt64(offset)
            guard
                let frame = LogFrame(
                    start + offset, available: bytes.count - offset, lsn: lsn, salt: header.salt,
                    overhead: overhead)
            else { return nil }
            let own = (start + offset).loadUnaligned(fromByteOffset: 48, as: UInt64.self)
            guard offset + LogFrame.headerBytes + frame.stored <= bytes.count else { return (frame, false, own) }
            let check = (start + offset).loadUnaligned(fromByteOffset: 40, as: UInt64.self)
            let expected = LogFrame.chain(
                payload: start + offset + LogFrame.headerBytes, count: frame.stored, check: check, after: chain)
            return (frame, own == expected, own)
        }
    }

    /// Applies a frame that continues the log.
    ///
    /// - Parameter bytes: the frame from its header on, and what follows it.
    func take(
        _ frame: LogFrame, _ bytes: UnsafeRawBufferPointer, _ cipher: SegmentCipher?, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        if let barrier = tail.barrier, !crossesBarriers {
            throw .logDamaged(
                path: path,
                reason: "commit \(barrier) is kept in a checkpoint that cannot be read, and later commits build on it")
        }
        let stored = UnsafeRawBufferPointer(
            rebasing: bytes[LogFrame.headerBytes..<LogFrame.headerBytes + frame.stored])
        guard frame.commit == tail.lastCommit + 1 else {
            throw .logDamaged(path: path, reason: "commit \(frame.commit) follows commit \(tail.lastCommit)")
        }
        if let cipher, let start = bytes.baseAddress {
            guard let plain = cipher.open(start, stored: frame.stored) else {
                throw .logDamaged(
                    path: path, reason: "the frame at \(frame.lsn) was not encrypted with this database's key")
            }
            try plain.withUnsafeBytes { plain in
                result { () throws(StorageError) in try take(frame, payload: plain, &tail, apply) }
            }.get()
        } else {
            try take(frame, payload: stored, &tail, apply)
        }
        let end = frame.lsn + UInt64(LogFrame.bytes(payload: frame.stored))
        tail.end = LogPosition(lsn: end, chain: LogFrame.chain(of: bytes))
        tail.frames += 1
    }

    private func take(
        _ frame: LogFrame, payload: UnsafeRawBufferPointer, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        switch frame.kind {
        case .barrier:
            tail.beforeBarrier = tail.end
            tail.barrier = frame.commit
            if crossesBarriers { tail.lastCommit = frame.commit }
        case .commit:
            if frame.isCompressed {
                guard frame.raw <= Limits.valueBytes, let raw = LZ4.decompress(payload, length: frame.raw) else {
                    throw .logDamaged(path: path, reason: "the frame at \(frame.lsn) does not unpack")
                }
                let outcome: Result<Void, StorageError> = raw.withUnsafeBytes { bytes in
                    result { () throws(StorageError) in try apply(bytes, frame.commit) }
                }
                try outcome.get()
            } else {
                try apply(payload, frame.commit)
            }
            tail.lastCommit = frame.commit
        }
    }

    /// Throws if a frame after an unusable one says that the unusable one was durable.
    private func refuseDamage(
        _ bytes: UnsafeRawBufferPointer, base: UInt64, after lsn: UInt64, _ segment: Segment
    ) throws(StorageError) {
        guard let start = bytes.baseAddress, !mayEndEarly else { return }
        let block = UInt64(SegmentHeader.blockBytes)
        var place = (lsn - base) / block * block
        while place + UInt64(LogFrame.headerBytes) <= UInt64(bytes.count) {
            let offset = Int(place)
            if base + place >= lsn,
                let later = LogFrame(
                    start + offset, available: bytes.count - offset, lsn: base + place, salt: segment.header.salt,
                    overhead: overhead),
                later.durable > lsn
            {
                throw .logDamaged(
                    path: path,
                    reason: "it is damaged at \(lsn); a later frame says that the frame there was durable")
            }
            place += block
        }
    }
}
