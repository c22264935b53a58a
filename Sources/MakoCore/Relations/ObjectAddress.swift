import MakoRecords

extension EntityCoding {
    /// The objects that a reference or a collection may hold, and their keys in its column.
    ///
    /// The key of an object is a `RowKey`: with ``EntityCoding/ClassAddress`` the key of its row, else one that names the
    /// table as well. A type with static functions, so that references and collections of one class need no existential and
    /// no closure.
    public protocol ObjectAddress: Sendable {
        /// The type of the objects.
        associatedtype Object: Sendable

        /// The class of the objects, whose table has their rows; nil: a key names the table.
        static var target: (any Entity.Type)? { get }
        /// The class whose objects, or those of its subclasses, are accepted; nil: any, or ``target``.
        static var superclass: (any Entity.Type)? { get }
        /// Whether a collection may hold values among the objects.
        static var acceptsValues: Bool { get }
        /// Returns the identity of an object.
        static func identity(of object: Object) -> ObjectIdentifier
        /// Returns the object without its type.
        static func object(_ object: Object) -> any ObjectEntity
        /// Returns an object of any type with the type of the address; nil if it has another.
        static func member(_ object: any ObjectEntity) -> Object?
        /// Releases the object of a reference whose owner is deinitialized. A chain of objects of any length must not recurse.
        static func release(_ object: inout Object?)

        /// Returns the key in the column for a stored object; nil for an object that is not stored.
        static func key(of object: Object) -> RowKey?
        /// Returns the key in the column for the key of an object's row.
        static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey
        /// Returns the object for a key in the column; nil if it has no row.
        static func object(_ key: RowKey, of owner: some ObjectEntity) throws(MakoError) -> Object?
        /// Returns the objects for keys in a column, in their order; nil for keys without a row.
        static func objects(
            _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
        ) throws(MakoError) -> [Object?]

        /// The type of a column that holds one key, that of a reference.
        static var columnType: ColumnType { get }
        /// Returns the value of such a column for a key.
        static func stored(_ key: RowKey) -> StoredValue
        /// Returns the key for the value of such a column; nil if the value is none.
        static func key(stored: StoredValue) -> RowKey?
        /// Reads the key from a row; nil for NULL.
        static func readKey(_ row: EntityRow, _ position: Int) throws(MakoError) -> RowKey?
        /// Writes the key to a row; NULL for nil.
        static func writeKey(_ key: RowKey?, _ writer: inout RowWriter, _ position: Int)
    }
}

// MARK: - One class

extension EntityCoding {
    /// Objects of one class, by the keys of their rows.
    public enum ClassAddress<Object: ObjectEntity>: ObjectAddress {
        /// The class.
        public static var target: (any Entity.Type)? { Object.self }
        /// Returns the identity of an object.
        @inlinable public static func identity(of object: Object) -> ObjectIdentifier { ObjectIdentifier(object) }
        /// Returns the object.
        @inlinable public static func object(_ object: Object) -> any ObjectEntity { object }
        /// Returns the object if it is of the class.
        public static func member(_ object: any ObjectEntity) -> Object? { object as? Object }
        /// Releases the object, if nothing else holds it.
        public static func release(_ object: inout Object?) {
            if isKnownUniquelyReferenced(&object) { ReleasedObjects.release(&object, leaving: nil) }
        }

        /// Returns the key of the object's row.
        public static func key(of object: Object) -> RowKey? { object.storedKey }
        /// Returns the key itself.
        @inlinable public static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey { key }
        /// Returns the object with the key.
        public static func object(_ key: RowKey, of owner: some ObjectEntity) throws(MakoError) -> Object? {
            try LazyLoad.object(Object.self, key: key, for: owner)
        }
        /// Returns the objects with these keys.
        public static func objects(
            _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
        ) throws(MakoError) -> [Object?] {
            try LazyLoad.objects(Object.self, keys: keys, for: owner)
        }

        /// The column type: the key of another row.
        public static var columnType: ColumnType { .reference }
        /// Returns the row number, or the value of the key column.
        public static func stored(_ key: RowKey) -> StoredValue { ReferenceKeys.value(of: key, Object.entityModel) }
        /// Returns the key for a row number, or for the value of a key column.
        public static func key(stored: StoredValue) -> RowKey? { ReferenceKeys.key(stored, of: Object.entityModel) }
        /// Reads the key from a row; nil for NULL.
        public static func readKey(_ row: EntityRow, _ position: Int) -> RowKey? {
            ReferenceKeys.read(row.reader, position, of: Object.entityModel)
        }
        /// Writes the key to a row; NULL for nil.
        public static func writeKey(_ key: RowKey?, _ writer: inout RowWriter, _ position: Int) {
            ReferenceKeys.write(key, of: Object.entityModel, &writer, position)
        }
    }
}

// MARK: - Several classes

extension EntityCoding {
    /// Objects of any class, by the table and the key of their rows.
    public enum AnyAddress: ObjectAddress {
        /// The type of the objects.
        public typealias Object = any ObjectEntity
    }

    /// Objects of a class and its subclasses, by the table and the key of their rows.
    public enum SubclassAddress<Object: ObjectEntity>: ObjectAddress {
        /// The class.
        public static var superclass: (any Entity.Type)? { Object.self }
        /// Returns the identity of an object.
        public static func identity(of object: Object) -> ObjectIdentifier { ObjectIdentifier(object) }
        /// Returns the object.
        public static func object(_ object: Object) -> any ObjectEntity { object }
        /// Returns the object if it is of the class or a subclass.
        public static func member(_ object: any ObjectEntity) -> Object? { object as? Object }
    }
}

extension EntityCoding.ObjectAddress where Object == any ObjectEntity {
    /// Returns the identity of an object.
    public static func identity(of object: any ObjectEntity) -> ObjectIdentifier { ObjectIdentifier(object) }
    /// Returns the object.
    public static func object(_ object: any ObjectEntity) -> any ObjectEntity { object }
    /// Returns the object.
    public static func member(_ object: any ObjectEntity) -> (any ObjectEntity)? { object }
}

// An address names the table unless its type says otherwise. The key is then an element (`AnyReference.element`).
extension EntityCoding.ObjectAddress {
    /// Nil: a key names the table.
    public static var target: (any Entity.Type)? { nil }
    /// Nil: objects of any class are accepted, or those of ``target``.
    public static var superclass: (any Entity.Type)? { nil }
    /// False: the elements are objects.
    public static var acceptsValues: Bool { false }
    /// Releases the object.
    public static func release(_ object: inout Object?) { ReleasedObjects.release(&object, leaving: nil) }

    /// Returns the table and key of the object's row.
    public static func key(of object: Object) -> RowKey? { self.object(object).anyReference?.element }
    /// Returns the table of the object with the key.
    public static func key(_ key: RowKey, of object: any ObjectEntity) -> RowKey {
        AnyReference(table: type(of: object).entityModel.table, key: key).element
    }
    /// Returns the object with this table and key.
    public static func object(_ key: RowKey, of owner: some ObjectEntity) throws(MakoError) -> Object? {
        guard let reference = AnyReference(element: key) else { return nil }
        guard let type = try usedClass(ofTable: reference.table, for: owner) else { return nil }
        return try LazyLoad.object(type, key: reference.key, for: owner).flatMap(member)
    }
    /// Returns the objects with these tables and keys. The objects of each table are loaded together.
    public static func objects(
        _ keys: [RowKey], of owner: some ObjectEntity, _ property: Int
    ) throws(MakoError) -> [Object?] {
        var tables: [String: [(place: Int, key: RowKey)]] = [:]
        for (place, element) in keys.enumerated() {
            guard let reference = AnyReference(element: element) else { throw noReference(element, owner, property) }
            tables[reference.table, default: []].append((place, reference.key))
        }
        var objects: [Object?] = Array(repeating: nil, count: keys.count)
        for (table, members) in tables.sorted(by: { $0.key < $1.key }) {
            guard let type = try usedClass(ofTable: table, for: owner) else { continue }
            let loaded: [(any ObjectEntity)?] = try LazyLoad.objects(type, keys: members.map(\.key), for: owner)
            for (member, object) in zip(members, loaded) { objects[member.place] = object.flatMap(self.member) }
        }
        return objects
    }

    /// The column type: a text of table and key.
    public static var columnType: ColumnType { .text }
    /// Returns the text of table and key.
    public static func stored(_ key: RowKey) -> StoredValue { AnyReference(element: key)?.stored ?? .null }
    /// Returns the table and key for a text.
    public static func key(stored: StoredValue) -> RowKey? { AnyReference(stored)?.element }
    /// Reads the text of table and key from a row; nil for NULL.
    public static func readKey(_ row: EntityRow, _ position: Int) throws(MakoError) -> RowKey? {
        let stored = row.reader.value(position)
        if stored.isNull { return nil }
        if let key = key(stored: stored) { return key }
        throw EntityCoding.mismatch(row, position, (any ObjectEntity)?.self)
    }
    /// Writes the text of table and key to a row; NULL for nil.
    public static func writeKey(_ key: RowKey?, _ writer: inout RowWriter, _ position: Int) {
        writer.set(position, key.map(stored) ?? .null)
    }

    /// The class in use for the objects of a table; nil if the table does not exist.
    ///
    /// - Throws: `MakoError.unsupported` when there is none.
    private static func usedClass(
        ofTable table: String, for owner: some ObjectEntity
    ) throws(MakoError) -> (any ObjectEntity.Type)? {
        let model = type(of: owner).entityModel
        let database = try Database.resolve(number: owner.lockedState { $0.database }, for: model)
        let (target, isThere) = try database.viewing { (_, schema) throws(MakoError) in
            (schema.type(ofTable: table, under: superclass), schema.catalogue.table(named: table) != nil)
        }
        if isThere && target == nil {
            throw .unsupported(
                "\(model.name) referring to an object in the table \(table), whose class is not in use (name it in "
                    + "'entities:' when the database is opened)")
        }
        return isThere ? target : nil
    }

    private static func noReference(_ element: RowKey, _ owner: some ObjectEntity, _ property: Int) -> MakoError {
        let model = type(of: owner).entityModel
        return .typeMismatch(
            entity: model.name, property: model.columns[property].name, expected: "tables and keys of objects",
            found: "\(element)")
    }

    /// The name of the class in errors; without one class the given words.
    static func name(orAny objects: String) -> String { (target ?? superclass)?.entityModel.name ?? objects }
}

extension SchemaState {
    /// The class in use for the objects of a table; with a superclass, if it is that class or a subclass of it.
    func type(ofTable table: String, under superclass: (any Entity.Type)?) -> (any ObjectEntity.Type)? {
        func first<Superclass: Entity>(_: Superclass.Type) -> (any ObjectEntity.Type)? {
            for model in models where model.table == table && !model.isPartial {
                if let type = model.type as? any ObjectEntity.Type, type is Superclass.Type { return type }
            }
            return nil
        }
        if let superclass { return first(superclass) }
        return binding(ofTable: table)?.model.type as? any ObjectEntity.Type
    }
}
