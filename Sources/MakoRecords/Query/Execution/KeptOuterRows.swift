import MakoStorage

/// The outer rows of one table of a join in a hash table: the smaller side of a hash join whose larger side is scanned.
///
/// Each entry has copies of the current rows of all outer tables; the entries are spilled to a file if they exceed the
/// memory.
final class KeptOuterRows {
    /// The outer tables, with the columns that are read.
    private let sources: [(source: Int, layout: RowLayout)]
    private let supply: RowContext
    private let inner: JoinKeyCoding
    private let outer: JoinKeyCoding
    private let kept: KeptOuterTable
    @exclusivity(unchecked) private var buffer = KeyBuffer()

    /// - Parameters:
    ///   - spill: holds the rows that exceed the memory.
    ///   - other: the rows of another run, whose hash table this one shares.
    init(
        _ sources: [(source: Int, layout: RowLayout)], _ codings: (inner: JoinKeyCoding, outer: JoinKeyCoding),
        _ supply: RowContext, _ spill: @autoclosure () -> SpilledJoinRows, sharing other: KeptOuterRows?
    ) {
        kept = other?.kept ?? KeptOuterTable(spill())
        self.sources = sources
        self.supply = supply
        (inner, outer) = codings
    }

    /// Adds the current rows.
    func keep() throws(RecordError) {
        buffer.clear()
        guard try outer.append(supply.blank, .rowID(0), to: &buffer) else { return }
        if kept.spill.isUsed {
            return try kept.spill.add(buffer.raw) { content in
                for (source, _) in sources {
                    let place = supply.rows[source]
                    KeptOuterRows.append(place.row?.bytes, place.id, to: &content)
                }
            }
        }
        let number = Int32(truncatingIfNeeded: kept.next.count)
        kept.next.append(-1)
        for (source, _) in sources {
            let place = supply.rows[source]
            if let row = place.row {
                let copied = row.bytes
                kept.rows.append(KeptOuterTable.Place(offset: kept.bytes.count, count: copied.count, id: place.id))
                kept.bytes.append(raw: copied)
            } else {
                kept.rows.append(KeptOuterTable.Place(offset: 0, count: -1, id: 0))
            }
        }
        let (place, isNew) = kept.keys.place(of: buffer.raw)
        if isNew {
            kept.ends.append((number, number))
        } else {
            kept.next[Int(kept.ends[place].last)] = number
            kept.ends[place].last = number
        }
        if memory > kept.spill.memory { try spillRows() }
    }

    /// Whether they are spilled, so that one thread must look them up.
    var isSpilled: Bool { kept.spill.isUsed }

    /// The number of bytes held.
    var memory: Int {
        kept.keys.memory &+ (kept.ends.capacity &+ kept.next.capacity) &* MemoryLayout<(Int32, Int32)>.stride
            &+ kept.rows.capacity &* MemoryLayout<KeptOuterTable.Place>.stride &+ kept.bytes.capacity
    }

    private func spillRows() throws(RecordError) {
        kept.spill.begin(memory)
        for (place, end) in kept.ends.enumerated() {
            var number = end.first
            while number >= 0 {
                let start = Int(number) * sources.count
                try kept.spill.add(kept.keys.key(place)) { content in
                    for row in kept.rows[start..<start + sources.count] {
                        let found = row.count < 0 ? nil : kept.bytes.raw(from: row.offset, to: row.offset + row.count)
                        KeptOuterRows.append(found, row.id, to: &content)
                    }
                }
                number = kept.next[Int(number)]
            }
        }
        kept.keys = KeyTable()
        kept.bytes = KeyBuffer()
        (kept.ends, kept.next, kept.rows) = ([], [], [])
    }

    /// Appends a row of a spilled combination: its length + 1, its id and its bytes; 0 for the row of NULLs.
    private static func append(_ row: UnsafeRawBufferPointer?, _ id: Int64, to content: inout KeyBuffer) {
        guard let row else { return content.append(varint: 0) }
        content.append(varint: UInt64(row.count) + 1)
        content.append(varint: UInt64(bitPattern: id))
        content.append(raw: row)
    }

    /// Calls a closure for each combination that matches a row, with the combination as the current rows, until it
    /// returns `false`.
    func forEach(meeting row: RowReader, _ key: RowKey, _ body: () throws -> Bool) throws -> Bool {
        buffer.clear()
        guard try inner.append(row, key, to: &buffer) else { return true }
        if kept.spill.isUsed {
            guard try kept.spill.seek(buffer.raw) else { return true }
            repeat {
                try placeSpilled()
                guard try body() else { return false }
            } while try kept.spill.next()
            return true
        }
        guard let found = kept.keys.number(of: buffer.raw) else { return true }
        var number = kept.ends[found].first
        while number >= 0 {
            try place(number)
            guard try body() else { return false }
            number = kept.next[Int(number)]
        }
        return true
    }

    private func place(_ number: Int32) throws(RecordError) {
        let start = Int(number) * sources.count
        for (index, (source, layout)) in sources.enumerated() {
            let row = kept.rows[start + index]
            guard row.count >= 0 else {
                supply.rows[source] = RowContext.Place(row: nil)
                continue
            }
            let raw = kept.bytes.raw(from: row.offset, to: row.offset + row.count)
            supply.rows[source] = RowContext.Place(row: try RowReader(raw, layout), id: row.id)
        }
    }

    private func placeSpilled() throws(RecordError) {
        var reader = OperandReader(kept.spill.value)
        for (source, layout) in sources {
            let count = reader.varint()
            guard count > 0 else {
                supply.rows[source] = RowContext.Place(row: nil)
                continue
            }
            let id = Int64(bitPattern: reader.varint())
            let row = reader.bytes(Int(truncatingIfNeeded: count - 1))
            supply.rows[source] = RowContext.Place(row: try RowReader(row, layout), id: id)
        }
    }
}

/// The combinations. Once all are added, runs of the same join on other threads may look up those in memory, too.
private final class KeptOuterTable {
    struct Place {
        let offset: Int
        /// The length of the row; -1 for the row of NULLs of a left join.
        let count: Int
        let id: Int64
    }

    @exclusivity(unchecked) var keys = KeyTable()
    /// The first and the last combination of each key.
    @exclusivity(unchecked) var ends: [(first: Int32, last: Int32)] = []
    @exclusivity(unchecked) var next: [Int32] = []
    @exclusivity(unchecked) var rows: [Place] = []
    @exclusivity(unchecked) var bytes = KeyBuffer()
    let spill: SpilledJoinRows

    init(_ spill: SpilledJoinRows) { self.spill = spill }
}
