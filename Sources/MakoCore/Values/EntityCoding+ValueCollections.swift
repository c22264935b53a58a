// Codecs of collections of structs with rows of their own.

// In structs.
extension EntityCoding {
    /// Returns the value codec for an array of structs.
    @inlinable
    public static func valueCodec<T: Entity>(_: [T].Type) -> ValueCollectionCodec<ArrayForm<ObjectForm<T>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<ObjectForm<T>>>.self
    }
    /// Returns the value codec for an optional array of structs.
    @inlinable
    public static func valueCodec<T: Entity>(_: [T]?.Type) -> ValueCollectionCodec<
        OptionalForm<ArrayForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the value codec for an array of arrays of structs.
    @inlinable
    public static func valueCodec<T: Entity>(_: [[T]].Type) -> ValueCollectionCodec<
        ArrayForm<ArrayForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the value codec for a set of structs.
    @inlinable
    public static func valueCodec<T: Entity & Hashable>(_: Set<T>.Type) -> ValueCollectionCodec<
        SetForm<ObjectForm<T>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<SetForm<ObjectForm<T>>>.self
    }
    /// Returns the value codec for an optional set of structs.
    @inlinable
    public static func valueCodec<T: Entity & Hashable>(_: Set<T>?.Type) -> ValueCollectionCodec<
        OptionalForm<SetForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<SetForm<ObjectForm<T>>>>.self
    }
    /// Returns the value codec for a dictionary of structs.
    @inlinable
    public static func valueCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: T].Type)
        -> ValueCollectionCodec<DictionaryForm<K, ObjectForm<T>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<DictionaryForm<K, ObjectForm<T>>>.self
    }
    /// Returns the value codec for an optional dictionary of structs.
    @inlinable
    public static func valueCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: T]?.Type)
        -> ValueCollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }
    /// Returns the value codec for a dictionary of arrays of structs.
    @inlinable
    public static func valueCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: [T]].Type)
        -> ValueCollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the value codec for an array of dictionaries of structs.
    @inlinable
    public static func valueCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [[K: T]].Type)
        -> ValueCollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }
}

// In classes.
extension EntityCoding {
    /// Returns the collection codec for an array of structs.
    @inlinable
    public static func collectionCodec<T: Entity>(_: [T].Type) -> ValueCollectionCodec<ArrayForm<ObjectForm<T>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional array of structs.
    @inlinable
    public static func collectionCodec<T: Entity>(_: [T]?.Type) -> ValueCollectionCodec<
        OptionalForm<ArrayForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for an array of arrays of structs.
    @inlinable
    public static func collectionCodec<T: Entity>(_: [[T]].Type) -> ValueCollectionCodec<
        ArrayForm<ArrayForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a set of structs.
    @inlinable
    public static func collectionCodec<T: Entity & Hashable>(_: Set<T>.Type) -> ValueCollectionCodec<
        SetForm<ObjectForm<T>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<SetForm<ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional set of structs.
    @inlinable
    public static func collectionCodec<T: Entity & Hashable>(_: Set<T>?.Type) -> ValueCollectionCodec<
        OptionalForm<SetForm<ObjectForm<T>>>
    >.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<SetForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a dictionary of structs.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: T].Type)
        -> ValueCollectionCodec<DictionaryForm<K, ObjectForm<T>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<DictionaryForm<K, ObjectForm<T>>>.self
    }
    /// Returns the collection codec for an optional dictionary of structs.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: T]?.Type)
        -> ValueCollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<OptionalForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for a dictionary of arrays of structs.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [K: [T]].Type)
        -> ValueCollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<DictionaryForm<K, ArrayForm<ObjectForm<T>>>>.self
    }
    /// Returns the collection codec for an array of dictionaries of structs.
    @inlinable
    public static func collectionCodec<K: StorableValue & Hashable & Sendable, T: Entity>(_: [[K: T]].Type)
        -> ValueCollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.Type
    where T._$Kind == EntityKind.Value {
        ValueCollectionCodec<ArrayForm<DictionaryForm<K, ObjectForm<T>>>>.self
    }
}
