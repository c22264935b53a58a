import Foundation
import MakoRecords

/// Selects the codecs of properties, for generated code and for conformances written by hand.
///
/// `codec` is for the properties of classes, `collectionCodec` for those whose type is spelt as a collection,
/// `valueCodec` for properties that store their values without a slot, and `serializedCodec` for those marked
/// `.serialized`.
public enum EntityCoding {
    /// A set of properties, under a name that users' types do not have.
    public typealias PropertySet = EntityPropertySet

    // Generated code names types by these aliases, because a type of the user may have the same name.

    /// The key of several properties.
    public typealias CompositeKey = MakoCore.CompositeKey
    /// The values of a dictionary.
    public typealias DictionaryValues = MakoCore.DictionaryValues
    /// The model of an entity.
    public typealias EntityModel = MakoCore.EntityModel
    /// A stored row.
    public typealias EntityRow = MakoCore.EntityRow
    /// An index of an entity.
    public typealias IndexModel = MakoCore.IndexModel
    /// The hooks of a class.
    public typealias ObjectHooks = MakoCore.ObjectHooks
    /// The lock of an object.
    public typealias ObjectLock = MakoCore.ObjectLock
    /// The metadata of an object.
    public typealias ObjectState = MakoCore.ObjectState
    /// A property of an entity.
    public typealias PropertyModel = MakoCore.PropertyModel
    /// The key of a row.
    public typealias RowKey = MakoCore.RowKey
    /// The writer of a row.
    public typealias RowWriter = MakoCore.RowWriter
    /// The content of a column.
    public typealias StoredValue = MakoCore.StoredValue
    /// The metadata of a struct.
    public typealias ValueState = MakoCore.ValueState

    // Overload resolution sees the type behind a property's spelling, which a macro cannot.

    /// Returns the codec for a storable type.
    @inlinable
    public static func codec<T: StorableValue>(_: T.Type) -> StorableCodec<T>.Type { StorableCodec<T>.self }
    /// Returns the codec for an optional storable type.
    @inlinable
    public static func codec<T: StorableValue>(_: T?.Type) -> OptionalCodec<StorableCodec<T>>.Type {
        OptionalCodec<StorableCodec<T>>.self
    }
    /// Returns the codec for a storable, raw-representable type.
    @inlinable
    public static func codec<T: StorableValue & RawRepresentable>(_: T.Type) -> StorableCodec<T>.Type
    where T.RawValue: StorableValue {
        StorableCodec<T>.self
    }
    /// Returns the codec for an optional storable, raw-representable type.
    @inlinable
    public static func codec<T: StorableValue & RawRepresentable>(_: T?.Type) -> OptionalCodec<StorableCodec<T>>.Type
    where T.RawValue: StorableValue {
        OptionalCodec<StorableCodec<T>>.self
    }
    /// Returns the codec for a raw-representable type.
    @inlinable
    public static func codec<T: RawRepresentable>(_: T.Type) -> RawCodec<T>.Type where T.RawValue: StorableValue {
        RawCodec<T>.self
    }
    /// Returns the codec for an optional raw-representable type.
    @inlinable
    public static func codec<T: RawRepresentable>(_: T?.Type) -> OptionalCodec<RawCodec<T>>.Type
    where T.RawValue: StorableValue {
        OptionalCodec<RawCodec<T>>.self
    }
    /// Returns the codec for a composite type.
    @inlinable
    public static func codec<T: CompositeValue>(_: T.Type) -> CompositeCodec<T>.Type { CompositeCodec<T>.self }
    /// Returns the codec for an optional composite type.
    @inlinable
    public static func codec<T: CompositeValue>(_: T?.Type) -> OptionalCodec<CompositeCodec<T>>.Type {
        OptionalCodec<CompositeCodec<T>>.self
    }
    /// Returns the codec for a `Codable` type.
    @_disfavoredOverload @inlinable
    public static func codec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    /// Returns the codec for an optional `Codable` type.
    @_disfavoredOverload @inlinable
    public static func codec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }
    /// Returns the codec for a reference to an object.
    @inlinable
    public static func codec<T: ObjectEntity>(_: T?.Type) -> ReferenceCodec<ReferenceSlot<T>>.Type {
        ReferenceCodec<ReferenceSlot<T>>.self
    }
    /// Returns the codec for a `ToOne` handle.
    @inlinable
    public static func codec<T: ObjectEntity>(_: ToOne<T>.Type) -> ToOneCodec<T>.Type { ToOneCodec<T>.self }

    /// Returns the codec for a reference to a struct.
    @inlinable
    public static func codec<T: Entity>(_: T?.Type) -> ValueReferenceCodec<T>.Type where T._$Kind == EntityKind.Value {
        ValueReferenceCodec<T>.self
    }

    /// Returns the collection codec for an array of objects.
    @inlinable
    public static func collectionCodec<T: ObjectEntity>(_: [T].Type) -> CollectionCodec<ArrayForm<ObjectForm<T>>>.Type {
        CollectionCodec<ArrayForm<ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional array of objects.
    @inlinable
    public static func collectionCodec<T: ObjectEntity>(
        _: [T]?.Type
    ) -> CollectionCodec<OptionalForm<ArrayForm<ObjectForm<T>>>>.Type {
        CollectionCodec<OptionalForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for an array of arrays of objects.
    @inlinable
    public static func collectionCodec<T: ObjectEntity>(_: [[T]].Type) -> CollectionCodec<
        ArrayForm<ArrayForm<ObjectForm<T>>>
    >.Type {
        CollectionCodec<ArrayForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a set of objects.
    @inlinable
    public static func collectionCodec<T: ObjectEntity & Hashable>(_: Set<T>.Type) -> CollectionCodec<
        SetForm<ObjectForm<T>>
    >.Type {
        CollectionCodec<SetForm<ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional set of objects.
    @inlinable
    public static func collectionCodec<T: ObjectEntity & Hashable>(
        _: Set<T>?.Type
    ) -> CollectionCodec<OptionalForm<SetForm<ObjectForm<T>>>>.Type {
        CollectionCodec<OptionalForm<SetForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a dictionary of objects.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: ObjectEntity>(
        _: [K: T].Type
    ) -> CollectionCodec<DictionaryForm<K, ObjectForm<T>>>.Type {
        CollectionCodec<DictionaryForm<K, ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional dictionary of objects.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: ObjectEntity>(
        _: [K: T]?.Type
    ) -> CollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.Type {
        CollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a dictionary of arrays of objects.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: ObjectEntity>(
        _: [K: [T]].Type
    ) -> CollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.Type {
        CollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for an array of dictionaries of objects.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: ObjectEntity>(
        _: [[K: T]].Type
    ) -> CollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.Type {
        CollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }

    // A type that is spelt as a collection may be a value.

    /// Returns the collection codec for a storable type.
    @inlinable
    public static func collectionCodec<T: StorableValue>(_: T.Type) -> StorableCodec<T>.Type { StorableCodec<T>.self }
    /// Returns the collection codec for an optional storable type.
    @inlinable
    public static func collectionCodec<T: StorableValue>(_: T?.Type) -> OptionalCodec<StorableCodec<T>>.Type {
        OptionalCodec<StorableCodec<T>>.self
    }
    /// Returns the collection codec for a raw-representable type.
    @inlinable
    public static func collectionCodec<T: RawRepresentable>(_: T.Type) -> RawCodec<T>.Type
    where T.RawValue: StorableValue {
        RawCodec<T>.self
    }
    /// Returns the collection codec for an optional raw-representable type.
    @inlinable
    public static func collectionCodec<T: RawRepresentable>(_: T?.Type) -> OptionalCodec<RawCodec<T>>.Type
    where T.RawValue: StorableValue {
        OptionalCodec<RawCodec<T>>.self
    }
    /// Returns the collection codec for a `Codable` type.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    /// Returns the collection codec for an optional `Codable` type.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }

    // A serialized property is stored as JSON, even if it holds objects.

    /// Returns the JSON codec for a `Codable` type.
    @inlinable
    public static func serializedCodec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    /// Returns the JSON codec for an optional `Codable` type.
    @inlinable
    public static func serializedCodec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }

    // Unavailable overloads give a clear message in place of a failed overload resolution.

    /// Unavailable: refuses a non-optional reference to an object at compile time.
    @available(*, unavailable, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func codec<T: ObjectEntity>(_: T.Type) -> ReferenceCodec<ReferenceSlot<T>>.Type {
        ReferenceCodec<ReferenceSlot<T>>.self
    }
    /// Unavailable: refuses a non-optional reference to a struct at compile time.
    @available(
        *, unavailable, message: "a to-one relationship must be optional: write 'T?', or store the key of the struct"
    )
    public static func codec<T: Entity>(_: T.Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
    /// Unavailable: refuses an array of objects at compile time.
    @available(*, unavailable, message: "write the type of a collection of objects out: '[Song]', not its alias")
    public static func codec<T: ObjectEntity>(_: [T].Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
    /// Unavailable: refuses an optional array of objects at compile time.
    @available(*, unavailable, message: "write the type of a collection of objects out: '[Song]', not its alias")
    public static func codec<T: ObjectEntity>(_: [T]?.Type) -> OptionalCodec<JSONCodec<String>>.Type {
        OptionalCodec<JSONCodec<String>>.self
    }
    /// Unavailable: refuses a set of objects at compile time.
    @available(*, unavailable, message: "write the type of a collection of objects out: 'Set<Song>', not its alias")
    public static func codec<T: ObjectEntity>(_: Set<T>.Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
    /// Unavailable: refuses a dictionary of objects at compile time.
    @available(
        *, unavailable, message: "write the type of a collection of objects out: '[String: Song]', not its alias"
    )
    public static func codec<K, T: ObjectEntity>(_: [K: T].Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }

    /// Unavailable: refuses a type that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "this type cannot be stored; let it conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func codec<T: Sendable>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }
    /// Unavailable: refuses an optional of a type that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "this type cannot be stored; let it conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func codec<T: Sendable>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }

    /// Unavailable: refuses a collection that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "these elements cannot be stored; let their type conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func collectionCodec<T: Sendable>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }
    /// Unavailable: refuses an optional collection that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "these elements cannot be stored; let their type conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func collectionCodec<T: Sendable>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }

    /// Sets an empty text key to a UUID at the first save.
    public static func assignKey(_ key: inout String) {
        if key.isEmpty { key = UUID().uuidString.lowercased() }
    }
    /// Sets a key that is nil or empty to a UUID at the first save.
    public static func assignKey(_ key: inout String?) {
        if key?.isEmpty ?? true { key = UUID().uuidString.lowercased() }
    }
    /// Sets a key that is nil to a UUID at the first save.
    public static func assignKey(_ key: inout UUID?) {
        if key == nil { key = UUID() }
    }
    /// Sets the key in a slot, which a key has whose type is spelt by an alias.
    public static func assignKey(_ key: inout ValueSlot<String?>) { assignKey(&key.value) }
    /// Sets the key in a slot, which a key has whose type is spelt by an alias.
    public static func assignKey(_ key: inout ValueSlot<UUID?>) { assignKey(&key.value) }
    /// Leaves other keys unchanged.
    @_disfavoredOverload
    public static func assignKey<T>(_ key: inout T) {}
}

// MARK: - Integer keys

extension EntityCoding {
    /// Returns the row number of a key; 0 for a key that is not assigned yet.
    @inlinable public static func rowID<T: FixedWidthInteger>(_ value: T) -> Int64 { Int64(clamping: value) }
    /// Returns the row number of an optional key; 0 for nil.
    @inlinable public static func rowID<T: FixedWidthInteger>(_ value: T?) -> Int64 {
        value.map { Int64(clamping: $0) } ?? 0
    }

    /// Returns the key of a row number.
    @inlinable
    public static func integer<T: FixedWidthInteger>(_ rowID: Int64, as type: T.Type) -> T { T(clamping: rowID) }
    /// Returns the optional key of a row number; nil for 0.
    @inlinable
    public static func integer<T: FixedWidthInteger>(_ rowID: Int64, as type: T?.Type) -> T? {
        rowID == 0 ? nil : T(clamping: rowID)
    }

    /// Returns the key of a row.
    ///
    /// - Throws: `MakoError.unreadableValue` when the type is too narrow for the row's number.
    @inlinable @discardableResult
    public static func key<T: FixedWidthInteger>(_ row: EntityRow, as type: T.Type) throws(MakoError) -> T {
        guard let key = T(exactly: row.rowID) else { throw unreadableNumber(row, T.self) }
        return key
    }
    /// Returns the optional key of a row.
    ///
    /// - Throws: `MakoError.unreadableValue` when the type is too narrow for the row's number.
    @inlinable @discardableResult
    public static func key<T: FixedWidthInteger>(_ row: EntityRow, as type: T?.Type) throws(MakoError) -> T? {
        guard let key = T(exactly: row.rowID) else { throw unreadableNumber(row, T.self) }
        return key == 0 ? nil : key
    }

    /// Sets the row number of an object from the value `id` of a dictionary.
    public static func takeRowNumber(_ values: DictionaryValues, _ state: inout ObjectState) throws(MakoError) {
        guard let id = try values.value("id", codec(Int?.self)) else { return }
        state.rowID = rowID(id)
    }

    /// Sets the row number of a struct from the value `id` of a dictionary.
    public static func takeRowNumber(_ values: DictionaryValues, _ state: inout ValueState) throws(MakoError) {
        guard let id = try values.value("id", codec(Int?.self)) else { return }
        state.rowID = rowID(id)
    }

    /// Returns the row number of an object as the type of its key.
    public static func rowNumber<T: FixedWidthInteger>(of object: some ObjectEntity, as type: T.Type) -> T {
        integer(object.lockedState { $0.rowID }, as: T.self)
    }
    /// Returns the row number of an object as the optional type of its key; nil for 0.
    public static func rowNumber<T: FixedWidthInteger>(of object: some ObjectEntity, as type: T?.Type) -> T? {
        integer(object.lockedState { $0.rowID }, as: T?.self)
    }
    /// Sets the row number of an object.
    public static func setRowNumber<T: FixedWidthInteger>(_ value: T, of object: some ObjectEntity) {
        setRowID(rowID(value), of: object)
    }
    /// Sets the row number of an object; 0 for nil.
    public static func setRowNumber<T: FixedWidthInteger>(_ value: T?, of object: some ObjectEntity) {
        setRowID(rowID(value), of: object)
    }

    /// Another key means another row, for which the save must write all properties.
    private static func setRowID(_ rowID: Int64, of object: some ObjectEntity) {
        let before = object.lockedState { state in
            let before = state
            if state.rowID != rowID {
                state.rowID = rowID
                state.flags.remove(.exists)
            }
            return before
        }
        if before.rowID != rowID { ThreadScope.transaction?.undo.recordState(of: object, before) }
    }
}
