import MakoRecords
import MakoStorage

/// Which objects a join leaves.
public enum JoinKind: Sendable, Hashable {
    /// All: where no object is joined, its properties are NULL.
    case left
    /// Those with which an object is joined.
    case inner
}

/// One `joinTo` of a query.
struct QueryJoin: Sendable {
    let model: EntityModel
    /// What its properties are called by: `Department` in `"Department.name"`.
    let name: String
    /// The property that holds the key, or why there is none.
    let left: Result<Expr, MakoError>
    let target: Result<Expr, MakoError>
    let kind: JoinKind

    func reference() throws(MakoError) -> SelectionJoin {
        SelectionJoin(
            table: model.table, name: name, left: try left.get(), target: try target.get(), isInner: kind == .inner)
    }
}

extension Query {
    /// Joins the objects of another entity that have a property's value, as their key or as another property: their properties may be named in
    /// conditions and orders, behind the entity's name, and come with each object as ``ObjectEntity/joinedResults``.
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
    ///   - left: the property that holds the key: the query's own, or one of an entity joined before, as in `"Department.location"`.
    ///   - target: the property of the entity that is joined: its key, or any other. By another one an object is joined with as many as have
    ///     the value, and comes as often, each time as an object of its own; such a query is for `fetch`, `first`, `one`, `count`, `exists`,
    ///     `ids`, `keys`, `delete`, aggregates and groups.
    ///   - kind: whether objects stay with which nothing is joined.
    ///   - name: what its properties are called by, where the entity is joined twice; else the entity's name.
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

    /// The same for a property that is a reference.
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

    /// The same for any two properties of one type.
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

    /// The joins as the records know them, with their tables there.
    func selectionJoins() throws(MakoError) -> [SelectionJoin] {
        var references: [SelectionJoin] = []
        for join in joins { references.append(try join.reference()) }
        return references
    }

    @usableFromInline var hasJoins: Bool { !joins.isEmpty }

    /// Runs a closure with the query as one by which an object may come several times. Nil: no object does.
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

    /// The objects, each as often as it is joined. Nil: no object comes several times.
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

    /// Sees to it that the tables of all joins are there.
    func prepareJoins(_ database: Database) throws(MakoError) {
        guard hasJoins else { return }
        for join in joins { try database.viewing(join.model) { (_, _, _) throws(MakoError) in } }
    }

    /// Notes the properties of joined objects with each of some objects.
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
    /// The properties of the objects that the query joined which the object came with, as in `joinedResults["Department.name"]`: NULL where
    /// none was joined. Of objects that came otherwise there are none.
    public var joinedResults: [String: StoredValue] { lockedState { $0.extra?.joined } ?? [:] }

    fileprivate func setJoined(_ values: [String: StoredValue]) { lockedState { $0.setJoined(values) } }
}
