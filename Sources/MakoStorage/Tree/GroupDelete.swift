// A group of keys is removed together: the ways to all of their leaves are gone first, so that what one waits for in memory
// the others wait for, too.
extension Writer {
    /// Removes the entries of a group of keys, each looked for in the leaf where it belonged when all of them were looked for.
    ///
    /// - Returns: how many of the keys there were.
    func deleteGroup<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ keys: UnsafeBufferPointer<Layout.Key>, in tree: Tree
    ) throws(StorageError) -> Int {
        try withUnsafeTemporaryAllocation(of: PageReference.self, capacity: keys.count) { memory in
            result { () throws(StorageError) in
                guard let leaves = memory.baseAddress else { return 0 }
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

    /// Finds the leaves of a group of keys that are about to be removed, and asks for the records; all misses of a kind at once.
    ///
    /// - Parameter leaves: memory for as many references as there are keys.
    private func findLeaves<Layout: NodeLayout>(
        _ layout: Layout.Type, _ index: Int, _ keys: UnsafeBufferPointer<Layout.Key>,
        _ leaves: UnsafeMutablePointer<PageReference>
    ) throws(StorageError) {
        try enterWaitingPuts(of: index)
        leaves.initialize(repeating: .none, count: keys.count)
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
