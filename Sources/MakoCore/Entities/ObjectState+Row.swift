import MakoRecords

// The row an object was read from, as long as texts or blobs stand there only: they are decoded when they are asked for, which most of
// the objects of a fetch never see. Which they are stands before the row; all of it is reached under the object's lock.

extension ObjectState {
    /// Whether one of these properties stands in the row only.
    @inlinable @inline(__always)
    public mutating func isPending(_ properties: UInt64) -> Bool {
        if bits & Marks.inRow.rawValue == 0 { return false }
        if case .rows(let rows) = held { return rows.pending(at: offset) & properties != 0 }
        return isInRow(properties)
    }

    @usableFromInline
    mutating func isInRow(_ properties: UInt64) -> Bool { (rows?.pending(at: offset) ?? 0) & properties != 0 }

    @inlinable var offset: UInt16 {
        UInt16(truncatingIfNeeded: bits >> ObjectState.offsetShift & ObjectState.offsetMask) << 3
    }

    /// Lends the row, so that those of the properties that stand there only are decoded, which they count as afterwards.
    ///
    /// - Parameter body: gets the properties to decode.
    @inlinable @inline(__always)
    public mutating func decode(_ properties: UInt64, _ body: (UInt64, RowReader) -> Void) {
        if isPending(properties) { decodePending(properties, body) }
    }

    @inlinable
    mutating func decodePending(_ properties: UInt64, _ body: (UInt64, RowReader) -> Void) {
        guard let rows else { return }
        let pending = rows.pending(at: offset)
        let wanted = pending & properties
        rows.withRow(at: offset) { body(wanted, $0) }
        rows.setPending(pending & ~wanted, at: offset)
        if pending == wanted { letGoOfRow() }
    }

    /// Gives these properties' part in the row up: they get values from elsewhere.
    public mutating func drop(_ properties: UInt64) { decode(properties) { _, _ in } }
}
