import MakoStorage

extension SelectPlan {
    /// Returns the rows of the result.
    ///
    /// - Parameter measure: the measure of a run, with one part for each plan of the feed.
    func rows(in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) -> [[Value]] {
        let rows = RowBatches()
        try give(to: rows, in: view, measure)
        return rows.rows
    }

    /// Outputs the rows of the result; the last ones may stay in the batch.
    func give(to output: RowBatches, in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) {
        switch feed {
        case .table, .join: try giveFound(to: output, in: view, measure)
        case .count(let plan):
            try cut([.integer(Int64(try plan.count(in: view, measure?.part(0))))], output, measure)
        case .extremes(let extremes):
            let row = try measure.during(.extremes) { (result) throws(RecordError) in
                var row: [Value] = []
                for (place, extreme) in extremes.enumerated() {
                    row.append(try extreme.plan.firstValue(of: extreme.column, in: view, measure?.part(place)))
                }
                result?.counts.rows += row.count
                result?.counts.passed += 1
                return row
            }
            try cut(row, output, measure)
        }
    }

    /// Cancels the run.
    var cancellation: Cancellation? {
        switch feed {
        case .table(let plan), .count(let plan): plan.cancellation
        case .join(let plan): plan.cancellation
        case .extremes(let extremes): extremes.first?.plan.cancellation
        }
    }

    /// Outputs the only row of a result, unless limit and offset exclude it.
    private func cut(_ row: [Value], _ output: RowBatches, _ measure: PlanMeasure?) throws(RecordError) {
        let isWanted = offset == 0 && limit != 0
        if limit != nil || offset > 0 { measure?.note(.limit, rows: 1, passed: isWanted ? 1 : 0) }
        if isWanted { _ = try output.append(row) }
    }

    /// Outputs the rows that are found one by one.
    private func giveFound(to output: RowBatches, in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) {
        let supply = try RowContext(
            rows: nodes.count, results: (group?.keys.count ?? 0) + (group?.aggregates.count ?? 0))
        if let group { return try giveGroups(group, to: output, view, supply, measure) }
        if let plan = gatheredRows {
            if let rest = try giveParts(of: plan, to: output, view, supply, measure) {
                var copy = self
                copy.feed = reading(rest)
                try copy.giveFound(to: output, in: view, measure)
            }
            // A measured run collects all rows.
            measure?.note(.gather, rows: output.rows.count, passed: output.rows.count)
            return
        }
        let sink = ResultPipeline(of: self, to: output, view) {
            ExpressionExecutor(bound: $0, table, nodes, view, supply)
        }
        if limit == 0 { return }
        if let measure { return try giveMeasured(in: view, supply, measure, sink) }
        if output.isHandedOver, sink.givesAtOnce, case .table(let plan) = feed,
            try giveBatches(of: plan, through: sink, to: output, view)
        {
            return
        }
        try forEachRow(in: view, supply, nil) { row, key throws(RecordError) in try sink.take(row, key) }
        try sink.finish()
    }

    /// Outputs the rows of a table in batches of a cursor, so that no page is pinned in between. Returns `false` if
    /// they can only be found all at once.
    private func giveBatches(
        of plan: Plan, through sink: ResultPipeline, to output: RowBatches, _ view: Snapshot
    ) throws(RecordError) -> Bool {
        var isWanted = true
        if !plan.orders.isEmpty {
            try recorded {
                let scan = RowScan(plan, view)
                try plan.forEachSorted(scan, view) { keys in
                    try scan.fetch(keys, plan.table.layout) { key, row in
                        isWanted = try sink.take(row, key)
                        return isWanted
                    }
                    return try isWanted && output.flush()
                }
            }
            return true
        }
        var batches = BatchedCursor(of: plan)
        guard batches.holdsPlaceOnly else { return false }
        try recorded {
            while isWanted, !batches.isAtEnd {
                try batches.next(RowScan.largestBatch, in: view) { key, row in
                    if isWanted { isWanted = try sink.take(row, key) }
                }
                if isWanted { isWanted = try output.flush() }
            }
        }
        return true
    }

    /// The one table; `nil` for a join.
    var table: TableHandle? {
        if case .table(let plan) = feed { plan.table } else { nil }
    }

    private func giveGroups(
        _ group: BoundGroups, to output: RowBatches, _ view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?
    ) throws(RecordError) {
        let run = GroupExecutor(group, of: self, view, supply)
        run.begin()
        let sink = ResultPipeline(of: self, to: output, view) { ExpressionExecutor(bound: $0, nil, [], view, supply) }
        let having = group.having.map { Evaluator(Program(nil, $0), view, supply) }
        let key = RowKey.rowID(0)
        var counts = (groups: 0, passed: 0)
        // One closure for all rows: making it for each row would copy the plan.
        let give = { () throws(RecordError) -> Bool in
            var goesOn = true
            try run.forEachGroup(supply) { () throws(RecordError) in
                counts.groups += 1
                if let having, !(try having.test(supply.blank, key)) { return true }
                counts.passed += 1
                goesOn = try sink.take(supply.blank, key)
                return goesOn
            }
            return goesOn
        }
        var wantsMore = limit != 0
        try measure.during(groupOperator(group)) { (groups) throws(RecordError) in
            if wantsMore, let plan = dividedRows {
                try addParts(of: plan, to: run, view, supply, measure)
            } else if wantsMore, !(try addByScan(run, view, measure)) {
                if isInOrder {
                    try forEachRow(in: view, supply, measure) { row, key throws(RecordError) in
                        wantsMore = try run.addInOrder(row, key, give)
                        return wantsMore
                    }
                } else {
                    try forEachRow(in: view, supply, measure) { row, key throws(RecordError) in
                        try run.add(row, key)
                        return true
                    }
                }
            }
            if wantsMore { _ = try give() }
            groups?.counts.rows += measure?.part(0).found ?? 0
            groups?.counts.passed += counts.groups
            groups?.hold(run.peakBytes)
        }
        if dividedRows?.isGathered == true { measure?.note(.gather, rows: counts.groups, passed: counts.groups) }
        if having != nil { measure?.note(.filter, rows: counts.groups, passed: counts.passed) }
        try finish(sink, counts.passed, measure)
    }

    /// Adds all rows in one plain scan, if vectorised aggregates allow it.
    private func addByScan(_ run: GroupExecutor, _ view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) -> Bool
    {
        guard case .table(let plan) = feed, let vectorAggregates = run.vectorAggregates else { return false }
        return try recorded { try vectorAggregates.addRows(of: plan, in: view, measure?.part(0)) != nil }
    }

    /// Calls a closure with the rows from which the result is made; those of a join are in the supply.
    private func forEachRow(
        in view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?,
        _ body: (RowReader, RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        switch feed {
        case .table(let plan):
            let scan = RowScan(plan, view)
            scan.measure = measure?.part(0)
            try recorded {
                if group == nil {
                    try plan.forEachRowSpecialised(plan.table.layout, scan, view) { key, row in try body(row, key) }
                } else {
                    try scan.forEachRowSpecialised(plan.table.layout, expecting: 1 << 20) { key, row in
                        try body(row, key)
                    }
                }
            }
        case .join(let plan):
            let run = try JoinExecutor(plan, view, supply, measure?.part(0))
            let key = RowKey.rowID(0)
            try recorded { try run.forEachRow { try body(supply.blank, key) } }
        case .count, .extremes: return
        }
    }

    // MARK: - Measured runs

    /// Outputs the rows that are found one by one, in a measured run.
    private func giveMeasured(
        in view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure, _ sink: ResultPipeline
    ) throws(RecordError) {
        var count = 0
        let result = measure.at(sortTerms.isEmpty ? .project : limit == nil ? .sort : .topN)
        try forEachRow(in: view, supply, measure) { row, key throws(RecordError) in
            count += 1
            let before = measure.run.turn(to: result)
            defer { measure.run.turn(to: before) }
            return try sink.take(row, key)
        }
        try finish(sink, count, measure)
    }

    /// Outputs the rows that waited for the last one, and records the counts.
    private func finish(_ sink: ResultPipeline, _ given: Int, _ measure: PlanMeasure?) throws(RecordError) {
        guard let measure else { return try sink.finish() }
        let isSorted = !sortTerms.isEmpty
        let result = measure.at(isSorted ? limit == nil ? .sort : .topN : .project)
        let before = measure.run.turn(to: result)
        try sink.finish()
        measure.run.turn(to: before)
        if (group?.outputs ?? outputs).contains(where: { !$0.subqueries.isEmpty }) {
            measure.note(.project, rows: given, passed: given)
        }
        let different = isDistinct ? sink.different : given
        if isDistinct {
            let isInOrder = isInOrder && group == nil
            measure.note(
                isInOrder ? .sortedDistinct : .distinct, rows: given, passed: different,
                memory: isSorted ? 0 : sink.peakBytes)
        }
        if isSorted {
            measure.note(limit == nil ? .sort : .topN, rows: different, passed: sink.given, memory: sink.peakBytes)
        } else if !isCut, limit != nil || offset > 0 {
            measure.note(.limit, rows: different, passed: sink.given)
        }
    }
}
