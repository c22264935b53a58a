/// The columns of a row, each set by its position in the layout.
extension RowWriter {
    /// Sets an integer or a reference.
    public mutating func set(_ position: Int, _ number: Int64) {
        guard let slot = slot(position) else { return }
        switch slot.type {
        case .integer, .reference: store(slot, UInt64(bitPattern: number))
        case .unsigned where number >= 0: store(slot, UInt64(bitPattern: number))
        default: refuse(position, "integer \(number)")
        }
    }

    /// Sets an unsigned number.
    public mutating func set(_ position: Int, _ number: UInt64) {
        guard let slot = slot(position) else { return }
        switch slot.type {
        case .unsigned: store(slot, number)
        case .integer where number >> 63 == 0: store(slot, number)
        default: refuse(position, "unsigned \(number)")
        }
    }

    /// Sets a double.
    public mutating func set(_ position: Int, _ number: Double) {
        guard let slot = slot(position) else { return }
        guard slot.type == .double else { return refuse(position, "double") }
        store(slot, number.bitPattern)
    }

    /// Sets a date, in seconds since 2001-01-01 UTC.
    public mutating func setDate(_ position: Int, _ seconds: Double) {
        guard let slot = slot(position) else { return }
        guard slot.type == .date else { return refuse(position, "date") }
        store(slot, seconds.bitPattern)
    }

    /// Sets a boolean.
    public mutating func set(_ position: Int, _ flag: Bool) {
        guard let slot = slot(position) else { return }
        guard slot.type == .bool else { return refuse(position, "bool") }
        base.storeBytes(of: flag ? 1 : 0, toByteOffset: Int(slot.offset), as: UInt8.self)
        mark(slot)
    }

    /// Sets a UUID by its two halves.
    public mutating func setUUID(_ position: Int, high: UInt64, low: UInt64) {
        guard let slot = slot(position) else { return }
        guard slot.type == .uuid else { return refuse(position, "uuid") }
        store(slot, high)
        base.storeBytes(of: low.littleEndian, toByteOffset: Int(slot.offset) + 8, as: UInt64.self)
    }

    /// Sets a text.
    public mutating func set(_ position: Int, _ text: String) {
        // Nearly every string is contiguous UTF-8; a copy costs two reference counts.
        if text.utf8.withContiguousStorageIfAvailable({ setText(position, utf8: UnsafeRawBufferPointer($0)) }) != nil {
            return
        }
        var copy = text
        copy.withUTF8 { setText(position, utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Sets a text from its UTF-8 bytes.
    public mutating func setText(_ position: Int, utf8: UnsafeRawBufferPointer) {
        guard let slot = slot(position) else { return }
        guard slot.type == .text else { return refuse(position, "text") }
        store(slot, content: utf8)
    }

    /// Sets a blob or keys from the bytes.
    public mutating func set(_ position: Int, _ bytes: UnsafeRawBufferPointer) {
        guard let slot = slot(position) else { return }
        guard slot.type == .blob || slot.type == .keys else { return refuse(position, "blob") }
        store(slot, content: bytes)
    }

    /// Sets a blob or keys.
    public mutating func set(_ position: Int, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { set(position, $0) }
    }

    /// Returns the position of a part, see ``RowLayout/position(ofPart:at:)``.
    package func position(ofPart part: Int, at position: Int) -> Int {
        layout?.position(ofPart: part, at: position) ?? -1
    }

    /// Sets NULL.
    public mutating func setNull(_ position: Int) {
        guard let slot = slot(position) else { return }
        storeNull(slot)
    }

    /// Sets all columns of a position to NULL.
    public mutating func setNullParts(_ position: Int) {
        setNull(position)
        guard let layout else { return }
        for part in 0..<layout.furtherCount(at: position) {
            setNull(layout.position(ofPart: part + 1, at: position))
        }
    }

    /// Unsets those of some columns that are NULL, with their further parts: an update keeps the stored values.
    ///
    /// - Parameter positions: positions of the layout from the start on, as bits.
    package mutating func unsetNulls(_ positions: UInt64, from start: Int = 0) {
        var rest = positions
        while rest != 0 {
            let position = start + rest.trailingZeroBitCount
            rest &= rest - 1
            guard let slot = slot(position), isNull(Int(slot.ordinal)), let layout else { continue }
            for part in 0...layout.furtherCount(at: position) {
                if let slot = self.slot(layout.position(ofPart: part, at: position)) { clearMark(Int(slot.ordinal)) }
            }
        }
    }

    private mutating func clearMark(_ ordinal: Int) {
        if ordinal < 64 {
            nulls &= ~(1 << UInt64(ordinal))
            unset |= 1 << UInt64(ordinal)
        } else {
            wideMarks[ordinal - 64] = 0
        }
    }

    /// Sets a dynamic value; one of another type is converted if that is lossless (see ``ColumnType/coerced(_:)``).
    public mutating func set(_ position: Int, _ value: Value) {
        guard let slot = slot(position) else { return }
        if slot.type != .blob, slot.type.holds(value) { return store(slot, value) }
        if slot.type == .blob, !value.isNull, let layout, let column = layout.column(position), column.sealedType != nil
        {
            return fail(.valueSealed(table: layout.table, column: column.name, .missing))
        }
        guard let fitting = slot.type.coerced(value) else { return refuse(position, "\(value.typeName) \(value)") }
        switch fitting {
        case .null: setNull(position)
        case .bool(let flag): set(position, flag)
        case .integer(let number): set(position, number)
        case .unsigned(let number): set(position, number)
        case .double(let number): set(position, number)
        case .text(let text): set(position, text)
        case .blob(let bytes): set(position, bytes)
        case .date(let seconds): setDate(position, seconds)
        case .uuid(let high, let low): setUUID(position, high: high, low: low)
        }
    }
}
