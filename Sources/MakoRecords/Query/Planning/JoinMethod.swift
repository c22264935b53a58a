/// The join method chosen for one table, with what the executor needs.
struct JoinMethod {
    let method: JoinStep.Method
    /// The plan of the table's rows in a range; `nil` if they are read by their own condition.
    var own: Plan?
    /// The conditions that the method already fulfils.
    let answered: [BoundCondition]

    /// Returns the cheapest method for an estimated number of outer rows.
    static func best(_ source: Int, _ placed: SourceSet, _ planner: JoinPlanner, _ outer: Double) -> JoinMethod {
        let graph = planner.graph
        switch graph.step(source, after: placed, rows: outer).method {
        case .hash: return hash(graph.usable(source, after: placed)) { .kept($0) }
        case .turned: return hash(graph.usable(source, after: placed)) { .outerHash($0) }
        case .lookup(let place):
            let lookup = graph.lookups[place]
            switch lookup.accessPath {
            case .key: return byKey(lookup, source, placed, planner)
            case .index(let index): return byIndex(index, lookup, source, placed, planner)
            case .range(let target): return byRange(target, lookup, source, placed, planner)
            case .holders(let holders, let equation):
                return member(graph.equations[equation]) { .holders(holders, $0) }
            case .held(let equation): return member(graph.equations[equation]) { .held($0) }
            }
        }
    }

    private static func hash(
        _ equations: [JoinGraph.JoinEquation], _ method: ([JoinEquality]) -> JoinStep.Method
    ) -> JoinMethod {
        JoinMethod(
            method: method(
                equations.map { JoinEquality(inner: $0.inner, outer: $0.outer, isRounded: $0.isRounded) }),
            answered: equations.filter { !$0.isRounded }.map(\.condition))
    }

    private static func member(
        _ equation: JoinGraph.JoinEquation, _ method: (BoundExpr) -> JoinStep.Method
    ) -> JoinMethod {
        JoinMethod(method: method(equation.outer), answered: equation.isRounded ? [] : [equation.condition])
    }

    private static func byKey(
        _ lookup: JoinGraph.KeyLookup, _ source: Int, _ placed: SourceSet, _ planner: JoinPlanner
    ) -> JoinMethod {
        let (graph, table) = (planner.graph, planner.sources[source].table)
        let equations = lookup.parts.compactMap { graph.equation(graph.parts[$0], placed) }.map { graph.equations[$0] }
        let parts = equations.enumerated().map { place, equation in
            JoinKeyPart(
                origin: .outer(equation.outer), type: table.isRowID ? .integer : table.keySlots[place].type,
                noCase: false, descending: false)
        }
        return JoinMethod(method: .key(parts), answered: equations.map(\.condition))
    }

    private static func byIndex(
        _ index: IndexHandle, _ lookup: JoinGraph.KeyLookup, _ source: Int, _ placed: SourceSet, _ planner: JoinPlanner
    ) -> JoinMethod {
        let graph = planner.graph
        let constants = planner.constants(source)
        var parts: [JoinKeyPart] = []
        var answered: [BoundCondition] = []
        var isWhole = true
        for (place, part) in zip(lookup.parts, index.parts) {
            func add(_ origin: JoinKeyPart.Origin) {
                parts.append(
                    JoinKeyPart(
                        origin: origin, type: part.slot.type, noCase: part.noCase, descending: part.descending))
            }
            let term = Constraint.Term(ordinal: Int(part.slot.ordinal), noCase: part.noCase)
            if let equation = graph.equation(graph.parts[place], placed) {
                add(.outer(graph.equations[equation].outer))
                // Keys hold long texts truncated, so that a column from the first variable-length one on still needs
                // its test.
                isWhole = isWhole && !part.slot.type.isVariable
                if isWhole { answered.append(graph.equations[equation].condition) }
            } else if let value = constants[term] {
                add(.constant(value))
            } else {
                break
            }
        }
        return JoinMethod(method: .index(index, parts), answered: answered)
    }

    private static func byRange(
        _ target: JoinRange.Target, _ lookup: JoinGraph.KeyLookup, _ source: Int, _ placed: SourceSet,
        _ planner: JoinPlanner
    ) -> JoinMethod {
        let (graph, bound) = (planner.graph, planner.own[source].bound)
        let constants = planner.constants(source)
        var range = JoinRange(target)
        var conditions: [String] = []
        let columns = target.columns(of: bound.table)
        func part(_ place: Int, _ origin: JoinKeyPart.Origin) -> JoinKeyPart {
            let type = columns[place].term.ordinal.map { bound.table.layout.allSlots[$0].type } ?? .integer
            return JoinKeyPart(
                origin: origin, type: type, noCase: columns[place].term.noCase, descending: columns[place].descending)
        }
        for (place, lookedUp) in lookup.parts.enumerated() {
            let term = columns[place].term
            if let equation = graph.equation(graph.parts[lookedUp], placed).map({ graph.equations[$0] }) {
                range.equal.append(part(place, .outer(equation.outer)))
                conditions.append("\(equation.condition)")
            } else if let value = constants[term] {
                range.equal.append(part(place, .constant(value)))
                conditions.append("\(term.ordinal.map { bound.table.columns[$0].name } ?? "") = \(value)")
            }
        }
        for limit in graph.usableLimits(lookup, placed) {
            if limit.isLower ? range.lower != nil : range.upper != nil { continue }
            let made = part(lookup.parts.count, .outer(limit.outer))
            if limit.isLower { range.lower = made } else { range.upper = made }
            conditions.append("\(limit.condition)")
        }
        let note = PlanNote(conditions: conditions.joined(separator: " AND "))
        return JoinMethod(
            method: .range(range),
            own: Plan(bound, access: range.emptyAccess, residual: bound.condition, note: note), answered: [])
    }
}

extension JoinRange.Target {
    /// The columns by which the rows are sorted.
    func columns(of table: TableHandle) -> [KeyPattern.Part] {
        switch self {
        case .rowID: [KeyPattern.Part(term: Constraint.Term(ordinal: nil, noCase: false), descending: false)]
        case .key: table.keyParts
        case .index(let index): index.keyParts
        }
    }
}

extension JoinPlanner {
    /// Returns the columns that the table's own condition makes constant.
    func constants(_ source: Int) -> [Constraint.Term: Value] {
        var values: [Constraint.Term: Value] = [:]
        for constraint in Constraint.all(own[source].bound.condition?.conjuncts ?? []) {
            if case .equal(let value) = constraint.test, !value.isNull { values[constraint.term] = value }
        }
        return values
    }

    /// Returns how many rows have the same values in the first columns of an index; 0 if unknown.
    func alike(_ index: IndexHandle, _ source: Int, prefix: Int) -> Double {
        guard let statistics = sources[source].statistics,
            let values = statistics.catalogue.statistics.values(of: index, prefix: prefix, in: statistics.view)
        else { return 0 }
        return sources[source].size / values
    }
}
