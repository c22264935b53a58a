import MakoStorage

// Parallel scans: the rows of a large table are found in parts; those of a join by parts of its first table.
extension SelectPlan {
    /// Returns the feed with another plan for the rows that are read in parts.
    func reading(_ plan: Plan) -> Feed {
        if case .join(let join) = feed { .join(join.reading(plan)) } else { .table(plan) }
    }

    /// Groups the rows of a large table part by part, on several threads while the groups are few.
    func addParts(
        of plan: Plan, to run: GroupExecutor, _ view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?
    ) throws(RecordError) {
        let parts = try plan.parts(in: view)
        let join = try keptJoin(in: view, supply, measure)
        var next = 0
        if plan.isGathered, join?.isShareable != false {
            // All parts in progress together may use a quarter of the memory.
            let share = 4 * (1 + Plan.partsAhead) * (plan.threads ?? 1)
            let group = run.plan
            try plan.forEachPart(
                parts, in: view, measure,
                { (part, measure) throws(RecordError) -> GroupExecutor? in
                    let supply = try RowContext(rows: nodes.count, results: 0)
                    let run = GroupExecutor(group, of: self, view, supply, share: share)
                    run.begin()
                    try add(part, join, to: run, supply, measure)
                    return run.isFull ? nil : run
                }
            ) { (found) in
                guard let found, !run.isFull else { return false }
                run.add(found)
                next += 1
                return true
            }
        }
        // Sequentially with one thread, and where parts have so many groups that combining them costs as much as making
        // them.
        for part in parts[next...] {
            run.beginPart()
            try measure.ofPart { (measure) throws(RecordError) in
                try add(part, join, to: run, supply, measure)
            }
        }
        run.endParts()
    }

    private func add(
        _ part: Plan, _ join: KeptJoin?, to run: GroupExecutor, _ supply: RowContext, _ measure: PlanMeasure?
    ) throws(RecordError) {
        try measure.during(groupOperator(run.plan)) { (_) throws(RecordError) in
            if join == nil, let vectorAggregates = run.vectorAggregates,
                try recorded({ try vectorAggregates.addRows(of: part, in: run.view, measure?.part(0)) }) != nil
            {
                return
            }
            try part.forEachRow(of: join, in: run.view, supply, measure) { (row, key) throws(RecordError) in
                try run.add(row, key)
                return !run.isPart || !run.isFull
            }
        }
    }

    /// Outputs the rows of a large table that several threads find, part by part; returns `nil` if there are no more,
    /// or no more are wanted.
    ///
    /// - Returns: the plan of the remaining parts, from the first one whose rows exceed its share of the query memory.
    func giveParts(
        of plan: Plan, to output: RowBatches, _ view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?
    ) throws(RecordError) -> Plan? {
        let parts = try plan.parts(in: view)
        let join = try keptJoin(in: view, supply, measure)
        if join?.isShareable == false { return plan.rest(from: parts[0]) }
        let most = view.queryMemory / (1 + Plan.partsAhead) / (plan.threads ?? 1)
        let width = MemoryLayout<[Value]>.stride + 32 + outputs.count * MemoryLayout<Value>.stride
        var (next, isWanted) = (0, true)
        try plan.forEachPart(
            parts, in: view, measure,
            { (part, measure) throws(RecordError) -> [[Value]]? in
                let supply = try RowContext(rows: nodes.count, results: 0)
                let values = ExpressionExecutor(bound: outputs, table, nodes, view, supply)
                var rows: [[Value]] = []
                var bytes = 0
                try part.forEachRow(of: join, in: view, supply, measure) { (row, key) throws(RecordError) in
                    let found = try values.all(row, key)
                    bytes &+= width
                    for value in found { bytes &+= value.contentBytes }
                    rows.append(found)
                    return bytes <= most
                }
                return bytes <= most ? rows : nil
            }
        ) { (found) throws(RecordError) in
            guard let found else { return false }
            for row in found where isWanted { isWanted = try output.append(row) }
            next += 1
            return isWanted
        }
        return isWanted && next < parts.count ? plan.rest(from: parts[next]) : nil
    }

    /// Returns the join with the hash tables that all parts share; `nil` for one table.
    private func keptJoin(
        in view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?
    ) throws(RecordError) -> KeptJoin? {
        guard case .join(let plan) = feed else { return nil }
        let run = try JoinExecutor(plan, view, supply, measure?.part(0))
        try recorded { try run.keep() }
        return KeptJoin(plan: plan, run: run)
    }
}

/// A join whose hash tables are complete, so that nothing in them changes.
private struct KeptJoin: @unchecked Sendable {
    // Unchecked: other threads only read the hash tables in memory, and never run the join.

    let plan: JoinPlan
    let run: JoinExecutor

    /// Whether several threads may look rows up concurrently.
    var isShareable: Bool { !run.isSpilled }
}

extension Plan {
    /// Calls a closure with the rows of this part; those of a join are in the supply.
    fileprivate func forEachRow(
        of join: KeptJoin?, in view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure?,
        _ body: (RowReader, RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        guard let join else {
            let scan = RowScan(self, view)
            scan.measure = measure?.part(0)
            return try recorded {
                try scan.forEachRowSpecialised(table.layout, expecting: 1 << 20) { key, row in try body(row, key) }
            }
        }
        let run = try JoinExecutor(join.plan.reading(self), view, supply, measure?.part(0), sharing: join.run)
        let key = RowKey.rowID(0)
        try recorded { try run.forEachRow { try body(supply.blank, key) } }
    }
}
