import MakoRecords

// The acts of the database on the transaction itself: `tx.save(ada)` is `db.save(ada)` inside of `db.transaction { tx in … }`.
extension Transaction {
    /// Stores an object, new or changed, with the objects it refers to; as ``Database/save(_:)``.
    ///
    /// - Throws: `MakoError.transactionEnded` outside of the closure of the transaction; else what the database's call throws.
    @discardableResult
    public func save<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool { try running().save(object) }

    /// Stores objects.
    public func save<T: ObjectEntity>(_ objects: [T]) throws(MakoError) { try running().save(objects) }

    /// Stores a struct and writes its key into it.
    public func save<T: Entity>(_ value: inout T) throws(MakoError) { try running().save(&value) }

    /// Stores a struct.
    ///
    /// - Returns: the struct with its key.
    @discardableResult
    public func save<T: Entity>(_ value: T) throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try running().save(value)
    }

    /// Stores structs.
    ///
    /// - Returns: the structs with their keys, in the same order.
    @discardableResult
    public func save<T: Entity>(_ values: [T]) throws(MakoError) -> [T] { try running().save(values) }

    /// Stores a new object.
    ///
    /// - Throws: `MakoError.duplicate` when its key exists.
    @discardableResult
    public func insert<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool { try running().insert(object) }

    /// Stores a new struct and writes its key into it.
    public func insert<T: Entity>(_ value: inout T) throws(MakoError) { try running().insert(&value) }

    /// Stores a new struct.
    ///
    /// - Returns: the struct with its key.
    @discardableResult
    public func insert<T: Entity>(_ value: T) throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try running().insert(value)
    }

    /// Deletes an object's row; false: it had none.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool { try running().delete(object) }

    /// Deletes the rows of objects and returns how many were stored.
    @discardableResult
    public func delete<T: ObjectEntity>(_ objects: [T]) throws(MakoError) -> Int { try running().delete(objects) }

    /// Deletes a struct's row; false: it had none.
    @discardableResult
    public func delete<T: Entity>(_ value: T) throws(MakoError) -> Bool where T._$Kind == EntityKind.Value {
        try running().delete(value)
    }

    /// Deletes the rows of structs and returns how many were stored.
    @discardableResult
    public func delete<T: Entity>(_ values: [T]) throws(MakoError) -> Int where T._$Kind == EntityKind.Value {
        try running().delete(values)
    }

    /// The object or struct with this row number, as the transaction sees it.
    public func find<T: Entity>(_ type: T.Type, _ id: Int) throws(MakoError) -> T? { try running().find(type, id) }

    /// The object or struct with this identity, as the transaction sees it.
    public func find<T: Entity>(_ id: EntityID<T>) throws(MakoError) -> T? { try running().find(id) }

    /// The object or struct with this key, as the transaction sees it.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ key: K) throws(MakoError) -> T? {
        try running().find(type, key)
    }
}
