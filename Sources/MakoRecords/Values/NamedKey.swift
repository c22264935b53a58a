/// A row's key in an error, with the types of its columns, so that a message prints their values instead of bytes.
///
///     "\(NamedKey(key, in: table.schema))"  // 7, 'Ada', ('Ada', 36)
public struct NamedKey: Sendable, Hashable {
    /// The key.
    public let key: RowKey
    /// The types of the key columns, in order; empty for a row id, or if the table is not known.
    private let types: [ColumnType]

    init(_ key: RowKey, types: [ColumnType]) {
        self.key = key
        self.types = types
    }

    /// Makes a key of a row id.
    public static func rowID(_ id: Int64) -> NamedKey { NamedKey(.rowID(id), types: []) }

    /// Compares the keys, independent of how they are printed.
    public static func == (a: NamedKey, b: NamedKey) -> Bool { a.key == b.key }

    public func hash(into hasher: inout Hasher) { hasher.combine(key) }

    /// The values; `nil` if the bytes are not a key of these columns.
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
    /// The row id, the value of the key column, or the values of several columns in parentheses; bytes if they do not
    /// fit the schema.
    public var description: String {
        guard let values else { return "\(key)" }
        let text = values.map(\.description).joined(separator: ", ")
        return values.count == 1 ? text : "(\(text))"
    }
}
