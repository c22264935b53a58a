import MakoRecords

/// A type whose values are stored in a table: a struct, or a class, which is an ``ObjectEntity``. `@Entity` generates
/// the conformance.
///
/// It can also be written by hand, with `import MakoCore` and without the macro. For a class with one property the
/// macro generates roughly this (it stores numbers in ``EntityCoding/ScalarField``s, which are read without a lock, and
/// decodes texts from the row on first access):
///
/// ```swift
/// final class City: ObjectEntity, @unchecked Sendable {
///     @exclusivity(unchecked) var _$state = ObjectState()
///     static let entityModel = EntityModel(
///         City.self, table: "City", id: \City.id,
///         properties: [.column("name", \City.name, EntityCoding.codec(String.self), default: "")])
///     private var _name: String
///     var name: String {
///         get { ObjectLock(self).locked { _name } }
///         set {
///             let lock = ObjectLock(self)
///             lock.lock()
///             let old = _name
///             let mark = EntityCoding.noteWrite(&_$state, of: self, property: 0)
///             _name = newValue
///             lock.unlock()
///             if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0._name = old } }
///         }
///     }
///     var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
///     init() { _name = "" }
///     init(row: EntityRow) throws(MakoError) {
///         _$state = row.state
///         _name = try EntityCoding.codec(String.self).read(row, 0)
///     }
///     func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
///         if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
///     }
///     func adoptValues(of object: AnyObject) { if let other = object as? City { _name = other._name } }
/// }
/// ```
public protocol Entity: ConditionValue, Sendable, Identifiable, CustomStringConvertible where ID: Sendable {
    /// The table, columns and indexes of the type.
    static var entityModel: EntityModel { get }
    /// Creates a value from a stored row. Fields have the positions of the model's columns.
    init(row: EntityRow) throws(MakoError)
    /// Encodes the properties whose bits are set; bit 0 is the first column, and all bits are all properties. An object
    /// is locked during the call.
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError)
    /// Encodes a set of properties. For entities with more than 64; an object is locked during the call.
    func _$encode(into writer: inout RowWriter, properties: EntityCoding.PropertySet) throws(MakoError)
    /// Returns the values of the key properties; empty for entities without any.
    func keyValues() -> [StoredValue]
    /// Calls a closure with the objects that references hold in memory.
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void)
    /// The properties that `init(row:)` leaves in the row for decoding on first access; bit 0 is the first column, bit
    /// 63 the 64th and all behind it. Only for classes, whose `init(row:)` stores the row's state before it reads a
    /// field.
    static var _$lazyProperties: UInt64 { get }
    /// The hooks of the type; only classes have hooks.
    static var _$hooks: ObjectHooks { get }
    /// Calls a hook of the type. False when it refuses.
    func _$call(_ hook: ObjectHooks) -> Bool

    /// Struct or class: ``ObjectEntity`` sets the other. For overloads that take structs only.
    associatedtype _$Kind = EntityKind.Value

    // The requirements below are for structs. A separate protocol for structs would be cleaner, but a macro that can
    // introduce a conformance to it makes the compiler (6.3) fail at subclasses of a class without that conformance.

    /// The metadata of a struct.
    var _$value: ValueState { get set }
    /// The row number, for structs without a key or with an integer key; 0 before the first save.
    var _$rowNumber: Int64 { get set }
    /// Generates an empty text or UUID key.
    mutating func assignMissingKey()
    /// Sets the key under which a referenced object was saved.
    mutating func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey)
    /// Sets the timestamp properties of a value that is being stored: that of its creation if it is new, and that of
    /// its last change.
    mutating func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)
}

extension Entity {
    /// Encodes the properties among the first 64, for types that have no more.
    public func _$encode(into writer: inout RowWriter, properties: EntityCoding.PropertySet) throws(MakoError) {
        try encode(into: &writer, properties: properties.firstWord)
    }
    /// No lazy properties, for types that decode all properties at once.
    @inlinable public static var _$lazyProperties: UInt64 { 0 }
    /// No hooks, for types without any.
    @inlinable public static var _$hooks: ObjectHooks { [] }
    /// Returns true, for types without hooks.
    public func _$call(_ hook: ObjectHooks) -> Bool { true }
    /// The row number; 0 before the first save.
    public var _$rowNumber: Int64 {
        get { _$value.rowID }
        set { _$value.rowID = newValue }
    }
    /// Does nothing, for types without a generated key.
    public mutating func assignMissingKey() {}
    /// Does nothing, for types without references.
    public mutating func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {}
    /// Does nothing, for types without timestamps.
    public mutating func _$stamp(isNew: Bool, at date: EntityCoding.Stamp) {}
    /// Returns no values, for types without key properties.
    public func keyValues() -> [StoredValue] { [] }
    /// Does nothing, for types without references.
    public func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {}
}

/// An entity that is a class. Objects have identity, load relationships lazily, and are restored by a rollback.
///
/// Objects are `Hashable` by instance: equality and hash stay the same for the life of an object, also when it is saved
/// or changed. A class may declare `Hashable` with its own `==` and `hash(into:)`. ``Entity/entityID`` is the identity
/// of the row, which all objects of the row share.
public protocol ObjectEntity: Entity, Hashable, AnyObject where _$Kind == EntityKind.Object {
    /// The metadata of this object, guarded by its ``ObjectLock``.
    var _$state: ObjectState { get set }
    /// Creates an object with the default values of its properties.
    init()
    /// Copies the stored properties of another object of the same class. Each object is locked, or accessible to one
    /// thread only.
    func adoptValues(of object: AnyObject)
    /// Generates an empty text or UUID key.
    func assignMissingKey()
    /// Resets the key properties to their default values.
    func forgetKey()
    /// Sets the key properties. False when the values have other types.
    func takeKey(_ values: [StoredValue]) -> Bool
    /// Sets the key under which a referenced object was saved.
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey)
    /// Sets the timestamp properties of an object that is being stored.
    func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)
    /// Sets the properties that a dictionary names.
    func _$take(_ values: DictionaryValues) throws(MakoError)
}

extension ObjectEntity {
    /// Returns whether two references lead to the same object. ``isSame(as:)`` compares rows.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left === right }
    /// Hashes the identity of the object.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Unused: the metadata of an object is ``_$state``.
    public var _$value: ValueState {
        get { ValueState() }
        set {}
    }
    /// Does nothing, for classes without a generated key.
    public func assignMissingKey() {}
    /// Does nothing, for classes without key properties.
    public func forgetKey() {}
    /// Returns false, for classes without key properties.
    public func takeKey(_ values: [StoredValue]) -> Bool { false }
    /// Does nothing, for classes without references.
    public func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {}
    /// Does nothing, for classes without timestamps.
    public func _$stamp(isNew: Bool, at date: EntityCoding.Stamp) {}
    /// Throws `MakoError.unsupported`, for classes written by hand without this member.
    public func _$take(_ values: DictionaryValues) throws(MakoError) {
        throw .unsupported("making a \(Self.self) of a dictionary, for which it has no member `_$take`,")
    }
}

/// A stored row from which a value is created. Borrowed: valid only inside the `init(row:)` that receives it.
@frozen
public struct EntityRow {
    /// Reads the fields.
    public let reader: RowReader
    /// The row number; 0 in tables with another key.
    public let rowID: Int64
    @usableFromInline let database: UInt32
    // Unmanaged, to avoid retain and release.
    @usableFromInline unowned(unsafe) let extra: ObjectExtra?
    @usableFromInline let hasExtra: Bool
    /// The copy of the row in the row arena, for the properties that stay in it.
    @usableFromInline let rows: BorrowedRowChunk
    @usableFromInline let offset: UInt16
    @usableFromInline let pending: UInt64
    /// Whether an object is being refreshed, which also reads the properties marked `.loadOnRefresh`.
    public let isRefresh: Bool

    @inlinable @inline(__always)
    init(
        _ reader: RowReader, rowID: Int64, database: UInt32, extra: ObjectExtra?, rows: BorrowedRowChunk,
        offset: UInt16,
        pending: UInt64, isRefresh: Bool = false
    ) {
        self.reader = reader
        self.rowID = rowID
        self.database = database
        self.extra = extra
        hasExtra = extra != nil
        self.rows = rows
        self.offset = offset
        self.pending = pending
        self.isRefresh = isRefresh
    }

    /// The initial metadata of an object created from the row.
    @inlinable @inline(__always)
    public var state: ObjectState { ObjectState(of: self) }
    /// The initial metadata of a struct created from the row.
    public var valueState: ValueState { ValueState(rowID: rowID, database: database) }
}
