import Foundation
import MakoRecords

/// What generated code (and conformances written by hand) call to code the properties of entities.
public enum EntityCoding {
    // Overload resolution does what a macro cannot: it sees the type behind a property's spelling.

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
    public static func codec<T: ObjectEntity>(_: T?.Type) -> ReferenceCodec<T>.Type { ReferenceCodec<T>.self }
    /// Returns the codec for a `ToOne` handle.
    @inlinable
    public static func codec<T: ObjectEntity>(_: ToOne<T>.Type) -> ToOneCodec<T>.Type { ToOneCodec<T>.self }

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

    // A collection may turn out to be one of values.

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

    // What its owner holds itself is JSON, objects too.

    /// Returns the JSON codec for a `Codable` type.
    @inlinable
    public static func serializedCodec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    /// Returns the JSON codec for an optional `Codable` type.
    @inlinable
    public static func serializedCodec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }

    // What cannot be stored is said in words instead of a failed overload.

    /// Unavailable: refuses a non-optional reference to an object at compile time.
    @available(*, unavailable, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func codec<T: ObjectEntity>(_: T.Type) -> ReferenceCodec<T>.Type { ReferenceCodec<T>.self }
    /// Unavailable: refuses a non-optional reference to a struct at compile time.
    @available(
        *, unavailable,
        message: "a struct is referred to by structs only; make it a class, or store its key and query for it"
    )
    public static func codec<T: Entity>(_: T.Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
    /// Unavailable: refuses a reference to a struct at compile time.
    @available(
        *, unavailable,
        message: "a struct is referred to by structs only; make it a class, or store its key and query for it"
    )
    public static func codec<T: Entity>(_: T?.Type) -> OptionalCodec<JSONCodec<String>>.Type {
        OptionalCodec<JSONCodec<String>>.self
    }
    /// Unavailable: refuses an array of structs at compile time.
    @available(
        *, unavailable,
        message: "a class holds no collection of structs that are entities; make them classes, or the holder a struct"
    )
    public static func collectionCodec<T: Entity>(_: [T].Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
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

    /// Gives an empty text key a UUID at the first commit.
    public static func assignKey(_ key: inout String) {
        if key.isEmpty { key = UUID().uuidString.lowercased() }
    }
    public static func assignKey(_ key: inout String?) {
        if key?.isEmpty ?? true { key = UUID().uuidString.lowercased() }
    }
    public static func assignKey(_ key: inout UUID?) {
        if key == nil { key = UUID() }
    }
    /// A key whose type is spelt by another name stands in a slot.
    public static func assignKey(_ key: inout ValueSlot<String?>) { assignKey(&key.value) }
    public static func assignKey(_ key: inout ValueSlot<UUID?>) { assignKey(&key.value) }
    /// Other keys are as the user left them.
    @_disfavoredOverload
    public static func assignKey<T>(_ key: inout T) {}
}

// MARK: - Integer keys

extension EntityCoding {
    /// 0 stands for "not given yet".
    @inlinable public static func rowID<T: FixedWidthInteger>(_ value: T) -> Int64 { Int64(clamping: value) }
    @inlinable public static func rowID<T: FixedWidthInteger>(_ value: T?) -> Int64 {
        value.map { Int64(clamping: $0) } ?? 0
    }

    @inlinable
    public static func integer<T: FixedWidthInteger>(_ rowID: Int64, as type: T.Type) -> T { T(clamping: rowID) }
    @inlinable
    public static func integer<T: FixedWidthInteger>(_ rowID: Int64, as type: T?.Type) -> T? {
        rowID == 0 ? nil : T(clamping: rowID)
    }

    /// Takes the row's number out of a dictionary, where it stands as `id`.
    public static func takeRowNumber(_ values: DictionaryValues, _ state: inout ObjectState) throws(MakoError) {
        guard let id = try values.value("id", codec(Int?.self)) else { return }
        state.rowID = rowID(id)
    }

    public static func takeRowNumber(_ values: DictionaryValues, _ state: inout ValueState) throws(MakoError) {
        guard let id = try values.value("id", codec(Int?.self)) else { return }
        state.rowID = rowID(id)
    }

    /// The row's number as an object's property.
    public static func rowNumber<T: FixedWidthInteger>(of object: some ObjectEntity, as type: T.Type) -> T {
        integer(object.lockedState { $0.rowID }, as: T.self)
    }
    public static func rowNumber<T: FixedWidthInteger>(of object: some ObjectEntity, as type: T?.Type) -> T? {
        integer(object.lockedState { $0.rowID }, as: T?.self)
    }
    public static func setRowNumber<T: FixedWidthInteger>(_ value: T, of object: some ObjectEntity) {
        setRowID(rowID(value), of: object)
    }
    public static func setRowNumber<T: FixedWidthInteger>(_ value: T?, of object: some ObjectEntity) {
        setRowID(rowID(value), of: object)
    }

    /// Another key means another row: without one, all properties are to be written.
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
