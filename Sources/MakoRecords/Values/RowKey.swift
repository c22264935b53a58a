/// The primary key of a row.
public enum RowKey: Sendable, Hashable {
    /// A 64-bit row id, of tables whose schema has `.rowID`.
    case rowID(Int64)
    /// The sortable encoding of the key columns, of tables whose schema has `.columns`.
    case bytes([UInt8])

    /// Makes the key of a table with key columns, from their values in key order.
    ///
    ///     let key = RowKey(values: [.text("Fenrir")])
    package init(values: [Value]) {
        var buffer = KeyBuffer()
        for value in values { buffer.append(value) }
        self = .bytes(buffer.bytes)
    }

    /// The row id, or `nil` for a key of columns.
    public var rowID: Int64? {
        if case .rowID(let id) = self { id } else { nil }
    }
}

extension RowKey: CustomStringConvertible {
    /// The row id, or the bytes; errors print a key as ``NamedKey``.
    public var description: String {
        switch self {
        case .rowID(let id): "\(id)"
        case .bytes(let bytes): "\(Value.blob(bytes))"
        }
    }
}
