extension Store {
    /// Returns a view of the latest commit, which does not change until it is released or closed. Takes about 100 ns.
    ///
    /// - Parameter label: the label in ``StoreStats/oldestSnapshot``.
    public func snapshot(label: String? = nil) throws(StorageError) -> Snapshot {
        try takeSnapshot(hasAge: true, label)
    }

    /// - Parameters:
    ///   - hasAge: whether the age limit applies.
    ///   - isBorrowed: whether the caller keeps the store alive while the snapshot is used, and then ends the borrow.
    func takeSnapshot(hasAge: Bool, _ label: String?, isBorrowed: Bool = false) throws(StorageError) -> Snapshot {
        try requireOpen()
        return try claimSnapshot(hasAge: hasAge, label, isBorrowed: isBorrowed)
    }

    /// Takes a snapshot for a copy. Returns nil if the newest commit is another store's, the successor of this one.
    func takeOwnSnapshot(_ label: String) throws(StorageError) -> Snapshot? {
        let snapshot = try takeSnapshot(hasAge: false, label)
        // Released, not closed, where it is not: the close would wait for readers under the caller's locks.
        return snapshot.store.toOpaque() == Unmanaged.passUnretained(self).toOpaque() ? snapshot : nil
    }

    /// Takes a snapshot, of a suspended store too once its version is published again.
    @inline(__always)
    func claimSnapshot(hasAge: Bool, _ label: String?, isBorrowed: Bool = false) throws(StorageError) -> Snapshot {
        guard let slot = snapshots.claim(hasAge: hasAge, label: label) else {
            throw .invalidArgument("too many snapshots are open")
        }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        while true {
            let address = versions.published.load(ordering: .sequentiallyConsistent)
            guard let pointer = UnsafeRawPointer(bitPattern: address) else {
                snapshots.release(slot)
                // `resume()` publishes the version before it ends the suspension.
                if follower == nil { return try takeSnapshot(hasAge: hasAge, label, isBorrowed: isBorrowed) }
                return try successorSnapshot()
            }
            let version = Unmanaged<Version>.fromOpaque(pointer)
            slot.pointee.point.store(version._withUnsafeGuaranteedRef { $0.point }, ordering: .sequentiallyConsistent)
            if versions.published.load(ordering: .sequentiallyConsistent) == address {
                return version._withUnsafeGuaranteedRef { version in
                    Snapshot(version: version, slot: slot, store: self, isBorrowed: isBorrowed)
                }
            }
        }
    }

    /// Calls `body` with a snapshot of the latest commit.
    ///
    /// - Returns: the result of `body`.
    /// - Throws: ``StorageError/closed(path:)`` and the errors of `body`.
    public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
        var snapshot = try takeSnapshot(hasAge: true, nil, isBorrowed: true)
        defer { withExtendedLifetime(self) { Snapshot.endBorrow(of: &snapshot, keeping: self) } }
        return try body(snapshot)
    }
}
