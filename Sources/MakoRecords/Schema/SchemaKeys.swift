// The keys of rows, as the schemas of their tables read them.

extension RowKey {
    /// The values of the key's columns: the id alone, or one value per key column.
    ///
    /// - Throws: `RecordError.invalidKey` when the key is not one of such a table.
    public func values(in schema: EntitySchema) throws(RecordError) -> [Value] {
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
    /// - Parameter schema: of the table that has the row; nil: the key's bytes are shown.
    public init(_ key: RowKey, in schema: EntitySchema?) {
        guard case .bytes = key, let schema, case .columns(let names) = schema.key else {
            self.init(key, types: [])
            return
        }
        self.init(key, types: names.compactMap { schema.column(named: $0)?.type })
    }
}

extension RecordError {
    /// A key that is taken, in words that its user knows.
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

    /// The error of a damaged row with the row's key, which what reads its bytes does not know.
    @usableFromInline
    func ofRow(_ key: RowKey, in schema: EntitySchema) -> RecordError {
        guard case .rowDamaged(let table, nil, let reason) = self else { return self }
        return .rowDamaged(table: table, key: NamedKey(key, in: schema), reason: reason)
    }
}

extension RowKey {
    /// The key as its table's user knows it, see ``NamedKey``.
    package func text(in schema: EntitySchema?) -> String { "\(NamedKey(self, in: schema))" }
}
