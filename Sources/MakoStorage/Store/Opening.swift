/// The result of opening, before the replay of the log: the parts of a store.
struct Opening {
    let path: String
    let options: StoreOptions
    let dataFile: DataFile
    let frames: FrameStore
    let space: SpaceMap
    let version: Version
    let last: Checkpointer.Record
    let previous: Checkpointer.Record?
    let log: LogWriter
    let tail: LogReader
    let report: RecoveryReport

    /// For a read-only store: the commits after the checkpoint.
    private(set) var readAhead: [(number: UInt64, operations: [UInt8])] = []
    /// For a read-only store: the end of the log; nil before it was read.
    private(set) var readTail: LogReader.Tail?
    /// The transaction ids that readers in other processes have pinned.
    let pins: [UInt64]
    let filePages: UInt64
    var checkpointPoints: [UInt64] { Checkpointer.points(pins, last, previous) }

    /// The directory of the files, for a store that writes.
    let directory: (any FileDirectory)?

    init(path: String, options: StoreOptions) throws(StorageError) {
        let path = try options.files.databasePath(path)
        if options.readOnly {
            self = try Opening.reading(path, options)
        } else {
            self = try Opening(path, options, Opening.openFile(path, options))
        }
    }

    /// Opens a file that the caller has created, opened and locked. Closes it on an error.
    init(of file: TemporaryFile, options: StoreOptions) throws(StorageError) {
        try self.init(file.path, options, file.file)
    }

    /// Opens a file that another store has locked.
    init(of file: BorrowedFile, path: String, options: StoreOptions) throws(StorageError) {
        try self.init(path, options, file)
    }

    private init(_ path: String, _ options: StoreOptions, _ file: any File) throws(StorageError) {
        self.path = path
        self.options = options
        do throws(StorageError) {
            directory = try storage { () throws(FileError) in
                options.readOnly ? nil : try options.files.openDirectory(FilePath.directory(of: path))
            }
            let dataFile = try DataFile.open(
                file, repairing: !options.readOnly, .secret(options.encryption), entropy: options.entropy)
            if dataFile.header.isFollower && !options.readOnly && !options.writesFollower {
                throw StorageError.readOnly(
                    reason: "\(path) follows a branch of an object store; open it read-only, or promote it")
            }
            dataFile.directory = directory
            dataFile.encryption = options.encryption
            filePages = try storage { () throws(FileError) in try file.size() } / UInt64(pageBytes)
            let frames = try FrameStore(
                file: file, codec: dataFile.codec, budgetBytes: options.cacheBytes, filePages: filePages,
                unitBytes: options.memoryUnitBytes)
            let metas = try dataFile.readMetas()
            let chosen = try Opening.chooseCheckpoint(dataFile, metas, pinning: options.readOnly ? path : nil)
            self.dataFile = dataFile
            self.frames = frames
            space = chosen.space
            last = chosen.last
            previous = chosen.previous
            let meta = chosen.last.meta
            pins = options.readOnly ? [] : try file.readersPins(path)
            version = chosen.directory.trees.withUnsafeBufferPointer { trees in
                Version(
                    commit: meta.commit, point: meta.point, trees: trees,
                    nextTreeID: UInt32(truncatingIfNeeded: meta.nextTreeID), names: chosen.directory.names,
                    log: meta.log)
            }
            tail = LogReader(
                fileSystem: options.files, path: path,
                database: dataFile.header.id, readOnly: options.readOnly,
                required: dataFile.header.segmentNeeded(behind: meta.log),
                keys: dataFile.keys, mayEndEarly: dataFile.header.isFollower)
            let numbers = try storage { [tail] () throws(FileError) in try tail.segmentNumbers() }
            let known = max(dataFile.header.newestSegment, meta.log.lsn / dataFile.header.segmentBytes)
            log = LogWriter(
                of: tail, dataFile: file, segmentBytes: Int(dataFile.header.segmentBytes), entropy: options.entropy,
                position: meta.log,
                lastNumber: LogFile.last(of: numbers, behind: known))
            log.archive.limitBytes = UInt64(clamping: options.logArchiveBytes)
            report = RecoveryReport(findings: dataFile.findings + chosen.findings)
            if options.readOnly { try readLog() }
        } catch {
            file.close()
            throw error
        }
    }

    // MARK: Beside other processes

    /// Opens for reading, while another process may be writing. Tries again if that process changes the file meanwhile.
    private static func reading(_ path: String, _ options: StoreOptions) throws(StorageError) -> Opening {
        var seen: [UInt8] = []
        /// The attempts in a row that found the fixed pages as the attempt before.
        var unchanged = 0
        var failure: StorageError?
        for _ in 0..<1000 {
            let file = try openFile(path, options)
            do throws(StorageError) {
                let fixed = try DataFile.readPages(file, from: 0, count: SpaceMap.fixedPages)
                unchanged = fixed == seen ? unchanged + 1 : 0
                seen = fixed
                // Damage is reported after two attempts with nothing written before, between and after them, because
                // what is read while it is written looks damaged, and a slow attempt meets many checkpoints.
                if unchanged >= 2, let failure { throw failure }
                failure = nil
                do throws(StorageError) {
                    let opening = try Opening(path, options, file)
                    if try opening.isStillThere(), unchanged > 0 || opening.report.findings.isEmpty { return opening }
                } catch {
                    guard error.mayPass else { throw error }
                    failure = error
                }
                file.close()
            } catch {
                file.close()
                throw error
            }
        }
        throw .alreadyOpen(path: path)
    }

    /// Whether the pinned checkpoint was still retained after the pin, so that the writer finds the pin before it
    /// releases the checkpoint, and whether the file still has its name.
    private func isStillThere() throws(StorageError) -> Bool {
        guard try storage({ () throws(FileError) in try dataFile.file.isNamed(path) }) else { return false }
        return try DataFile.open(dataFile.file, .known(dataFile.keys)).readMetas().contains(last.meta)
    }

    /// Reads the log while its checkpoint is retained, and syncs it, so that a power failure does not remove commits
    /// that are shown.
    private mutating func readLog() throws(StorageError) {
        var commits: [(UInt64, [UInt8])] = []
        let read = try tail.read(from: version.log, commit: version.commit) {
            (operations, commit) throws(StorageError) in
            commits.append((commit, [UInt8](operations)))
        }
        readAhead = commits
        readTail = read
        // A file that was closed is not written and has no log. One that was opened since has frames before the header
        // names the segment.
        let named = dataFile.header.newestSegment
        guard named != 0 || read.frames > 0 else { return }
        // Earlier segments are durable, because a segment is started only after everything before it is.
        if read.frames > 0, let last = read.segments.last {
            try last.file.syncForReader()
            if last.number > named { try tail.syncNamesForReader() }
        }
        try dataFile.file.syncForReader()
    }

    /// Calls `apply` with the commits after the checkpoint.
    func replay(
        _ apply: (_ operations: UnsafeRawBufferPointer, _ commit: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> LogReader.Tail {
        guard let readTail else { return try tail.read(from: version.log, commit: version.commit, apply: apply) }
        for (number, operations) in readAhead {
            try operations.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try apply(bytes, number) }
            }.get()
        }
        return readTail
    }

    /// Keeps pages that readers in other processes may see from being reused. Called once the pages that the log names
    /// are in use, and before any page is allocated.
    ///
    /// The pages of a pinned checkpoint that is no longer retained are unknown, so no page that is not in use now is
    /// reused while it is pinned.
    func keepPinnedPages() {
        let older = pins.filter { $0 != last.meta.point && $0 != previous?.meta.point }
        if let oldest = older.first, let newest = older.last {
            space.keepAllUnused(of: filePages, from: oldest, upTo: newest)
        }
    }

    // MARK: The file

    /// The number of attempts when another process replaces the file during opening.
    private static let openings = 100

    private static func openFile(_ path: String, _ options: StoreOptions) throws(StorageError) -> any File {
        let fileSystem = options.files
        if fileSystem.isDirectory(path) { throw .notADatabase(path: path, reason: "it is a directory") }
        for _ in 0..<openings {
            if !fileSystem.exists(path) {
                if options.readOnly { throw .notFound(path: path) }
                try create(path, options, over: nil)
            }
            let file: any File
            do throws(FileError) { file = try fileSystem.open(path, options.readOnly ? .readOnly : .readWrite) } catch {
                if error.isNotFound { throw .notFound(path: path) }
                throw StorageError(error)
            }
            do throws(StorageError) {
                // Readers do not lock the file; they pin a checkpoint.
                let isLocked = try storage { () throws(FileError) in
                    options.readOnly ? true : try file.lock(within: options.lockTimeout)
                }
                guard isLocked else { throw .alreadyOpen(path: path) }
                // A compaction replaces the file that it has locked; a file opened before is then no longer the
                // database.
                let isThere = try storage { () throws(FileError) in
                    options.readOnly ? true : try file.isNamed(path)
                }
                guard isThere else {
                    file.close()
                    continue
                }
                let size = try storage { () throws(FileError) in try file.size() }
                if size > 0 { return file }
                guard !options.readOnly, options.createsInEmptyFile else {
                    throw .notADatabase(path: path, reason: "it is empty")
                }
                // An empty file becomes a new database. The lock on it keeps other processes from creating one too.
                try create(path, options, over: file)
                file.close()
            } catch {
                file.close()
                throw error
            }
        }
        throw .alreadyOpen(path: path)
    }

    /// Creates an empty database in place of an empty file or of none.
    private static func create(_ path: String, _ options: StoreOptions, over empty: (any File)?) throws(StorageError) {
        if options.encryption != nil && !Encryption.isAvailable { throw .encryptionUnavailable(path: path) }
        let new = try NewFile(at: path, on: options.files)
        try new.refuseOrphans()
        let access = try storage { () throws(FileError) in try empty?.access() }
        // If another process was faster, open its file.
        _ = try new.make(access: access, replacing: empty != nil) { file throws(StorageError) in
            try DataFile.create(
                file, segmentBytes: options.logSegmentBytes, encryption: options.encryption, entropy: options.entropy)
        }
    }

    // MARK: The checkpoint

    private struct Chosen {
        var last: Checkpointer.Record
        var previous: Checkpointer.Record?
        var directory: Directory
        var space: SpaceMap
        var findings: [String]
    }

    /// Chooses the newest checkpoint that can be read completely; an older one if the newest cannot.
    ///
    /// - Parameter path: the path of the file, if the checkpoint must be pinned before it is read.
    private static func chooseCheckpoint(
        _ dataFile: DataFile, _ metas: [Meta], pinning path: String?
    ) throws(StorageError) -> Chosen {
        var findings: [String] = []
        var failure = StorageError.corrupted(page: Meta.firstPage, reason: "no copy of either meta can be read")
        for (index, meta) in metas.enumerated() {
            if let path { try pin(meta, dataFile.file, path) }
            do throws(StorageError) {
                let (directory, pages) = try readDirectory(dataFile, meta)
                let numbers = CheckpointNumbers(header: dataFile.header, meta: meta)
                if path == nil, let exhausted = numbers.exhausted {
                    throw StorageError.corrupted(
                        page: Meta.page(number: meta.number, copy: 0),
                        reason:
                            "the counter of \(exhausted) is beyond any that a database reaches; it can be read, or salvaged"
                    )
                }
                var bitmaps = try readBitmaps(dataFile, directory)
                let last = Checkpointer.Record(meta: meta, regions: directory.regions, directoryPages: pages)
                for page in pages { SpaceMap.clear(page, in: &bitmaps) }
                let older = metas.dropFirst(index + 1).first.flatMap { readOlder(dataFile, $0, last) }
                let space = SpaceMap()
                // A reader reuses no page of the file, and another process may have reused those of the older checkpoint
                // for values that the log names.
                space.load(
                    current: bitmaps, directory: pages, older: path == nil ? older?.bitmaps : nil,
                    olderPoint: older?.record.meta.point ?? 0)
                return Chosen(
                    last: last, previous: older?.record, directory: directory, space: space, findings: findings)
            } catch {
                findings.append("checkpoint \(meta.number) cannot be used: \(error)")
                failure = error
            }
        }
        throw failure
    }

    /// Pins a checkpoint. On a file system without pins, the reader locks out the writer instead.
    private static func pin(_ meta: Meta, _ file: any File, _ path: String) throws(StorageError) {
        let isSafe = try storage { () throws(FileError) in
            if try file.pin(meta.point) { return true }
            return try file.lock(exclusive: false)
        }
        guard isSafe else { throw .alreadyOpen(path: path) }
    }

    private static func readOlder(_ dataFile: DataFile, _ meta: Meta, _ last: Checkpointer.Record)
        -> (record: Checkpointer.Record, bitmaps: [[UInt64]])?
    {
        do throws(StorageError) {
            let (directory, pages) = try readDirectory(dataFile, meta)
            let bitmaps = try readBitmaps(dataFile, directory)
            // The pages of its directory wait with its other pages, unless the newer checkpoint shares them.
            let shared = pages == last.directoryPages ? pages : []
            return (Checkpointer.Record(meta: meta, regions: directory.regions, directoryPages: shared), bitmaps)
        } catch { return nil }
    }

    static func readDirectory(_ dataFile: DataFile, _ meta: Meta) throws(StorageError) -> (Directory, [UInt64]) {
        let numbers = CheckpointNumbers(header: dataFile.header, meta: meta)
        if let contradiction = numbers.contradiction {
            throw .corrupted(page: Meta.page(number: meta.number, copy: 0), reason: contradiction)
        }
        let run = meta.directory
        let count = Swift.max(1, run.pageCount)
        guard run.firstPage + UInt64(count) <= meta.regions * UInt64(SpaceMap.pagesPerRegion) else {
            throw .corrupted(page: run.firstPage, reason: "the checkpoint's directory lies outside the file's regions")
        }
        var bytes = try DataFile.readPages(dataFile.file, from: run.firstPage, count: count)
        guard bytes.count == count * pageBytes else {
            throw .corrupted(page: run.firstPage, reason: "the file ends inside the checkpoint's directory")
        }
        var content: [UInt8] = []
        for index in 0..<count {
            let number = run.firstPage + UInt64(index)
            let isSound = bytes.withUnsafeMutableBytes { buffer -> Bool in
                guard let base = buffer.baseAddress else { return false }
                let page = base + index * pageBytes
                return dataFile.codec.open(page, number: number)
                    && page.load(fromByteOffset: Page.writeIDOffset, as: UInt64.self) == run.firstWriteID
                    && page.load(fromByteOffset: Page.identityOffset, as: UInt64.self)
                        == Page.identity(page: number, type: .directory, level: 0)
            }
            guard isSound else { throw .corrupted(page: number, reason: "the checkpoint's directory is damaged") }
            let start = index * pageBytes + Page.bodyOffset
            content.append(
                contentsOf: bytes[
                    start..<start + min(Overflow.payloadBytes, run.length - index * Overflow.payloadBytes)])
        }
        guard var directory = Directory(content, regions: Int(meta.regions)) else {
            throw .corrupted(page: run.firstPage, reason: "the checkpoint's directory contradicts itself")
        }
        if let contradiction = numbers.contradiction(in: directory) {
            throw .corrupted(page: run.firstPage, reason: contradiction)
        }
        for index in directory.trees.indices where meta.isPlain(index) {
            directory.trees[index].mayHoldLargeValues = false
        }
        return (directory, (0..<count).map { run.firstPage + UInt64($0) })
    }

    static func readBitmaps(_ dataFile: DataFile, _ directory: Directory) throws(StorageError) -> [[UInt64]] {
        var bitmaps: [[UInt64]] = []
        for (region, state) in directory.regions.enumerated() {
            bitmaps.append(try dataFile.readBitmap(region: region, state))
        }
        return bitmaps
    }
}

extension File {
    /// The checkpoints that readers have pinned. Throws ``StorageError/alreadyOpen(path:)``, with the path that is given, if
    /// another program has locked the whole file, which may hide them.
    func readersPins(_ path: String) throws(StorageError) -> [UInt64] {
        do throws(FileError) { return try pins() } catch {
            throw error.isBusy ? .alreadyOpen(path: path) : StorageError(error)
        }
    }

    /// Syncs what another process may have written. Does nothing on a read-only medium.
    func syncForReader() throws(StorageError) {
        do throws(FileError) { try sync() } catch { if !error.isForReadOnlyMedium { throw StorageError(error) } }
    }
}

extension LogReader {
    /// Syncs the names of segments, of which the header may not have the newest yet.
    func syncNamesForReader() throws(StorageError) {
        do throws(FileError) { try fileSystem.syncDirectory(FilePath.directory(of: path)) } catch {
            if !error.isForReadOnlyMedium { throw StorageError(error) }
        }
    }
}

extension StorageError {
    /// Whether the error may come from a concurrent write of another process.
    var mayPass: Bool {
        switch self {
        case .corrupted, .logDamaged: true
        case .io(let error): error.isNotFound
        default: false
        }
    }
}
