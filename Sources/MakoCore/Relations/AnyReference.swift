import MakoRecords

/// The slot of a class's reference to an object of any entity: a table and a key until the first access, then an
/// object.
public struct AnyReferenceSlot: PropertySlot {
    private var object: (any ObjectEntity)?
    private(set) var reference: AnyReference?
    /// Whether the reference needs no load: its object is known, or there is none.
    public private(set) var isSettled: Bool

    /// A reference that was set.
    init(object: (any ObjectEntity)?) {
        self.object = object
        reference = object?.anyReference
        isSettled = true
    }

    /// A reference as a row holds it.
    init(_ reference: AnyReference?) {
        self.reference = reference
        isSettled = reference == nil
    }

    /// The object; nil before it is loaded.
    public var value: (any ObjectEntity)? { object }
    /// The object in memory; nil if there is none.
    public var loadedObject: (any ObjectEntity)? { object }

    /// Returns the slot with its object loaded; unchanged if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        loaded(by: owner) { (reference) throws(MakoError) in try LazyLoad.object(reference, for: owner) }
    }

    /// The slot with its object loaded, which must be of a class or of a subclass.
    func loaded<Target: ObjectEntity>(by owner: some ObjectEntity, under target: Target.Type) -> Self {
        loaded(by: owner) { (reference) throws(MakoError) in
            try LazyLoad.object(reference, under: target, for: owner)
        }
    }

    private func loaded(
        by owner: some ObjectEntity,
        _ load: (AnyReference) throws(MakoError) -> (any ObjectEntity)?
    ) -> Self {
        guard let reference, !isSettled else { return self }
        do throws(MakoError) {
            var copy = self
            copy.object = try load(reference)
            copy.isSettled = true
            return copy
        } catch {
            LazyLoad.failed(error, owner: owner)
            return self
        }
    }

    /// Takes over the loaded slot, unless the reference was set since `before` was read.
    public mutating func settle(_ loaded: Self, replacing before: Self) {
        guard loaded.isSettled, !isSettled, reference == before.reference else { return }
        self = loaded
    }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard self.object === object else { return }
        reference = key.isRow ? AnyReference(table: type(of: object).entityModel.table, key: key) : nil
        if key.isRemoved { self.object = nil }
    }

    /// Releases the object, because the owner is deinitialized.
    public mutating func letGo() { if object != nil { ReleasedObjects.release(&object, leaving: nil) } }
}

/// The codec of a class's references to objects of any entity, which are stored as text.
public enum AnyReferenceCodec: SlotCodec {
    /// The type of the property: an optional object of any entity.
    public typealias Property = (any ObjectEntity)?
    /// The slot of the reference.
    public typealias Slot = AnyReferenceSlot

    /// The column type: a text of table and key.
    public static var columnType: ColumnType { .text }
    /// True: the column of a reference may be NULL.
    public static var isOptional: Bool { true }
    /// True: the reference may lead to any entity.
    public static var refersToAny: Bool { true }

    /// Returns the object's table and key as text; NULL for nil and for an object that is not stored.
    public static func stored(_ value: Property) -> StoredValue { value?.anyReference?.stored ?? .null }

    /// Returns the object that the closure returns for the referenced one.
    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
        value.flatMap(map)
    }

    /// Returns nil for NULL, else no value: references are read as slots.
    public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

    /// Throws: classes read references through slots.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
        throw .unsupported("a reference to an object of any entity outside a slot")
    }
    /// Throws: classes write references through slots.
    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw .unsupported("a reference to an object of any entity outside a slot")
    }

    /// The slot of a reference to no object.
    public static var emptySlot: Slot { Slot(nil) }
    /// Returns the slot of a reference to an object.
    public static func slot(_ value: Property) -> Slot { Slot(object: value) }
    /// Returns the slot of a stored reference; nil if the value is no reference.
    public static func slot(stored: StoredValue) -> Slot? {
        if stored.isNull { return Slot(nil) }
        return AnyReference(stored).map { Slot($0) }
    }

    /// Reads the slot, with the key of the object, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        if let slot = slot(stored: row.reader.value(position)) { return slot }
        throw EntityCoding.mismatch(row, position, Property.self)
    }

    /// Writes the key of the slot to a row; NULL if there is none.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.set(position, slot.reference?.stored ?? .null)
    }
}

extension EntityCoding {
    /// Returns the codec for a reference to an object of any entity.
    public static func codec(_: (any ObjectEntity)?.Type) -> AnyReferenceCodec.Type { AnyReferenceCodec.self }
}

extension ObjectEntity {
    /// The table and key of the object; nil before its first save.
    var anyReference: AnyReference? {
        storedKey.map { AnyReference(table: type(of: self).entityModel.table, key: $0) }
    }
}

extension ObjectEntity {
    /// Loads the object of a reference to any entity and returns it. Throws where property access would return nil
    /// because of an error.
    ///
    /// - Throws: `MakoError.unsupported` when the class of the object is not in use; the error of the load.
    @discardableResult
    public func load(_ relation: KeyPath<Self, (any ObjectEntity)?>) throws(MakoError) -> (any ObjectEntity)? {
        lockedState { $0.setLoadError(nil) }
        let value = self[keyPath: relation]
        if value == nil, let error = loadError { throw error }
        return value
    }
}

extension LazyLoad {
    /// Loads the object of a reference to any entity; nil if its row does not exist.
    ///
    /// - Throws: `MakoError.unsupported` when no type for the table is in use.
    static func object(
        _ reference: AnyReference, for owner: some ObjectEntity
    ) throws(MakoError) -> (any ObjectEntity)? {
        try object(reference, for: owner) { schema in
            schema.binding(ofTable: reference.table)?.model.type as? any ObjectEntity.Type
        }
    }

    /// Loads the object of a reference to a class or one of its subclasses; nil if its row does not exist.
    static func object<Target: ObjectEntity>(
        _ reference: AnyReference, under target: Target.Type, for owner: some ObjectEntity
    ) throws(MakoError) -> (any ObjectEntity)? {
        try object(reference, for: owner) { $0.type(ofTable: reference.table, under: target) }
    }

    private static func object(
        _ reference: AnyReference, for owner: some ObjectEntity,
        _ type: (SchemaState) -> (any ObjectEntity.Type)?
    ) throws(MakoError) -> (any ObjectEntity)? {
        guard let target = try self.type(ofTable: reference.table, for: owner, type) else { return nil }
        return try loaded(target, reference.key, owner)
    }

    /// The class in use for the objects of a table; nil if the table does not exist.
    ///
    /// - Throws: `MakoError.unsupported` when there is none.
    static func type(
        ofTable table: String, for owner: some ObjectEntity, _ type: (SchemaState) -> (any ObjectEntity.Type)?
    ) throws(MakoError) -> (any ObjectEntity.Type)? {
        let model = Swift.type(of: owner).entityModel
        let database = try Database.resolve(number: owner.lockedState { $0.database }, for: model)
        let (target, isThere) = try database.viewing { (_, schema) throws(MakoError) in
            (type(schema), schema.catalogue.table(named: table) != nil)
        }
        if isThere && target == nil {
            throw .unsupported(
                "\(model.name) referring to an object in the table \(table), whose class is not in use (name it in "
                    + "'entities:' when the database is opened)")
        }
        return isThere ? target : nil
    }

    private static func loaded<Target: ObjectEntity>(
        _ type: Target.Type, _ key: RowKey, _ owner: some ObjectEntity
    ) throws(MakoError) -> (any ObjectEntity)? {
        try object(type, key: key, for: owner)
    }
}

// MARK: - Conditions

/// Returns the condition that a reference to any entity leads to this object, or, for nil, to none.
public func == <R: Entity>(
    left: KeyPath<Row<R>, Column<(any ObjectEntity)?>>, right: (any ObjectEntity)?
) -> Condition<R> {
    if let right, right.anyReference == nil { return Condition(.constant(false)) }
    return ConditionBuilder.compare(left.path(), .equal, AnyReferenceCodec.stored(right))
}

/// Returns the condition that a reference to any entity does not lead to this object, or, for nil, leads to any.
public func != <R: Entity>(
    left: KeyPath<Row<R>, Column<(any ObjectEntity)?>>, right: (any ObjectEntity)?
) -> Condition<R> {
    if let right, right.anyReference == nil { return Condition(.constant(true)) }
    return ConditionBuilder.compare(left.path(), .notEqual, AnyReferenceCodec.stored(right))
}

extension Update {
    /// Sets a reference to any entity to a stored object, or to nil.
    public func set(
        _ keyPath: KeyPath<Row<T>, Column<(any ObjectEntity)?>>, to object: (any ObjectEntity)?
    ) -> Update {
        adding(keyPath.path(), object) { (_) throws(MakoError) in [.literal(.null, at: .none)] }
    }
}
