/// How far a copy of a store has come.
public struct CopyProgress: Sendable, Hashable {
    /// What is copied: pages of a backup, entries of a compacted copy.
    public var done: Int
    public var total: Int
}

/// What a copy holds.
public struct CopyReport: Sendable, Hashable {
    /// The commit that the copy shows.
    public var commitNumber: UInt64
    /// The size of the new file, in bytes.
    public var bytes: UInt64
}

extension Store {
    /// Copies the latest commit into a new file, page by page, while readers and the writer go on.
    ///
    /// Each page is checked on its way, so that no damage is copied in silence. The file is a database of its own, needs no log, and
    /// appears under its name only when it is whole and durable. Pages keep their places: free ones become holes where the file system
    /// has them. ``copy(to:progress:)`` makes the smallest file instead.
    ///
    /// ```swift
    /// try store.backup(to: "events-2026-11-21.mako") { print("\($0.done) of \($0.total) pages") }
    /// ```
    ///
    /// - Parameters:
    ///   - path: where nothing must be yet, on the store's own file system.
    ///   - progress: called after every 256 pages and at the end.
    /// - Throws: ``StorageError/corrupted(page:reason:)`` for a damaged page, ``StorageError/diskFull(path:)`` and I/O errors; no file is
    ///   left then.
    /// - Complexity: linear in the pages in use.
    @discardableResult
    public func backup(to path: String, progress: (CopyProgress) -> Void = { _ in }) throws(StorageError) -> CopyReport
    {
        if let next = follower?.successor { return try next.backup(to: path, progress: progress) }
        let new = NewFile(fileSystem: options.fileSystem, path: path)
        try new.refuseExisting()
        let source = try capture()
        defer { source.snapshot.close() }
        var report = CopyReport(commitNumber: source.version.commit, bytes: 0)
        try new.make { file throws(StorageError) in
            let backup = try Backup(of: self, source.version, live: source.live, to: file)
            try backup.writePages(progress)
            try backup.writeTables()
            report.bytes = try storage { () throws(FileError) in try file.size() }
        }
        return report
    }

    /// The latest commit, made durable, with the map of its pages, which stay as long as the snapshot.
    func capture() throws(StorageError) -> (
        snapshot: Snapshot, version: Version, live: [[UInt64]]
    ) {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        let isLatched = commitLock.withLock { latch != nil }
        if !options.readOnly && !isLatched { try flush(synced: true) }
        // A commit by checkpoint enters its pages into the map before it is published.
        return try checkpointer.lock.withLock { () throws(StorageError) in
            try spaceLock.withLock { () throws(StorageError) in
                (try takeSnapshot(hasAge: false, "backup"), versions[versions.count - 1], space.live)
            }
        }
    }
}

/// Writes a version of a store into a file of its own, each page in its place.
private struct Backup {
    private let store: Store
    private let version: Version
    private let file: any File
    private let space = SpaceMap()
    private let live: [[UInt64]]
    private let serial: UInt64
    private static let pagesPerWrite = 64
    private static let pagesPerReport = 256

    init(of store: Store, _ version: Version, live: [[UInt64]], to file: any File) throws(StorageError) {
        self.store = store
        self.version = version
        self.live = live
        self.file = file
        serial = try store.takeSerial()
        space.load(current: live, directory: [], older: nil, olderPoint: 0)
    }

    // MARK: Pages

    func writePages(_ progress: (CopyProgress) -> Void) throws(StorageError) {
        let pages = livePages()
        let staging = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Backup.pagesPerWrite * pageBytes, alignment: pageBytes)
        defer { staging.deallocate() }
        var start = 0
        var told = 0
        while start < pages.count {
            var end = start
            while end < pages.count, end - start < Backup.pagesPerWrite,
                pages[end] == pages[start] + UInt64(end - start)
            {
                if let base = staging.baseAddress {
                    try store.frames.copyPage(pages[end], to: base + (end - start) * pageBytes)
                }
                end += 1
            }
            let bytes = UnsafeRawBufferPointer(rebasing: staging[..<((end - start) * pageBytes)])
            try storage { () throws(FileError) in try file.write(bytes, at: pages[start] * UInt64(pageBytes)) }
            start = end
            if start - told >= Backup.pagesPerReport || start == pages.count {
                told = start
                progress(CopyProgress(done: start, total: pages.count))
            }
        }
    }

    private func livePages() -> [UInt64] {
        var pages: [UInt64] = []
        for (region, words) in live.enumerated() {
            for bit in SpaceMap.reserved(region: region)..<SpaceMap.pagesPerRegion
            where words[bit / 64] & 1 << UInt64(bit % 64) != 0 {
                pages.append(UInt64(region * SpaceMap.pagesPerRegion + bit))
            }
        }
        return pages
    }

    // MARK: Directory, bitmaps, metas, header

    func writeTables() throws(StorageError) {
        let bytes = Directory.encodedBytes(regions: space.regionCount + 1, names: version.names)
        let pageCount = max(1, (bytes + Overflow.payloadBytes - 1) / Overflow.payloadBytes)
        let first = space.allocateRun(pageCount)
        var bitmaps = space.live
        for page in first..<first + UInt64(pageCount) { SpaceMap.set(page, in: &bitmaps[SpaceMap.region(of: page)]) }
        let regions = bitmaps.map { _ in SpaceMap.RegionState(copy: 0, serial: serial) }
        let trees = Array(UnsafeBufferPointer(start: version.trees, count: version.treeCount))
        let directory = Directory(regions: regions, trees: trees, names: version.names).encoded()
        let run = Overflow(
            firstPage: first, firstSerial: serial, length: directory.count, stored: directory.count,
            isCompressed: false)
        do throws(FileError) {
            try DataFile.write(directory: directory, run, to: file, seed: store.frames.seed)
            for (region, words) in bitmaps.enumerated() {
                try DataFile.write(
                    bitmap: words, region: region, regions[region], to: file, seed: store.frames.seed)
            }
            var header = store.headerLock.withLock { store.dataFile.header }
            // Reading on from here needs no log, and takes no serial that the copy holds.
            header.newestSegment = 0
            header.ceiling = max(header.ceiling, store.ceiling.load(ordering: .relaxed))
            let meta = Meta(
                number: 0, commit: version.commit, point: version.point, log: version.log,
                nextTreeID: UInt64(version.nextTreeID), directory: run, regions: UInt64(regions.count),
                plainTrees: Meta.plainTrees(trees))
            try DataFile.writeFixedPages(header, meta, to: file)
        } catch { throw StorageError(error) }
    }
}
