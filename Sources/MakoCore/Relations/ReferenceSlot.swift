import MakoRecords

extension EntityCoding {
    /// The slot of a class's reference to one object: a key until the first access, then an object.
    public protocol ObjectSlot: PropertySlot where Property == Address.Object? {
        /// The objects that the reference may lead to, and their keys in the column.
        associatedtype Address: ObjectAddress
        /// Creates the slot of a reference that was set.
        init(object: Address.Object?)
        /// Creates the slot of a reference as a row holds it.
        init(key: RowKey?)
        /// The key that the row gets; nil: NULL.
        var storedKey: RowKey? { get }
    }

    /// The slot of a reference to an object of one class.
    public typealias ReferenceSlot<Target: ObjectEntity> = StrongSlot<ClassAddress<Target>>

    /// The slot of a reference that retains its object.
    @frozen
    public struct StrongSlot<Address: ObjectAddress>: ObjectSlot {
        @usableFromInline var object: Address.Object?
        @usableFromInline var key: RowKey?
        /// Whether the reference needs no load: its object is known, or there is none.
        public let isSettled: Bool

        @inlinable
        init(_ object: Address.Object?, _ key: RowKey?, isSettled: Bool) {
            self.object = object
            self.key = key
            self.isSettled = isSettled
        }

        /// Creates the slot of a reference that was set.
        @inlinable
        public init(object: Address.Object?) { self.init(object, object.flatMap(Address.key(of:)), isSettled: true) }
        /// Creates the slot of a reference as a row holds it.
        @inlinable
        public init(key: RowKey?) { self.init(nil, key, isSettled: key == nil) }

        /// The object; nil before it is loaded.
        @inlinable public var value: Address.Object? { object }
        /// The object in memory; nil if there is none.
        @inlinable public var loadedObject: (any ObjectEntity)? { object.map(Address.object) }
        /// The key that the row gets; nil: NULL.
        @inlinable public var storedKey: RowKey? { key }

        /// Returns the slot with its object loaded; unchanged if the load failed.
        @inlinable
        public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
            guard let key, !isSettled else { return self }
            do throws(MakoError) {
                return Self(try Address.object(key, of: owner), key, isSettled: true)
            } catch {
                LazyLoad.failed(error, owner: owner)
                return self
            }
        }

        /// Takes over the loaded slot, unless the reference was set since `before` was read.
        @inlinable
        public mutating func settle(_ loaded: consuming Self, replacing before: Self) {
            guard loaded.isSettled, !isSettled, key == before.key else { return }
            self = loaded
        }

        /// Sets the key that the object was saved under; releases an object that was deleted.
        @inlinable
        public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
            guard let held = self.object, Address.identity(of: held) == ObjectIdentifier(object) else { return }
            self.key = key.isRow ? Address.key(key, of: object) : nil
            if key.isRemoved { self.object = nil }
        }

        /// Releases the object, because the owner is deinitialized.
        @inlinable
        public mutating func letGo() { if object != nil { Address.release(&object) } }
    }

    /// The codec of a class's references to one object, strong or weak, which are stored as its key.
    public enum ReferenceCodec<Slot: ObjectSlot>: SlotCodec {
        /// The type of the property: an optional object.
        public typealias Property = Slot.Address.Object?

        /// The column type: the key of another row, or a text of table and key.
        public static var columnType: ColumnType { Slot.Address.columnType }
        /// True: the column of a reference may be NULL.
        public static var isOptional: Bool { true }
        /// The class of the referenced objects; nil: they may have several classes.
        public static var target: (any Entity.Type)? { Slot.Address.target }
        /// Whether the column names the table of the object.
        public static var refersToAny: Bool { Slot.Address.target == nil }
        /// The class whose objects, or those of its subclasses, are referenced; nil: any class, or ``target``.
        public static var superclass: (any Entity.Type)? { Slot.Address.superclass }

        /// Returns the key of the object as the column holds it; NULL for nil and for an object that is not stored.
        public static func stored(_ value: Property) -> StoredValue {
            value.flatMap(Slot.Address.key(of:)).map(Slot.Address.stored) ?? .null
        }

        /// Returns the object that the closure returns for the referenced one.
        public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
            value.flatMap { map(Slot.Address.object($0)) }.flatMap(Slot.Address.member)
        }

        /// Returns nil for NULL, else no value: references are read as slots.
        public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

        private static var name: String { Slot.Address.name(orAny: "an object of any entity") }

        /// Throws: classes read references through slots.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            throw .unsupported("a reference to \(name) outside a slot")
        }
        /// Throws: classes write references through slots.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            throw .unsupported("a reference to \(name) outside a slot")
        }

        /// The slot of a reference to no object.
        @inlinable public static var emptySlot: Slot { Slot(key: nil) }
        /// Returns the slot of a reference to an object.
        @inlinable
        public static func slot(_ value: Property) -> Slot { Slot(object: value) }
        /// Returns the slot of a stored reference; nil if the value is no reference.
        public static func slot(stored: StoredValue) -> Slot? {
            stored.isNull ? emptySlot : Slot.Address.key(stored: stored).map { Slot(key: $0) }
        }
        /// Reads the slot, with the key of the object, from a row.
        @inlinable
        public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
            Slot(key: try Slot.Address.readKey(row, position))
        }
        /// Writes the key of the slot to a row; NULL if there is none.
        @inlinable
        public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            Slot.Address.writeKey(slot.storedKey, &writer, position)
        }
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

    @usableFromInline
    var isRemoved: Bool { if case .bytes(let bytes) = self { bytes.isEmpty || bytes == [0xFF] } else { false } }
    /// Whether the key is that of a row, not a marker.
    @usableFromInline
    var isRow: Bool { self != .noRow && self != .unsaved && !isRemoved }
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
