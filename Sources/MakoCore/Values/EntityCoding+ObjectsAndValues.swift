// Collections of objects and values.

extension EntityCoding {
    /// Returns the collection codec for an array of objects and values.
    @inlinable
    public static func collectionCodec(
        _: [ObjectOrValue].Type
    ) -> MemberCodec<ArrayForm<ObjectOrValueForm>, ObjectOrValueAddress>.Type {
        MemberCodec<ArrayForm<ObjectOrValueForm>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for an optional array of objects and values.
    @inlinable
    public static func collectionCodec(
        _: [ObjectOrValue]?.Type
    ) -> MemberCodec<OptionalForm<ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.Type {
        MemberCodec<OptionalForm<ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for an array of arrays of objects and values.
    @inlinable
    public static func collectionCodec(
        _: [[ObjectOrValue]].Type
    ) -> MemberCodec<ArrayForm<ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.Type {
        MemberCodec<ArrayForm<ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for a dictionary of objects and values.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: ObjectOrValue].Type
    ) -> MemberCodec<DictionaryForm<K, ObjectOrValueForm>, ObjectOrValueAddress>.Type {
        MemberCodec<DictionaryForm<K, ObjectOrValueForm>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for an optional dictionary of objects and values.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: ObjectOrValue]?.Type
    ) -> MemberCodec<OptionalForm<DictionaryForm<K, ObjectOrValueForm>>, ObjectOrValueAddress>.Type {
        MemberCodec<OptionalForm<DictionaryForm<K, ObjectOrValueForm>>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for a dictionary of arrays of objects and values.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: [ObjectOrValue]].Type
    ) -> MemberCodec<DictionaryForm<K, ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.Type {
        MemberCodec<DictionaryForm<K, ArrayForm<ObjectOrValueForm>>, ObjectOrValueAddress>.self
    }
    /// Returns the collection codec for an array of dictionaries of objects and values.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [[K: ObjectOrValue]].Type
    ) -> MemberCodec<ArrayForm<DictionaryForm<K, ObjectOrValueForm>>, ObjectOrValueAddress>.Type {
        MemberCodec<ArrayForm<DictionaryForm<K, ObjectOrValueForm>>, ObjectOrValueAddress>.self
    }

    // Unavailable overloads give a clear message in place of a failed overload resolution.

    /// Unavailable: refuses an object or a value that is in no collection.
    @available(
        *, unavailable,
        message:
            "collections hold objects and values: write '[ObjectOrValue]', or '(any ObjectEntity)?' or 'StoredValue'"
    )
    public static func codec(_: ObjectOrValue.Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
    /// Unavailable: refuses an object or a value that is in no collection.
    @available(
        *, unavailable,
        message:
            "collections hold objects and values: write '[ObjectOrValue]', or '(any ObjectEntity)?' or 'StoredValue'"
    )
    public static func codec(_: ObjectOrValue?.Type) -> OptionalCodec<JSONCodec<String>>.Type {
        OptionalCodec<JSONCodec<String>>.self
    }
    /// Unavailable: refuses an array of objects and values whose type is an alias.
    @available(
        *, unavailable,
        message: "write the type of a collection of objects and values out: '[ObjectOrValue]', not its alias"
    )
    public static func codec(_: [ObjectOrValue].Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }
}
