/// Reads what is readable of a damaged database into a new one.
///
/// The newest readable checkpoint is authoritative: its trees are read from their roots. Below a lost inner page,
/// leaves are found by searching the file for pages that are in use by the checkpoint's bitmaps and that no tree has
/// reached. If the bitmap is lost too, the newest version of each leaf is used, and the report marks its records as
/// doubtful. Then the log is replayed.
package final class Salvage {
    typealias KeyRange = SalvageReport.KeyRange
    typealias Key = SalvageReport.Key

    let source: DamagedFile
    let target: SalvageTarget
    let progress: (SalvageProgress) -> Void
    var report = SalvageReport()
    var checkpoint = DamagedCheckpoint()
    /// The pages that were reached from roots.
    var reached: PageSet
    /// The trees of the damaged database by their numbers.
    var trees: [UInt32: SourceTree] = [:]
    /// A page for each level of the descent.
    var pages: [SalvagedPage] = []
    /// The page for overflow values.
    let overflowPage = SalvagedPage()

    /// The known state of a tree, and the result of its salvage.
    struct SourceTree {
        /// Nil if the directory does not list it.
        var state: TreeState?
        var kind: KeyKind
        var name: String
        var hasItsName: Bool
        /// The key ranges whose leaves cannot be reached, in ascending order.
        var openRanges: [KeyRange] = []
        var damagedRanges: [KeyRange] = []
        var unreadable: UInt64 = 0
        var unreadableKeys: [Key] = []

        /// The largest number of stored keys, more than the report lists, because the log may have their values.
        static let keyLimit = 10_000

        mutating func noteUnreadable(_ key: Key) {
            unreadable += 1
            if unreadableKeys.count < SourceTree.keyLimit { unreadableKeys.append(key) }
        }

        mutating func noteDamage(_ range: KeyRange, isOpen: Bool) {
            if isOpen { openRanges.append(range) }
            if let last = damagedRanges.last, last.upper != nil, last.upper == range.lower {
                damagedRanges[damagedRanges.count - 1].upper = range.upper
            } else if damagedRanges.count < SalvageReport.listLimit {
                damagedRanges.append(range)
            }
        }

        /// Whether a key is in a range whose leaves cannot be reached.
        func isOpen(_ key: Key) -> Bool {
            var low = 0
            var high = openRanges.count
            while low < high {
                let middle = (low + high) / 2
                if let upper = openRanges[middle].upper, upper <= key { low = middle + 1 } else { high = middle }
            }
            return low < openRanges.count && openRanges[low].contains(key)
        }
    }

    /// Opens the damaged database, and creates the new one under a temporary name.
    package init(
        from damaged: String, to path: String, options: StoreOptions, progress: @escaping (SalvageProgress) -> Void
    ) throws(StorageError) {
        self.progress = progress
        let source = try DamagedFile(
            path: damaged, fileSystem: options.fileSystem, encryption: options.encryption)
        self.source = source
        reached = PageSet(limit: source.pageCount)
        do throws(StorageError) {
            // The new database would lack the bits that keep older programs from writing it.
            try source.header?.checkFeatures(path: source.path, writing: true)
            let access = try storage { () throws(FileError) in try source.file.access() }
            target = try SalvageTarget(path: path, options: options, access: access)
        } catch {
            source.close()
            throw error
        }
    }

    /// The new database, for a caller that must repair it before ``finish()``.
    package var store: Store { target.store }

    /// Reads everything that is readable.
    package func run() throws(StorageError) -> SalvageReport {
        for finding in source.findings { report.note(finding) }
        var finder = CheckpointFinder(source)
        checkpoint = try finder.find { page in reportProgress(.searching, page) }
        for finding in finder.findings { report.note(finding) }
        report.isCertain = finder.isCertain
        report.knowsAllTrees = checkpoint.isListWhole
        report.checkpointCommit = checkpoint.meta?.commit
        if !checkpoint.isListWhole { checkpoint.names.merge(namesInLog()) { known, _ in known } }
        for state in checkpoint.trees { try addTree(state.id, state.kind, state) }
        for state in checkpoint.trees where state.levels > 0 {
            try visit(state.root, level: state.levels - 1, .all, of: state.id)
        }
        try gather()
        try target.flush()
        try replayLog()
        try complete()
        return report
    }

    /// Gives the new database its name.
    package func finish() throws(StorageError) {
        source.close()
        try target.finish()
    }

    /// Removes the new database.
    ///
    /// - Returns: the error to report, which may be more specific than the given one.
    package func abandon(after error: StorageError? = nil) -> StorageError? {
        defer {
            source.close()
            target.abandon()
        }
        return error.map { target.cause(of: $0) }
    }

    func addTree(_ number: UInt32, _ kind: KeyKind, _ state: TreeState? = nil) throws(StorageError) {
        let known = checkpoint.names[number]
        let name = try target.makeTree(number, keys: kind, state?.options ?? [], named: known ?? "tree \(number)")
        trees[number] = SourceTree(state: state, kind: kind, name: name, hasItsName: name == known)
    }

    func reportProgress(_ phase: SalvageProgress.Phase, _ done: UInt64) {
        guard done % 256 == 0 else { return }
        progress(
            SalvageProgress(
                phase: phase, done: done, total: phase == .replaying ? nil : source.pageCount,
                records: target.counts.values.reduce(0) { $0 + $1.recovered }))
    }

    // MARK: The report

    private func complete() throws(StorageError) {
        report.pagesRead = source.pagesRead
        report.damagedPages = source.damaged.count
        // Publish `async` commits first, which may wait for earlier commits.
        try store.flush(.written)
        let view = try store.snapshot()
        var infos: [UInt32: TreeInfo] = [:]
        for info in view.trees { infos[info.tree.id] = info }
        for (number, tree) in target.trees.sorted(by: { $0.key < $1.key }) {
            guard let info = infos[tree.id], info.tree == tree else { continue }
            let count = target.counts[number] ?? .init()
            var entry = SalvageReport.Tree(
                number: number, name: info.name, hasItsName: true, keys: tree.keys, missing: 0)
            entry.records = info.count
            entry.recovered = count.recovered
            entry.doubtful = count.doubtful
            if count.doubtful > 0 { report.isCertain = false }
            if let found = trees[number] {
                // Or the log has renamed it.
                entry.hasItsName = found.hasItsName || info.name != found.name
                var lost: [Key] = []
                for key in found.unreadableKeys where try !isThere(key, tree, view) { lost.append(key) }
                entry.unreadable = found.unreadable - UInt64(found.unreadableKeys.count - lost.count)
                entry.unreadableKeys = Array(lost.prefix(SalvageReport.listLimit))
                entry.damagedRanges = found.damagedRanges
                entry.missing = found.state.map { state in
                    let known = count.recovered + found.unreadable
                    return state.count > known ? state.count - known : 0
                }
            }
            report.trees.append(entry)
        }
    }

    private func isThere(_ key: Key, _ tree: Tree, _ view: Snapshot) throws(StorageError) -> Bool {
        switch key {
        case .integer(let key): try view.get(key, in: tree) != nil
        case .bytes(let key): try view.get(key, in: tree) != nil
        }
    }
}

extension Store {
    /// Reads what is readable of a damaged database, log included, into a new one, and reports the rest.
    ///
    /// Header, metas, directory, bitmaps, pages and log may be damaged: what is lost in one place is found from others
    /// where possible. The damaged files are only read. The new database gets its name when it is complete; it takes
    /// about as much space as the old one. Memory is bounded, except for some bytes per page if the information which
    /// pages are in use is lost.
    ///
    /// ```swift
    /// let report = try Store.salvage(from: "events.mako", to: "events-2.mako")
    /// for tree in report.trees where !tree.isComplete { print(tree.name, tree.unreadable, tree.missing ?? 0) }
    /// ```
    ///
    /// A database with tables and indexes should be salvaged by the layer above, which makes the indexes agree with the
    /// remaining rows.
    ///
    /// - Parameters:
    ///   - damaged: the path of the database file, which must not be open for writing.
    ///   - path: the path of the new file, which must not exist.
    ///   - options: the options of the new database. Their file system and encryption are used for both.
    ///   - progress: called regularly, on the caller's thread.
    /// - Returns: what was recovered and what was lost.
    /// - Throws: ``StorageError/identityLost(path:)`` if the identity of the file is lost,
    ///   ``StorageError/alreadyOpen(path:)``, ``StorageError/notADatabase(path:reason:)``,
    ///   ``StorageError/unsupportedFeatures(path:bits:)`` for a file that this program must not write, too,
    ///   ``StorageError/diskFull(path:)`` and I/O errors of the new file. The new file is removed then.
    /// - Complexity: linear in the size of the file and its log.
    public static func salvage(
        from damaged: String, to path: String, options: StoreOptions = .init(),
        progress: @escaping (SalvageProgress) -> Void = { _ in }
    ) throws(StorageError) -> SalvageReport {
        let salvage = try Salvage(from: damaged, to: path, options: options, progress: progress)
        do throws(StorageError) {
            let report = try salvage.run()
            try salvage.finish()
            return report
        } catch {
            throw salvage.abandon(after: error) ?? error
        }
    }
}
