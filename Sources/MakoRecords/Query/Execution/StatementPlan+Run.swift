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

    /// Gives the rows of the result on, some at a time, until no more are wanted.
    func give(to output: RowBatches, in view: Snapshot) throws(RecordError) {
        switch self {
        case .select(let plan): try plan.give(to: output, in: view)
        case .compound(let plan): try plan.give(to: output, in: view, noting: nil)
        }
        try output.flush()
    }

    /// Lends the rows of the result until the closure answers false.
    func forEachRow(
        in view: Snapshot, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) {
        _ = try RowBatches.lend(to: body) { (batches) throws(RecordError) in try give(to: batches, in: view) }
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
        let rows = RowBatches()
        try give(to: rows, in: view, noting: measure)
        return rows.rows
    }

    func give(to output: RowBatches, in view: Snapshot, noting measure: StepMeasure?) throws(RecordError) {
        if limit == 0 { return }
        let end = CompoundEnd(self, output, view)
        // Each part but those of UNION ALL gives its rows on inside the one behind it.
        try followingTree(isDeepTree(rest.count)) { () throws(RecordError) in
            _ = try forEachRow(upTo: rest.count, in: view, measure) { (row) throws(RecordError) in try end.take(row) }
        }
        try end.finish()
    }

    /// Lends the rows of the first part and so many of the others as they are put together. False: no more are wanted.
    private func forEachRow(
        upTo count: Int, in view: Snapshot, _ measure: StepMeasure?, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        if count == 0 { return try first.forEachRow(in: view, measure, body) }
        let (operation, part) = rest[count - 1]
        if operation == .unionAll {
            let start = rest[..<count].lastIndex { $0.operation != .unionAll }.map { $0 + 1 } ?? 0
            guard try forEachRow(upTo: start, in: view, measure, body) else { return false }
            for (_, part) in rest[start..<count] {
                guard try part.forEachRow(in: view, measure, body) else { return false }
            }
            return true
        }
        let set = DifferentRows(operation, areNoCase(upTo: count - 1), view, part.cancellation)
        if operation == .union {
            let goesOn = try forEachRow(upTo: count - 1, in: view, measure) { (row) throws(RecordError) in
                try set.take(row, body)
            }
            guard goesOn else { return false }
            guard try part.forEachRow(in: view, measure, { (row) throws(RecordError) in try set.take(row, body) })
            else { return false }
        } else {
            _ = try part.forEachRow(in: view, measure) { (row) throws(RecordError) in
                try set.takeOther(row)
                return true
            }
            let goesOn = try forEachRow(upTo: count - 1, in: view, measure) { (row) throws(RecordError) in
                try set.take(row, body)
            }
            guard goesOn else { return false }
        }
        return try set.finish(body)
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
            rows = try recorded {
                try run.during(place) { try joined(rows, others, operation, areNoCase(upTo: place), view) }
            }
            step.passed = rows.count
            steps += other.steps
            subqueries += other.subqueries
        }
        let last = run.steps[rest.count]
        last.rows = rows.count
        rows = try recorded {
            try run.during(rest.count) {
                let end = CompoundEnd(self, RowBatches(), view)
                for row in rows where !(try end.take(row)) { break }
                return try end.finish()
            }
        }
        last.passed = rows.count
        let own = run.analysis(rows: rows.count)
        return PlanAnalysis(
            steps: steps + (stepText == nil ? own.steps.dropLast() : own.steps[...]), subqueries: subqueries,
            rows: rows.count, time: own.time)
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
    /// Lends the rows of the result. False: no more are wanted.
    fileprivate func forEachRow(
        in view: Snapshot, _ measure: StepMeasure?, _ body: ([Value]) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        if measure != nil {
            for row in try rows(in: view, noting: measure) { guard try body(row) else { return false } }
            return true
        }
        return try RowBatches.lend(to: body) { (batches) throws(RecordError) in try give(to: batches, in: view) }
    }
}

/// What two parts of a statement have together, each row once.
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

    /// A row of the second part of INTERSECT and EXCEPT.
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

    /// Lends the rows of which it was not known before. False: no more are wanted.
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

/// Sorts and cuts the rows of several parts.
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

    /// False: no more are wanted.
    func take(_ row: [Value]) throws(RecordError) -> Bool {
        guard let sorted else { return try cut(row) }
        let start = sorted.content.count
        for term in terms {
            let begin = sorted.content.count
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
