import Synchronization

/// Bytes borrowed from a snapshot; only for the inlined functions of ``Snapshot`` and ``Cursor``.
public struct _BorrowedValue {
    /// The first byte; nil without a value.
    public let start: UnsafeRawPointer?
    /// The number of bytes.
    public let count: Int
    /// The epoch cell to clear at the end of the borrow.
    @usableFromInline let entry: UnsafeMutableRawPointer?
    /// Memory that the borrow owns.
    @usableFromInline let owner: UnsafeMutableRawPointer?

    /// The bytes, until the end of the borrow.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    @usableFromInline
    init(start: UnsafeRawPointer?, count: Int, entry: UnsafeMutableRawPointer?, owner: UnsafeMutableRawPointer?) {
        self.start = start
        self.count = count
        self.entry = entry
        self.owner = owner
    }

    /// Ends the borrow. Its bytes must not be read afterwards.
    @inlinable
    func end() {
        owner?.deallocate()
        entry?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}
