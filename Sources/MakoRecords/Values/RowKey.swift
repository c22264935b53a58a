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

extension RowKey: CustomStringConvertible {
    /// The id, or the bytes; messages show a key by ``NamedKey``.
    public var description: String {
        switch self {
        case .rowID(let id): "\(id)"
        case .bytes(let bytes): "\(Value.blob(bytes))"
        }
    }
}
