import MakoRecords
import MakoStorage

/// The direction of an order.
public enum SortDirection: Sendable, Hashable { case ascending, descending }

/// A query for the objects of one entity. A value: each builder method returns a changed copy, and only a terminal
/// reads rows.
///
/// ```swift
/// let people = try Person.query()
///     .where("age >= \(35) AND department.location.name = \(city)")
///     .orderBy("name").orderBy(\.age, .descending)
///     .limit(99).offset(10)
///     .fetch()
/// ```
public struct Query<T: Entity>: Sendable {
    // Four words, which are passed in registers, because each builder method copies the query.
    private(set) var database: Database?
    /// The first condition; most queries have no other.
    private var condition: ConditionSource?
    /// The limit; -1: none.
    private var most = -1
    private var rest: QueryRest?

    init(database: Database?) { self.database = database }

    /// The same query for the objects of a subclass, which have the same properties.
    init<Superclass: Entity>(inherited query: Query<Superclass>) {
        database = query.database
        condition = query.condition
        most = query.most
        rest = query.rest
        if T.entityModel !== Superclass.entityModel {
            more.alias = Superclass.entityModel.givenTable
            prefetches = query.prefetches.map { $0.prefix(1).map { $0.owned(by: T.entityModel) } + $0.dropFirst() }
        }
    }

    private var more: QueryRest.Parts {
        get { rest?.parts ?? QueryRest.Parts() }
        set { rest = QueryRest(newValue) }
    }

    var limit: Int? { most < 0 ? nil : most }
    var offset: Int? { rest?.parts.offset }
    var orders: [Order] { rest?.parts.orders ?? [] }
    /// The domain that the objects join.
    var domain: ObjectDomain? {
        get { rest?.parts.domain }
        set { more.domain = newValue }
    }
    /// The references that are loaded with the objects.
    var prefetches: [[PathStep]] {
        get { rest?.parts.prefetches ?? [] }
        set { more.prefetches = newValue }
    }
    var joins: [QueryJoin] {
        get { rest?.parts.joins ?? [] }
        set { more.joins = newValue }
    }

    /// The query as one of several that are parts of a fetch.
    func sharing(_ context: FetchContext) -> Query {
        var copy = self
        copy.more.context = context
        return copy
    }

    // MARK: - Building

    /// Adds a condition given as text, with the values of its `?` and then those of its `:name`. Several conditions
    /// must all be true.
    ///
    /// ```swift
    /// query.where("age > ? AND name IN ?", 35, ["Ada", "Bob"])
    /// query.where("age BETWEEN :low AND :high", named: ["low": 20, "high": 36])
    /// ```
    ///
    /// - Parameters:
    ///   - text: the condition, in which interpolated values are bound.
    ///   - parameters: the values of the `?`, in order; nil as NULL. A list is for `IN`.
    ///   - named: the values of the `:name`, by name.
    /// - Throws: the terminal throws `MakoError.query`, with the position in the text, for an invalid condition.
    public func `where`(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> Query {
        adding(text.condition(of: parameters, named))
    }

    /// Adds a condition whose text is known only at run time.
    public func `where`(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> Query {
        adding(WhereText(text: text).condition(of: parameters, named))
    }

    /// Adds the condition that properties have these values, each of a list that it has one of them, and nil that it has
    /// none.
    ///
    /// ```swift
    /// query.where(["name": "Ada", "department.name": ["Engines", "Hulls"], "mentor": nil])
    /// ```
    ///
    /// - Parameter values: the values, by the names of properties or by paths over references; an empty dictionary adds
    ///   no condition.
    /// - Throws: the terminal throws `MakoError.query` for an unknown name.
    public func `where`(_ values: [String: (any ConditionValue)?]) -> Query {
        if values.isEmpty { return self }
        var parts: [String] = []
        var given: [(any ConditionValue)?] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let path = name.split(separator: ".", omittingEmptySubsequences: false).map {
                "\"\($0.replacing("\"", with: "\"\""))\""
            }.joined(separator: ".")
            if let value, value.conditionList != nil || value.conditionValue != .null {
                parts.append(value.conditionList == nil ? "\(path) = ?" : "\(path) IN ?")
                given.append(value)
            } else {
                parts.append("\(path) IS NULL")
            }
        }
        return adding(WhereText(text: parts.joined(separator: " AND ")).condition(of: given, [:]))
    }

    /// Adds a typed condition: `where(\.age > 35 && \.department.name == "Engines")`.
    public func `where`(_ condition: Condition<T>) -> Query { adding(condition.source) }

    /// Adds the condition that a Boolean property is true.
    public func `where`(_ flag: KeyPath<Row<T>, Column<Bool>>) -> Query { adding((flag == true).source) }

    /// Sorts by text such as `"name"`, `"department.name DESC"` or `"name, age DESC"`; a later order applies to objects
    /// equal in the earlier ones.
    ///
    /// - Parameters:
    ///   - text: one or more expressions, each followed by `ASC` or `DESC` if needed.
    ///   - direction: the direction of all expressions, in place of those in the text.
    /// - Throws: the terminal throws `MakoError.query` for an invalid order.
    public func orderBy(_ text: String, _ direction: SortDirection? = nil) -> Query {
        var copy = self
        do throws(MakoError) {
            var parsed = try records { () throws(RecordError) in try Order.parse(text) }
            if let direction { for index in parsed.indices { parsed[index].descending = direction == .descending } }
            copy.more.orders += parsed
        } catch {
            copy.more.fault = error
        }
        return copy
    }

    /// Sorts by a property of the object or of a related object.
    public func orderBy<V>(_ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending) -> Query {
        var copy = self
        do throws(MakoError) {
            copy.more.orders.append(Order(try keyPath.path().expr(), descending: direction == .descending))
        } catch {
            copy.more.fault = error
        }
        return copy
    }

    /// Sorts by several properties, ascending: among equals of the first the next one counts, and so on.
    ///
    /// ```swift
    /// query.orderBy(\.department.name, \.age)
    /// ```
    public func orderBy<V, W, each Next>(
        _ first: KeyPath<Row<T>, Column<V>>, _ second: KeyPath<Row<T>, Column<W>>,
        _ next: repeat KeyPath<Row<T>, Column<each Next>>
    ) -> Query {
        var copy = orderBy(first).orderBy(second)
        for keyPath in repeat each next { copy = copy.orderBy(keyPath) }
        return copy
    }

    /// Returns at most this many objects. The call that runs the query throws `MakoError.invalidArgument` for a negative number.
    public func limit(_ count: Int) -> Query {
        var copy = self
        copy.most = Swift.max(0, count)
        if count < 0 { copy.more.fault = .negative("limit", count) }
        return copy
    }

    /// Returns at most this many objects after skipping others: a page of a longer result.
    ///
    /// - Complexity: O(skipped rows), unless an index has the order and the condition. For long results continue after
    ///   the last key instead: `where(\.id > last).limit(n)`.
    public func limit(_ count: Int, offset: Int) -> Query { limit(count).offset(offset) }

    /// Skips this many objects at the beginning. The call that runs the query throws `MakoError.invalidArgument` for a negative number.
    public func offset(_ count: Int) -> Query {
        var copy = self
        copy.more.offset = Swift.max(0, count)
        if count < 0 { copy.more.fault = .negative("offset", count) }
        return copy
    }

    /// The query with another offset and limit.
    func from(_ offset: Int?, limit: Int?) -> Query {
        var copy = self
        if offset != self.offset { copy.more.offset = offset }
        copy.most = limit.map { Swift.max(0, $0) } ?? -1
        return copy
    }

    func on(_ database: Database) -> Query {
        var copy = self
        copy.database = database
        return copy
    }

    func adding(_ condition: ConditionSource) -> Query {
        var copy = self
        if self.condition == nil { copy.condition = condition } else { copy.more.conditions.append(condition) }
        return copy
    }

    func adding(_ reference: ReferenceCondition) -> Query {
        var copy = self
        copy.more.references.append(reference)
        return copy
    }

    // MARK: - For terminals

    /// Whether rows are looked up before the query is planned.
    var hasReferences: Bool { rest.map { !$0.parts.references.isEmpty } ?? false }

    private func selection(_ looked: [MakoRecords.Condition]) throws(MakoError) -> Selection {
        if let fault = rest?.parts.fault { throw fault }
        var parts = looked
        if let condition { parts.append(try condition.condition()) }
        for condition in rest?.parts.conditions ?? [] { parts.append(try condition.condition()) }
        let condition: MakoRecords.Condition? = parts.count > 1 ? .and(parts) : parts.first
        var selection = Selection(
            table: T.entityModel.table, condition: condition, orderBy: orders, limit: limit, offset: offset)
        selection.joins = try selectionJoins()
        selection.alias = rest?.parts.alias ?? T.entityModel.alias
        return selection
    }

    package func target() throws(MakoError) -> Database {
        if let database { return database }
        return try Database.current(for: T.entityModel)
    }

    /// Plans the query and calls a closure with the plan on the current snapshot.
    func planned<R>(
        _ body: (Plan, Binding, Snapshot, Database) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        let bare = try bareSelection()
        let database = try target()
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let start = database.queryStart
            let plan = try plan(bare, binding, schema, view)
            let result = try body(plan, binding, view, database)
            database.noteQuery(plan, binding.model, since: start)
            return result
        }
    }

    /// The selection before rows are looked up; nil where the plan cache needs none.
    private func bareSelection() throws(MakoError) -> Selection? { isPrepared ? nil : try selection([]) }

    /// Whether the query is only a prepared condition.
    private var isPrepared: Bool {
        guard case .prepared = condition else { return false }
        return rest?.affectsRows != true
    }

    private func prepared(_ binding: Binding) -> PreparedSelection? {
        guard isPrepared, case .prepared(let condition, let values) = condition else { return nil }
        return PreparedSelection(
            condition, values.positions, values.names, of: binding.table, limit: limit, offset: offset)
    }

    private func plan(
        _ bare: Selection?, _ binding: Binding, _ schema: SchemaState, _ view: Snapshot
    ) throws(MakoError) -> Plan {
        if var bare {
            // The name of a type's table is known with its first use.
            (bare.table, bare.alias) = (binding.model.table, rest?.parts.alias ?? binding.model.alias)
            return try plan(try looked(bare, binding, schema, view), schema, view)
        }
        guard let prepared = prepared(binding) else { return try plan(try selection([]), schema, view) }
        let kept = try records { () throws(RecordError) in try prepared.plan(schema.catalogue, in: view) }
        if let kept { return try cancellable(kept) }
        let plan = try plan(try selection([]), schema, view)
        prepared.keep(plan, schema.catalogue)
        return plan
    }

    private func plan(_ selection: Selection, _ schema: SchemaState, _ view: Snapshot) throws(MakoError) -> Plan {
        try cancellable(try records { () throws(RecordError) in try selection.plan(schema.catalogue, in: view) })
    }

    private func cancellable(_ plan: consuming Plan) throws(MakoError) -> Plan {
        plan.cancellation = CurrentCancellation.current
        if plan.cancellation?.isCancelled == true { throw .cancelled }
        return plan
    }

    /// Plans the query for objects to be created from its rows.
    @usableFromInline
    func plannedRows() throws(MakoError) -> PlannedRows { try plannedRows(fetching: nil) }

    /// The objects with these keys, in this order.
    func objects(_ keys: [RowKey]) throws(MakoError) -> [T] {
        try plannedRows(fetching: keys).makeObjects(of: T.self)
    }

    /// - Parameter keys: nil: the keys that the plan finds.
    private func plannedRows(fetching keys: [RowKey]?) throws(MakoError) -> PlannedRows {
        let bare = try bareSelection()
        let database = try target()
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            var plan = try plan(bare, binding, schema, view)
            if let keys { plan = plan.fetching(keys) }
            return try PlannedRows(
                plan, binding, view, schema, database, sharing: rest?.parts.context,
                followedBy: rest?.isFollowed == true ? FollowedQuery(self) : nil)
        }
    }

    /// The selection for the records layer on a snapshot.
    func selection(_ binding: Binding, _ schema: SchemaState, _ view: Snapshot) throws(MakoError) -> Selection {
        try looked(try selection([]), binding, schema, view)
    }

    private func looked(
        _ bare: Selection, _ binding: Binding, _ schema: SchemaState, _ view: Snapshot
    ) throws(MakoError) -> Selection {
        guard let references = rest?.parts.references, !references.isEmpty else { return bare }
        var found: [MakoRecords.Condition] = []
        for reference in references { found.append(try reference.condition(binding, schema, view)) }
        return try selection(found)
    }
}

extension Entity {
    /// Returns a query for the objects of this entity in the current database.
    public static func query() -> Query<Self> { Query(database: nil) }
}

extension Database {
    /// Returns a query for the objects of an entity in this database.
    public func query<T: Entity>(_ type: T.Type) -> Query<T> { Query(database: self) }
}
