import MakoRecords

/// The slot of a collection of objects: their keys until the first access, then the objects.
public struct MemberSlot<Form: CollectionForm, Members: CollectionMembers>: PropertySlot
where Form.Target == Members.Object {
    private var content: Form.Value
    /// The keys as the row holds them, until they are loaded.
    private var stored: [UInt8]?
    /// The objects that have a key, mostly in the order of the content.
    private var known = OrderedPlaces<ObjectIdentifier>()
    /// The keys under which they were saved; ``RowKey/noRow``: none.
    private var keys: [RowKey] = []
    /// Deleted objects, which are removed from the content together with the last of them.
    private var leaving: Set<ObjectIdentifier> = []
    /// The error of the last load, also of the slot that this one replaced.
    private var failure: LoadFailure?

    /// A collection that was set. Locks each object, so the caller must hold no object lock.
    init(_ value: Form.Value) {
        content = value
        var known = OrderedPlaces<ObjectIdentifier>()
        var keys: [RowKey] = []
        Form.forEach(value) { object in
            guard let key = Members.key(of: object) else { return }
            known.append(Members.identity(of: object))
            keys.append(key)
        }
        (self.known, self.keys) = (known, keys)
    }

    /// The keys that a row holds.
    init(stored: [UInt8]) {
        content = Form.empty
        self.stored = stored
    }

    /// The collection; empty before it is loaded.
    public var value: Form.Value { content }
    /// Whether the collection is in memory.
    public var isSettled: Bool { stored == nil }
    /// Nil: a collection has no single object.
    public var loadedObject: (any ObjectEntity)? { nil }

    /// Visits the objects in memory, each as often as it occurs.
    public func visitObjects(_ visit: (any ObjectEntity) -> Void) {
        Form.forEach(content) { visit(Members.object($0)) }
    }

    /// The content of the column; nil for NULL. Objects without a row are left out.
    var encoded: [UInt8]? {
        if let stored { return stored }
        var known = known
        return Form.tree(content) { object in
            guard let place = known.place(of: Members.identity(of: object)), keys[place] != .noRow else { return nil }
            return keys[place]
        }?.encoded
    }

    /// Returns the slot with its objects loaded; with the error if the load failed.
    public func loaded(by owner: some ObjectEntity, property: Int) -> Self {
        guard let stored else { return self }
        do throws(MakoError) {
            guard let tree = KeyTree(stored) else { throw .otherForm(Form.self, owner, property) }
            let listed = tree.listedKeys
            let keys = listed ?? tree.keys
            let loaded = try Members.objects(keys, of: owner, property)
            var copy = self
            let objects = copy.note(loaded, keys)
            if listed != nil, let content = Form.value(of: objects) {
                copy.content = content
            } else {
                var places = OrderedPlaces(Array(copy.keys.suffix(objects.count)))
                do throws(OtherForm) {
                    copy.content =
                        try Form.value(tree) { key in places.place(of: key).map { objects[$0] } } ?? Form.empty
                } catch { throw .otherForm(Form.self, owner, property) }
            }
            copy.stored = nil
            copy.failure = nil
            return copy
        } catch {
            LazyLoad.failed(error, owner: owner)
            var copy = self
            copy.failure = LoadFailure(error)
            return copy
        }
    }

    /// Adds the objects that were found for keys, in their order, and returns them.
    private mutating func note(_ loaded: [Form.Target?], _ wanted: [RowKey]) -> [Form.Target] {
        var objects: [Form.Target] = []
        objects.reserveCapacity(loaded.count)
        keys.reserveCapacity(loaded.count)
        // Not `enumerated()`: outside a specialised function its pairs cost as much as reading the rows.
        for place in loaded.indices {
            guard let object = loaded[place] else { continue }
            known.append(Members.identity(of: object))
            keys.append(wanted[place])
            objects.append(object)
        }
        return objects
    }

    /// Takes over the loaded slot, unless the collection was set since `before` was read.
    public mutating func settle(_ loaded: Self, replacing before: Self) {
        guard let stored, stored == before.stored else { return }
        if loaded.isSettled { self = loaded } else { failure = loaded.failure }
    }

    /// Takes over the load error of the slot that this one replaces.
    public mutating func takePlace(of old: Self) { failure = old.failure }

    /// Throws the load error if the collection was set after a failed load: storing it would overwrite keys that were
    /// not read.
    func requireRead() throws(MakoError) {
        if isSettled, let failure { throw failure.error }
    }

    /// Sets the key that an object was saved under; removes an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        // An object may occur several times in the content: its first place has its key from now on.
        let place = known.firstPlace(of: ObjectIdentifier(object))
        let stored = key.isRow ? Members.key(key, of: object) : .noRow
        if let place { keys[place] = stored }
        guard key.isRemoved else {
            if place == nil {
                known.append(ObjectIdentifier(object))
                keys.append(stored)
            }
            return
        }
        leaving.insert(ObjectIdentifier(object))
        if key == .removed { return }
        content = MemberCodec<Form, Members>.mapped(content) { leaving.contains(ObjectIdentifier($0)) ? nil : $0 }
        leaving = []
    }

    /// Releases the objects, because the owner is deinitialized.
    public mutating func letGo() {
        if stored == nil { ReleasedObjects.release(&content, leaving: Form.empty) }
    }
}

extension MakoError {
    /// The keys of a property have another form than its type.
    static func otherForm<Form: CollectionForm>(
        _: Form.Type, _ owner: some ObjectEntity, _ property: Int
    ) -> MakoError {
        let model = type(of: owner).entityModel
        return .typeMismatch(
            entity: model.name, property: model.columns[property].name, expected: "\(Form.Value.self)",
            found: "keys in another form")
    }
}

/// The error of a load, in the slot of the property that was not loaded.
final class LoadFailure: Sendable {
    let error: MakoError
    init(_ error: MakoError) { self.error = error }
}

/// The slot of a collection of objects of one class.
public typealias CollectionSlot<Form: CollectionForm> = MemberSlot<Form, ClassMembers<Form.Target>>
where Form.Target: ObjectEntity

/// The codec of a collection of objects of one class.
public typealias CollectionCodec<Form: CollectionForm> = MemberCodec<Form, ClassMembers<Form.Target>>
where Form.Target: ObjectEntity

/// The codec of arrays, sets and dictionaries of objects, which are stored as the keys of their rows, in order or by
/// name.
public enum MemberCodec<Form: CollectionForm, Members: CollectionMembers>: SlotCodec
where Form.Target == Members.Object {
    /// The type of the property: a collection of objects.
    public typealias Property = Form.Value
    /// The slot of the collection.
    public typealias Slot = MemberSlot<Form, Members>

    /// The column type: keys of other rows.
    public static var columnType: ColumnType { .keys }
    /// Whether the column may be NULL.
    public static var isOptional: Bool { Form.isOptional }
    /// The class of the objects; nil: they may have several classes.
    public static var target: (any Entity.Type)? { Members.target }
    /// Whether the keys name the tables of the objects.
    public static var refersToAny: Bool { Members.target == nil }
    /// The class whose objects, or those of its subclasses, the collection holds; nil: any class, or ``target``.
    public static var superclass: (any Entity.Type)? { Members.superclass }

    /// Returns the keys of the objects as the column holds them; NULL for nil.
    public static func stored(_ value: Property) -> StoredValue {
        Form.tree(value) { Members.key(of: $0) }.map { .blob($0.encoded) } ?? .null
    }

    /// Returns the collection with the objects that the closure returns; without those for which it returns nil.
    public static func mapped(_ value: Property, _ map: (any ObjectEntity) -> (any ObjectEntity)?) -> Property {
        // Encodes the value with numbers in place of keys, and decodes it with the other objects.
        var objects: [RowKey: Form.Target] = [:]
        let tree = Form.tree(value) { object in
            guard let other = map(Members.object(object)).flatMap({ Members.member($0) }) else { return nil }
            let number = RowKey.rowID(Int64(objects.count))
            objects[number] = other
            return number
        }
        guard let tree else { return Form.empty }
        return (try? Form.value(tree) { objects[$0] }) ?? Form.empty
    }

    /// Returns the collection for a value without keys; else nil: collections with keys are read as slots.
    public static func value(_ stored: StoredValue) -> Property? { Form.keylessValue(stored) }

    /// Throws: classes read collections through slots.
    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
        throw .unsupported("a collection of \(Members.name) outside a slot")
    }
    /// Throws: classes write collections through slots.
    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        throw .unsupported("a collection of \(Members.name) outside a slot")
    }

    /// The slot of an empty collection; of nil where the collection is optional.
    public static var emptySlot: Slot { Slot(Form.empty) }
    /// Returns the slot of a collection.
    public static func slot(_ value: Property) -> Slot { Slot(value) }
    /// Returns the slot of stored keys; nil if the value holds none.
    public static func slot(stored: StoredValue) -> Slot? {
        if stored.isNull { return isOptional ? emptySlot : nil }
        guard case .blob(let bytes) = stored, KeyTree(bytes) != nil else { return nil }
        return Slot(stored: bytes)
    }
    /// Reads the slot, with the keys of the objects, from a row.
    public static func readSlot(_ row: EntityRow, _ position: Int) throws(MakoError) -> Slot {
        row.reader.isNull(position) ? emptySlot : Slot(stored: row.reader.blob(position))
    }
    /// Writes the keys of the objects to a row.
    public static func writeSlot(_ slot: Slot, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        try slot.requireRead()
        guard let bytes = slot.encoded else { return writer.setNull(position) }
        try Form.write(bytes, &writer, position)
    }
}

extension CollectionForm {
    /// The collection for a stored value without keys.
    static func keylessValue(_ stored: StoredValue) -> Value? {
        if stored.isNull { return isOptional ? empty : nil }
        guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return nil }
        // Values among objects need no row, so they are no keys here.
        var hasKeys = false
        let value = try? value(tree) { _ in
            hasKeys = true
            return nil
        }
        return hasKeys ? nil : value
    }

    /// Writes a tree after checking that its names can be read again.
    static func write(_ bytes: [UInt8], _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        if hasNames, !areNamesReadable(bytes) {
            throw EntityCoding.unstorable(writer, position, "one of its keys could not be read again")
        }
        writer.set(position, bytes)
    }

    private static func areNamesReadable(_ bytes: [UInt8]) -> Bool {
        guard let tree = KeyTree(bytes) else { return false }
        do throws(OtherForm) { _ = try value(tree) { _ in nil } } catch { return false }
        return true
    }

    // A form decodes only trees of its own form.
    fileprivate static var isPlainList: Bool {
        do throws(OtherForm) {
            return try value(.list([.key(.rowID(0))]), { _ in nil }) != nil
        } catch { return false }
    }
}

/// A codec of collections that distinguishes plain lists from forms with names or nested lists.
protocol ObjectListing {
    static var listsObjects: Bool { get }
    /// Whether the collection holds values among objects.
    static var listsValues: Bool { get }
}

extension MemberCodec: ObjectListing {
    static var listsObjects: Bool { Form.isPlainList }
    static var listsValues: Bool { Members.acceptsValues }
}

extension ValueCollectionCodec: ObjectListing {
    static var listsObjects: Bool { Form.isPlainList }
    static var listsValues: Bool { false }
}

// MARK: - Members

/// The objects that a collection may hold, and their keys in the column.
public protocol CollectionMembers: Sendable {
    /// The type of the objects.
    associatedtype Object: Sendable

    /// The class of the objects, whose table has their rows; nil: a key names the table.
    static var target: (any Entity.Type)? { get }
    /// The class whose objects, or those of its subclasses, are accepted; nil: any, or ``target``.
    static var superclass: (any Entity.Type)? { get }
    /// Whether the collection may hold values among the objects.
    static var acceptsValues: Bool { get }
    /// The name of the objects in errors.
    static var name: String { get }
    /// Returns the identity of an object.
    static func identity(of object: Object) -> ObjectIdentifier
    /// Returns the object without its type.
    static func object(_ object: Object) -> any ObjectEntity
    /// Returns an object of any type as one of the collection; nil if it is none.
    static func member(_ object: any ObjectEntity) -> Object?
    /// Returns the key in the column for a stored object; nil for an object that is not stored.
    static func key(of object: Object) -> RowKey?
    /// Returns the key in the column for the key of an object's row.
    static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey
    /// Returns the objects for keys in a column, in their order; nil for keys without a row.
    static func objects(
        _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
    ) throws(MakoError) -> [Object?]
}

extension CollectionMembers {
    /// False: the elements are objects.
    public static var acceptsValues: Bool { false }
}

/// Objects of one class, by the keys of their rows.
public enum ClassMembers<Object: ObjectEntity>: CollectionMembers {
    /// The class.
    public static var target: (any Entity.Type)? { Object.self }
    /// Nil: objects of subclasses are not accepted.
    public static var superclass: (any Entity.Type)? { nil }
    /// The name of the class.
    public static var name: String { Object.entityModel.name }
    /// Returns the identity of an object.
    public static func identity(of object: Object) -> ObjectIdentifier { ObjectIdentifier(object) }
    /// Returns the object.
    public static func object(_ object: Object) -> any ObjectEntity { object }
    /// Returns the object if it is of the class.
    public static func member(_ object: any ObjectEntity) -> Object? { object as? Object }
    /// Returns the key of the object's row.
    public static func key(of object: Object) -> RowKey? { object.storedKey }
    /// Returns the key itself.
    public static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey { key }
    /// Returns the objects with these keys.
    public static func objects(
        _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
    ) throws(MakoError) -> [Object?] {
        try LazyLoad.objects(Object.self, keys: keys, for: owner)
    }
}

/// Objects of any class, by the table and the key of their rows.
public enum AnyMembers: CollectionMembers {
    /// The type of the objects.
    public typealias Object = any ObjectEntity

    /// Nil: a key names the table.
    public static var target: (any Entity.Type)? { nil }
    /// Nil: objects of any class are accepted.
    public static var superclass: (any Entity.Type)? { nil }
    /// The name of the objects in errors.
    public static var name: String { "objects of any entity" }
    /// Returns the identity of an object.
    public static func identity(of object: any ObjectEntity) -> ObjectIdentifier { ObjectIdentifier(object) }
    /// Returns the object.
    public static func object(_ object: any ObjectEntity) -> any ObjectEntity { object }
    /// Returns the object.
    public static func member(_ object: any ObjectEntity) -> (any ObjectEntity)? { object }
    /// Returns the table and key of the object's row.
    public static func key(of object: any ObjectEntity) -> RowKey? { object.anyReference?.element }
    /// Returns the table of the object with the key.
    public static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey {
        AnyReference(table: type(of: object).entityModel.table, key: key).element
    }
    /// Returns the objects with these tables and keys.
    public static func objects(
        _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
    ) throws(MakoError) -> [(any ObjectEntity)?] {
        try LazyLoad.objects(elements: keys, of: owner, property) { (table, schema) in
            schema.binding(ofTable: table)?.model.type as? any ObjectEntity.Type
        }
    }
}

/// Objects of a class and its subclasses, by the table and the key of their rows.
public enum SubclassMembers<Object: ObjectEntity>: CollectionMembers {
    /// Nil: a key names the table.
    public static var target: (any Entity.Type)? { nil }
    /// The class.
    public static var superclass: (any Entity.Type)? { Object.self }
    /// The name of the class.
    public static var name: String { Object.entityModel.name }
    /// Returns the identity of an object.
    public static func identity(of object: Object) -> ObjectIdentifier { ObjectIdentifier(object) }
    /// Returns the object.
    public static func object(_ object: Object) -> any ObjectEntity { object }
    /// Returns the object if it is of the class or a subclass.
    public static func member(_ object: any ObjectEntity) -> Object? { object as? Object }
    /// Returns the table and key of the object's row.
    public static func key(of object: Object) -> RowKey? { AnyMembers.key(of: object) }
    /// Returns the table of the object with the key.
    public static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey { AnyMembers.key(key, of: object) }
    /// Returns the objects with these tables and keys.
    public static func objects(
        _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
    ) throws(MakoError) -> [Object?] {
        let loaded = try LazyLoad.objects(elements: keys, of: owner, property) { (table, schema) in
            schema.type(ofTable: table, under: Object.self)
        }
        return loaded.map { $0 as? Object }
    }
}

extension LazyLoad {
    /// Loads the objects for the elements of a column of keys of any table, those of each table together.
    ///
    /// - Parameter type: returns the class in use for the objects of a table.
    /// - Returns: the objects in the order of the elements; nil for those without a row.
    /// - Throws: `MakoError.unsupported` when no type for a table is in use; `MakoError.typeMismatch` for an element that is
    ///   no reference.
    fileprivate static func objects(
        elements: [RowKey], of owner: some ObjectEntity, _ property: Int,
        _ type: (String, SchemaState) -> (any ObjectEntity.Type)?
    ) throws(MakoError) -> [(any ObjectEntity)?] {
        var tables: [String: [(place: Int, key: RowKey)]] = [:]
        for (place, element) in elements.enumerated() {
            guard let reference = AnyReference(element: element) else { throw noReference(element, owner, property) }
            tables[reference.table, default: []].append((place, reference.key))
        }
        var objects: [(any ObjectEntity)?] = Array(repeating: nil, count: elements.count)
        for (table, members) in tables.sorted(by: { $0.key < $1.key }) {
            guard let type = try self.type(ofTable: table, for: owner, { type(table, $0) }) else { continue }
            let loaded = try loaded(type, members.map(\.key), owner)
            for (member, object) in zip(members, loaded) { objects[member.place] = object }
        }
        return objects
    }

    private static func loaded<Target: ObjectEntity>(
        _ type: Target.Type, _ keys: [RowKey], _ owner: some ObjectEntity
    ) throws(MakoError) -> [(any ObjectEntity)?] {
        try objects(type, keys: keys, for: owner)
    }

    private static func noReference(_ element: RowKey, _ owner: some ObjectEntity, _ property: Int) -> MakoError {
        let model = Swift.type(of: owner).entityModel
        return .typeMismatch(
            entity: model.name, property: model.columns[property].name, expected: "tables and keys of objects",
            found: "\(element)")
    }
}
