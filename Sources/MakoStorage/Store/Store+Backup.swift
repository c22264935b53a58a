/// The progress of a copy of a store.
public struct CopyProgress: Sendable, Hashable {
    /// The number of copied units: pages of a backup, entries of a compacted copy.
    public var done: Int
    /// The number of units to copy.
    public var total: Int
}

/// The result of a copy.
public struct CopyReport: Sendable, Hashable {
    /// The number of the commit that the copy shows.
    public var commitNumber: UInt64
    /// The size of the new file in bytes.
    public var bytes: UInt64
}

extension Store {
    /// Copies the latest commit to a new file, page by page, while readers and the writer continue.
    ///
    /// Each page is checked during the copy, so that damage is not copied unnoticed. The file is a database of its own,
    /// needs no log, and gets its name when it is complete and durable. Pages keep their places; free pages become
    /// holes if the file system supports them. ``copy(to:progress:)`` makes the smallest file instead,
    /// ``backup(to:since:progress:)`` only stores the changes.
    ///
    /// ```swift
    /// try store.backup(to: "events-2026-11-21.mako") { print("\($0.done) of \($0.total) pages") }
    /// ```
    ///
    /// - Parameters:
    ///   - path: the path of the new file, which must not exist, on the store's file system.
    ///   - sharesBlocks: whether the new file shares its blocks with the old one until either is written, if the file
    ///     system can. That takes no time and no space, checks no page, and does not protect from a broken device. On
    ///     other file systems the pages are copied.
    ///   - progress: called after every 256 pages and at the end.
    /// - Returns: the commit and the size of the backup.
    /// - Throws: ``StorageError/corrupted(page:reason:)`` for a damaged page, ``StorageError/diskFull(path:)`` and I/O
    ///   errors; no file remains then.
    /// - Complexity: linear in the pages in use.
    @discardableResult
    public func backup(
        to path: String, sharesBlocks: Bool = false, progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        try backup(to: path, on: options.files, sharesBlocks: sharesBlocks, progress: progress)
    }

    /// Backs up to another file system, for a store in memory.
    package func backup(
        to path: String, on fileSystem: any FileSystem, sharesBlocks: Bool = false, progress: (CopyProgress) -> Void
    ) throws(StorageError) -> CopyReport {
        if let next = follower?.successor {
            return try next.backup(to: path, on: fileSystem, sharesBlocks: sharesBlocks, progress: progress)
        }
        let new = try NewFile(at: path, on: options.withAttributes(fileSystem))
        try new.refuseExisting()
        guard let source = try captureForBackup() else {
            return try backup(to: path, on: fileSystem, sharesBlocks: sharesBlocks, progress: progress)
        }
        defer { source.close() }
        var report = CopyReport(commitNumber: source.version.commit, bytes: 0)
        let access = try storage { () throws(FileError) in try dataFile.file.access() }
        let isMade = try new.make(access: access) { file throws(StorageError) in
            let backup = try Backup(of: self, source, to: file)
            // Only pages that were not written before the blocks are shared must be copied.
            let unwritten = backup.pages.filter { frames.isUnwritten(page: $0) }
            let isShared = try storage { () throws(FileError) in
                sharesBlocks ? try file.shareBlocks(of: dataFile.file) : false
            }
            try backup.writePages(isShared ? unwritten : backup.pages, progress)
            try backup.writeTables()
            report.bytes = try storage { () throws(FileError) in try file.size() }
        }
        guard isMade else { throw new.taken }
        return report
    }

    /// Writes the changes of the latest commit since a backup to a new file, while readers and the writer continue.
    ///
    /// ``restore(_:applying:to:options:progress:)`` makes a database from the backup and all its incremental backups.
    ///
    /// ```swift
    /// let sunday = try BackupPoint(of: "events-sunday.mako")
    /// try store.backup(to: "events-monday.mako-part", since: sunday)
    /// ```
    ///
    /// - Parameters:
    ///   - path: the path of the new file, which must not exist, on the store's file system.
    ///   - point: the state of an earlier backup or incremental backup.
    ///   - progress: called after every 256 pages and at the end.
    /// - Returns: the commit and the size of the incremental backup.
    /// - Throws: ``StorageError/wrongBase(path:reason:)`` for the backup of another database, of a later state of this
    ///   one, or of another history of it, as far as the log goes back: the database was restored from an earlier state
    ///   and changed since; the errors of ``backup(to:sharesBlocks:progress:)``.
    /// - Complexity: reads all pages in use, and writes those that have changed.
    @discardableResult
    public func backup(
        to path: String, since point: BackupPoint, progress: (CopyProgress) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        if let next = follower?.successor { return try next.backup(to: path, since: point, progress: progress) }
        let new = try NewFile(at: path, on: options.files)
        try new.refuseExisting()
        guard let source = try captureForBackup() else {
            return try backup(to: path, since: point, progress: progress)
        }
        defer { source.close() }
        try check(point, for: source)
        try checkHistory(of: point)
        var report = CopyReport(commitNumber: source.version.commit, bytes: 0)
        let access = try storage { () throws(FileError) in try dataFile.file.access() }
        let isMade = try new.make(access: access) { file throws(StorageError) in
            try writePart(source, to: file, since: point, progress)
            report.bytes = try storage { () throws(FileError) in try file.size() }
        }
        guard isMade else { throw new.taken }
        return report
    }

    /// Writes a backup, or what one lacks of it, into an empty file. All that it holds is durable here, too, when this returns.
    ///
    /// - Returns: what the backup shows, and where the log goes on from it.
    func writeBackup(to file: any File, since base: BackupPoint?) throws(StorageError) -> (BackupPoint, LogPlace) {
        guard let source = try captureForBackup() else { return try latest.writeBackup(to: file, since: base) }
        defer { source.close() }
        if let base {
            try check(base, for: source)
            try writePart(source, to: file, since: base) { _ in }
        } else {
            let backup = try Backup(of: self, source, to: file)
            try backup.writePages(backup.pages) { _ in }
            try backup.writeTables()
        }
        // An asynchronous commit is published before it is durable. A copy elsewhere must not be ahead of this one.
        try flush(.durable)
        return (point(of: source), LogPlace(source.version))
    }

    private func check(_ base: BackupPoint, for source: BackupSource) throws(StorageError) {
        guard base.database == dataFile.header.id else {
            throw .wrongBase(path: path, reason: "the backup is of another database")
        }
        guard base.commit <= source.version.commit, base.basis <= source.basis else {
            throw .wrongBase(path: path, reason: "the backup shows commit \(base.commit), which is newer")
        }
    }

    /// Throws when the log shows that a backup is of another history: the database was restored from an earlier state and changed since.
    ///
    /// Where the log of the commit is gone, a restore finds it by its verification.
    private func checkHistory(of base: BackupPoint) throws(StorageError) {
        let log = LogReader(
            fileSystem: options.files, path: path, database: dataFile.header.id, readOnly: true, required: 0,
            keys: dataFile.keys)
        guard try log.hasOtherCommit(base.commit, than: base.chain) else { return }
        throw .wrongBase(
            path: path,
            reason: """
                its commit \(base.commit) is not the one that the backup shows, because one of the two was restored from an earlier \
                state and then changed; make a full backup, or build on a backup that was made since
                """)
    }

    private func writePart(
        _ source: BackupSource, to file: any File, since base: BackupPoint, _ progress: (CopyProgress) -> Void
    ) throws(StorageError) {
        let part = BackupPart(writing: file, listsPages: frames.codec.isEncrypted)
        let backup = try Backup(of: self, source, to: part, since: base.basis)
        try backup.writePages(backup.pages, progress)
        let filePages = try backup.writeTables()
        try storage { () throws(FileError) in
            try part.finish(base: base, own: point(of: source), filePages: filePages)
        }
    }

    private func point(of source: BackupSource) -> BackupPoint {
        BackupPoint(
            database: dataFile.header.id, commit: source.version.commit, basis: source.basis,
            chain: source.version.log.chain)
    }

    /// Returns the latest commit, durable, with the bitmaps of its pages, which stay as long as the snapshot; nil if a
    /// refresh has handed over to another store meanwhile, to which the snapshot would belong.
    ///
    /// - Parameter label: the label of the snapshot in the statistics.
    func capture(label: String) throws(StorageError) -> (
        snapshot: Snapshot, version: Version, live: [[UInt64]]
    )? {
        try requireOpen()
        let hasFailed = pipeline.hasFailed.load(ordering: .acquiring)
        if !options.readOnly && !hasFailed { try flush(.durable) }
        // Hold the checkpointer's lock, because a commit by checkpoint enters its pages into the bitmaps before it is
        // published.
        return try checkpointer.lock.withLock { () throws(StorageError) in
            try versions.lock.withLock { () throws(StorageError) in
                try takeOwnSnapshot(label).map { ($0, versions.latest, versions.space.live) }
            }
        }
    }
}

extension Store {
    /// The pages of a backup: those of the latest commit and of the last checkpoint.
    ///
    /// A replay of the log allocates and frees other pages than the original commits did: a page of the checkpoint may
    /// be dead in this commit, but live in a later commit after a recovery. So an incremental backup relies on this
    /// backup to have it.
    fileprivate struct BackupSource {
        var snapshot: Snapshot
        var version: Version
        var live: [[UInt64]]
        /// The pages of the commit or of the checkpoint.
        var pages: [[UInt64]]
        /// The point of the checkpoint.
        var basis: UInt64
        var hold: PointHold

        func close() {
            snapshot.close()
            hold.release()
        }
    }

    /// As ``capture(label:)``.
    fileprivate func captureForBackup() throws(StorageError) -> BackupSource? {
        try requireOpen()
        let hasFailed = pipeline.hasFailed.load(ordering: .acquiring)
        if !options.readOnly && !hasFailed { try flush(.durable) }
        return try checkpointer.lock.withLock { () throws(StorageError) in
            let last = checkpointer.last
            var pages: [[UInt64]] = []
            if let follower {
                pages = follower.checkpointPages
            } else {
                for (region, state) in last.regions.enumerated() {
                    pages.append(try dataFile.readBitmap(region: region, state))
                }
            }
            guard let hold = PointHold(last.meta.point, in: snapshots) else {
                throw .invalidArgument("too many snapshots are open")
            }
            do throws(StorageError) {
                let source = try versions.lock.withLock { () throws(StorageError) -> BackupSource? in
                    guard let snapshot = try takeOwnSnapshot("backup") else { return nil }
                    let live = versions.space.live
                    while pages.count < live.count { pages.append(live[pages.count]) }
                    for (region, words) in live.enumerated() {
                        for (index, word) in words.enumerated() { pages[region][index] |= word }
                    }
                    return BackupSource(
                        snapshot: snapshot, version: versions.latest, live: live, pages: pages,
                        basis: last.meta.point, hold: hold)
                }
                if source == nil { hold.release() }
                return source
            } catch {
                hold.release()
                throw error
            }
        }
    }
}

/// Writes a version of a store to a new file, each page at its place.
private struct Backup {
    private let store: Store
    private let source: Store.BackupSource
    private let file: any File
    private let space = SpaceMap()
    private let writeID: UInt64
    /// Pages born before this transaction id are not written.
    private let basis: UInt64
    let pages: [UInt64]
    private static let pagesPerWrite = 64
    private static let pagesPerReport = 256

    init(of store: Store, _ source: Store.BackupSource, to file: any File, since basis: UInt64 = 0) throws(StorageError)
    {
        self.store = store
        self.source = source
        self.file = file
        self.basis = basis
        writeID = try store.takeWriteID()
        space.load(current: source.pages, directory: [], older: nil, olderPoint: 0)
        var pages: [UInt64] = []
        for (region, words) in source.pages.enumerated() {
            for bit in SpaceMap.reserved(region: region)..<SpaceMap.pagesPerRegion
            where words[bit / 64] & 1 << UInt64(bit % 64) != 0 {
                pages.append(SpaceMap.page(region: region, bit: bit))
            }
        }
        self.pages = pages
    }

    // MARK: Pages

    func writePages(_ pages: [UInt64], _ progress: (CopyProgress) -> Void) throws(StorageError) {
        let staging = UnsafeMutableRawBufferPointer.allocate(
            byteCount: (Backup.pagesPerWrite + 1) * pageBytes, alignment: pageBytes)
        defer { staging.deallocate() }
        guard let base = staging.baseAddress else { return }
        let scratch = base + Backup.pagesPerWrite * pageBytes
        var first: UInt64 = 0
        var count = 0
        func write() throws(StorageError) {
            let bytes = UnsafeRawBufferPointer(rebasing: staging[..<(count * pageBytes)])
            try storage { () throws(FileError) in try file.write(bytes, at: first * UInt64(pageBytes)) }
            count = 0
        }
        for (index, page) in pages.enumerated() {
            if count == Backup.pagesPerWrite || count > 0 && page != first + UInt64(count) { try write() }
            if count == 0 { first = page }
            let copy = base + count * pageBytes
            var writeID: UInt64 = 0
            // A suspension ends the snapshot; the page may then be another process's.
            try source.snapshot.whileOpen { () throws(StorageError) in
                writeID = try store.frames.copySealedPage(page, to: copy, scratch: scratch)
            }
            if writeID >= basis { count += 1 } else if count > 0 { try write() }
            if (index + 1) % Backup.pagesPerReport == 0 { progress(CopyProgress(done: index + 1, total: pages.count)) }
        }
        if count > 0 { try write() }
        progress(CopyProgress(done: pages.count, total: pages.count))
    }

    // MARK: Directory, bitmaps, metas, header

    /// Writes the tables, metas and header. Returns the number of pages of the file.
    @discardableResult
    func writeTables() throws(StorageError) -> UInt64 {
        let version = source.version
        let bytes = Directory.encodedBytes(regions: space.regionCount + 1, names: version.names)
        let pageCount = max(1, (bytes + Overflow.payloadBytes - 1) / Overflow.payloadBytes)
        let first = space.allocateRun(pageCount)
        var bitmaps = space.live
        for region in bitmaps.indices {
            bitmaps[region] = region < source.live.count ? source.live[region] : SpaceMap.emptyBitmap(region: region)
        }
        for page in first..<first + UInt64(pageCount) { SpaceMap.set(page, in: &bitmaps[SpaceMap.region(of: page)]) }
        let regions = bitmaps.map { _ in SpaceMap.RegionState(copy: 0, writeID: writeID) }
        let trees = Array(version.treeTable)
        let directory = Directory(regions: regions, trees: trees, names: version.names).encoded()
        let run = Overflow(
            firstPage: first, firstWriteID: writeID, length: directory.count, stored: directory.count,
            isCompressed: false)
        do throws(FileError) {
            try DataFile.write(directory: directory, run, to: file, store.frames.codec)
            for (region, words) in bitmaps.enumerated() {
                try DataFile.write(
                    bitmap: words, region: region, regions[region], to: file, store.frames.codec)
            }
            var header = store.dataFile.lock.withLock { store.dataFile.header }
            // The copy needs no log, and must not reuse the write ids of its pages.
            header.newestSegment = 0
            header.isFollower = false
            header.highWaterMark = max(header.highWaterMark, store.dataFile.highWaterMark.load(ordering: .relaxed))
            var meta = Meta(
                number: 0, commit: version.commit, point: version.point, log: version.log,
                nextTreeID: UInt64(version.nextTreeID), directory: run, regions: UInt64(regions.count),
                plainTrees: Meta.plainTrees(trees))
            meta.basis = source.basis
            try DataFile.writeFixedPages(header, meta, to: file, store.frames.codec)
        } catch { throw StorageError(error) }
        let lastBitmap = SpaceMap.bitmapPage(region: regions.count - 1, copy: 0)
        return max(pages.last ?? 0, lastBitmap, first + UInt64(pageCount) - 1) + 1
    }
}
