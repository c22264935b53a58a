// Row keys, decoded with the schema of their table.

extension RowKey {
    /// Returns the values of the key columns, or the row id.
    ///
    /// - Throws: `RecordError.invalidKey` if the key does not fit the schema.
    package func values(in schema: EntitySchema) throws(RecordError) -> [Value] {
        switch (self, schema.key) {
        case (.rowID(let id), .rowID):
            return [.integer(id)]
        case (.bytes(let bytes), .columns(let names)):
            var decoder = KeyDecoder(bytes)
            var values: [Value] = []
            for name in names {
                guard let type = schema.column(named: name)?.type, let value = decoder.next(type) else {
                    throw .invalidKey(table: schema.name, reason: "its bytes are not a key of this table")
                }
                values.append(value)
            }
            guard decoder.isAtEnd else { throw .invalidKey(table: schema.name, reason: "it has too many columns") }
            return values
        default:
            throw .invalidKey(table: schema.name, reason: "it is of another kind than the table's keys")
        }
    }
}

extension NamedKey {
    /// Makes a key for errors.
    ///
    /// - Parameter schema: the schema of the row's table; `nil` to print the key's bytes.
    package init(_ key: RowKey, in schema: EntitySchema?) {
        guard case .bytes = key, let schema, case .columns(let names) = schema.key else {
            self.init(key, types: [])
            return
        }
        self.init(key, types: names.compactMap { schema.column(named: $0)?.type })
    }
}

extension RecordError {
    /// Returns the error for a key that exists already, with the values of its columns.
    static func duplicateKey(_ key: RowKey, in schema: EntitySchema) -> RecordError {
        let columns: [String]
        switch schema.key {
        case .rowID(let column): columns = [column]
        case .columns(let names): columns = names
        }
        var values: [Value] = []
        do throws(RecordError) { values = try key.values(in: schema) } catch {}
        return .duplicateKey(table: schema.name, key: key, columns: columns, values: values)
    }

    /// Returns the error with the row's key, which the decoder of its bytes does not know.
    @usableFromInline
    func ofRow(_ key: RowKey, in schema: EntitySchema) -> RecordError {
        guard case .rowDamaged(let table, nil, let reason) = self else { return self }
        return .rowDamaged(table: table, key: NamedKey(key, in: schema), reason: reason)
    }
}

extension RowKey {
    /// Returns the key as text, see ``NamedKey``.
    package func text(in schema: EntitySchema?) -> String { "\(NamedKey(self, in: schema))" }
}
