// Codecs of properties without a slot: those of structs, and those of classes whose type is spelt neither as an
// optional nor as a collection. Such a property cannot hold a reference, so the compiler suggests what to write
// instead.

extension EntityCoding {
    /// Returns the value codec for a storable type.
    @inlinable
    public static func valueCodec<T: StorableValue>(_: T.Type) -> StorableCodec<T>.Type { StorableCodec<T>.self }
    /// Returns the value codec for an optional storable type.
    @inlinable
    public static func valueCodec<T: StorableValue>(_: T?.Type) -> OptionalCodec<StorableCodec<T>>.Type {
        OptionalCodec<StorableCodec<T>>.self
    }
    /// Returns the value codec for a storable, raw-representable type.
    @inlinable
    public static func valueCodec<T: StorableValue & RawRepresentable>(_: T.Type) -> StorableCodec<T>.Type
    where T.RawValue: StorableValue {
        StorableCodec<T>.self
    }
    /// Returns the value codec for an optional storable, raw-representable type.
    @inlinable
    public static func valueCodec<T: StorableValue & RawRepresentable>(_: T?.Type) -> OptionalCodec<
        StorableCodec<T>
    >.Type
    where T.RawValue: StorableValue {
        OptionalCodec<StorableCodec<T>>.self
    }
    /// Returns the value codec for a raw-representable type.
    @inlinable
    public static func valueCodec<T: RawRepresentable>(_: T.Type) -> RawCodec<T>.Type
    where T.RawValue: StorableValue {
        RawCodec<T>.self
    }
    /// Returns the value codec for an optional raw-representable type.
    @inlinable
    public static func valueCodec<T: RawRepresentable>(_: T?.Type) -> OptionalCodec<RawCodec<T>>.Type
    where T.RawValue: StorableValue {
        OptionalCodec<RawCodec<T>>.self
    }
    /// Returns the value codec for a composite type.
    @inlinable
    public static func valueCodec<T: CompositeValue>(_: T.Type) -> CompositeCodec<T>.Type { CompositeCodec<T>.self }
    /// Returns the value codec for an optional composite type.
    @inlinable
    public static func valueCodec<T: CompositeValue>(_: T?.Type) -> OptionalCodec<CompositeCodec<T>>.Type {
        OptionalCodec<CompositeCodec<T>>.self
    }
    /// Returns the value codec for a `Codable` type.
    @_disfavoredOverload @inlinable
    public static func valueCodec<T: Codable>(_: T.Type) -> JSONCodec<T>.Type { JSONCodec<T>.self }
    /// Returns the value codec for an optional `Codable` type.
    @_disfavoredOverload @inlinable
    public static func valueCodec<T: Codable>(_: T?.Type) -> OptionalCodec<JSONCodec<T>>.Type {
        OptionalCodec<JSONCodec<T>>.self
    }

    /// Returns the value codec for a reference to a struct.
    @inlinable
    public static func valueCodec<T: Entity>(_: T?.Type) -> ValueReferenceCodec<T>.Type
    where T._$Kind == EntityKind.Value {
        ValueReferenceCodec<T>.self
    }

    // In a class the macro recognizes an object by the spelling of its property's type.

    /// Unavailable: refuses a reference to an object at compile time.
    @available(
        *, unavailable,
        message: "a struct refers to an object by 'ToOne<T>'; in a class write 'T?' itself, not an alias of it"
    )
    public static func valueCodec<T: ObjectEntity>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }
    /// Unavailable: refuses a non-optional reference to an object at compile time.
    @available(*, unavailable, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func valueCodec<T: ObjectEntity>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }
    /// Unavailable: refuses a reference to an object of any entity at compile time.
    @available(
        *, unavailable,
        message: "a struct holds no objects; in a class write '(any ObjectEntity)?' itself, not an alias of it"
    )
    public static func valueCodec(_: (any ObjectEntity)?.Type) -> OptionalCodec<RefusedCodec<(any ObjectEntity)>>.Type {
        OptionalCodec<RefusedCodec<(any ObjectEntity)>>.self
    }
    /// Unavailable: refuses a `ToOne` handle at compile time.
    @available(*, unavailable, message: "write the type 'ToOne<T>' out, not an alias of it")
    public static func valueCodec<T: ObjectEntity>(_: ToOne<T>.Type) -> RefusedCodec<ToOne<T>>.Type {
        RefusedCodec<ToOne<T>>.self
    }
    /// Unavailable: refuses an array of objects at compile time.
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[T]' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: [T].Type) -> RefusedCodec<[T]>.Type { RefusedCodec<[T]>.self }
    /// Unavailable: refuses an optional array of objects at compile time.
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[T]?' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: [T]?.Type) -> OptionalCodec<RefusedCodec<[T]>>.Type {
        OptionalCodec<RefusedCodec<[T]>>.self
    }
    /// Unavailable: refuses a set of objects at compile time.
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where 'Set<T>' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity>(_: Set<T>.Type) -> RefusedCodec<Set<T>>.Type {
        RefusedCodec<Set<T>>.self
    }
    /// Unavailable: refuses a dictionary of objects at compile time.
    @available(
        *, unavailable,
        message: "a struct holds no objects; make it a class, where '[K: T]' is written out and not as an alias"
    )
    public static func valueCodec<K: Sendable, T: ObjectEntity>(_: [K: T].Type) -> RefusedCodec<[K: T]>.Type {
        RefusedCodec<[K: T]>.self
    }
    /// Unavailable: refuses a non-optional reference to a struct at compile time.
    @available(
        *, unavailable, message: "a relationship must be optional, since what it leads to may be removed; write 'T?'"
    )
    public static func valueCodec<T: Entity>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }

    /// Unavailable: refuses a type that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "this type cannot be stored; let it conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func valueCodec<T: Sendable>(_: T.Type) -> RefusedCodec<T>.Type { RefusedCodec<T>.self }
    /// Unavailable: refuses an optional of a type that no other overload takes at compile time.
    @available(
        *, unavailable,
        message: "this type cannot be stored; let it conform to 'Codable', or write '@Transient'"
    )
    @_disfavoredOverload
    public static func valueCodec<T: Sendable>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }

    // A `Codable` entity would match the overload for values. The compiler prefers any overload to an unavailable one,
    // so these only warn; reading and writing throw.

    /// Deprecated: warns about a reference to an object, which no value codec can store.
    @available(
        *, deprecated,
        message: "a struct refers to an object by 'ToOne<T>'; in a class write 'T?' itself, not an alias of it"
    )
    public static func valueCodec<T: ObjectEntity & Codable>(_: T?.Type) -> OptionalCodec<RefusedCodec<T>>.Type {
        OptionalCodec<RefusedCodec<T>>.self
    }
    /// Deprecated: warns about a non-optional reference to an object, which no value codec can store.
    @available(*, deprecated, message: "a to-one relationship must be optional; write 'T?' (in a struct: 'ToOne<T>')")
    public static func valueCodec<T: ObjectEntity & Codable>(_: T.Type) -> RefusedCodec<T>.Type {
        RefusedCodec<T>.self
    }
    /// Deprecated: warns about an array of objects, which no value codec can store.
    @available(
        *, deprecated,
        message: "a struct holds no objects; make it a class, where '[T]' is written out and not as an alias"
    )
    public static func valueCodec<T: ObjectEntity & Codable>(_: [T].Type) -> RefusedCodec<[T]>.Type {
        RefusedCodec<[T]>.self
    }
}

extension EntityCoding {
    /// The codec of types that cannot be stored as values.
    public enum RefusedCodec<Property: Sendable>: ValueSlotCodec {
        /// The column type, which is never used.
        public static var columnType: ColumnType { .blob }
        /// NULL: the type cannot be stored.
        public static func stored(_ value: Property) -> StoredValue { .null }
        /// Nil: the type cannot be stored.
        public static func value(_ stored: StoredValue) -> Property? { nil }
        /// Throws `MakoError.unsupported`.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property { throw refusal }
        /// Throws `MakoError.unsupported`.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            throw refusal
        }
        private static var refusal: MakoError { .unsupported("\(Property.self) as a value of a property") }
    }
}
