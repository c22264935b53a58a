/// Reads what can be read of a damaged database into a new one.
///
/// The newest checkpoint that can be read is the truth: its trees are walked from their roots. Where an inner page is lost, the leaves
/// below are found by looking through the file for pages that the checkpoint's bitmaps call used and no walk has met. Where the bitmap
/// is lost as well, the newest version of each leaf is taken, and the report says that this is doubtful. Then the log is made again.
package final class Salvage {
    typealias KeyRange = SalvageReport.KeyRange
    typealias Key = SalvageReport.Key

    let source: DamagedFile
    let target: SalvageTarget
    let progress: (SalvageProgress) -> Void
    var report = SalvageReport()
    var checkpoint = DamagedCheckpoint()
    /// Pages that walks have met.
    var reached: PageSet
    /// The damaged database's trees, by their numbers.
    var trees: [UInt32: SourceTree] = [:]
    /// A page for each level of the walk.
    var pages: [SalvagedPage] = []
    /// For the pages of overflow values.
    let overflowPage = SalvagedPage()

    /// A tree as far as it is known, and what happened to it.
    struct SourceTree {
        /// Nil when the directory does not list it.
        var state: TreeState?
        var kind: KeyKind
        var name: String
        var hasItsName: Bool
        /// Where leaves cannot be reached, ascending.
        var openRanges: [KeyRange] = []
        var damagedRanges: [KeyRange] = []
        var unreadable: UInt64 = 0
        var unreadableKeys: [Key] = []

        /// More than the report lists: the log may have the value of such a key.
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

        /// Whether a key lies where leaves cannot be reached.
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

    /// Opens the damaged database, and makes the new one under a name of its own.
    package init(
        from damaged: String, to path: String, options: StoreOptions, progress: @escaping (SalvageProgress) -> Void
    ) throws(StorageError) {
        self.progress = progress
        let source = try DamagedFile(
            path: damaged, fileSystem: options.fileSystem, encryption: options.encryption)
        self.source = source
        reached = PageSet(limit: source.pageCount)
        do throws(StorageError) {
            let access = try storage { () throws(FileError) in try source.file.access() }
            target = try SalvageTarget(path: path, options: options, access: access)
        } catch {
            source.close()
            throw error
        }
    }

    /// The new database, for whoever has to put what was salvaged in order before ``finish()``.
    package var store: Store { target.store }

    /// Reads everything that can be read.
    package func run() throws(StorageError) -> SalvageReport {
        for finding in source.findings { report.note(finding) }
        var finder = CheckpointFinder(source)
        checkpoint = try finder.find { page in tell(.searching, page) }
        for finding in finder.findings { report.note(finding) }
        report.isCertain = finder.isCertain
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

    /// Gives up; nothing stays under the new name.
    ///
    /// - Returns: the error to tell, which may say more than the one that was met.
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

    func tell(_ phase: SalvageProgress.Phase, _ done: UInt64) {
        guard done % 256 == 0 else { return }
        progress(
            SalvageProgress(
                phase: phase, done: done, total: phase == .replaying ? nil : source.pageCount,
                records: target.tallies.values.reduce(0) { $0 + $1.recovered }))
    }

    // MARK: The report

    private func complete() throws(StorageError) {
        report.pagesRead = source.pagesRead
        report.damagedPages = source.damaged.count
        // Commits that wait for nothing may not be visible yet, when those before them are on their way to the device.
        try store.flush(.written)
        let view = try store.snapshot()
        var infos: [UInt32: TreeInfo] = [:]
        for info in view.trees { infos[info.tree.id] = info }
        for (number, tree) in target.trees.sorted(by: { $0.key < $1.key }) {
            guard let info = infos[tree.id], info.tree == tree else { continue }
            let tally = target.tallies[number] ?? .init()
            var entry = SalvageReport.Tree(
                number: number, name: info.name, hasItsName: true, keys: tree.keys, missing: 0)
            entry.records = info.count
            entry.recovered = tally.recovered
            entry.doubtful = tally.doubtful
            if tally.doubtful > 0 { report.isCertain = false }
            if let found = trees[number] {
                // Or the log gave it another.
                entry.hasItsName = found.hasItsName || info.name != found.name
                var lost: [Key] = []
                for key in found.unreadableKeys where try !isThere(key, tree, view) { lost.append(key) }
                entry.unreadable = found.unreadable - UInt64(found.unreadableKeys.count - lost.count)
                entry.unreadableKeys = Array(lost.prefix(SalvageReport.listLimit))
                entry.damagedRanges = found.damagedRanges
                entry.missing = found.state.map { state in
                    let known = tally.recovered + found.unreadable
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
    /// Reads what can be read of a damaged database, log included, into a new one, and reports the rest.
    ///
    /// Whatever is damaged, header, metas, directory, bitmaps, pages or log: what can be reached without it is found another way. The
    /// damaged files are only read. The new database appears under its name when it is whole; it needs about as much space as the
    /// old one. Memory stays bounded, but for some bytes a page where what tells the pages in use from old ones is lost.
    ///
    /// ```swift
    /// let report = try Store.salvage(from: "events.mako", to: "events-2.mako")
    /// for tree in report.trees where !tree.isComplete { print(tree.name, tree.unreadable, tree.missing ?? 0) }
    /// ```
    ///
    /// A database with tables and indexes in it should be salvaged by the layer that knows them, so that the indexes agree
    /// with what is left of the rows.
    ///
    /// - Parameters:
    ///   - damaged: the database file; nobody may have it open for writing.
    ///   - path: where the new one goes. There must be nothing.
    ///   - options: for the new database; its file system is that of both, and what an encrypted one opens with.
    ///   - progress: called now and then, on the caller's thread.
    /// - Throws: ``StorageError/identityLost(path:)`` when nothing tells whose file it is, ``StorageError/alreadyOpen(path:)``,
    ///   ``StorageError/notADatabase(path:reason:)``, ``StorageError/diskFull(path:)`` and I/O errors of the new file. Nothing is
    ///   left under the new name then.
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
