import MakoStorage

// Rows of a large table that are found in parts, by several threads or by one; those of a join are found part by part of its first table.
extension SelectPlan {
    /// The same feed with another plan for the rows that are read in parts.
    func reading(_ plan: Plan) -> Feed {
        if case .join(let join) = feed { .join(join.reading(plan)) } else { .table(plan) }
    }

    /// Adds the rows of a large table part by part, on several threads as long as the groups are few.
    func addParts(
        of plan: Plan, _ group: BoundGroups, _ operation: PlanNode.Operator, to run: GroupRun, _ view: Snapshot,
        _ supply: SuppliedRows, _ measure: PlanMeasure?
    ) throws(RecordError) {
        let parts = try plan.parts(in: view)
        let join = try keptJoin(in: view, supply, measure)
        var next = 0
        if plan.isGathered, join?.isShareable != false {
            // What the parts hold together, of which some wait for being added, stays within a quarter.
            let share = 4 * (1 + Plan.partsAhead) * (plan.threads ?? 1)
            try plan.forEachPart(
                parts, in: view, measure,
                { (part, measure) throws(RecordError) -> GroupRun? in
                    let supply = try SuppliedRows(rows: nodes.count, results: 0)
                    let run = GroupRun(group, table, nodes, view, supply, cancellation, share: share)
                    run.begin()
                    try add(part, join, operation, to: run, endsWhenFull: true, view, supply, measure)
                    return run.isFull ? nil : run
                }
            ) { (found) in
                guard let found, !run.isFull else { return false }
                run.add(found)
                next += 1
                return true
            }
        }
        // One after the other with one thread, and where the groups of a part are so many that to put them together is as much work.
        for part in parts[next...] {
            run.beginPart()
            try measure.ofPart { (measure) throws(RecordError) in
                try add(part, join, operation, to: run, view, supply, measure)
            }
        }
        run.endParts()
    }

    private func add(
        _ part: Plan, _ join: KeptJoin?, _ operation: PlanNode.Operator, to run: GroupRun, endsWhenFull: Bool = false,
        _ view: Snapshot, _ supply: SuppliedRows, _ measure: PlanMeasure?
    ) throws(RecordError) {
        try measure.during(operation) { (_) throws(RecordError) in
            if join == nil, let tallies = run.tallies,
                try recorded({ try tallies.addRows(of: part, in: view, measure?.part(0)) }) != nil
            {
                return
            }
            try forEachRow(of: part, join, in: view, supply, measure) { (row, key) throws(RecordError) in
                try run.add(row, key)
                return !endsWhenFull || !run.isFull
            }
        }
    }

    /// Gives the rows of a large table on that several threads find, part by part; nil: there are no more, or no more are wanted.
    ///
    /// - Returns: the plan of those from the first part on whose rows were more than its share of the memory of the query.
    func giveParts(
        of plan: Plan, to output: RowBatches, _ view: Snapshot, _ supply: SuppliedRows, _ measure: PlanMeasure?
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
                let supply = try SuppliedRows(rows: nodes.count, results: 0)
                let values = ExpressionRun(bound: outputs, table, nodes, view, supply)
                var rows: [[Value]] = []
                var bytes = 0
                try forEachRow(of: part, join, in: view, supply, measure) { (row, key) throws(RecordError) in
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

    /// Lends the rows of a part; those of a join stand in the supply.
    private func forEachRow(
        of part: Plan, _ join: KeptJoin?, in view: Snapshot, _ supply: SuppliedRows, _ measure: PlanMeasure?,
        _ body: (RowReader, RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        guard let join else {
            let scan = RowScan(part, view)
            scan.measure = measure?.part(0)
            return try recorded {
                try scan.forEachRow(part.table.layout, expecting: 1 << 20) { key, row in try body(row, key) }
            }
        }
        let run = try JoinRun(join.plan.reading(part), view, supply, measure?.part(0), sharing: join.run)
        let key = RowKey.rowID(0)
        try recorded { try run.forEachRow { try body(supply.blank, key) } }
    }

    /// The join with the rows that are kept for all parts; nil for one table.
    private func keptJoin(
        in view: Snapshot, _ supply: SuppliedRows, _ measure: PlanMeasure?
    ) throws(RecordError) -> KeptJoin? {
        guard case .join(let plan) = feed else { return nil }
        let run = try JoinRun(plan, view, supply, measure?.part(0))
        try recorded { try run.keep() }
        return KeptJoin(plan: plan, run: run)
    }
}

/// A join whose kept rows are read: nothing of them changes any more.
private struct KeptJoin: @unchecked Sendable {
    // Unchecked: other threads read what the run keeps in memory, and never run it.

    let plan: JoinPlan
    let run: JoinRun

    /// Whether several threads may look rows up at once.
    var isShareable: Bool { !run.isSpilled }
}
