import MakoStorage

/// Encodes one side of join equations, so that equal values have equal bytes.
struct JoinKeyCoding {
    private let values: ExpressionExecutor
    private let rounded: [Bool]

    init(_ values: ExpressionExecutor, _ rounded: [Bool]) {
        self.values = values
        self.rounded = rounded
    }

    /// Returns `false` if a value is NULL, which equals nothing.
    func append(_ row: RowReader, _ key: RowKey, to buffer: inout KeyBuffer) throws(RecordError) -> Bool {
        for index in rounded.indices {
            let operand = try values.operand(index, row, key)
            if operand.isNull { return false }
            if rounded[index], let number = operand.asDouble {
                buffer.append(number)
            } else {
                buffer.append(operand)
            }
        }
        return true
    }
}

extension JoinStep {
    /// Returns the encodings of a hash join's key: of the table's own rows, and of the outer rows.
    func keyCodings(
        _ equalities: [JoinEquality], _ joins: [JoinNode], _ view: Snapshot, _ supply: RowContext
    ) -> (inner: JoinKeyCoding, outer: JoinKeyCoding) {
        let nodes = JoinSources(joins).local(source)
        let inner = ExpressionExecutor(bound: equalities.map { nodes.expr($0.inner) }, own.table, nodes.joins, view)
        let outer = ExpressionExecutor(bound: equalities.map(\.outer), nil, joins, view, supply)
        let rounded = equalities.map(\.isRounded)
        return (JoinKeyCoding(inner, rounded), JoinKeyCoding(outer, rounded))
    }
}

/// Encodes the key by which rows are looked up, from the outer rows.
final class JoinKey {
    private let parts: [JoinKeyPart]
    private let values: ExpressionExecutor
    private let supply: RowContext
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    @exclusivity(unchecked) private(set) var bytes: [UInt8] = []

    init(_ parts: [JoinKeyPart], _ joins: [JoinNode], _ view: Snapshot, _ supply: RowContext) {
        self.parts = parts
        values = ExpressionExecutor(bound: parts.map(\.origin.expr), nil, joins, view, supply)
        self.supply = supply
    }

    /// Calls a closure with the row of a table with this key, if there is one.
    func withRow(
        of table: TableHandle, in view: Snapshot, _ body: (UnsafeRawBufferPointer, Int64) throws -> Void
    ) throws {
        if table.isRowID {
            guard case .integer(let id)? = try values.operand(0, supply.blank, .rowID(0)).fitting(.integer) else {
                return
            }
            _ = try view.withValue(of: KeyOrder.treeKey(id), in: table.rows) { try body($0, id) }
        } else if try encode(), bytes.count <= TableHandle.longestKey {
            _ = try view.withValue(of: bytes, in: table.rows) { try body($0, 0) }
        }
    }

    /// Returns the row key that a column of keys may hold; `nil` if there is none.
    func rowKey(isRowID: Bool) throws -> RowKey? {
        if !isRowID { return try encode() ? .bytes(bytes) : nil }
        guard case .integer(let id)? = try values.operand(0, supply.blank, .rowID(0)).fitting(.integer) else {
            return nil
        }
        return .rowID(id)
    }

    /// Returns the first bytes of the key, valid until the next one is encoded.
    func beginning(_ count: Int) -> UnsafeRawBufferPointer { buffer.raw(from: 0, to: count) }

    /// Encodes the key. Returns `false` if no row can have it.
    func encode() throws(RecordError) -> Bool {
        buffer.clear()
        for (index, part) in parts.enumerated() {
            let operand = try values.operand(index, supply.blank, .rowID(0))
            guard let operand = operand.fitting(part.type) else { return false }
            let start = buffer.count
            buffer.append(operand, noCase: part.noCase)
            if part.descending { buffer.complement(from: start) }
        }
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: buffer.raw)
        return true
    }
}

extension Operand {
    /// Returns the value in a column's type; `nil` if no row can have it.
    func fitting(_ type: ColumnType) -> Operand? {
        if isNull { return nil }
        switch type {
        case .integer, .reference, .unsigned:
            guard case .double(let number) = self else { return self }
            if let whole = Int64(exactly: number) { return .integer(whole) }
            return UInt64(exactly: number).map { .unsigned($0) }
        case .double:
            guard let whole = asWhole, let number = asDouble else { return self }
            return Int128(exactly: number) == whole ? .double(number) : nil
        default: return self
        }
    }
}

/// Looks up rows in an index, by a prefix of its key.
final class JoinIndexScan {
    private let index: IndexHandle
    private let table: TableHandle
    private let key: JoinKey
    private let view: Snapshot
    @exclusivity(unchecked) private var cursor: Cursor
    @exclusivity(unchecked) private var found: [UInt64] = []
    @exclusivity(unchecked) private var keys: [[UInt8]] = []

    init(_ index: IndexHandle, _ table: TableHandle, _ key: JoinKey, _ view: Snapshot) throws {
        self.index = index
        self.table = table
        self.key = key
        self.view = view
        cursor = try view.cursor(in: index.tree)
    }

    /// Calls a closure with the rows that have the key's values, until it returns `false`.
    func forEachRow(_ body: (UnsafeRawBufferPointer, Int64) throws -> Bool) throws {
        guard try key.encode() else { return }
        try collect()
        var goesOn = true
        if table.isRowID {
            let ids = found
            try view.withValues(of: ids, in: table.rows) { place, bytes in
                guard goesOn else { return }
                let id = KeyOrder.rowID(ids[place])
                guard let bytes else { throw missing(.rowID(id)) }
                goesOn = try body(bytes, id)
            }
        } else {
            let keys = keys
            for key in keys where goesOn {
                let isThere: Void? = try view.withValue(of: key, in: table.rows) { goesOn = try body($0, 0) }
                if isThere == nil { throw missing(.bytes(key)) }
            }
        }
    }

    private func missing(_ key: RowKey) -> RecordError {
        .indexDamaged(
            table: table.schema.name, index: index.schema.name,
            reason: "it names row \(key.text(in: table.schema)), which is not there")
    }

    /// Collects the keys of the rows that the index's entries name. Entries hold long keys truncated.
    private func collect() throws {
        found.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        let count = min(key.bytes.count, IndexHandle.keptBytes)
        var isThere = try cursor.seek(count == key.bytes.count ? key.bytes : Array(key.bytes.prefix(count)))
        while isThere {
            var id: UInt64?
            let isInside = try cursor.withKey { entry in
                guard entry.count >= count else { return false }
                let start = UnsafeRawBufferPointer(rebasing: entry[..<count])
                guard KeyOrder.compareRaw(start, key.beginning(count)) == 0 else { return false }
                if index.hasKeyInValue { return true }
                guard entry.count >= 8 else {
                    throw RecordError.indexDamaged(
                        table: table.schema.name, index: index.schema.name, reason: "an entry names no row")
                }
                id = entry.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
                return true
            }
            guard isInside else { return }
            if let id {
                found.append(id)
            } else {
                let value = try cursor.value()
                switch try index.rowKey(ofValue: value, isRowID: table.isRowID, table: table.schema.name) {
                case .rowID(let id): found.append(KeyOrder.treeKey(id))
                case .bytes(let bytes): keys.append(bytes)
                }
            }
            isThere = try cursor.next()
        }
    }
}
