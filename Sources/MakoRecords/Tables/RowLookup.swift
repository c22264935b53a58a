import MakoStorage

/// The way to single rows of a table with ids: neither table nor layout count references. Valid as long as both live.
@frozen
public struct RowLookup {
    @usableFromInline let rows: Tree
    @usableFromInline let layout: Unmanaged<RowLayout>

    /// Lends the row with this id, or answers `nil` when there is none.
    @inlinable @inline(__always)
    public func withRow<R>(id: Int64, in view: Snapshot, _ body: (RowReader) throws -> R) throws -> R? {
        try view.withValue(of: UInt64(bitPattern: id) ^ (1 << 63), in: rows) { bytes in
            try layout._withUnsafeGuaranteedRef { try body(RowReader(bytes, $0)) }
        }
    }
}
