import MakoRecords

extension EntityCoding {
    /// Converts the values of a property type to fields of a row and back. `EntityCoding.codec` selects the codec of a type
    /// at compile time, so that the compiler can call it directly.
    public protocol PropertyCodec {
        /// The property's type.
        associatedtype Property

        /// The type of the property's column.
        static var columnType: ColumnType { get }
        /// Whether the column may be NULL.
        static var isOptional: Bool { get }
        /// The entity that a reference leads to; nil for other properties.
        static var target: (any Entity.Type)? { get }
        /// Whether the property is a reference that may lead to any entity.
        static var refersToAny: Bool { get }
        /// The class whose objects, or those of its subclasses, such a reference leads to; nil: any.
        static var superclass: (any Entity.Type)? { get }
        /// Whether the column holds JSON.
        static var isJSON: Bool { get }
        /// The column type of the encrypted value; nil: the column is not encrypted.
        static var sealedType: ColumnType? { get }
        /// Returns the value as the column holds it.
        static func stored(_ value: Property) -> StoredValue
        /// Returns the property's value for the content of its column; `nil` if there is none.
        static func value(_ stored: StoredValue) -> Property?
        /// Returns the reason why a value could not be read again, for which it is refused; nil if it can be stored.
        static func fault(storing value: Property) -> String?
        /// Returns the property's value for the content of its column, where keys may be looked up in the current database.
        static func loaded(_ stored: StoredValue) throws(MakoError) -> Property?
        /// Reads the property from a row.
        static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property
        /// Writes the property to a row.
        static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError)

        /// The columns of a composite property, in order; else none.
        static var parts: [PropertyPart] { get }
        /// Returns the contents of the property's columns.
        static func storedParts(_ value: Property) -> [StoredValue]
        /// Returns the property's value for the contents of its columns; `nil` if there is none.
        static func joined(_ parts: [StoredValue]) -> Property?
        /// Returns the value with other objects in place of its own, without those for which the closure returns nil.
        static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property
        /// Writes NULL to all of the property's columns.
        static func writeNull(_ writer: inout RowWriter, _ position: Int)
    }
}

extension EntityCoding.PropertyCodec {
    /// Returns the value for a column, without a look-up.
    public static func loaded(_ stored: StoredValue) throws(MakoError) -> Property? { value(stored) }
    /// Nil: every value can be stored.
    public static func fault(storing value: Property) -> String? { nil }
    /// None: the property has one column.
    @inlinable public static var parts: [EntityCoding.PropertyPart] { [] }
    /// Returns the content of the property's only column.
    public static func storedParts(_ value: Property) -> [StoredValue] { [stored(value)] }
    /// Returns the value for the content of the only column.
    public static func joined(_ parts: [StoredValue]) -> Property? { parts.count == 1 ? value(parts[0]) : nil }
    /// Writes NULL to the only column.
    @inlinable
    public static func writeNull(_ writer: inout RowWriter, _ position: Int) { writer.setNull(position) }
    /// Returns the value itself: it holds no objects.
    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property { value }
    /// False: the column cannot be NULL.
    @inlinable public static var isOptional: Bool { false }
    /// Nil: the property is no reference.
    @inlinable public static var target: (any Entity.Type)? { nil }
    /// False: the property is no reference to any entity.
    @inlinable public static var refersToAny: Bool { false }
    /// Nil: the property is no reference to subclasses.
    @inlinable public static var superclass: (any Entity.Type)? { nil }
    /// False: the column holds no JSON.
    @inlinable public static var isJSON: Bool { false }
    /// Nil: the column is not encrypted.
    @inlinable public static var sealedType: ColumnType? { nil }
}

extension EntityCoding {
    /// The codec of a property whose type may be an entity or a collection of one, for which a class has a slot.
    public protocol SlotCodec: PropertyCodec {
        /// The slot that a class has for the property.
        associatedtype Slot: PropertySlot where Slot.Property == Property
        /// Returns the slot of a value.
        static func slot(_ value: Property) -> Slot
        /// Returns the slot for the content of a column; nil if there is none.
        static func slot(stored: StoredValue) -> Slot?
        /// Reads the slot from a row.
        static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot
        /// Writes the slot to a row.
        static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError)
    }

    /// The content of a property that may refer to objects.
    public protocol PropertySlot: Sendable {
        /// The type of the property.
        associatedtype Property
        /// The property's value.
        var value: Property { get }
        /// Whether `value` is final, as opposed to a reference that is not loaded yet.
        var isSettled: Bool { get }
        /// The object of the slot, if it is in memory.
        var loadedObject: (any ObjectEntity)? { get }
        /// Visits the objects in memory, each as often as it occurs.
        func visitObjects(_ visit: (any ObjectEntity) -> Void)
        /// Returns the slot with its object loaded; not settled if the load failed.
        func loaded(by owner: some ObjectEntity, property: Int) -> Self
        /// Takes over the loaded slot, unless another value was set since `before` was read.
        mutating func settle(_ loaded: Self, replacing before: Self)
        /// Sets the key under which the object was saved.
        mutating func resolve(_ object: any ObjectEntity, key: RowKey)
        /// Takes over the state of the slot that this one replaces, when a property is set.
        mutating func takePlace(of old: Self)
        /// Releases the objects of the slot, because the owner is deinitialized. A chain of objects of any length must not
        /// recurse.
        mutating func letGo()
    }
}

extension EntityCoding.PropertySlot {
    /// Does nothing: most slots have no state to take over.
    @inlinable public mutating func takePlace(of old: Self) {}
    /// Does nothing: the slot holds no objects.
    @inlinable public mutating func letGo() {}
    /// Visits the object of the slot, if it is in memory.
    @inlinable
    public func visitObjects(_ visit: (any ObjectEntity) -> Void) { if let loadedObject { visit(loadedObject) } }
}

extension EntityCoding {
    /// The slot of a property with a plain value.
    @frozen
    public struct ValueSlot<Property: Sendable>: PropertySlot {
        /// The value.
        public var value: Property
        /// Creates a slot of a value.
        @inlinable public init(_ value: Property) { self.value = value }
        /// True: a value needs no load.
        @inlinable public var isSettled: Bool { true }
        /// Nil: a value is no object.
        @inlinable public var loadedObject: (any ObjectEntity)? { nil }
        /// Returns the slot itself: a value needs no load.
        @inlinable public func loaded(by owner: some ObjectEntity, property: Int) -> Self { self }
        /// Does nothing: a value needs no load.
        @inlinable public mutating func settle(_ loaded: Self, replacing before: Self) {}
        /// Does nothing: a value has no key.
        @inlinable public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {}
    }

    /// The codec of values whose properties have a slot, because a macro cannot distinguish them from objects.
    public protocol ValueSlotCodec: SlotCodec where Property: Sendable, Slot == ValueSlot<Property> {}
}

extension EntityCoding.ValueSlotCodec {
    /// Returns the slot of a value.
    public static func slot(_ value: Property) -> EntityCoding.ValueSlot<Property> { EntityCoding.ValueSlot(value) }
    /// Returns the slot of a stored value; nil if it is none.
    public static func slot(stored: StoredValue) -> EntityCoding.ValueSlot<Property>? {
        value(stored).map { EntityCoding.ValueSlot($0) }
    }
    /// Reads the slot from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> EntityCoding.ValueSlot<Property>
    {
        EntityCoding.ValueSlot(try read(row, position))
    }
    /// Writes the slot to a row.
    public static func writeSlot(
        _ slot: EntityCoding.ValueSlot<Property>, _ writer: inout RowWriter, _ position: Int
    ) throws(MakoError) {
        try write(slot.value, &writer, position)
    }
}

extension EntityCoding {
    /// The codec of values that fill one column.
    public enum StorableCodec<Property: StorableValue>: ValueSlotCodec {
        /// The column type of the property's type.
        @inlinable public static var columnType: ColumnType { Property.columnType }
        /// Whether the property's type is optional.
        @inlinable public static var isOptional: Bool { Property.isOptionalColumn }
        /// Returns the value as the column holds it.
        @inlinable public static func stored(_ value: Property) -> StoredValue { value.stored }
        /// Returns the value for a column; nil if there is none.
        @inlinable public static func value(_ stored: StoredValue) -> Property? { Property(stored: stored) }

        /// Reads the property from a row.
        @inlinable @inline(__always)
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            if let value = Property.read(row.reader, position) { return value }
            throw EntityCoding.mismatch(row, position, Property.self)
        }

        /// Writes the property to a row.
        @inlinable
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            if Property._$isPlain {
                value.write(to: &writer, position)
            } else {
                // Once, because it is the user's code.
                writer.writeLater { writer in
                    let stored = value.stored
                    if let reason = fault(of: stored) { throw EntityCoding.unstorable(writer, position, reason) }
                    writer.set(position, stored)
                }
            }
        }

        /// Returns the reason why the value could not be read again; nil if it can be stored.
        public static func fault(storing value: Property) -> String? { fault(of: value.stored) }

        /// The conversions of a user's type may not be inverse to each other.
        @usableFromInline
        static func fault(of stored: StoredValue) -> String? {
            if Property(stored: stored) != nil { return nil }
            return "\(stored.brief), which is stored for it, is no \(Property.self)"
        }
    }

    /// The codec of raw-representable values, which are stored as their raw values.
    public enum RawCodec<Property: RawRepresentable & Sendable>: ValueSlotCodec where Property.RawValue: StorableValue {
        /// The column type of the raw value.
        @inlinable public static var columnType: ColumnType { Property.RawValue.columnType }
        /// Returns the raw value as the column holds it.
        @inlinable public static func stored(_ value: Property) -> StoredValue { value.rawValue.stored }
        /// Returns the value with the stored raw value; nil if there is none.
        @inlinable
        public static func value(_ stored: StoredValue) -> Property? {
            Property.RawValue(stored: stored).flatMap { Property(rawValue: $0) }
        }

        /// Reads the property by its raw value from a row.
        @inlinable
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            if let raw = Property.RawValue.read(row.reader, position), let value = Property(rawValue: raw) {
                return value
            }
            throw EntityCoding.mismatch(row, position, Property.self)
        }

        /// Writes the raw value to a row.
        @inlinable
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            if EntityCoding.isPlainRaw(Property.self) {
                value.rawValue.write(to: &writer, position)
            } else {
                // Once, because it is the user's code.
                writer.writeLater { writer in
                    let raw = value.rawValue.stored
                    if let reason = fault(of: raw) { throw EntityCoding.unstorable(writer, position, reason) }
                    writer.set(position, raw)
                }
            }
        }

        /// Returns the reason why the value could not be read again; nil if it can be stored.
        public static func fault(storing value: Property) -> String? { fault(of: value.rawValue.stored) }

        /// The raw value of a struct may be one that its initialiser refuses.
        @usableFromInline
        static func fault(of raw: StoredValue) -> String? {
            value(raw) == nil ? "\(raw.brief), which is stored for it, is no \(Property.self)" : nil
        }
    }
}

extension EntityCoding {
    /// Returns whether the raw value of a type is always that of a value, and runs only Mako's and the compiler's code.
    ///
    /// A type that is smaller than its raw value does not hold one: it is an enumeration. Its layout decides, because a
    /// test of each value would be paid in every save.
    @inlinable
    static func isPlainRaw<T: RawRepresentable>(_ type: T.Type) -> Bool where T.RawValue: StorableValue {
        T.RawValue._$isPlain && MemoryLayout<T>.size < MemoryLayout<T.RawValue>.size
    }
}

extension EntityCoding {
    /// The codec of optional properties: `nil` is stored as NULL.
    public enum OptionalCodec<Base: PropertyCodec>: SlotCodec where Base.Property: Sendable {
        /// The type of the property: an optional of the base type.
        public typealias Property = Base.Property?
        /// The slot of the property: the value itself.
        public typealias Slot = ValueSlot<Property>

        /// The column type of the base codec.
        @inlinable public static var columnType: ColumnType { Base.columnType }
        /// True: the column of nil is NULL.
        @inlinable public static var isOptional: Bool { true }
        /// Whether the column of the base codec holds JSON.
        @inlinable public static var isJSON: Bool { Base.isJSON }
        /// Returns the value as the base codec stores it; NULL for nil.
        @inlinable public static func stored(_ value: Property) -> StoredValue { value.map(Base.stored) ?? .null }

        /// Returns nil for NULL, else the value of the base codec.
        public static func value(_ stored: StoredValue) -> Property? {
            if stored.isNull { return .some(.none) }
            return Base.value(stored).map { .some($0) }
        }

        /// Returns the reason why the base codec cannot store the value; nil if it can.
        public static func fault(storing value: Property) -> String? { value.flatMap { Base.fault(storing: $0) } }

        /// Reads nil for NULL, else the value of the base codec.
        @inlinable
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            row.reader.isNull(position) ? nil : try Base.read(row, position)
        }

        /// Writes NULL for nil, else the value by the base codec.
        @inlinable
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            if let value { try Base.write(value, &writer, position) } else { Base.writeNull(&writer, position) }
        }

        /// The columns of the base codec.
        @inlinable public static var parts: [PropertyPart] { Base.parts }

        /// Returns the contents of the columns; NULL in all for nil.
        public static func storedParts(_ value: Property) -> [StoredValue] {
            value.map(Base.storedParts) ?? Array(repeating: .null, count: max(1, parts.count))
        }

        /// Returns nil if all contents are NULL, else the value of the base codec.
        public static func joined(_ parts: [StoredValue]) -> Property? {
            if parts.allSatisfy(\.isNull) { return .some(.none) }
            return Base.joined(parts).map { .some($0) }
        }

        /// Writes NULL to the columns of the base codec.
        @inlinable
        public static func writeNull(_ writer: inout RowWriter, _ position: Int) { Base.writeNull(&writer, position) }

        /// The slot of nil.
        @inlinable public static var emptySlot: Slot { Slot(nil) }
        /// Returns the slot of a value.
        @inlinable public static func slot(_ value: Property) -> Slot { Slot(value) }
        /// Returns the slot of a stored value; nil if it is none.
        public static func slot(stored: StoredValue) -> Slot? { value(stored).map { Slot($0) } }
        /// Reads the slot from a row.
        @inlinable
        public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
            Slot(try read(row, position))
        }
        /// Writes the slot to a row.
        @inlinable
        public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            try write(slot.value, &writer, position)
        }
    }
}
