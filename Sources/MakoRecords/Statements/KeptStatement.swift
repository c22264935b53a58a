import MakoStorage

/// A statement that is run again and again: read once, and its names looked up once for as long as the tables stay as they are.
///
///     let insert = try KeptStatement("INSERT INTO Person (name, age) VALUES (?, ?)")
///     try insert.run(catalogue, in: tx, changes: &changes, parameters: [.text("Ada"), .integer(36)])
///
/// Any thread may run it, over any database. What it has looked up is that of the catalogue it met last.
public final class KeptStatement: @unchecked Sendable {
    // Unchecked: the lock guards what is known of a catalogue.

    public let statement: Statement
    /// Whether it has parameters.
    private let takesValues: Bool
    /// Whether a plan of a question may serve later runs.
    private let isPlanKept: Bool
    private let isDeep: Bool
    private let lock = Lock()
    @exclusivity(unchecked) private var known: Known?

    /// What was looked up in one catalogue. A plan keeps that alive until the statement meets another.
    private struct Known {
        weak var catalogue: Catalogue?
        let work: Work
    }

    private enum Work {
        case insert(PreparedInsert)
        case select(PreparedSelect)
    }

    /// - Throws: `RecordError.syntax`, pointing into the text.
    public init(_ text: String) throws(RecordError) {
        var parser = try Parser(text)
        statement = parser.startsSelect(0) ? .select(try SelectStatement.read(&parser)) : try parser.statement()
        _ = parser.takeSymbol(";")
        try parser.expectEnd()
        takesValues = !parser.places.isEmpty
        isDeep = statement.isDeep
        if case .select(let select) = statement, select.compounds.isEmpty, select.commonTables.isEmpty {
            isPlanKept = !takesValues || select.hasValuesInConditionOnly
        } else {
            isPlanKept = false
        }
    }

    /// Answers a question; see ``Statement/read(_:view:parameters:named:cancellation:)``.
    public func read(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        guard let plan = try keptPlan(catalogue, view, parameters, named) else {
            return try statement.read(
                catalogue, view: view, parameters: parameters, named: named, cancellation: cancellation)
        }
        return try plan.result(view, cancellation, isDeep: isDeep)
    }

    /// Plans a question, whose rows are to be found later; see ``Statement/planned(_:view:parameters:named:)``.
    public func planned(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlannedQuestion {
        if let plan = try keptPlan(catalogue, view, parameters, named) { return PlannedQuestion(.select(plan), isDeep) }
        return try statement.planned(catalogue, view: view, parameters: parameters, named: named)
    }

    /// The plan of a question that serves later runs as well; nil for any other.
    private func keptPlan(
        _ catalogue: Catalogue, _ view: Snapshot, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> SelectPlan? {
        guard case .select(let select) = statement, isPlanKept, parameters.count <= select.parameterCount else {
            return nil
        }
        if case .select(let found)? = work(for: catalogue),
            let plan = try found.plan(parameters, named, catalogue, view)
        {
            return plan
        }
        let budget = SubqueryBudget()
        let plan = try followingTree(isDeep) { () throws(RecordError) in
            try select.prepared(catalogue, parameters, named, view, budget)
        }
        // What the clock said is said once.
        if budget.lookedAtClock == nil, !takesValues || plan.isRefillable {
            keep(.select(try PreparedSelect(plan, takesValues, catalogue, view)), for: catalogue)
        }
        return plan
    }

    /// Runs the statement inside a transaction; see ``Statement/run(_:in:changes:parameters:named:cancellation:ignoringReferences:check:)``.
    public func run(
        _ catalogue: Catalogue, in tx: borrowing WriteTransaction, changes: inout ChangeSet, parameters: [Value] = [],
        named: [String: Value] = [:], cancellation: Cancellation? = nil, ignoringReferences: Bool = false,
        check: (any RowCheck)? = nil
    ) throws(RecordError) -> StatementOutcome {
        var prepared: PreparedInsert?
        if case .insert(let insert) = statement {
            if case .insert(let found)? = work(for: catalogue) {
                prepared = found
            } else {
                let made = try PreparedInsert(insert, catalogue)
                keep(.insert(made), for: catalogue)
                prepared = made
            }
        }
        return try statement.run(
            catalogue, in: tx, changes: &changes, parameters: parameters, named: named, cancellation: cancellation,
            ignoringReferences: ignoringReferences, check: check, prepared: prepared)
    }

    private func work(for catalogue: Catalogue) -> Work? {
        lock.lock()
        defer { lock.unlock() }
        guard let known, known.catalogue === catalogue else { return nil }
        return known.work
    }

    private func keep(_ work: Work, for catalogue: Catalogue) {
        lock.withLock { known = Known(catalogue: catalogue, work: work) }
    }
}

/// The plan of a question: without parameters for as long as its tables are about as large as they were, with parameters where the way to the rows is kept
/// for any values.
private struct PreparedSelect: Sendable {
    /// A table may become so many times larger or smaller.
    private static let growth = 4
    /// Sizes below it are alike.
    private static let few = 100

    private let plan: SelectPlan
    private let takesValues: Bool
    private let sizes: [(table: TableHandle, rows: Int)]
    /// How often plans had been forgotten.
    private let generation: Int

    init(_ plan: SelectPlan, _ takesValues: Bool, _ catalogue: Catalogue, _ view: Snapshot) throws(RecordError) {
        self.plan = plan
        self.takesValues = takesValues
        generation = catalogue.plans.generation
        var sizes: [(table: TableHandle, rows: Int)] = []
        // A way that is kept for any values looks at the size itself.
        for name in takesValues ? [] : plan.tables {
            if let table = catalogue.table(named: name) { sizes.append((table, try table.count(in: view))) }
        }
        self.sizes = sizes
    }

    /// The plan for these values; nil: another one may be better now.
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

extension SelectStatement {
    /// Whether a plan of it may serve other values: those of parameters are nowhere but in the condition of one table.
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
