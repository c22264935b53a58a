import MakoRecords

/// The values of a row that an INSERT stores. The memory is that of the row before it, whose values it replaces one by
/// one, because emptying an array costs as much as filling it.
struct PlainRow {
    /// The values; those from `count` on are of rows before this one.
    private(set) var values: [StoredValue] = []
    private(set) var count = 0

    init() {}

    init(_ values: [StoredValue]) {
        self.values = values
        count = values.count
    }

    @inline(__always)
    mutating func append(_ value: StoredValue) {
        if count < values.count { values[count] = value } else { values.append(value) }
        count &+= 1
    }

    mutating func restart() { count = 0 }
}

/// What a transaction keeps from one run of an INSERT to the next.
struct PlainInserts {
    /// The memory for the values of a row.
    var row = PlainRow()
    /// The last statement, with its names resolved in a catalogue: its own copy of them is behind a lock.
    private var last: (statement: CachedStatement, catalogue: Catalogue, insert: PreparedInsert)?

    @inline(__always)
    mutating func prepared(_ statement: CachedStatement, _ catalogue: Catalogue) throws(MakoError) -> PreparedInsert? {
        if let last, last.statement === statement, last.catalogue === catalogue { return last.insert }
        let found = try records { () throws(RecordError) in try statement.preparedInsert(catalogue) }
        last = found.map { (statement, catalogue, $0) }
        return found
    }
}
