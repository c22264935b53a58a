import MakoStorage

/// Rewrites the rows of a table whose columns changed their types.
enum RowConversion {
    /// At most so many rows are named when values cannot be converted.
    private static let namedRows = 10

    static func run(
        _ conversions: [MigrationPlan.Conversion], from stored: TableRecord, to record: TableRecord, _ idTree: Tree,
        _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        // Indexes over converted columns are built anew and are not in `record`; those that are keep their entries, because the
        // columns they cover do not change.
        var bare = record
        bare.indexes = []
        let new = try StoredCatalogue.handle(bare, idTree, RowIDSequence(), tx.view)
        var before = stored
        before.indexes = []
        let old = try StoredCatalogue.handle(before, idTree, RowIDSequence(), tx.view)
        let oldLayout = RowLayout(
            table: record.schema.name, tableID: record.id, version: UInt32(truncatingIfNeeded: stored.schema.version),
            columns: stored.columns, positions: stored.columns)
        let newLayout = RowLayout(
            table: record.schema.name, tableID: record.id, version: UInt32(truncatingIfNeeded: record.schema.version),
            columns: record.columns, positions: record.columns)
        let view = tx.view
        var row = RowWriter()
        let keys = try old.allKeys(in: view)
        for (place, key) in keys.enumerated() {
            let values = try recorded {
                try old.withRow(key, layout: oldLayout, in: view) { reader in
                    (0..<oldLayout.count).map { reader.value($0) }
                }
            }
            guard let values else { continue }
            row.begin(newLayout)
            for (position, value) in values.enumerated() where !record.columns[position].isDead {
                row.set(position, value)
            }
            for conversion in conversions {
                let column = record.columns[conversion.to]
                guard let value = convert(values[conversion.from], to: column) else {
                    throw try failure(conversion, column, stored, keys[place...], old, oldLayout, view)
                }
                row.set(conversion.to, value)
            }
            let bytes = try row.finish()
            do throws(StorageError) {
                switch key {
                case .rowID(let id): try tx.put(bytes, for: KeyOrder.treeKey(id), in: new.rows)
                case .bytes(let keyBytes): try tx.put([UInt8](bytes), for: keyBytes, in: new.rows)
                }
            } catch { throw .storage(error) }
        }
    }

    /// The value under the column's type, or `nil` when it cannot be one.
    static func convert(_ value: Value, to column: ColumnSchema) -> Value? {
        if value.isNull { return column.isOptional ? .null : (column.defaultValue.isNull ? nil : column.defaultValue) }
        if let fitting = column.type.coerced(value) { return fitting }
        switch (column.type, value) {
        case (.text, .integer), (.text, .unsigned), (.text, .double): return .text(value.description)
        case (.text, .bool(let flag)): return .text(flag ? "true" : "false")
        case (.text, .date(let seconds)): return .text(DateText.format(seconds))
        case (.text, .uuid(let high, let low)): return .text(UUIDText.format(high, low))
        case (.text, .blob(let bytes)): return String(validating: bytes, as: UTF8.self).map(Value.text)
        case (.blob, .text(let text)): return .blob(Array(text.utf8))
        case (.integer, .text(let text)), (.reference, .text(let text)): return Int64(text).map(Value.integer)
        case (.unsigned, .text(let text)): return UInt64(text).map(Value.unsignedInteger)
        case (.double, .text(let text)): return Double(text).map(Value.double)
        case (.bool, .text(let text)):
            let word = Folding.folded(text)
            return ["true", "yes", "1"].contains(word)
                ? .bool(true) : (["false", "no", "0"].contains(word) ? .bool(false) : nil)
        case (.integer, .bool(let flag)), (.unsigned, .bool(let flag)): return .integer(flag ? 1 : 0)
        case (.double, .bool(let flag)): return .double(flag ? 1 : 0)
        case (.double, .date(let seconds)): return .double(seconds)
        case (.date, .double(let seconds)): return .date(seconds)
        default: return nil
        }
    }

    /// - Parameter keys: the rows that are not rewritten yet, the first of them being one that cannot be.
    private static func failure(
        _ conversion: MigrationPlan.Conversion, _ column: ColumnSchema, _ stored: TableRecord,
        _ keys: ArraySlice<RowKey>, _ old: TableHandle, _ layout: RowLayout, _ view: Snapshot
    ) throws(RecordError) -> RecordError {
        var rows: [RowKey] = []
        var example: Value = .null
        for key in keys {
            let value = try recorded { try old.withRow(key, layout: layout, in: view) { $0.value(conversion.from) } }
            guard let value, convert(value, to: column) == nil else { continue }
            if rows.isEmpty { example = value }
            rows.append(key)
            if rows.count == namedRows { break }
        }
        let from = stored.columns[conversion.from].type
        return .conversionFailed(
            table: stored.schema.name, column: column.name, rows: rows,
            reason: "a \(from.name) such as \(example) does not become a \(column.type.name)")
    }
}
