import MakoStorage

extension Plan {
    /// Returns the operators that compute a result.
    ///
    /// - Parameter measure: the measure of a ``run(_:in:_:)``.
    /// - Throws: `syntax` for an expression that does not fit.
    func node(
        of result: SelectionResult, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> PlanNode {
        switch result {
        case .rows: return node(measure)
        case .count: return countNode(measure)
        case .exists: return existsNode(measure)
        case .aggregate(let function, let expr): return try node(of: function, expr, view, measure)
        case .distinct(let expr): return try valuesNode(expr, counting: false, view, measure)
        case .groupCount(let expr): return try valuesNode(expr, counting: true, view, measure)
        }
    }

    /// Computes a result, and returns its number of rows, groups or values.
    func run(
        _ result: SelectionResult, in view: Snapshot, _ measure: PlanMeasure
    ) throws(RecordError) -> Int {
        switch result {
        case .rows:
            var count = 0
            try recorded {
                try forEachRow(layout: nil, in: view, measure) { _, _ in
                    count += 1
                    return true
                }
            }
            return count
        case .count: _ = try count(in: view, measure)
        case .exists: _ = try exists(in: view, measure)
        case .aggregate(let function, let expr): _ = try aggregate(function, of: expr, in: view, measure)
        case .distinct(let expr): return try distinctValues(of: expr, in: view, measure).count
        case .groupCount(let expr): return try groupCount(by: expr, in: view, measure).count
        }
        return 1
    }

    private func node(
        of function: AggregateFunction, _ expr: Expr, _ view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> PlanNode {
        let values = try ExpressionExecutor([expr], self, view)
        let text = "\(function.rawValue)(\(values.bound(0)))"
        if let first = try firstRow(of: function, expr, values) {
            return PlanNode(
                .extremes, "\(text) by index order", [first.node(measure?.part(0))], measure?.counts(.extremes))
        }
        let rows = values.kinds[0] == .decimal ? self : covered(reading: values.program)
        let node = PlanNode(
            .aggregate, "aggregate \(text)", [rows.resultNode(measure?.part(0))], measure?.counts(.aggregate))
        return addsParts(function, values) ? gathered(node, measure) : node
    }

    private func valuesNode(
        _ expr: Expr, counting: Bool, _ view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> PlanNode {
        let values = try ExpressionExecutor([expr], self, view)
        // With a truncated entry, the rows were read instead.
        let isCut = measure?.ran(.hashAggregate) ?? false
        if !isCut, let index = try valuesIndex(expr)?.index {
            let conditions = note.conditions
            let start = conditions.isEmpty ? "scan \(table.schema.name)" : "search \(table.schema.name)"
            let tail = "using covering index \(index.schema.name)" + (conditions.isEmpty ? "" : " (\(conditions))")
            let entries: PlanNode.Operator = counting ? .coveringIndexScan : .skipScan
            var node = PlanNode(
                entries, "\(counting ? "" : "skip ")\(start) \(tail)", [], measure?.part(0).counts(entries))
            (node.table, node.index) = (table.schema.name, index.schema.name)
            let operation: PlanNode.Operator = counting ? .sortedAggregate : .sortedDistinct
            let text = counting ? "group by \(values.bound(0)) in order" : "distinct \(values.bound(0)) in order"
            return PlanNode(operation, text, [node], measure?.counts(operation))
        }
        return PlanNode(
            .hashAggregate, "group by \(values.bound(0))",
            [covered(reading: values.program).resultNode(measure?.part(0))], measure?.counts(.hashAggregate))
    }
}
