import MakoStorage

extension SelectPlan {
    /// The steps of a run: those of the tables, that of the groups where there are any, and what is done with rows or groups in the end.
    var stepTexts: [String] {
        var texts = feed.stepTexts
        if let group {
            texts.append((groupText ?? "one group") + (group.having.map { ", having \($0)" } ?? ""))
        }
        return texts + [endLines.isEmpty ? "result" : endLines.joined(separator: ", ")]
    }

    /// Runs the plan once and tells what its steps did.
    func analysis(in view: Snapshot) throws(RecordError) -> (rows: [[Value]], analysis: PlanAnalysis) {
        let run = RunMeasure(stepTexts)
        let rows: [[Value]] = try run.whole { try self.rows(in: view, run) }
        let result = run.steps[last(of: run)]
        result.passed = rows.count
        return (rows, run.analysis(rows: rows.count))
    }

    /// The rows of the result, as those of a sub-query whose tables' steps are measured as one.
    func rows(in view: Snapshot, noting measure: StepMeasure?) throws(RecordError) -> [[Value]] {
        guard let measure else { return try rows(in: view) }
        let run = RunMeasure(stepTexts)
        let rows = try rows(in: view, run)
        for step in run.steps.prefix(feed.tableSteps) {
            measure.entries += step.entries
            measure.rows += step.rows
        }
        return rows
    }

    /// The place of the step that gives the result.
    func last(of run: RunMeasure?) -> Int { (run?.steps.count ?? 0) - 1 }

    /// Does something on the time of a step, where that is measured.
    func measured<R>(
        _ run: RunMeasure?, _ step: Int, _ body: (StepMeasure?) throws(RecordError) -> R
    ) throws(RecordError) -> R {
        guard let run else { return try body(nil) }
        let before = run.turn(to: step)
        defer { run.turn(to: before) }
        return try body(run.steps[step])
    }

    /// Lends the rows that are asked about, and measures the steps up to the one that takes them.
    func forEachRow(
        in view: Snapshot, _ supply: SuppliedRows, measuredBy run: RunMeasure, _ taker: Int,
        _ body: (RowReader, RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        func give(_ row: RowReader, _ key: RowKey) throws -> Bool {
            run.steps[taker].rows += 1
            return try run.during(taker) { try body(row, key) }
        }
        try recorded {
            switch feed {
            case .table(let plan):
                try plan.forEachRow(in: view, run) { key, row in try give(row, key) }
            case .join(let plan):
                let last = run.steps[max(0, plan.steps.count - 1)]
                let key = RowKey.rowID(0)
                try JoinRun(plan, view, supply, run).forEachRow {
                    last.passed += 1
                    return try give(supply.blank, key)
                }
            case .count, .extremes: return
            }
        }
    }
}
