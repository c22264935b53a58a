import MakoStorage

extension StatementPlan {
    /// Returns the rows of the result.
    ///
    /// - Parameter measure: the measure of a run.
    func rows(in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) -> [[Value]] {
        switch self {
        case .select(let plan): try plan.rows(in: view, measure)
        case .compound(let plan): try plan.rows(in: view, measure)
        }
    }

    /// Outputs the rows of the result in batches, until no more are wanted.
    func give(to output: RowBatches, in view: Snapshot) throws(RecordError) {
        switch self {
        case .select(let plan): try plan.give(to: output, in: view)
        case .compound(let plan): try plan.give(to: output, in: view)
        }
        try output.flush()
    }

    /// Calls a closure with the rows of the result until it returns `false`.
    func forEachRow(
        in view: Snapshot, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) {
        _ = try RowBatches.deliver(width: first.names.count, to: body) { (batches) throws(RecordError) in
            try give(to: batches, in: view)
        }
    }

    /// Runs the plan once and returns what its operators did.
    func analysis(in view: Snapshot, _ run: RunMeasure) throws(RecordError) -> PlanAnalysis {
        let count = try run.whole { (measure) throws(RecordError) -> Int in try rows(in: view, measure).count }
        return run.analysis(node(run.root), rows: count)
    }
}

extension CompoundSelect<SelectPlan> {
    /// - Parameter measure: the measure of a run, which evaluates the parts one after the other.
    func rows(in view: Snapshot, _ measure: PlanMeasure? = nil) throws(RecordError) -> [[Value]] {
        if let measure { return try measuredRows(in: view, measure) }
        let rows = RowBatches()
        try give(to: rows, in: view)
        return rows.rows
    }

    func give(to output: RowBatches, in view: Snapshot) throws(RecordError) {
        if limit == 0 { return }
        let end = CompoundEnd(self, output, view)
        // Each part, except those of UNION ALL, passes its rows on inside the next one.
        try followingTree(isDeepTree(rest.count)) { () throws(RecordError) in
            _ = try forEachRow(upTo: rest.count, in: view) { (row) throws(RecordError) in try end.take(row) }
        }
        try end.finish()
    }

    /// Calls a closure with the rows of the compound of the first parts. Returns `false` if no more are wanted.
    private func forEachRow(
        upTo count: Int, in view: Snapshot, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        if count == 0 { return try first.forEachRow(in: view, body) }
        let (operation, part) = rest[count - 1]
        if operation == .unionAll {
            let start = rest[..<count].lastIndex { $0.operation != .unionAll }.map { $0 + 1 } ?? 0
            guard try forEachRow(upTo: start, in: view, body) else { return false }
            for (_, part) in rest[start..<count] {
                guard try part.forEachRow(in: view, body) else { return false }
            }
            return true
        }
        let set = DifferentRows(operation, areNoCase(upTo: count - 1), view, part.cancellation)
        if operation == .union {
            let goesOn = try forEachRow(upTo: count - 1, in: view) { (row) throws(RecordError) in
                try set.take(row, body)
            }
            guard goesOn else { return false }
            guard try part.forEachRow(in: view, { (row) throws(RecordError) in try set.take(row, body) })
            else { return false }
        } else {
            _ = try part.forEachRow(in: view) { (row) throws(RecordError) in
                try set.takeOther(row)
                return true
            }
            let goesOn = try forEachRow(upTo: count - 1, in: view) { (row) throws(RecordError) in
                try set.take(row, body)
            }
            guard goesOn else { return false }
        }
        return try set.finish(body)
    }

    private func measuredRows(in view: Snapshot, _ measure: PlanMeasure) throws(RecordError) -> [[Value]] {
        if limit == 0 { return [] }
        var rows = try first.rows(in: view, measure.part(0))
        for (place, (operation, part)) in rest.enumerated() {
            let others = try part.rows(in: view, measure.part(place + 1))
            let start = rest[..<place].lastIndex { $0.operation != operation }.map { $0 + 1 } ?? 0
            let set: PlanMeasure? = measure.part(start + 1).part(-1)
            rows = try set.during(operation.planOperator) { (joined) throws(RecordError) in
                joined?.counts.rows += start == place ? rows.count + others.count : others.count
                let rows = try self.joined(rows, others, operation, areNoCase(upTo: place), view)
                joined?.counts.passed = rows.count
                return rows
            }
        }
        let found = rows.count
        func end() throws(RecordError) -> [[Value]] {
            let end = CompoundEnd(self, RowBatches(), view)
            for row in rows where !(try end.take(row)) { break }
            return try end.finish()
        }
        if terms.isEmpty {
            rows = try end()
        } else {
            rows = try (measure as PlanMeasure?).during(.sort) { (sorted) throws(RecordError) in
                sorted?.counts.rows += found
                sorted?.counts.passed += found
                return try end()
            }
        }
        if limit != nil || offset > 0 { measure.note(.limit, rows: found, passed: rows.count) }
        return rows
    }

    private func areNoCase(upTo place: Int) -> [Bool] { collations(upTo: place).map { $0?.isNoCase == true } }

    private func joined(
        _ first: [[Value]], _ second: [[Value]], _ operation: SetOperator, _ areNoCase: [Bool], _ view: Snapshot
    ) throws(RecordError) -> [[Value]] {
        if operation == .unionAll { return first + second }
        let set = DifferentRows(operation, areNoCase, view, nil)
        var rows: [[Value]] = []
        func take(_ row: [Value]) -> Bool {
            rows.append(row)
            return true
        }
        if operation != .union { for row in second { try set.takeOther(row) } }
        for row in operation == .union ? first + second : first { _ = try set.take(row, take) }
        _ = try set.finish(take)
        return rows
    }
}

extension SelectPlan {
    /// Calls a closure with the rows of the result. Returns `false` if no more are wanted.
    fileprivate func forEachRow(
        in view: Snapshot, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        try RowBatches.deliver(width: names.count, to: body) { (batches) throws(RecordError) in
            try give(to: batches, in: view)
        }
    }
}

/// Executes UNION, INTERSECT and EXCEPT of two parts: each row once.
private final class DifferentRows {
    private let set: RowSet
    private let areNoCase: [Bool]

    init(_ operation: SetOperator, _ areNoCase: [Bool], _ view: Snapshot, _ cancellation: Cancellation?) {
        self.areNoCase = areNoCase
        let kind: RowSet.Kind =
            switch operation {
            case .union, .unionAll: .union
            case .intersect: .intersect
            case .except: .except
            }
        set = RowSet(kind, view, cancellation)
    }

    private func code(_ row: [Value]) {
        set.begin()
        for (value, isNoCase) in zip(row, areNoCase) { set.append(value, noCase: isNoCase) }
    }

    /// Adds a row of the second operand of INTERSECT and EXCEPT.
    func takeOther(_ row: [Value]) throws(RecordError) {
        code(row)
        try set.putOther()
    }

    func take(_ row: [Value], _ body: ([Value]) throws(RecordError) -> Bool) throws(RecordError) -> Bool {
        code(row)
        switch try set.put() {
        case .new: return try body(row)
        case .known: return true
        case .open:
            try set.putOff { (content) in for value in row { content.append(coded: value) } }
            return true
        }
    }

    /// Outputs the rows that were undecided. Returns `false` if no more are wanted.
    func finish(_ body: ([Value]) throws(RecordError) -> Bool) throws(RecordError) -> Bool {
        var goesOn = true
        try set.finish { (content) throws(RecordError) in
            var reader = OperandReader(content)
            goesOn = try body(reader.values(areNoCase.count))
            return goesOn
        }
        return goesOn
    }
}

/// Executes the sort and the limit of a compound.
private final class CompoundEnd {
    private let terms: [CompoundTerm]
    private let view: Snapshot
    private let output: RowBatches
    private let sorted: SpilledEntries?
    private let columns: Int
    private var left: Int
    private var room: Int

    init(_ select: CompoundSelect<SelectPlan>, _ output: RowBatches, _ view: Snapshot) {
        terms = select.terms
        self.view = view
        self.output = output
        columns = select.first.names.count
        left = select.offset
        room = select.limit ?? .max
        let total = select.limit.map { $0.addingReportingOverflow(select.offset) }
        sorted =
            terms.isEmpty
            ? nil
            : SpilledEntries(
                memory: view.queryMemory, wanted: total.flatMap { $0.overflow ? nil : $0.partialValue })
        sorted?.cancellation = select.first.cancellation
    }

    /// Adds a row. Returns `false` if no more are wanted.
    func take(_ row: [Value]) throws(RecordError) -> Bool {
        guard let sorted else { return try cut(row) }
        let start = sorted.content.count
        for term in terms {
            let begin = sorted.content.count
            if term.reversesNulls { sorted.content.append(byte: row[term.place].isNull ? 1 : 0) }
            KeyCoding.append(row[term.place], noCase: term.noCase, to: &sorted.content)
            if term.descending { sorted.content.complement(from: begin) }
        }
        guard sorted.isWanted(from: start) else { return true }
        let middle = sorted.content.count
        for value in row { sorted.content.append(coded: value) }
        try sorted.end(start, middle, view)
        return true
    }

    private func cut(_ row: [Value]) throws(RecordError) -> Bool {
        if left > 0 {
            left -= 1
            return true
        }
        if room == 0 { return false }
        room -= 1
        return try output.append(row) && room > 0
    }

    /// - Returns: the rows that are left in the batch.
    @discardableResult
    func finish() throws(RecordError) -> [[Value]] {
        try sorted?.forEachUntil { (_, values) throws(RecordError) in
            var reader = OperandReader(values)
            return try cut(reader.values(columns))
        }
        return output.rows
    }
}
