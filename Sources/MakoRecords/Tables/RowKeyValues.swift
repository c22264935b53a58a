// What a copy of a table elsewhere needs: the values of a key whose row is gone, and of a column in older rows.

extension TableHandle {
    /// Returns the values of the key columns, or the row id; `nil` if the key is not one of this table's form.
    package func keyValues(of key: RowKey) -> [Value]? {
        switch (key, schema.key) {
        case (.rowID(let id), .rowID): return [.integer(id)]
        case (.bytes(let bytes), .columns(let names)):
            var decoder = KeyDecoder(bytes)
            var values: [Value] = []
            for name in names {
                guard let type = schema.column(named: name)?.type, let value = decoder.next(type) else { return nil }
                values.append(value)
            }
            return decoder.isAtEnd ? values : nil
        default: return nil
        }
    }

    /// Returns a key as errors print it.
    package func keyText(_ key: RowKey) -> String {
        guard let values = keyValues(of: key) else { return "\(key)" }
        let text = values.map(\.description).joined(separator: ", ")
        return values.count == 1 ? text : "(\(text))"
    }
}

extension ColumnSchema {
    /// The value in rows that were written before the column was added.
    package var valueInOlderRows: Value { fill }
}
