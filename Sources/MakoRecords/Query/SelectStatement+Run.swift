import MakoStorage

extension SelectStatement {
    /// How the rows of a statement over one table are found; its description is the explanation.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text, also for a statement that joins: see
    ///   ``explanation(_:parameters:named:view:)``.
    public func plan(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> Plan {
        try followingTree(isDeep) { () throws(RecordError) in try treePlan(catalogue, parameters, named) }
    }

    private func treePlan(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> Plan {
        let whole = try counted(parameters, named).flattened(catalogue)
        guard whole.compounds.isEmpty,
            case .table(let plan) = try whole.prepared(catalogue, parameters, named, nil).feed
        else { throw tableAt.error("this takes several plans") }
        return plan
    }

    /// How the rows are found, in words: a line for each table and for what is done with the rows then.
    ///
    /// - Parameter view: says how large tables are.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func explanation(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:], view: Snapshot? = nil
    ) throws(RecordError) -> String {
        try followingTree(isDeep) { () throws(RecordError) in
            try treeExplanation(catalogue, parameters, named, view)
        }
    }

    private func treeExplanation(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?
    ) throws(RecordError) -> String {
        let whole = try counted(parameters, named).flattened(catalogue)
        if whole.compounds.isEmpty { return try whole.prepared(catalogue, parameters, named, view).description }
        return try whole.compound { (part) throws(RecordError) in try part.prepared(catalogue, parameters, named, view)
        }
        .description
    }

    /// What each step of the statement does: it is run once, and its rows are thrown away.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func analysis(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlanAnalysis {
        try followingTree(isDeep) { () throws(RecordError) in
            try treeAnalysis(catalogue, view, parameters, named)
        }
    }

    private func treeAnalysis(
        _ catalogue: Catalogue, _ view: Snapshot, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> PlanAnalysis {
        let whole = try counted(parameters, named).flattened(catalogue)
        if whole.compounds.isEmpty {
            return try whole.prepared(catalogue, parameters, named, view).analysis(in: view).analysis
        }
        return try whole.compound { (part) throws(RecordError) in
            try part.prepared(catalogue, parameters, named, view)
        }.analysis(in: view)
    }

    /// Runs the statement over a snapshot or a transaction's view.
    ///
    /// - Parameter cancellation: ends it, at the latest a thousand rows later.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text; `cancelled`.
    public func run(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        try run(catalogue, view, parameters, named, cancellation, noting: nil)
    }

    /// - Parameter measure: is told what the tables' steps read, where the statement is a sub-query.
    func run(
        _ catalogue: Catalogue, _ view: Snapshot, _ parameters: [Value], _ named: [String: Value],
        _ cancellation: Cancellation?, noting measure: StepMeasure?
    ) throws(RecordError) -> QueryRows {
        try followingTree(isDeep) { () throws(RecordError) in
            try runTree(catalogue, view, parameters, named, cancellation, noting: measure)
        }
    }

    private func runTree(
        _ catalogue: Catalogue, _ view: Snapshot, _ parameters: [Value], _ named: [String: Value],
        _ cancellation: Cancellation?, noting measure: StepMeasure?
    ) throws(RecordError) -> QueryRows {
        let whole = try counted(parameters, named).flattened(catalogue)
        if whole.compounds.isEmpty {
            let plan = try whole.prepared(catalogue, parameters, named, view).ended(by: cancellation)
            return QueryRows(columns: plan.names, rows: try plan.rows(in: view, noting: measure))
        }
        let plan = try whole.compound { (part) throws(RecordError) in
            try part.prepared(catalogue, parameters, named, view).ended(by: cancellation)
        }
        return QueryRows(columns: plan.first.names, rows: try plan.rows(in: view, noting: measure))
    }

    /// Resolved and planned. Without a view tables are taken to be large.
    func prepared(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?,
        _ budget: SubqueryBudget = SubqueryBudget()
    ) throws(RecordError) -> SelectPlan {
        let statement = try counted(parameters, named).flattened(catalogue)
        if let inner = statement.compounds.first {
            throw inner.at.error(
                "several questions put together cannot stand behind another; write them out one by one")
        }
        return try SelectPlanner(statement, catalogue, parameters, named, view, budget) { table in
            guard let view else { return nil }
            do throws(RecordError) { return try table.count(in: view) } catch { return nil }
        }.plan()
    }
}

extension SelectPlan {
    /// The rows of the result.
    ///
    /// - Parameter run: measures the steps, see ``SelectPlan/stepTexts``.
    func rows(in view: Snapshot, _ run: RunMeasure? = nil) throws(RecordError) -> [[Value]] {
        if countsRows, case .table(let plan) = feed {
            // The index alone, or the table's own count, may tell it.
            let number = try measured(run, 0) { (find) throws(RecordError) in try plan.count(in: view, find) }
            if let run {
                run.steps[0].passed = number
                (run.steps[1].rows, run.steps[1].passed) = (number, 1)
            }
            let count = Value.integer(Int64(number))
            return offset > 0 || limit == 0 ? [] : [[count]]
        }
        if let rows = try measured(run, 0, { (find) throws(RecordError) in try rowsByIndex(view, find) }) {
            return rows
        }
        let supply = try SuppliedRows(
            rows: nodes.count, results: (group?.keys.count ?? 0) + (group?.aggregates.count ?? 0))
        if let group { return try grouped(group, view, supply, run) }
        let sink = ResultSink(
            outputs, orders, isDistinct: isDistinct, collations, isInOrder: isInOrder, limit: isCut ? nil : limit,
            offset: isCut ? 0 : offset
        ) { ExpressionRun(bound: $0, table, nodes, view, supply) }
        if limit == 0 { return [] }
        try forEachRow(in: view, supply, run, last(of: run)) { row, key throws(RecordError) in try sink.take(row, key) }
        return try measured(run, last(of: run)) { _ in sink.rows() }
    }

    /// The one table; nil for a join.
    private var table: TableHandle? {
        if case .table(let plan) = feed { plan.table } else { nil }
    }

    private func grouped(
        _ group: GroupPlan, _ view: Snapshot, _ supply: SuppliedRows, _ measure: RunMeasure?
    ) throws(RecordError) -> [[Value]] {
        let run = GroupRun(group, table, nodes, view, supply)
        run.begin()
        let sink = ResultSink(
            group.outputs, orders, isDistinct: isDistinct, collations, limit: limit, offset: offset
        ) {
            ExpressionRun(bound: $0, nil, [], view, supply)
        }
        let having = group.having.map { Evaluator(Program(nil, $0), view, supply) }
        let key = RowKey.rowID(0)
        let result = last(of: measure)
        // Made once: to make it for a row would copy the plan.
        let give = { () throws(RecordError) -> Bool in
            var goesOn = true
            try measured(measure, result - 1) { (groups) throws(RecordError) in
                try run.forEachGroup(supply) { () throws(RecordError) in
                    if let having, !(try having.test(supply.blank, key)) { return true }
                    groups?.passed += 1
                    goesOn = try measured(measure, result) { (sort) throws(RecordError) in
                        sort?.rows += 1
                        return try sink.take(supply.blank, key)
                    }
                    return goesOn
                }
            }
            return goesOn
        }
        var wantsMore = limit != 0
        if wantsMore, !(try addByWalk(run, view, measure)) {
            if group.isInOrder {
                try forEachRow(in: view, supply, measure, result - 1) { row, key throws(RecordError) in
                    wantsMore = try run.addInOrder(row, key, give)
                    return wantsMore
                }
            } else {
                try forEachRow(in: view, supply, measure, result - 1) { row, key throws(RecordError) in
                    try run.add(row, key)
                    return true
                }
            }
        }
        if wantsMore { _ = try give() }
        return try measured(measure, result) { _ in sink.rows() }
    }

    /// Adds all rows in one walk, where that is all there is to do.
    private func addByWalk(
        _ run: GroupRun, _ view: Snapshot, _ measure: RunMeasure?
    ) throws(RecordError) -> Bool {
        guard case .table(let plan) = feed, let tallies = run.tallies else { return false }
        return try measured(measure, 0) { (find) throws(RecordError) in
            guard let count = try recorded({ try tallies.addRows(of: plan, in: view) }) else { return false }
            find?.rows = count
            find?.passed = count
            measure?.steps[last(of: measure) - 1].rows = count
            return true
        }
    }

    /// Lends the rows that are asked about; those of a join stand in the supply.
    private func forEachRow(
        in view: Snapshot, _ supply: SuppliedRows, _ run: RunMeasure?, _ taker: Int,
        _ body: (RowReader, RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        if let run { return try forEachRow(in: view, supply, measuredBy: run, taker, body) }
        switch feed {
        case .table(let plan):
            try recorded {
                if group == nil {
                    try plan.forEachRow(in: view) { key, row in try body(row, key) }
                } else {
                    try RowScan(plan, view).forEachRow(plan.table.layout, expecting: 1 << 20) { key, row in
                        try body(row, key)
                    }
                }
            }
        case .join(let plan):
            let run = try JoinRun(plan, view, supply)
            let key = RowKey.rowID(0)
            try recorded { try run.forEachRow { try body(supply.blank, key) } }
        }
    }
}
