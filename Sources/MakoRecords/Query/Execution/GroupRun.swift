import MakoStorage

/// Puts rows together to groups: their keys in a table of bytes, their aggregates in flat memory behind each other. Nothing is allocated
/// for a row.
final class GroupRun {
    private struct Place {
        var tally = Tally()
        /// The smallest or largest value.
        var best = KeptOperand.plain(.null)
    }

    private let plan: BoundGroups
    private let keys: ExpressionRun
    private let arguments: ExpressionRun
    private let functions: [AggregateFunction]
    /// What rows are counted by has no value to look at.
    private let countsRows: [Bool]
    private let areDistinct: [Bool]
    private let forms: [KeyCoding.Form]
    private let argumentForms: [KeyCoding.Form]
    /// Where there is one group, of plain columns.
    let tallies: ColumnTallies?
    // One thread's, and never read while it is changed: to have that checked would cost as much for each row as all the rest.
    @exclusivity(unchecked) private var table = KeyTable()
    @exclusivity(unchecked) private var values: [KeptOperand] = []
    @exclusivity(unchecked) private var places: [Place] = []
    @exclusivity(unchecked) private var store = OperandStore()
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    /// The keys of the group that rows are added to, where those of a group come one behind the other.
    @exclusivity(unchecked) private var current = KeyBuffer()
    @exclusivity(unchecked) private var hasCurrent = false
    /// Which values each aggregate over different values has met, group by group.
    @exclusivity(unchecked) private var seen: SeenValues

    init(_ plan: BoundGroups, _ table: TableHandle?, _ nodes: [JoinNode], _ view: Snapshot, _ supply: SuppliedRows) {
        self.plan = plan
        keys = ExpressionRun(bound: plan.keys, table, nodes, view, supply)
        arguments = ExpressionRun(
            bound: plan.aggregates.map { $0.argument ?? .constant(.integer(1)) }, table, nodes, view, supply)
        functions = plan.aggregates.map(\.function)
        countsRows = plan.aggregates.map { $0.argument == nil }
        areDistinct = plan.aggregates.map(\.isDistinct)
        forms = zip(plan.keys, plan.areNoCase).map { KeyCoding.form($0, noCase: $1) }
        argumentForms = plan.aggregates.map { $0.isNoCase ? .folded : .mixed }
        seen = SeenValues()
        let isPlain = plan.keys.isEmpty && !plan.aggregates.contains(where: \.isDistinct)
        tallies = isPlain ? ColumnTallies(plan.aggregates.map { ($0.function, $0.argument) }, table) : nil
    }

    /// How many bytes it held at the most.
    var peakBytes: Int {
        table.memory + store.bytes + seen.memory + values.count * MemoryLayout<KeptOperand>.stride
            + places.count * MemoryLayout<Place>.stride
    }

    /// Without keys there is one group, also when there are no rows.
    func begin() {
        if plan.keys.isEmpty { _ = group() }
    }

    func add(_ row: RowReader, _ key: RowKey) throws(RecordError) {
        if let tallies { return tallies.add(row) }
        try codeKeys(row, key)
        let (number, isNew) = group()
        try add(row, key, to: number, isNew)
    }

    /// Adds a row to the group that the one before it was in, or to a new one.
    ///
    /// - Parameter end: is called when a group has all its rows, before it is forgotten. False: no more are wanted.
    /// - Returns: false: no more rows are wanted.
    func addInOrder(
        _ row: RowReader, _ key: RowKey, _ end: () throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        try codeKeys(row, key)
        if hasCurrent, KeyOrder.compareRaw(buffer.raw, current.raw) == 0 {
            try add(row, key, to: 0, false)
            return true
        }
        var goesOn = true
        if hasCurrent {
            goesOn = try end()
            forget()
        }
        current.clear()
        current.append(raw: buffer.raw)
        hasCurrent = true
        for _ in functions { places.append(Place()) }
        try add(row, key, to: 0, true)
        return goesOn
    }

    private func forget() {
        values.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        store.clear()
        if areDistinct.contains(true) { seen = SeenValues() }
        hasCurrent = false
    }

    private func codeKeys(_ row: RowReader, _ key: RowKey) throws(RecordError) {
        buffer.clear()
        for index in forms.indices {
            KeyCoding.append(try keys.operand(index, row, key), forms[index], to: &buffer)
        }
    }

    private func add(
        _ row: RowReader, _ key: RowKey, to number: Int, _ isNew: Bool
    ) throws(RecordError) {
        if isNew {
            for index in forms.indices { values.append(store.keep(try keys.operand(index, row, key))) }
        }
        let first = number &* functions.count
        for index in functions.indices {
            if countsRows[index] {
                places[first &+ index].tally.addRow()
                continue
            }
            let operand = try arguments.operand(index, row, key)
            if operand.isNull { continue }
            if areDistinct[index] && !seen.isNew(operand, argumentForms[index], number, index) { continue }
            add(operand, argumentForms[index], functions[index], first &+ index)
        }
    }

    private func group() -> (number: Int, isNew: Bool) {
        let found = table.place(of: buffer.raw)
        if found.isNew { for _ in functions { places.append(Place()) } }
        return found
    }

    @inline(__always)
    private func add(_ operand: Operand, _ form: KeyCoding.Form, _ function: AggregateFunction, _ place: Int) {
        places[place].tally.addRow()
        switch function {
        case .count: break
        case .sum, .average, .total: places[place].tally.add(operand)
        case .minimum, .maximum:
            let old = places[place].best
            let other = store.operand(old)
            let known = form == .folded ? operand.compareWithoutCase(other) : operand.compare(other)
            if let order = known, function == .minimum ? order >= 0 : order <= 0 {
                return
            }
            places[place].best = store.keep(operand, insteadOf: old)
        }
    }

    /// Puts each group's results where expressions over groups find them, in the order of the keys.
    func forEachGroup(_ supply: SuppliedRows, _ body: () throws(RecordError) -> Bool) throws(RecordError) {
        let keyCount = forms.count
        for number in hasCurrent ? [0] : table.sortedNumbers() {
            for index in 0..<keyCount { supply.results[index] = store.operand(values[number * keyCount + index]) }
            for (index, function) in functions.enumerated() {
                if let tallies {
                    supply.results[keyCount + index] = tallies.result(index)
                    continue
                }
                let place = places[number * functions.count + index]
                supply.results[keyCount + index] = place.tally.result(function) ?? store.operand(place.best)
            }
            guard try body() else { return }
        }
    }
}

/// The values that aggregates over different values have met.
struct SeenValues: ~Copyable {
    private var table = KeyTable()
    private var buffer = KeyBuffer()

    var memory: Int { table.memory }

    mutating func isNew(_ operand: Operand, _ form: KeyCoding.Form, _ group: Int, _ aggregate: Int) -> Bool {
        buffer.clear()
        buffer.append(Int64(group))
        buffer.append(Int64(aggregate))
        KeyCoding.append(operand, form, to: &buffer)
        return table.place(of: buffer.raw).isNew
    }
}
