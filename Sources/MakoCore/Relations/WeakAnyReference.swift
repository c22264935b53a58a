import MakoRecords

/// The slot of a weak reference to an object of any entity; see ``WeakReferenceSlot``.
public struct WeakAnyReferenceSlot: PropertySlot {
    private weak var object: (any ObjectEntity)?
    /// An object that had no row when it was set, until its owner is saved.
    private var unsaved: (any ObjectEntity)?
    /// A loaded object until the caller retains it; nil in the slot of an owner.
    private var fresh: (any ObjectEntity)?
    private(set) var reference: AnyReference?
    /// Whether the row of the reference does not exist.
    private var isMissing = false

    /// A reference that was set.
    init(object: (any ObjectEntity)?) {
        self.object = object
        reference = AnyReferenceSlot(object: object).reference
        unsaved = reference == nil ? object : nil
    }

    /// A reference as a row holds it.
    init(_ reference: AnyReference?) { self.reference = reference }

    /// The object; nil where it is not in memory.
    public var value: (any ObjectEntity)? { fresh ?? object }
    /// Whether the reference needs no load: the object is in memory, or there is none.
    public var isSettled: Bool { reference == nil || isMissing || value != nil }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { value }
    /// A copy of the slot that retains its object.
    public var held: Self {
        var copy = self
        copy.fresh = value
        return copy
    }

    /// Returns the slot with its object loaded; unchanged if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        isSettled ? self : taking(AnyReferenceSlot(reference).loaded(by: owner, property: property))
    }

    /// The slot with its object loaded, which must be of a class or of a subclass.
    func loaded<Target: ObjectEntity>(by owner: some ObjectEntity, under target: Target.Type) -> Self {
        isSettled ? self : taking(AnyReferenceSlot(reference).loaded(by: owner, under: target))
    }

    private func taking(_ loaded: AnyReferenceSlot) -> Self {
        guard loaded.isSettled else { return self }
        var copy = self
        copy.fresh = loaded.value
        copy.isMissing = loaded.value == nil
        return copy
    }

    /// Takes over the loaded slot, unless the reference was set since `before` was read.
    public mutating func settle(_ loaded: Self, replacing before: Self) {
        guard loaded.isSettled, !isSettled, reference == before.reference else { return }
        object = loaded.value
        fresh = nil
        isMissing = loaded.isMissing
    }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard value === object else { return }
        reference = key.isRow ? AnyReference(table: type(of: object).entityModel.table, key: key) : nil
        unsaved = key == .unsaved ? value : nil
        if key.isRemoved { (self.object, fresh) = (nil, nil) }
    }

    /// Releases an object that was never saved, because the owner is deinitialized.
    public mutating func letGo() { if unsaved != nil { ReleasedObjects.release(&unsaved, leaving: nil) } }
}

/// The codec of references to any entity marked `@Relationship(.weak)`.
public enum WeakAnyReferenceCodec: WeakCodec {
    /// The codec of the same reference without `.weak`.
    public typealias Strong = AnyReferenceCodec
    /// The slot of the weak reference.
    public typealias Slot = WeakAnyReferenceSlot

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(nil) }
    /// Returns the slot of a weak reference to an object.
    public static func slot(_ value: Property) -> Slot { Slot(object: value) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        Strong.slot(stored: stored).map { Slot($0.reference) }
    }
    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try Strong.readSlot(row, position).reference)
    }
    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

/// The slot of a weak reference to an object of a class or a subclass; see ``WeakReferenceSlot``.
public struct WeakSubclassReferenceSlot<Target: ObjectEntity>: PropertySlot {
    private var slot: WeakAnyReferenceSlot

    init(_ slot: WeakAnyReferenceSlot) { self.slot = slot }

    /// The object; nil where it is not in memory.
    public var value: Target? { slot.value as? Target }
    /// Whether the reference needs no load: the object is in memory, or there is none.
    public var isSettled: Bool { slot.isSettled }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { slot.loadedObject }
    /// A copy of the slot that retains its object.
    public var held: Self { Self(slot.held) }
    var reference: AnyReference? { slot.reference }

    /// Returns the slot with its object loaded; unchanged if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        Self(slot.loaded(by: owner, under: Target.self))
    }

    /// Takes over the loaded slot, unless the reference was set since `before` was read.
    public mutating func settle(_ loaded: Self, replacing before: Self) {
        slot.settle(loaded.slot, replacing: before.slot)
    }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) { slot.resolve(object, key: key) }
    /// Releases an object that was never saved, because the owner is deinitialized.
    public mutating func letGo() { slot.letGo() }
}

/// The codec of references marked `@Relationship(.subclasses, .weak)`.
public enum WeakSubclassReferenceCodec<Target: ObjectEntity>: WeakCodec {
    /// The codec of the same reference without `.weak`.
    public typealias Strong = SubclassReferenceCodec<Target>
    /// The slot of the weak reference.
    public typealias Slot = WeakSubclassReferenceSlot<Target>

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(WeakAnyReferenceCodec.emptySlot) }
    /// Returns the slot of a weak reference to an object.
    public static func slot(_ value: Property) -> Slot { Slot(WeakAnyReferenceCodec.slot(value)) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        WeakAnyReferenceCodec.slot(stored: stored).map { Slot($0) }
    }
    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try WeakAnyReferenceCodec.readSlot(row, position))
    }
    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

extension EntityCoding {
    /// Returns the weak codec for a reference to an object of any entity.
    public static func weakCodec(_: (any ObjectEntity)?.Type) -> WeakAnyReferenceCodec.Type {
        WeakAnyReferenceCodec.self
    }

    /// Returns the weak codec with subclasses for a reference to an object.
    public static func weakSubclassCodec<Target: ObjectEntity>(
        _: Target?.Type
    ) -> WeakSubclassReferenceCodec<Target>.Type {
        WeakSubclassReferenceCodec<Target>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable, message: ".subclasses belongs to a reference to an object of a class: 'var owner: Animal?'"
    )
    public static func weakSubclassCodec<T>(_: T.Type) -> WeakAnyReferenceCodec.Type { WeakAnyReferenceCodec.self }
}
