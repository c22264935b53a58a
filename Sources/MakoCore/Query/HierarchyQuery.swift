import MakoRecords

/// A query for the objects of a class and of its subclasses. A value, as ``Query`` is.
///
/// ```swift
/// let vessels = try Vessel.query().includingSubclasses()
///     .where(\.length > 20)
///     .orderBy(\.name)
///     .fetch()
/// for case let tug as Tug in vessels { print(tug.power) }
/// ```
public struct HierarchyQuery<T: ObjectEntity>: Sendable {
    private let query: Query<T>

    fileprivate init(_ query: Query<T>) { self.query = query }

    // MARK: - Building

    /// Adds a condition given as text; see ``Query/where(_:_:named:)``.
    public func `where`(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> HierarchyQuery {
        HierarchyQuery(query.adding(text.condition(of: parameters, named)))
    }

    /// Adds a condition whose text is known only at run time.
    public func `where`(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> HierarchyQuery {
        let condition = WhereText(text: text).condition(of: parameters, named)
        return HierarchyQuery(query.adding(condition))
    }

    /// Adds a condition on properties of the superclass.
    public func `where`(_ condition: Condition<T>) -> HierarchyQuery { HierarchyQuery(query.where(condition)) }

    /// Adds the condition that properties have these values.
    public func `where`(_ values: [String: (any ConditionValue)?]) -> HierarchyQuery {
        HierarchyQuery(query.where(values))
    }

    /// Adds the condition that a Boolean property is true.
    public func `where`(_ flag: KeyPath<Row<T>, Column<Bool>>) -> HierarchyQuery { HierarchyQuery(query.where(flag)) }

    /// Sorts by text such as `"name DESC"`.
    public func orderBy(_ text: String, _ direction: SortDirection? = nil) -> HierarchyQuery {
        HierarchyQuery(query.orderBy(text, direction))
    }

    /// Sorts by a property of the object or of a related object.
    public func orderBy<V>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) -> HierarchyQuery { HierarchyQuery(query.orderBy(keyPath, direction)) }

    /// Sorts by several properties, ascending: among equals of the first the next one counts, and so on.
    public func orderBy<V, W, each Next>(
        _ first: KeyPath<Row<T>, Column<V>>, _ second: KeyPath<Row<T>, Column<W>>,
        _ next: repeat KeyPath<Row<T>, Column<each Next>>
    ) -> HierarchyQuery { HierarchyQuery(query.orderBy(first, second, repeat each next)) }

    /// Limits the number of objects.
    public func limit(_ count: Int) -> HierarchyQuery { HierarchyQuery(query.limit(count)) }

    /// Returns at most this many objects after skipping others: a page of a longer result.
    public func limit(_ count: Int, offset: Int) -> HierarchyQuery { limit(count).offset(offset) }

    /// Skips objects at the beginning.
    public func offset(_ count: Int) -> HierarchyQuery { HierarchyQuery(query.offset(count)) }

    /// Loads the object that a reference leads to together with the objects.
    public func prefetch<Target: ObjectEntity>(_ relation: KeyPath<Row<T>, Related<Target>>) -> HierarchyQuery {
        HierarchyQuery(query.prefetch(relation))
    }

    /// Loads the struct that a reference leads to together with the objects: one read for each.
    public func prefetch<Target: Entity>(_ relation: KeyPath<Row<T>, Related<Target>>) -> HierarchyQuery
    where Target._$Kind == EntityKind.Value { HierarchyQuery(query.prefetch(relation)) }

    /// Loads the objects of a to-many relationship together with its owners; see
    /// ``Query/prefetch(_:)-(KeyPath<Row<T>,Column<V>>)``.
    public func prefetch<V>(_ relation: KeyPath<Row<T>, Column<V>>) -> HierarchyQuery {
        HierarchyQuery(query.prefetch(relation))
    }

    // MARK: - Running

    // async
    /// Returns the objects, each an instance of its own class. Without an order, those of the superclass come first,
    /// then those of each subclass.
    ///
    /// - Throws: `MakoError.query` for an invalid condition; `MakoError.unsupported` for a query with joins.
    public func fetch() throws(MakoError) -> Results<T> {
        let shared = query.sharing(FetchContext(isShared: true))
        return Results(try HierarchyQuery(shared).fetchedAll())
    }

    private func fetchedAll() throws(MakoError) -> [T] {
        try reading { (models) throws(MakoError) in
            query.orders.isEmpty && query.offset ?? 0 == 0 ? try one(afterTheOther: models) : try merged(models)
        }
    }

    // async
    /// Returns the first object; nil if there is none.
    public func first() throws(MakoError) -> T? { try HierarchyQuery(query.limit(1)).fetch().first }

    // async
    /// Returns the only object; nil if there is none.
    ///
    /// - Throws: `MakoError.query` when there are several objects.
    public func one() throws(MakoError) -> T? {
        let found = try HierarchyQuery(query.limit(2)).fetch()
        if found.count > 1 {
            throw .query(
                message: "one() found more than one \(T.entityModel.name) or subclass of it; narrow the condition")
        }
        return found.first
    }

    // async
    /// Returns the number of objects.
    public func count() throws(MakoError) -> Int {
        let whole = query.from(nil, limit: nil)
        let count = try reading { (models) throws(MakoError) in
            var count = 0
            for model in models { count += try HierarchyQuery.count(model.type, whole) }
            return count
        }
        return min(max(0, count - (query.offset ?? 0)), query.limit ?? .max)
    }

    // async
    /// Returns whether there is an object.
    public func exists() throws(MakoError) -> Bool {
        if query.limit == 0 { return false }
        if query.offset ?? 0 > 0 { return try count() > 0 }
        return try reading { (models) throws(MakoError) in
            for model in models { if try HierarchyQuery.exists(model.type, query) { return true } }
            return false
        }
    }

    // async: awaits
    /// Whether there is no object; stops at the first one that is found.
    public func isEmpty() throws(MakoError) -> Bool { try !exists() }

    // async: writes
    /// Deletes the objects, with the delete rules of their relationships, and returns their number.
    @discardableResult
    public func delete() throws(MakoError) -> Int {
        let database = try query.target()
        return try database.allOrNothing { (transaction) throws(MakoError) in
            let rows = try reading { (models) throws(MakoError) in
                let merged = try keys(models)
                return models.enumerated().map { number, model in
                    (model: model, keys: merged.filter { $0.plan == number }.map(\.key))
                }
            }
            var count = 0
            for (model, keys) in rows {
                try transaction.refusePartial(model)
                let binding = try transaction.binding(model)
                count += try transaction.removeCallingHooks(keys, transaction.current(binding))
            }
            return count
        }
    }

    // async
    /// Returns the plan of the query as text: the operators of each class, and how their rows are merged.
    ///
    /// - Parameter analyzing: whether the query runs once to measure each operator, as by
    ///   ``Query/explain(_:analyzing:)``.
    public func explain(analyzing: Bool = false) throws(MakoError) -> String {
        try plan(analyzing: analyzing).description
    }

    /// Returns the plan of the query as a tree of operators, with the measurements of each if `analyzing` is true.
    public func plan(analyzing: Bool = false) throws(MakoError) -> PlanNode {
        try reading { (models) throws(MakoError) in
            let offset = query.offset ?? 0
            let enough = query.limit.map { $0.addingReportingOverflow(offset) }
            let limit = enough.flatMap { $0.overflow ? nil : $0.partialValue }
            var plans: [PlanNode] = []
            for model in models { plans.append(try plan(of: model.type, limit, analyzing)) }
            return PlanNode(
                classes: plans, isMerged: !query.orders.isEmpty || offset > 0, limit: query.limit, offset: offset)
        }
    }

    // MARK: - Class by class

    /// Runs a closure with the models of the classes on one snapshot.
    private func reading<R>(_ body: ([EntityModel]) throws(MakoError) -> R) throws(MakoError) -> R {
        if query.hasJoins { throw .unsupported("joinTo in a query that includes subclasses") }
        let database = try query.target()
        // The first use of a type may migrate its table, which must not happen during the read.
        let models = try database.viewing(T.entityModel) { (_, _, schema) throws(MakoError) in
            schema.hierarchy(of: T.entityModel)
        }
        return try translated { try database.read { try body(models) } }
    }

    private func one(afterTheOther models: [EntityModel]) throws(MakoError) -> [T] {
        var objects: [T] = []
        for model in models {
            let room = query.limit.map { $0 - objects.count }
            if room == 0 { break }
            objects += try fetched(model.type, room)
        }
        return objects
    }

    private func merged(_ models: [EntityModel]) throws(MakoError) -> [T] {
        let rows = try keys(models)
        var objects: [[T]] = []
        for (number, model) in models.enumerated() {
            objects.append(try fetched(model.type, rows.filter { $0.plan == number }.map(\.key)))
        }
        var places = [Int](repeating: 0, count: models.count)
        return rows.compactMap { row in
            defer { places[row.plan] += 1 }
            // A row is missing only in a damaged file.
            return places[row.plan] < objects[row.plan].count ? objects[row.plan][places[row.plan]] : nil
        }
    }

    private func keys(_ models: [EntityModel]) throws(MakoError) -> [(plan: Int, key: RowKey)] {
        let offset = query.offset ?? 0
        let enough = query.limit.map { $0.addingReportingOverflow(offset) }
        var merged = MergedKeys()
        for model in models {
            try add(model.type, enough.flatMap { $0.overflow ? nil : $0.partialValue }, to: &merged)
        }
        return merged.rows(offset: offset, limit: query.limit)
    }

    private func add<S: Entity>(_ type: S.Type, _ limit: Int?, to merged: inout MergedKeys) throws(MakoError) {
        try Query<S>(inherited: query).from(nil, limit: limit).planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try merged.add(plan, in: view) }
        }
    }

    private func fetched<S: Entity>(_ type: S.Type, _ limit: Int?) throws(MakoError) -> [T] {
        try Query<S>(inherited: query).from(nil, limit: limit).fetch().compactMap { $0 as? T }
    }

    private func fetched<S: Entity>(_ type: S.Type, _ keys: [RowKey]) throws(MakoError) -> [T] {
        keys.isEmpty ? [] : try Query<S>(inherited: query).objects(keys).compactMap { $0 as? T }
    }

    private static func count<S: Entity>(_ type: S.Type, _ query: Query<T>) throws(MakoError) -> Int {
        try Query<S>(inherited: query).count()
    }

    private static func exists<S: Entity>(_ type: S.Type, _ query: Query<T>) throws(MakoError) -> Bool {
        try Query<S>(inherited: query).exists()
    }

    private func plan<S: Entity>(
        of type: S.Type, _ limit: Int?, _ analyzing: Bool
    ) throws(MakoError) -> PlanNode {
        try Query<S>(inherited: query).from(nil, limit: limit).explanation(analyzing: analyzing).plan
    }
}

extension Query where T: ObjectEntity {
    /// Returns the query for the objects of the class and of its subclasses, each an instance of its own class.
    ///
    /// The subclasses are those that the database was opened with, or that were used since. Classes that ignore the
    /// properties of their superclass are left out.
    public func includingSubclasses() -> HierarchyQuery<T> { HierarchyQuery(self) }
}

// MARK: - Async forms

extension HierarchyQuery {
    /// Runs an async form that scripts/async-twins makes.
    func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (HierarchyQuery) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        try await query.away(writes: writes) { (query) throws(MakoError) in try body(HierarchyQuery(query)) }
    }
}
