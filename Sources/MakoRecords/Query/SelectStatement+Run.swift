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
        guard case .select(let select) = try planned(catalogue, parameters, named, nil) else {
            throw tableAt.error("this takes several plans")
        }
        switch select.feed {
        case .table(let plan), .count(let plan): return plan
        case .join, .extremes: throw tableAt.error("this takes several plans")
        }
    }

    /// How the rows are found, in words: a line for each table and for what is done with the rows then.
    ///
    /// - Parameter view: says how large tables are.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func explanation(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:], view: Snapshot? = nil
    ) throws(RecordError) -> String {
        try followingTree(isDeep) { () throws(RecordError) in
            try planned(catalogue, parameters, named, view).description
        }
    }

    /// What each step of the statement does: it is run once, and its rows are thrown away.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func analysis(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> PlanAnalysis {
        try followingTree(isDeep) { () throws(RecordError) in
            try planned(catalogue, parameters, named, view).analysis(in: view)
        }
    }

    /// Runs the statement over a snapshot or a transaction's view.
    ///
    /// - Parameter cancellation: ends it, at the latest a thousand rows later.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text; `cancelled`.
    public func run(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:],
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> QueryRows {
        try followingTree(isDeep) { () throws(RecordError) in
            let plan = try planned(catalogue, parameters, named, view).ended(by: cancellation)
            return QueryRows(columns: plan.first.names, rows: try plan.rows(in: view))
        }
    }

    /// Resolved and planned. Without a view tables are taken to be large.
    func planned(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?
    ) throws(RecordError) -> StatementPlan {
        func plan(_ part: SelectStatement) throws(RecordError) -> SelectPlan {
            try part.prepared(catalogue, parameters, named, view)
        }
        let whole = try counted(parameters, named).flattened(catalogue)
        return whole.compounds.isEmpty ? .select(try plan(whole)) : .compound(try whole.compound(plan))
    }

    /// One SELECT, resolved and planned.
    func prepared(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ view: Snapshot?,
        _ budget: SubqueryBudget = SubqueryBudget()
    ) throws(RecordError) -> SelectPlan {
        try SelectPlanner(self, catalogue, parameters, named, view, budget).plan()
    }
}

extension SelectPlan {
    /// The rows of the result.
    ///
    /// - Parameter run: measures the steps, see ``SelectPlan/stepTexts``.
    func rows(in view: Snapshot, _ run: RunMeasure? = nil) throws(RecordError) -> [[Value]] {
        let rows = RowBatches()
        try give(to: rows, in: view, run)
        return rows.rows
    }

    /// Gives the rows of the result on; the last ones may be left in the batch.
    func give(to output: RowBatches, in view: Snapshot, _ run: RunMeasure? = nil) throws(RecordError) {
        switch feed {
        case .table, .join: try giveFound(to: output, in: view, run)
        case .count(let plan): try cut([.integer(Int64(try count(plan, view, run)))], output)
        case .extremes(let extremes): try cut(try values(extremes, view, run), output)
        }
    }

    /// Ends the run.
    var cancellation: Cancellation? {
        switch feed {
        case .table(let plan), .count(let plan): plan.cancellation
        case .join(let plan): plan.cancellation
        case .extremes(let extremes): extremes.first?.plan.cancellation
        }
    }

    /// The only row of a result, where limit and offset leave it.
    private func cut(_ row: [Value], _ output: RowBatches) throws(RecordError) {
        if offset == 0 && limit != 0 { _ = try output.append(row) }
    }

    private func count(_ plan: Plan, _ view: Snapshot, _ run: RunMeasure?) throws(RecordError) -> Int {
        let number = try measured(run, 0) { (find) throws(RecordError) in try plan.count(in: view, find) }
        run?.steps[0].passed = number
        if let run, run.steps.count > 2 { (run.steps[1].rows, run.steps[1].passed) = (number, 1) }
        return number
    }

    private func values(
        _ extremes: [Extreme], _ view: Snapshot, _ run: RunMeasure?
    ) throws(RecordError) -> [Value] {
        var row: [Value] = []
        for (place, extreme) in extremes.enumerated() {
            row.append(
                try measured(run, place) { (find) throws(RecordError) in
                    try extreme.plan.firstValue(of: extreme.column, in: view, find)
                })
        }
        return row
    }

    /// The rows that are found one after the other.
    private func giveFound(to output: RowBatches, in view: Snapshot, _ run: RunMeasure?) throws(RecordError) {
        let supply = try SuppliedRows(
            rows: nodes.count, results: (group?.keys.count ?? 0) + (group?.aggregates.count ?? 0))
        if let group { return try giveGroups(group, to: output, view, supply, run) }
        let sink = ResultSink(
            outputs, orders, isDistinct: isDistinct, collations, isInOrder: isInOrder, limit: isCut ? nil : limit,
            offset: isCut ? 0 : offset, to: output, view, cancellation
        ) { ExpressionRun(bound: $0, table, nodes, view, supply) }
        if limit == 0 { return }
        try forEachRow(in: view, supply, run, last(of: run)) { row, key throws(RecordError) in try sink.take(row, key) }
        try measured(run, last(of: run)) { _ throws(RecordError) in try sink.finish() }
    }

    /// The one table; nil for a join.
    private var table: TableHandle? {
        if case .table(let plan) = feed { plan.table } else { nil }
    }

    private func giveGroups(
        _ group: BoundGroups, to output: RowBatches, _ view: Snapshot, _ supply: SuppliedRows, _ measure: RunMeasure?
    ) throws(RecordError) {
        let run = GroupRun(group, table, nodes, view, supply, cancellation)
        run.begin()
        let sink = ResultSink(
            group.outputs, orders, isDistinct: isDistinct, collations, limit: limit, offset: offset, to: output, view,
            cancellation
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
            if isInOrder {
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
        try measured(measure, result) { _ throws(RecordError) in try sink.finish() }
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
        case .count, .extremes: return
        }
    }
}
