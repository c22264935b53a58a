/// Puts a database together from a backup, incremental backups and frames of its log, in a new file.
///
/// The frames go into segments beside the file, at the places that they had, and ordinary recovery replays them. The file gets its name when
/// it is verified and durable; until then `discard()` removes all that was made.
package final class LogRestoration {
    private let new: NewFile
    private let target: TemporaryFile
    private let options: StoreOptions
    private var parts: [TemporaryFile] = []
    private var segment: (number: UInt64, bytes: UInt64, file: any File)?
    /// Whether the file becomes a follower's, and whether it replaces an older one.
    private let isFollower: Bool
    private let isReplacing: Bool
    /// The chain value of the last frame that was appended.
    package private(set) var lastChain: UInt64?

    /// - Parameters:
    ///   - isFollower: whether the file is marked as a follower's.
    ///   - isReplacing: whether it replaces a file that the caller has locked.
    /// - Throws: ``StorageError/invalidArgument(_:)`` when something has the name.
    package init(
        at path: String, isFollower: Bool = false, isReplacing: Bool = false, options: StoreOptions
    ) throws(StorageError) {
        new = try NewFile(at: path, on: options.files)
        if !isReplacing { try new.refuseExisting() }
        self.isFollower = isFollower
        self.isReplacing = isReplacing
        self.options = options
        target = try new.begin(access: nil)
    }

    // MARK: Content

    /// Writes bytes of the backup.
    package func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
        try storage { () throws(FileError) in try writeBytes(target.file, bytes, count: bytes.count, at: offset) }
    }

    /// Begins an incremental backup, which builds on what came before.
    package func beginPart() throws(StorageError) {
        parts.append(try TemporaryFile.make(for: new.path, on: options.files, access: nil))
    }

    /// Writes bytes of the incremental backup that was begun last.
    package func writePart(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
        guard let file = parts.last?.file else { return }
        try storage { () throws(FileError) in try writeBytes(file, bytes, count: bytes.count, at: offset) }
    }

    /// Appends those frames of a segment whose commits are not later than one.
    ///
    /// What the frames hold is checked by recovery; here only that they stay inside their segment.
    package func append(_ piece: SegmentFrames, upTo last: UInt64) throws(StorageError) {
        guard let header = SegmentHeader(encoded: piece.header) else {
            throw unfit("the description of a log segment is damaged")
        }
        var offset = 0
        while offset + LogFrame.headerBytes <= piece.frames.count {
            let claim = FrameClaim(piece.frames[offset...])
            if claim.commit > last { return }
            let (size, lsn) = (claim.bytes, claim.lsn)
            let base = header.start
            guard offset + size <= piece.frames.count, lsn >= base + UInt64(SegmentHeader.blockBytes),
                lsn - base <= header.segmentBytes, UInt64(size) <= header.segmentBytes - (lsn - base)
            else { throw unfit("the frame of commit \(claim.commit) lies outside its log segment") }
            let file = try file(of: header, piece.header)
            let frame = Array(piece.frames[offset..<offset + size])
            try storage { () throws(FileError) in try writeBytes(file, frame, count: size, at: lsn - base) }
            lastChain = claim.chain
            offset += size
        }
        guard offset == piece.frames.count else { throw unfit("its last frame is cut short") }
    }

    private func file(of header: SegmentHeader, _ block: [UInt8]) throws(StorageError) -> any File {
        if let segment, segment.number == header.number { return segment.file }
        segment?.file.close()
        segment = nil
        let path = LogFile.segmentPath(target.path, header.number)
        let file = try storage { () throws(FileError) -> any File in
            let file = try UnfinishedFiles.whileUnfinished(path) { () throws(FileError) in
                try options.files.open(path, .create)
            }
            if try file.size() == 0 {
                try file.resize(to: header.segmentBytes)
                try writeBytes(file, block, count: block.count, at: 0)
            }
            return file
        }
        segment = (header.number, header.segmentBytes, file)
        return file
    }

    // MARK: The end

    /// Replays the log, verifies the database and gives it its name.
    ///
    /// - Parameters:
    ///   - commit: the last one that the database must show.
    ///   - chain: what the log goes on from instead of its chain value: so no other log continues this one. Nil: the same.
    /// - Returns: the place that the log goes on from, and the bytes of the file.
    package func finish(
        at commit: UInt64, chain: UInt64?, beforePublishing prepare: (LogPlace) throws -> Void
    ) throws -> (end: LogPlace, bytes: UInt64) {
        segment?.file.close()
        segment = nil
        if !parts.isEmpty {
            let restoration = try Restoration(target.path, parts.map(\.path), options)
            try restoration.putParts(onto: target.file)
        }
        let store = try open()
        defer { store.abandon() }
        var end = LogPlace(store.newest)
        guard end.commit == commit else {
            throw unfit("the log leads to commit \(end.commit), not to \(commit)")
        }
        let report = try store.verify()
        if let failure = report.readFailure { throw StorageError.io(failure) }
        if let finding = report.findings.first { throw unfit(finding) }
        try store.settle()
        if let chain {
            end.chain = chain
            try store.changeChain(to: chain)
        }
        if isFollower { try store.markFollower(true) }
        try prepare(end)
        let bytes = try storage { () throws(FileError) in try target.file.size() }
        guard try target.publish(as: new.path, replacing: isReplacing) else { throw new.taken }
        discardParts()
        return (end, bytes)
    }

    private func open() throws(StorageError) -> Store {
        var own = options.withoutEvents
        own.readOnly = false
        own.background = .manual
        own.diskReserveBytes = 0
        own.logArchiveBytes = 0
        return try Store(of: target, options: own)
    }

    /// Removes everything that was made.
    package func discard() {
        segment?.file.close()
        discardParts()
        target.discard()
    }

    private func discardParts() {
        for part in parts { part.discard() }
        parts = []
    }

    private func unfit(_ reason: String) -> StorageError { .wrongBase(path: new.path, reason: reason) }

    /// Returns an error with the path of the new file in place of those of temporary files. Before ``discard()``.
    package func named(_ error: StorageError) -> StorageError {
        ([target] + parts).reduce(error) { $1.named($0) }
    }
}

extension Store {
    /// Has the log go on from another chain value than the one that it has come to. The store has just been settled and is to be abandoned.
    fileprivate func changeChain(to chain: UInt64) throws(StorageError) {
        for var meta in try dataFile.readMetas() {
            meta.log.chain = chain
            // What a backup shows has the old value.
            meta.basis = 0
            try storage { [meta] () throws(FileError) in try dataFile.write(meta) }
        }
    }
}
