import MakoRecords

/// The row an object was read from, as long as texts or blobs stand there only: they are decoded when they are asked for, which most of
/// the objects of a fetch never see. Reached under the object's lock.
@frozen
public struct LazyRow: Sendable {
    /// The properties that were not decoded yet, bit 0 being the first column.
    @usableFromInline var pending: UInt64
    /// What the row stands in; nil when nothing is pending. Where it stands there is in the object's notes, which have room for it.
    @usableFromInline var rows: RowChunk?

    /// No row: the object is new.
    @inlinable @inline(__always)
    public init() {
        pending = 0
    }

    @inlinable @inline(__always)
    public init(_ row: EntityRow) {
        pending = row.pending
        rows = row.rows
    }

    /// A row some of whose properties are another class's of the same object.
    @inlinable @inline(__always)
    public init(_ row: EntityRow, _ properties: UInt64) {
        pending = row.pending & properties
        rows = pending == 0 ? nil : row.rows
    }

    /// Whether one of these properties stands in the row only.
    @inlinable @inline(__always)
    public func isPending(_ properties: UInt64) -> Bool { pending & properties != 0 }

    /// Lends the row, so that those of the properties that stand there only are decoded, which they count as afterwards.
    ///
    /// - Parameters:
    ///   - state: of the object.
    ///   - body: gets the properties to decode.
    @inlinable
    public mutating func decode(
        _ properties: UInt64, _ state: borrowing ObjectState, _ body: (UInt64, RowReader) -> Void
    ) {
        let wanted = pending & properties
        guard wanted != 0, let rows else { return }
        rows.withRow(at: state.rowOffset) { body(wanted, $0) }
        pending &= ~wanted
        if pending == 0 { self.rows = nil }
    }

    /// Gives the row up: all properties get values from elsewhere.
    @inlinable
    public mutating func drop() {
        pending = 0
        rows = nil
    }
}
