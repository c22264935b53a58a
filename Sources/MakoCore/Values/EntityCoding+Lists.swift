// Codecs of arrays, sets and dictionaries of values that fill a column each. A `Codable` collection is stored by its
// own coding; else its elements are coded one by one. The overloads differ in the constraints of the elements, so that
// one of them is always the most specific.

extension EntityCoding {
    /// Returns the codec for a collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, StorableForm<C.ListElement>>.Type
    where C.ListElement: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the codec for a collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, RawForm<C.ListElement>>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        ListCodec<C, RawForm<C.ListElement>>.self
    }
    /// Returns the codec for a collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, StorableForm<C.ListElement>>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the codec for a `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the codec for a `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the codec for a `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the codec for an optional collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the codec for an optional collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, RawForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, RawForm<C.ListElement>>>.self
    }
    /// Returns the codec for an optional collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the codec for an optional `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the codec for an optional `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the codec for an optional `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func codec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }

    /// Returns the collection codec for a collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<
        C, StorableForm<C.ListElement>
    >.Type
    where C.ListElement: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the collection codec for a collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, RawForm<C.ListElement>>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        ListCodec<C, RawForm<C.ListElement>>.self
    }
    /// Returns the collection codec for a collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<
        C, StorableForm<C.ListElement>
    >.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the collection codec for a `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the collection codec for a `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the collection codec for a `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the collection codec for an optional collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the collection codec for an optional collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, RawForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, RawForm<C.ListElement>>>.self
    }
    /// Returns the collection codec for an optional collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the collection codec for an optional `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<
        JSONCodec<C>
    >.Type
    where C.ListElement: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the collection codec for an optional `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<
        JSONCodec<C>
    >.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the collection codec for an optional `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func collectionCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<
        JSONCodec<C>
    >.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }

    /// Returns the value codec for a collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, StorableForm<C.ListElement>>.Type
    where C.ListElement: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the value codec for a collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, RawForm<C.ListElement>>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        ListCodec<C, RawForm<C.ListElement>>.self
    }
    /// Returns the value codec for a collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C.Type) -> ListCodec<C, StorableForm<C.ListElement>>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        ListCodec<C, StorableForm<C.ListElement>>.self
    }
    /// Returns the value codec for a `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the value codec for a `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the value codec for a `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C.Type) -> JSONCodec<C>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        JSONCodec<C>.self
    }
    /// Returns the value codec for an optional collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the value codec for an optional collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, RawForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, RawForm<C.ListElement>>>.self
    }
    /// Returns the value codec for an optional collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Sendable>(_: C?.Type) -> OptionalCodec<
        ListCodec<C, StorableForm<C.ListElement>>
    >.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<ListCodec<C, StorableForm<C.ListElement>>>.self
    }
    /// Returns the value codec for an optional `Codable` collection of storable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the value codec for an optional `Codable` collection of raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: RawRepresentable, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
    /// Returns the value codec for an optional `Codable` collection of storable, raw-representable elements.
    @_disfavoredOverload @inlinable
    public static func valueCodec<C: ValueList & Codable & Sendable>(_: C?.Type) -> OptionalCodec<JSONCodec<C>>.Type
    where C.ListElement: RawRepresentable & StorableValue, C.ListElement.RawValue: StorableValue {
        OptionalCodec<JSONCodec<C>>.self
    }
}
