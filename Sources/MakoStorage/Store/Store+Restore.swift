extension Store {
    /// Makes a database from a backup and the incremental backups made after it.
    ///
    /// The new file gets its name when it is complete, verified and durable. The backups are only read.
    ///
    /// ```swift
    /// try Store.restore("events-sunday.mako", applying: ["events-monday.mako-part"], to: "events.mako")
    /// ```
    ///
    /// - Parameters:
    ///   - base: an unchanged backup made by ``backup(to:sharesBlocks:progress:)``.
    ///   - parts: incremental backups, each of which builds on the one before.
    ///   - path: the path of the new file, which must not exist.
    ///   - options: the file system, the memory for the verification, and the encryption of the newest part.
    ///   - progress: called after every 256 pages and at the end.
    /// - Returns: the commit and the size of the new file.
    /// - Throws: ``StorageError/wrongBase(path:reason:)`` if the files do not belong together,
    ///   ``StorageError/corrupted(page:reason:)`` for a damaged page, ``StorageError/diskFull(path:)`` and I/O errors.
    ///   No file remains then, unless only the sync of its name failed.
    @discardableResult
    public static func restore(
        _ base: String, applying parts: [String], to path: String, options: StoreOptions = .init(),
        progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        let new = try NewFile(at: path, on: options.files)
        try new.refuseExisting()
        var restoration = try Restoration(base, parts, options)
        let target = try new.begin(access: restoration.access)
        do throws(StorageError) {
            try restoration.write(to: target.file, progress)
            var reading = options
            reading.readOnly = true
            let store = try Store(of: target, options: reading)
            defer { store.abandon() }
            let report = try check(store, restoration.point, parts.last ?? base)
            guard try target.publish(as: new.path, replacing: false) else { throw new.taken }
            return report
        } catch {
            target.discard()
            throw target.named(error)
        }
    }

    /// Verifies the restored file before it gets its name.
    private static func check(_ store: Store, _ point: BackupPoint, _ last: String) throws(StorageError) -> CopyReport {
        let report = try store.verify()
        if let failure = report.readFailure { throw .io(failure) }
        if let finding = report.findings.first {
            throw .wrongBase(path: last, reason: finding)
        }
        let bytes = try storage { () throws(FileError) in try store.dataFile.file.size() }
        return CopyReport(commitNumber: point.commit, bytes: bytes)
    }
}

/// A backup and the parts that are applied to it.
struct Restoration {
    private let base: String
    private let fileSystem: any FileSystem
    private let parts: [(path: String, header: BackupPart.Header)]
    private let codec: PageCodec
    /// The state of the result.
    let point: BackupPoint
    /// The access rights of the backup, which the restored file gets.
    let access: FileAccess?
    private static let pagesPerMove = 256

    init(_ base: String, _ paths: [String], _ options: StoreOptions) throws(StorageError) {
        self.base = base
        fileSystem = options.files
        var headers: [BackupPart.Header] = []
        // Use the newest header, because the key may have changed since the older backups.
        var newest: FileHeader?
        for path in paths {
            let file = try Restoration.open(path, fileSystem)
            defer { file.close() }
            guard let header = try BackupPart.Header(file) else {
                throw .wrongBase(path: path, reason: "it is no incremental backup")
            }
            headers.append(header)
            newest = try Restoration.fileHeader(of: header, in: file) ?? newest
        }
        let keys: KeyAccess
        if let newest {
            keys = .known(try KeyAccess.secret(options.encryption).keys(of: newest, path: paths.last ?? base))
        } else {
            keys = .secret(options.encryption)
        }
        codec = try Restoration.codec(of: base, keys, fileSystem, newest)
        var point = try BackupPoint(of: base, keys, fileSystem)
        var parts: [(String, BackupPart.Header)] = []
        for (path, header) in zip(paths, headers) {
            guard header.base == point else {
                throw .wrongBase(
                    path: path,
                    reason: "it builds on commit \(header.base.commit) of its database, not on what is before it here")
            }
            parts.append((path, header))
            point = header.own
        }
        self.parts = parts
        self.point = point
        let file = try Restoration.open(base, fileSystem)
        defer { file.close() }
        self.access = try storage { () throws(FileError) in try file.access() }
    }

    /// Returns the header block of the database from a part with encrypted pages.
    private static func fileHeader(of part: BackupPart.Header, in file: any File) throws(StorageError) -> FileHeader? {
        guard let list = try BackupPart.list(of: part, in: file), let place = list.firstIndex(of: 0) else { return nil }
        let page = SalvagedPage()
        let bytes = try DataFile.readPages(file, from: 1 + UInt64(place), count: 1)
        _ = bytes.withUnsafeBytes { page.take(0, from: $0, .header) }
        return page.fileHeader(copy: 0)
    }

    private static func codec(
        of base: String, _ access: KeyAccess, _ fileSystem: any FileSystem, _ newest: FileHeader?
    ) throws(StorageError) -> PageCodec {
        let file = try open(base, fileSystem)
        defer { file.close() }
        if try BackupPart.Header(file) != nil {
            throw .wrongBase(path: base, reason: "it is an incremental backup; the first one has to be whole")
        }
        let dataFile = try DataFile.open(file, access)
        guard newest == nil || newest?.id == dataFile.header.id else {
            throw .wrongBase(path: base, reason: "it is of another database than what is to be put onto it")
        }
        return dataFile.codec
    }

    private static func open(_ path: String, _ fileSystem: any FileSystem) throws(StorageError) -> any File {
        do throws(FileError) { return try fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
    }

    mutating func write(to file: any File, _ progress: (CopyProgress) -> Void) throws(StorageError) {
        let source = try Restoration.open(base, fileSystem)
        defer { source.close() }
        // Without locks, as on some network file systems, continue unlocked.
        if let isLocked = try? source.lock(exclusive: false), !isLocked { throw .alreadyOpen(path: base) }
        let basePages = try storage { () throws(FileError) in try source.size() } / UInt64(pageBytes)
        let total = Int(clamping: parts.reduce(basePages) { $0 + $1.header.pages })
        var done = 0
        func reportProgress(_ count: Int) {
            done += count
            progress(CopyProgress(done: done, total: total))
        }
        if try storage({ () throws(FileError) in try file.shareBlocks(of: source) }) {
            reportProgress(Int(clamping: basePages))
        } else {
            try Restoration.move(basePages, from: source, at: 0) { (bytes, first) throws(StorageError) in
                let size = bytes.count
                try storage { () throws(FileError) in
                    try writeBytes(file, bytes, count: size, at: first * UInt64(pageBytes))
                }
                reportProgress(size / pageBytes)
            }
        }
        for part in parts { try put(part.path, part.header, onto: file, reportProgress) }
    }

    /// Puts the parts onto a file that holds the backup already.
    func putParts(onto file: any File) throws(StorageError) {
        for part in parts { try put(part.path, part.header, onto: file) { _ in } }
    }

    private func put(
        _ path: String, _ header: BackupPart.Header, onto file: any File, _ reportProgress: (Int) -> Void
    ) throws(StorageError) {
        let source = try Restoration.open(path, fileSystem)
        defer { source.close() }
        let page = SalvagedPage()
        let list = try BackupPart.list(of: header, in: source)
        try Restoration.move(header.pages, from: source, at: 1) { (bytes, first) throws(StorageError) in
            for start in stride(from: 0, to: bytes.count, by: pageBytes) {
                let copy = Array(bytes[start..<start + pageBytes])
                let place = first - 1 + UInt64(start / pageBytes)
                let number = list?[Int(place)] ?? BackupPart.number(of: copy)
                let isHeader = number < UInt64(FileHeader.copies)
                let isWhole = copy.withUnsafeBytes { page.take(number, from: $0, isHeader ? .header : codec) }
                guard isWhole, number < header.filePages else {
                    throw .corrupted(
                        page: first + UInt64(start / pageBytes),
                        reason: "of \(path): \(codec.finding)")
                }
                try storage { () throws(FileError) in
                    try writeBytes(file, copy, count: pageBytes, at: number * UInt64(pageBytes))
                }
            }
            reportProgress(bytes.count / pageBytes)
        }
        try storage { () throws(FileError) in try file.resize(to: header.filePages * UInt64(pageBytes)) }
    }

    /// Passes on `count` pages of a file, some at a time.
    private static func move(
        _ count: UInt64, from file: any File, at start: UInt64,
        _ take: ([UInt8], UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        var done: UInt64 = 0
        while done < count {
            let next = ByteCount.step(count - done, most: pagesPerMove)
            let bytes = try DataFile.readPages(file, from: start + done, count: next)
            guard bytes.count == next * pageBytes else {
                throw .corrupted(page: start + done, reason: "\(file.path) ends before it")
            }
            try take(bytes, start + done)
            done += UInt64(next)
        }
    }
}

extension BackupPart {
    /// Returns the page id in a page.
    fileprivate static func number(of page: [UInt8]) -> UInt64 {
        (0..<5).reduce(0) { $0 | UInt64(page[8 + $1]) << UInt64($1 * 8) }
    }
}
