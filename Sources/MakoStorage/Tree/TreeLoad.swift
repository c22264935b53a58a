/// Bulk load: appends ascending entries to a tree, leaf by leaf; each leaf is written once and never split.
///
/// The path stays at the last leaf. Until the load ends this leaf is not a regular last leaf of its level, so no other
/// change to the transaction's trees is allowed: all other operations fail meanwhile.
extension Writer {
    /// The state that a load must find unchanged.
    struct LoadState {
        fileprivate var index: Int
        fileprivate var floor: UInt64
    }

    /// Descends to the end of a tree. The transaction is not logged from here on; it is committed by checkpoint.
    func beginLoad(of tree: Tree) throws(StorageError) -> LoadState {
        try check()
        let index = try index(of: tree)
        switch tree.keys {
        case .integer: try beginLoad(IntegerLayout.self, index)
        case .bytes: try beginLoad(ByteLayout.self, index)
        }
        stopRecording()
        beginLoading(index)
        return LoadState(index: index, floor: floor)
    }

    private func beginLoad<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        try applyBufferedPuts()
        // The load spills inside an operation, where no leaves are packed.
        if !hasSpilled { try packLeaves() }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        do throws(StorageError) { try descend(layout, index, Layout.highest) } catch { throw fail(error) }
    }

    /// Appends a value after all entries.
    @inline(__always)
    func append<Layout: NodeLayout>(
        _ layout: Layout.Type, _ load: LoadState, _ key: Layout.Key, _ value: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try check(layout, load, key)
        guard value.count <= Limits.valueBytes else {
            throw .valueTooLarge(bytes: value.count, limit: Limits.valueBytes)
        }
        guard value.count + Layout.keyBytes(key) + 10 > Limits.inlineRecordBytes else {
            let bytes = value.baseAddress ?? UnsafeRawPointer(scratch.key)
            return try append(
                layout, load.index, key, RecordView(bytes: bytes, count: value.count, isOverflow: false))
        }
        do throws(StorageError) {
            try append(layout, load, key, writeLarge(value, tree: trees[load.index].id))
        } catch { throw fail(error) }
    }

    /// Appends a value whose pages were written, after all entries.
    func append<Layout: NodeLayout>(_ layout: Layout.Type, _ load: LoadState, _ key: Layout.Key, _ pages: ExtentWriter)
        throws(StorageError)
    {
        try check(layout, load, key)
        do throws(StorageError) {
            try append(layout, load, key, descriptor(of: pages, tree: trees[load.index].id))
        } catch { throw fail(error) }
    }

    private func append<Layout: NodeLayout>(
        _ layout: Layout.Type, _ load: LoadState, _ key: Layout.Key, _ overflow: Overflow
    ) throws(StorageError) {
        trees[load.index].mayHoldLargeValues = true
        try withUnsafeTemporaryAllocation(byteCount: Overflow.descriptorBytes, alignment: 8) { memory in
            result { () throws(StorageError) in
                guard let bytes = memory.baseAddress else { return }
                overflow.write(to: bytes)
                let record = RecordView(bytes: bytes, count: Overflow.descriptorBytes, isOverflow: true)
                try append(layout, load.index, key, record)
            }
        }.get()
    }

    /// Checks that the load may continue with a key.
    @inline(__always)
    func check<Layout: NodeLayout>(_ layout: Layout.Type, _ load: LoadState, _ key: Layout.Key) throws(StorageError) {
        try check(load)
        guard Layout.isBehind(path[0].page, key) else {
            throw .invalidArgument("a bulk load takes ascending keys, each behind all that the tree has")
        }
    }

    @inline(__always)
    private func check(_ load: LoadState) throws(StorageError) {
        // A savepoint seals the loaded pages, and a rollback removes them.
        guard floor == load.floor, failure == Writer.loading else { throw brokenLoad() }
    }

    private func brokenLoad() -> StorageError {
        if let failure, failure != Writer.loading { return failure }
        return fail(.invalidArgument("a savepoint was made or gone back to while a tree was loaded in bulk"))
    }

    @inline(__always)
    private func append<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView
    ) throws(StorageError) {
        if !Layout.append(path[0].page, key, value, scratch: scratch.page) {
            do throws(StorageError) {
                try beginLeaf(layout, index, key)
                guard Layout.append(path[0].page, key, value, scratch: scratch.page) else {
                    throw .corrupted(page: path[0].page.number, reason: "an empty leaf has no room for an entry")
                }
            } catch { throw fail(error) }
        }
        trees[index].count &+= 1
    }

    /// Closes the last leaf and appends an empty one.
    @inline(never)
    private func beginLeaf<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key)
        throws(StorageError)
    {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        var separator = Layout.close(path[0].page, before: key, scratch: scratch)
        while separator == nil {
            try divideLast(layout, index)
            separator = Layout.close(path[0].page, before: key, scratch: scratch)
        }
        guard let separator else { return }
        noteFinishedLeaf()
        // A closed leaf does not change again, so it may be spilled; the path to the end of the tree must be copied
        // afterwards.
        try spillIfNeeded()
        if trees[index].levels > 1, !isEditable(path[1].page) {
            try ownLastInnerNodes(layout, index)
        }
        let leaf = try allocate(Layout.leafType, level: 0, tree: trees[index].id)
        Layout.formatLeaf(leaf, lower: separator)
        try enterLast(layout, index, leaf, separator)
    }

    /// Splits the last leaf if its entries would not fit between its final fences.
    private func divideLast<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        let leaf = path[0].page
        guard leaf.count > 1,
            let cut = Layout.cut(leaf, incoming: 0, Layout.lowest, ascending: false)
        else {
            throw .corrupted(page: leaf.number, reason: "its entries cannot be divided between two pages")
        }
        let right = try allocate(Layout.leafType, level: 0, tree: trees[index].id)
        let separator = Layout.split(leaf, at: cut, into: right, incoming: Layout.lowest, scratch: scratch)
        try enterLast(layout, index, right, separator)
    }

    /// Inserts a leaf in its parent as the last of its level, and sets the path to it.
    private func enterLast<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ leaf: Page, _ separator: Layout.Key
    ) throws(StorageError) {
        if trees[index].levels == 1 { try growRoot(layout, index) }
        while !Layout.childFits(path[1].page, separator) {
            try split(layout, index, level: 1, incoming: separator, slot: path[1].slot + 1, ascending: true)
        }
        Layout.insertChild(
            path[1].page, at: path[1].slot + 1, separator, leaf.reference, scratch: scratch.page)
        forgetCount(layout, path[1].page, path[1].slot)
        path[1].slot += 1
        path[0] = PathStep(page: leaf, slot: 0)
        if trees[index].isCounted { forgetCounts(layout, index) }
    }

    /// Copies the inner nodes above the last leaf again if they were spilled.
    private func ownLastInnerNodes<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        var reference = trees[index].root
        for level in (1..<trees[index].levels).reversed() {
            let page = try own(
                layout, index, level, frames.resolve(reference, type: Layout.innerType, level: level))
            let slot = page.count - 1
            path[level] = PathStep(page: page, slot: slot)
            reference = Layout.child(page, at: slot)
        }
    }

    /// Makes the last leaf a regular last leaf of its level. The transaction continues.
    func endLoad(_ load: LoadState, of tree: Tree) throws(StorageError) {
        try check(load)
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        do throws(StorageError) {
            switch tree.keys {
            case .integer: try closeLast(IntegerLayout.self, load.index)
            case .bytes: try closeLast(ByteLayout.self, load.index)
            }
        } catch { throw fail(error) }
        endLoading()
    }

    private func closeLast<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        while !Layout.closeLast(path[0].page, scratch: scratch) { try divideLast(layout, index) }
    }
}
