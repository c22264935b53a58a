import MakoRecords

/// A reference to an object of any entity that does not keep it alive: what ``WeakReferenceSlot`` is to one of a class.
public struct WeakAnyReferenceSlot: PropertySlot {
    private weak var object: (any ObjectEntity)?
    /// An object that had no row when it was set, until its owner is saved.
    private var unsaved: (any ObjectEntity)?
    /// An object that was just loaded, for whoever is about to take it; never in an owner's own slot.
    private var fresh: (any ObjectEntity)?
    private(set) var reference: AnyReference?
    /// Whether the reference was found to lead to nothing.
    private var isMissing = false

    /// A reference that somebody set.
    init(object: (any ObjectEntity)?) {
        self.object = object
        reference = AnyReferenceSlot(object: object).reference
        unsaved = reference == nil ? object : nil
    }

    /// A reference as a row holds it.
    init(_ reference: AnyReference?) { self.reference = reference }

    public var value: (any ObjectEntity)? { fresh ?? object }
    public var isSettled: Bool { reference == nil || isMissing || value != nil }
    public var loadedObject: (any ObjectEntity)? { value }
    /// The same, with the object kept alive for as long as it is looked at.
    public var held: Self {
        var copy = self
        copy.fresh = value
        return copy
    }

    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        isSettled ? self : taking(AnyReferenceSlot(reference).loaded(by: owner, property: property))
    }

    /// The slot with its object, which is one of a class.
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

    public mutating func settle(_ loaded: Self, replacing before: Self) {
        guard loaded.isSettled, !isSettled, reference == before.reference else { return }
        object = loaded.value
        fresh = nil
        isMissing = loaded.isMissing
    }

    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard value === object else { return }
        reference = key.isRow ? AnyReference(table: type(of: object).entityModel.table, key: key) : nil
        unsaved = nil
        if key.isRemoved { (self.object, fresh) = (nil, nil) }
    }

    public mutating func letGo() { if unsaved != nil { ReleasedObjects.letGo(of: &unsaved, leaving: nil) } }
}

/// References to objects of any entity marked `@Relationship(.weak)`.
public enum WeakAnyReferenceCodec: WeakCodec {
    public typealias Strong = AnyReferenceCodec
    public typealias Slot = WeakAnyReferenceSlot

    public static var emptySlot: Slot { Slot(nil) }
    public static func slot(_ value: Property) -> Slot { Slot(object: value) }
    public static func slot(stored: StoredValue) -> Slot? {
        Strong.slot(stored: stored).map { Slot($0.reference) }
    }
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try Strong.readSlot(row, position).reference)
    }
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

/// A reference to an object of a class or of one of its subclasses that does not keep it alive.
public struct WeakSubclassReferenceSlot<Target: ObjectEntity>: PropertySlot {
    private var slot: WeakAnyReferenceSlot

    init(_ slot: WeakAnyReferenceSlot) { self.slot = slot }

    public var value: Target? { slot.value as? Target }
    public var isSettled: Bool { slot.isSettled }
    public var loadedObject: (any ObjectEntity)? { slot.loadedObject }
    /// The same, with the object kept alive for as long as it is looked at.
    public var held: Self { Self(slot.held) }
    var reference: AnyReference? { slot.reference }

    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        Self(slot.loaded(by: owner, under: Target.self))
    }

    public mutating func settle(_ loaded: Self, replacing before: Self) {
        slot.settle(loaded.slot, replacing: before.slot)
    }

    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) { slot.resolve(object, key: key) }
    public mutating func letGo() { slot.letGo() }
}

/// References marked `@Relationship(.subclasses, .weak)`.
public enum WeakSubclassReferenceCodec<Target: ObjectEntity>: WeakCodec {
    public typealias Strong = SubclassReferenceCodec<Target>
    public typealias Slot = WeakSubclassReferenceSlot<Target>

    public static var emptySlot: Slot { Slot(WeakAnyReferenceCodec.emptySlot) }
    public static func slot(_ value: Property) -> Slot { Slot(WeakAnyReferenceCodec.slot(value)) }
    public static func slot(stored: StoredValue) -> Slot? {
        WeakAnyReferenceCodec.slot(stored: stored).map { Slot($0) }
    }
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try WeakAnyReferenceCodec.readSlot(row, position))
    }
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

extension EntityCoding {
    public static func weakCodec(_: (any ObjectEntity)?.Type) -> WeakAnyReferenceCodec.Type {
        WeakAnyReferenceCodec.self
    }

    public static func weakSubclassCodec<Target: ObjectEntity>(
        _: Target?.Type
    ) -> WeakSubclassReferenceCodec<Target>.Type {
        WeakSubclassReferenceCodec<Target>.self
    }

    @_disfavoredOverload
    @available(
        *, unavailable, message: ".subclasses belongs to a reference to an object of a class: 'var owner: Animal?'"
    )
    public static func weakSubclassCodec<T>(_: T.Type) -> WeakAnyReferenceCodec.Type { WeakAnyReferenceCodec.self }
}
