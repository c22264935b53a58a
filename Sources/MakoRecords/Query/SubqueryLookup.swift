import MakoStorage

/// Looks up the rows of a sub-query that are linked to the row around, by key or by an index.
final class SubqueryLookup {
    private let probe: SubqueryProbe
    private let columns: [BoundColumn]
    /// For each linked column that is looked up, the place of the value it must have.
    private let places: [Int]
    private let table: TableHandle
    private let view: Snapshot
    private let outers: OuterValues
    private let cancellation: Cancellation?
    private let evaluator: Evaluator?
    private var key = KeyBuffer()

    init(
        _ probe: SubqueryProbe, _ link: BoundSubquery.Link, _ plan: Plan, _ view: Snapshot, _ outers: OuterValues,
        _ cancellation: Cancellation?
    ) {
        self.probe = probe
        columns = probe.order.map { link.columns[$0] }
        places = probe.order.map { link.outers[$0] }
        table = plan.table
        self.view = view
        self.outers = outers
        self.cancellation = cancellation
        evaluator = probe.residual.map {
            Evaluator(Program(plan.table, $0, joins: plan.bound.joins), view, outers: outers, cancellation)
        }
    }

    /// How many rows there are, when no row has to be read for that; else nil.
    func count() throws(RecordError) -> Int? {
        guard evaluator == nil, case .index(let index) = probe.way else { return nil }
        guard code() else { return 0 }
        var count = 0
        try walk(index) { _ in
            count += 1
            return true
        }
        return count
    }

    func forEachRow(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        if cancellation?.isCancelled == true { throw .cancelled }
        switch probe.way {
        case .rowID:
            guard case .integer(let id) = outers.values[places[0]] else { return }
            try lend(.rowID(id), body, goesOn: nil)
        case .key:
            guard code() else { return }
            try lend(.bytes(key.bytes), body, goesOn: nil)
        case .index(let index):
            guard code() else { return }
            try walk(index) { key in
                var goesOn = true
                try lend(key, body) { goesOn = $0 }
                return goesOn
            }
        }
    }

    /// Codes what is looked up; false: it is NULL, which no column equals.
    private func code() -> Bool {
        key.clear()
        for place in places {
            if outers.values[place].isNull { return false }
            key.append(outers.values[place])
        }
        return true
    }

    private func lend(
        _ key: RowKey, _ body: (RowKey, RowReader) throws(RecordError) -> Bool, goesOn: ((Bool) -> Void)?
    ) throws(RecordError) {
        if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { return }
        try recorded {
            try table.withRow(key, in: view) { row in
                if let evaluator, !(try evaluator.test(row, key)) { return }
                let wantsMore = try body(key, row)
                goesOn?(wantsMore)
            }
        }
    }

    private func walk(_ index: IndexHandle, _ body: (RowKey) throws -> Bool) throws(RecordError) {
        var range = KeyRange(prefix: key.bytes)
        let isCut = range.widen(to: IndexHandle.keptBytes)
        let whole = isCut ? key.bytes : []
        try recorded {
            try IndexWalk(index, table, view, false).run([range]) { row in
                // Of cut entries only the rows tell whether they are equal.
                if isCut, try !isEqual(row, whole) { return true }
                return try body(row)
            }
        }
    }

    private func isEqual(_ row: RowKey, _ whole: [UInt8]) throws -> Bool {
        try table.withRow(row, in: view) { reader in
            var coded = KeyBuffer()
            for column in columns {
                if let ordinal = column.ordinal { coded.append(reader, table.layout.allSlots[ordinal]) }
            }
            return coded.bytes == whole
        } ?? false
    }
}
