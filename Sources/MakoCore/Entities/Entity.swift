import MakoRecords

/// A type whose values are stored in a table of their own: a struct, or a class, which is an ``ObjectEntity``. `@Entity` writes the
/// conformance; it can be written by hand as well.
///
/// `import MakoCore` alone needs no macro. This is what the macro writes for a class with one property, in short (numbers it keeps in
/// ``ScalarField``s, which are read without a lock, and texts it leaves in the row until they are asked for):
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
    /// Makes a value from a stored row. Fields stand at the positions of the model's columns.
    init(row: EntityRow) throws(MakoError)
    /// Writes the properties whose bits are set, bit 0 being the first column. Objects are locked meanwhile.
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError)
    /// The values of the key, for entities whose key is made of properties; else empty.
    func keyValues() -> [StoredValue]
    /// Visits the objects that references hold in memory.
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void)
    /// The properties that `init(row:)` leaves in the row until they are asked for, bit 0 being the first column. A type that has some is
    /// a class, and its `init(row:)` keeps the row's state before it reads a field.
    static var _$lazyProperties: UInt64 { get }
    /// The hooks that the type has; a class only.
    static var _$hooks: ObjectHooks { get }
    /// Calls one of the type's hooks. False: it refuses.
    func _$call(_ hook: ObjectHooks) -> Bool

    /// What kind of type it is; ``ObjectEntity`` says the other. For overloads that take structs only.
    associatedtype _$Kind = EntityKind.Value

    // What follows is a struct's. A protocol of its own for structs would be tidier, but a macro that can introduce a conformance to it has
    // the compiler (6.3) fail at every subclass of a class that was given none.

    /// The library's notes about a struct.
    var _$value: ValueState { get set }
    /// The row's number, for structs without a key of their own or with an integer one; 0 before the first save.
    var rowNumber: Int64 { get set }
    mutating func assignMissingKey()
    mutating func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey)
    /// Notes that the value is being stored: in the property that says when it was first, where it is new, and in the one that says when it
    /// was last.
    mutating func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)
}

extension Entity {
    @inlinable public static var _$lazyProperties: UInt64 { 0 }
    @inlinable public static var _$hooks: ObjectHooks { [] }
    public func _$call(_ hook: ObjectHooks) -> Bool { true }
    public var rowNumber: Int64 {
        get { _$value.rowID }
        set { _$value.rowID = newValue }
    }
    public mutating func assignMissingKey() {}
    public mutating func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {}
    public mutating func _$stamp(isNew: Bool, at date: EntityCoding.Stamp) {}
    public func keyValues() -> [StoredValue] { [] }
    public func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {}
}

/// An entity that is a class: it has an identity, loads its relations lazily and takes part in the rollback of memory.
public protocol ObjectEntity: Entity, AnyObject where _$Kind == EntityKind.Object {
    /// The library's notes about this object. Reached under the object's lock only.
    var _$state: ObjectState { get set }
    /// Makes an object with the default value in each property.
    init()
    /// Takes the stored properties of another object of the same class. Both are locked or unshared.
    func adoptValues(of object: AnyObject)
    /// Gives an empty text or UUID key a value.
    func assignMissingKey()
    /// Gives the properties that are the key their default values again, where the key is made of properties.
    func forgetKey()
    /// Gives the properties that are the key these values. False: they are of other types.
    func takeKey(_ values: [StoredValue]) -> Bool
    /// Notes the key a referenced object was saved under.
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey)
    /// Notes that the object is being stored, in the properties that say when.
    func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)
    /// Takes the values of the properties that a dictionary names.
    func _$take(_ values: DictionaryValues) throws(MakoError)
}

extension ObjectEntity {
    /// Nothing: an object's notes are its ``_$state``.
    public var _$value: ValueState {
        get { ValueState() }
        set {}
    }
    public func assignMissingKey() {}
    public func forgetKey() {}
    public func takeKey(_ values: [StoredValue]) -> Bool { false }
    public func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {}
    public func _$stamp(isNew: Bool, at date: EntityCoding.Stamp) {}
    public func _$take(_ values: DictionaryValues) throws(MakoError) {
        throw .unsupported("making a \(Self.self) of a dictionary, for which it has no member `_$take`,")
    }
}

/// One stored row on its way to a value. Borrowed: valid inside the `init(row:)` it is given to, and must not be kept.
@frozen
public struct EntityRow {
    public let reader: RowReader
    /// The row's number; 0 in tables with other keys.
    public let rowID: Int64
    @usableFromInline let database: UInt32
    // Counting no references, a row is passed on without a call.
    @usableFromInline unowned(unsafe) let extra: ObjectExtra?
    @usableFromInline let hasExtra: Bool
    /// Where the row was copied to, for the properties that stay in it.
    @usableFromInline let rows: LentChunk
    @usableFromInline let offset: UInt16
    @usableFromInline let pending: UInt64
    /// Whether an object is refreshed: then properties are read that a fetch leaves out.
    public let isRefresh: Bool

    @inlinable @inline(__always)
    init(
        _ reader: RowReader, rowID: Int64, database: UInt32, extra: ObjectExtra?, rows: LentChunk, offset: UInt16,
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

    /// What the object made from the row starts with.
    @inlinable @inline(__always)
    public var state: ObjectState { ObjectState(of: self) }
    /// What the struct made from the row starts with.
    public var valueState: ValueState { ValueState(rowID: rowID, database: database) }
}
