// Deletes a group of keys: descends to all of their leaves first, so that the cache misses of the keys overlap.
extension Writer {
    /// Removes the entries of a group of keys, each from the leaf that was found for it before the first removal.
    ///
    /// - Returns: the number of removed entries.
    func deleteGroup<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ keys: UnsafeBufferPointer<Layout.Key>, in tree: Tree
    ) throws(StorageError) -> Int {
        try withUnsafeTemporaryAllocation(of: PageReference.self, capacity: keys.count) { leaves in
            result { () throws(StorageError) in
                try findLeaves(layout, index, keys, leaves)
                let shape = shape
                var removed = 0
                for position in 0..<keys.count {
                    let key = keys[position]
                    try spillIfNeeded()
                    guard Layout.keyBytes(key) <= Limits.keyBytes,
                        try delete(layout, index, key, in: leaves[position], shape: shape)
                    else { continue }
                    record { Layout.logRemoval(of: key, tree: tree.id, &$0, to: &$1) }
                    noteChange()
                    removed += 1
                }
                return removed
            }
        }.get()
    }

    /// Finds the leaves of a group of keys and prefetches their records; cache misses of one kind overlap.
    ///
    /// - Parameter leaves: memory for one reference per key.
    private func findLeaves<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ keys: UnsafeBufferPointer<Layout.Key>,
        _ leaves: UnsafeMutableBufferPointer<PageReference>
    ) throws(StorageError) {
        try applyBufferedPuts(of: index)
        leaves.initialize(repeating: .none)
        let tree = trees[index]
        guard tree.levels > 1 else { return }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try frames.descend(layout, tree, keys, leaves)
        for position in 0..<keys.count where frames.isInMemory(leaves[position]) {
            let leaf = try frames.resolve(leaves[position], type: Layout.leafType, level: 0)
            Layout.prefetchRecord(leaf, keys[position])
        }
    }
}
