/// The database file of a follower: it copies the frames of a branch's log into its own, at the places that they have
/// there, and ordinary recovery replays them.
///
/// Readers open the file read-only. A commit is theirs when its frame is whole, and every frame is verified to continue
/// the chain before its first byte is written. The file is locked as long as no store of this class has it open, and
/// marked: no other program writes it.
package final class FollowerFile {
    package let path: String
    private let options: StoreOptions
    /// The locked file; nil after a failure, until the next recovery.
    private var file: (any File)?
    private var header: FileHeader?
    private var segment: (number: UInt64, file: any File)?
    /// After a failed append: where the log may end, too.
    private var mayEnd: [LogPlace] = []
    /// The end of the log.
    package private(set) var place: LogPlace
    /// The bytes of log behind the checkpoint, which readers replay.
    package private(set) var logBytes: UInt64 = 0

    /// What a file says of itself, without a change to it.
    package struct Look: Sendable {
        package var high: UInt64
        package var low: UInt64
        /// The end of its log.
        package var place: LogPlace
        /// Whether it is marked as a follower's.
        package var isFollower: Bool
    }

    /// Reads the place of a file. Returns nil when there is none.
    package static func look(at path: String, _ options: StoreOptions) throws(StorageError) -> Look? {
        let path = try options.files.databasePath(path)
        guard options.files.exists(path) else { return nil }
        var reading = options.withoutEvents
        reading.readOnly = true
        let store = try Store(at: path, options: reading)
        defer { store.abandon() }
        return Look(
            high: store.identity.high, low: store.identity.low, place: LogPlace(store.newest),
            isFollower: store.dataFile.header.isFollower)
    }

    /// Opens a follower's file, and writes a checkpoint of its log.
    ///
    /// - Parameter place: where its log ends.
    package init(at path: String, place: LogPlace, options: StoreOptions) throws(StorageError) {
        self.path = try options.files.databasePath(path)
        self.options = options
        self.place = place
        TemporaryFile.removeAbandoned(for: self.path, on: options.files)
        try settle()
    }

    deinit { close() }

    package func close() {
        closeSegment()
        file?.close()
        file = nil
    }

    private func closeSegment() {
        segment?.file.close()
        segment = nil
    }

    // MARK: Checkpoints

    /// Replays the log into a checkpoint, and removes it. Readers keep the checkpoint that they have.
    package func settle() throws(StorageError) { try settle { _ throws(StorageError) in } }

    /// Settles, and makes the file one that any program writes. It is closed then.
    package func release() throws(StorageError) {
        try settle { store throws(StorageError) in try store.markFollower(false) }
        close()
    }

    /// Goes on with a file that has replaced this one, and holds a later commit.
    package func adoptReplacement(at place: LogPlace) throws(StorageError) {
        close()
        self.place = place
        try settle()
    }

    private func settle(_ finish: (Store) throws(StorageError) -> Void) throws(StorageError) {
        close()
        guard options.files.exists(path) else { throw .notFound(path: path) }
        var own = options.withoutEvents
        own.readOnly = false
        own.writesFollower = true
        own.createsInEmptyFile = false
        own.background = .manual
        own.logArchiveBytes = 0
        let store = try Store(at: path, options: own)
        do throws(StorageError) {
            let newest = LogPlace(store.newest)
            guard store.dataFile.header.isFollower, newest == place || mayEnd.contains(newest) else {
                throw .wrongBase(path: path, reason: "it was written to since, and has come to another commit")
            }
            (place, mayEnd) = (newest, [])
            try store.settle()
            try finish(store)
            header = store.dataFile.header
        } catch {
            store.abandon()
            throw error
        }
        store.abandon()
        logBytes = 0
        try lock()
    }

    private func lock() throws(StorageError) {
        let file = try storage { () throws(FileError) in try options.files.open(path, .readWrite) }
        do throws(StorageError) {
            let isOurs = try storage { () throws(FileError) in
                guard try file.lock(exclusive: true) else { return false }
                return try file.isNamed(path)
            }
            guard isOurs else { throw .alreadyOpen(path: path) }
            self.file = file
        } catch {
            file.close()
            throw error
        }
    }

    // MARK: Frames

    /// Verifies that frames lead from one place to another, by the end of the log.
    ///
    /// - Parameters:
    ///   - segments: consecutive frames.
    ///   - start: the place that they continue, which is the end of the log or before it.
    ///   - end: the place that they lead to.
    /// - Returns: nil when they do not.
    package func verify(
        _ segments: [SegmentFrames], from start: LogPlace, to end: LogPlace
    ) throws(StorageError) -> VerifiedFrames? {
        if file == nil { try settle() }
        guard let header, let runs = FrameRun.verified(segments, of: header, from: start, to: end) else { return nil }
        let passes = start == place || runs.contains { run in run.frames.contains { $0.end == place } }
        return passes ? VerifiedFrames(runs: runs) : nil
    }

    /// Appends the frames behind the end of the log, durably.
    package func append(_ verified: VerifiedFrames) throws(StorageError) {
        if file == nil { try settle() }
        guard let header else { return }
        for run in verified.runs {
            let new = run.frames.filter { $0.end.commit > place.commit }
            guard let last = new.last else { continue }
            // A reader looks for the next number alone while it has not seen a new checkpoint.
            if logBytes > 0, run.header.number > max(segment?.number ?? 0, place.lsn / header.segmentBytes) + 1 {
                try settle()
            }
            mayEnd = new.map(\.end)
            let file = try open(run)
            try write(new, of: run, to: file)
            try storage { () throws(FileError) in try file.sync() }
            (place, mayEnd) = (last.end, [])
        }
    }

    /// Writes frames, those that are beside each other in one call.
    private func write(_ frames: [FrameRun.Frame], of run: FrameRun, to file: any File) throws(StorageError) {
        let base = run.header.start
        var first = 0
        while first < frames.count {
            var last = first
            while last + 1 < frames.count, frames[last + 1].lsn == frames[last].end.lsn { last += 1 }
            let bytes = Array(run.bytes[frames[first].range.lowerBound..<frames[last].range.upperBound])
            let offset = frames[first].lsn - base
            try storage { () throws(FileError) in try writeBytes(file, bytes, count: bytes.count, at: offset) }
            logBytes += UInt64(bytes.count)
            first = last + 1
        }
    }

    /// Opens the segment of frames, and creates it where it is missing or was never begun.
    private func open(_ run: FrameRun) throws(StorageError) -> any File {
        if let segment, segment.number == run.header.number { return segment.file }
        closeSegment()
        let path = LogFile.segmentPath(path, run.header.number)
        let new = try storage { () throws(FileError) in
            try options.files.open(path, .create, access: try file?.access()?.forNewFile)
        }
        do throws(StorageError) {
            let start = try storage { () throws(FileError) in try new.bytes(from: 0, count: run.block.count) }
            if start != run.block { try begin(run, in: new, start) }
        } catch {
            new.close()
            throw error
        }
        segment = (run.header.number, new)
        return new
    }

    /// Makes a file the segment of frames.
    private func begin(_ run: FrameRun, in new: any File, _ start: [UInt8]) throws(StorageError) {
        guard !SegmentHeader.isForeign(Array(start.prefix(SegmentHeader.bytes))) else {
            throw .logDamaged(path: path, reason: "\(new.path) is no log file, but has the name of one; move it away")
        }
        try storage { () throws(FileError) in
            try new.resize(to: 0)
            try new.resize(to: run.header.segmentBytes)
            try options.files.syncDirectory(FilePath.directory(of: path))
            // Last: what has its header is a segment.
            try writeBytes(new, run.block, count: run.block.count, at: 0)
        }
    }

    // MARK: Promotion

    /// Makes the frame of a commit without changes, in a segment of its own, whose chain no other log has. Appends
    /// nothing.
    package func promotion() throws(StorageError) -> (frames: SegmentFrames, end: LogPlace) {
        if file == nil { try settle() }
        guard let header else { throw .closed(path: path) }
        let number = max(place.lsn / header.segmentBytes, segment?.number ?? 0) + 1
        let own = SegmentHeader(
            database: header.id, number: number, salt: options.entropy.next(), previousEnd: place.lsn,
            chain: place.chain, segmentBytes: header.segmentBytes)
        let keys = try KeyAccess.secret(options.encryption).keys(of: header, path: path)
        let overhead = keys == nil ? 0 : SegmentCipher.overhead
        let frame = LogFrame(
            stored: overhead, raw: 0, isCompressed: false,
            lsn: number * header.segmentBytes + UInt64(SegmentHeader.blockBytes), commit: place.commit + 1,
            durable: place.lsn, kind: .commit)
        var bytes = [UInt8](repeating: 0, count: LogFrame.bytes(payload: overhead))
        let chain = bytes.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map {
                frame.write(to: $0, salt: own.salt, cipher: keys?.segment(own), chain: place.chain)
            }
        }
        let end = LogPlace(
            commit: frame.commit, lsn: frame.lsn + UInt64(bytes.count), chain: chain ?? 0)
        return (SegmentFrames(header: own.encoded, frames: bytes), end)
    }
}

/// Frames that continue the log of a follower's file.
package struct VerifiedFrames {
    fileprivate let runs: [FrameRun]
}

/// The frames of one segment, each of which continues the chain of all before it.
struct FrameRun {
    struct Frame {
        var lsn: UInt64
        /// Its bytes, padding included.
        var range: Range<Int>
        var end: LogPlace
    }

    let header: SegmentHeader
    /// The bytes that describe the segment.
    let block: [UInt8]
    let bytes: [UInt8]
    private(set) var frames: [Frame] = []

    /// The frames by segment, if they lead from one place to another.
    static func verified(
        _ segments: [SegmentFrames], of file: FileHeader, from start: LogPlace, to end: LogPlace
    ) -> [FrameRun]? {
        var place = start
        var runs: [FrameRun] = []
        for segment in segments {
            guard let run = FrameRun(segment, of: file, from: place) else { return nil }
            place = run.frames.last?.end ?? place
            runs.append(run)
        }
        return place == end ? runs : nil
    }

    /// Nil when a frame does not continue the one before it.
    private init?(_ segment: SegmentFrames, of file: FileHeader, from start: LogPlace) {
        guard let header = SegmentHeader(encoded: segment.header), header.database == file.id,
            header.segmentBytes == file.segmentBytes
        else { return nil }
        self.header = header
        block = segment.header
        bytes = segment.frames
        let base = header.start
        guard start.lsn > base || header.previousEnd == start.lsn && header.chain == start.chain else { return nil }
        let overhead = file.features.contains(.encryption) ? SegmentCipher.overhead : 0
        var place = start
        var offset = 0
        while offset < bytes.count {
            guard let next = frame(at: offset, behind: place, overhead) else { return nil }
            frames.append(next)
            place = next.end
            offset = next.range.upperBound
        }
    }

    private func frame(at offset: Int, behind place: LogPlace, _ overhead: Int) -> Frame? {
        guard offset + LogFrame.headerBytes <= bytes.count else { return nil }
        let claim = FrameClaim(bytes[offset...])
        let base = header.start
        let range = offset..<offset + claim.bytes
        let block = UInt64(SegmentHeader.blockBytes)
        let first = max(place.lsn, base + block)
        // Recovery looks there and nowhere else.
        guard range.upperBound <= bytes.count, claim.lsn == first || claim.lsn == (first + block - 1) / block * block,
            claim.lsn - base <= header.segmentBytes, UInt64(claim.bytes) <= header.segmentBytes - (claim.lsn - base)
        else { return nil }
        let isNext = bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let frame = LogFrame(
                    start + offset, available: claim.bytes, lsn: claim.lsn, salt: header.salt, overhead: overhead),
                frame.kind == .commit, frame.commit == place.commit + 1,
                LogFrame.bytes(payload: frame.stored) == claim.bytes
            else { return false }
            let check = (start + offset).loadUnaligned(fromByteOffset: 40, as: UInt64.self)
            return claim.chain
                == LogFrame.chain(
                    payload: start + offset + LogFrame.headerBytes, count: frame.stored, check: check,
                    after: place.chain)
        }
        guard isNext else { return nil }
        let end = LogPlace(commit: claim.commit, lsn: claim.lsn + UInt64(claim.bytes), chain: claim.chain)
        return Frame(lsn: claim.lsn, range: range, end: end)
    }
}

extension SegmentFrames {
    /// Whether a frame says that it leads to a place.
    package func contains(_ place: LogPlace) -> Bool {
        var offset = 0
        while offset + LogFrame.headerBytes <= frames.count {
            let claim = FrameClaim(frames[offset...])
            if claim.commit == place.commit {
                return claim.lsn &+ UInt64(claim.bytes) == place.lsn && claim.chain == place.chain
            }
            offset += claim.bytes
        }
        return false
    }
}

extension Store {
    /// Sets or clears the mark of a follower's file, durably. The store has just been settled and is to be abandoned.
    func markFollower(_ isFollower: Bool) throws(StorageError) {
        try storage { () throws(FileError) in
            try dataFile.lock.withLock { () throws(FileError) in
                try dataFile.update { $0.isFollower = isFollower }
            }
        }
    }
}
