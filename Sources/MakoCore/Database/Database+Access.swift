import MakoStorage

extension Database {
    /// Runs a closure as one transaction: either all its changes are committed or none, in the file and in the objects
    /// in memory.
    ///
    /// ```swift
    /// try db.transaction { tx in
    ///     try ada.commit()
    ///     if bad { try tx.rollback() }
    /// }
    /// ```
    ///
    /// Inside another transaction of the same thread it is a savepoint. When the closure throws, its changes are rolled
    /// back and the error is rethrown.
    ///
    /// - Parameters:
    ///   - durability: the durability of the commit; nil: that of the database.
    ///   - onRollback: called with the error after the rollback, before the error is rethrown.
    ///   - body: runs with the transaction.
    /// - Returns: the result of the closure.
    @discardableResult
    public func transaction<R>(
        durability: Durability? = nil, onRollback: ((any Error) -> Void)? = nil, _ body: (Transaction) throws -> R
    ) throws -> R {
        do { return try run(durability, body) } catch {
            onRollback?(error)
            throw error
        }
    }

    /// The same for a closure that does not use the transaction itself: `db.transaction { try ada.commit() }`.
    @discardableResult
    public func transaction<R>(durability: Durability? = nil, _ body: () throws -> R) throws -> R {
        try transaction(durability: durability) { _ in try body() }
    }

    private func run<R>(_ durability: Durability?, _ body: (Transaction) throws -> R) throws -> R {
        if let running = ThreadScope.current(of: self)?.transaction {
            return try running.nested { try body(running) }
        }
        let turn = try takeTurn()
        defer { turn?.end() }
        let transaction = try Transaction(self)
        let scope = ThreadScope(
            database: self, transaction: transaction, view: transaction.view, schema: transaction.schema,
            outer: ThreadScope.current)
        let result: R
        do {
            result = try ThreadScope.with(scope) {
                transaction.notifyBeginning()
                let result = try body(transaction)
                try transaction.removeOrphans()
                return result
            }
            try transaction.throwIfDoomed()
        } catch {
            transaction.abandon(error)
            throw error
        }
        try transaction.commit(durability: turnDurability(durability))
        checkpointIfDue()
        return result
    }

    /// The async form. The closure and `onRollback` run on the database's writer thread.
    @discardableResult
    public func transaction<R: Sendable>(
        durability: Durability? = nil, onRollback: (@Sendable (any Error) -> Void)? = nil,
        _ body: @escaping @Sendable (Transaction) throws -> R
    ) async throws -> R {
        try await onOwnThreadAny(writes: true) {
            try self.transaction(durability: durability, onRollback: onRollback, body)
        }
    }

    /// The async form for a closure that does not use the transaction itself.
    @discardableResult
    public func transaction<R: Sendable>(
        durability: Durability? = nil, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await transaction(durability: durability) { _ in try body() }
    }

    /// Runs reads on one snapshot, which excludes commits made meanwhile.
    ///
    /// ```swift
    /// let (people, count) = try db.read { (try Person.find(ids), try Person.query().count()) }
    /// ```
    ///
    /// The closure is for reads. A save, a deletion or a transaction inside it is a transaction of its own: it commits at
    /// once, also if the closure throws later, and the reads of the closure do not see it. To read and write together use
    /// ``transaction(durability:_:)``; inside one, `read` calls the closure in that transaction.
    public func read<R>(_ body: () throws -> R) throws -> R {
        if ThreadScope.current(of: self) != nil { return try body() }
        try requireOpen()
        let (view, schema) = try moment()
        let scope = ThreadScope(
            database: self, transaction: nil, view: view, schema: schema, outer: ThreadScope.current)
        return try ThreadScope.with(scope) { try body() }
    }

    /// The async form. The closure runs on one of the database's reader threads.
    public func read<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await onOwnThreadAny(writes: false) { try self.read(body) }
    }

    /// Runs the object layer's own writes in the running transaction, otherwise in a new one.
    func writing<R>(_ body: (Transaction) throws(MakoError) -> R) throws(MakoError) -> R {
        if let running = ThreadScope.current(of: self)?.transaction {
            try running.throwIfDoomed()
            return try running.joining { () throws(MakoError) in
                let result = try body(running)
                // A hook's own commit may have been refused.
                try running.throwIfDoomed()
                return result
            }
        }
        if options.readOnly { throw .readOnly(reason: "\(path) was opened for reading only") }
        let turn = try takeTurn()
        defer { turn?.end() }
        let transaction = try Transaction(self)
        let scope = ThreadScope(
            database: self, transaction: transaction, view: transaction.view, schema: transaction.schema,
            outer: ThreadScope.current)
        let result: R
        do throws(MakoError) {
            result = try ThreadScope.with(scope) { () throws(MakoError) -> R in
                transaction.notifyBeginning()
                return try transaction.deferringUnique { () throws(MakoError) -> R in
                    let result = try body(transaction)
                    try transaction.removeOrphans()
                    return result
                }
            }
            try transaction.throwIfDoomed()
        } catch {
            transaction.abandon(error)
            throw error
        }
        try transaction.commit(durability: turnDurability(nil))
        checkpointIfDue()
        return result
    }

    /// Runs reads of the object layer that concern no particular entity, on the running scope's snapshot or a new one.
    func viewing<R>(_ body: (Snapshot, SchemaState) throws(MakoError) -> R) throws(MakoError) -> R {
        if let scope = ThreadScope.current(of: self) {
            try scope.transaction?.settle()
            scope.hasRead = true
            return try body(scope.view, scope.schema)
        }
        try requireOpen()
        let (view, schema) = try moment()
        return try body(view, schema)
    }

    /// Runs reads of an entity on the running scope's snapshot or a new one.
    ///
    /// - Parameter byKey: whether they look up rows by key only.
    func viewing<R>(
        _ model: EntityModel, byKey: Bool = false,
        _ body: (Snapshot, Binding, SchemaState) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        if let scope = ThreadScope.current(of: self) {
            try scope.transaction?.settle(readsByKey: byKey)
            if let binding = scope.schema.binding(model) {
                scope.hasRead = true
                return try body(scope.view, binding, scope.schema)
            }
            let binding = try scope.bind(model)
            return try body(scope.view, binding, scope.schema)
        }
        let turn = try takeTurn()
        if !options.readOnly {
            let (view, schema) = try newest(in: turn)
            // The common case: the table is bound.
            if let binding = schema.binding(model) { return try body(view, binding, schema) }
        }
        let (view, schema) = try moment(model)
        guard let binding = schema.binding(model) else {
            throw .migration(entity: model.name, reason: "its table could not be bound")
        }
        return try body(view, binding, schema)
    }
}
