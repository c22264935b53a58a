import MakoStorage

/// Executes GROUP BY: a hash table of the encoded keys, and the aggregates in flat memory. Allocates nothing for a row.
///
/// When the groups fill their memory, rows of further groups are spilled to a file with their arguments, and sorted by
/// key at the end. Within each group, rows are added in their order, so that sums are the same to the last bit.
final class GroupExecutor {
    private struct Place {
        var aggregate = VectorAggregate()
        /// The smallest or largest value.
        var best = KeptOperand.plain(.null)
    }

    let plan: BoundGroups
    private let keys: ExpressionExecutor
    private let arguments: ExpressionExecutor
    private let functions: [AggregateFunction]
    /// Which aggregates are COUNT(*), without an argument.
    private let countsRows: [Bool]
    private let areDistinct: [Bool]
    private let forms: [KeyCoding.Form]
    private let argumentForms: [KeyCoding.Form]
    /// The vectorised aggregates, if there is one group, of plain columns.
    let vectorAggregates: VectorAggregates?
    // Owned by one thread, without overlapping accesses: the dynamic check would cost as much for each row as all the
    // rest.
    @exclusivity(unchecked) private var table = KeyTable()
    @exclusivity(unchecked) private var values: [KeptOperand] = []
    @exclusivity(unchecked) private var places: [Place] = []
    @exclusivity(unchecked) private var store = OperandStore()
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    /// The keys of the current group, if rows of one group are adjacent.
    @exclusivity(unchecked) private var current = KeyBuffer()
    @exclusivity(unchecked) private var hasCurrent = false
    /// The values that each DISTINCT aggregate has seen, by group.
    @exclusivity(unchecked) private var seen: SeenValues
    private let hasDistinct: Bool
    let view: Snapshot
    private let cancellation: Cancellation?
    /// Whether it groups one of the parts in progress together.
    let isPart: Bool
    /// The number of bytes that the groups may hold.
    private let memory: Int
    @exclusivity(unchecked) private(set) var isFull = false
    /// The part of the table that rows come from, from 1 on; 0 if they are not read in parts.
    @exclusivity(unchecked) private var part: Int32 = 0
    /// Spilled rows of further groups: the key, and the arguments.
    @exclusivity(unchecked) private var waiting: SpilledEntries?
    @exclusivity(unchecked) private var peak = 0

    /// - Parameter share: the divisor of the memory, for one of the parts in progress together.
    init(
        _ plan: BoundGroups, of select: SelectPlan, _ view: Snapshot, _ supply: RowContext, share: Int? = nil
    ) {
        let (table, nodes) = (select.table, select.nodes)
        self.plan = plan
        self.view = view
        cancellation = select.cancellation
        isPart = share != nil
        memory = view.queryMemory / (share ?? 1)
        keys = ExpressionExecutor(bound: plan.keys, table, nodes, view, supply)
        arguments = ExpressionExecutor(
            bound: plan.aggregates.map { $0.argument ?? .constant(.integer(1)) }, table, nodes, view, supply)
        functions = plan.aggregates.map(\.function)
        countsRows = plan.aggregates.map { $0.argument == nil }
        areDistinct = plan.aggregates.map(\.isDistinct)
        forms = zip(plan.keys, plan.areNoCase).map { KeyCoding.form($0, noCase: $1) }
        argumentForms = plan.aggregates.map { $0.isNoCase ? .folded : .mixed }
        hasDistinct = areDistinct.contains(true)
        seen = SeenValues(hasDistinct ? view : nil, cancellation)
        let isPlain = plan.keys.isEmpty && !plan.aggregates.contains(where: \.isDistinct)
        vectorAggregates = isPlain ? VectorAggregates(plan.aggregates.map { ($0.function, $0.argument) }, table) : nil
    }

    /// Without keys there is one group, also if there are no rows.
    func begin() {
        if plan.keys.isEmpty { _ = group() }
    }

    func add(_ row: RowReader, _ key: RowKey) throws(RecordError) {
        if let vectorAggregates { return vectorAggregates.add(row) }
        try codeKeys(row, key)
        if isFull {
            guard let number = table.number(of: buffer.raw) else { return try wait(row, key) }
            return try add(row, key, to: number, false)
        }
        let (number, isNew) = group()
        try add(row, key, to: number, isNew)
        // Memory grows by doubling: a limit of three eighths keeps the next size within the whole.
        if isNew, bytes > memory / 8 * 3 { isFull = true }
    }

    /// The number of bytes that the groups hold.
    @inline(__always)
    private var bytes: Int {
        table.memory &+ values.capacity &* MemoryLayout<KeptOperand>.stride
            &+ places.capacity &* MemoryLayout<Place>.stride &+ store.bytes
    }

    /// The peak number of bytes held.
    var peakBytes: Int { max(peak, bytes + seen.peakBytes + (waiting?.peakBytes ?? 0)) }

    /// Spills a row of a group that is not in memory.
    private func wait(_ row: RowReader, _ key: RowKey) throws(RecordError) {
        let entries = waiting ?? SpilledEntries(memory: memory / 4)
        waiting = entries
        entries.cancellation = cancellation
        let start = entries.content.count
        entries.content.append(raw: buffer.raw)
        let middle = entries.content.count
        if part > 0 { entries.content.append(varint: UInt64(part)) }
        try keys.append(row, key, coded: &entries.content)
        for index in functions.indices where !countsRows[index] {
            entries.content.append(coded: try arguments.operand(index, row, key))
        }
        try entries.end(start, middle, view)
    }

    /// Adds a row to the current group, or to a new one.
    ///
    /// - Parameter end: is called when a group is complete, before it is discarded. Returns `false` if no more groups
    ///   are wanted.
    /// - Returns: `false` if no more rows are wanted.
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
            try endSeen()
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
        if hasDistinct { seen = SeenValues(view, cancellation) }
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
                places[first &+ index].aggregate.addRow()
                continue
            }
            let operand = try arguments.operand(index, row, key)
            if operand.isNull { continue }
            if areDistinct[index], !(try seen.isNew(operand, argumentForms[index], number, index)) { continue }
            add(operand, argumentForms[index], functions[index], first &+ index, part)
        }
    }

    /// Adds the spilled values that turn out to be distinct.
    private func endSeen() throws(RecordError) {
        if !hasDistinct { return }
        try seen.finish { (operand, number, index) in
            add(operand, argumentForms[index], functions[index], number &* functions.count &+ index, part)
        }
    }

    private func group() -> (number: Int, isNew: Bool) {
        let found = table.place(of: buffer.raw)
        if found.isNew { for _ in functions { places.append(Place()) } }
        return found
    }

    @inline(__always)
    private func add(
        _ operand: Operand, _ form: KeyCoding.Form, _ function: AggregateFunction, _ place: Int, _ part: Int32
    ) {
        places[place].aggregate.addRow()
        switch function {
        case .count: break
        case .sum, .average, .total: places[place].aggregate.add(operand, of: part)
        case .minimum, .maximum: keepBest(operand, form, function, place)
        }
    }

    @inline(__always)
    private func keepBest(_ operand: Operand, _ form: KeyCoding.Form, _ function: AggregateFunction, _ place: Int) {
        let old = places[place].best
        let other = store.operand(old)
        let known = form == .folded ? operand.compareWithoutCase(other) : operand.compare(other)
        if let order = known, function == .minimum ? order >= 0 : order <= 0 {
            return
        }
        places[place].best = store.keep(operand, insteadOf: old)
    }

    /// Supplies each group's results to the expressions over groups, in the order of the keys.
    func forEachGroup(_ supply: RowContext, _ body: () throws(RecordError) -> Bool) throws(RecordError) {
        try endSeen()
        if hasCurrent {
            give(0, to: supply)
            _ = try body()
            return
        }
        let numbers = table.sortedNumbers()
        var next = 0
        if let waiting {
            guard try forEachWaiting(waiting, numbers, &next, supply, body) else { return }
        }
        while next < numbers.count {
            give(numbers[next], to: supply)
            guard try body() else { return }
            next += 1
        }
    }

    private func give(_ number: Int, to supply: RowContext) {
        let keyCount = forms.count
        for index in 0..<keyCount { supply.results[index] = store.operand(values[number * keyCount + index]) }
        for (index, function) in functions.enumerated() {
            if let vectorAggregates {
                supply.results[keyCount + index] = vectorAggregates.result(index)
                continue
            }
            let place = places[number * functions.count + index]
            supply.results[keyCount + index] = place.aggregate.result(function) ?? store.operand(place.best)
        }
    }
}

// MARK: - Rows read in parts

extension GroupExecutor {
    /// Starts the next part.
    func beginPart() {
        if part > 0 { vectorAggregates?.endPart() }
        part += 1
    }

    /// Ends the last part.
    func endParts() { vectorAggregates?.endPart() }

    /// Adds the groups of the next part, none of which was spilled.
    func add(_ other: GroupExecutor) {
        part += 1
        if let vectorAggregates, let others = other.vectorAggregates { return vectorAggregates.add(others) }
        for number in 0..<other.table.count {
            let (mine, isNew) = table.place(of: other.table.key(number))
            if isNew {
                for _ in functions { places.append(Place()) }
                for index in forms.indices {
                    values.append(store.keep(other.store.operand(other.values[number &* forms.count &+ index])))
                }
            }
            for index in functions.indices {
                let (place, found) = (
                    mine &* functions.count &+ index, other.places[number &* functions.count &+ index]
                )
                places[place].aggregate.add(found.aggregate, of: part)
                let best = other.store.operand(found.best)
                if !best.isNull { keepBest(best, argumentForms[index], functions[index], place) }
            }
        }
        if bytes > memory / 8 * 3, !forms.isEmpty { isFull = true }
    }
}

// MARK: - Spilled groups

extension GroupExecutor {
    /// Aggregates the spilled rows, one group at a time, and merges these groups with those in memory. Returns `false`
    /// if no more groups are wanted.
    private func forEachWaiting(
        _ rows: SpilledEntries, _ numbers: [Int], _ next: inout Int, _ supply: RowContext,
        _ body: () throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        // The group after those in memory serves for one spilled group after the other.
        let number = table.count
        let end = store.end
        var (place, isOpen, goesOn) = (next, false, true)
        func close() throws(RecordError) -> Bool {
            try endSeen()
            give(number, to: supply)
            goesOn = try body()
            places.removeLast(functions.count)
            values.removeLast(forms.count)
            store.truncate(to: end)
            if hasDistinct { seen = SeenValues(view, cancellation) }
            return goesOn
        }
        if hasDistinct { seen = SeenValues(view, cancellation) }
        try rows.forEachUntil { (key, row) throws(RecordError) in
            let isNew = !isOpen || KeyOrder.compareRaw(key, current.raw) != 0
            if isNew {
                if isOpen, !(try close()) { return false }
                isOpen = false
                while place < numbers.count, KeyOrder.compareRaw(table.key(numbers[place]), key) < 0 {
                    give(numbers[place], to: supply)
                    place += 1
                    goesOn = try body()
                    guard goesOn else { return false }
                }
                current.clear()
                current.append(raw: key)
                for _ in functions { places.append(Place()) }
                isOpen = true
            }
            try add(row, to: number, isNew)
            return true
        }
        if goesOn, isOpen { goesOn = try close() }
        next = place
        peak = peakBytes
        return goesOn
    }

    /// Adds a spilled row.
    private func add(_ row: UnsafeRawBufferPointer, to number: Int, _ isNew: Bool) throws(RecordError) {
        var reader = OperandReader(row)
        let part = self.part == 0 ? 0 : Int32(truncatingIfNeeded: reader.varint())
        for _ in forms {
            let operand = reader.next()
            if isNew { values.append(store.keep(operand)) }
        }
        let first = number &* functions.count
        for index in functions.indices {
            if countsRows[index] {
                places[first &+ index].aggregate.addRow()
                continue
            }
            let operand = reader.next()
            if operand.isNull { continue }
            if areDistinct[index], !(try seen.isNew(operand, argumentForms[index], number, index)) { continue }
            add(operand, argumentForms[index], functions[index], first &+ index, part)
        }
    }
}

/// The values that DISTINCT aggregates have seen.
final class SeenValues {
    private let met: RowSet?

    /// - Parameter view: `nil` if no aggregate is DISTINCT.
    init(_ view: Snapshot?, _ cancellation: Cancellation?) {
        met = view.map { RowSet(.union, $0, share: 2, cancellation) }
    }

    var peakBytes: Int { met?.peakBytes ?? 0 }

    /// Returns `false` if the value has been seen, or is spilled until ``finish(_:)``.
    func isNew(
        _ operand: Operand, _ form: KeyCoding.Form, _ group: Int, _ aggregate: Int
    ) throws(RecordError) -> Bool {
        guard let met else { return true }
        met.begin()
        met.append(group)
        met.append(aggregate)
        met.append(operand, form)
        switch try met.put() {
        case .new: return true
        case .known: return false
        case .open:
            try met.putOff { (content) in
                content.append(varint: UInt64(group))
                content.append(varint: UInt64(aggregate))
                content.append(coded: operand)
            }
            return false
        }
    }

    /// Calls a closure with the spilled values that are new, with their groups and aggregates, in the order of their
    /// rows.
    func finish(_ body: (Operand, Int, Int) -> Void) throws(RecordError) {
        try met?.finish { (content) in
            var reader = OperandReader(content)
            let group = Int(truncatingIfNeeded: reader.varint())
            let aggregate = Int(truncatingIfNeeded: reader.varint())
            body(reader.next(), group, aggregate)
            return true
        }
    }
}
