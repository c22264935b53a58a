import MakoRecords
import MakoStorage

extension Query where T: ObjectEntity {
    /// Loads the object that a reference leads to together with the objects: one read for all of them, instead of one
    /// for each access later. Each step of a path is loaded in this way.
    ///
    /// ```swift
    /// let people = try Person.query().prefetch(\.department.location).fetch()
    /// print(people.map { $0.department?.location?.name ?? "nowhere" })    // nothing is read here
    /// ```
    public func prefetch<Target: ObjectEntity>(_ relation: KeyPath<Row<T>, Related<Target>>) -> Query {
        prefetching(relation.path())
    }

    /// Loads the struct that a reference leads to together with the objects, on their snapshot: one read for each object.
    public func prefetch<Target: Entity>(_ relation: KeyPath<Row<T>, Related<Target>>) -> Query
    where Target._$Kind == EntityKind.Value { prefetching(relation.path()) }

    /// Loads a to-many relationship together with its owners: an array, set or dictionary of objects or structs, or
    /// the objects that refer to the owner by a ``ToMany``.
    ///
    /// ```swift
    /// for department in try Department.query().prefetch(\.people).fetch() {
    ///     print(department.name, try department.people.load().count)     // nothing is read here
    /// }
    /// ```
    ///
    /// A `ToMany` shows the latest state: its next `fetch()` returns the prefetched objects if no commit followed, and
    /// outside of transactions that write; else it reads.
    ///
    /// - Throws: the terminal throws `MakoError.query` for a property that holds neither objects nor structs with rows.
    public func prefetch<V>(_ relation: KeyPath<Row<T>, Column<V>>) -> Query { prefetching(relation.path()) }

    private func prefetching(_ path: [PathStep]) -> Query {
        var copy = self
        copy.prefetches.append(path)
        return copy
    }
}

extension Query {
    /// Adds the joined properties to objects of the query, and then as ``followOthers(_:_:_:_:_:)``.
    func follow(
        _ objects: [T], _ database: Database, _ view: Snapshot, _ schema: SchemaState, _ context: FetchContext?
    ) throws(MakoError) {
        try noteJoins(objects, view, schema)
        try followOthers(objects, database, view, schema, context)
    }

    /// Adds objects of the query to its domain and loads its prefetches.
    func followOthers(
        _ objects: [T], _ database: Database, _ view: Snapshot, _ schema: SchemaState, _ context: FetchContext?
    ) throws(MakoError) {
        domain?.add(all: objects)
        if prefetches.isEmpty { return }
        let prefetch = Prefetch(database: database, view: view, schema: schema)
        let owners = objects.compactMap { $0 as? any ObjectEntity }
        for path in prefetches { try prefetch.load(path, from: owners, context) }
    }
}

/// Loads the related objects of many objects together, on the snapshot of the objects.
struct Prefetch {
    let database: Database
    let view: Snapshot
    let schema: SchemaState

    func load(
        _ path: [PathStep], from objects: [any ObjectEntity], _ context: FetchContext?
    ) throws(MakoError) {
        guard let context else { return }
        // In the running transaction only if the objects are read in it.
        let running = ThreadScope.current(of: database)?.transaction
        let scope = ThreadScope(
            database: database, transaction: running?.view === view ? running : nil, view: view, schema: schema,
            outer: ThreadScope.current)
        try ThreadScope.with(scope) { () throws(MakoError) in
            var owners = objects
            for step in path {
                // References of the loaded objects may lead back to one of them.
                for owner in owners { context.note(owner: owner) }
                owners = try follow(step, owners, context)
            }
        }
    }

    private func follow(
        _ step: PathStep, _ owners: [any ObjectEntity], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        let name = try step.name.get()
        if let reference = step.reference { return try follow(reference, name, owners, context) }
        guard let source = step.source, let property = source.property else { throw Prefetch.noRelation(name) }
        switch property.kind {
        case .many(let target, _):
            guard let type = target as? any ObjectEntity.Type else { throw Prefetch.noRelation(name) }
            return try follow(many: property, type, source.owner, owners, context)
        case .column(type: .keys, _, _, let target?):
            guard let type = target as? any ObjectEntity.Type else {
                return try readValues(source.keyPath, owners)
            }
            return try follow(collection: source.keyPath, of: type, source.owner, name, owners, context)
        case .column(type: .keys, _, _, nil):
            let superclass = property.coding?.superclass
            let loaded = try others(source.owner, name, owners, context) {
                schema.type(ofTable: $0, under: superclass)
            }
            return take(loaded, source.keyPath, owners)
        case .column(type: .reference, _, _, _) where property.coding?.holdsValue == true:
            return try readValues(source.keyPath, owners)
        case .column, .rowNumber, .absent: throw Prefetch.noRelation(name)
        }
    }

    private static func noRelation(_ name: String) -> MakoError {
        .query(message: "\(name) holds no objects and no structs with rows, so nothing can be prefetched")
    }

    /// Has objects read the structs that they hold. No path leads on from structs, which are read as a whole.
    private func readValues(
        _ keyPath: AnyKeyPath, _ owners: [any ObjectEntity]
    ) throws(MakoError) -> [any ObjectEntity] {
        for owner in owners {
            owner.lockedState { $0.setLoadError(nil) }
            _ = (owner as Any)[keyPath: keyPath]
            if let error = owner.loadError { throw error }
        }
        return []
    }

    // MARK: - References

    private func follow(
        _ reference: PathStep.Reference, _ column: String, _ owners: [any ObjectEntity], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        let loaded =
            reference.property?.refersToAny == true
            ? try others(reference.owner, column, owners, context) { schema.type(ofTable: $0, under: reference.target) }
            : try objects(reference.target, try keys(reference, column, owners), context).compactMap(\.self)
        // Retained until their owners retain them, because the context does not.
        let values = withExtendedLifetime(loaded) { reference.values(owners) }
        var seen: Set<ObjectIdentifier> = []
        return values.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// The keys in the column of the owners' rows, each once.
    private func keys(
        _ reference: PathStep.Reference, _ column: String, _ owners: [any ObjectEntity]
    ) throws(MakoError) -> [RowKey] {
        let target = reference.target.entityModel
        var keys: [RowKey] = []
        var seen: Set<RowKey> = []
        try forEachRow(of: owners, reference.owner, column) { _, reader in
            guard let key = ReferenceKeys.read(reader, 0, of: target), seen.insert(key).inserted else { return }
            keys.append(key)
        }
        return keys
    }

    /// Loads the objects of references, or of collections, that accept objects of several classes.
    ///
    /// - Parameter type: returns the class in use for the objects of a table.
    private func others(
        _ owner: EntityModel, _ column: String, _ owners: [any ObjectEntity], _ context: FetchContext,
        _ type: (String) -> (any ObjectEntity.Type)?
    ) throws(MakoError) -> [any ObjectEntity] {
        var keys: [String: Set<RowKey>] = [:]
        let property = owner.columns.first { $0.column == column }
        try forEachRow(of: owners, owner, column) { _, reader in
            guard let property else { return }
            for found in AnyReference.all(in: reader.value(0), property) {
                keys[found.table, default: []].insert(found.key)
            }
        }
        var loaded: [any ObjectEntity] = []
        for (table, keys) in keys.sorted(by: { $0.key < $1.key }) {
            // A type that is not in use is skipped here; the access to the reference reports it.
            guard let type = type(table) else { continue }
            loaded += try objects(type, Array(keys), context).compactMap(\.self)
        }
        return loaded
    }

    // MARK: - To many

    /// Loads the objects of collections, whose keys are in the rows of their owners.
    private func follow(
        collection keyPath: AnyKeyPath, of type: any ObjectEntity.Type, _ owner: EntityModel, _ column: String,
        _ owners: [any ObjectEntity], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        var keys: [RowKey] = []
        var seen: Set<RowKey> = []
        try forEachRow(of: owners, owner, column) { _, reader in
            KeyTree(reader.blob(0))?.forEachKey { if seen.insert($1).inserted { keys.append($1) } }
        }
        return take(try objects(type, keys, context).compactMap(\.self), keyPath, owners)
    }

    /// Has owners take loaded objects from the context: they read the property, and retain the objects from then on.
    private func take(
        _ loaded: [any ObjectEntity], _ keyPath: AnyKeyPath, _ owners: [any ObjectEntity]
    ) -> [any ObjectEntity] {
        withExtendedLifetime(loaded) { for owner in owners { _ = (owner as Any)[keyPath: keyPath] } }
        return loaded
    }

    /// Loads the objects that refer to the owners, and adds them to their owners.
    private func follow(
        many property: PropertyModel, _ type: any ObjectEntity.Type, _ owner: EntityModel,
        _ owners: [any ObjectEntity], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        let target = type.entityModel
        guard let inverse = property.inverse, let table = schema.binding(target)?.table else { return [] }
        let column = try target.columnName(of: inverse)
        let keys = owners.compactMap { owner in owner.lockedState { $0.key } }
        guard target.target(ofColumn: column)?.hasTable(of: owner) == true, !keys.isEmpty,
            table.schema.column(named: column)?.type != .keys
        else { return [] }
        let condition = MakoRecords.Condition.isAmong(
            .column([column]), keys.map { ReferenceKeys.value(of: $0, owner) })
        var found = try records { () throws(RecordError) in
            try Selection(table: table.schema.name, condition: condition).plan(schema.catalogue).keys(in: view)
        }
        found.sort(by: RowKey.precedes)
        let objects = try objects(type, found, context)
        let loaded = objects.compactMap(\.self)
        var members: [RowKey: [any ObjectEntity]] = [:]
        var place = 0
        try forEachRow(found, table, column) { key, reader in
            // In the order of `found`, without the rows that are gone.
            while found[place] != key { place += 1 }
            guard let led = ReferenceKeys.read(reader, 0, of: owner), let object = objects[place] else { return }
            members[led, default: []].append(object)
        }
        // Inside a transaction a later access must show writes that follow.
        if ThreadScope.current(of: database)?.transaction != nil { return loaded }
        for owner in owners {
            owner.lockedState { state in
                guard let key = state.key else { return }
                state.setPrefetched(
                    PrefetchedMany(commit: view.commitNumber, objects: members[key] ?? []), for: column, of: target)
            }
        }
        return loaded
    }

    // MARK: - Rows and objects

    private func forEachRow(
        of owners: [any ObjectEntity], _ model: EntityModel, _ column: String,
        _ body: (RowKey, RowReader) -> Void
    ) throws(MakoError) {
        guard let table = schema.binding(model)?.table else { return }
        try forEachRow(owners.compactMap { owner in owner.lockedState { $0.key } }, table, column, body)
    }

    /// Calls a closure with the row of each key, with one column.
    private func forEachRow(
        _ keys: [RowKey], _ table: TableHandle, _ column: String, _ body: (RowKey, RowReader) -> Void
    ) throws(MakoError) {
        let layout = try records { () throws(RecordError) in try table.layout(for: [column]) }
        try translated {
            let ids = keys.compactMap(\.rowID)
            if ids.count == keys.count {
                try table.withRows(ids: ids, layout: layout, in: view) { place, reader in
                    if let reader { body(keys[place], reader) }
                }
            } else {
                for key in keys { try table.withRow(key, layout: layout, in: view) { body(key, $0) } }
            }
        }
    }

    private func objects(
        _ type: any ObjectEntity.Type, _ keys: [RowKey], _ context: FetchContext
    ) throws(MakoError) -> [(any ObjectEntity)?] {
        try loaded(type, keys, context)
    }

    private func loaded<Target: ObjectEntity>(
        _ type: Target.Type, _ keys: [RowKey], _ context: FetchContext
    ) throws(MakoError) -> [(any ObjectEntity)?] {
        try context.objects(type, keys) { () throws(MakoError) in database }
    }
}

/// The prefetched objects of a ``ToMany``, until its next access.
struct PrefetchedMany: Sendable {
    /// The number of the commit that the objects show.
    let commit: UInt64
    let objects: [any ObjectEntity]
}
