import MakoStorage

/// Takes the rows of a result: leaves out those that are there already, sorts, cuts.
final class ResultSink {
    private let outputs: ExpressionRun
    private let forms: [KeyCoding.Form]
    private let sorter: Sorter?
    private let limit: Int
    private let offset: Int
    @exclusivity(unchecked) private var left: Int
    @exclusivity(unchecked) private var found: [[Value]] = []
    private var seen: DistinctRows?

    init(
        _ bound: [BoundExpr], _ orders: [BoundOrder], isDistinct: Bool, _ collations: [Collation?],
        isInOrder: Bool = false, limit: Int?, offset: Int,
        _ values: ([BoundExpr]) -> ExpressionRun
    ) {
        outputs = values(bound)
        forms = zip(bound, collations).map { KeyCoding.form($0, noCase: $1?.isNoCase == true) }
        self.limit = limit ?? .max
        self.offset = offset
        left = offset
        let needed = orders.filter { $0.expr.constant == nil }
        sorter =
            needed.isEmpty
            ? nil : Sorter(OrderCoding(needed, values(needed.map(\.expr))), limit: limit, offset: offset)
        seen = isDistinct ? DistinctRows(isInOrder: isInOrder) : nil
    }

    /// False: no more are wanted.
    func take(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        if limit == 0 { return false }
        if let seen {
            seen.begin()
            for index in forms.indices { seen.append(try outputs.operand(index, row, key), forms[index]) }
            if !seen.isNew() { return true }
        }
        if let sorter {
            guard let place = try sorter.place(row, key) else { return true }
            let values = try outputs.all(row, key)
            if place < found.count { found[place] = values } else { found.append(values) }
            return true
        }
        if left > 0 {
            left -= 1
            return true
        }
        found.append(try outputs.all(row, key))
        return found.count < limit
    }

    /// How many different rows it took; nil where equal ones are not left out.
    var different: Int? { seen?.count }

    /// How many bytes it held at the most, besides the rows themselves.
    var peakBytes: Int { (seen?.memory ?? 0) + (sorter?.peakBytes ?? 0) }

    func rows() -> [[Value]] {
        guard let sorter else { return found }
        let places = sorter.sorted(offset: offset, limit: limit == .max ? nil : limit)
        return places.compactMap { place in place.rowID.map { found[Int($0)] } }
    }
}

/// The rows of a result that were met, by the bytes of their values.
final class DistinctRows {
    @exclusivity(unchecked) private var table = KeyTable()
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    /// The row before, where equal ones come one behind the other.
    @exclusivity(unchecked) private var last = KeyBuffer()
    @exclusivity(unchecked) private var hasLast = false
    private let isInOrder: Bool

    init(isInOrder: Bool) { self.isInOrder = isInOrder }

    /// How many different rows there were.
    @exclusivity(unchecked) private(set) var count = 0
    var memory: Int { table.memory + buffer.count + last.count }

    func begin() { buffer.clear() }

    func append(_ operand: Operand, _ form: KeyCoding.Form) { KeyCoding.append(operand, form, to: &buffer) }

    func isNew() -> Bool {
        let isNew = isInOrder ? differsFromLast() : table.place(of: buffer.raw).isNew
        if isNew { count &+= 1 }
        return isNew
    }

    private func differsFromLast() -> Bool {
        if hasLast, KeyOrder.compareRaw(buffer.raw, last.raw) == 0 { return false }
        last.clear()
        last.append(raw: buffer.raw)
        hasLast = true
        return true
    }
}
