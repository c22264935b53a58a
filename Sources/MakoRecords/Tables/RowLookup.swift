import MakoStorage

/// Row lookups in a table with row ids, without retaining the table and the layout, which the caller must keep alive.
@frozen @usableFromInline
package struct RowLookup {
    @usableFromInline let rows: Tree
    @usableFromInline let layout: Unmanaged<RowLayout>

    /// Calls a closure with the row with this id; returns `nil` if there is none.
    @inlinable @inline(__always)
    package func withRow<R>(id: Int64, in view: Snapshot, _ body: (RowReader) throws -> R) throws -> R? {
        try view.withValue(of: UInt64(bitPattern: id) ^ (1 << 63), in: rows) { bytes in
            try layout._withUnsafeGuaranteedRef { try body(RowReader(bytes, $0)) }
        }
    }
}
