import MakoStorage

extension SelectStatement {
    /// How the rows are found; its description is the explanation.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func plan(
        _ catalogue: Catalogue, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> Plan {
        let table = try find(catalogue)
        if parameters.count > parameterCount {
            throw SourcePosition.valuesLeftOver(parameters.count, places: parameterCount, in: tableAt.text)
        }
        let isWhole = !isGrouped && !isDistinct
        return try Selection(
            table: table.schema.name, condition: condition, parameters: parameters, namedParameters: named,
            orderBy: isGrouped ? [] : try resolvedOrders(table), limit: isWhole ? limit : nil,
            offset: isWhole ? offset : nil
        ).plan(catalogue)
    }

    /// Runs the statement over a snapshot or a transaction's view.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    public func run(
        _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> QueryRows {
        let plan = try plan(catalogue, parameters: parameters, named: named)
        let outputs = outputs.isEmpty ? everyColumn(plan.table) : outputs
        if groupBy.isEmpty, outputs.count == 1, outputs[0].countsRows {
            // The index alone, or the table's own count, may tell it.
            let count = Value.integer(Int64(try plan.count(in: view)))
            let rows = (offset ?? 0) > 0 || limit == 0 ? [] : [[count]]
            return QueryRows(columns: outputs.map(\.name), rows: rows)
        }
        var rows: [[Value]]
        if let found = try rowsByIndex(plan, outputs, view) {
            rows = found
        } else {
            rows =
                isGrouped
                ? try grouped(plan, outputs, view) : try plan.rows(outputs.map(\.expr), compared: isDistinct, in: view)
        }
        if isDistinct {
            var seen: Set<[Value]> = []
            rows = rows.filter { seen.insert($0).inserted }
        }
        if isGrouped { try sort(&rows, outputs) }
        if isGrouped || isDistinct {
            rows = Array(rows.dropFirst(max(0, offset ?? 0)))
            if let limit { rows = Array(rows.prefix(max(0, limit))) }
        }
        return QueryRows(columns: outputs.map(\.name), rows: rows)
    }

    private func find(_ catalogue: Catalogue) throws(RecordError) -> TableHandle {
        do {
            return try catalogue.requireTable(table)
        } catch {
            guard case .tableNotFound(let name, let nearest) = error else { throw error }
            throw tableAt.error("there is no table \(name)", nearest: nearest)
        }
    }

    private func everyColumn(_ table: TableHandle) -> [Output] {
        table.schema.visibleNames.sorted { first, _ in first == table.schema.idColumn }.map {
            Output(expr: .column([$0]), aggregate: nil, name: $0)
        }
    }

    /// Orders by a result's name or number stand for its expression.
    private func resolvedOrders(_ table: TableHandle) throws(RecordError) -> [Order] {
        var orders: [Order] = []
        for order in orderBy {
            var order = order
            if case .column(let path, _) = order.expr, path.count == 1, table.schema.column(named: path[0]) == nil,
                let output = outputs.first(where: { $0.name == path[0] })
            {
                order.expr = output.expr
            } else if case .literal(.integer(let number), let at) = order.expr {
                let names = outputs.isEmpty ? everyColumn(table) : outputs
                guard number >= 1, number <= names.count else { throw at.error("there are \(names.count) columns") }
                order.expr = names[Int(number) - 1].expr
            }
            orders.append(order)
        }
        return orders
    }

    private func grouped(_ plan: Plan, _ outputs: [Output], _ view: Snapshot) throws(RecordError) -> [[Value]] {
        for output in outputs where output.aggregate == nil && !groupBy.contains(output.expr) {
            throw output.expr.position.error("a column beside aggregates must stand in GROUP BY")
        }
        let aggregates = outputs.filter { $0.aggregate != nil }
        let keys = try ExpressionRun(groupBy, plan, view)
        let arguments = try ExpressionRun(aggregates.map(\.expr), plan, view)
        for (index, output) in aggregates.enumerated() {
            if let function = output.aggregate { try Plan.check(function, arguments.kinds[index], output.expr) }
        }
        var groups: [[UInt8]: (values: [Value], accumulators: [Accumulator])] = [:]
        let empty = aggregates.compactMap { $0.aggregate.map { Accumulator($0) } }
        var coding = KeyBuffer()
        try plan.forEachResult(in: view) { (key, row) throws(RecordError) in
            coding.clear()
            for index in groupBy.indices { coding.append(try keys.operand(index, row, key)) }
            let place = coding.bytes
            var group: (values: [Value], accumulators: [Accumulator])
            if let known = groups.removeValue(forKey: place) {
                group = known
            } else {
                group = (try keys.all(row, key), empty)
            }
            for index in aggregates.indices {
                if aggregates[index].countsRows {
                    group.accumulators[index].addRow()
                } else {
                    group.accumulators[index].add(try arguments.operand(index, row, key))
                }
            }
            groups[place] = group
        }
        // Without GROUP BY there is one row, also when there are none to count.
        if groups.isEmpty && groupBy.isEmpty { groups[[]] = ([], empty) }
        return groups.sorted { KeyOrder.precedes($0.key, $1.key) }.map { _, group in
            var next = 0
            return outputs.map { output in
                if output.aggregate != nil {
                    next += 1
                    return group.accumulators[next - 1].result
                }
                return groupBy.firstIndex(of: output.expr).map { group.values[$0] } ?? .null
            }
        }
    }

    /// Sorts grouped rows by their own columns.
    private func sort(_ rows: inout [[Value]], _ outputs: [Output]) throws(RecordError) {
        var columns: [(place: Int, order: Order)] = []
        for order in orderBy {
            guard let place = place(of: order.expr, outputs) else {
                throw order.expr.position.error("grouped rows are ordered by a column of the result")
            }
            columns.append((place, order))
        }
        if columns.isEmpty { return }
        var keyed = rows.enumerated().map { index, row in
            var coding = KeyBuffer()
            for (place, order) in columns {
                let start = coding.count
                var value = row[place]
                // Sums may be whole in one group and broken in the next.
                if outputs[place].aggregate != nil, case .integer(let number) = value {
                    value = .double(Double(number))
                }
                coding.append(value, noCase: order.noCase)
                if order.descending { coding.complement(from: start) }
            }
            return (key: coding.bytes, index: index)
        }
        keyed.sort { first, second in
            let order = KeyOrder.compareKeys(first.key, second.key)
            return order == 0 ? first.index < second.index : order < 0
        }
        rows = keyed.map { rows[$0.index] }
    }

    private func place(of expr: Expr, _ outputs: [Output]) -> Int? {
        switch expr {
        case .literal(.integer(let number), _):
            return number >= 1 && number <= outputs.count ? Int(number) - 1 : nil
        case .function(let name, let arguments, _):
            let function = AggregateFunction(rawValue: name)
            if let place = outputs.firstIndex(where: { output in
                output.aggregate == function && function != nil
                    && (output.countsRows ? arguments.isEmpty : arguments == [output.expr])
            }) {
                return place
            }
        case .column(let path, _) where path.count == 1:
            if let place = outputs.firstIndex(where: { $0.name == path[0] }) { return place }
        default: break
        }
        return outputs.firstIndex { $0.aggregate == nil && $0.expr == expr }
    }
}
