/// A row's key in an error: the key, and the types of its columns, by which a message shows their values instead of bytes.
///
///     "\(NamedKey(key, in: table.schema))"  // 7, 'Ada', ('Ada', 36)
public struct NamedKey: Sendable, Hashable {
    public let key: RowKey
    /// Of the key's columns, in their order; empty for an id, or where the table is not known.
    private let types: [ColumnType]

    /// - Parameter schema: of the table that has the row; nil: the key's bytes are shown.
    public init(_ key: RowKey, in schema: EntitySchema?) {
        self.key = key
        guard case .bytes = key, let schema, case .columns(let names) = schema.key, !sabotaged("keysShownAsBytes")
        else {
            types = []
            return
        }
        types = names.compactMap { schema.column(named: $0)?.type }
    }

    /// The id of a row.
    public static func rowID(_ id: Int64) -> NamedKey { NamedKey(.rowID(id), in: nil) }

    /// Two are one when the keys are; how they are shown does not matter.
    public static func == (a: NamedKey, b: NamedKey) -> Bool { a.key == b.key }

    public func hash(into hasher: inout Hasher) { hasher.combine(key) }

    /// The values, or nil where the bytes are no key of such columns.
    private var values: [Value]? {
        guard case .bytes(let bytes) = key, !types.isEmpty else { return nil }
        var decoder = KeyDecoder(bytes)
        var values: [Value] = []
        for type in types {
            guard let value = decoder.next(type) else { return nil }
            values.append(value)
        }
        return decoder.isAtEnd ? values : nil
    }
}

extension NamedKey: CustomStringConvertible {
    /// The id, the value of the key's column, or those of several columns in parentheses; bytes only where they are no key of the table.
    public var description: String {
        guard let values else { return "\(key)" }
        let text = values.map(\.description).joined(separator: ", ")
        return values.count == 1 ? text : "(\(text))"
    }
}

extension RecordError {
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
