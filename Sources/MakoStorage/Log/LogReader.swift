/// Reads the log behind a checkpoint, and tells a torn end from damage.
struct LogReader {
    /// So much of a segment is read at a time where not all of it is wanted.
    static let windowBytes = 64 << 10

    let fileSystem: any FileSystem
    let path: String
    let database: DatabaseID
    let readOnly: Bool
    /// The newest segment that is known to have been in use, or 0. It must be there.
    let required: UInt64
    /// Of an encrypted database.
    var keys: DatabaseKeys?
    /// Whether it is one whose keys are not known: frames can be told apart, not read.
    var isLocked = false
    /// What is missing of a segment that was cut short counts as never written, and those of other databases are passed over.
    var isSalvaging = false
    /// For salvage without a checkpoint to start from: goes on behind barriers.
    var crossesBarriers = false

    /// What stands in the log behind a position.
    struct Tail {
        /// The segments that were read, ascending, and still open.
        var segments: [(number: UInt64, path: String, file: any File)] = []
        /// Behind the last frame that counts.
        var end: LogPosition
        var lastCommit: UInt64
        /// The highest segment number among the files, whether usable or not.
        var highestNumber: UInt64
        /// A checkpoint at least this new must exist: the log ends with its barrier.
        var barrier: UInt64?
        /// Where it stands.
        var beforeBarrier: LogPosition?
        var frames = 0
        /// Files of this database's log that nothing needs any more.
        var spare: [String] = []
    }

    struct Segment {
        var header: SegmentHeader
        var path: String
        var file: any File
        var bytes: [UInt8]
        var cipher: SegmentCipher?
    }

    /// What encryption adds to a payload.
    private var overhead: Int { keys != nil || isLocked ? SegmentCipher.overhead : 0 }

    /// Numbers of the segment files beside the data file, whatever they hold. A name that no segment gets is somebody else's.
    func segmentNumbers() throws(FileError) -> [UInt64] {
        let prefix = FilePath.name(of: path) + "-wal-"
        return try fileSystem.list(directory: FilePath.directory(of: path)).compactMap { name in
            guard name.hasPrefix(prefix), let number = UInt64(name.dropFirst(prefix.count)),
                number < SegmentHeader.numberLimit, TextKey(name) == TextKey(prefix + String(number))
            else { return nil }
            return number
        }.sorted()
    }

    /// Reads every frame behind `start` that was written whole, in order.
    ///
    /// - Parameters:
    ///   - start: the position the checkpoint ends at.
    ///   - commit: the checkpoint's commit number.
    ///   - apply: called for each commit's operations.
    func read(
        from start: LogPosition, commit: UInt64,
        apply: (_ operations: UnsafeRawBufferPointer, _ commit: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> Tail {
        let numbers = try storage { () throws(FileError) in try segmentNumbers() }
        var tail = Tail(end: start, lastCommit: commit, highestNumber: numbers.last ?? 0)
        let first = try firstSegment(start, numbers)
        if first == nil && required == 0 {
            try refuseNewer(than: start, numbers)
            tail.spare = try unusedFiles(numbers, tail)
            return tail
        }
        guard var segment = first else {
            throw .logDamaged(
                path: path,
                reason: "the segment that continues the checkpoint is missing; segment \(required) was in use")
        }
        while true {
            tail.segments.append((segment.header.number, segment.path, segment.file))
            try readSegment(segment, &tail, apply)
            guard let next = try follower(of: segment.header.number, tail.end, numbers) else { break }
            segment = next
        }
        if let last = tail.segments.last, last.number < required {
            throw .logDamaged(
                path: path,
                reason: "it ends in segment \(last.number), but segment \(required) was in use")
        }
        tail.spare = try unusedFiles(numbers, tail)
        return tail
    }

    /// The data file says that it needs no log. A log that goes further than it does belongs to a later state.
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

    /// Segment files that hold nothing of use. One that belongs to something else is not to be written over.
    private func unusedFiles(_ numbers: [UInt64], _ tail: Tail) throws(StorageError) -> [String] {
        let spare = LogFile.sparePath(path)
        // Used last: a file with a number is in the way of who looks for the segment behind another.
        var unused = fileSystem.exists(spare) ? [spare] : []
        for number in numbers where !tail.segments.contains(where: { $0.number == number }) {
            let path = LogFile.segmentPath(path, number)
            if let header = try header(number), header.database != database {
                // A salvage writes over nothing.
                if isSalvaging { continue }
                throw .logDamaged(path: self.path, reason: "\(path) belongs to another database; move it away")
            }
            unused.append(path)
        }
        return unused
    }

    /// The databases that the segments say they belong to.
    func databases() -> [DatabaseID] {
        let numbers = (try? segmentNumbers()) ?? []
        return numbers.compactMap { number in (try? header(number))?.database }
    }

    /// Where the oldest segment begins, and the commit before its first one.
    func beginning() throws(StorageError) -> (start: LogPosition, commit: UInt64)? {
        for number in try storage({ () throws(FileError) in try segmentNumbers() }) {
            guard let segment = try open(number, whole: true) else { continue }
            defer { segment.file.close() }
            guard segment.header.database == database else { continue }
            let start = LogPosition(lsn: segment.header.previousEnd, chain: segment.header.chain)
            let base = segment.header.number * segment.header.segmentBytes
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

    /// A segment file of the directory, or nil when it holds no segment of that number.
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
            // A segment has its full size before the data file names it, and is named before a commit in it is acknowledged.
            // One that was not named was being made when the power went: it is made anew, never gone on with.
            guard number <= required else { return nil }
            throw .logDamaged(
                path: path, reason: "\(segmentPath) is cut short: \(bytes.count) of \(header.segmentBytes) bytes")
        }
        return Segment(
            header: header, path: segmentPath, file: file, bytes: bytes, cipher: keys?.segment(header))
    }

    /// Reads so many bytes, or those that there are.
    func read(_ file: any File, from offset: UInt64 = 0, count: Int) throws(StorageError) -> [UInt8] {
        var count = count
        if count > LogReader.windowBytes {
            // A header may ask for gigabytes that the file does not have: no memory is taken for them.
            let size = try storage { () throws(FileError) in try file.size() }
            count = ByteCount.step(size - min(size, offset), most: count)
        }
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(FileError) {
                initialized = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw StorageError(failure) }
        return bytes
    }

    /// The segment that holds `start`, or the one that says it begins where `start` ends.
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
            let base = header.number * header.segmentBytes
            if start.lsn > base && start.lsn <= base + header.segmentBytes
                || header.previousEnd == start.lsn && header.chain == start.chain
            {
                return segment
            }
            segment.file.close()
        }
        return nil
    }

    /// The next segment, when it takes up where the log stands.
    private func follower(of number: UInt64, _ end: LogPosition, _ numbers: [UInt64]) throws(StorageError) -> Segment? {
        // A file that was made to become a segment and never did is passed over.
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
        // A segment is only begun when everything before it is durable.
        if segment.header.previousEnd > end.lsn {
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

    /// The first segment with a higher number that can be opened.
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
        let base = segment.header.number * segment.header.segmentBytes
        let block = UInt64(SegmentHeader.blockBytes)
        var lsn = max(tail.end.lsn, base + block)
        var segment = segment
        var brokenAt: UInt64?
        while true {
            let outcome: Result<Void, StorageError> = segment.bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try walk(bytes, base, &lsn, segment, &tail, apply) }
            }
            do throws(StorageError) { return try outcome.get() } catch {
                // Whoever only reads may have passed a place just before it was written. What was written after it and was read is a
                // sign that it is there now.
                guard readOnly, brokenAt != lsn, let again = try open(segment.header.number, whole: true),
                    again.header.salt == segment.header.salt
                else { throw error }
                brokenAt = lsn
                segment = again
            }
        }
    }

    /// Goes through the frames of a segment's bytes from `lsn` on.
    private func walk(
        _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ lsn: inout UInt64, _ segment: Segment, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        let block = UInt64(SegmentHeader.blockBytes)
        while true {
            if let frame = try frame(bytes, base: base, at: lsn, segment, tail.end.chain) {
                try take(frame, bytes, base, segment, &tail, apply)
                lsn = tail.end.lsn
                continue
            }
            // A group ends with zeros up to the next block.
            let boundary = (lsn + block - 1) / block * block
            if boundary != lsn, try frame(bytes, base: base, at: boundary, segment, tail.end.chain) != nil {
                lsn = boundary
                continue
            }
            return try refuseDamage(bytes, base: base, after: lsn, segment)
        }
    }

    /// The frame at `lsn` if it is whole and continues the chain.
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

    /// How many bytes of the window the frame that begins at a place needs, if one does.
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

    /// The frame that begins at an offset in a segment's bytes, if one does: whether all of it is there and continues the chain, and the chain
    /// value that it gives itself.
    func look(
        _ bytes: [UInt8], at offset: Int, _ header: SegmentHeader, after chain: UInt64
    ) -> (frame: LogFrame, isWhole: Bool, chain: UInt64)? {
        bytes.withUnsafeBytes { bytes in
            guard offset >= 0, offset <= bytes.count, let start = bytes.baseAddress else { return nil }
            let lsn = header.number * header.segmentBytes + UInt64(offset)
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

    func take(
        _ frame: LogFrame, _ bytes: UnsafeRawBufferPointer, _ base: UInt64, _ segment: Segment, _ tail: inout Tail,
        _ apply: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        if let barrier = tail.barrier, !crossesBarriers {
            throw .logDamaged(
                path: path,
                reason: "commit \(barrier) is kept in a checkpoint that cannot be read, and later commits build on it")
        }
        let offset = Int(frame.lsn - base)
        let stored = UnsafeRawBufferPointer(
            rebasing: bytes[offset + LogFrame.headerBytes..<offset + LogFrame.headerBytes + frame.stored])
        guard frame.commit == tail.lastCommit + 1 else {
            throw .logDamaged(path: path, reason: "commit \(frame.commit) follows commit \(tail.lastCommit)")
        }
        if let cipher = segment.cipher, let start = bytes.baseAddress {
            guard let plain = cipher.open(start + offset, stored: frame.stored) else {
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
        let chain = (bytes.baseAddress.unsafelyUnwrapped + offset).loadUnaligned(fromByteOffset: 48, as: UInt64.self)
        tail.end = LogPosition(lsn: end, chain: chain)
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

    /// Looks behind an unusable frame for a later one that knew it to be durable.
    private func refuseDamage(
        _ bytes: UnsafeRawBufferPointer, base: UInt64, after lsn: UInt64, _ segment: Segment
    ) throws(StorageError) {
        guard let start = bytes.baseAddress else { return }
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
                    reason: "it is damaged at \(lsn); a later frame says that what stood there was durable")
            }
            place += block
        }
    }
}
