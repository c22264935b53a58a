/// The identity of a row inside its table.
public enum RowKey: Sendable, Hashable {
    /// A 64-bit id, the key of tables whose schema says `.rowID`.
    case rowID(Int64)
    /// The sortable bytes of the key columns, the key of tables whose schema says `.columns`.
    case bytes([UInt8])

    /// The key of a table with key columns, from their values in key order.
    ///
    ///     let key = RowKey(values: [.text("Fenrir")])
    public init(values: [Value]) {
        var buffer = KeyBuffer()
        for value in values { buffer.append(value) }
        self = .bytes(buffer.bytes)
    }

    /// The id, when the key is one.
    public var rowID: Int64? {
        if case .rowID(let id) = self { id } else { nil }
    }
}

extension RowKey: CustomStringConvertible {
    /// The id, or the bytes; messages show a key by ``NamedKey``.
    public var description: String {
        switch self {
        case .rowID(let id): "\(id)"
        case .bytes(let bytes): "\(Value.blob(bytes))"
        }
    }
}
