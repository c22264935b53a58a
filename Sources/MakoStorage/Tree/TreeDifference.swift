import CPlatform

/// An entry of a tree that differs between two snapshots.
package struct EntryDifference: Sendable, Hashable {
    package enum Key: Sendable, Hashable {
        case integer(UInt64)
        case bytes([UInt8])
    }

    package let key: Key
    /// Its value in the earlier snapshot; nil if it did not exist.
    package let old: [UInt8]?
    /// Its value in the later snapshot; nil if it was removed.
    package let new: [UInt8]?
}

extension Snapshot {
    /// Identifies the opening of the file that a snapshot was read from.
    package var opening: ObjectIdentifier { ObjectIdentifier(frames) }

    /// Whether two snapshots are of the same opening of a file, so that a page of both has the same contents in both.
    package func isOfOneOpening(with other: Snapshot) -> Bool { frames === other.frames }

    /// Whether a tree is certainly the same in both snapshots. Reads no pages.
    package func sharesWhole(_ tree: Tree, with other: Snapshot) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let (mine, others) = (try lookUp(tree), try other.lookUp(tree))
        if mine.levels == 0 && others.levels == 0 { return true }
        return isOfOneOpening(with: other) && mine.levels == others.levels && mine.root == others.root
    }

    /// Calls a closure with each entry of a tree that differs from an earlier snapshot, in key order, until it returns
    /// false.
    ///
    /// Skips pages of both snapshots without reading them if both are of the same opening of the file; otherwise
    /// compares every entry.
    package func forEachDifference(
        from earlier: Snapshot, in tree: Tree, _ body: (EntryDifference) throws -> Bool
    ) throws {
        let (old, new) = try ownLeaves(of: tree, earlier)
        var before = LeafEntries(earlier, tree.keys, old)
        var after = LeafEntries(self, tree.keys, new)
        try before.advance()
        try after.advance()
        while before.isThere || after.isThere {
            let order = before.compare(with: after)
            let difference: EntryDifference? =
                if order == 0 {
                    try before.isSameValue(as: after)
                        ? nil : EntryDifference(key: after.key, old: before.value(), new: after.value())
                } else if order < 0 {
                    EntryDifference(key: before.key, old: try before.value(), new: nil)
                } else {
                    EntryDifference(key: after.key, old: nil, new: try after.value())
                }
            if let difference {
                guard try body(difference) else { return }
            }
            if order <= 0 { try before.advance() }
            if order >= 0 { try after.advance() }
        }
    }

    /// Returns the leaves that only the earlier snapshot has, and those that only this one has, each in key order.
    private func ownLeaves(
        of tree: Tree, _ earlier: Snapshot
    ) throws(StorageError) -> (old: [PageReference], new: [PageReference]) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        var old = LevelOfPages(earlier, try earlier.lookUp(tree))
        var new = LevelOfPages(self, try lookUp(tree))
        while true {
            // A page never changes its level, so only pages of the same level can be equal.
            while old.level > new.level { try old.goDown(tree.keys) }
            while new.level > old.level { try new.goDown(tree.keys) }
            if isOfOneOpening(with: earlier) {
                let (mine, others) = (Set(new.pages), Set(old.pages))
                old.pages.removeAll { mine.contains($0) }
                new.pages.removeAll { others.contains($0) }
            }
            if old.level <= 0 { return (old.pages, new.pages) }
            try old.goDown(tree.keys)
            try new.goDown(tree.keys)
        }
    }
}

/// The pages of one level of a tree, in key order.
private struct LevelOfPages {
    private let snapshot: Snapshot
    var pages: [PageReference]
    /// The level: 0 for leaves, -1 for an empty tree.
    private(set) var level: Int

    init(_ snapshot: Snapshot, _ tree: TreeState) {
        self.snapshot = snapshot
        pages = tree.levels == 0 ? [] : [tree.root]
        level = tree.levels - 1
    }

    mutating func goDown(_ keys: KeyKind) throws(StorageError) {
        try snapshot.requireOpen()
        if level > 0 {
            switch keys {
            case .integer: pages = try children(IntegerLayout.self)
            case .bytes: pages = try children(ByteLayout.self)
            }
        }
        level -= 1
    }

    private func children<Layout: NodeLayout>(_ layout: Layout.Type) throws(StorageError) -> [PageReference] {
        var found: [PageReference] = []
        for reference in pages {
            let page = try snapshot.frames.resolve(reference, type: Layout.innerType, level: level)
            for slot in 0..<page.count { found.append(Layout.child(page, at: slot)) }
        }
        return found
    }
}

/// The entries of some leaves in order. Each leaf is copied when it is reached.
private struct LeafEntries: ~Copyable {
    private let snapshot: Snapshot
    private let keys: KeyKind
    private let leaves: [PageReference]
    /// The copy of the leaf, followed by space for the current key of a byte tree.
    private let leaf: Page
    private var next = 0
    private var slot = -1
    private var count = 0
    private var keyLength = 0
    private(set) var isThere = false

    init(_ snapshot: Snapshot, _ keys: KeyKind, _ leaves: [PageReference]) {
        self.snapshot = snapshot
        self.keys = keys
        self.leaves = leaves
        leaf = Page(.allocate(byteCount: pageBytes + 1024, alignment: 64))
    }

    deinit { leaf.base.deallocate() }

    mutating func advance() throws(StorageError) {
        slot += 1
        while slot >= count {
            guard next < leaves.count else {
                isThere = false
                return
            }
            try take(leaves[next])
            next += 1
        }
        isThere = true
        if keys == .bytes { keyLength = ByteNode.copyKey(leaf.base, slot, to: leaf.base + pageBytes) }
    }

    private mutating func take(_ reference: PageReference) throws(StorageError) {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        let type = keys == .integer ? IntegerLayout.leafType : ByteLayout.leafType
        memcpy(leaf.base, try snapshot.frames.resolve(reference, type: type, level: 0).base, pageBytes)
        count = leaf.count
        slot = 0
    }

    var key: EntryDifference.Key {
        switch keys {
        case .integer: .integer(IntegerNode.keys(leaf.base)[slot])
        case .bytes: .bytes([UInt8](KeyBytes(start: leaf.base + pageBytes, count: keyLength)))
        }
    }

    /// Compares the current keys; negative if this one is less. An iterator without an entry sorts last.
    func compare(with other: borrowing LeafEntries) -> Int {
        guard isThere, other.isThere else { return isThere ? -1 : 1 }
        switch keys {
        case .integer:
            let (mine, others) = (IntegerNode.keys(leaf.base)[slot], IntegerNode.keys(other.leaf.base)[other.slot])
            return mine < others ? -1 : mine == others ? 0 : 1
        case .bytes:
            let order = Int(memcmp(leaf.base + pageBytes, other.leaf.base + pageBytes, min(keyLength, other.keyLength)))
            return order != 0 ? order : keyLength - other.keyLength
        }
    }

    private var record: RecordView {
        keys == .integer ? IntegerNode.record(leaf.base, slot) : ByteNode.record(leaf.base, slot)
    }

    func value() throws(StorageError) -> [UInt8] {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        return try snapshot.bytes(record)
    }

    func isSameValue(as other: borrowing LeafEntries) throws(StorageError) -> Bool {
        let (mine, others) = (record, other.record)
        let isAlike =
            mine.isOverflow == others.isOverflow && mine.count == others.count
            && memcmp(mine.bytes, others.bytes, mine.count) == 0
        // Values with pages of their own are equal if their pages are.
        if !mine.isOverflow && !others.isOverflow { return isAlike }
        if isAlike && snapshot.isOfOneOpening(with: other.snapshot) { return true }
        return try value() == other.value()
    }
}
