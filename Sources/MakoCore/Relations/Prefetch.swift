import MakoRecords
import MakoStorage

extension Query where T: ObjectEntity {
    /// Loads what a reference leads to together with the objects: one read of all that are referred to, instead of one for each
    /// that is asked for later. Of a path each step is loaded so.
    ///
    /// ```swift
    /// let people = try Person.query().prefetch(\.department.location).fetch()
    /// print(people.map { $0.department?.location?.name ?? "nowhere" })    // nothing is read here
    /// ```
    public func prefetch<Target: ObjectEntity>(_ relation: KeyPath<Row<T>, Related<Target>>) -> Query {
        var copy = self
        copy.prefetches.append(relation.path())
        return copy
    }
}

extension Query {
    /// Does with objects what the query wants done with its results.
    func follow(
        _ objects: [T], _ database: Database, _ view: Snapshot, _ schema: SchemaState, _ context: FetchContext?
    ) throws(MakoError) {
        try noteJoins(objects, view, schema)
        try followOthers(objects, database, view, schema, context)
    }

    /// The same but for what is joined with them.
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

/// Loads what many objects refer to, together and on their own snapshot.
struct Prefetch {
    let database: Database
    let view: Snapshot
    let schema: SchemaState

    func load(
        _ path: [PathStep], from objects: [any ObjectEntity], _ context: FetchContext?
    ) throws(MakoError) {
        guard let context else { return }
        // In the running transaction only where the objects are of it.
        let running = ThreadScope.current(of: database)?.transaction
        let scope = ThreadScope(
            database: database, transaction: running?.view === view ? running : nil, view: view, schema: schema,
            outer: ThreadScope.current)
        try ThreadScope.with(scope) { () throws(MakoError) in
            var owners = objects
            for step in path {
                let name = try step.name.get()
                guard let reference = step.reference else {
                    throw .query(message: "\(name) is no reference to another object, so nothing can be prefetched")
                }
                owners = try follow(reference, name, owners, context)
            }
        }
    }

    private func follow(
        _ reference: PathStep.Reference, _ column: String, _ owners: [any ObjectEntity], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        let keys = try self.keys(reference, column, owners)
        let loaded = try objects(reference.target, keys, context)
        // Held until their owners hold them: the context does not.
        let values = withExtendedLifetime(loaded) { reference.values(owners) }
        var seen: Set<ObjectIdentifier> = []
        return values.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// What the rows of objects refer to, each key once.
    private func keys(
        _ reference: PathStep.Reference, _ column: String, _ owners: [any ObjectEntity]
    ) throws(MakoError) -> [RowKey] {
        guard let table = schema.binding(reference.owner)?.table else { return [] }
        let layout = try records { () throws(RecordError) in try table.layout(for: [column]) }
        let target = reference.target.entityModel
        let rows = owners.compactMap { owner in owner.lockedState { $0.key } }
        var keys: [RowKey] = []
        var seen: Set<RowKey> = []
        func note(_ reader: RowReader) {
            guard let key = ReferenceKeys.read(reader, 0, of: target), seen.insert(key).inserted else { return }
            keys.append(key)
        }
        try translated {
            let ids = rows.compactMap(\.rowID)
            if ids.count == rows.count {
                try table.withRows(ids: ids, layout: layout, in: view) { _, reader in if let reader { note(reader) } }
            } else {
                for row in rows { try table.withRow(row, layout: layout, in: view) { note($0) } }
            }
        }
        return keys
    }

    private func objects<Target: ObjectEntity>(
        _ type: Target.Type, _ keys: [RowKey], _ context: FetchContext
    ) throws(MakoError) -> [any ObjectEntity] {
        let model = Target.entityModel
        var known: [any ObjectEntity] = []
        var missing: [RowKey] = []
        for key in keys {
            if let object = context.object(model, key) { known.append(object) } else { missing.append(key) }
        }
        missing.sort(by: RowKey.precedes)
        for (key, object) in try database.objects(type, keys: missing, context: context) {
            known.append(context.note(object, model, key))
        }
        return known
    }
}
