// Collections of objects that may have several classes.

extension EntityCoding {
    /// Returns the collection codec for an array of objects of any class.
    @inlinable
    public static func collectionCodec(
        _: [any ObjectEntity].Type
    ) -> MemberCodec<ArrayForm<ObjectForm<any ObjectEntity>>, AnyAddress>.Type {
        MemberCodec<ArrayForm<ObjectForm<any ObjectEntity>>, AnyAddress>.self
    }
    /// Returns the collection codec for an optional array of objects of any class.
    @inlinable
    public static func collectionCodec(
        _: [any ObjectEntity]?.Type
    ) -> MemberCodec<OptionalForm<ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.Type {
        MemberCodec<OptionalForm<ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.self
    }
    /// Returns the collection codec for an array of arrays of objects of any class.
    @inlinable
    public static func collectionCodec(
        _: [[any ObjectEntity]].Type
    ) -> MemberCodec<ArrayForm<ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.Type {
        MemberCodec<ArrayForm<ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.self
    }
    /// Returns the collection codec for a dictionary of objects of any class.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: any ObjectEntity].Type
    ) -> MemberCodec<DictionaryForm<K, ObjectForm<any ObjectEntity>>, AnyAddress>.Type {
        MemberCodec<DictionaryForm<K, ObjectForm<any ObjectEntity>>, AnyAddress>.self
    }
    /// Returns the collection codec for an optional dictionary of objects of any class.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: any ObjectEntity]?.Type
    ) -> MemberCodec<OptionalForm<DictionaryForm<K, ObjectForm<any ObjectEntity>>>, AnyAddress>.Type {
        MemberCodec<OptionalForm<DictionaryForm<K, ObjectForm<any ObjectEntity>>>, AnyAddress>.self
    }
    /// Returns the collection codec for a dictionary of arrays of objects of any class.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [K: [any ObjectEntity]].Type
    ) -> MemberCodec<DictionaryForm<K, ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.Type {
        MemberCodec<DictionaryForm<K, ArrayForm<ObjectForm<any ObjectEntity>>>, AnyAddress>.self
    }
    /// Returns the collection codec for an array of dictionaries of objects of any class.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable>(
        _: [[K: any ObjectEntity]].Type
    ) -> MemberCodec<ArrayForm<DictionaryForm<K, ObjectForm<any ObjectEntity>>>, AnyAddress>.Type {
        MemberCodec<ArrayForm<DictionaryForm<K, ObjectForm<any ObjectEntity>>>, AnyAddress>.self
    }

    /// Unavailable: refuses an array of objects of any class whose type is an alias.
    @available(
        *, unavailable, message: "write the type of a collection of objects out: '[any ObjectEntity]', not its alias"
    )
    public static func codec(_: [any ObjectEntity].Type) -> JSONCodec<String>.Type { JSONCodec<String>.self }

    /// Returns the codec with subclasses for a collection of objects of any form.
    public static func subclassCodec<Form: CollectionForm>(
        _: CollectionCodec<Form>.Type
    ) -> MemberCodec<Form, SubclassAddress<Form.Target>>.Type where Form.Target: ObjectEntity {
        MemberCodec<Form, SubclassAddress<Form.Target>>.self
    }
}
