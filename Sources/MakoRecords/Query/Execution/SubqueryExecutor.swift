import MakoStorage

extension SubqueryPlan: RunnableSubquery {
    func answers(_ view: Snapshot, _ cancellation: Cancellation?) -> SubqueryAnswers {
        SubqueryExecutor(self, view, cancellation)
    }
}

/// Executes a sub-query over one snapshot for one outer row after the other, with caches. One for each run and thread.
final class SubqueryExecutor: SubqueryAnswers {
    private let subquery: SubqueryPlan
    private let view: Snapshot
    private let cancellation: Cancellation?
    /// Counts what is read, if the outer run is measured.
    private let measure: PlanMeasure?
    private var arena = Arena()

    /// The cached result of an uncorrelated sub-query.
    private var isThere: Bool?
    private var single: Value?
    private var singleOperand: Operand?
    private var list: SubqueryList?
    /// The hash table by the linked columns.
    private(set) var groups: SubqueryGroups?
    private var lookups = 0
    private var patience = -1

    /// For a correlated statement: a cache of results by the outer values.
    private var answers: [[UInt8]: [[Value]]] = [:]
    private static let mostAnswers = 1000
    /// Results with more rows are not cached.
    private static let longestAnswer = 16

    private var scan: RowScan?
    private var lookup: SubqueryLookup?
    private var held: ReferringRows?
    private var values: ValueRun?
    private var key = KeyBuffer()

    init(_ subquery: SubqueryPlan, _ view: Snapshot, _ cancellation: Cancellation?) {
        self.subquery = subquery
        self.view = view
        self.cancellation = cancellation
        measure = RunMeasure.current?.measure(of: subquery)
        super.init(CorrelatedParameters(subquery.query.outers.count))
    }

    // MARK: - Results

    override func exists() throws(RecordError) -> Bool {
        if let isThere { return isThere }
        noteRun()
        if let groups = try linkedGroups() { return try groups.place(outers, &key) != nil }
        var isFound = false
        try forEachRow { _, _ throws(RecordError) in
            isFound = true
            return false
        }
        if !subquery.isCorrelated { isThere = isFound }
        return isFound
    }

    override func contains(_ value: Operand) throws(RecordError) -> Truth {
        if !subquery.isCorrelated { return try wholeList().contains(value) }
        noteRun()
        if case .statement(let plan) = subquery.source { return list(of: try rows(plan)).contains(value) }
        var result = Truth.no
        let values = valueRun()
        try forEachRow { key, row throws(RecordError) in
            // `IN ()` is false, also for NULL.
            let item = try values.operand(row, key)
            guard let order = value.compare(item) else {
                if value.isNull || item.isNull { result = .unknown }
                return true
            }
            if order == 0 { result = .yes }
            return order != 0
        }
        return result
    }

    /// Returns all values of an uncorrelated sub-query.
    func wholeList() throws(RecordError) -> SubqueryList {
        if let list { return list }
        noteRun()
        var list = SubqueryList()
        if case .statement(let plan) = subquery.source {
            list = self.list(of: try rows(plan))
        } else {
            let values = valueRun()
            try forEachRow { key, row throws(RecordError) in
                list.add(try values.operand(row, key))
                return true
            }
        }
        self.list = list
        measure?.at(.subquery).hold(list.table.memory)
        return list
    }

    private func list(of rows: [[Value]]) -> SubqueryList {
        let list = SubqueryList()
        for row in rows {
            arena.reset()
            let operand = arena.operand(row.first ?? .null)
            if subquery.isNoCase, case .text(let bytes) = operand {
                list.add(.text(arena.fold(bytes)))
            } else {
                list.add(operand)
            }
        }
        return list
    }

    /// Records a run for one outer row, or for all.
    private func noteRun() { measure?.at(subquery.operation).counts.runs += 1 }

    override func scalar() throws(RecordError) -> Operand {
        if let singleOperand { return singleOperand }
        noteRun()
        arena.reset()
        if let groups = try linkedGroups() {
            guard let place = try groups.place(outers, &key) else {
                return arena.operand(Accumulator(subquery.aggregate ?? .count).result)
            }
            return arena.operand(groups.value(place))
        }
        let value = try firstValue()
        let operand = arena.operand(value)
        if !subquery.isCorrelated { singleOperand = operand }
        return operand
    }

    private func firstValue() throws(RecordError) -> Value {
        switch subquery.source {
        case .statement(let plan): return try rows(plan).first?.first ?? .null
        case .plan, .held, .holders: break
        }
        guard let aggregate = subquery.aggregate else {
            var value = Value.null
            let values = valueRun()
            try forEachRow { key, row throws(RecordError) in
                value = try values.operand(row, key).value
                return false
            }
            return value
        }
        if aggregate == .count, subquery.output == nil, let count = try countedRows() { return .integer(Int64(count)) }
        var accumulator = Accumulator(aggregate, isNoCase: subquery.isNoCase)
        let values = subquery.output == nil ? nil : valueRun()
        var rows = 0
        try forEachRow { key, row throws(RecordError) in
            rows &+= 1
            if let values { accumulator.add(try values.operand(row, key)) } else { accumulator.addRow() }
            return true
        }
        if let measure, subquery.aggregatesRows { measure.part(0).note(.aggregate, rows: rows, passed: 1) }
        return accumulator.result
    }

    /// Returns the number of rows if it is known without reading them.
    private func countedRows() throws(RecordError) -> Int? {
        if subquery.isCorrelated { return try probe()?.count() }
        guard case .plan(let plan) = subquery.source else { return nil }
        return try plan.count(in: view, measure?.part(0))
    }

    private func run(_ plan: StatementPlan) throws(RecordError) -> [[Value]] {
        try followingTree(false) { () throws(RecordError) in
            try (measure?.part(0)).ofRun { (measure) throws(RecordError) in
                try plan.ended(by: cancellation).rows(in: view, measure)
            }
        }
    }

    /// Returns the rows of a statement; those of a correlated one are cached by the outer values.
    private func rows(_ plan: StatementPlan) throws(RecordError) -> [[Value]] {
        if !subquery.isCorrelated { return try run(plan) }
        let values = outers.values.map(\.value)
        key.clear()
        for value in values { KeyCoding.append(value, noCase: false, to: &key) }
        let keyBytes = key.bytes
        if let known = answers[keyBytes] { return known }
        let found = try run(plan.reading(values))
        if answers.count >= SubqueryExecutor.mostAnswers { answers.removeAll(keepingCapacity: true) }
        if found.count <= SubqueryExecutor.longestAnswer { answers[keyBytes] = found }
        return found
    }

    // MARK: - Rows

    private func valueRun() -> ValueRun {
        if let values { return values }
        let run = ValueRun(subquery, view, outers, cancellation)
        values = run
        return run
    }

    private func probe() -> SubqueryLookup? {
        if let lookup { return lookup }
        if subquery.link?.probe == nil { return nil }
        lookup = SubqueryLookup(subquery, view, outers, cancellation, measure)
        return lookup
    }

    /// Calls a closure with the rows for the outer row until it returns `false`. The recursion of nested sub-queries
    /// passes through here.
    private func forEachRow(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        try followingTree(false) { () throws(RecordError) in try forEachRowOfSource(body) }
    }

    private func forEachRowOfSource(
        _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) {
        switch subquery.source {
        case .plan(let plan):
            if let probe = probe() { return try probe.forEachRow(body) }
            let scan = scan ?? RowScan(plan, view, outers, cancellation)
            scan.measure = measure?.part(0)
            self.scan = scan
            try recorded { try plan.forEachRow(plan.table.layout, scan, view) { try body($0, $1) } }
        case .statement(let plan):
            // Only the existence of rows matters here; their values are read elsewhere.
            if try !rows(plan).isEmpty { try withEmptyRow(body) }
        case .held, .holders:
            held = held ?? ReferringRows(subquery, view, outers, cancellation, measure)
            try held?.forEachRow(body)
        }
    }

    private func withEmptyRow(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        let layout = RowLayout.blank()
        var writer = RowWriter()
        writer.begin(layout)
        _ = try body(.rowID(0), try RowReader(writer.finish(), layout))
        withExtendedLifetime(layout) {}
    }

    /// Returns a hash table of all linked rows, after so many lookups that reading all rows once is cheaper.
    private func linkedGroups() throws(RecordError) -> SubqueryGroups? {
        if let groups { return groups }
        guard let link = subquery.link, let all = link.all else { return nil }
        lookups += 1
        if link.probe != nil {
            // A lookup costs as much as some thirty rows of a scan, or a hundred entries of an index.
            let worth = link.counting == nil ? 32 : 128
            if patience < 0 { patience = 32 + (try all.table.count(in: view)) / worth }
            if lookups <= patience { return nil }
        }
        groups = try SubqueryGroups(subquery, view, cancellation, measure)
        return groups
    }
}

/// The values of a list, and whether NULL is among them.
final class SubqueryList {
    private(set) var table = ValueTable()
    private(set) var hasNull = false
    private(set) var isEmpty = true

    func add(_ value: Operand) {
        isEmpty = false
        if value.isNull { hasNull = true } else { _ = table.insert(value) }
    }

    func contains(_ value: Operand) -> Truth {
        if isEmpty { return .no }
        if value.isNull { return .unknown }
        if table.find(value) != nil { return .yes }
        return hasNull ? .unknown : .no
    }

    /// The integers among the values, ascending.
    var numbers: [Int64] { table.sortedNumbers().map(\.value) }

    /// Returns the values in the key encoding of a column type, ascending.
    func codings(_ type: ColumnType) -> [[UInt8]] {
        guard type.isWhole else { return table.sortedCodings() }
        return numbers.map { number in
            var key = KeyBuffer()
            key.append(number)
            return key.bytes
        }
    }
}

/// Evaluates the output of a sub-query's rows.
final class ValueRun {
    private let evaluator: Evaluator
    private let place: Int32

    init(_ subquery: SubqueryPlan, _ view: Snapshot, _ outers: CorrelatedParameters?, _ cancellation: Cancellation?) {
        let plan: Plan? =
            switch subquery.source {
            case .plan(let plan), .held(let plan), .holders(let plan, _, _): plan
            case .statement: nil
            }
        let program = Program(plan?.table, joins: plan?.bound.joins ?? [])
        place = program.add(subquery.output ?? .constant(.integer(1)))
        evaluator = Evaluator(program, view, outers: outers, cancellation)
    }

    /// Returns the value of a row, valid until the next row.
    func operand(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Operand {
        evaluator.reset()
        return try evaluator.operand(place, row, key)
    }
}
