/// The range cardinality estimator: the approximate position of a key in a tree, from the nodes on its path, without a
/// scan and without counts. The query planner uses it to distinguish a range of a hundred entries from one of a hundred
/// thousand.
///
/// The children of a node are assumed to be equally large, which is nearly true with full leaves. Only the last child
/// may be much smaller, so its entry count is compared with that of a middle child. The caller must be inside an
/// operation epoch.
extension FrameStore {
    /// Returns the share of a tree's entries before a key, from 0 to 1.
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
        let count = leaf.count
        return count == 0 ? start : start + width * Double(Layout.find(leaf, key).slot) / Double(count)
    }
}

/// The estimated shares of a node's entries below each child.
struct ChildShares {
    private let last: Int
    /// The size of the last child, where each other child has the size 1.
    private let end: Double

    init<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: Page, _ level: Int, _ frames: FrameStore
    ) throws(StorageError) {
        // A damaged page may have no children; treat it as one.
        last = max(0, page.count - 1)
        func size(_ slot: Int) throws(StorageError) -> Double {
            let type = level == 1 ? Layout.leafType : Layout.innerType
            let child = try frames.resolve(Layout.child(page, at: slot), type: type, level: level - 1)
            return Double(max(1, child.count))
        }
        end = last > 0 ? try size(last) / size(last / 2) : 1
    }

    private var whole: Double { Double(last) + end }

    func before(_ slot: Int) -> Double { Double(slot) / whole }

    func share(_ slot: Int) -> Double { (slot == last ? end : 1) / whole }

    /// Returns the child in which a share of the entries ends, and the share inside that child.
    func child(at share: Double) -> (slot: Int, rest: Double) {
        let place = min(max(0, share), 1) * whole
        let slot = min(last, Int(place))
        return (slot, (place - Double(slot)) / (slot == last ? end : 1))
    }
}

extension Snapshot {
    /// Returns the estimated number of entries with keys from `lower` to before `upper`; nil is the end of the tree.
    ///
    /// - Complexity: logarithmic.
    package func estimatedCount(from lower: [UInt8], to upper: [UInt8]?, in tree: Tree) throws(StorageError) -> Double {
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
                let sought = addressed(KeyBytes(rebasing: key.prefix(Limits.keyBytes + 1)))
                return try frames.share(ByteLayout.self, lookUp(tree, .bytes), before: sought)
            }
        }.get()
    }
}

// MARK: - Parts of a tree

extension Snapshot {
    /// The number of threads that may read the snapshot for one query; 1 for the view of a transaction.
    package var queryThreads: Int {
        slot == nil ? 1 : max(1, min(64, store._withUnsafeGuaranteedRef { $0.options.queryThreads }))
    }

    /// The number of rows above which a query reads in parallel.
    package var parallelRows: Int { store._withUnsafeGuaranteedRef { $0.options.parallelRows } }

    /// Returns the estimated number of entries with keys in a range.
    ///
    /// - Complexity: logarithmic.
    package func estimatedCount(in range: ClosedRange<UInt64>, of tree: Tree) throws(StorageError) -> Double {
        let shares = try shares(of: range, in: tree)
        return max(0, shares.end - shares.start) * Double(try count(of: tree))
    }

    /// Divides a range of keys into consecutive ranges with about equally many entries. The result depends on the tree
    /// alone.
    ///
    /// - Complexity: logarithmic in the size of the tree for each range.
    package func parts(of range: ClosedRange<UInt64>, in tree: Tree) throws(StorageError) -> [ClosedRange<UInt64>] {
        let shares = try shares(of: range, in: tree)
        let width = max(0, shares.end - shares.start)
        let size = Double(max(1, store._withUnsafeGuaranteedRef { $0.options.partRows }))
        let entries = width * Double(try self.count(of: tree))
        let count = Int(min(1_000_000, entries / size).rounded(.up))
        var parts: [ClosedRange<UInt64>] = []
        var low = range.lowerBound
        for number in 1..<max(1, count) {
            var cursor = try cursor(in: tree)
            guard try cursor.seek(share: shares.start + width * Double(number) / Double(count)) else { break }
            let key = cursor.integerKey
            guard key > low else { continue }
            guard key <= range.upperBound else { break }
            parts.append(low...key - 1)
            low = key
        }
        return parts + [low...range.upperBound]
    }

    /// Returns the shares of a tree's entries before the start and before the end of a range.
    private func shares(
        of range: ClosedRange<UInt64>, in tree: Tree
    ) throws(StorageError) -> (start: Double, end: Double) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try lookUp(tree, .integer)
        let start = range.lowerBound == 0 ? 0 : try frames.share(IntegerLayout.self, state, before: range.lowerBound)
        let end =
            range.upperBound == .max ? 1 : try frames.share(IntegerLayout.self, state, before: range.upperBound + 1)
        return (start, end)
    }
}
