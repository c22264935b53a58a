import CPlatform

/// A position in a tree that moves in key order, forwards and backwards.
///
/// The cursor works on a copy of its current leaf: between steps it holds no lock and no page, and a step inside a leaf
/// reads no shared memory. A cursor over the view of a write transaction detects that the transaction has changed the
/// tree, and finds its position again by key.
///
/// ```swift
/// var cursor = try snapshot.cursor(in: events)
/// var more = try cursor.seek(1_000)              // the first entry with a key >= 1,000
/// while more, cursor.integerKey < 2_000 {
///     try cursor.withValue { bytes in … }
///     more = try cursor.next()
/// }
/// ```
public struct Cursor: ~Copyable {
    let snapshot: Snapshot
    // Stored here, because a read through the snapshot would touch a reference count that all readers share.
    private let frames: FrameStore
    let tree: Tree
    /// The copy of the leaf, followed by space for the current key of a byte tree.
    private let leaf: UnsafeMutableRawPointer
    private let path: UnsafeMutablePointer<Step>
    private var levels = 0
    private var slot = 0
    private var count = 0
    private var place = Place.outside
    private var changes: UInt64 = 0
    /// Whether the copy of the leaf and the path to it are valid.
    private var hasLeaf = false
    private var readAhead = ReadAhead()

    private struct Step {
        var reference: PageReference
        var slot: Int
    }

    private enum Place {
        /// On no entry: before the first positioning call, or past either end.
        case outside
        case entry
    }

    init(_ snapshot: Snapshot, _ tree: Tree) {
        self.snapshot = snapshot
        frames = snapshot.frames
        self.tree = tree
        leaf = .allocate(byteCount: pageBytes + 1024, alignment: 64)
        path = .allocate(capacity: Limits.levels + 1)
    }

    deinit {
        leaf.deallocate()
        path.deallocate()
    }

    // MARK: Positioning

    /// Moves to the first entry.
    ///
    /// - Returns: false if the tree is empty.
    public mutating func first() throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try goToEdge(IntegerLayout.self, last: false)
        case .bytes: try goToEdge(ByteLayout.self, last: false)
        }
    }

    /// Moves to the last entry.
    ///
    /// - Returns: false if the tree is empty.
    public mutating func last() throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try goToEdge(IntegerLayout.self, last: true)
        case .bytes: try goToEdge(ByteLayout.self, last: true)
        }
    }

    /// Moves to the first entry whose key is at least `key`.
    ///
    /// - Returns: false if there is none.
    /// - Throws: ``StorageError/wrongKeyKind(tree:expected:)`` in a byte tree.
    /// - Complexity: logarithmic.
    public mutating func seek(_ key: UInt64) throws(StorageError) -> Bool {
        guard tree.keys == .integer else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: .bytes) }
        _ = try seek(IntegerLayout.self, key)
        return try settleForward()
    }

    /// Moves to the first entry whose key is at least `key`.
    ///
    /// - Returns: false if there is none.
    /// - Throws: ``StorageError/wrongKeyKind(tree:expected:)`` in an integer tree.
    /// - Complexity: logarithmic.
    public mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        guard tree.keys == .bytes else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: .integer) }
        _ = try seekBytes(key)
        return try settleForward()
    }

    /// Moves to the last entry whose key is at most `key`. Returns false if there is none.
    ///
    /// If the key is in the current leaf, only that leaf is searched.
    package mutating func seek(notBehind key: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        guard tree.keys == .bytes else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: .integer) }
        if try !seekBytes(key) { slot -= 1 }
        return try settleBackward()
    }

    /// Moves to the next entry.
    ///
    /// - Returns: false at the end; the cursor is then on no entry.
    public mutating func next() throws(StorageError) -> Bool {
        guard case .entry = place else { return false }
        if changes != snapshot.state.pointee.changes {
            // If the entry was removed, the first entry after it is the next one.
            if try seekAgain() { slot += 1 }
            return try settleForward()
        }
        slot &+= 1
        if slot < count { return true }
        return try settleForward()
    }

    /// Moves to the previous entry.
    ///
    /// - Returns: false at the start; the cursor is then on no entry.
    public mutating func previous() throws(StorageError) -> Bool {
        guard case .entry = place else { return false }
        if changes != snapshot.state.pointee.changes { _ = try seekAgain() }
        slot &-= 1
        if slot >= 0 { return true }
        return try settleBackward()
    }

    // MARK: The current entry

    /// The key of the current entry of an integer tree; 0 if the cursor is on no entry.
    public var integerKey: UInt64 {
        guard case .entry = place, tree.keys == .integer else { return 0 }
        return IntegerNode.keys(leaf)[slot]
    }

    /// The key of the current entry of a byte tree; empty if the cursor is on no entry.
    public var key: [UInt8] {
        guard case .entry = place, tree.keys == .bytes else { return [] }
        let length = ByteNode.copyKey(leaf, slot, to: leaf + pageBytes)
        return [UInt8](UnsafeRawBufferPointer(start: leaf + pageBytes, count: length))
    }

    /// Returns a copy of the current entry's value; empty if the cursor is on no entry.
    public func value() throws(StorageError) -> [UInt8] {
        guard case .entry = place else { return [] }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        return try snapshot.bytes(record())
    }

    /// Calls `body` with the bytes of the current key of a byte tree, which are valid until it returns.
    @inlinable
    public func withKey<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(_currentKey())
    }

    /// Calls `body` with the bytes of the current value, which are valid until it returns.
    @inlinable
    public func withValue<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        let value = try _currentValue()
        defer { _deallocate(value) }
        return try body(UnsafeRawBufferPointer(start: value.start, count: value.count))
    }

    /// For the scans that are inlined into their callers: valid until the cursor moves.
    public func _currentKey() -> UnsafeRawBufferPointer {
        guard case .entry = place, tree.keys == .bytes else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let length = ByteNode.copyKey(leaf, slot, to: leaf + pageBytes)
        return UnsafeRawBufferPointer(start: leaf + pageBytes, count: length)
    }

    /// For the scans that are inlined into their callers; ``_deallocate(_:)`` ends the borrow.
    public func _currentValue() throws(StorageError) -> _BorrowedValue {
        guard case .entry = place else { return _BorrowedValue(start: nil, count: 0, entry: nil, owner: nil) }
        let record = record()
        if !record.isOverflow {
            return _BorrowedValue(start: record.bytes, count: record.count, entry: nil, owner: nil)
        }
        let value = try value()
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(1, value.count), alignment: 8)
        value.withUnsafeBytes {
            memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count)
        }
        return _BorrowedValue(start: UnsafeRawPointer(memory), count: value.count, entry: nil, owner: memory)
    }

    @inlinable
    public func _deallocate(_ value: _BorrowedValue) { value.owner?.deallocate() }

    /// Returns the record of the current entry. The cursor must be on one.
    func record() -> RecordView {
        tree.keys == .integer ? IntegerNode.record(leaf, slot) : ByteNode.record(leaf, slot)
    }

    // MARK: Moving between leaves

    /// Moves to the next leaves until the position is an entry.
    private mutating func settleForward() throws(StorageError) -> Bool {
        while slot >= count {
            let moved =
                switch tree.keys {
                case .integer: try step(IntegerLayout.self, forward: true)
                case .bytes: try step(ByteLayout.self, forward: true)
                }
            guard moved else {
                place = .outside
                return false
            }
        }
        place = .entry
        return true
    }

    private mutating func settleBackward() throws(StorageError) -> Bool {
        while slot < 0 {
            let moved =
                switch tree.keys {
                case .integer: try step(IntegerLayout.self, forward: false)
                case .bytes: try step(ByteLayout.self, forward: false)
                }
            guard moved else {
                place = .outside
                return false
            }
        }
        place = .entry
        return true
    }

    /// Seeks the last key of the cursor. Returns whether it still exists.
    private mutating func seekAgain() throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try seek(IntegerLayout.self, integerKey)
        case .bytes: try seekBytes(key)
        }
    }

    private mutating func seekBytes(_ key: [UInt8]) throws(StorageError) -> Bool {
        try key.withUnsafeBytes { key in result { () throws(StorageError) in try seekBytes(key) } }.get()
    }

    private mutating func seekBytes(_ key: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        let memory = leaf + pageBytes
        // A key above the length limit sorts directly after its prefix with the length of the limit.
        let length = min(key.count, Limits.keyBytes + 1)
        if let start = key.baseAddress { memcpy(memory, start, length) }
        let sought = KeyBytes(start: memory, count: length)
        guard try isInLeaf(sought) else { return try seek(ByteLayout.self, sought) }
        let (slot, found) = ByteNode.find(leaf, sought)
        self.slot = slot
        return found
    }

    /// Whether a key can only be in the current leaf, and the tree has not changed since the leaf was copied.
    private func isInLeaf(_ key: KeyBytes) throws(StorageError) -> Bool {
        guard hasLeaf, changes == snapshot.state.pointee.changes else {
            return false
        }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        return ByteNode.covers(leaf, key)
    }

    private mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, _ key: Layout.Key) throws(StorageError)
        -> Bool
    {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard try start() else { return false }
        var reference = path[levels].reference
        var level = levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            path[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        try take(layout, reference)
        let (slot, found) = Layout.find(Page(leaf), key)
        self.slot = slot
        return found
    }

    mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, offset: UInt64) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUpCounted(tree, tree.keys)
        guard offset < state.count, try start() else {
            place = .outside
            return false
        }
        var left = offset
        var reference = path[levels].reference
        var level = levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            var slot = 0
            try frames.withPageScratch { (scratch) throws(StorageError) in
                while slot + 1 < page.count {
                    let count = try frames.count(layout, page, slot, level, scratch)
                    if left < count { break }
                    left -= count
                    slot += 1
                }
            }
            path[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        try take(layout, reference)
        guard left < UInt64(count) else {
            place = .outside
            throw .corrupted(page: reference.page, reason: "the counts above it are not those of its entries")
        }
        slot = Int(left)
        place = .entry
        return true
    }

    /// Moves to an entry with about the given share of the entries before it: 0 is the first, 1 the last. Returns false
    /// if the tree is empty.
    ///
    /// - Complexity: logarithmic.
    package mutating func seek(share: Double) throws(StorageError) -> Bool {
        let isInTree =
            switch tree.keys {
            case .integer: try seek(IntegerLayout.self, share: share)
            case .bytes: try seek(ByteLayout.self, share: share)
            }
        // A leaf of byte keys may be empty: then take the next entry, or else the last.
        guard isInTree, place == .outside else { return isInTree }
        if try settleForward() { return true }
        return try last()
    }

    /// Returns false if there is no leaf. If the leaf is empty, `place` is `outside`.
    private mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, share: Double) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard try start() else { return false }
        var share = share
        var reference = path[levels].reference
        var level = levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let (slot, rest) = try ChildShares(layout, page, level, frames).child(at: share)
            path[level] = Step(reference: reference, slot: slot)
            (reference, share) = (Layout.child(page, at: slot), rest)
            level -= 1
        }
        try take(layout, reference)
        slot = max(0, min(count - 1, Int(min(max(0, share), 1) * Double(count))))
        place = count > 0 ? .entry : .outside
        return true
    }

    private mutating func goToEdge<Layout: NodeLayout>(_ layout: Layout.Type, last: Bool) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        guard try start() else {
            place = .outside
            return false
        }
        try descend(layout, from: levels - 1, path[levels].reference, last: last)
        return last ? try settleBackward() : try settleForward()
    }

    /// Reads the root; `path[levels]` gets the root's reference. Returns false if the tree is empty.
    private mutating func start() throws(StorageError) -> Bool {
        let state = try snapshot.lookUp(tree, tree.keys)
        changes = snapshot.state.pointee.changes
        hasLeaf = false
        levels = state.levels
        slot = 0
        count = 0
        path[levels] = Step(reference: state.root, slot: 0)
        return levels > 0
    }

    /// Descends from a node to the first or last leaf below it.
    private mutating func descend<Layout: NodeLayout>(
        _ layout: Layout.Type, from start: Int, _ root: PageReference, last: Bool
    ) throws(StorageError) {
        hasLeaf = false
        var reference = root
        var level = start
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = last ? page.count - 1 : 0
            path[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        try take(layout, reference)
        slot = last ? count - 1 : 0
    }

    private mutating func take<Layout: NodeLayout>(_ layout: Layout.Type, _ reference: PageReference)
        throws(StorageError)
    {
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        memcpy(leaf, page.base, pageBytes)
        count = Page(leaf).count
        hasLeaf = true
    }

    /// Moves to the neighbouring leaf. Returns false if there is none.
    private mutating func step<Layout: NodeLayout>(_ layout: Layout.Type, forward: Bool) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        var level = 1
        while level < levels {
            let page = try frames.resolve(path[level].reference, type: Layout.innerType, level: level)
            let next = path[level].slot + (forward ? 1 : -1)
            if next >= 0 && next < page.count {
                path[level].slot = next
                if level == 1 { readAhead.arrive(layout, at: next, of: page, forward: forward, frames) }
                try descend(layout, from: level - 1, Layout.child(page, at: next), last: !forward)
                if forward && level == 1 && next + 1 < page.count {
                    frames.prefetchPage(Layout.child(page, at: next + 1))
                }
                return true
            }
            level += 1
        }
        return false
    }
}

extension Snapshot {
    /// Returns a cursor over a tree, which is on no entry yet.
    ///
    /// - Throws: ``StorageError/treeNotFound(_:)``, ``StorageError/closed(path:)`` and
    ///   ``StorageError/snapshotExpired(limitSeconds:)``.
    public func cursor(in tree: Tree) throws(StorageError) -> Cursor {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        _ = try lookUp(tree, tree.keys)
        return Cursor(self, tree)
    }
}
