import MakoStorage

/// Rows by the bytes of their values, each once: what DISTINCT, UNION, INTERSECT, EXCEPT and aggregates over different values keep.
///
/// Memory holds what was met until it is full. A row that is not among that then waits, with what is to be done with it, in a file: at
/// the end the rows that wait are sorted by their bytes, which shows the equal ones, and the first of each are sorted by when they came. So
/// rows come in the order that they have without a limit.
final class RowSet {
    enum Kind {
        case union, intersect, except
    }

    enum Answer {
        /// Of its kind the first that is to be given on.
        case new
        /// Left out.
        case known
        /// That is not known yet: to be put off, see ``RowSet/putOff(_:)``.
        case open
    }

    private let kind: Kind
    private let view: Snapshot
    private let memory: Int
    private let cancellation: Cancellation?
    @exclusivity(unchecked) private var table = KeyTable()
    /// Of ``Kind/intersect``: whether the key at this place was given on.
    @exclusivity(unchecked) private var areGiven: [Bool] = []
    @exclusivity(unchecked) private var isFull = false
    @exclusivity(unchecked) private var hasOpenOthers = false
    @exclusivity(unchecked) private var waiting: SpilledEntries?
    @exclusivity(unchecked) private var came: UInt64 = 0
    @exclusivity(unchecked) private var key = KeyBuffer()
    @exclusivity(unchecked) private var peak = 0

    private static let other: UInt8 = 0
    private static let row: UInt8 = 1

    /// - Parameter share: which part of the memory of an operation is this set's: one in so many.
    init(_ kind: Kind, _ view: Snapshot, share: Int = 1, _ cancellation: Cancellation? = nil) {
        self.kind = kind
        self.view = view
        self.cancellation = cancellation
        memory = view.queryMemory / share
    }

    /// How many bytes were held at the most.
    var peakBytes: Int { max(peak, table.memory + (waiting?.peakBytes ?? 0)) }

    /// Begins the bytes of a row, which are appended to what is lent.
    @inline(__always)
    func begin() { key.clear() }

    @inline(__always)
    func append(_ operand: Operand, _ form: KeyCoding.Form) { KeyCoding.append(operand, form, to: &key) }

    func append(_ value: Value, noCase: Bool) { KeyCoding.append(value, noCase: noCase, to: &key) }

    @inline(__always)
    func append(_ number: Int) { key.append(Int64(number)) }

    /// Takes the row for one of those that rows are held against. All of them come before the first row.
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

    /// What becomes of a row. Once one is open, none that comes later is new: they keep their order.
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

    /// Puts a row off: a closure appends what ``finish(_:)`` lends of it, if it is one that is given on.
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

    /// Lends what was put off of the rows that are given on, in the order in which they came, until the closure answers false.
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
                // Where rows are held against none, none is one of them.
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

    /// Tables grow by doubling: what is full at three eighths stays within the whole.
    @inline(__always)
    private func noteSize() { if table.memory &+ areGiven.capacity > memory / 8 * 3 { isFull = true } }
}
