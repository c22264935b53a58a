import MakoRecords
import MakoStorage

/// An update of the objects of a query, written without creating objects.
///
/// ```swift
/// let count = try db.update(Person.self)
///     .set(\.age, to: \.age + 1)
///     .set(\.department, to: engines)
///     .where(\.department == nil)
///     .run()
/// ```
///
/// A value: only ``run()`` writes. The new values are computed from the row before the update:
/// `set(\.a, to: \.b).set(\.b, to: \.a)` swaps the two. Where a property is set twice, the later value applies.
public struct Update<T: Entity>: Sendable {
    private var query: Query<T>
    private var assignments: [Assignment] = []

    init(_ query: Query<T>) { self.query = query }

    // MARK: - Values

    /// Sets a property to a value; an optional one may be set to nil.
    @_disfavoredOverload
    public func set<V>(_ keyPath: KeyPath<Row<T>, Column<V>>, to value: V) -> Update {
        adding(keyPath.path()) { (property) throws(MakoError) in
            guard let coding = property.coding as? PropertyCoding<V>, property.isValue else {
                // One part of a value with several columns.
                if !property.parts.isEmpty, let part = Self.storedPart(value) {
                    return [.literal(part, at: .none)]
                }
                throw .invalidArgument("\(T.entityModel.name).\(property.name) takes an object or nil in an update")
            }
            if let reason = coding.fault(storing: value) {
                throw .unstorableValue(
                    entity: T.entityModel.name, key: nil, property: property.name, reason: reason)
            }
            return coding.storedParts(value).map { .literal($0, at: .none) }
        }
    }

    /// Sets a property to an expression of the object's own properties: `set(\.age, to: \.age + 1)`.
    public func set<V>(_ keyPath: KeyPath<Row<T>, Column<V>>, to value: Arithmetic<T, V>) -> Update {
        adding(keyPath.path()) { (_) throws(MakoError) in [try value.source.get()] }
    }
    /// Sets an optional property to an expression of the object's own properties.
    public func set<V>(_ keyPath: KeyPath<Row<T>, Column<V?>>, to value: Arithmetic<T, V>) -> Update {
        adding(keyPath.path()) { (_) throws(MakoError) in [try value.source.get()] }
    }

    /// Sets a property to the value of another property: `set(\.formerName, to: \.name)`.
    public func set<V>(_ keyPath: KeyPath<Row<T>, Column<V>>, to other: KeyPath<Row<T>, Column<V>>) -> Update {
        adding(keyPath.path()) { (_) throws(MakoError) in try other.path().ownExprs() }
    }
    /// Sets an optional property to the value of a required property.
    public func set<V>(_ keyPath: KeyPath<Row<T>, Column<V?>>, to other: KeyPath<Row<T>, Column<V>>) -> Update {
        adding(keyPath.path()) { (_) throws(MakoError) in try other.path().ownExprs() }
    }

    /// Sets a relationship to a stored object, or to nil.
    public func set<Target: ObjectEntity>(_ keyPath: KeyPath<Row<T>, Related<Target>>, to object: Target?) -> Update {
        // The row of the object is looked up when the update runs.
        adding(keyPath.path(), object) { (_) throws(MakoError) in [.literal(.null, at: .none)] }
    }

    /// Sets a relationship to a stored struct, or to nil.
    public func set<Target: Entity>(_ keyPath: KeyPath<Row<T>, Related<Target>>, to value: Target?) -> Update
    where Target._$Kind == EntityKind.Value {
        adding(keyPath.path()) { (_) throws(MakoError) in
            if let value, value.storedValueKey == nil {
                throw .notFound(entity: Target.entityModel.name, key: "none")
            }
            return [.literal(value?.conditionValue ?? .null, at: .none)]
        }
    }

    // MARK: - Which objects

    /// Adds a condition on the objects to update; see ``Query/where(_:_:named:)``. Several conditions must all be true.
    public func `where`(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> Update {
        with(query.adding(text.condition(of: parameters, named)))
    }
    /// Adds a condition whose text is known only at run time.
    public func `where`(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> Update {
        let condition = WhereText(text: text).condition(of: parameters, named)
        return with(query.adding(condition))
    }
    /// Adds a typed condition on the objects to update.
    public func `where`(_ condition: Condition<T>) -> Update { with(query.where(condition)) }
    /// Adds the condition that a Boolean property is true.
    public func `where`(_ flag: KeyPath<Row<T>, Column<Bool>>) -> Update { with(query.where(flag)) }

    // MARK: - Running

    /// Updates the rows in one transaction, or in a savepoint of the running one, and returns the number of objects
    /// that the query found.
    ///
    /// Observers and live queries are notified of the changed properties of each row. No hooks are called, because
    /// there are no objects, and objects in memory keep their values until ``Database/refresh(_:)``. Keys and
    /// `.writeOnce` properties cannot be set; `.keepWhenNil` properties keep their value where nil is set. A part of a
    /// composite property can be set alone, as in `set(\.frame.x, to: \.frame.x + 10)`, where the value is not nil.
    /// Unique properties are checked after all rows have changed, so they may be shifted, as with
    /// `set(\.place, to: \.place + 1)`.
    ///
    /// - Throws: `MakoError.duplicate` when two rows would have the same value of a unique property, `.typeMismatch`
    ///   when a computed value does not fit its property, `.missingValue` when it is nil for a required property,
    ///   `.invalidArgument` for a property that cannot be set, `.danglingReference` when it would refer to an object
    ///   whose row was deleted. An update that throws changes nothing.
    @discardableResult
    public func run() throws(MakoError) -> Int {
        let database = try query.target()
        return try database.allOrNothing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            let binding = try transaction.binding(T.entityModel)
            let fields = try fields(transaction)
            try transaction.requireRows(of: fields, binding)
            return try query.on(database).planned { (plan, _, view, _) throws(MakoError) in
                try transaction.update(plan, fields, binding, view)
            }
        }
    }

    /// Updates the rows on a thread of the database and returns the number of objects; the async form of `run`.
    @discardableResult
    public func run() async throws(MakoError) -> Int {
        let database = try query.target()
        let bound = with(query.on(database))
        return try await database.onOwnThread(writes: true) { () throws(MakoError) in try bound.run() }
    }

    // MARK: -

    /// A part as its column holds it. Converted by its static type, because nil is a value of an optional type.
    private static func storedPart<V>(_ value: V) -> StoredValue? {
        func stored<S: StorableValue>(_ type: S.Type) -> StoredValue? { (value as? S)?.stored }
        guard let type = V.self as? any StorableValue.Type else { return nil }
        return stored(type)
    }

    private struct Assignment: Sendable {
        let path: [PathStep]
        /// The object whose key the column gets.
        let object: (any ObjectEntity)?
        /// The new values of the columns of the path, or the error that the call that runs the update throws.
        let values: Result<[Expr], MakoError>
    }

    func adding(
        _ path: [PathStep], _ object: (any ObjectEntity)? = nil,
        _ values: (PropertyModel) throws(MakoError) -> [Expr]
    ) -> Update {
        var copy = self
        do throws(MakoError) {
            let made = try values(T.entityModel.columns[try Self.place(path).position])
            copy.assignments.append(Assignment(path: path, object: object, values: .success(made)))
        } catch {
            copy.assignments.append(Assignment(path: path, object: object, values: .failure(error)))
        }
        return copy
    }

    private func with(_ query: Query<T>) -> Update {
        var copy = self
        copy.query = query
        return copy
    }

    /// The property to set, and the first of its columns to set. Throws for a property that cannot be set.
    private static func place(_ path: [PathStep]) throws(MakoError) -> CompositeColumns.Place {
        let model = T.entityModel
        guard case .column(let names, _)? = try path.ownExprs().first, let name = names.first else {
            throw .invalidArgument("an update sets stored properties of \(model.name)")
        }
        guard let place = model.place(ofColumn: name), !model.keyNames.contains(model.columns[place.position].name)
        else {
            throw .invalidArgument("\(model.name).\(name) is the key, which an update cannot change; save a new object")
        }
        let property = model.columns[place.position]
        if property.options.contains(.writeOnce) {
            throw .invalidArgument("\(model.name).\(property.name) is written once; an update cannot change it")
        }
        if case .column(.keys, _, _, _) = property.kind {
            throw .unsupported("setting the collection \(model.name).\(property.name) in an update")
        }
        return place
    }

    /// The properties to set, each with the values of all its columns.
    private func fields(_ transaction: Transaction) throws(MakoError) -> [UpdatedField] {
        let model = T.entityModel
        var fields: [UpdatedField] = []
        for assignment in assignments {
            var values = try assignment.values.get()
            let (position, part) = try (Self.place(assignment.path).position, Self.place(assignment.path).part)
            if let object = assignment.object {
                try transaction.checkTarget(of: position, object, model)
                let property = model.columns[position]
                values = [.literal(try Self.reference(to: object, property, transaction.database), at: .none)]
            }
            // The columns of the other parts keep their values.
            let known = fields.firstIndex { $0.position == position }
            var field = known.map { fields.remove(at: $0) } ?? UpdatedField(position, model.columns[position])
            for (number, value) in values.enumerated() where field.values.indices.contains(part + number) {
                field.values[part + number] = value
            }
            fields.append(field)
        }
        if !fields.isEmpty, let stamp = model.updateStamp, !fields.contains(where: { $0.position == stamp.position }) {
            var field = UpdatedField(stamp.position, stamp.property)
            field.values = [.literal(transaction.date.stored, at: .none)]
            fields.append(field)
        }
        if fields.isEmpty { throw .invalidArgument("this update of \(model.name) sets nothing; call set(_:to:)") }
        return fields
    }

    /// The key of an object, which must have a row: an object may have a key without being stored.
    private static func reference(
        to object: any ObjectEntity, _ property: PropertyModel, _ database: Database
    ) throws(MakoError) -> StoredValue {
        let name = type(of: object).entityModel.name
        let state = object.lockedState { $0 }
        if state.database != 0 && state.database != database.number { throw .foreignObject(entity: name) }
        if !state.flags.contains(.exists) {
            throw .query(
                message: "\(T.entityModel.name).\(property.name) is to refer to a \(name) that has no row; "
                    + "save it before the update")
        }
        return property.refersToAny ? EntityCoding.AnyReferenceCodec.stored(object) : object.conditionValue
    }
}

extension EntityModel {
    /// The property with the time of the last write of a row.
    fileprivate var updateStamp: (position: Int, property: PropertyModel)? {
        guard hasStamps, let position = columns.firstIndex(where: { $0.name == "updatedAt" }) else { return nil }
        return (position, columns[position])
    }
}

extension PropertyModel {
    /// Whether the property is no reference.
    fileprivate var isValue: Bool { !isReference }
}

/// A property that an update sets.
struct UpdatedField {
    let position: Int
    let property: PropertyModel
    /// One for each of the property's columns.
    var values: [Expr]

    /// Creates a field that keeps the property's values.
    init(_ position: Int, _ property: PropertyModel) {
        self.position = position
        self.property = property
        values = property.fields.map { .column([$0.column]) }
    }

    /// Whether its values depend on the row.
    var isComputed: Bool {
        values.contains { if case .literal = $0 { false } else { true } }
    }
}

extension Transaction {
    /// The number of rows whose values are computed before they are written.
    private static var batchSize: Int { 1024 }

    /// Sets columns of the rows of a plan and returns the number of rows.
    func update(
        _ plan: Plan, _ fields: [UpdatedField], _ binding: Binding, _ view: Snapshot
    ) throws(MakoError) -> Int {
        if isEncoding { throw .unsupported("an update while an object is being written") }
        let names = fields.flatMap { $0.property.fields.map(\.column) }
        var batches = try records { () throws(RecordError) in
            try BatchedCursor(of: plan, changing: names, in: view)
        }
        let computed = fields.filter(\.isComputed)
        let width = computed.reduce(0) { $0 + $1.values.count }
        let values = try records { () throws(RecordError) in
            try ExpressionExecutor(computed.flatMap(\.values), plan, view)
        }
        var isOwning = false
        for field in fields where binding.model.ownedColumns.contains(field.position) { isOwning = true }
        // Nothing reads the indexes before the end.
        let batch = self.batch ?? IndexBatch()
        var count = 0
        while !batches.isAtEnd {
            var keys: [RowKey] = []
            var found: [StoredValue] = []
            try translated {
                try batches.next(Self.batchSize, in: view) { key, row in
                    keys.append(key)
                    try values.append(row, key, to: &found)
                }
            }
            for (place, key) in keys.enumerated() {
                writer.begin(binding.layout)
                for field in fields where !field.isComputed {
                    for (part, value) in field.values.enumerated() {
                        guard case .literal(let value, _) = value else { continue }
                        try set(field, part, value, binding)
                    }
                }
                var start = place * width
                for field in computed {
                    let end = start + field.values.count
                    if field.property.parts.isEmpty {
                        try set(field, 0, try fitted(found[start], field.property, binding.model), binding)
                    } else {
                        let values = try fitted(found[start..<end], field.property, binding.model)
                        for (part, value) in values.enumerated() { try set(field, part, value, binding) }
                    }
                    start = end
                }
                let owned = isOwning ? try self.owned(by: key, binding) : []
                keepWhenNil(binding)
                let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                    try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: batch)
                }
                try noteReleased(owned, by: key, binding)
                if wasThere { events.noteChanged(binding.model.table, key) }
                count += 1
            }
        }
        try table(binding) { (_, tx) throws(RecordError) in try batch.flush(in: tx, changes: &self.changes) }
        return count
    }

    /// Checks that the rows to which the new values refer are there: an object may have lost its row unnoticed.
    fileprivate func requireRows(of fields: [UpdatedField], _ binding: Binding) throws(MakoError) {
        let columns = fields.map { binding.table.schema.column(named: $0.property.column) }
        let values = fields.map { field -> StoredValue in
            if case .literal(let value, _)? = field.values.first { value } else { .null }
        }
        try records { () throws(RecordError) in
            var check = ReferenceCheck(columns, of: binding.table, schema.catalogue)
            try check.note(values, view)
            try check.finish(view)
        }
    }

    private func set(
        _ field: UpdatedField, _ part: Int, _ value: StoredValue, _ binding: Binding
    ) throws(MakoError) {
        guard field.property.isEncrypted else {
            return writer.set(binding.layout.position(ofPart: part, at: field.position), value)
        }
        try records { () throws(RecordError) in
            try writer.set(
                field.position, value,
                sealing: { () throws(PropertyKeyProblem) in
                    try database.valueCipher()
                })
        }
    }

    /// A computed value as the property stores it.
    private func fitted(
        _ value: StoredValue, _ property: PropertyModel, _ model: EntityModel
    ) throws(MakoError) -> StoredValue {
        guard case .column(let column, let isOptional, _, _) = property.kind else { return value }
        let type = property.sealedType ?? column
        if value.isNull && !isOptional { throw .missingValue(entity: model.name, property: property.name) }
        guard let stored = type.coerced(value), let fitting = property.coding?.normalised(stored) else {
            let expected = property.coding?.typeName ?? "\(type)"
            throw .typeMismatch(
                entity: model.name, property: property.name, expected: expected, found: value.description)
        }
        return fitting
    }

    /// Computed values as the columns of one property store them.
    private func fitted(
        _ values: ArraySlice<StoredValue>, _ property: PropertyModel, _ model: EntityModel
    ) throws(MakoError) -> [StoredValue] {
        let stored = zip(values, property.parts).compactMap { $1.columnType.coerced($0) }
        // Parts that form no value would make the row unreadable.
        if stored.count == values.count, let fitting = property.coding?.normalised(stored) { return fitting }
        if values.allSatisfy(\.isNull) { throw .missingValue(entity: model.name, property: property.name) }
        throw .typeMismatch(
            entity: model.name, property: property.name, expected: property.coding?.typeName ?? property.name,
            found: property.text(of: Array(values)))
    }
}

extension Query {
    /// Returns an update of the objects that this query finds: `query.update().set(\.isOld, to: true).run()`.
    public func update() -> Update<T> { Update(self) }
}

extension Database {
    /// Returns an update of the objects of an entity, which does not read them; see ``Update``.
    public func update<T: Entity>(_ type: T.Type) -> Update<T> { Update(query(type)) }
}

extension Transaction {
    /// Returns an update that runs inside this transaction.
    public func update<T: Entity>(_ type: T.Type) -> Update<T> { Update(query(type)) }
}
