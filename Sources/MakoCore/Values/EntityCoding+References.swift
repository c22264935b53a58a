// References to objects of any class or of subclasses, and weak references.

extension EntityCoding {
    /// Returns the codec for a reference to an object of any entity.
    public static func codec(_: (any ObjectEntity)?.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }

    /// Returns the codec with subclasses for a reference to an object.
    public static func subclassCodec<Target: ObjectEntity>(
        _: Target?.Type
    ) -> ReferenceCodec<StrongSlot<SubclassAddress<Target>>>.Type {
        ReferenceCodec<StrongSlot<SubclassAddress<Target>>>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable,
        message:
            ".subclasses belongs to an object of a class, or a collection of them: 'var owner: Animal?', '[Animal]'"
    )
    public static func subclassCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }

    /// Returns the weak codec for a reference to an object.
    public static func weakCodec<Target: ObjectEntity>(
        _: Target?.Type
    ) -> ReferenceCodec<WeakSlot<ClassAddress<Target>>>.Type {
        ReferenceCodec<WeakSlot<ClassAddress<Target>>>.self
    }

    /// Returns the weak codec for a reference to an object of any entity.
    public static func weakCodec(_: (any ObjectEntity)?.Type) -> ReferenceCodec<WeakSlot<AnyAddress>>.Type {
        ReferenceCodec<WeakSlot<AnyAddress>>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable,
        message: "a single .weak property refers to an object of a class: 'var reader: Reader?'; remove .weak"
    )
    public static func weakCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }

    /// Returns the weak codec with subclasses for a reference to an object.
    public static func weakSubclassCodec<Target: ObjectEntity>(
        _: Target?.Type
    ) -> ReferenceCodec<WeakSlot<SubclassAddress<Target>>>.Type {
        ReferenceCodec<WeakSlot<SubclassAddress<Target>>>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable, message: ".subclasses belongs to a reference to an object of a class: 'var owner: Animal?'"
    )
    public static func weakSubclassCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }
}
