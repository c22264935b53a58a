import MakoStorage

extension StatementPlan {
    /// The rows of the result.
    ///
    /// - Parameter measure: takes down what the tables' steps read, where the statement is a sub-query.
    func rows(in view: Snapshot, noting measure: StepMeasure? = nil) throws(RecordError) -> [[Value]] {
        switch self {
        case .select(let plan): try plan.rows(in: view, noting: measure)
        case .compound(let plan): try plan.rows(in: view, noting: measure)
        }
    }

    /// Runs the plan once and tells what its steps did.
    func analysis(in view: Snapshot) throws(RecordError) -> PlanAnalysis {
        switch self {
        case .select(let plan): try plan.analysis(in: view).analysis
        case .compound(let plan): try plan.analysis(in: view)
        }
    }
}

extension CompoundSelect<SelectPlan> {
    func rows(in view: Snapshot, noting measure: StepMeasure? = nil) throws(RecordError) -> [[Value]] {
        if limit == 0 { return [] }
        var rows = try first.rows(in: view, noting: measure)
        for (place, (operation, part)) in rest.enumerated() {
            let others = try part.rows(in: view, noting: measure)
            rows = Self.joined(rows, others, operation, areNoCase(upTo: place))
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
        for (place, (operation, part)) in rest.enumerated() {
            let (others, other) = try part.analysis(in: view)
            let step = run.steps[place]
            step.rows = rows.count + others.count
            rows = run.during(place) { Self.joined(rows, others, operation, areNoCase(upTo: place)) }
            step.passed = rows.count
            steps += other.steps
            subqueries += other.subqueries
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

    private func areNoCase(upTo place: Int) -> [Bool] { collations(upTo: place).map { $0?.isNoCase == true } }

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
