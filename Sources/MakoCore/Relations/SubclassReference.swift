import MakoRecords

/// The slot of a class's reference to an object of a class or a subclass: a table and a key until the first access,
/// then an object.
public struct SubclassReferenceSlot<Target: ObjectEntity>: PropertySlot {
    private var slot: AnyReferenceSlot

    init(_ slot: AnyReferenceSlot) { self.slot = slot }

    /// The object; nil before it is loaded.
    public var value: Target? { slot.value as? Target }
    /// Whether the reference needs no load: its object is known, or there is none.
    public var isSettled: Bool { slot.isSettled }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { slot.loadedObject }
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
    /// Releases the object, because the owner is deinitialized.
    public mutating func letGo() { slot.letGo() }
}

/// The codec of references marked `@Relationship(.subclasses)`, which are stored as those to any entity.
public enum SubclassReferenceCodec<Target: ObjectEntity>: SlotCodec {
    /// The type of the property: an optional object of the class or of a subclass.
    public typealias Property = Target?
    /// The slot of the reference.
    public typealias Slot = SubclassReferenceSlot<Target>

    /// The column type: a text of table and key.
    public static var columnType: ColumnType { .text }
    /// True: the column of a reference may be NULL.
    public static var isOptional: Bool { true }
    /// True: the column names the table of the object.
    public static var refersToAny: Bool { true }
    /// The class whose objects, or those of its subclasses, are referenced.
    public static var superclass: (any Entity.Type)? { Target.self }

    /// Returns the object's table and key as text; NULL for nil and for an object that is not stored.
    public static func stored(_ value: Property) -> StoredValue { AnyReferenceCodec.stored(value) }

    /// Returns the object that the closure returns for the referenced one.
    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
        value.flatMap { map($0) as? Target }
    }

    /// Returns nil for NULL, else no value: references are read as slots.
    public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

    /// Throws: classes read references through slots.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }
    /// Throws: classes write references through slots.
    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(AnyReferenceCodec.emptySlot) }
    /// Returns the slot of a reference to an object.
    public static func slot(_ value: Property) -> Slot { Slot(AnyReferenceCodec.slot(value)) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? { AnyReferenceCodec.slot(stored: stored).map { Slot($0) } }

    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(try AnyReferenceCodec.readSlot(row, position))
    }

    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

extension EntityCoding {
    /// Returns the codec with subclasses for a reference to an object.
    public static func subclassCodec<Target: ObjectEntity>(_: Target?.Type) -> SubclassReferenceCodec<Target>.Type {
        SubclassReferenceCodec<Target>.self
    }

    /// Unavailable: refuses a property that is no reference to an object at compile time.
    @_disfavoredOverload
    @available(
        *, unavailable,
        message:
            ".subclasses belongs to an object of a class, or a collection of them: 'var owner: Animal?', '[Animal]'"
    )
    public static func subclassCodec<T>(_: T.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }
}

extension SchemaState {
    /// The class in use for the objects of a table, if it is a class or a subclass of it.
    func type<Target: ObjectEntity>(ofTable table: String, under target: Target.Type) -> (any ObjectEntity.Type)? {
        for model in models where model.table == table && !model.isPartial {
            if let type = model.type as? any ObjectEntity.Type, type is Target.Type { return type }
        }
        return nil
    }
}
