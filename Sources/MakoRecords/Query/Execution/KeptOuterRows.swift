import MakoStorage

/// What stands before one table of a join, kept by what its rows are compared with: the smaller side of a hash join whose larger side is
/// walked.
///
/// Of each combination of rows a copy of all is kept, one behind the other.
final class KeptOuterRows {
    private struct Row {
        let offset: Int
        /// -1: the row of NULLs of a left join.
        let count: Int
        let id: Int64
    }

    /// The tables whose rows are kept, with the columns they are read by.
    private let sources: [(source: Int, layout: RowLayout)]
    private let supply: SuppliedRows
    private let inner: JoinKeyCoding
    private let outer: JoinKeyCoding
    @exclusivity(unchecked) private var keys = KeyTable()
    /// The first and the last combination of each key.
    @exclusivity(unchecked) private var ends: [(first: Int32, last: Int32)] = []
    @exclusivity(unchecked) private var next: [Int32] = []
    @exclusivity(unchecked) private var rows: [Row] = []
    @exclusivity(unchecked) private var bytes = KeyBuffer()
    @exclusivity(unchecked) private var buffer = KeyBuffer()

    init(
        _ step: JoinStep, _ equalities: [JoinEquality], _ joins: [JoinNode],
        before sources: [(source: Int, layout: RowLayout)], _ view: Snapshot, _ supply: SuppliedRows
    ) {
        self.sources = sources
        self.supply = supply
        let nodes = JoinSources(joins).local(step.source)
        let rounded = equalities.map(\.isRounded)
        inner = JoinKeyCoding(
            ExpressionRun(bound: equalities.map { nodes.expr($0.inner) }, step.own.table, nodes.joins, view), rounded)
        outer = JoinKeyCoding(ExpressionRun(bound: equalities.map(\.outer), nil, joins, view, supply), rounded)
    }

    /// How many bytes are held.
    var memory: Int {
        keys.memory + ends.count * 8 + next.count * 4 + rows.count * MemoryLayout<Row>.stride + bytes.count
    }

    /// Takes in the rows that stand now.
    func keep() throws(RecordError) {
        buffer.clear()
        guard try outer.append(supply.blank, .rowID(0), to: &buffer) else { return }
        let number = Int32(truncatingIfNeeded: next.count)
        next.append(-1)
        for (source, _) in sources {
            let place = supply.rows[source]
            if let row = place.row {
                let copied = UnsafeRawBufferPointer(start: row.base, count: Int(row.byteCount))
                rows.append(Row(offset: bytes.count, count: copied.count, id: place.id))
                bytes.append(raw: copied)
            } else {
                rows.append(Row(offset: 0, count: -1, id: 0))
            }
        }
        let (place, isNew) = keys.place(of: buffer.raw)
        if isNew {
            ends.append((number, number))
        } else {
            next[Int(ends[place].last)] = number
            ends[place].last = number
        }
    }

    /// Calls a closure for each combination that a row meets, which stands then, until it answers false.
    func forEach(meeting row: RowReader, _ key: RowKey, _ body: () throws -> Bool) throws -> Bool {
        buffer.clear()
        guard try inner.append(row, key, to: &buffer), let found = keys.number(of: buffer.raw) else { return true }
        var number = ends[found].first
        while number >= 0 {
            try place(number)
            guard try body() else { return false }
            number = next[Int(number)]
        }
        return true
    }

    private func place(_ number: Int32) throws(RecordError) {
        let start = Int(number) * sources.count
        for (index, (source, layout)) in sources.enumerated() {
            let row = rows[start + index]
            guard row.count >= 0 else {
                supply.rows[source] = SuppliedRows.Place(row: nil)
                continue
            }
            let raw = bytes.raw(from: row.offset, to: row.offset + row.count)
            supply.rows[source] = SuppliedRows.Place(row: try RowReader(raw, layout), id: row.id)
        }
    }
}
