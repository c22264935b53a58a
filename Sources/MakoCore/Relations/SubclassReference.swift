import MakoRecords

/// A reference of a class to an object of a class or of one of its subclasses: a table and a key until it is first read, then an object.
public struct SubclassReferenceSlot<Target: ObjectEntity>: PropertySlot {
    private var slot: AnyReferenceSlot

    init(_ slot: AnyReferenceSlot) { self.slot = slot }

    public var value: Target? { slot.value as? Target }
    public var isSettled: Bool { slot.isSettled }
    public var loadedObject: (any ObjectEntity)? { slot.loadedObject }
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

/// References marked `@Relationship(.subclasses)`: stored as those to objects of any entity are.
public enum SubclassReferenceCodec<Target: ObjectEntity>: SlotCodec {
    public typealias Property = Target?
    public typealias Slot = SubclassReferenceSlot<Target>

    public static var columnType: ColumnType { .text }
    public static var isOptional: Bool { true }
    public static var refersToAny: Bool { true }
    public static var superclass: (any Entity.Type)? { Target.self }

    public static func stored(_ value: Property) -> StoredValue { AnyReferenceCodec.stored(value) }

    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
        value.flatMap { map($0) as? Target }
    }

    /// A key alone is no object: references come out of rows as slots.
    public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

    /// Objects are read and written through slots.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }
    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }

    public static var emptySlot: Slot { Slot(AnyReferenceCodec.emptySlot) }
    public static func slot(_ value: Property) -> Slot { Slot(AnyReferenceCodec.slot(value)) }
    public static func slot(stored: StoredValue) -> Slot? { AnyReferenceCodec.slot(stored: stored).map { Slot($0) } }

    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try AnyReferenceCodec.readSlot(row, position))
    }

    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

extension EntityCoding {
    public static func subclassCodec<Target: ObjectEntity>(_: Target?.Type) -> SubclassReferenceCodec<Target>.Type {
        SubclassReferenceCodec<Target>.self
    }

    @_disfavoredOverload
    @available(
        *, unavailable, message: ".subclasses belongs to a reference to an object of a class: 'var owner: Animal?'"
    )
    public static func subclassCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }
}

extension SchemaState {
    /// The class in use whose objects a table has, where these are objects of a class.
    func type<Target: ObjectEntity>(ofTable table: String, under target: Target.Type) -> (any ObjectEntity.Type)? {
        for model in models where model.table == table && !model.isPartial {
            if let type = model.type as? any ObjectEntity.Type, type is Target.Type { return type }
        }
        return nil
    }
}
