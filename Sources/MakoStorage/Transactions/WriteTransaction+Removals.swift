/// Removing entries.
extension WriteTransaction {
    /// Removes an entry.
    ///
    /// - Returns: false if the key does not exist; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func delete(_ key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        let index = try prepare(tree, .integer)
        guard try writer.delete(IntegerLayout.self, index, key) else { return false }
        writer.record { $0.delete(key, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    /// Removes an entry.
    ///
    /// - Returns: false if the key does not exist; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func delete(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
        try key.withUnsafeBytes { bytes in
            result { () throws(StorageError) in try remove(addressed(bytes), in: tree) }
        }.get()
    }

    /// Removes an entry.
    ///
    /// - Returns: false if the key does not exist; nothing is changed then.
    /// - Complexity: logarithmic in the entries of the tree.
    public func delete(_ key: UnsafeRawBufferPointer, in tree: Tree) throws(StorageError) -> Bool {
        guard Epochs.isInside else { return try remove(addressed(key), in: tree) }
        return try withCopies(of: addressed(key)) { (key, _) throws(StorageError) in try remove(key, in: tree) }
    }

    private func remove(_ key: KeyBytes, in tree: Tree) throws(StorageError) -> Bool {
        let index = try prepare(tree, .bytes)
        guard key.count <= Limits.keyBytes, try writer.delete(ByteLayout.self, index, key) else { return false }
        writer.record { $0.delete(key, tree: tree.id, to: &$1) }
        writer.noteChange()
        return true
    }

    /// Removes the entries of many keys.
    ///
    /// Keys in random order are removed faster than one by one if the tree exceeds the processor's caches, because the
    /// cache misses of a group overlap. If it throws, the entries removed before stay removed in the transaction.
    ///
    /// ```swift
    /// let gone = try transaction.delete(keys: expired, in: sessions)
    /// ```
    ///
    /// - Returns: the number of removed entries.
    public func delete(keys: [UInt64], in tree: Tree) throws(StorageError) -> Int {
        try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try deleteInGroups(keys.count) { (range) throws(StorageError) in
                    try deleteGroup(IntegerLayout.self, .integer, UnsafeBufferPointer(rebasing: keys[range]), in: tree)
                }
            }
        }.get()
    }

    /// Removes the entries of many keys, as ``delete(keys:in:)-([UInt64],_)`` does.
    ///
    /// - Returns: the number of removed entries.
    public func delete(keys: [[UInt8]], in tree: Tree) throws(StorageError) -> Int {
        try deleteInGroups(keys.count) { (range) throws(StorageError) in
            try withKeyBytes(keys[range]) { group in
                result { () throws(StorageError) in try deleteGroup(ByteLayout.self, .bytes, group, in: tree) }
            }.get()
        }
    }

    /// Removes the entries of many keys, as ``delete(keys:in:)-([UInt64],_)`` does. The keys are read in place.
    ///
    /// - Returns: the number of removed entries.
    public func delete(keys: [UnsafeRawBufferPointer], in tree: Tree) throws(StorageError) -> Int {
        // They may be borrowed from pages that the first removals rewrite.
        if Epochs.isInside { return try delete(keys: keys.map { [UInt8]($0) }, in: tree) }
        let keys = keys.map { addressed($0) }
        return try keys.withUnsafeBufferPointer { keys in
            result { () throws(StorageError) in
                try deleteInGroups(keys.count) { (range) throws(StorageError) in
                    try deleteGroup(ByteLayout.self, .bytes, UnsafeBufferPointer(rebasing: keys[range]), in: tree)
                }
            }
        }.get()
    }

    private func deleteInGroups(_ count: Int, _ delete: (Range<Int>) throws(StorageError) -> Int) throws(StorageError)
        -> Int
    {
        var removed = 0
        for start in stride(from: 0, to: count, by: WriteBuffer.capacity) {
            removed += try delete(start..<min(start + WriteBuffer.capacity, count))
        }
        return removed
    }

    private func deleteGroup<Layout: NodeLayout>(
        _ layout: Layout.Type, _ kind: KeyKind, _ keys: UnsafeBufferPointer<Layout.Key>, in tree: Tree
    ) throws(StorageError) -> Int {
        try writer.deleteGroup(layout, prepare(tree, kind), keys, in: tree)
    }

    /// Removes all entries with keys in a range.
    ///
    /// - Returns: the number of removed entries.
    /// - Complexity: linear in the pages of the range, but most of them are freed by reading their headers only.
    public func deleteRange(_ range: ClosedRange<UInt64>, in tree: Tree) throws(StorageError) -> UInt64 {
        let index = try prepare(tree, .integer)
        var cursor = try writer.view.cursor(in: tree)
        guard try cursor.seek(range.lowerBound), cursor.integerKey <= range.upperBound else { return 0 }
        let removed = try writer.deleteRange(
            IntegerLayout.self, index, from: range.lowerBound,
            to: range.upperBound == .max ? nil : range.upperBound + 1)
        writer.record { $0.deleteRange(range, tree: tree.id, to: &$1) }
        writer.noteChange()
        return removed
    }

    /// Removes all entries with keys from `lower` to before `upper`.
    ///
    /// ```swift
    /// let gone = try transaction.deleteRange(from: Array("log/2024/".utf8), to: Array("log/20240".utf8), in: files)
    /// ```
    ///
    /// - Parameters:
    ///   - lower: the lower bound, included. It need not exist, and may exceed the length limit of keys.
    ///   - upper: the upper bound, excluded; nil for the end of the tree.
    ///   - tree: a tree with byte keys.
    /// - Returns: the number of removed entries.
    /// - Complexity: as ``deleteRange(_:in:)``.
    public func deleteRange(from lower: [UInt8], to upper: [UInt8]? = nil, in tree: Tree) throws(StorageError) -> UInt64
    {
        try lower.withUnsafeBytes { lower in
            guard let upper else {
                return result { () throws(StorageError) in try removeRange(from: lower, to: nil, in: tree) }
            }
            return upper.withUnsafeBytes { upper in
                result { () throws(StorageError) in try removeRange(from: lower, to: upper, in: tree) }
            }
        }.get()
    }

    /// Removes all entries with keys from `lower` to before `upper`; see ``deleteRange(from:to:in:)-(_,[UInt8]?,_)``.
    public func deleteRange(from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer?, in tree: Tree)
        throws(StorageError) -> UInt64
    {
        guard Epochs.isInside else { return try removeRange(from: lower, to: upper, in: tree) }
        return try deleteRange(from: [UInt8](bound(lower)), to: upper.map { [UInt8](bound($0)) }, in: tree)
    }

    private func removeRange(from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer?, in tree: Tree)
        throws(StorageError) -> UInt64
    {
        let index = try prepare(tree, .bytes)
        let lower = bound(lower)
        let upper = upper.map { bound($0) }
        var cursor = try writer.view.cursor(in: tree)
        guard try cursor.seek([UInt8](lower)),
            upper.map({ upper in cursor.withKey { ByteNode.compare($0, upper) < 0 } }) ?? true
        else { return 0 }
        if writer.isRecording { try store.use(.byteRanges) }
        let removed = try writer.deleteRange(ByteLayout.self, index, from: lower, to: upper)
        writer.record { $0.deleteRange(from: lower, to: upper, tree: tree.id, to: &$1) }
        writer.noteChange()
        return removed
    }

    /// Truncates a bound to the bytes that matter: one more than the longest key.
    private func bound(_ key: UnsafeRawBufferPointer) -> KeyBytes {
        addressed(UnsafeRawBufferPointer(rebasing: key.prefix(Limits.keyBytes + 1)))
    }
}
