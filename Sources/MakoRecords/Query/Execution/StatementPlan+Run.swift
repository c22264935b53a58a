import MakoStorage

extension StatementPlan {
    /// The rows of the result.
    ///
    /// - Parameter measure: of a run that is measured.
    func rows(in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) -> [[Value]] {
        switch self {
        case .select(let plan): try plan.rows(in: view, measure)
        case .compound(let plan): try plan.rows(in: view, measure)
        }
    }

    /// Runs the plan once and returns what its operators did.
    func analysis(in view: Snapshot, _ run: RunMeasure) throws(RecordError) -> PlanAnalysis {
        let count = try run.whole { (measure) throws(RecordError) -> Int in try rows(in: view, measure).count }
        return run.analysis(node(run.root), rows: count)
    }
}

extension CompoundSelect<SelectPlan> {
    func rows(in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) -> [[Value]] {
        if limit == 0 { return [] }
        var rows = try first.rows(in: view, measure?.part(0))
        for (place, (operation, part)) in rest.enumerated() {
            let others = try part.rows(in: view, measure?.part(place + 1))
            let start = rest[..<place].lastIndex { $0.operation != operation }.map { $0 + 1 } ?? 0
            let set = measure?.part(start + 1).part(-1)
            rows = try set.during(operation.planOperator) { (joined) throws(RecordError) in
                joined?.counts.rows += start == place ? rows.count + others.count : others.count
                let rows = Self.joined(rows, others, operation, areNoCase(upTo: place))
                joined?.counts.passed = rows.count
                return rows
            }
        }
        let found = rows.count
        if !terms.isEmpty {
            rows = try measure.during(.sort) { (sorted) throws(RecordError) in
                sorted?.counts.rows += found
                sorted?.counts.passed += found
                sort(&rows)
                return rows
            }
        }
        rows.removeFirst(min(offset, rows.count))
        if let limit { rows.removeLast(max(0, rows.count - limit)) }
        if limit != nil || offset > 0 { measure?.note(.limit, rows: found, passed: rows.count) }
        return rows
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
