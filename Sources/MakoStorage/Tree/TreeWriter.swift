import CPlatform

/// Changes to trees, generic over the node layout.
extension Writer {
    enum PutMode {
        case replace
        /// Keep an entry that exists.
        case insertOnly
    }

    /// The recent puts to a tree.
    struct PutStreak {
        /// The number of consecutive puts that missed the hint.
        var misses: Int32 = 0
        /// The number of buffered puts that are not in the tree yet.
        var waiting: Int32 = 0
        /// Whether leaves were split, or left sparse, without rebalancing.
        var packsLater = false
    }

    // MARK: Put

    /// Puts a value. Returns false if the key exists and the mode is `insertOnly`.
    func put<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: UnsafeRawBufferPointer, _ mode: PutMode
    ) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        if value.count + Layout.keyBytes(key) + 10 <= Limits.inlineRecordBytes {
            let bytes = value.baseAddress ?? UnsafeRawPointer(scratch.key)
            return try put(
                layout, index, key, RecordView(bytes: bytes, count: value.count, isOverflow: false), mode)
        }
        try applyBufferedPuts(of: index)
        if mode == .insertOnly, try frames.find(layout, trees[index], key) != nil { return false }
        let overflow: Overflow
        do throws(StorageError) { overflow = try writeOverflow(value, tree: trees[index].id) } catch {
            throw fail(error)
        }
        try enter(layout, index, key, overflow)
        return true
    }

    /// Puts the descriptor of a value that has pages of its own.
    func enter<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ overflow: Overflow)
        throws(StorageError)
    {
        trees[index].mayHoldLargeValues = true
        try withUnsafeTemporaryAllocation(byteCount: Overflow.descriptorBytes, alignment: 8) { memory in
            result { () throws(StorageError) in
                guard let descriptor = memory.baseAddress else { return }
                overflow.write(to: descriptor)
                try enter(
                    layout, index, key,
                    RecordView(bytes: descriptor, count: Overflow.descriptorBytes, isOverflow: true))
            }
        }.get()
    }

    @inline(__always)
    private func put<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView, _ mode: PutMode
    ) throws(StorageError) -> Bool {
        if streaks[index].waiting > 0 {
            if mode == .replace {
                try collect(layout, index, key, value)
                return true
            }
            try applyBufferedPuts()
        }
        if let leaf = Layout.hinted(hints + index, key) {
            let (slot, found) = Layout.find(leaf, key)
            if found {
                if mode == .insertOnly { return false }
                if try replace(layout, leaf, slot, value) {
                    streaks[index].misses = 0
                    return true
                }
            } else if Layout.fits(leaf, key, valueBytes: value.count) {
                Layout.insert(leaf, at: slot, key, value, scratch: scratch.page)
                hints[index].slot = slot
                trees[index].count &+= 1
                streaks[index].misses = 0
                return true
            }
        }
        streaks[index].misses &+= 1
        if mode == .replace && streaks[index].misses > WriteBuffer.patience && trees[index].levels > 1 {
            try collect(layout, index, key, value)
            return true
        }
        return try putSlow(layout, index, key, value, mode)
    }

    /// Puts a value without buffering it.
    @inline(__always)
    func enter<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView)
        throws(StorageError)
    {
        _ = try putSlow(layout, index, key, value, .replace)
    }

    @inline(never)
    private func putSlow<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ value: RecordView, _ mode: PutMode
    ) throws(StorageError) -> Bool {
        let previous = hints[index]
        if mode == .insertOnly, try frames.find(layout, trees[index], key) != nil { return false }
        do throws(StorageError) {
            try descend(layout, index, key)
            var (slot, found) = Layout.find(path[0].page, key)
            if found {
                if try replace(layout, path[0].page, slot, value) {
                    Layout.setHint(hints + index, path, levels: trees[index].levels, slot: slot)
                    return true
                }
                // The new value does not fit the page: remove the entry and insert it again.
                Layout.remove(path[0].page, at: slot)
                trees[index].count &-= 1
            }
            let isAscending =
                previous.page?.base == path[0].page.base && previous.slot == slot - 1 || isRightmost(index)
            while !Layout.fits(path[0].page, key, valueBytes: value.count) {
                let ascending = isAscending && slot == path[0].page.count
                if ascending {
                    noteFinishedLeaf()
                    try split(layout, index, level: 0, incoming: key, slot: slot, ascending: true)
                } else {
                    try makeRoom(layout, index, key, slot, valueBytes: value.count)
                }
                slot = Layout.find(path[0].page, key).slot
            }
            Layout.insert(path[0].page, at: slot, key, value, scratch: scratch.page)
            trees[index].count &+= 1
            Layout.setHint(hints + index, path, levels: trees[index].levels, slot: slot)
            return true
        } catch { throw fail(error) }
    }

    /// Makes space in the path's leaf, which is full, by rebalancing or by a split.
    private func makeRoom<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ key: Layout.Key, _ slot: Int, valueBytes: Int
    ) throws(StorageError) {
        let needed = Layout.keyBytes(key) + valueBytes + 10
        // Do not rebalance for large entries: it would copy four leaves for nearly each of them and hardly move one.
        let isLater = sharesLater(layout, index) || needed > Layout.leafRoom / 8
        if !isLater, try spread(layout, index, needed: needed) {
            try descend(layout, index, key)
            if Layout.fits(path[0].page, key, valueBytes: valueBytes) { return }
        }
        try split(
            layout, index, level: 0, incoming: key, slot: Layout.find(path[0].page, key).slot, ascending: false)
        guard !isLater, Layout.fits(path[0].page, key, valueBytes: valueBytes) else { return }
        try shareRoom(layout, index)
        try descend(layout, index, key)
    }

    /// Replaces the record in a slot. Returns false if the page has too little space; the old value's pages are freed
    /// then too.
    @inline(__always)
    private func replace<Layout: NodeLayout>(
        _ layout: Layout.Type, _ leaf: Page, _ slot: Int, _ value: RecordView
    ) throws(StorageError) -> Bool {
        let old = Layout.record(leaf, slot)
        if old.isOverflow { try freeValue(old) }
        if Layout.replace(leaf, at: slot, value, scratch: scratch.page) { return true }
        if old.isOverflow {
            // The slow path reads the entry again, so it must not refer to the freed pages.
            _ = Layout.replace(
                leaf, at: slot, RecordView(bytes: UnsafeRawPointer(scratch.key), count: 0, isOverflow: false),
                scratch: scratch.page)
        }
        return false
    }

    private func isRightmost(_ index: Int) -> Bool {
        for level in 1..<max(1, trees[index].levels) where path[level].slot != path[level].page.count - 1 {
            return false
        }
        return true
    }

    // MARK: Descent

    /// Descends to the leaf for `key`, and makes every page on the path this transaction's own.
    func descend<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int, _ key: Layout.Key) throws(StorageError) {
        if trees[index].levels == 0 {
            let leaf = try allocate(Layout.leafType, level: 0, tree: trees[index].id)
            Layout.formatRoot(leaf)
            trees[index].root = leaf.reference
            trees[index].levels = 1
        }
        let levels = trees[index].levels
        var reference = trees[index].root
        var level = levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            path[level] = PathStep(page: page, slot: slot)
            reference = Layout.child(page, at: slot)
            // An insertion at a random place has cache misses on the leaf's header, keys and heap: prefetch all of them
            // at once. If the parent must be copied, so must the leaf: prefetch it while the pages above are copied.
            if level == 1 {
                if isEditable(page) { frames.prefetchLeaf(reference) } else { frames.prefetchAll(reference) }
            }
            level -= 1
        }
        for level in stride(from: levels - 1, to: 0, by: -1) {
            path[level].page = try own(layout, index, level, path[level].page)
        }
        let leaf = try frames.resolve(reference, type: Layout.leafType, level: 0)
        path[0] = PathStep(page: try own(layout, index, 0, leaf), slot: 0)
        if trees[index].isCounted { forgetCounts(layout, index) }
    }

    /// Returns the page itself if it may be changed in place, else its copy, to which the parent on the path then
    /// refers.
    @inline(__always)
    func own<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ level: Int, _ page: Page
    ) throws(StorageError) -> Page {
        if isEditable(page) { return page }
        let copy = try replaceable(page)
        if level == trees[index].levels - 1 {
            trees[index].root = copy.reference
        } else {
            Layout.setChild(path[level + 1].page, at: path[level + 1].slot, copy.reference)
        }
        return copy
    }

    // MARK: Split

    /// Splits the node at `level` of the path.
    ///
    /// Afterwards the path leads, at a leaf, to the half that `key` belongs to; at an inner node, to the half with the
    /// child that it led to before.
    func split<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, level: Int, incoming key: Layout.Key, slot: Int, ascending: Bool
    ) throws(StorageError) {
        let page = path[level].page
        let right = try allocate(level > 0 ? Layout.innerType : Layout.leafType, level: level, tree: trees[index].id)
        if level == trees[index].levels - 1 { try growRoot(layout, index) }
        guard let cut = Layout.cut(page, incoming: slot, key, ascending: ascending) else {
            throw .corrupted(page: page.number, reason: "its entries cannot be divided between two pages")
        }
        let separator = Layout.split(page, at: cut, into: right, incoming: key, scratch: scratch)
        // Separators differ in length, so a half of the parent may still be too full.
        while !Layout.childFits(path[level + 1].page, separator) {
            let parentSlot = path[level + 1].slot + 1
            try split(
                layout, index, level: level + 1, incoming: separator, slot: parentSlot,
                ascending: ascending && parentSlot == path[level + 1].page.count)
        }
        Layout.insertChild(
            path[level + 1].page, at: path[level + 1].slot + 1, separator, right.reference,
            scratch: scratch.page)
        forgetCount(layout, path[level + 1].page, path[level + 1].slot)
        let goesRight = level == 0 ? !Layout.isLess(key, separator) : path[level].slot >= cut
        if goesRight {
            path[level].page = right
            if level > 0 { path[level].slot -= cut }
            path[level + 1].slot += 1
        }
        hints[index] = .none
    }

    func growRoot<Layout: NodeLayout>(_ layout: Layout.Type, _ index: Int) throws(StorageError) {
        let levels = trees[index].levels
        guard levels < Limits.levels else {
            throw .corrupted(page: trees[index].root.page, reason: "the tree is deeper than any tree can be")
        }
        let root = try allocate(Layout.innerType, level: levels, tree: trees[index].id)
        Layout.formatRoot(root)
        Layout.insertFirstChild(root, trees[index].root, counted: trees[index].isCounted, scratch: scratch.page)
        trees[index].root = root.reference
        trees[index].levels = levels + 1
        path[levels] = PathStep(page: root, slot: 0)
    }

    // MARK: Overflow

    /// Writes the list of a value's runs.
    func writeList(_ value: ValueExtents, tree: UInt32) throws(StorageError) -> Overflow {
        let bytes = value.encoded()
        guard bytes.count <= Limits.valueBytes else {
            throw .valueTooLarge(
                bytes: Int(clamping: value.length),
                limit: Limits.valueBytes / ValueExtents.runBytes * Overflow.payloadBytes)
        }
        var list = try bytes.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try writeOverflow(bytes, tree: tree, compressing: false) }
        }.get()
        list.isList = true
        return list
    }

    func writeOverflow(_ value: UnsafeRawBufferPointer, tree: UInt32, compressing: Bool = true)
        throws(StorageError) -> Overflow
    {
        let plain = (value.count + Overflow.payloadBytes - 1) / Overflow.payloadBytes
        let block = compressing ? LZ4.compress(value, limit: (plain - 1) * Overflow.payloadBytes) : nil
        let stored = block?.count ?? value.count
        // A list of runs is no user value and is not counted.
        if compressing { store.pipeline.compression.noteValue(bytes: UInt64(value.count), stored: UInt64(stored)) }
        let count = max(1, (stored + Overflow.payloadBytes - 1) / Overflow.payloadBytes)
        let run = try allocateRun(count)
        let overflow = Overflow(
            firstPage: run.page, firstWriteID: run.writeID, length: value.count, stored: stored,
            isCompressed: block != nil)
        func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
            for index in 0..<count {
                let number = run.page + UInt64(index)
                let page = try frames.makeDirty(page: number)
                Page(page).format(
                    page: number, type: .overflow, level: 0, writeID: run.writeID + UInt64(index), tree: tree)
                let offset = index * Overflow.payloadBytes
                let length = min(Overflow.payloadBytes, stored - offset)
                if let source = bytes.baseAddress { memcpy(page + Page.bodyOffset, source + offset, length) }
                memset(page + Page.bodyOffset + length, 0, Overflow.payloadBytes - length)
            }
        }
        if let block {
            try block.withUnsafeBytes { bytes in result { () throws(StorageError) in try write(bytes) } }.get()
        } else {
            try write(value)
        }
        return overflow
    }
}
