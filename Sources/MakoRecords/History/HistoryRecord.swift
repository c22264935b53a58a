import MakoStorage

// The record of a commit in the change history: the value of the integer tree "mako.history" under the commit's number.
// Numbers are little endian; a text is its length (4) and its UTF-8.
//
//   format (1) = 1, mark (8), number and mark of the previous record or 0 (8, 8), size of all previous records (8),
//     date (8: a double, seconds since 2001)
//   table count (4), then: table id (4; 0: dropped), name, flags (1: its rows must be read again)
//   count of column lists (4), then: count (4), names
//   group count (4), then: index of the table (4), kind (1: 0 insert, 1 update, 2 delete), 0 for all columns or
//     1 + the index of a column list (4), form (1), span count (4), then in form 0: first id (8), rows (4); in form 1:
//     the length of the key (4), its bytes

/// The changes of one commit, as the history stores them.
package struct HistoryRecord: Sendable {
    /// A changed table.
    package struct Table: Sendable, Hashable {
        /// Its number in the file, which does not change when it is renamed; 0 if it did not exist after the commit.
        package let number: UInt32
        /// Its name at that time. A table that the commit renamed is listed with both names.
        package let name: String
        /// Whether any of its rows may have changed, because the record does not list them.
        package fileprivate(set) var isRewritten: Bool
    }

    /// A run of rows with the same change: one row, or `count` rows with consecutive ids.
    package struct Span: Sendable, Hashable {
        /// The index of the table in ``HistoryRecord/tables``.
        package let table: Int
        /// The kind of the change.
        package let kind: ChangeKind
        /// The index of the changed columns in ``HistoryRecord/columnLists``; -1 for all columns.
        package let columns: Int
        /// The key of the first row.
        package let key: RowKey
        /// The number of rows.
        package var count: UInt32
    }

    static let format: UInt8 = 1
    /// The largest size of a record's rows, in bytes: half of that of a value, or two million single rows.
    static let rowBytes = 32 << 20

    /// The number of the commit.
    package let number: UInt64
    /// The mark of the opening that made the commit.
    package let mark: UInt64
    /// The previous record; its number is 0 at the start of the history.
    package let previous: HistoryPoint
    /// Seconds since 2001-01-01 00:00:00 UTC.
    package let date: Double
    /// The total size of all previous records.
    let position: UInt64
    /// The changed tables.
    package private(set) var tables: [Table] = []
    /// The lists of changed columns that spans refer to.
    package private(set) var columnLists: [[String]] = []
    /// The changed rows.
    package private(set) var spans: [Span] = []

    /// The position of the record in the history.
    package var point: HistoryPoint { HistoryPoint(number: number, mark: mark) }

    init(number: UInt64, mark: UInt64, previous: HistoryPoint, position: UInt64, date: Double) {
        self.number = number
        self.mark = mark
        self.previous = previous
        self.position = position
        self.date = date
    }

    /// Records changes.
    ///
    /// - Parameters:
    ///   - rewritten: the names of tables whose rows must be read again.
    ///   - before: the tables at the start of the transaction.
    mutating func note(_ changes: ChangeSet, rewritten: [String], _ catalogue: Catalogue, before: Catalogue?) {
        let numbers = Set(catalogue.handles.map(\.number))
        for name in rewritten {
            var number = catalogue.table(named: name)?.number
            if number == nil, let old = before?.table(named: name)?.number, numbers.contains(old) { number = old }
            tables.append(Table(number: number ?? 0, name: name, isRewritten: true))
        }
        var places: [String: Int] = [:]
        var lists: [[String]: Int] = [:]
        var last: (table: String, columns: ColumnSet, place: Int, list: Int)?
        changes.forEachRun { name, kind, columns, key, count in
            // A table that was dropped in the same transaction is recorded as dropped.
            guard let table = catalogue.table(named: name) else { return }
            if let known = last, known.table == name, known.columns == columns {
                append(Span(table: known.place, kind: kind, columns: known.list, key: key, count: count))
                return
            }
            let place = places[name] ?? tables.count
            if place == tables.count {
                tables.append(Table(number: table.number, name: name, isRewritten: false))
                places[name] = place
            }
            var list = -1
            if !columns.isAll, kind == .update {
                let names = columns.names(in: table.schema)
                list = lists[names] ?? columnLists.count
                if list == columnLists.count {
                    columnLists.append(names)
                    lists[names] = list
                }
            }
            last = (name, columns, place, list)
            append(Span(table: place, kind: kind, columns: list, key: key, count: count))
        }
    }

    /// Replaces the rows of tables by a mark to read them again until the record fits the limit, largest tables first.
    mutating func limitRows(to limit: Int) {
        var bytes = [Int](repeating: 0, count: tables.count)
        var last: Span?
        for span in spans {
            if last?.isAlike(span) != true { bytes[span.table] += HistoryRecord.groupBytes }
            bytes[span.table] += span.encodedBytes
            last = span
        }
        var total = bytes.reduce(0, +)
        if total <= limit { return }
        for place in tables.indices.sorted(by: { bytes[$0] > bytes[$1] }) where total > limit {
            tables[place].isRewritten = true
            total -= bytes[place]
        }
        spans.removeAll { tables[$0.table].isRewritten }
    }

    private mutating func append(_ span: Span) {
        if case .rowID(let id) = span.key, let last = spans.last, case .rowID(let first) = last.key,
            last.table == span.table, last.kind == span.kind, last.columns == span.columns,
            first.addingReportingOverflow(Int64(last.count)) == (id, false), last.count <= .max - span.count
        {
            spans[spans.count - 1].count += span.count
        } else {
            spans.append(span)
        }
    }
}

/// A position in the history: a commit, and the mark of the opening that made it.
package struct HistoryPoint: Sendable, Hashable {
    /// The number of the commit.
    package let number: UInt64
    /// The mark of the opening.
    package let mark: UInt64

    /// Makes a position.
    package init(number: UInt64, mark: UInt64) {
        self.number = number
        self.mark = mark
    }
}

extension HistoryRecord.Span {
    fileprivate var isID: Bool { key.rowID != nil }

    fileprivate var encodedBytes: Int {
        switch key {
        case .rowID: 12
        case .bytes(let bytes): 4 + bytes.count
        }
    }

    fileprivate func isAlike(_ other: HistoryRecord.Span) -> Bool {
        table == other.table && kind == other.kind && columns == other.columns && isID == other.isID
    }
}

extension HistoryRecord {
    /// The size of a group before its spans.
    fileprivate static let groupBytes = 14

    func encoded() -> [UInt8] {
        var out = ByteSink()
        out.byte(HistoryRecord.format)
        out.number(mark)
        out.number(previous.number)
        out.number(previous.mark)
        out.number(position)
        out.number(date.bitPattern)
        out.number(UInt32(tables.count))
        for table in tables {
            out.number(table.number)
            out.text(table.name)
            out.byte(table.isRewritten ? 1 : 0)
        }
        out.number(UInt32(columnLists.count))
        for list in columnLists {
            out.number(UInt32(list.count))
            for name in list { out.text(name) }
        }
        let ends = spans.indices.filter { $0 + 1 == spans.count || !spans[$0].isAlike(spans[$0 + 1]) }
        out.number(UInt32(ends.count))
        var start = 0
        for end in ends {
            let first = spans[start]
            out.number(UInt32(first.table))
            out.byte(first.kind.rawValue)
            out.number(UInt32(first.columns + 1))
            out.byte(first.isID ? 0 : 1)
            out.number(UInt32(end + 1 - start))
            for span in spans[start...end] {
                switch span.key {
                case .rowID(let id):
                    out.number(UInt64(bitPattern: id))
                    out.number(span.count)
                case .bytes(let bytes): out.blob(bytes)
                }
            }
            start = end + 1
        }
        return out.bytes
    }

    /// Decodes a record.
    ///
    /// - Throws: `RecordError.catalogueDamaged`.
    init(number: UInt64, bytes: [UInt8]) throws(RecordError) {
        var source = ByteSource(bytes, what: "the history's record of commit \(number)")
        self = try HistoryRecord(number: number, head: &source)
        for _ in 0..<(try source.count()) {
            let number: UInt32 = try source.number()
            tables.append(Table(number: number, name: try source.text(), isRewritten: try source.byte() & 1 != 0))
        }
        for _ in 0..<(try source.count()) {
            var names: [String] = []
            for _ in 0..<(try source.count()) { names.append(try source.text()) }
            columnLists.append(names)
        }
        for _ in 0..<(try source.count()) { try readGroup(&source) }
        guard source.isAtEnd else { throw source.damaged }
    }

    /// Decodes the fields before the tables only.
    init(number: UInt64, headOf bytes: [UInt8]) throws(RecordError) {
        var source = ByteSource(bytes, what: "the history's record of commit \(number)")
        self = try HistoryRecord(number: number, head: &source)
    }

    private init(number: UInt64, head source: inout ByteSource) throws(RecordError) {
        guard try source.byte() == HistoryRecord.format else {
            throw .catalogueDamaged(reason: "the history's record of commit \(number) has another format")
        }
        let mark: UInt64 = try source.number()
        let previous = HistoryPoint(number: try source.number(), mark: try source.number())
        let position: UInt64 = try source.number()
        self.init(
            number: number, mark: mark, previous: previous, position: position,
            date: Double(bitPattern: try source.number()))
    }

    private mutating func readGroup(_ source: inout ByteSource) throws(RecordError) {
        let table = Int(try source.number() as UInt32)
        let kind = ChangeKind(rawValue: try source.byte())
        let list = Int(try source.number() as UInt32) - 1
        let form = try source.byte()
        guard let kind, table < tables.count, list < columnLists.count, form < 2 else { throw source.damaged }
        for _ in 0..<(try source.count()) {
            let key: RowKey = try form == 0 ? .rowID(Int64(bitPattern: source.number())) : .bytes(source.blob())
            let count: UInt32 = form == 0 ? try source.number() : 1
            guard count > 0, !(key.rowID?.addingReportingOverflow(Int64(count) - 1).overflow ?? false) else {
                throw source.damaged
            }
            spans.append(Span(table: table, kind: kind, columns: list, key: key, count: count))
        }
    }
}
