import MakoStorage

// The entries of an index are keys of a byte tree:
//
//   columns   the sortable encoding of each column (KeyBuffer); above 800 bytes the first 784 and a 128-bit hash of the
//             rest
//   row       the row's key, which makes entries distinct: a row id as 8 big-endian bytes, a byte key up to 64 bytes as
//             it is, a longer one as a 128-bit hash. Omitted in a unique index if no column is NULL and nothing is
//             truncated, so that equal values have the same entry.
//
// A spatial index has the number of the place's cell (SpaceCurve) as 8 big-endian bytes instead of the columns.
//
// The value of an entry is the row's key if the entry does not contain it (unique indexes, tables with byte keys),
// otherwise empty.

/// An open index of a table. A class, so that iterating a table's indexes retains one reference for each.
final class IndexHandle: Sendable {
    struct Part: Sendable {
        let slot: ColumnSlot
        let descending: Bool
        let noCase: Bool
    }

    /// What an entry does not contain.
    struct Form {
        var hasNull = false
        var isCut = false
    }

    static let columnLimit = 800
    static let keptBytes = 784
    static let longRowKey = 64

    let id: UInt32
    let schema: IndexSchema
    let isUnique: Bool
    let tree: Tree
    let parts: [Part]
    let columns: ColumnSet
    /// Whether the value of an entry is the row's key.
    let hasKeyInValue: Bool
    let isSpatial: Bool
    /// The condition of a partial index; `nil` for an index of all rows.
    let condition: (any RowCondition)?
    /// Whether it has an entry for each row, sorted by its columns.
    var isPlain: Bool { condition == nil && !isSpatial }

    /// - Parameter layout: that of all live columns of the table.
    init(
        _ stored: TableRecord.Index, _ tree: Tree, _ layout: RowLayout, isRowID: Bool, _ condition: (any RowCondition)?
    ) {
        id = stored.id
        schema = stored.schema
        self.tree = tree
        self.condition = condition
        parts = stored.schema.columns.compactMap { column in
            layout.position(of: column.name).map {
                Part(slot: layout.slots[$0], descending: column.descending, noCase: column.noCase)
            }
        }
        var columns = condition?.columns ?? ColumnSet()
        for part in parts { columns.insert(Int(part.slot.ordinal)) }
        self.columns = columns
        isSpatial = schema.isSpatial && parts.count == 2
        isUnique = schema.isUnique
        hasKeyInValue = isUnique || !isRowID
    }

    /// Returns whether the index holds a row.
    @inline(__always)
    func holds(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        guard let condition else { return true }
        return try condition.holds(row, key)
    }

    /// Encodes the columns, truncated if necessary.
    @discardableResult
    func encodeColumns(_ row: RowReader, into buffer: inout KeyBuffer) -> Form {
        buffer.clear()
        var form = appendUncut(row, to: &buffer)
        form.isCut = IndexHandle.cut(&buffer, from: 0)
        return form
    }

    /// Encodes the columns, without truncation.
    @discardableResult
    func encodeUncut(_ row: RowReader, into buffer: inout KeyBuffer) -> Form {
        buffer.clear()
        return appendUncut(row, to: &buffer)
    }

    private func appendUncut(_ row: RowReader, to buffer: inout KeyBuffer) -> Form {
        var form = Form()
        if isSpatial {
            buffer.append(bigEndian: SpaceCurve.cell(row, parts[0].slot, parts[1].slot))
            return form
        }
        for part in parts {
            let start = buffer.count
            if row.address(part.slot) == nil { form.hasNull = true }
            buffer.append(row, part.slot, noCase: part.noCase)
            if part.descending { buffer.complement(from: start) }
        }
        return form
    }

    /// Truncates an encoding that is too long for the engine, and appends a hash of the rest.
    private static func cut(_ buffer: inout KeyBuffer, from start: Int) -> Bool {
        guard buffer.count - start > columnLimit else { return false }
        let (high, low) = KeyHash.hash(buffer.raw(from: start + keptBytes, to: buffer.count))
        buffer.truncate(to: start + keptBytes)
        buffer.append(bigEndian: high)
        buffer.append(bigEndian: low)
        return true
    }

    /// Encodes the entry of a row.
    @discardableResult
    func encodeEntry(_ row: RowReader, _ key: RowKey, into buffer: inout KeyBuffer) -> Form {
        buffer.clear()
        return appendEntry(row, key, to: &buffer)
    }

    /// Appends the encoded entry of a row.
    func appendEntry(_ row: RowReader, _ key: RowKey, to buffer: inout KeyBuffer) -> Form {
        let start = buffer.count
        var form = appendUncut(row, to: &buffer)
        form.isCut = IndexHandle.cut(&buffer, from: start)
        if isUnique && !form.hasNull && !form.isCut { return form }
        switch key {
        case .rowID(let id):
            buffer.append(bigEndian: KeyOrder.treeKey(id))
        case .bytes(let bytes) where bytes.count <= IndexHandle.longRowKey:
            bytes.withUnsafeBytes { buffer.append(raw: $0) }
        case .bytes(let bytes):
            KeyHash.append(of: bytes, to: &buffer)
        }
        return form
    }

    /// Returns the value of an entry.
    func entryValue(_ key: RowKey) -> [UInt8] {
        var buffer = KeyBuffer()
        appendValue(key, to: &buffer)
        return buffer.bytes
    }

    /// Appends the value of an entry.
    func appendValue(_ key: RowKey, to buffer: inout KeyBuffer) {
        guard hasKeyInValue else { return }
        switch key {
        case .rowID(let id): buffer.append(bigEndian: KeyOrder.treeKey(id))
        case .bytes(let bytes): bytes.withUnsafeBytes { buffer.append(raw: $0) }
        }
    }

    /// Returns the key of an entry's row.
    func rowKey(ofValue value: [UInt8], isRowID: Bool, table: String) throws(RecordError) -> RowKey {
        guard isRowID else { return .bytes(value) }
        guard value.count == 8 else {
            throw .indexDamaged(table: table, index: schema.name, reason: "an entry does not name a row")
        }
        return .rowID(KeyOrder.rowID(value.reduce(0) { $0 << 8 | UInt64($1) }))
    }
}

extension SpaceCurve {
    /// Returns the cell of the place in two columns of a row.
    fileprivate static func cell(_ row: RowReader, _ latitude: ColumnSlot, _ longitude: ColumnSlot) -> UInt64 {
        guard case .double(let latitude) = Operand(row, latitude), case .double(let longitude) = Operand(row, longitude)
        else { return nowhere }
        return cell(latitude, longitude)
    }
}
