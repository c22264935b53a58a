/// The result of ``Store/verify(progress:)``.
public struct VerifyReport: Sendable, Hashable {
    /// The damages that were found.
    public internal(set) var findings: [String] = []
    /// The number of pages that were read and checked.
    public internal(set) var pages = 0
    /// The number of entries of all trees.
    public internal(set) var entries: UInt64 = 0
    /// The first read that the system refused. It is one of the findings too.
    public internal(set) var readFailure: FileError?

    /// Whether there are no findings.
    public var isClean: Bool { findings.isEmpty }
}

/// The progress of a verification.
public struct VerifyProgress: Sendable, Hashable {
    /// The number of pages that were read and checked.
    public var done: Int
    /// The number of pages in use at the start.
    public var total: Int
}

extension Store {
    /// Checks the whole store, and reports all inconsistencies.
    ///
    /// Every page must be reached once or be free, never both; keys must be in order and between their parents'
    /// separators; counts must be right; pages in the file must have the right checksum, page id and write id; the copies
    /// of header and metas must agree. Waits for the writer; readers continue.
    ///
    ///     let report = try store.verify { print("\($0.done) of \($0.total) pages") }
    ///     for finding in report.findings { print(finding) }
    ///
    /// - Parameter progress: called after every 256 pages and at the end, on the caller's thread. It must not write to
    ///   the store, refresh, suspend or close it, or change its cache budget, because that would deadlock.
    /// - Returns: the findings.
    /// - Throws: ``StorageError/closed(path:)``, or the error of a file that cannot be read at all. Damage is in the report.
    /// - Complexity: linear in the size of the file.
    public func verify(
        progress: @escaping (VerifyProgress) -> Void = { _ in }
    ) throws(StorageError) -> VerifyReport {
        if let next = follower?.successor { return try next.verify(progress: progress) }
        try takeWriterLock()
        defer { writerLock.release() }
        try requireOpen()
        pipeline.rollBackRefused()
        let hasFailed = pipeline.hasFailed.load(ordering: .acquiring)
        if !options.readOnly && !hasFailed { try flush(.written) }
        let (version, live) = versions.lock.withLock { (versions.latest, versions.space.live) }
        let copies = Verifier.Copies()
        defer {
            copies.deallocate()
            frames.reserve(bytes: 0)
        }
        var verifier = Verifier(
            store: self, copies: copies, regions: live.count,
            total: live.reduce(0) { $0 + $1.reduce(0) { $0 + $1.nonzeroBitCount } }, progress: progress)
        try verifier.checkFixedPages()
        verifier.traverse(version)
        verifier.compare(with: live)
        verifier.reportEnd()
        return verifier.report
    }
}

/// One pass over a version of a store. It works on copies of pages, and no operation spans two pages, so frames can be
/// evicted however large the database is.
private struct Verifier {
    /// Memory for the pages on the path to a leaf, one for each level, for a page of a value and its file format, and
    /// for a key.
    struct Copies {
        private let memory = BufferMemory((Limits.levels + 4) * pageBytes, alignment: pageBytes)

        func page(ofLevel level: Int) -> Page { page(min(level, Limits.levels)) }
        var value: Page { page(Limits.levels + 1) }
        var stored: Page { page(Limits.levels + 2) }

        private func page(_ index: Int) -> Page { Page(memory.start + index * pageBytes) }

        /// Returns the key of an entry of a page with byte keys.
        func key(_ page: Page, _ slot: Int) -> [UInt8] {
            let place = memory.start + (Limits.levels + 3) * pageBytes
            return [UInt8](KeyBytes(start: place, count: ByteNode.copyKey(page.base, slot, to: place)))
        }

        func deallocate() { memory.deallocate() }
    }

    private let store: Store
    private(set) var report = VerifyReport()
    private var reached = PageBitmaps()
    /// The number of regions of the file's bitmaps.
    private let regions: Int
    /// The transaction id of the version that is checked.
    private var point: UInt64 = .max
    private let copies: Copies
    /// The memory that the largest value took while it was read.
    private var valueBytes = 0
    private let total: Int
    private let progress: (VerifyProgress) -> Void
    private static let findingLimit = 100
    private static let pagesPerReport = 256

    init(
        store: Store, copies: Copies, regions: Int, total: Int, progress: @escaping (VerifyProgress) -> Void
    ) {
        self.store = store
        self.copies = copies
        self.regions = regions
        self.total = total
        self.progress = progress
    }

    private mutating func count(_ pages: Int) {
        let before = report.pages / Verifier.pagesPerReport
        report.pages += pages
        if report.pages / Verifier.pagesPerReport != before {
            progress(VerifyProgress(done: min(report.pages, total), total: total))
        }
    }

    /// Reports the end of the pass: pages that no tree reaches were searched too.
    func reportEnd() { progress(VerifyProgress(done: total, total: total)) }

    private mutating func note(_ finding: String) {
        if report.findings.count < Verifier.findingLimit { report.findings.append(finding) }
    }

    private mutating func note(_ error: StorageError) {
        if case .io(let cause) = error, report.readFailure == nil { report.readFailure = cause }
        if case .protected(let path) = error, report.readFailure == nil { report.readFailure = .refusedRead(path) }
        note("\(error)")
    }

    // MARK: Fixed pages

    mutating func checkFixedPages() throws(StorageError) {
        var file = try DataFile.open(store.dataFile.file, .known(store.dataFile.keys))
        _ = try file.readMetas()
        if store.options.readOnly, !file.findings.isEmpty {
            // Read again, because another process may have been writing these pages.
            file = try DataFile.open(store.dataFile.file, .known(store.dataFile.keys))
            _ = try file.readMetas()
        }
        for finding in file.findings { note(finding) }
        if !store.options.readOnly && file.header != store.dataFile.header {
            note("the header block is not the one that was written last")
        }
        if store.options.readOnly { return }
        let lock = store.checkpointer.lock
        lock.lock()
        defer { lock.unlock() }
        try checkCheckpoints()
    }

    /// Checks the checkpoints in the file that recovery may have to use. No other checkpoint is written meanwhile.
    private mutating func checkCheckpoints() throws(StorageError) {
        if store.checkpointer.isRunning { return }
        let file = try DataFile.open(store.dataFile.file, .known(store.dataFile.keys))
        let metas = try file.readMetas()
        if metas.count > 2 { note("the copies of a meta slot are not the same") }
        if metas.first != store.checkpointer.last.meta { note("the newest meta is not the one that was written last") }
        for meta in metas.prefix(2) {
            do throws(StorageError) {
                let (directory, _) = try Opening.readDirectory(file, meta)
                _ = try Opening.readBitmaps(file, directory)
            } catch { note(error) }
        }
    }

    // MARK: Trees

    mutating func traverse(_ version: Version) {
        point = version.point
        for index in 0..<version.treeCount {
            let tree = version.trees[index]
            let name = version.names.name(of: tree.id) ?? "number \(tree.id)"
            var counted: UInt64 = 0
            if tree.levels > 0 {
                switch tree.kind {
                case .integer: counted = traverseIntegers(tree, tree.root, tree.levels - 1, 0, .max)
                case .bytes: counted = traverseBytes(tree, tree.root, tree.levels - 1, [], nil)
                }
            }
            if counted != tree.count { note("tree \(name) says it has \(tree.count) entries, but has \(counted)") }
            report.entries += counted
        }
    }

    /// Notes that a page is in use.
    ///
    /// - Returns: false if it was in use already.
    private mutating func reach(_ page: UInt64) -> Bool {
        // A damaged entry may name any page.
        if SpaceMap.region(of: page) >= regions {
            note("page \(page) is in use, but marked as free")
        } else if reached.contains(page) {
            note("page \(page) is reached twice")
            return false
        } else {
            reached.insert(page)
        }
        return true
    }

    /// Returns a copy of a page, compared with the file. Returns nil if it cannot be used.
    private mutating func visit(_ reference: PageReference, _ type: PageType, _ level: Int, _ tree: UInt32) -> Page? {
        guard reach(reference.page) else { return nil }
        count(1)
        do throws(StorageError) {
            let page = type == .overflow ? copies.value : copies.page(ofLevel: level)
            try copy(reference, type, level, to: page)
            if page.writeID >= point {
                note("page \(reference.page) is younger than the commit that refers to it")
            }
            if page.tree != tree {
                note("page \(reference.page) belongs to tree \(page.tree), not \(tree)")
            }
            try PageCheck.validate(page.base)
            return page
        } catch {
            note(error)
            return nil
        }
    }

    private mutating func copy(
        _ reference: PageReference, _ type: PageType, _ level: Int, to copy: Page
    ) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let page =
            level == 0
            ? try store.frames.peek(reference, type: type, scratch: copy)
            : try store.frames.resolve(reference, type: type, level: level)
        // The page was just read from the file.
        if page.base == copy.base { return }
        copy.base.copyMemory(from: page.base, byteCount: pageBytes)
        if store.frames.dirtyFrame(page: reference.page) != nil { return }
        try store.frames.readPage(reference.page, into: copies.stored.base)
        if copies.stored.writeID != copy.writeID {
            note("page \(reference.page) on disk is not the one in memory")
        }
    }

    private mutating func traverseIntegers(
        _ tree: TreeState, _ reference: PageReference, _ level: Int, _ low: UInt64, _ high: UInt64
    ) -> UInt64 {
        guard let page = visit(reference, level > 0 ? .integerInner : .integerLeaf, level, tree.id) else { return 0 }
        let count = page.count
        let keys = (0..<count).map { IntegerNode.keys(page.base)[$0] }
        let first = level > 0 ? 1 : 0
        for slot in first..<max(first, count) {
            // A separator equal to the lower bound would leave no keys for the child before it.
            if keys[slot] < low || keys[slot] > high || level > 0 && keys[slot] == low {
                note("page \(reference.page): key \(keys[slot]) lies outside its bounds")
            }
            if slot > first && keys[slot] <= keys[slot - 1] {
                note("page \(reference.page): keys do not ascend at \(slot)")
            }
        }
        guard level > 0 else {
            for slot in 0..<count { visitOverflow(IntegerNode.record(page.base, slot), tree) }
            if count == 0 { note("page \(reference.page) is an empty leaf") }
            return UInt64(count)
        }
        var entries: UInt64 = 0
        for slot in 0..<count {
            let below = traverseIntegers(
                tree, IntegerLayout.child(page, at: slot), level - 1, slot == 0 ? low : keys[slot],
                slot + 1 < count ? keys[slot + 1] &- 1 : high)
            checkCount(IntegerLayout.self, tree, page, slot, below)
            entries += below
        }
        return entries
    }

    private mutating func traverseBytes(
        _ tree: TreeState, _ reference: PageReference, _ level: Int, _ low: [UInt8], _ high: [UInt8]?
    ) -> UInt64 {
        guard let page = visit(reference, level > 0 ? .byteInner : .byteLeaf, level, tree.id) else { return 0 }
        if [UInt8](ByteNode.lower(page.base)) != low {
            note("page \(reference.page): its lower fence is not its separator")
        }
        if ByteNode.upper(page.base).map({ [UInt8]($0) }) != high {
            note("page \(reference.page): its upper fence is not the next separator")
        }
        let count = page.count
        let keys = (0..<count).map { copies.key(page, $0) }
        let first = level > 0 ? 1 : 0
        for slot in first..<max(first, count) {
            if keys[slot].lexicographicallyPrecedes(low)
                || high.map({ !keys[slot].lexicographicallyPrecedes($0) }) ?? false || level > 0 && keys[slot] == low
            {
                note("page \(reference.page): entry \(slot) lies outside its fences")
            }
            if slot > first && !keys[slot - 1].lexicographicallyPrecedes(keys[slot]) {
                note("page \(reference.page): keys do not ascend at \(slot)")
            }
            let suffix = ByteNode.suffix(page.base, slot, count: count)
            if ByteNode.heads(page.base)[slot] != ByteNode.head(suffix) {
                note("page \(reference.page): head \(slot) is not that of its key")
            }
        }
        guard level > 0 else {
            for slot in 0..<count { visitOverflow(ByteNode.record(page.base, slot), tree) }
            return UInt64(count)
        }
        var entries: UInt64 = 0
        for slot in 0..<count {
            let below = traverseBytes(
                tree, ByteNode.child(page.base, slot), level - 1, slot == 0 ? low : keys[slot],
                slot + 1 < count ? keys[slot + 1] : high)
            checkCount(ByteLayout.self, tree, page, slot, below)
            entries += below
        }
        return entries
    }

    /// Checks the count of a child in an inner node against the entries found.
    private mutating func checkCount<Layout: NodeLayout>(
        _ layout: Layout.Type, _ tree: TreeState, _ page: Page, _ slot: Int, _ found: UInt64
    ) {
        guard Layout.hasCounts(page) == tree.isCounted else {
            if slot == 0 {
                note("page \(page.number) has \(tree.isCounted ? "no " : "")counts, other than its tree")
            }
            return
        }
        if tree.isCounted, Layout.count(page, at: slot) != found {
            note(
                "page \(page.number): \(found) entries are below child \(slot), not \(Layout.count(page, at: slot))"
            )
        }
    }

    private mutating func visitOverflow(_ record: RecordView, _ tree: TreeState) {
        guard record.isOverflow else { return }
        if !tree.mayHoldLargeValues { note("tree \(tree.id) has a large value though it is said to have none") }
        let tree = tree.id
        guard let overflow = Overflow(record) else {
            note("an entry of tree \(tree) describes an impossible overflow value")
            return
        }
        do throws(StorageError) {
            if overflow.isList || overflow.stored >= Limits.directBytes {
                try visitRuns(of: overflow, tree)
            } else {
                for index in 0..<overflow.pageCount { _ = visit(overflow.reference(at: index), .overflow, 0, tree) }
                try read(overflow)
            }
        } catch { note(error) }
    }

    /// Checks a value that bypasses the page cache.
    private mutating func visitRuns(of overflow: Overflow, _ tree: UInt32) throws(StorageError) {
        if overflow.isList {
            for index in 0..<overflow.pageCount { _ = visit(overflow.reference(at: index), .overflow, 0, tree) }
        }
        let value = try runs(of: overflow)
        for run in value.runs {
            for page in run.pages { _ = reach(page) }
            count(run.count)
        }
        let isWhole = try ExtentReader(value, of: store.frames).checkDigest()
        if overflow.isList && !isWhole {
            note("the value on page \(value.runs[0].page) and others is not the one that was written")
        }
        if overflow.isCompressed { try read(overflow) }
    }

    private mutating func read(_ overflow: Overflow) throws(StorageError) {
        makeRoom(forBytes: overflow.stored + (overflow.isCompressed ? overflow.length : 0))
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        _ = try overflow.read(from: store.frames)
    }

    /// Takes the memory of a value off the budget until the end of the verification, because the allocator may keep it.
    private mutating func makeRoom(forBytes bytes: Int) {
        guard bytes > valueBytes else { return }
        valueBytes = bytes
        store.frames.reserve(bytes: bytes)
        store.frames.evictToBudget()
    }

    private func runs(of overflow: Overflow) throws(StorageError) -> ValueExtents {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        return try overflow.runs(from: store.frames)
    }

    // MARK: Space

    /// Checks that the bitmap of live pages has the pages reached and the fixed pages.
    mutating func compare(with live: [[UInt64]]) {
        var unreached = 0
        for (region, words) in live.enumerated() {
            let reserved = SpaceMap.reserved(region: region)
            for (index, word) in words.enumerated() {
                var rest = word
                while rest != 0 {
                    let bit = index * 64 + rest.trailingZeroBitCount
                    rest &= rest - 1
                    if bit < reserved || bit >= SpaceMap.pagesPerRegion { continue }
                    let page = SpaceMap.page(region: region, bit: bit)
                    if !reached.remove(page) {
                        unreached += 1
                        if unreached <= 10 { note("page \(page) is marked as used, but nothing refers to it") }
                    }
                }
            }
        }
        for page in reached.first(10, from: 0) { note("page \(page) is in use, but marked as free") }
    }
}
