import MakoRecords

// An object retains the row it was read from until its texts and blobs are decoded, on first access; most objects of a
// fetch never need them. The bits of the pending properties precede the row. The object's lock guards all of it.

extension ObjectState {
    /// Returns whether one of these properties is not decoded yet.
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

    /// Decodes the pending ones of some properties and clears their pending bits.
    ///
    /// - Parameter body: receives the properties to decode, and the borrowed row.
    /// - Parameter properties: a bit for each property.
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
        if pending == wanted { releaseRow() }
    }

    /// Clears the pending bits of properties that get values from elsewhere.
    public mutating func drop(_ properties: UInt64) { decode(properties) { _, _ in } }
}
