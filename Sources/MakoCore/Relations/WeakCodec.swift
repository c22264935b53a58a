import MakoRecords

/// The codec of a reference that does not keep its object alive: in the file it is what a strong one is, and only its slot differs.
public protocol WeakCodec: SlotCodec {
    /// The codec of the same reference without `.weak`.
    associatedtype Strong: SlotCodec where Strong.Property == Property
}

extension WeakCodec {
    public static var columnType: ColumnType { Strong.columnType }
    public static var isOptional: Bool { Strong.isOptional }
    public static var target: (any Entity.Type)? { Strong.target }
    public static var refersToAny: Bool { Strong.refersToAny }
    public static var superclass: (any Entity.Type)? { Strong.superclass }

    public static func stored(_ value: Strong.Property) -> StoredValue { Strong.stored(value) }
    public static func mapped(
        _ value: Strong.Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?
    ) -> Strong.Property {
        Strong.mapped(value, map)
    }
    public static func value(_ stored: StoredValue) -> Strong.Property? { Strong.value(stored) }
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Strong.Property {
        try Strong.read(row, position)
    }
    public static func write(
        _ value: Strong.Property, _ writer: inout RowWriter, _ position: Int
    ) throws(MakoError) {
        try Strong.write(value, &writer, position)
    }
}
