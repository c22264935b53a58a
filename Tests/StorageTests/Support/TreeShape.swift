@testable import MakoStorage

/// The shape of a tree's nodes, read from its pages.
struct TreeShape {
    var leaves = 0
    var inner = 0
    /// Inner nodes with one child.
    var loneChildren = 0
    /// Leaves without entries.
    var emptyLeaves = 0
    var levels = 0
    /// Bytes of keys and values in the leaves, of what they could hold.
    var fill = 0.0

    var pages: Int { leaves + inner }

    /// The tree as the latest commit has it.
    init(_ tree: Tree, in store: Store) throws {
        let version = store.newest
        guard let index = treeIndex(version.trees, count: version.treeCount, id: tree.id) else { return }
        let state = version.trees[index]
        levels = state.levels
        guard levels > 0 else { return }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        switch state.kind {
        case .integer: try traverse(IntegerLayout.self, state.root, levels - 1, store.frames)
        case .bytes: try traverse(ByteLayout.self, state.root, levels - 1, store.frames)
        }
        fill /= Double(leaves)
    }

    private mutating func traverse<Layout: NodeLayout>(
        _ layout: Layout.Type, _ reference: PageReference, _ level: Int, _ frames: FrameStore
    ) throws {
        let page = try frames.resolve(reference, type: level > 0 ? Layout.innerType : Layout.leafType, level: level)
        let count = page.count
        if level == 0 {
            leaves += 1
            if count == 0 { emptyLeaves += 1 }
            let used =
                Layout.leafType == .integerLeaf ? IntegerNode.usedBytes(page.base) : ByteNode.usedBytes(page.base)
            fill += Double(used) / Double(pageBytes - Page.bodyOffset)
            return
        }
        inner += 1
        if count == 1 { loneChildren += 1 }
        for slot in 0..<count { try traverse(layout, Layout.child(page, at: slot), level - 1, frames) }
    }
}
