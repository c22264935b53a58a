import MakoRecords
import MakoStorage

// The database acts: `db.save(ada)`.
extension Database {
    /// Stores an object, new or changed, with the objects it refers to. False: the object was removed before, or a hook refused.
    ///
    /// - Throws: `MakoError.duplicate` when a unique property is taken; nothing has changed then.
    @discardableResult
    public func save<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.saveGraph(of: object) }
    }

    /// Stores objects in one transaction.
    public func save<T: ObjectEntity>(_ objects: [T]) throws(MakoError) {
        try allOrNothing { (transaction) throws(MakoError) in
            try transaction.saveGraphs(of: objects)
        }
    }

    /// Stores a struct and notes its key in it.
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

    /// Stores structs in one transaction and answers them with their keys.
    @discardableResult
    public func save<T: Entity>(_ values: [T]) throws(MakoError) -> [T] {
        try allOrNothing { (transaction) throws(MakoError) in
            var saved = values
            try transaction.saveValues(&saved)
            return saved
        }
    }

    /// Stores a new object. False: the object was removed before, or a hook refused.
    ///
    /// - Throws: `MakoError.duplicate` when its key exists already.
    @discardableResult
    public func insert<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.saveGraph(of: object, .insert) }
    }

    /// Stores a new struct and notes its key in it.
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

    /// Removes an object. False: it was not stored, or a hook refused.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        try answering(for: object) { (transaction) throws(MakoError) in try transaction.remove(object) }
    }

    /// Removes objects in one transaction and answers how many were stored.
    @discardableResult
    public func delete<T: ObjectEntity>(_ objects: [T]) throws(MakoError) -> Int {
        try allOrNothing { (transaction) throws(MakoError) in
            var count = 0
            for object in objects where try transaction.remove(object) { count += 1 }
            return count
        }
    }

    /// Removes a struct's row. False: it was not stored.
    @discardableResult
    public func delete<T: Entity>(_ value: T) throws(MakoError) -> Bool {
        if let object = value as? any ObjectEntity { return try delete(object) }
        guard let key = value.storedValueKey else { return false }
        return try writing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            return try transaction.remove(key, try transaction.binding(T.entityModel))
        }
    }

    /// An object behind a type that may be a struct's: there is no answer there to say that it was not stored.
    func refused(_ isStored: Bool, _ object: any ObjectEntity) throws(MakoError) {
        if isStored { return }
        throw .vetoed(entity: type(of: object).entityModel.name, hook: "a hook, or an earlier removal,")
    }

    /// Runs a call about one object. A hook's refusal is an answer here; a running transaction fails of it.
    private func answering<T: ObjectEntity>(
        for object: T, _ body: (Transaction) throws(MakoError) -> Bool
    ) throws(MakoError) -> Bool {
        do throws(MakoError) { return try writing(body) } catch {
            if case .vetoed = error {
                ThreadScope.current(of: self)?.transaction?.fail(error)
                return false
            }
            if object.lockedState({ $0.extra?.options?.reportsErrors }) == false { return false }
            throw error
        }
    }

    /// Removes all objects of an entity, by the relationships' delete rules, and then its table with what retired properties held. The
    /// type's next use makes a new one.
    ///
    /// ```swift
    /// try db.drop(Person.self)
    /// ```
    public func drop<T: Entity>(_ type: T.Type) throws(MakoError) {
        // By the type that was given: a class may stand for a subclass here, whose table is another.
        let own: any Entity.Type = type
        try dropTable(of: own)
    }

    private func dropTable<T: Entity>(of type: T.Type) throws(MakoError) {
        try allOrNothing { (transaction) throws(MakoError) in
            _ = try transaction.binding(T.entityModel)
            try query(type).delete()
            try transaction.removeOrphans()
            try transaction.drop(T.entityModel)
        }
    }

    /// Reads an object's properties anew; what was not committed is lost. When a transaction that did so is rolled back, the object is as
    /// it was before.
    ///
    /// - Throws: `MakoError.notFound` when its row is gone.
    public func refresh<T: ObjectEntity>(_ object: T) throws(MakoError) {
        let model = type(of: object).entityModel
        guard let key = object.storedKey else { throw .notFound(entity: model.name, key: "none") }
        let transaction = ThreadScope.current(of: self)?.transaction
        guard let fresh = try foundRow(model, key: key, context: nil)?.untoldObject(type(of: object), isRefresh: true),
            let keeper = transaction == nil
                ? fresh : try foundRow(model, key: key, context: nil)?.untoldObject(type(of: object), isRefresh: true)
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
            object._$state.dirty = 0
            object._$state.flags.insert(.exists)
        }
        object.tellObservers()
        if type(of: object)._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
    }

    /// Whether an object's row exists at this moment.
    public func exists<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        guard let key = object.storedKey else { return false }
        return try viewing(type(of: object).entityModel, byKey: true) { (view, binding, _) throws(MakoError) in
            try records { () throws(RecordError) in try binding.table.contains(key, in: view) }
        }
    }

    /// Several objects succeed together: inside a running transaction they are a savepoint.
    func allOrNothing<R>(_ body: (Transaction) throws(MakoError) -> R) throws(MakoError) -> R {
        guard let running = ThreadScope.current(of: self)?.transaction else { return try writing(body) }
        try running.throwIfDoomed()
        return try translated { try running.nested(isCall: true) { try body(running) } }
    }
}

extension Entity {
    /// The key under which a struct is stored or will be.
    var storedValueKey: RowKey? {
        if Self.entityModel.hasColumnKey { return RowKey(values: keyValues()) }
        return rowNumber == 0 ? nil : .rowID(rowNumber)
    }
}

// The object acts: `ada.commit()`.
extension ObjectEntity {
    /// The database the object belongs to, else the current one.
    private func database() throws(MakoError) -> Database {
        try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
    }

    /// Stores the object with the objects it refers to, in one transaction. False: it was removed before, or a hook refused.
    ///
    /// ```swift
    /// let ada = Person(name: "Ada", age: 36)
    /// try ada.commit()
    /// ```
    ///
    /// - Throws: `MakoError.noDatabase`, `.duplicate`, `.foreignObject`, `.storage`.
    @discardableResult
    public func commit() throws(MakoError) -> Bool { try database().save(self) }

    /// Removes the object; it is sterile afterwards: a later commit answers false. False: it was not stored, or a hook refused.
    @discardableResult
    public func remove() throws(MakoError) -> Bool { try database().delete(self) }

    /// Whether the object has changes that are not committed, or no row at all.
    public var isDirty: Bool { lockedState { $0.dirty != 0 || !$0.flags.contains(.exists) } }

    /// Whether two objects stand for the same row.
    public func isSame(as other: some ObjectEntity) -> Bool {
        guard type(of: self).entityModel.hasTable(of: type(of: other).entityModel), let key = storedKey else {
            return self === other
        }
        return key == other.storedKey
    }
}

extension Entity {
    /// Stores the value and notes its key in it.
    public mutating func commit() throws(MakoError) {
        if let object = self as? any ObjectEntity {
            try Database.resolve(number: object.lockedState { $0.database }, for: Self.entityModel).save(&self)
            return
        }
        try Database.resolve(number: _$value.database, for: Self.entityModel).save(&self)
    }

    /// Removes the value's row.
    @discardableResult
    public func remove() throws(MakoError) -> Bool {
        if let object = self as? any ObjectEntity { return try object.remove() }
        return try Database.resolve(number: _$value.database, for: Self.entityModel).delete(self)
    }
}
