import MakoStorage

/// Executes DISTINCT, the sort and the limit of a result, and outputs its rows.
final class ResultPipeline {
    private let outputs: ExpressionExecutor
    private let forms: [KeyCoding.Form]
    private let view: Snapshot
    /// The encoding of the sort key, and the rows sorted by it.
    private let coding: OrderCoding?
    private let sorted: SpilledEntries?
    private let limit: Int
    @exclusivity(unchecked) private var left: Int
    /// The number of rows output.
    @exclusivity(unchecked) private(set) var given = 0
    /// The number of distinct rows.
    @exclusivity(unchecked) private(set) var different = 0
    private let output: RowBatches
    private let set: DifferentRows?

    /// - Parameter values: makes the executor of expressions over the rows, or over the groups.
    init(
        of plan: SelectPlan, to output: RowBatches, _ view: Snapshot, _ values: ([BoundExpr]) -> ExpressionExecutor
    ) {
        self.view = view
        self.output = output
        let bound = plan.group?.outputs ?? plan.outputs
        outputs = values(bound)
        forms = zip(bound, plan.collations).map { KeyCoding.form($0, noCase: $1?.isNoCase == true) }
        let limit = plan.isCut ? nil : plan.limit
        let offset = plan.isCut ? 0 : plan.offset
        self.limit = limit ?? .max
        left = offset
        let needed = plan.orders.filter { $0.expr.constant == nil }
        coding = needed.isEmpty ? nil : OrderCoding(needed, values(needed.map(\.expr)))
        let total = limit.map { $0.addingReportingOverflow(offset) }
        sorted =
            needed.isEmpty
            ? nil
            : SpilledEntries(
                memory: view.queryMemory, wanted: total.flatMap { $0.overflow ? nil : $0.partialValue })
        sorted?.cancellation = plan.cancellation
        // The groups of adjacent rows may have equal outputs anywhere.
        let isInOrder = plan.isInOrder && plan.group == nil
        set =
            !plan.isDistinct ? nil : isInOrder ? .inOrder(RowBefore()) : .any(RowSet(.union, view, plan.cancellation))
    }

    private enum DifferentRows {
        /// Equal rows are adjacent.
        case inOrder(RowBefore)
        case any(RowSet)
    }

    /// The peak number of bytes held.
    var peakBytes: Int {
        let set = if case .any(let set) = set { set.peakBytes } else { 0 }
        return set + (sorted?.peakBytes ?? 0)
    }

    /// Whether rows are output as they come, up to the limit.
    var givesAtOnce: Bool { self.set == nil && sorted == nil }

    /// Adds a row. Returns `false` if no more are wanted.
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
        given &+= 1
        return try output.append(outputs, row, key) && given < limit
    }

    /// Spills a row that may be a duplicate: its sort key and its values.
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

    /// Outputs the rows that had to wait for the last one.
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
        given &+= 1
        return try output.append(reader.values(forms.count)) && given < limit
    }
}

/// The previous row, by the encoding of its values, where equal rows are adjacent.
final class RowBefore {
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    @exclusivity(unchecked) private var last = KeyBuffer()
    @exclusivity(unchecked) private var hasLast = false

    func begin() { buffer.clear() }

    func append(_ operand: Operand, _ form: KeyCoding.Form) { KeyCoding.append(operand, form, to: &buffer) }

    /// Returns whether the row differs from the previous one.
    func differs() -> Bool {
        if hasLast, KeyOrder.compareRaw(buffer.raw, last.raw) == 0 { return false }
        last.clear()
        last.append(raw: buffer.raw)
        hasLast = true
        return true
    }
}
