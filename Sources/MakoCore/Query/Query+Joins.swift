import MakoRecords
import MakoStorage

/// Which objects of the query a join keeps.
public enum JoinKind: Sendable, Hashable {
    /// All: where there is no joined object, its properties are NULL.
    case left
    /// Those that have a joined object.
    case inner
}

/// One `joinTo` of a query.
struct QueryJoin: Sendable {
    let model: EntityModel
    /// The name for its properties: `Department` in `"Department.name"`.
    let name: String
    /// The property that holds the key, or the error in its place.
    let left: Result<Expr, MakoError>
    let target: Result<Expr, MakoError>
    let kind: JoinKind

    func reference() throws(MakoError) -> SelectionJoin {
        SelectionJoin(
            table: model.table, name: name, left: try left.get(), target: try target.get(), isInner: kind == .inner)
    }
}

extension Query {
    /// Joins the objects of another entity by a property's value, which is their key or another property of theirs.
    /// Conditions and orders may name their properties, with the entity's name before them, and each object has them in
    /// ``ObjectEntity/joinedResults``.
    ///
    /// ```swift
    /// let people = try Person.query()
    ///     .joinTo(Department.self, left: "department", target: "id")
    ///     .joinTo(Location.self, left: "Department.location", target: "id")
    ///     .where("Department.name = 'Engines' OR Location.id IS NULL")
    ///     .orderBy("Location.name")
    ///     .fetch()
    /// print(people[0].joinedResults["Location.name"])
    /// ```
    ///
    /// - Parameters:
    ///   - left: the property that holds the key: one of the query's own, or of an entity joined before, as in
    ///     `"Department.location"`.
    ///   - target: the property of the joined entity: its key, or any other. By another property several objects may be
    ///     joined with one; the result then has the object once for each of them, as separate instances. Such a query
    ///     is for `fetch`, `first`, `one`, `count`, `exists`, `ids`, `keys`, `delete`, aggregates and groups.
    ///   - kind: whether the result has objects without a joined object.
    ///   - name: the name for the properties of the joined entity, where it is joined twice; the default is the
    ///     entity's name.
    ///   - type: the joined entity.
    public func joinTo<J: Entity>(
        _ type: J.Type, left: String, target: String = "id", _ kind: JoinKind = .left, as name: String? = nil
    ) -> Query {
        func path(_ text: String) -> Result<Expr, MakoError> {
            do throws(MakoError) {
                return .success(try records { () throws(RecordError) in try Expr.parse(text) })
            } catch { return .failure(error) }
        }
        return adding(
            QueryJoin(
                model: J.entityModel, name: name ?? J.entityModel.name, left: path(left), target: path(target),
                kind: kind))
    }

    /// Joins the objects that a reference refers to.
    ///
    /// ```swift
    /// Person.query().joinTo(\.department, .inner).orderBy("Department.name")
    /// ```
    public func joinTo<J: Entity>(
        _ left: KeyPath<Row<T>, Related<J>>, _ kind: JoinKind = .left, as name: String? = nil
    ) -> Query {
        let key = J.entityModel.keyColumns
        return adding(
            QueryJoin(
                model: J.entityModel, name: name ?? J.entityModel.name, left: left.path().source,
                target: .success(.column(key)), kind: kind))
    }

    /// Joins the objects of another entity by two properties of the same type.
    public func joinTo<J: Entity, V, W>(
        _ type: J.Type, left: KeyPath<Row<T>, Column<V>>, target: KeyPath<Row<J>, Column<W>>,
        _ kind: JoinKind = .left, as name: String? = nil
    ) -> Query {
        adding(
            QueryJoin(
                model: J.entityModel, name: name ?? J.entityModel.name, left: left.path().source,
                target: target.path().source, kind: kind))
    }

    private func adding(_ join: QueryJoin) -> Query {
        var copy = self
        copy.joins.append(join)
        return copy
    }

    /// The joins as the records layer takes them, with the names of their tables.
    func selectionJoins() throws(MakoError) -> [SelectionJoin] {
        var references: [SelectionJoin] = []
        for join in joins { references.append(try join.reference()) }
        return references
    }

    @usableFromInline var hasJoins: Bool { !joins.isEmpty }

    /// Runs a closure with the query as a join that may repeat objects. Nil: no object can occur several times.
    func joined<R>(_ body: (JoinedSelection, Snapshot) throws(RecordError) -> R?) throws(MakoError) -> R? {
        if joins.isEmpty { return nil }
        let database = try target()
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let selection = try selection(binding, schema, view)
            return try records { () throws(RecordError) in
                guard let joined = try JoinedSelection(selection, schema.catalogue) else { return nil }
                return try body(joined, view)
            }
        }
    }

    /// The objects, each once for each object joined with it. Nil: no object can occur several times.
    @usableFromInline
    func joinedObjects() throws(MakoError) -> [T]? {
        let database = try target()
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let selection = try selection(binding, schema, view)
            let rows = try records { () throws(RecordError) in
                try JoinedSelection(selection, schema.catalogue)?.rows(in: view)
            }
            guard let rows else { return nil }
            let context = binding.fetchContext(view, schema)
            var maker = RowMaker(
                database: database.number, context: context, layout: binding.layout, lazyProperties: T._$lazyProperties)
            var objects: [T] = []
            do {
                for row in rows {
                    try binding.table.withRow(row.key, layout: binding.layout, in: view) { reader in
                        let object = try T(row: maker.row(row.key, reader))
                        (object as? any ObjectEntity)?.setJoined(row.joined)
                        objects.append(object)
                    }
                }
            } catch { throw MakoError(any: error) }
            context?.note(results: objects)
            try followOthers(objects, database, view, schema, context)
            if T._$hooks.contains(.didLoad) { for object in objects { _ = object._$call(.didLoad) } }
            return objects
        }
    }

    /// Binds the types of all joins, which creates their tables.
    func prepareJoins(_ database: Database) throws(MakoError) {
        guard hasJoins else { return }
        for join in joins { try database.viewing(join.model) { (_, _, _) throws(MakoError) in } }
    }

    /// Adds the properties of the joined objects to each object.
    func noteJoins(
        _ objects: [T], _ view: Snapshot, _ schema: SchemaState
    ) throws(MakoError) {
        guard !joins.isEmpty, let binding = schema.binding(T.entityModel) else { return }
        var rows: [(object: any ObjectEntity, key: RowKey)] = []
        for object in objects {
            guard let object = object as? any ObjectEntity, let key = object.storedKey else { continue }
            rows.append((object, key))
        }
        let references = try selectionJoins()
        try records { () throws(RecordError) in
            let values = try JoinedValues(
                table: T.entityModel.table, references, schema.catalogue)
            try values.read(rows.map(\.key), of: binding.table, in: view) { place, found in
                rows[place].object.setJoined(found)
            }
        }
    }
}

extension [PathStep] {
    fileprivate var source: Result<Expr, MakoError> {
        do throws(MakoError) { return .success(try expr()) } catch { return .failure(error) }
    }
}

extension ObjectEntity {
    /// The properties of the joined objects that the query read with the object, as in
    /// `joinedResults["Department.name"]`: NULL where none was joined. Empty for an object that was not read by a query
    /// with joins.
    public var joinedResults: [String: StoredValue] { lockedState { $0.extra?.joined } ?? [:] }

    fileprivate func setJoined(_ values: [String: StoredValue]) { lockedState { $0.setJoined(values) } }
}
