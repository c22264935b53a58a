import CPlatform

/// A position in a tree that moves in key order, forwards and backwards.
///
/// The cursor works on a copy of its current leaf: between steps it holds no lock and no page, and a step inside a leaf
/// reads no shared memory. A cursor over the view of a write transaction detects that the transaction has changed the
/// tree, and finds its position again by key.
///
/// A call that throws leaves the cursor where it was: it may be made again.
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
    /// The copy of the leaf, followed by space for the current key of a byte tree and by the two paths.
    private let leaf: UnsafeMutableRawPointer
    /// The inner nodes above the leaf, by level.
    private var path: UnsafeMutablePointer<Step>
    /// The path of a move, which becomes the cursor's when the move succeeds.
    private var moved: UnsafeMutablePointer<Step>
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

    /// The bytes behind the copy of the leaf for a key.
    private static let keyBytes = 1024

    private enum Place {
        /// On no entry: before the first positioning call, or past either end.
        case outside
        case entry
    }

    init(_ snapshot: Snapshot, _ tree: Tree) {
        self.snapshot = snapshot
        frames = snapshot.frames
        self.tree = tree
        let bytes = pageBytes + Cursor.keyBytes
        leaf = .allocate(byteCount: bytes + 2 * Limits.levels * MemoryLayout<Step>.stride, alignment: 64)
        path = (leaf + bytes).bindMemory(to: Step.self, capacity: 2 * Limits.levels)
        moved = path + Limits.levels
    }

    deinit { leaf.deallocate() }

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
        return try seek(IntegerLayout.self, key, .atOrAfter)
    }

    /// Moves to the first entry whose key is at least `key`.
    ///
    /// - Returns: false if there is none.
    /// - Throws: ``StorageError/wrongKeyKind(tree:expected:)`` in an integer tree.
    /// - Complexity: logarithmic.
    public mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        guard tree.keys == .bytes else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: .integer) }
        return try key.withUnsafeBytes { key in
            result { () throws(StorageError) in try seekBytes(key, .atOrAfter) }
        }.get()
    }

    /// Moves to the last entry whose key is at most `key`. Returns false if there is none.
    ///
    /// If the key is in the current leaf, only that leaf is searched.
    package mutating func seek(notBehind key: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        guard tree.keys == .bytes else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: .integer) }
        return try seekBytes(key, .atOrBefore)
    }

    /// Moves to the next entry.
    ///
    /// - Returns: false at the end; the cursor is then on no entry.
    public mutating func next() throws(StorageError) -> Bool {
        guard case .entry = place else { return false }
        // If the entry was removed, the first entry after it is the next one.
        if changes != snapshot.state.pointee.changes { return try seekAgain(.after) }
        if slot &+ 1 < count {
            slot &+= 1
            return true
        }
        return try move(to: count, .after)
    }

    /// Moves to the previous entry.
    ///
    /// - Returns: false at the start; the cursor is then on no entry.
    public mutating func previous() throws(StorageError) -> Bool {
        guard case .entry = place else { return false }
        if changes != snapshot.state.pointee.changes { return try seekAgain(.before) }
        if slot > 0 {
            slot &-= 1
            return true
        }
        return try move(to: -1, .before)
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

    // A move reads its pages first, and changes the cursor when it has them all.

    /// Which entry is sought, relative to a key.
    private enum Sought {
        case atOrAfter, after, atOrBefore, before

        var isForward: Bool { self == .atOrAfter || self == .after }

        /// Returns the slot of the entry, from what the search in a leaf found. It may lie outside of the leaf.
        @inline(__always)
        func slot(_ slot: Int, _ found: Bool) -> Int {
            switch self {
            case .atOrAfter: slot
            case .after: found ? slot &+ 1 : slot
            case .atOrBefore: found ? slot : slot &- 1
            case .before: slot &- 1
            }
        }
    }

    /// Moves to an entry of the current leaf or, if the slot is outside of it, to the nearest one of other leaves.
    @inline(__always)
    private mutating func move(to slot: Int, _ sought: Sought) throws(StorageError) -> Bool {
        guard slot < 0 || slot >= count else {
            self.slot = slot
            place = .entry
            return true
        }
        return switch tree.keys {
        case .integer: try leave(IntegerLayout.self, forward: sought.isForward)
        case .bytes: try leave(ByteLayout.self, forward: sought.isForward)
        }
    }

    /// Seeks the entry beside the current key.
    private mutating func seekAgain(_ sought: Sought) throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: return try seek(IntegerLayout.self, integerKey, sought)
        case .bytes:
            let memory = leaf + pageBytes
            let key = KeyBytes(start: memory, count: ByteNode.copyKey(leaf, slot, to: memory))
            return try seek(ByteLayout.self, key, sought)
        }
    }

    private mutating func seekBytes(_ key: UnsafeRawBufferPointer, _ sought: Sought) throws(StorageError) -> Bool {
        let memory = leaf + pageBytes
        // A key above the length limit sorts directly after its prefix with the length of the limit.
        let length = min(key.count, Limits.keyBytes + 1)
        if let start = key.baseAddress { memcpy(memory, start, length) }
        let key = KeyBytes(start: memory, count: length)
        guard try isInLeaf(key) else { return try seek(ByteLayout.self, key, sought) }
        let (slot, found) = ByteNode.find(leaf, key)
        return try move(to: sought.slot(slot, found), sought)
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

    private mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, _ key: Layout.Key, _ sought: Sought)
        throws(StorageError) -> Bool
    {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUp(tree, tree.keys)
        guard state.levels > 0 else { return end() }
        var reference = state.root
        var level = state.levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            moved[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        let (slot, found) = Layout.find(page, key)
        return try arrive(
            layout, page, at: sought.slot(slot, found), levels: state.levels, forward: sought.isForward)
    }

    mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, offset: UInt64) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUpCounted(tree, tree.keys)
        guard offset < state.count, state.levels > 0 else { return end() }
        var left = offset
        var reference = state.root
        var level = state.levels - 1
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
            moved[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        guard left < UInt64(page.count) else {
            throw .corrupted(page: reference.page, reason: "the counts above it are not those of its entries")
        }
        take(page, at: Int(left), levels: state.levels)
        return true
    }

    /// Moves to an entry with about the given share of the entries before it: 0 is the first, 1 the last. Returns false
    /// if the tree is empty.
    ///
    /// - Complexity: logarithmic.
    package mutating func seek(share: Double) throws(StorageError) -> Bool {
        switch tree.keys {
        case .integer: try seek(IntegerLayout.self, share: share)
        case .bytes: try seek(ByteLayout.self, share: share)
        }
    }

    private mutating func seek<Layout: NodeLayout>(_ layout: Layout.Type, share: Double) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUp(tree, tree.keys)
        guard state.levels > 0 else { return end() }
        var share = share
        var reference = state.root
        var level = state.levels - 1
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let (slot, rest) = try ChildShares(layout, page, level, frames).child(at: share)
            moved[level] = Step(reference: reference, slot: slot)
            (reference, share) = (Layout.child(page, at: slot), rest)
            level -= 1
        }
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        let slot = max(0, min(page.count - 1, Int(min(max(0, share), 1) * Double(page.count))))
        let before = place
        // A leaf of byte keys may be empty: then take the next entry, or else the last.
        if try arrive(layout, page, at: slot, levels: state.levels, forward: true) { return true }
        do throws(StorageError) { return try goToEdge(layout, last: true) } catch {
            place = before
            throw error
        }
    }

    private mutating func goToEdge<Layout: NodeLayout>(_ layout: Layout.Type, last: Bool) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUp(tree, tree.keys)
        guard state.levels > 0 else { return end() }
        let reference = try descend(layout, from: state.levels - 1, state.root, last: last)
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        return try arrive(layout, page, at: last ? page.count - 1 : 0, levels: state.levels, forward: !last)
    }

    /// Descends from a node to the first or last leaf below it.
    private mutating func descend<Layout: NodeLayout>(
        _ layout: Layout.Type, from start: Int, _ root: PageReference, last: Bool
    ) throws(StorageError) -> PageReference {
        var reference = root
        var level = start
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = last ? page.count - 1 : 0
            moved[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            level -= 1
        }
        return reference
    }

    /// Ends a move at an entry of the leaf to which `moved` leads or, if the slot is outside of it, at the nearest one of
    /// other leaves.
    @inline(__always)
    private mutating func arrive<Layout: NodeLayout>(
        _ layout: Layout.Type, _ page: Page, at slot: Int, levels: Int, forward: Bool
    ) throws(StorageError) -> Bool {
        guard slot >= 0 && slot < page.count else { return try cross(layout, levels: levels, forward: forward) }
        take(page, at: slot, levels: levels)
        return true
    }

    /// Moves from the current leaf to the nearest one with entries. Returns false if there is none.
    private mutating func leave<Layout: NodeLayout>(_ layout: Layout.Type, forward: Bool) throws(StorageError) -> Bool {
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        try snapshot.requireOpen()
        moved.update(from: path, count: levels)
        return try cross(layout, levels: levels, forward: forward)
    }

    /// Ends a move at the nearest leaf with entries beside the one to which `moved` leads. Returns false if there is none.
    private mutating func cross<Layout: NodeLayout>(_ layout: Layout.Type, levels: Int, forward: Bool)
        throws(StorageError) -> Bool
    {
        var level = 1
        while level < levels {
            let page = try frames.resolve(moved[level].reference, type: Layout.innerType, level: level)
            let next = moved[level].slot + (forward ? 1 : -1)
            guard next >= 0 && next < page.count else {
                level += 1
                continue
            }
            moved[level].slot = next
            if level == 1 { readAhead.arrive(layout, at: next, of: page, forward: forward, frames) }
            let reference = try descend(layout, from: level - 1, Layout.child(page, at: next), last: !forward)
            let leaf = try frames.resolve(reference, type: Layout.leafType, level: 0)
            if leaf.count > 0 {
                take(leaf, at: forward ? 0 : leaf.count - 1, levels: levels)
                if forward && level == 1 && next + 1 < page.count {
                    frames.prefetchPage(Layout.child(page, at: next + 1))
                }
                return true
            }
            level = 1
        }
        return end()
    }

    /// Ends a move at an entry of the leaf to which `moved` leads.
    @inline(__always)
    private mutating func take(_ page: Page, at slot: Int, levels: Int) {
        memcpy(leaf, page.base, pageBytes)
        swap(&path, &moved)
        self.levels = levels
        self.slot = slot
        count = page.count
        changes = snapshot.state.pointee.changes
        hasLeaf = true
        place = .entry
    }

    /// Ends a move beyond the first or the last entry.
    private mutating func end() -> Bool {
        place = .outside
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
