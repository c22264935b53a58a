import MakoStorage

/// A prepared statement: parsed once, and bound once for as long as the catalogue does not change.
///
///     let insert = try CachedStatement("INSERT INTO Person (name, age) VALUES (?, ?)")
///     try insert.run(catalogue, in: tx, changes: &changes, parameters: [.text("Ada"), .integer(36)])
///
/// Thread-safe, and usable with any database. It caches what was bound in the catalogue of the last run.
package final class CachedStatement: @unchecked Sendable {
    // Unchecked: the lock guards the cache.

    /// The parsed statement.
    package let statement: Statement
    /// The number of positional parameters.
    package let parameterCount: Int
    /// Whether it changes nothing.
    package let isReadOnly: Bool
    /// Whether it is an INSERT.
    package let isInsert: Bool
    /// The parameters of the text.
    package let places: ParameterPlaces
    /// The names of the parameters that are the values of an INSERT of one row, in the order of the values; empty for
    /// other statements, and where a value is anything else or a name occurs twice.
    package let valueNames: [String]
    /// Whether it has parameters.
    private var takesValues: Bool { !places.isEmpty }
    /// Whether a plan of a query may be reused.
    private let isPlanKept: Bool
    private let isDeep: Bool
    private let lock = Lock()
    // The cache for one catalogue, by its number.
    @exclusivity(unchecked) private var catalogue: UInt64 = 0
    @exclusivity(unchecked) private var insert: PreparedInsert?
    @exclusivity(unchecked) private var select: PreparedSelect?

    /// Parses a statement.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package init(_ text: String) throws(RecordError) {
        var parser = try Parser(text)
        statement = parser.startsSelect(0) ? .select(try SelectStatement.read(&parser)) : try parser.statement()
        _ = parser.takeSymbol(";")
        try parser.expectEnd()
        parameterCount = statement.parameterCount
        isReadOnly = statement.isReadOnly
        if case .insert = statement { isInsert = true } else { isInsert = false }
        places = parser.places
        valueNames = statement.valueNames
        isDeep = statement.isDeep
        if case .select(let select) = statement, select.compounds.isEmpty, select.commonTables.isEmpty {
            isPlanKept = places.isEmpty || select.hasValuesInConditionOnly
        } else {
            isPlanKept = false
        }
    }

    /// Runs a query; see ``Statement/read(_:view:parameters:named:cancellation:)``.
    package func read(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        guard let plan = try cachedPlan(catalogue, view, parameters, named) else {
            return try statement.read(
                catalogue, view: view, parameters: parameters, named: named, cancellation: cancellation)
        }
        return try plan.result(view, cancellation, isDeep: isDeep)
    }

    /// Plans a query without running it; see ``Statement/planned(_:view:parameters:named:)``.
    package func planned(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlannedQuery {
        if let plan = try cachedPlan(catalogue, view, parameters, named) { return PlannedQuery(.select(plan), isDeep) }
        return try statement.planned(catalogue, view: view, parameters: parameters, named: named)
    }

    /// Returns the plan of a query that may be cached; `nil` for other statements.
    private func cachedPlan(
        _ catalogue: Catalogue, _ view: Snapshot, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> SelectPlan? {
        guard case .select(let select) = statement, isPlanKept, parameters.count <= select.parameterCount else {
            return nil
        }
        if let plan = try keptSelect(catalogue)?.plan(parameters, named, catalogue, view) { return plan }
        let budget = SubqueryBudget()
        let plan = try followingTree(isDeep) { () throws(RecordError) in
            try select.prepared(catalogue, parameters, named, view, budget)
        }
        // A plan that contains the current time must not be reused.
        if budget.lookedAtClock == nil, !takesValues || plan.isRefillable {
            keep(nil, try PreparedSelect(plan, takesValues, catalogue, view), catalogue)
        }
        return plan
    }

    /// Runs the statement inside a transaction; see
    /// ``Statement/run(_:in:changes:parameters:named:cancellation:ignoringReferences:check:)``.
    package func run(
        _ catalogue: Catalogue, in tx: borrowing WriteTransaction, changes: inout ChangeSet, parameters: [Value] = [],
        named: [String: Value] = [:], cancellation: Cancellation? = nil, ignoringReferences: Bool = false,
        check: (any RowCheck)? = nil
    ) throws(RecordError) -> StatementOutcome {
        let insert = try preparedInsert(catalogue)
        if let insert, insert.isPlain {
            if cancellation?.isCancelled == true { throw .cancelled }
            var writer = RowWriter()
            var outcome = StatementOutcome()
            outcome.lastKey = try insert.store(
                try insert.values(parameters, named), with: &writer, in: tx, changes: &changes, check: check)
            outcome.changed = 1
            return outcome
        }
        let given = StatementRun(
            catalogue: catalogue, parameters: parameters, named: named, cancellation: cancellation,
            ignoresReferences: ignoringReferences, rowCheck: check, prepared: insert)
        return try statement.run(given, in: tx, &changes)
    }

    /// Returns an INSERT with its names resolved; `nil` for other statements.
    ///
    /// - Throws: `syntax`, pointing into the text.
    package func preparedInsert(_ catalogue: Catalogue) throws(RecordError) -> PreparedInsert? {
        guard isInsert else { return nil }
        if let found = keptInsert(catalogue) { return found }
        guard case .insert(let insert) = statement else { return nil }
        let made = try PreparedInsert(insert, catalogue)
        keep(made, nil, catalogue)
        return made
    }

    private func keptInsert(_ catalogue: Catalogue) -> PreparedInsert? {
        lock.lock()
        defer { lock.unlock() }
        return self.catalogue == catalogue.number ? insert : nil
    }

    private func keptSelect(_ catalogue: Catalogue) -> PreparedSelect? {
        lock.lock()
        defer { lock.unlock() }
        return self.catalogue == catalogue.number ? select : nil
    }

    private func keep(_ insert: PreparedInsert?, _ select: PreparedSelect?, _ catalogue: Catalogue) {
        lock.withLock {
            self.catalogue = catalogue.number
            (self.insert, self.select) = (insert, select)
        }
    }
}

/// A cached plan of a query: without parameters, valid while its tables keep about their sizes; with parameters, only
/// if the access path is the best for all values.
private struct PreparedSelect: Sendable {
    /// The factor by which a table may grow or shrink.
    private static let growth = 4
    /// Sizes below this count as equal.
    private static let few = 100

    private let plan: SelectPlan
    private let takesValues: Bool
    private let sizes: [(table: TableHandle, rows: Int)]
    /// The number of invalidations of the plan cache when the plan was made.
    private let generation: Int

    init(_ plan: SelectPlan, _ takesValues: Bool, _ catalogue: Catalogue, _ view: Snapshot) throws(RecordError) {
        self.plan = plan
        self.takesValues = takesValues
        generation = catalogue.plans.generation
        var sizes: [(table: TableHandle, rows: Int)] = []
        // A plan cached for all values checks the size itself.
        for name in takesValues ? [] : plan.tables {
            if let table = catalogue.table(named: name) { sizes.append((table, try table.count(in: view))) }
        }
        self.sizes = sizes
    }

    /// Returns the plan for these values; `nil` if another one may be better now.
    func plan(
        _ parameters: [Value], _ named: [String: Value], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> SelectPlan? {
        if takesValues { return try plan.refilled(parameters, named, catalogue, view) }
        if generation != catalogue.plans.generation { return nil }
        for (table, rows) in sizes {
            let now = max(PreparedSelect.few, try table.count(in: view))
            let before = max(PreparedSelect.few, rows)
            if now > before * PreparedSelect.growth || before > now * PreparedSelect.growth { return nil }
        }
        return plan.divided(in: view)
    }
}

extension SelectPlan {
    fileprivate func result(
        _ view: Snapshot, _ cancellation: Cancellation?, isDeep: Bool
    ) throws(RecordError) -> QueryRows {
        try followingTree(isDeep) { () throws(RecordError) in
            QueryRows(columns: names, rows: try ended(by: cancellation).rows(in: view))
        }
    }
}

extension Statement {
    /// See ``CachedStatement/valueNames``.
    fileprivate var valueNames: [String] {
        guard case .insert(let insert) = self, case .values(let rows) = insert.source, rows.count == 1 else {
            return []
        }
        var names: [String] = []
        for value in rows[0] {
            guard case .parameter(.name(let name), _) = value, !names.contains(name) else { return [] }
            names.append(name)
        }
        return names
    }
}

extension SelectStatement {
    /// Whether a plan may be reused for other values: parameters occur only in the condition of one table.
    fileprivate var hasValuesInConditionOnly: Bool {
        guard joins.isEmpty, compounds.isEmpty, commonTables.isEmpty, counts == nil, !isDistinct else { return false }
        var isFound = false
        for expr in outputs.map(\.expr) + groupBy + orderBy.map(\.expr) + (having?.expressions ?? []) {
            _ = try? expr.rewritten { (part) throws(RecordError) in
                switch part {
                case .parameter, .subquery, .condition: isFound = true
                default: break
                }
                return nil
            }
        }
        return !isFound
    }
}
