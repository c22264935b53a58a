import MakoStorage

/// Index scan: passes the keys of the rows that the entries name.
struct IndexScan {
    let index: IndexHandle
    let table: TableHandle
    let view: Snapshot
    let isReversed: Bool

    init(_ index: IndexHandle, _ table: TableHandle, _ view: Snapshot, _ isReversed: Bool) {
        self.index = index
        self.table = table
        self.view = view
        self.isReversed = isReversed
    }

    // Not inlined, so that the compiler specialises it by its closure: inlined, each entry calls the closure, with its
    // captures behind exclusivity checks: a twentieth of the instructions of the case `join` of `make instructions`.
    @inline(never)
    func run(_ ranges: [KeyRange], _ body: (RowKey) throws -> Bool) throws {
        for range in isReversed ? ranges.reversed() : ranges {
            guard try run(range, body) else { return }
        }
    }

    /// Moves a cursor to the first entry of a range, in the direction of the scan.
    static func start(_ cursor: inout Cursor, _ range: KeyRange, _ isReversed: Bool) throws -> Bool {
        if !isReversed { return range.lower.isEmpty ? try cursor.first() : try cursor.seek(range.lower) }
        guard let upper = range.upper else { return try cursor.last() }
        return try cursor.seek(upper) ? try cursor.previous() : try cursor.last()
    }

    static func isInside(_ key: [UInt8], _ range: KeyRange, _ isReversed: Bool) -> Bool {
        key.withUnsafeBytes { isInside($0, range, isReversed) }
    }

    @inline(__always)
    static func isInside(_ key: UnsafeRawBufferPointer, _ range: KeyRange, _ isReversed: Bool) -> Bool {
        if isReversed { return range.lower.withUnsafeBytes { KeyOrder.compareRaw(key, $0) >= 0 } }
        guard let upper = range.upper else { return true }
        return upper.withUnsafeBytes { KeyOrder.compareRaw(key, $0) < 0 }
    }

    private enum Entry {
        case outside
        case row(Int64)
        /// The row's key is in the value, or the entry is truncated.
        case other
    }

    private func run(_ range: KeyRange, _ body: (RowKey) throws -> Bool) throws -> Bool {
        if isReversed || index.hasKeyInValue { return try step(through: range, body) }
        return try scan(from: range.lower, { IndexScan.isInside($0, range, false) }, { range.upper }, body)
    }

    /// The same for the entries that start with a number.
    func run(of number: Int64, _ body: (RowKey) throws -> Bool) throws {
        if isReversed || index.hasKeyInValue { return try run([KeyRange(of: number)], body) }
        _ = try scan(
            from: KeyBuffer.bytes(of: number), { KeyOrder.begins($0, with: number) }, { KeyRange(of: number).upper },
            body)
    }

    @inline(__always)
    private func scan(
        from lower: [UInt8], _ isInside: (UnsafeRawBufferPointer) -> Bool, _ upper: () -> [UInt8]?,
        _ body: (RowKey) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        var cut: [UInt8]?
        // Reads the leaves in place: a cursor copies each leaf, which takes longer than to find a few rows in it.
        try view.forEach(in: index.tree, from: lower) { key, _ in
            guard isInside(key) else { return false }
            if key.count > IndexHandle.keptBytes {
                cut = [UInt8](key)
                return false
            }
            goesOn = try body(.rowID(try rowID(key)))
            return goesOn
        }
        guard let cut else { return goesOn }
        return try step(through: KeyRange(lower: cut, upper: upper()), body)
    }

    @inline(__always)
    func rowID(_ key: UnsafeRawBufferPointer) throws(RecordError) -> Int64 {
        guard key.count >= 8 else {
            throw .indexDamaged(
                table: table.schema.name, index: index.schema.name, reason: "an entry names no row")
        }
        return KeyOrder.rowID(
            UInt64(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self)))
    }

    private func step(through range: KeyRange, _ body: (RowKey) throws -> Bool) throws -> Bool {
        var cursor = try view.cursor(in: index.tree)
        var isThere = try IndexScan.start(&cursor, range, isReversed)
        while isThere {
            let entry = try cursor.withKey { key -> Entry in
                guard IndexScan.isInside(key, range, isReversed) else { return .outside }
                if index.hasKeyInValue || key.count > IndexHandle.keptBytes { return .other }
                return .row(try rowID(key))
            }
            switch entry {
            case .outside: return true
            case .row(let id):
                guard try body(.rowID(id)) else { return false }
                isThere = isReversed ? try cursor.previous() : try cursor.next()
            case .other:
                let key = cursor.key
                if key.count > IndexHandle.keptBytes {
                    let (rows, more) = try run(of: key, range, &cursor)
                    for row in rows { guard try body(row) else { return false } }
                    isThere = more
                } else {
                    guard try body(try rowKey(key, &cursor)) else { return false }
                    isThere = isReversed ? try cursor.previous() : try cursor.next()
                }
            }
        }
        return true
    }

    /// Returns the rows of the first `count` entries of a range, and the rest of the range, or `nil` at its end.
    /// Entries that are equal up to their truncation are not separated, so that there may be more rows.
    func batch(of range: KeyRange, _ count: Int) throws -> (rows: [RowKey], rest: KeyRange?) {
        var cursor = try view.cursor(in: index.tree)
        var isThere = try IndexScan.start(&cursor, range, isReversed)
        var rows: [RowKey] = []
        while isThere {
            let key = cursor.key
            guard IndexScan.isInside(key, range, isReversed) else { break }
            let rest: KeyRange?
            if !index.hasKeyInValue && key.count < 8 {
                throw RecordError.indexDamaged(
                    table: table.schema.name, index: index.schema.name, reason: "an entry names no row")
            }
            if key.count > IndexHandle.keptBytes {
                let (run, more) = try run(of: key, range, &cursor)
                rows += run
                isThere = more
                let kept = Array(key.prefix(IndexHandle.keptBytes))
                rest =
                    isReversed
                    ? KeyRange(lower: range.lower, upper: kept)
                    : KeyRange.successor(kept).map { KeyRange(lower: $0, upper: range.upper) }
            } else {
                rows.append(try rowKey(key, &cursor))
                rest = range.behind(key, isReversed)
                if rows.count < count { isThere = isReversed ? try cursor.previous() : try cursor.next() }
            }
            if rows.count >= count { return (rows, rest) }
        }
        return (rows, nil)
    }

    func rowKey(_ key: [UInt8], _ cursor: inout Cursor) throws -> RowKey {
        if index.hasKeyInValue {
            return try index.rowKey(ofValue: try cursor.value(), isRowID: table.isRowID, table: table.schema.name)
        }
        return .rowID(KeyOrder.rowID(key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }))
    }

    /// Reads the entries that are equal up to their truncation: only their rows determine the order.
    func run(of key: [UInt8], _ range: KeyRange, _ cursor: inout Cursor) throws -> (rows: [RowKey], more: Bool) {
        let kept = Array(key.prefix(IndexHandle.keptBytes))
        var rows = [try rowKey(key, &cursor)]
        var isThere = isReversed ? try cursor.previous() : try cursor.next()
        while isThere {
            let next = cursor.key
            guard next.starts(with: kept), IndexScan.isInside(next, range, isReversed) else { break }
            rows.append(try rowKey(next, &cursor))
            isThere = isReversed ? try cursor.previous() : try cursor.next()
        }
        if rows.count == 1 { return (rows, isThere) }
        var keyed: [(key: [UInt8], row: RowKey)] = []
        for row in rows {
            let full = try table.withRow(row, in: view) { reader in
                var buffer = KeyBuffer()
                index.encodeUncut(reader, into: &buffer)
                return buffer.bytes
            }
            keyed.append((full ?? [], row))
        }
        keyed.sort {
            let order = KeyOrder.compareKeys($0.key, $1.key)
            if order != 0 { return order < 0 }
            guard case .rowID(let first) = $0.row, case .rowID(let second) = $1.row else { return false }
            return first < second
        }
        return ((isReversed ? keyed.reversed() : keyed).map(\.row), isThere)
    }
}
