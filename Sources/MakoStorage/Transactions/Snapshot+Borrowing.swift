import Synchronization

/// Values borrowed without a copy, valid until the end of the borrow.
extension Snapshot {
    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    ///
    /// The bytes are valid until `body` returns. A value on overflow pages is read into memory first.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        let value = try _borrow(key, tree)
        defer { _endBorrow(value) }
        guard let start = value.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: value.count))
    }

    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    @inlinable
    public func withValue<R>(of key: [UInt8], in tree: Tree, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R?
    {
        let value = try _borrow(key, tree)
        defer { _endBorrow(value) }
        guard let start = value.start else { return nil }
        return try body(UnsafeRawBufferPointer(start: start, count: value.count))
    }

    /// Calls `body` for each of `keys`, in order, with its position and the bytes of its value or nil.
    ///
    /// The lookups descend together in small groups: several times faster than single lookups if the tree exceeds the processor's caches.
    @inlinable
    public func withValues(
        of keys: [UInt64], in tree: Tree, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        try _borrowInGroups(keys.count, { try _borrow(keys, $0, tree, $1) }, body)
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
        try _borrowInGroups(keys.count, { try _borrow(keys, $0, tree, $1) }, body)
    }

    @inlinable
    func _borrowInGroups(
        _ count: Int,
        _ borrow: (Range<Int>, UnsafeMutableBufferPointer<_BorrowedValue>) throws -> UnsafeMutableRawPointer?,
        _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
    ) throws {
        let groupSize = 32
        try withUnsafeTemporaryAllocation(of: _BorrowedValue.self, capacity: groupSize) { values in
            var start = 0
            while start < count {
                let end = min(start + groupSize, count)
                let entry = try borrow(start..<end, values)
                defer { _endBorrow(entry) }
                for index in start..<end {
                    let value = values[index - start]
                    defer { _endBorrow(value) }
                    do {
                        try body(index, value.start.map { UnsafeRawBufferPointer(start: $0, count: value.count) })
                    } catch {
                        // Release the copies of large values that `body` has not seen.
                        for rest in index + 1..<end { _endBorrow(values[rest - start]) }
                        throw error
                    }
                }
                start = end
            }
        }
    }

    public func _borrow(_ key: UInt64, _ tree: Tree) throws(StorageError) -> _BorrowedValue {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .integer)
            if let leaf = changedLeaf(of: tree, key) {
                let (slot, found) = IntegerLayout.find(leaf, key)
                return try borrowed(found ? IntegerLayout.record(leaf, slot) : nil, entry)
            }
            return try borrowed(find(IntegerLayout.self, state, key), entry)
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

    public func _borrow(_ key: [UInt8], _ tree: Tree) throws(StorageError) -> _BorrowedValue {
        let entry = Epochs.enter()
        do throws(StorageError) {
            let state = try lookUp(tree, .bytes)
            let found: Result<RecordView?, StorageError> = key.withUnsafeBytes { key in
                result { () throws(StorageError) in try find(ByteLayout.self, state, addressed(key)) }
            }
            return try borrowed(found.get(), entry)
        } catch {
            Epochs.leave(entry)
            throw error
        }
    }

    /// Fills `values` with the values of a group of keys. The epoch stays entered; pass the result to the end of the borrow.
    public func _borrow(
        _ keys: [UInt64], _ range: Range<Int>, _ tree: Tree, _ values: UnsafeMutableBufferPointer<_BorrowedValue>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try borrow(IntegerLayout.self, .integer, UnsafeBufferPointer(rebasing: keys[range]), tree, values)
            }
        }.get()
    }

    /// Fills `values` with the values of a group of keys. The epoch stays entered; pass the result to the end of the borrow.
    public func _borrow(
        _ keys: [[UInt8]], _ range: Range<Int>, _ tree: Tree, _ values: UnsafeMutableBufferPointer<_BorrowedValue>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        try withKeyBytes(keys[range]) { keys in
            result { () throws(StorageError) in try borrow(ByteLayout.self, .bytes, keys, tree, values) }
        }.get()
    }

    @inline(__always)
    private func borrow<Layout: NodeLayout>(
        _ layout: Layout.Type, _ kind: KeyKind, _ keys: UnsafeBufferPointer<Layout.Key>, _ tree: Tree,
        _ values: UnsafeMutableBufferPointer<_BorrowedValue>
    ) throws(StorageError) -> UnsafeMutableRawPointer? {
        let entry = Epochs.enter()
        // A local variable, because a field would touch a reference count for each key.
        let frames = frames
        do throws(StorageError) {
            let state = try lookUp(tree, kind)
            guard state.levels > 0 else {
                for index in 0..<keys.count {
                    values[index] = _BorrowedValue(start: nil, count: 0, entry: nil, owner: nil)
                }
                return UnsafeMutableRawPointer(entry)
            }
            let done = withUnsafeTemporaryAllocation(of: PageReference.self, capacity: keys.count) { leaves in
                result { () throws(StorageError) in
                    try frames.descend(layout, state, keys, leaves)
                    // Find all keys before reading any record, so that the cache misses of the records overlap. Until then each value has
                    // its leaf and slot.
                    for index in 0..<keys.count {
                        let leaf = try frames.resolve(leaves[index], type: Layout.leafType, level: 0)
                        let (slot, found) = Layout.find(leaf, keys[index])
                        if found { frames.prefetchRecord(leaf, from: Layout.offset(leaf, slot)) }
                        values[index] = _BorrowedValue(
                            start: found ? UnsafeRawPointer(leaf.base) : nil, count: slot, entry: nil, owner: nil)
                    }
                    for index in 0..<keys.count {
                        guard let leaf = values[index].start else { continue }
                        do throws(StorageError) {
                            values[index] = try borrowed(
                                Layout.record(Page(UnsafeMutableRawPointer(mutating: leaf)), values[index].count), nil)
                        } catch {
                            for earlier in 0..<index { _endBorrow(values[earlier]) }
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
    private func borrowed(_ record: RecordView?, _ cell: Epochs.Entry) throws(StorageError) -> _BorrowedValue {
        let entry = UnsafeMutableRawPointer(cell)
        guard let record else { return _BorrowedValue(start: nil, count: 0, entry: entry, owner: nil) }
        if !record.isOverflow {
            return _BorrowedValue(start: record.bytes, count: record.count, entry: entry, owner: nil)
        }
        let value = try overflow(record).read(from: frames)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(1, value.count), alignment: 8)
        value.withUnsafeBytes {
            memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count)
        }
        return _BorrowedValue(start: UnsafeRawPointer(memory), count: value.count, entry: entry, owner: memory)
    }

    @inlinable
    public func _endBorrow(_ value: _BorrowedValue) { value.end() }

    @inlinable
    public func _endBorrow(_ entry: UnsafeMutableRawPointer?) {
        entry?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}
