import Synchronization

/// Values borrowed without a copy, valid until the end of the loan.
extension Snapshot {
    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    ///
    /// The bytes are valid until `body` returns. A value on overflow pages is read into memory first.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        let loan = try _lend(key, tree)
        defer { _endBorrow(loan) }
        guard let start = loan.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: loan.count))
    }

    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    @inlinable
    public func withValue<R>(of key: [UInt8], in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R?
    {
        let loan = try _lend(key, tree)
        defer { _endBorrow(loan) }
        guard let start = loan.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: loan.count))
    }

    /// Calls `body` for each of `keys`, in order, with its position and the bytes of its value or nil.
    ///
    /// The lookups descend together in small groups: several times faster than single lookups if the tree exceeds the processor's caches.
    @inlinable
    public func withValues(
        of keys: [UInt64], in tree: Tree, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        try _lendInGroups(keys.count, { try _lend(keys, $0, tree, $1) }, body)
    }

    /// Calls `body` for each of `keys`, in order, with its position and the bytes of its value or nil.
    ///
    /// The lookups descend together in small groups, as those of integer keys.
    ///
    /// ```swift
    /// try snapshot.withValues(of: words.map { Array($0.utf8) }, in: counts) { index, value in
    ///     print(words[index], value?.first ?? 0)
    /// }
    /// ```
    @inlinable
    public func withValues(
        of keys: [[UInt8]], in tree: Tree, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        try _lendInGroups(keys.count, { try _lend(keys, $0, tree, $1) }, body)
    }

    @inlinable
    func _lendInGroups(
        _ count: Int,
        _ lend: (Range<Int>, UnsafeMutableBufferPointer<_Loan>) throws -> UnsafeMutableRawPointer?,
        _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        let groupSize = 32
        try withUnsafeTemporaryAllocation(of: _Loan.self, capacity: groupSize) { loans in
            var start = 0
            while start < count {
                let end = min(start + groupSize, count)
                let entry = try lend(start..<end, loans)
                defer { _endBorrow(entry) }
                for index in start..<end {
                    let loan = loans[index - start]
                    defer { _endBorrow(loan) }
                    do {
                        try body(index, loan.start.map { UnsafeRawBufferPointer(start: $0, count: loan.count) })
                    } catch {
                        // Release the copies of large values that `body` has not seen.
                        for rest in index + 1..<end { _endBorrow(loans[rest - start]) }
                        throw error
                    }
                }
                start = end
            }
        }
    }

    public func _lend(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _Loan {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .integer)
            if let leaf = changedLeaf(of: tree, key) {
                let (slot, found) = IntegerLayout.find(leaf, key)
                return try loan(found ? IntegerLayout.record(leaf, slot) : nil, entry)
            }
            return try loan(find(IntegerLayout.self, state, key), entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    /// Returns the leaf that a write transaction changed last in a tree, if it covers the key: changing row after row reads each one first,
    /// and needs no descent then.
    @inline(__always)
    private func changedLeaf(of tree: Tree, _ key: UInt64) -> Page? {
        guard let writer else { return nil }
        return writer._withUnsafeGuaranteedRef { writer in
            treeIndex(writer.trees, count: writer.treeCount, id: tree.id).flatMap {
                IntegerLayout.hinted(writer.hints + $0, key)
            }
        }
    }

    public func _lend(_ key: [UInt8], _ tree: Tree) throws(StorageError) -> _Loan {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .bytes)
            let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
                result { () throws(StorageError) in try find(ByteLayout.self, state, lendable(key)) }
            }
            return try loan(found.get(), entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    /// Fills `loans` with the values of a group of keys. The epoch stays entered; pass the result to the end of the loan.
    public func _lend(
        _ keys: [UInt64], _ range: Range<Int>, _ tree: Tree, _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try lend(IntegerLayout.self, .integer, UnsafeBufferPointer(rebasing: keys[range]), tree, loans)
            }
        }.get()
    }

    /// Fills `loans` with the values of a group of keys. The epoch stays entered; pass the result to the end of the loan.
    public func _lend(
        _ keys: [[UInt8]], _ range: Range<Int>, _ tree: Tree, _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try withKeyBytes(keys[range]) { keys in
            result { () throws(StorageError) in try lend(ByteLayout.self, .bytes, keys, tree, loans) }
        }.get()
    }

    @inline(__always)
    private func lend<Layout: NodeLayout>(
        _ layout: Layout.Type, _ kind: KeyKind, _ keys: UnsafeBufferPointer<Layout.Key>, _ tree: Tree,
        _ loans: UnsafeMutableBufferPointer<_Loan>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        let entry = Epochs.enter()
        // A local variable, because a field would touch a reference count for each key.
        let frames = frames
        do throws(StorageError) {
            let state = try lookUp(tree, kind)
            guard state.levels > 0 else {
                for index in 0..<keys.count {
                    loans[index] = _Loan(start: nil, count: 0, entry: nil, owner: nil)
                }
                return UnsafeMutableRawPointer(entry)
            }
            let done = withUnsafeTemporaryAllocation(of: PageReference.self, capacity: keys.count) { leaves in
                result { () throws(StorageError) in
                    try frames.descend(layout, state, keys, leaves)
                    // Find all keys before reading any record, so that the cache misses of the records overlap. Until then each loan has
                    // its leaf and slot.
                    for index in 0..<keys.count {
                        let leaf = try frames.resolve(leaves[index], type: Layout.leafType, level: 0)
                        let (slot, found) = Layout.find(leaf, keys[index])
                        if found { frames.prefetchRecord(leaf, from: Layout.offset(leaf, slot)) }
                        loans[index] = _Loan(
                            start: found ? UnsafeRawPointer(leaf.base) : nil, count: slot, entry: nil, owner: nil)
                    }
                    for index in 0..<keys.count {
                        guard let leaf = loans[index].start else { continue }
                        do throws(StorageError) {
                            loans[index] = try loan(
                                Layout.record(Page(UnsafeMutableRawPointer(mutating: leaf)), loans[index].count), nil)
                        } catch {
                            for earlier in 0..<index { _endBorrow(loans[earlier]) }
                            throw error
                        }
                    }
                }
            }
            try done.get()
            return UnsafeMutableRawPointer(entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    @inline(__always)
    private func loan(_ record: RecordView?, _ cell: Epochs.Entry) throws(StorageError) -> _Loan {
        let entry = UnsafeMutableRawPointer(cell)
        guard let record else { return _Loan(start: nil, count: 0, entry: entry, owner: nil) }
        if !record.isOverflow {
            return _Loan(start: record.bytes, count: record.count, entry: entry, owner: nil)
        }
        let value = try overflow(record).read(from: frames)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(1, value.count), alignment: 8)
        value.withUnsafeBytes {
            memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count)
        }
        return _Loan(start: UnsafeRawPointer(memory), count: value.count, entry: entry, owner: memory)
    }

    @inlinable
    public func _endBorrow(_ loan: _Loan) { loan.end() }

    @inlinable
    public func _endBorrow(_ entry: UnsafeMutableRawPointer?) {
        entry?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}
