import MakoRecords

/// The codec of a weak reference: it is stored as a strong one, and only its slot differs.
public protocol WeakCodec: SlotCodec {
    /// The codec of the same reference without `.weak`.
    associatedtype Strong: SlotCodec where Strong.Property == Property
}

extension WeakCodec {
    /// The column type of the strong reference.
    public static var columnType: ColumnType { Strong.columnType }
    /// Whether the column of the strong reference may be NULL.
    public static var isOptional: Bool { Strong.isOptional }
    /// The target of the strong reference.
    public static var target: (any Entity.Type)? { Strong.target }
    /// Whether the strong reference may lead to any entity.
    public static var refersToAny: Bool { Strong.refersToAny }
    /// The superclass of the strong reference.
    public static var superclass: (any Entity.Type)? { Strong.superclass }

    /// Returns the reference as the strong codec stores it.
    public static func stored(_ value: Strong.Property) -> StoredValue { Strong.stored(value) }
    /// Returns the value as the strong codec maps it.
    public static func mapped(
        _ value: Strong.Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?
    ) -> Strong.Property {
        Strong.mapped(value, map)
    }
    /// Returns the value as the strong codec decodes it.
    public static func value(_ stored: StoredValue) -> Strong.Property? { Strong.value(stored) }
    /// Reads the property as the strong codec does.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Strong.Property {
        try Strong.read(row, position)
    }
    /// Writes the property as the strong codec does.
    public static func write(
        _ value: Strong.Property, _ writer: inout RowWriter, _ position: Int
    ) throws(MakoError) {
        try Strong.write(value, &writer, position)
    }
}
