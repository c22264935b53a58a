import MakoRecords

/// A type whose values fill a column.
///
/// The standard types conform. Another type needs three members:
///
/// ```swift
/// struct Celsius: StorableValue {
///     var degrees: Double
///     static var columnType: ColumnType { .double }
///     var stored: StoredValue { .double(degrees) }
///     init?(stored: StoredValue) { guard case .double(let degrees) = stored else { return nil }; self.degrees = degrees }
/// }
/// ```
///
/// The members may read objects, except for the type of a key, which is computed while its object is locked.
public protocol StorableValue: ConditionValue, Sendable {
    /// The type of the column that holds these values.
    static var columnType: ColumnType { get }
    /// Whether a column of this type may be NULL.
    static var isOptionalColumn: Bool { get }
    /// The value as the column holds it.
    var stored: StoredValue { get }
    /// Creates the value for the content of a column; `nil` if there is none.
    init?(stored: StoredValue)
    /// Reads the field at a position; `nil` if it is no value of the type.
    static func read(_ row: RowReader, _ position: Int) -> Self?
    /// Writes the field at a position.
    func write(to writer: inout RowWriter, _ position: Int)
    /// Whether writing a value runs only Mako's own code, so that it may run while an object is locked.
    static var _$isPlain: Bool { get }
}

extension StorableValue {
    /// False: the column cannot be NULL.
    @inlinable public static var isOptionalColumn: Bool { false }
    @inlinable public static var _$isPlain: Bool { false }

    /// Reads the value from a field of a row by ``init(stored:)``.
    public static func read(_ row: RowReader, _ position: Int) -> Self? { Self(stored: row.value(position)) }

    /// Writes the value to a field of a row by ``stored``.
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, stored) }
}

extension Optional: StorableValue where Wrapped: StorableValue {
    /// The column type of the wrapped type.
    @inlinable public static var columnType: ColumnType { Wrapped.columnType }
    /// True: the column of nil is NULL.
    @inlinable public static var isOptionalColumn: Bool { true }
    @inlinable public static var _$isPlain: Bool { Wrapped._$isPlain }

    /// The wrapped value as the column holds it; NULL for nil.
    public var stored: StoredValue { map(\.stored) ?? .null }

    /// Creates nil for NULL, else the wrapped value; nil if the content is none.
    public init?(stored: StoredValue) {
        if stored.isNull {
            self = Optional<Wrapped>.none
            return
        }
        guard let value = Wrapped(stored: stored) else { return nil }
        self = value
    }

    /// Reads nil for NULL, else the wrapped value.
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> Self? {
        if row.isNull(position) { return .some(.none) }
        return Wrapped.read(row, position).map { .some($0) }
    }

    /// Writes NULL for nil, else the wrapped value.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) {
        if let value = self { value.write(to: &writer, position) } else { writer.setNull(position) }
    }
}

/// Raw-representable types may be stored as their raw values: `enum Level: Int, StorableValue { … }`. `@Entity` accepts
/// them without the conformance, too.
extension StorableValue where Self: RawRepresentable, RawValue: StorableValue {
    /// The column type of the raw value.
    @inlinable public static var columnType: ColumnType { RawValue.columnType }
    @inlinable public static var _$isPlain: Bool { EntityCoding.isPlainRaw(Self.self) }
    /// The raw value as the column holds it.
    public var stored: StoredValue { rawValue.stored }
    /// Creates the value with a stored raw value; nil if there is none.
    public init?(stored: StoredValue) {
        guard let raw = RawValue(stored: stored) else { return nil }
        self.init(rawValue: raw)
    }
    /// Reads the raw value from a field of a row; nil if it is none of a value.
    @inlinable
    public static func read(_ row: RowReader, _ position: Int) -> Self? {
        RawValue.read(row, position).flatMap { Self(rawValue: $0) }
    }
    /// Writes the raw value to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { rawValue.write(to: &writer, position) }
}
