// The codecs of properties that keep their values as they are: those of structs, and those of classes whose type is spelt as no optional
// type or collection could be. A reference would lose its object there, so the compiler says what to write instead.

extension EntityCoding {
    @inlinable
    public static func valueCodec<T: StorableValue>(_: T.Type) -> StorableCodec<T>.Type { StorableCodec<T>.self }
    @inlinable
    public static func valueCodec<T: StorableValue>(_: T?.Type) -> OptionalCodec<StorableCodec<T>>.Type {
        OptionalCodec<StorableCodec<T>>.self
    }
    @inlinable
    public static func valueCodec<T: StorableValue & RawRepresentable>(_: T.Type) -> StorableCodec<T>.Type
    where T.RawValue: StorableValue {
        StorableCodec<T>.self
    }
    @inlinable
    public static func valueCodec<T: StorableValue & RawRepresentable>(_: T?.Type) -> OptionalCodec<
        StorableCodec<T>
    >.Type
    where T.RawValue: StorableValue {
        OptionalCodec<StorableCodec<T>>.self
    }
    @inlinable
    public static func valueCodec<T: RawRepresentable>(_: T.Type) -> RawCodec<T>.Type
    where T.RawValue: StorableValue {
        RawCodec<T>.self
    }
    @inlinable
    public static func valueCodec<T: RawRepresentable>(_: T?.Type) -> OptionalCodec<RawCodec<T>>.Type
    where T.RawValue: StorableValue {
        OptionalCodec<RawCodec<T>>.self
    }
    @inlinable
    public static func valueCodec<T: CompositeValue>(_: T.Type) -> CompositeCodec<T>.Type { CompositeCodec<T>.self }
    @inlinable
    public static func valueCodec<T: CompositeValue>(_: T?.Type) -> OptionalCodec<CompositeCodec<T>>.Type {
        OptionalCodec<CompositeCodec<T>>.self
    }
    @_disfavoredOverload @inlinable
    public static func valueCodec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    @_disfavoredOverload @inlinable
    public static func valueCodec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }

    @inlinable
    public static func valueCodec<T: Entity>(_: T?.Type) -> ValueReferenceCodec<T>.Type
    where T._$Kind == EntityKind.Value {
        ValueReferenceCodec<T>.self
    }

    // In a class an object is told by the spelling of its property's type.

    @available(
        *, unavailable,
        message: "a struct refers to an object by 'ToOne<T>'; in a class write 'T?' itself, not an alias of it"
    )
    public static func valueCodec<T: ObjectEntity>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }
    @available(*, unavailable, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func valueCodec<T: ObjectEntity>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }
    @available(
        *, unavailable,
        message: "a struct holds no objects; in a class write '(any ObjectEntity)?' itself, not an alias of it"
    )
    public static func valueCodec(_: (any ObjectEntity)?.Type) -> OptionalCodec<RefusedCodec<(any ObjectEntity)>>.Type {
        OptionalCodec<RefusedCodec<(any ObjectEntity)>>.self
    }
    @available(*, unavailable, message: "write the type 'ToOne<T>' out, not an alias of it")
    public static func valueCodec<T: ObjectEntity>(_: ToOne<T>.Type) -> RefusedCodec<ToOne<T>>.Type {
        RefusedCodec<ToOne<T>>.self
    }
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[T]' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: [T].Type) -> RefusedCodec<[T]>.Type { RefusedCodec<[T]>.self }
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[T]?' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: [T]?.Type) -> OptionalCodec<RefusedCodec<[T]>>.Type {
        OptionalCodec<RefusedCodec<[T]>>.self
    }
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where 'Set<T>' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: Set<T>.Type) -> RefusedCodec<Set<T>>.Type {
        RefusedCodec<Set<T>>.self
    }
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[K: T]' is written out and not as an alias"
    )
    public static func valueCodec<K: Sendable, T: ObjectEntity>(_: [K: T].Type) -> RefusedCodec<[K: T]>.Type {
        RefusedCodec<[K: T]>.self
    }
    @available(
        *, unavailable, message: "a relationship must be optional, since what it leads to may be removed; write 'T?'"
    )
    public static func valueCodec<T: Entity>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }

    // What is `Codable` would pass for a value. The compiler prefers any overload to an unavailable one, so these only warn; reading and
    // writing throw.

    @available(
        *, deprecated,
        message: "a struct refers to an object by 'ToOne<T>'; in a class write 'T?' itself, not an alias of it"
    )
    public static func valueCodec<T: ObjectEntity & Codable>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }
    @available(*, deprecated, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func valueCodec<T: ObjectEntity & Codable>(_: T.Type) -> RefusedCodec<T>.Type {
        RefusedCodec<T>.self
    }
    @available(
        *, deprecated,
        message: "a struct holds no objects; make it a class, where '[T]' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity & Codable>(_: [T].Type) -> RefusedCodec<[T]>.Type {
        RefusedCodec<[T]>.self
    }
}

/// The codec of what cannot be stored as a value.
public enum RefusedCodec<Property: Sendable>: ValueSlotCodec {
    public static var columnType: ColumnType { .blob }
    public static func stored(_ value: Property) -> StoredValue { .null }
    public static func value(_ stored: StoredValue) -> Property? { nil }
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property { throw refusal }
    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw refusal
    }
    private static var refusal: MakoError { .unsupported("\(Property.self) as a value of a property") }
}
