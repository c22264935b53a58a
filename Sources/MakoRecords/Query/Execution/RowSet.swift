import MakoStorage

/// A set of rows, by the encoding of their values: for DISTINCT, UNION, INTERSECT, EXCEPT and DISTINCT aggregates.
///
/// Rows are held in memory until it is full. Further rows that are not in memory are spilled with their payload. At the
/// end they are sorted by their encoding, which makes duplicates adjacent, and the first of each is sorted by its
/// number, so that rows come in the same order as without a memory limit.
final class RowSet {
    enum Kind {
        case union, intersect, except
    }

    enum Answer {
        /// The first of its kind, to be output.
        case new
        /// A duplicate, or excluded.
        case known
        /// Undecided: the row must be spilled, see ``RowSet/putOff(_:)``.
        case open
    }

    private let kind: Kind
    private let view: Snapshot
    private let memory: Int
    private let cancellation: Cancellation?
    @exclusivity(unchecked) private var table = KeyTable()
    /// For ``Kind/intersect``: whether the key at this index has been output.
    @exclusivity(unchecked) private var areGiven: [Bool] = []
    @exclusivity(unchecked) private var isFull = false
    @exclusivity(unchecked) private var hasOpenOthers = false
    @exclusivity(unchecked) private var waiting: SpilledEntries?
    @exclusivity(unchecked) private var came: UInt64 = 0
    @exclusivity(unchecked) private var key = KeyBuffer()
    @exclusivity(unchecked) private var peak = 0

    private static let other: UInt8 = 0
    private static let row: UInt8 = 1

    /// - Parameter share: the set may use one part in this many of the operation's memory.
    init(_ kind: Kind, _ view: Snapshot, share: Int = 1, _ cancellation: Cancellation? = nil) {
        self.kind = kind
        self.view = view
        self.cancellation = cancellation
        memory = view.queryMemory / share
    }

    /// The peak number of bytes held.
    var peakBytes: Int { max(peak, table.memory + (waiting?.peakBytes ?? 0)) }

    /// Starts the encoding of a row.
    @inline(__always)
    func begin() { key.clear() }

    @inline(__always)
    func append(_ operand: Operand, _ form: KeyCoding.Form) { KeyCoding.append(operand, form, to: &key) }

    func append(_ value: Value, noCase: Bool) { KeyCoding.append(value, noCase: noCase, to: &key) }

    @inline(__always)
    func append(_ number: Int) { key.append(Int64(number)) }

    /// Adds a row of the second operand. All of them come before the first row.
    func putOther() throws(RecordError) {
        if isFull {
            if table.number(of: key.raw) != nil { return }
            hasOpenOthers = true
            return try spillOther()
        }
        guard table.place(of: key.raw).isNew else { return }
        areGiven.append(false)
        noteSize()
    }

    private func spillOther() throws(RecordError) {
        let entries = waitingRows
        let start = entries.content.count
        entries.content.append(raw: key.raw)
        entries.content.append(byte: RowSet.other)
        try entries.end(start, entries.content.count, view)
    }

    /// Decides about a row. After the first undecided row, no row is new, so that rows keep their order.
    func put() throws(RecordError) -> Answer {
        if kind == .intersect {
            guard let number = table.number(of: key.raw) else { return hasOpenOthers ? .open : .known }
            if areGiven[number] { return .known }
            areGiven[number] = true
            if !hasOpenOthers { return .new }
            try spillOther()
            return .open
        }
        if isFull { return table.number(of: key.raw) == nil ? .open : .known }
        guard table.place(of: key.raw).isNew else { return .known }
        noteSize()
        return .new
    }

    /// Spills a row; a closure appends the payload that ``finish(_:)`` passes on if the row is output.
    func putOff(_ content: (inout KeyBuffer) throws(RecordError) -> Void) throws(RecordError) {
        let entries = waitingRows
        let start = entries.content.count
        entries.content.append(raw: key.raw)
        entries.content.append(byte: RowSet.row)
        let middle = entries.content.count
        entries.content.append(bigEndian: came)
        came += 1
        try content(&entries.content)
        try entries.end(start, middle, view)
    }

    /// Calls a closure with the payload of the spilled rows that are output, in their order, until it returns `false`.
    func finish(_ body: (UnsafeRawBufferPointer) throws(RecordError) -> Bool) throws(RecordError) {
        guard let entries = waiting else { return }
        let found = spilledEntries
        var last = KeyBuffer()
        var (hasLast, isOther, isDone) = (false, false, false)
        try entries.forEachUntil { (key, value) throws(RecordError) in
            let row = UnsafeRawBufferPointer(rebasing: key.dropLast())
            if !hasLast || KeyOrder.compareRaw(row, last.raw) != 0 {
                last.clear()
                last.append(raw: row)
                (hasLast, isOther, isDone) = (true, false, false)
            }
            if key.last == RowSet.other {
                isOther = true
            } else if !isDone {
                isDone = true
                // Without a second operand, no row is in it.
                if isOther == (kind == .intersect) {
                    try found.add(
                        UnsafeRawBufferPointer(rebasing: value.prefix(8)),
                        UnsafeRawBufferPointer(rebasing: value.dropFirst(8)), view)
                }
            }
            return true
        }
        peak = peakBytes
        waiting = nil
        try found.forEachUntil { (_, content) throws(RecordError) in try body(content) }
    }

    private var waitingRows: SpilledEntries {
        if let waiting { return waiting }
        let made = spilledEntries
        waiting = made
        return made
    }

    private var spilledEntries: SpilledEntries {
        let made = SpilledEntries(memory: memory / 4)
        made.cancellation = cancellation
        return made
    }

    /// Tables grow by doubling: a limit of three eighths keeps the next size within the whole.
    @inline(__always)
    private func noteSize() { if table.memory &+ areGiven.capacity > memory / 8 * 3 { isFull = true } }
}
