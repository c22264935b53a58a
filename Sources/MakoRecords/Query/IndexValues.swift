import MakoStorage

// Questions about one column that an index over it answers by itself.
extension Plan {
    /// The different values of a column, ascending, with how many rows have each; nil: no index tells.
    ///
    /// - Parameter counting: whether the numbers matter; else entries of a value that is known are passed over.
    func indexedValues(
        _ expr: Expr, counting: Bool, in view: Snapshot
    ) throws(RecordError) -> [(value: Value, count: Int)]? {
        guard !hasResidual, bound.limit == nil, bound.offset == 0, case .column = expr else { return nil }
        var binder = Binder(bound.table, bound.catalogue, bound.parameters, bound.namedParameters, joins: bound.joins)
        binder.references = bound.references
        binder.matches = bound.matches
        guard case .column(let column) = try binder.bind(expr) else { return nil }
        return try indexedValues(column, counting: counting, in: view)
    }

    func indexedValues(
        _ column: BoundColumn, counting: Bool, in view: Snapshot, _ measure: StepMeasure? = nil
    ) throws(RecordError) -> [(value: Value, count: Int)]? {
        guard !hasResidual, bound.limit == nil, bound.offset == 0, column.node < 0, !column.isDecimal,
            !column.isNoCase,
            let ordinal = column.ordinal
        else {
            return nil
        }
        func leads(_ index: IndexHandle) -> Bool {
            guard !index.isSpatial, let first = index.parts.first else { return false }
            return Int(first.slot.ordinal) == ordinal && !first.descending && !first.noCase
        }
        if case .index(let index, let ranges) = access {
            return leads(index) ? try values(index, ranges, column.type, counting, view, measure) : nil
        }
        guard isWholeTable, let index = table.indexes.first(where: { $0.isPlain && leads($0) }) else { return nil }
        return try values(index, [KeyRange(lower: [], upper: nil)], column.type, counting, view, measure)
    }

    /// So many entries of one value are walked over before the next is sought.
    private static let patience = 32

    private func values(
        _ index: IndexHandle, _ ranges: [KeyRange], _ type: ColumnType, _ counting: Bool, _ view: Snapshot,
        _ measure: StepMeasure?
    ) throws(RecordError) -> [(value: Value, count: Int)]? {
        var found: [(value: Value, count: Int)] = []
        var last: [UInt8] = []
        var isCut = false
        var steps = 0
        defer { measure?.entries += steps }
        for range in ranges {
            var start: [UInt8]? = range.lower
            while let lower = start {
                start = nil
                try recorded {
                    try view.forEach(in: index.tree, from: lower) { key, _ in
                        guard IndexWalk.isInside(key, range, false) else { return false }
                        steps &+= 1
                        if steps & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
                        if !last.isEmpty, IndexGroups.begins(key, with: last) {
                            found[found.count - 1].count += 1
                            if counting || found[found.count - 1].count < Plan.patience { return true }
                            start = KeyRange.successor(last)
                            return false
                        }
                        // Of a value that is longer than what is kept, entries do not tell all.
                        if key.count > IndexHandle.keptBytes {
                            isCut = true
                            return false
                        }
                        var decoder = KeyDecoder([UInt8](key))
                        guard let value = decoder.next(type) else {
                            throw RecordError.indexDamaged(
                                table: table.schema.name, index: index.schema.name, reason: "an entry holds no value")
                        }
                        last = Array(decoder.bytes[..<decoder.place])
                        found.append((value, 1))
                        return true
                    }
                }
                if isCut { return nil }
            }
        }
        return found
    }

    /// The different values of an expression over the rows, ascending.
    public func distinctValues(of expr: Expr, in view: Snapshot) throws(RecordError) -> [Value] {
        if let found = try indexedValues(expr, counting: false, in: view) { return found.map(\.value) }
        return try groupCount(by: expr, in: view).map(\.value)
    }
}

extension SelectPlan {
    /// The rows of a statement that the order of an index answers: one different column, or the ends of some; nil: it does not.
    func rowsByIndex(_ view: Snapshot, _ measure: StepMeasure?) throws(RecordError) -> [[Value]]? {
        guard case .table(let plan) = feed else { return nil }
        let found: [[Value]]?
        if let group {
            found = try ends(group, plan, view, measure).map { [$0] }
        } else if isDistinct, outputs.count == 1, collations.first??.isNoCase != true,
            case .column(let column) = outputs[0], orders.isEmpty,
            plan.bound.orders.isEmpty
        {
            found = try plan.indexedValues(column, counting: false, in: view, measure)?.map { [$0.value] }
        } else {
            return nil
        }
        guard var rows = found else { return nil }
        measure?.passed = rows.count
        rows.removeFirst(min(offset, rows.count))
        if let limit { rows.removeLast(max(0, rows.count - limit)) }
        return rows
    }

    /// The smallest and largest values of columns, where nothing else is asked for.
    private func ends(
        _ group: GroupPlan, _ plan: Plan, _ view: Snapshot, _ measure: StepMeasure?
    ) throws(RecordError) -> [Value]? {
        guard group.keys.isEmpty, group.having == nil, !group.aggregates.isEmpty else { return nil }
        var values: [Value] = []
        for aggregate in group.aggregates {
            guard let argument = aggregate.argument,
                let value = try plan.extreme(
                    aggregate.function, of: argument, isNoCase: aggregate.isNoCase, in: view, measure)
            else { return nil }
            values.append(value)
        }
        var row: [Value] = []
        for output in group.outputs {
            guard case .result(let number, _, _) = output, values.indices.contains(number) else { return nil }
            row.append(values[number])
        }
        return row
    }
}
