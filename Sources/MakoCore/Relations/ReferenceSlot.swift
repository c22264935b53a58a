import MakoRecords

/// The slot of a class's to-one reference: a key until the first access, then an object.
@frozen
public struct ReferenceSlot<Target: ObjectEntity>: PropertySlot {
    @usableFromInline var object: Target?
    @usableFromInline var key: RowKey?
    /// Whether the reference needs no load: its object is known, or there is none.
    public internal(set) var isSettled: Bool

    /// A reference that was set.
    init(object: Target?) {
        self.object = object
        key = object?.storedKey
        isSettled = true
    }

    /// A reference as a row holds it.
    init(key: RowKey?) {
        self.key = key
        isSettled = key == nil
    }

    /// The object; nil before it is loaded.
    @inlinable public var value: Target? { object }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { object }
    /// The key that the row gets.
    var storedKey: RowKey? { key }

    /// Returns the slot with its object loaded; unchanged if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        guard let key, !isSettled else { return self }
        do throws(MakoError) {
            var copy = self
            copy.object = try LazyLoad.object(Target.self, key: key, for: owner)
            copy.isSettled = true
            return copy
        } catch {
            LazyLoad.failed(error, owner: owner)
            return self
        }
    }

    /// Takes over the loaded slot, unless the reference was set since `before` was read.
    public mutating func settle(_ loaded: consuming Self, replacing before: Self) {
        guard loaded.isSettled, !isSettled, key == before.key else { return }
        object = loaded.object
        isSettled = true
    }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard self.object === object else { return }
        self.key = key.isRow ? key : nil
        if key.isRemoved { self.object = nil }
    }

    /// Releases the object, because the owner is deinitialized.
    @inlinable
    public mutating func letGo() { if object != nil { releaseObject() } }

    @usableFromInline
    mutating func releaseObject() {
        if isKnownUniquelyReferenced(&object) { ReleasedObjects.release(&object, leaving: nil) }
    }
}

extension RowKey {
    /// The key of a reference to a deleted object. No row has it, because row numbers begin at 1.
    static let noRow = RowKey.rowID(0)
    /// Resolves a reference to a deleted object after the commit: the slot releases the object. ``lastRemoved`` marks
    /// the last object of a property, after which a collection is rebuilt.
    static let removed = RowKey.bytes([])
    static let lastRemoved = RowKey.bytes([0xFF])
    /// Resolves a weak reference after a rollback: its object has no row any more, and is retained until it has one.
    static let unsaved = RowKey.bytes([0xFE])

    var isRemoved: Bool { if case .bytes(let bytes) = self { bytes.isEmpty || bytes == [0xFF] } else { false } }
    /// Whether the key is that of a row, not a marker.
    var isRow: Bool { self != .noRow && self != .unsaved && !isRemoved }
}

/// The codec of a class's references, which are stored as the key of the other row.
public enum ReferenceCodec<Target: ObjectEntity>: SlotCodec {
    /// The type of the property: an optional object.
    public typealias Property = Target?
    /// The slot of the reference.
    public typealias Slot = ReferenceSlot<Target>

    /// The column type: the key of another row.
    public static var columnType: ColumnType { .reference }
    /// True: the column of a reference may be NULL.
    public static var isOptional: Bool { true }
    /// The class of the referenced objects.
    public static var target: (any Entity.Type)? { Target.self }

    /// Returns the object's key; NULL for nil and for an object that is not stored.
    public static func stored(_ value: Target?) -> StoredValue { value?.conditionValue ?? .null }

    /// Returns the object that the closure returns for the referenced one.
    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
        value.flatMap { map($0) as? Target }
    }

    /// Returns nil for NULL, else no value: references are read as slots.
    public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

    /// Throws: classes read references through slots.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Target? {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }
    /// Throws: classes write references through slots.
    public static func write(_ value: Target?, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw .unsupported("a reference to \(Target.entityModel.name) outside a slot")
    }

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(key: nil) }
    /// Returns the slot of a reference to an object.
    public static func slot(_ value: Target?) -> Slot { Slot(object: value) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        ReferenceKeys.key(stored, of: Target.entityModel).map { Slot(key: $0) }
    }
    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        Slot(key: ReferenceKeys.read(row.reader, position, of: Target.entityModel))
    }
    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        ReferenceKeys.write(slot.storedKey, of: Target.entityModel, &writer, position)
    }
}

/// Keys of other rows as fields of a row.
enum ReferenceKeys {
    static func read(_ row: RowReader, _ position: Int, of model: EntityModel) -> RowKey? {
        if row.isNull(position) { return nil }
        return model.hasColumnKey ? RowKey(values: [row.value(position)]) : .rowID(row.integer(position))
    }

    /// The key of a column's content; nil if it is none.
    static func key(_ stored: StoredValue, of model: EntityModel) -> RowKey? {
        if stored.isNull { return nil }
        if model.hasColumnKey { return RowKey(values: [stored]) }
        guard case .integer(let id) = stored else { return nil }
        return .rowID(id)
    }

    static func write(_ key: RowKey?, of model: EntityModel, _ writer: inout RowWriter, _ position: Int) {
        switch key {
        case nil: writer.setNull(position)
        case .rowID(let id): writer.set(position, id)
        case .bytes: writer.set(position, value(of: key, model))
        }
    }

    /// The key as a value of the referring column.
    static func value(of key: RowKey?, _ model: EntityModel) -> StoredValue {
        switch key {
        case nil: return .null
        case .rowID(let id): return .integer(id)
        case .bytes:
            guard let key, let schema = try? model.schema(), let values = try? key.values(in: schema) else {
                return .null
            }
            return values.first ?? .null
        }
    }
}

extension ObjectEntity {
    /// The key under which the object is or will be stored; nil before its first save.
    var storedKey: RowKey? {
        lockedState { $0.flags.contains(.removed) ? nil : $0.key }
    }
}
