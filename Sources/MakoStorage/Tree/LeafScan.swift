import CPlatform

/// A scan of a tree's leaves for the inlined loops below. Each leaf is borrowed in place, in an operation epoch that
/// lasts until the next leaf. For one thread at a time, without dynamic exclusivity checks.
public final class _LeafScan {
    private let snapshot: Snapshot
    // Stored here, because a read through the snapshot would touch a reference count that all readers share.
    private let frames: FrameStore
    private let tree: Tree
    private let levels: Int
    private let path: UnsafeMutablePointer<Step>
    @exclusivity(unchecked) private var entry: Epochs.Entry = nil
    @exclusivity(unchecked) private var next: PageReference?
    @exclusivity(unchecked) private var first: Int
    /// The number of leaves borrowed so far.
    @exclusivity(unchecked) private var borrowedLeaves = 0
    @exclusivity(unchecked) private var readAhead = ReadAhead()
    /// The current leaf, borrowed.
    @exclusivity(unchecked) private var leaf: Page?
    /// The error that ended the scan: its path then leads to no leaf.
    @exclusivity(unchecked) private var failure: StorageError?
    private let key: UnsafeMutableRawPointer

    private struct Step {
        var reference: PageReference
        var slot: Int
    }

    /// The entries of a leaf from `first` to before `count`.
    @frozen
    public struct Leaf {
        /// The page with the records.
        public let page: UnsafeRawPointer
        /// The keys of an integer tree.
        public let keys: UnsafePointer<UInt64>
        /// The offsets of the records in the page.
        public let slots: UnsafePointer<UInt16>
        /// The first entry of the scan in this leaf.
        public let first: Int
        /// The number of entries of the leaf.
        public let count: Int
        /// Memory for the current key of a byte tree; it holds the shared prefix, with space for a suffix.
        public let key: UnsafeMutableRawPointer
        /// The length of the shared prefix in bytes.
        public let prefix: Int
    }

    init(_ snapshot: Snapshot, _ tree: Tree, integer: UInt64, bytes: [UInt8]) throws(StorageError) {
        self.snapshot = snapshot
        frames = snapshot.frames
        self.tree = tree
        path = .allocate(capacity: Limits.levels + 1)
        // Integer keys are read in place and need no memory.
        key = tree.keys == .bytes ? .allocate(byteCount: 1024, alignment: 16) : UnsafeMutableRawPointer(path)
        first = 0
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        let state = try snapshot.lookUp(tree, tree.keys)
        levels = state.levels
        guard levels > 0 else { return }
        switch tree.keys {
        case .integer: try descend(IntegerLayout.self, state.root, integer)
        case .bytes:
            try bytes.withUnsafeBytes { bytes in
                result { () throws(StorageError) in try descend(ByteLayout.self, state.root, addressed(bytes)) }
            }.get()
        }
    }

    deinit {
        if tree.keys == .bytes { key.deallocate() }
        path.deallocate()
    }

    private func descend<Layout: NodeLayout>(_ layout: Layout.Type, _ root: PageReference, _ key: Layout.Key)
        throws(StorageError)
    {
        var reference = root
        var level = levels - 1
        var guess = 0
        while level > 0 {
            let page = try frames.resolve(reference, type: Layout.innerType, level: level)
            let slot = Layout.childSlot(page, key)
            path[level] = Step(reference: reference, slot: slot)
            reference = Layout.child(page, at: slot)
            if level == 1 { guess = Layout.likelyOffset(of: key, inChildAt: slot, of: page) }
            level -= 1
        }
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        Layout.prefetchLeaf(page)
        if guess != 0 { frames.prefetchRecords(page, endingAt: guess) }
        first = Layout.find(page, key).slot
        next = reference
    }

    /// Ends the borrow of the current leaf and borrows the next one. Returns nil at the end.
    public func _advance() throws(StorageError) -> Leaf? {
        _end()
        if let failure { throw failure }
        guard let reference = next else { return nil }
        entry = Epochs.enter()
        do throws(StorageError) {
            try snapshot.requireOpen()
            switch tree.keys {
            case .integer: return try borrow(IntegerLayout.self, reference)
            case .bytes: return try borrow(ByteLayout.self, reference)
            }
        } catch {
            _end()
            failure = error
            throw error
        }
    }

    /// Ends the borrow of the current leaf.
    public func _end() {
        Epochs.leave(entry)
        entry = nil
        leaf = nil
    }

    private func borrow<Layout: NodeLayout>(_ layout: Layout.Type, _ reference: PageReference) throws(StorageError)
        -> Leaf
    {
        let page = try frames.resolve(reference, type: Layout.leafType, level: 0)
        leaf = page
        borrowedLeaves &+= 1
        next = try follower(layout)
        let count = page.count
        defer { first = 0 }
        if tree.keys == .integer {
            return Leaf(
                page: UnsafeRawPointer(page.base), keys: UnsafePointer(IntegerNode.keys(page.base)),
                slots: UnsafePointer(IntegerNode.slots(page.base, count: count)), first: first, count: count, key: key,
                prefix: 0)
        }
        let prefix = page.prefix
        if prefix > 0, let fence = ByteNode.lower(page.base).baseAddress { memcpy(key, fence, prefix) }
        return Leaf(
            page: UnsafeRawPointer(page.base), keys: UnsafePointer(IntegerNode.keys(page.base)),
            slots: UnsafePointer(ByteNode.slots(page.base, count: count)), first: first, count: count, key: key,
            prefix: prefix)
    }

    /// Returns the leaf after the current one, and prefetches it.
    private func follower<Layout: NodeLayout>(_ layout: Layout.Type) throws(StorageError) -> PageReference? {
        var level = 1
        while level < levels {
            let page = try frames.resolve(path[level].reference, type: Layout.innerType, level: level)
            path[level].slot += 1
            guard path[level].slot < page.count else {
                level += 1
                continue
            }
            var node = page
            while level > 1 {
                level -= 1
                let reference = Layout.child(node, at: path[level + 1].slot)
                path[level] = Step(reference: reference, slot: 0)
                node = try frames.resolve(reference, type: Layout.innerType, level: level)
            }
            let reference = Layout.child(node, at: path[1].slot)
            readAhead.arrive(layout, at: path[1].slot, of: node, forward: true, frames)
            if borrowedLeaves > 2 {
                prefetch(layout, from: path[1].slot, of: node)
            } else {
                frames.prefetchScan(reference)
            }
            return reference
        }
        return nil
    }

    /// Prefetches whole leaves for a scan that has passed enough leaves that it will probably continue.
    ///
    /// The processor drops prefetches while too many lines are in flight, and a leaf has more lines than that. So each
    /// leaf is prefetched four times, with the work on another leaf in between, and in both directions.
    @inline(__always)
    private func prefetch<Layout: NodeLayout>(_ layout: Layout.Type, from slot: Int, of node: Page) {
        let count = node.count
        if slot &+ 1 < count { frames.prefetchDownwards(Layout.child(node, at: slot &+ 1)) }
        if slot &+ 2 < count { frames.prefetchDownwards(Layout.child(node, at: slot &+ 2)) }
        if slot &+ 3 < count { frames.prefetchDownwards(Layout.child(node, at: slot &+ 3)) }
        frames.prefetchAll(Layout.child(node, at: slot))
    }

    /// Returns the value of an entry on overflow pages.
    public func _overflow(_ slot: Int) throws(StorageError) -> [UInt8] {
        guard let leaf else { return [] }
        return try snapshot.bytes(
            tree.keys == .integer ? IntegerNode.record(leaf.base, slot) : ByteNode.record(leaf.base, slot))
    }
}

/// Copies a few bytes in words, because a call for each row costs more than the copy.
@inlinable @inline(__always)
func copyShort(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, _ count: Int) {
    guard count >= 8, count <= 64 else { return target.copyMemory(from: source, byteCount: count) }
    var offset = 0
    while offset < count &- 8 {
        target.storeBytes(
            of: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: offset, as: UInt64.self)
        offset &+= 8
    }
    let last = count &- 8
    target.storeBytes(
        of: source.loadUnaligned(fromByteOffset: last, as: UInt64.self), toByteOffset: last, as: UInt64.self)
}

extension Snapshot {
    /// Calls `body` with the key and the value's bytes of every entry from `start` on, in key order, until it returns
    /// false.
    ///
    /// The fastest scan of a tree: nothing is copied. The bytes are valid until `body` returns. In the view of a write
    /// transaction the tree must not be changed meanwhile; use a ``Cursor`` for that.
    ///
    /// ```swift
    /// var bytes = 0
    /// try snapshot.forEach(in: events, from: 1_000) { key, value in
    ///     bytes += value.count
    ///     return key < 2_000
    /// }
    /// ```
    @inlinable
    public func forEach(
        in tree: Tree, from start: UInt64 = 0, _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let scan = try _leafScan(tree, .integer, integer: start, bytes: [])
        defer { scan._end() }
        while let leaf = try scan._advance() {
            var slot = leaf.first
            while slot < leaf.count {
                let record = leaf.page + Int(leaf.slots[slot])
                let length = Int(record.loadUnaligned(as: UInt16.self))
                let goesOn =
                    length & 0x8000 == 0
                    ? try body(leaf.keys[slot], UnsafeRawBufferPointer(start: record + 2, count: length))
                    : try scan._overflow(slot).withUnsafeBytes { try body(leaf.keys[slot], $0) }
                if !goesOn { return }
                slot &+= 1
            }
        }
    }

    /// Calls `body` as ``forEach(in:from:_:)-(_,UInt64,_)`` does, with values that stay valid until the next call of
    /// `finish`, for work on many values at once. `finish` is called before the values become invalid, and at least
    /// once after the last value unless a closure throws.
    @inlinable
    public func forEach(
        in tree: Tree, from start: UInt64, _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool,
        finish: () throws -> Void
    ) throws {
        let scan = try _leafScan(tree, .integer, integer: start, bytes: [])
        defer { scan._end() }
        while let leaf = try scan._advance() {
            var slot = leaf.first
            while slot < leaf.count {
                let record = leaf.page + Int(leaf.slots[slot])
                let length = Int(record.loadUnaligned(as: UInt16.self))
                let goesOn: Bool
                if length & 0x8000 == 0 {
                    goesOn = try body(leaf.keys[slot], UnsafeRawBufferPointer(start: record + 2, count: length))
                } else {
                    goesOn = try scan._overflow(slot).withUnsafeBytes { bytes in
                        let goesOn = try body(leaf.keys[slot], bytes)
                        try finish()
                        return goesOn
                    }
                }
                if !goesOn { return try finish() }
                slot &+= 1
            }
            try finish()
        }
    }

    /// Calls `body` with the bytes of key and value of every entry from `start` on, in key order, until it returns
    /// false. Both are valid until `body` returns; see ``forEach(in:from:_:)-(_,UInt64,_)``.
    @inlinable
    public func forEach(
        in tree: Tree, from start: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let scan = try _leafScan(tree, .bytes, integer: 0, bytes: start)
        defer { scan._end() }
        while let leaf = try scan._advance() {
            let suffix = leaf.key + leaf.prefix
            var slot = leaf.first
            while slot < leaf.count {
                let record = leaf.page + Int(leaf.slots[slot])
                let lengths = record.loadUnaligned(as: UInt32.self)
                let suffixBytes = Int(lengths & 0xffff)
                copyShort(record + 4, to: suffix, suffixBytes)
                let key = UnsafeRawBufferPointer(start: leaf.key, count: leaf.prefix + suffixBytes)
                let goesOn =
                    lengths & 0x8000_0000 == 0
                    ? try body(
                        key, UnsafeRawBufferPointer(start: record + 4 + suffixBytes, count: Int(lengths &>> 16)))
                    : try scan._overflow(slot).withUnsafeBytes { try body(key, $0) }
                if !goesOn { return }
                slot &+= 1
            }
        }
    }

    public func _leafScan(_ tree: Tree, _ kind: KeyKind, integer: UInt64, bytes: [UInt8]) throws(StorageError)
        -> _LeafScan
    {
        guard tree.keys == kind else { throw .wrongKeyKind(tree: "number \(tree.id)", expected: tree.keys) }
        return try _LeafScan(self, tree, integer: integer, bytes: bytes)
    }
}
