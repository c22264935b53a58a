/// A row's key in an error: the key, and the types of its columns, by which a message shows their values instead of bytes.
///
///     "\(NamedKey(key, in: table.schema))"  // 7, 'Ada', ('Ada', 36)
public struct NamedKey: Sendable, Hashable {
    public let key: RowKey
    /// Of the key's columns, in their order; empty for an id, or where the table is not known.
    private let types: [ColumnType]

    init(_ key: RowKey, types: [ColumnType]) {
        self.key = key
        self.types = types
    }

    /// The id of a row.
    public static func rowID(_ id: Int64) -> NamedKey { NamedKey(.rowID(id), types: []) }

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
