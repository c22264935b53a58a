import MakoStorage

/// Several questions whose rows are put together, one after the other; then sorted and cut.
struct CompoundPlan: Sendable, CustomStringConvertible {
    struct Term: Sendable {
        let place: Int
        let descending: Bool
        let noCase: Bool
    }

    let first: SelectPlan
    let rest: [(operation: SetOperator, plan: SelectPlan)]
    let terms: [Term]
    let limit: Int?
    let offset: Int

    /// The collations of the columns: those that the first question that has one brings.
    var collations: [Collation?] { CompoundPlan.collations([first] + rest.map(\.plan)) }

    fileprivate static func collations(_ plans: [SelectPlan]) -> [Collation?] {
        plans.dropFirst().reduce(plans[0].collations) { known, plan in
            zip(known, plan.collations).map { $0 ?? $1 }
        }
    }

    /// Those under which the rows of a question meet the ones before it.
    private func collations(upTo place: Int) -> [Bool] {
        CompoundPlan.collations([first] + rest.prefix(place + 1).map(\.plan)).map { $0?.isNoCase == true }
    }

    var description: String {
        var lines = [first.description]
        for (operation, plan) in rest { lines += [operation.rawValue, plan.description] }
        return (lines + endLines).joined(separator: "\n")
    }

    /// What is done with all rows in the end, in words.
    private var stepText: String? { endLines.isEmpty ? nil : endLines.joined(separator: ", ") }

    private var endLines: [String] {
        var lines: [String] = []
        if !terms.isEmpty {
            let names = terms.map { first.names[$0.place] + ($0.descending ? " DESC" : "") }
            lines.append("sort by " + names.joined(separator: ", "))
        }
        if let limit { lines.append("limit \(limit)") }
        if offset > 0 { lines.append("offset \(offset)") }
        return lines
    }

    func rows(in view: Snapshot, noting measure: StepMeasure? = nil) throws(RecordError) -> [[Value]] {
        if limit == 0 { return [] }
        var rows = try first.rows(in: view, noting: measure)
        for (place, (operation, plan)) in rest.enumerated() {
            let others = try plan.rows(in: view, noting: measure)
            rows = CompoundPlan.joined(rows, others, operation, collations(upTo: place))
        }
        sort(&rows)
        rows.removeFirst(min(offset, rows.count))
        if let limit { rows.removeLast(max(0, rows.count - limit)) }
        return rows
    }

    /// Runs it once and tells what its steps did.
    func analysis(in view: Snapshot) throws(RecordError) -> PlanAnalysis {
        let run = RunMeasure(rest.map(\.operation.rawValue) + [stepText ?? ""])
        var (rows, parts) = try first.analysis(in: view)
        var steps = parts.steps
        var subqueries = parts.subqueries
        for (place, (operation, plan)) in rest.enumerated() {
            let (others, part) = try plan.analysis(in: view)
            let step = run.steps[place]
            step.rows = rows.count + others.count
            rows = run.during(place) { CompoundPlan.joined(rows, others, operation, collations(upTo: place)) }
            step.passed = rows.count
            steps += part.steps
            subqueries += part.subqueries
        }
        let last = run.steps[rest.count]
        last.rows = rows.count
        run.during(rest.count) {
            sort(&rows)
            rows.removeFirst(min(offset, rows.count))
            if let limit { rows.removeLast(max(0, rows.count - limit)) }
        }
        last.passed = rows.count
        let own = run.analysis(rows: rows.count)
        return PlanAnalysis(
            steps: steps + (stepText == nil ? own.steps.dropLast() : own.steps[...]), subqueries: subqueries,
            rows: rows.count, time: own.time)
    }

    private static func joined(
        _ first: [[Value]], _ second: [[Value]], _ operation: SetOperator, _ areNoCase: [Bool]
    ) -> [[Value]] {
        if operation == .unionAll { return first + second }
        var buffer = KeyBuffer()
        func code(_ row: [Value]) {
            buffer.clear()
            for (value, isNoCase) in zip(row, areNoCase) { KeyCoding.append(value, noCase: isNoCase, to: &buffer) }
        }
        var others = KeyTable()
        if operation != .union {
            for row in second {
                code(row)
                _ = others.place(of: buffer.raw)
            }
        }
        var met = KeyTable()
        var rows: [[Value]] = []
        for row in operation == .union ? first + second : first {
            code(row)
            let isThere = others.number(of: buffer.raw) != nil
            if operation == .intersect && !isThere || operation == .except && isThere { continue }
            if met.place(of: buffer.raw).isNew { rows.append(row) }
        }
        return rows
    }

    private func sort(_ rows: inout [[Value]]) {
        if terms.isEmpty { return }
        var keyed = rows.indices.map { index in
            var buffer = KeyBuffer()
            for term in terms {
                let start = buffer.count
                KeyCoding.append(rows[index][term.place], noCase: term.noCase, to: &buffer)
                if term.descending { buffer.complement(from: start) }
            }
            return (key: buffer.bytes, index: index)
        }
        keyed.sort { first, second in
            let order = KeyOrder.compareKeys(first.key, second.key)
            return order == 0 ? first.index < second.index : order < 0
        }
        rows = keyed.map { rows[$0.index] }
    }
}

extension KeyCoding {
    /// Equal numbers have equal bytes, whole or not; values of other types never have those of each other.
    static func append(_ value: Value, noCase: Bool = false, to buffer: inout KeyBuffer) {
        switch value {
        case .null: buffer.appendNull()
        case .integer(let number): append(.integer(number), .mixed, to: &buffer)
        case .unsigned(let number): append(.unsigned(number), .mixed, to: &buffer)
        case .double(let number): append(.double(number), .mixed, to: &buffer)
        default:
            // Behind all numbers, whose first byte this is, too.
            buffer.append(UInt64.max)
            buffer.append(Int64(kind(value)))
            buffer.append(value, noCase: noCase)
        }
    }

    private static func kind(_ value: Value) -> Int {
        switch value {
        case .bool: 1
        case .date: 2
        case .text: 3
        case .blob: 4
        default: 5
        }
    }
}

extension SelectStatement {
    /// A statement with further questions behind it, resolved and planned.
    func compound(
        _ prepare: (SelectStatement) throws(RecordError) -> SelectPlan
    ) throws(RecordError) -> CompoundPlan {
        var head = self
        (head.compounds, head.orderBy, head.limit, head.offset) = ([], [], nil, nil)
        let first = try prepare(head)
        var rest: [(operation: SetOperator, plan: SelectPlan)] = []
        for clause in compounds {
            let plan = try prepare(clause.statement)
            guard plan.names.count == first.names.count else {
                throw clause.at.error(
                    "this has \(plan.names.count) columns, and what is before it \(first.names.count)")
            }
            rest.append((clause.operation, plan))
        }
        let terms = try terms(first.names, CompoundPlan.collations([first] + rest.map(\.plan)))
        for (order, term) in zip(orderBy, terms) {
            let parts = [first] + rest.map(\.plan)
            guard parts.contains(where: { $0.kinds[term.place] == .decimal }) else { continue }
            throw order.expr.position.error(
                "rows of several questions are not ordered by decimals; \(first.names[term.place]) is one")
        }
        return CompoundPlan(
            first: first, rest: rest, terms: terms, limit: limit.map { max(0, $0) },
            offset: max(0, offset ?? 0))
    }

    /// Such rows are sorted by their own columns.
    private func terms(_ names: [String], _ collations: [Collation?]) throws(RecordError) -> [CompoundPlan.Term] {
        var terms: [CompoundPlan.Term] = []
        for order in orderBy {
            var place: Int?
            switch order.expr.uncollated {
            case .literal(.integer(let number), _) where number >= 1 && number <= names.count: place = Int(number) - 1
            case .column(let path, _):
                let name = path.joined(separator: ".")
                place = names.firstIndex(of: name) ?? names.firstIndex { Folding.folded($0) == Folding.folded(name) }
            default: break
            }
            guard let place else {
                throw order.expr.position.error(
                    "rows of several questions are ordered by the name or the number of a column")
            }
            let isNoCase = order.noCase || (order.expr.explicitCollation ?? collations[place]?.isNoCase ?? false)
            terms.append(CompoundPlan.Term(place: place, descending: order.descending, noCase: isNoCase))
        }
        return terms
    }
}
