import MakoStorage

/// Takes the rows of a result: leaves out those that are there already, sorts, cuts.
final class ResultSink {
    private let outputs: ExpressionRun
    private let forms: [KeyCoding.Form]
    private let view: Snapshot
    /// How rows are sorted, and those that are.
    private let coding: OrderCoding?
    private let sorted: SpilledEntries?
    private let limit: Int
    @exclusivity(unchecked) private var left: Int
    /// How many rows it gave on.
    @exclusivity(unchecked) private(set) var given = 0
    /// How many different rows it took, where equal ones are left out.
    @exclusivity(unchecked) private(set) var different = 0
    private let output: RowBatches
    private let set: DifferentRows?

    init(
        _ bound: [BoundExpr], _ orders: [BoundOrder], isDistinct: Bool, _ collations: [Collation?],
        isInOrder: Bool = false, limit: Int?, offset: Int, to output: RowBatches, _ view: Snapshot,
        _ cancellation: Cancellation?, _ values: ([BoundExpr]) -> ExpressionRun
    ) {
        self.view = view
        self.output = output
        outputs = values(bound)
        forms = zip(bound, collations).map { KeyCoding.form($0, noCase: $1?.isNoCase == true) }
        self.limit = limit ?? .max
        left = offset
        let needed = orders.filter { $0.expr.constant == nil }
        coding = needed.isEmpty ? nil : OrderCoding(needed, values(needed.map(\.expr)))
        let total = limit.map { $0.addingReportingOverflow(offset) }
        sorted =
            needed.isEmpty
            ? nil
            : SpilledEntries(
                memory: view.queryMemory, wanted: total.flatMap { $0.overflow ? nil : $0.partialValue })
        sorted?.cancellation = cancellation
        set = !isDistinct ? nil : isInOrder ? .inOrder(RowBefore()) : .any(RowSet(.union, view, cancellation))
    }

    private enum DifferentRows {
        /// Equal ones come one behind the other.
        case inOrder(RowBefore)
        case any(RowSet)
    }

    /// How many bytes it held at the most.
    var peakBytes: Int {
        let set = if case .any(let set) = set { set.peakBytes } else { 0 }
        return set + (sorted?.peakBytes ?? 0)
    }

    /// Whether each row that is taken is given on, unless it is cut off.
    var givesAtOnce: Bool { self.set == nil && sorted == nil }

    /// False: no more are wanted.
    func take(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        if limit == 0 { return false }
        if let set {
            switch set {
            case .inOrder(let before):
                before.begin()
                for index in forms.indices { before.append(try outputs.operand(index, row, key), forms[index]) }
                if !before.differs() { return true }
            case .any(let set):
                set.begin()
                for index in forms.indices { set.append(try outputs.operand(index, row, key), forms[index]) }
                switch try set.put() {
                case .new: break
                case .known: return true
                case .open:
                    try putOff(row, key, set)
                    return true
                }
            }
            different &+= 1
        }
        if let coding, let sorted {
            let start = sorted.content.count
            try coding.append(row, key, to: &sorted.content)
            guard sorted.isWanted(from: start) else { return true }
            let middle = sorted.content.count
            try outputs.append(row, key, coded: &sorted.content)
            try sorted.end(start, middle, view)
            return true
        }
        if left > 0 {
            left -= 1
            return true
        }
        return try give(outputs.all(row, key))
    }

    @inline(__always)
    private func give(_ values: [Value]) throws(RecordError) -> Bool {
        given &+= 1
        return try output.append(values) && given < limit
    }

    /// Of a row of which it is not known yet whether it was there: what it is sorted by, and its values.
    private func putOff(_ row: RowReader, _ key: RowKey, _ set: RowSet) throws(RecordError) {
        try set.putOff { (content) throws(RecordError) in
            if let coding {
                var order = KeyBuffer()
                try coding.append(row, key, to: &order)
                content.append(varint: UInt64(order.count))
                content.append(raw: order.raw)
            }
            try outputs.append(row, key, coded: &content)
        }
    }

    /// Gives on what waited for all rows to be there.
    func finish() throws(RecordError) {
        if case .any(let set) = set {
            try set.finish { (content) throws(RecordError) in
                different &+= 1
                var reader = OperandReader(content)
                guard let sorted else { return try cut(&reader) }
                let order = reader.content()
                try sorted.add(order, reader.rest, view)
                return true
            }
        }
        try sorted?.forEachUntil { (_, values) throws(RecordError) in
            var reader = OperandReader(values)
            return try cut(&reader)
        }
    }

    private func cut(_ reader: inout OperandReader) throws(RecordError) -> Bool {
        if left > 0 {
            left -= 1
            return true
        }
        if given >= limit { return false }
        return try give(reader.values(forms.count))
    }
}

/// The row before, by the bytes of its values, where equal rows come one behind the other.
final class RowBefore {
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    @exclusivity(unchecked) private var last = KeyBuffer()
    @exclusivity(unchecked) private var hasLast = false

    func begin() { buffer.clear() }

    func append(_ operand: Operand, _ form: KeyCoding.Form) { KeyCoding.append(operand, form, to: &buffer) }

    /// Whether the row is another than the one before.
    func differs() -> Bool {
        if hasLast, KeyOrder.compareRaw(buffer.raw, last.raw) == 0 { return false }
        last.clear()
        last.append(raw: buffer.raw)
        hasLast = true
        return true
    }
}
