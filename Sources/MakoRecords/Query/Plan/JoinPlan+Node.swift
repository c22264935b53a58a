extension JoinPlan: CustomStringConvertible {
    var description: String { node(nil).outline }

    /// Returns the operators of the join, each over those of the tables before it.
    ///
    /// - Parameter measure: the measure of a run, with one part for each table.
    func node(_ measure: PlanMeasure?) -> PlanNode {
        if isOneRow {
            return PlanNode(.oneRow, "one row", [], measure?.counts(.oneRow)).filtered(by: condition, measure)
        }
        var node: PlanNode?
        for (place, step) in steps.enumerated() {
            node = step.node(node, sources[step.source], measure?.part(place))
        }
        node?.cost = cost
        if steps.count > 1 { node?.expectedRows = expectedRows }
        return node ?? PlanNode(.nothing, "nothing to read", [], measure?.counts(.nothing))
    }
}

extension JoinStep {
    /// The operator of the join method.
    var operation: PlanNode.Operator {
        switch method {
        case .first, .range: .nestedLoopJoin
        case .kept(let equalities): equalities.isEmpty ? .nestedLoopJoin : .hashJoin
        case .key: .keyJoin
        case .index: .indexJoin
        case .holders: .keyHoldersJoin
        case .held: .heldKeysJoin
        case .outerHash: .hashJoinOfOuter
        }
    }

    /// - Parameter input: the operator of the tables before; `nil` for the first table.
    fileprivate func node(_ input: PlanNode?, _ source: JoinedTable, _ measure: PlanMeasure?) -> PlanNode {
        let start = "\(isLeft ? "left join" : "join") \(source.label)"
        var tests = match
        var inputs = input.map { [$0] } ?? []
        let text: String
        switch method {
        case .first:
            return own.node(measure?.part(0), source.label).filtered(by: .all(match), measure)
        case .key(let parts): text = "\(start) by key (\(JoinStep.text(parts)))"
        case .index(let index, let parts): text = "\(start) using index \(index.schema.name) (\(JoinStep.text(parts)))"
        case .range: text = "\(start) by nested loop"
        case .holders(let holders, let key): text = "\(start) using index \(holders.index.schema.name) (holding \(key))"
        case .held(let column): text = "\(start) by keys in \(column)"
        case .kept(let equalities) where equalities.isEmpty: text = "\(start) by nested loop"
        case .kept(let equalities): text = "\(start) by hash (\(JoinStep.text(equalities)))"
        case .outerHash(let equalities): text = "\(start) by hash of the rows before it (\(JoinStep.text(equalities)))"
        }
        switch method {
        case .kept, .outerHash, .first, .range: inputs.append(own.node(measure?.part(0), source.label))
        // Rows that are looked up are tested with the table's own condition afterwards.
        case .key, .index, .holders, .held: tests = (own.bound.condition.map { [$0] } ?? []) + tests
        }
        let test = tests.isEmpty ? "" : ", test " + tests.map { "\($0)" }.joined(separator: " AND ")
        var node = PlanNode(
            operation, text + test, inputs + tests.flatMap(\.subqueries).nodes(measure), measure?.counts(operation))
        node.table = source.table.schema.name
        node.index = index
        return node.filtered(by: .all(after), measure)
    }

    private var index: String? {
        switch method {
        case .index(let index, _): index.schema.name
        case .holders(let holders, _): holders.index.schema.name
        case .first, .range, .key, .held, .kept, .outerHash: nil
        }
    }

    private static func text(_ equalities: [JoinEquality]) -> String {
        equalities.map { "\($0.inner) = \($0.outer)" }.joined(separator: " AND ")
    }

    private static func text(_ parts: [JoinKeyPart]) -> String {
        parts.map { "\($0.origin.expr)" }.joined(separator: ", ")
    }
}
