import MakoRecords
import MakoStorage

// Saving and removing through the database: `db.save(ada)`.
extension Database {
    // async: writes
    /// Saves an object, new or changed, with the objects it refers to.
    ///
    /// - Returns: false when a hook removed the object during the call.
    /// - Throws: `MakoError.deleted` when the object was removed before, `.duplicate` when another row has the value of
    ///   a unique property, `.vetoed` when a hook refuses; nothing has changed then.
    @discardableResult
    public func save<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.saveGraph(of: object) }
    }

    // async: writes
    /// Saves objects in one transaction.
    ///
    /// - Throws: `MakoError.deleted` when one of them was removed before; no object is saved then.
    public func save<T: ObjectEntity>(_ objects: [T]) throws(MakoError) {
        try allOrNothing { (transaction) throws(MakoError) in
            try transaction.saveGraphs(of: objects)
        }
    }

    // async: writes
    /// Saves a struct and sets its key.
    public func save<T: Entity>(_ value: inout T) throws(MakoError) {
        if let object = value as? any ObjectEntity {
            try refused(try save(object), object)
            return
        }
        var copy = value
        copy = try writing { (transaction) throws(MakoError) in
            try transaction.saveValue(&copy)
            return copy
        }
        value = copy
    }

    // async: writes
    /// Stores a struct.
    ///
    /// ```swift
    /// let ada = try db.save(Player(name: "Ada"))
    /// ```
    ///
    /// - Returns: the struct with its key.
    @discardableResult
    public func save<T: Entity>(_ value: T) throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        var saved = value
        try save(&saved)
        return saved
    }

    // async: writes
    /// Saves structs in one transaction and returns them with their keys.
    @discardableResult
    public func save<T: Entity>(_ values: [T]) throws(MakoError) -> [T] {
        try allOrNothing { (transaction) throws(MakoError) in
            var saved = values
            try transaction.saveValues(&saved)
            return saved
        }
    }

    // async: writes
    /// Inserts a new object.
    ///
    /// - Returns: false when a hook removed the object during the call.
    /// - Throws: `MakoError.deleted` when the object was removed before, `.duplicate` when its key exists already,
    ///   `.vetoed` when a hook refuses.
    @discardableResult
    public func insert<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.saveGraph(of: object, .insert) }
    }

    // async: writes
    /// Inserts a new struct and sets its key.
    public func insert<T: Entity>(_ value: inout T) throws(MakoError) {
        if let object = value as? any ObjectEntity {
            try refused(try insert(object), object)
            return
        }
        var copy = value
        copy = try writing { (transaction) throws(MakoError) in
            try transaction.saveValue(&copy, .insert)
            return copy
        }
        value = copy
    }

    // async: writes
    /// Stores a new struct.
    ///
    /// - Returns: the struct with its key.
    /// - Throws: `MakoError.duplicate` when its key exists.
    @discardableResult
    public func insert<T: Entity>(_ value: T) throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        var inserted = value
        try insert(&inserted)
        return inserted
    }

    // async: writes
    /// Removes an object.
    ///
    /// - Returns: false when it was not stored.
    /// - Throws: `MakoError.vetoed` when a hook refuses.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.remove(object) }
    }

    // async: writes
    /// Removes objects in one transaction and returns how many were stored.
    ///
    /// Objects without removal hooks are removed as a set, which takes one pass over their table and each of its
    /// indexes.
    @discardableResult
    public func delete<T: ObjectEntity>(_ objects: [T]) throws(MakoError) -> Int {
        try allOrNothing { (transaction) throws(MakoError) in try transaction.remove(objects) }
    }

    // async: writes
    /// Removes a struct's row.
    ///
    /// - Returns: false when it was not stored.
    @discardableResult
    public func delete<T: Entity>(_ value: T) throws(MakoError) -> Bool {
        if let object = value as? any ObjectEntity { return try delete(object) }
        guard let key = value.storedValueKey else { return false }
        return try writing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            return try transaction.remove(key, try transaction.binding(T.entityModel))
        }
    }

    // async: writes
    /// Removes the rows of structs in one transaction and returns how many were stored.
    @discardableResult
    public func delete<T: Entity>(_ values: [T]) throws(MakoError) -> Int where T._$Kind == EntityKind.Value {
        try allOrNothing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            var seen: Set<RowKey> = []
            let keys = values.compactMap(\.storedValueKey).filter { seen.insert($0).inserted }
            return try transaction.removeCallingHooks(keys, try transaction.binding(T.entityModel))
        }
    }

    /// Throws when a hook removed an object during the call, for callers that return no Bool.
    func refused(_ isStored: Bool, _ object: any ObjectEntity) throws(MakoError) {
        if isStored { return }
        throw .vetoed(entity: type(of: object).entityModel.name, hook: "a removal by a hook")
    }

    /// Runs a call about one object. A veto inside a running transaction also fails that transaction.
    private func answering<T: ObjectEntity>(
        for object: T, _ body: (Transaction) throws(MakoError) -> Bool
    ) throws(MakoError) -> Bool {
        do throws(MakoError) { return try writing(body) } catch {
            if case .vetoed = error { ThreadScope.current(of: self)?.transaction?.fail(error) }
            if object.lockedState({ $0.extra?.options?.reportsErrors }) == false { return false }
            throw error
        }
    }

    // async: writes
    /// Removes all objects of an entity, by the delete rules, and then its table with the values of retired properties.
    /// The next use of the type creates a new table.
    ///
    /// ```swift
    /// try db.drop(Person.self)
    /// ```
    public func drop<T: Entity>(_ type: T.Type) throws(MakoError) {
        // The type as given: for a class the generic parameter may be a superclass, which has another table.
        let own: any Entity.Type = type
        try dropTable(of: own)
    }

    private func dropTable<T: Entity>(of type: T.Type) throws(MakoError) {
        try allOrNothing { (transaction) throws(MakoError) in
            _ = try transaction.binding(T.entityModel)
            let first = transaction.orphans.count
            try query(type).delete()
            try transaction.removeOrphans(since: first)
            try transaction.drop(T.entityModel)
        }
    }

    // async
    /// Reloads an object's properties and discards its uncommitted changes. Rolling back the transaction that refreshed
    /// the object restores its earlier state.
    ///
    /// - Throws: `MakoError.notFound` when the row does not exist.
    public func refresh<T: ObjectEntity>(_ object: T) throws(MakoError) {
        let model = type(of: object).entityModel
        guard let key = object.storedKey else { throw .notFound(entity: model.name, key: "none") }
        let transaction = ThreadScope.current(of: self)?.transaction
        guard
            let fresh = try foundRow(model, key: key, context: nil)?.objectWithoutLoadHook(
                type(of: object), isRefresh: true),
            let keeper = transaction == nil
                ? fresh
                : try foundRow(model, key: key, context: nil)?.objectWithoutLoadHook(type(of: object), isRefresh: true)
        else {
            throw .notFound(entity: model.name, key: key.text(in: try? model.schema()))
        }
        ObjectLock(object).locked {
            if let transaction {
                keeper.adoptValues(of: object)
                transaction.undo.recordState(of: object, object._$state)
                transaction.undo.record(object) { ObjectLock(object).locked { object.adoptValues(of: keeper) } }
            }
            object.adoptValues(of: fresh)
            object._$state.dirty = .none
            object._$state.flags.insert(.exists)
        }
        object.notifyObservers()
        if type(of: object)._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
    }

    // async
    /// Returns whether an object's row exists now.
    public func exists<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        guard let key = object.storedKey else { return false }
        return try viewing(type(of: object).entityModel, byKey: true) { (view, binding, _) throws(MakoError) in
            try records { () throws(RecordError) in try binding.table.contains(key, in: view) }
        }
    }

    /// Runs a body as one transaction; inside a running transaction, as a savepoint.
    func allOrNothing<R>(_ body: (Transaction) throws(MakoError) -> R) throws(MakoError) -> R {
        guard let running = ThreadScope.current(of: self)?.transaction else { return try writing(body) }
        try running.throwIfDoomed()
        return try translated { try running.nested(isCall: true) { try body(running) } }
    }
}

extension Entity {
    /// The key under which a struct is stored, or will be.
    var storedValueKey: RowKey? {
        if Self.entityModel.hasColumnKey { return RowKey(values: keyValues()) }
        return _$rowNumber == 0 ? nil : .rowID(_$rowNumber)
    }
}

// Saving and removing through the object: `ada.commit()`.
extension ObjectEntity {
    /// The database of the object, otherwise the current one.
    func database() throws(MakoError) -> Database {
        try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
    }

    // async: awaits
    /// Saves the object with the objects it refers to, in one transaction.
    ///
    /// ```swift
    /// let ada = Person(name: "Ada", age: 36)
    /// try ada.commit()
    /// ```
    ///
    /// - Returns: false when a hook removed it during the call.
    /// - Throws: `MakoError.deleted` when it was removed before; `.noDatabase`, `.duplicate`, `.foreignObject`,
    ///   `.storage`; `.vetoed` when a hook refuses.
    @discardableResult
    public func commit() throws(MakoError) -> Bool { try database().save(self) }

    // async: awaits
    /// Removes the object. It is deleted afterwards: a later commit throws `MakoError.deleted`.
    ///
    /// - Returns: false when it was not stored.
    /// - Throws: `MakoError.vetoed` when a hook refuses.
    @discardableResult
    public func remove() throws(MakoError) -> Bool { try database().delete(self) }

    /// Whether the object has uncommitted changes, or no row.
    public var isDirty: Bool { lockedState { !$0.dirty.isEmpty || !$0.flags.contains(.exists) } }

    /// Returns whether two objects have the same row.
    public func isSame(as other: some ObjectEntity) -> Bool {
        guard type(of: self).entityModel.hasTable(of: type(of: other).entityModel), let key = storedKey else {
            return self === other
        }
        return key == other.storedKey
    }
}

extension Entity {
    // async: awaits
    /// Saves the value and sets its key.
    public mutating func commit() throws(MakoError) {
        if let object = self as? any ObjectEntity {
            try Database.resolve(number: object.lockedState { $0.database }, for: Self.entityModel).save(&self)
            return
        }
        try Database.resolve(number: _$value.database, for: Self.entityModel).save(&self)
    }

    // async: awaits
    /// Removes the value's row.
    ///
    /// - Returns: false when it was not stored.
    @discardableResult
    public func remove() throws(MakoError) -> Bool {
        if let object = self as? any ObjectEntity { return try object.remove() }
        return try Database.resolve(number: _$value.database, for: Self.entityModel).delete(self)
    }
}
