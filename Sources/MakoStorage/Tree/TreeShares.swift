/// About where keys stand in a tree: told by the nodes on the way to them, without a walk and without counts that somebody keeps. It is what a
/// planner of queries asks, who wants to know whether a range has a hundred entries or a hundred thousand.
///
/// The children of a node are taken to be equally large, as in a tree whose leaves are full they nearly are; only the last may have just
/// begun, and is weighed by its header against one in the middle. The caller is inside an operation epoch.
extension FrameStore {
    /// The share of a tree's entries that come before a key, from 0 to 1.
    func share<Layout: NodeLayout>(
        _ layout: Layout.Type, _ tree: TreeState, before key: Layout.Key
    ) throws(StorageError) -> Double {
        guard tree.levels > 0 else { return 0 }
        var (start, width) = (0.0, 1.0)
        var reference = tree.root
        var level = tree.levels - 1
        while level > 0 {
            let page = try resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            let children = try ChildShares(layout, page, level, self)
            start += width * children.before(slot)
            width *= children.share(slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        let leaf = try resolve(reference, type: Layout.leafType, level: 0)
        let count = Page(leaf).count
        return count == 0 ? start : start + width * Double(Layout.find(leaf, key).slot) / Double(count)
    }
}

/// Which shares of a node's entries are below its children.
struct ChildShares {
    private let last: Int
    /// All children, where the last one has `end` and each other 1.
    private let end: Double

    init<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: UnsafeMutableRawPointer, _ level: Int, _ frames: FrameStore
    ) throws(StorageError) {
        // Of a damaged page that has none, too, one is looked at.
        last = max(0, Page(page).count - 1)
        func size(_ slot: Int) throws(StorageError) -> Double {
            let type = level == 1 ? Layout.leafType : Layout.innerType
            let child = try frames.resolve(Layout.child(page, at: slot), type: type, level: level - 1)
            return Double(max(1, Page(child).count))
        }
        end = last > 0 ? try size(last) / size(last / 2) : 1
    }

    private var whole: Double { Double(last) + end }

    func before(_ slot: Int) -> Double { Double(slot) / whole }

    func share(_ slot: Int) -> Double { (slot == last ? end : 1) / whole }

    /// The child in which a share of the entries ends, and which share of its own that is.
    func child(at share: Double) -> (slot: Int, rest: Double) {
        let place = min(max(0, share), 1) * whole
        let slot = min(last, Int(place))
        return (slot, (place - Double(slot)) / (slot == last ? end : 1))
    }
}

extension Snapshot {
    /// About how many entries of a tree have keys from one up to below another; nil is the tree's end.
    ///
    /// - Complexity: logarithmic, whatever lies between.
    package func estimatedCount(
        from lower: [UInt8], to upper: [UInt8]?, in tree: Tree
    ) throws(StorageError) -> Double {
        let total = try count(of: tree)
        let first = lower.isEmpty ? 0 : try share(before: lower, in: tree)
        let end = try upper.map { (upper) throws(StorageError) in try share(before: upper, in: tree) } ?? 1
        return max(0, end - first) * Double(total)
    }

    private func share(before key: [UInt8], in tree: Tree) throws(StorageError) -> Double {
        try key.withUnsafeBytes { key in
            result { () throws(StorageError) in
                let entry = Epochs.enter()
                defer { Epochs.leave(entry) }
                let sought = lendable(UnsafeRawBufferPointer(rebasing: key.prefix(Limits.keyBytes + 1)))
                return try frames.share(ByteLayout.self, lookUp(tree, .bytes), before: sought)
            }
        }.get()
    }
}
