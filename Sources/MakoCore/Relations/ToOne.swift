import MakoRecords

/// A handle of an object, for structs: `wolf.den = ToOne(den)`, `try wolf.den.load()`.
public struct ToOne<Target: ObjectEntity>: Sendable {
    private var object: Target?
    private(set) var key: RowKey?
    private(set) var database: UInt32

    /// Creates a handle of an object, or an empty one.
    public init(_ object: Target? = nil) {
        self.object = object
        key = object?.storedKey
        database = object?.lockedState { $0.database } ?? 0
    }

    init(key: RowKey?, database: UInt32) {
        self.key = key
        self.database = database
    }

    /// Whether the handle refers to no object.
    public var isEmpty: Bool { object == nil && key == nil }

    /// Returns the object: the one that was set, else the stored one; nil if there is none.
    ///
    /// - Throws: `MakoError.storage` when the row cannot be read; `.closed`.
    public func load() throws(MakoError) -> Target? {
        if let object { return object }
        guard let key else { return nil }
        let database = try Database.resolve(number: database, for: Target.entityModel)
        return try database.object(Target.self, key: key)
    }

    /// The object that was set; nil for a handle that was read from a row.
    public var loadedObject: (any ObjectEntity)? { object }

    /// Sets the key that the object was saved under; releases an object that was deleted.
    public mutating func resolve(_ object: any ObjectEntity, key: RowKey) {
        guard self.object === object else { return }
        self.key = key.isRow ? key : nil
        if key.isRemoved { self.object = nil }
    }

    /// Releases the object that was set, because the owner is deinitialized.
    public mutating func letGo() { if object != nil { ReleasedObjects.release(&object, leaving: nil) } }
}

extension ToOne: Hashable {
    /// Returns whether two handles have the same key, or, without keys, the same object.
    public static func == (left: ToOne, right: ToOne) -> Bool {
        left.key == right.key && (left.key != nil || left.object === right.object)
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension EntityCoding {
    /// The codec of handles, which are stored as the key of the other row.
    public enum ToOneCodec<Target: ObjectEntity>: PropertyCodec {
        /// The type of the property: a handle of an object.
        public typealias Property = ToOne<Target>
        /// The column type: the key of another row.
        public static var columnType: ColumnType { .reference }
        /// True: the column of an empty handle is NULL.
        public static var isOptional: Bool { true }
        /// The class of the referenced objects.
        public static var target: (any Entity.Type)? { Target.self }

        /// Returns the key of the handle; NULL for an empty one.
        public static func stored(_ value: ToOne<Target>) -> StoredValue {
            ReferenceKeys.value(of: value.key, Target.entityModel)
        }
        /// Returns the handle for a stored key; nil if the value is no key.
        public static func value(_ stored: StoredValue) -> ToOne<Target>? {
            if stored.isNull { return ToOne() }
            return ReferenceKeys.key(stored, of: Target.entityModel).map { ToOne(key: $0, database: 0) }
        }
        /// Reads the handle, without its object, from a row.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> ToOne<Target> {
            ToOne(key: ReferenceKeys.read(row.reader, position, of: Target.entityModel), database: row.database)
        }
        /// Writes the key of the handle to a row.
        public static func write(_ value: ToOne<Target>, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            ReferenceKeys.write(value.key, of: Target.entityModel, &writer, position)
        }
    }
}
