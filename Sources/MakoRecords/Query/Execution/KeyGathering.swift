import MakoStorage

/// A key in a row-id set: a row id, or the bytes of a key.
protocol GatheredKey {
    static func precedes(_ left: Self, _ right: Self) -> Bool
    static func sort(_ keys: inout [Self])
    static func isSame(_ left: Self, _ right: Self) -> Bool
    /// Makes a key; `nil` if the row key is of the other kind.
    init?(_ key: RowKey)
    var rowKey: RowKey { get }
    /// The number of bytes that it takes.
    var memory: Int { get }
}

extension Int64: GatheredKey {
    static func precedes(_ left: Int64, _ right: Int64) -> Bool { left < right }
    static func sort(_ keys: inout [Int64]) { NumberSort.sort(&keys) }
    static func isSame(_ left: Int64, _ right: Int64) -> Bool { left == right }
    init?(_ key: RowKey) {
        guard case .rowID(let id) = key else { return nil }
        self = id
    }
    var rowKey: RowKey { .rowID(self) }
    var memory: Int { 8 }
}

extension [UInt8]: GatheredKey {
    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool { KeyOrder.precedes(left, right) }
    static func sort(_ keys: inout [[UInt8]]) { keys.sort(by: KeyOrder.precedes) }
    static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool { left == right }
    init?(_ key: RowKey) {
        guard case .bytes(let bytes) = key else { return nil }
        self = bytes
    }
    var rowKey: RowKey { .bytes(self) }
    var memory: Int { count }
}

/// The keys that a scan finds. A separate value, because a variable captured by closures would be checked before each
/// access.
private struct FoundKeys<Key: GatheredKey> {
    var keys: [Key] = []
    let cancellation: Cancellation?

    @inline(__always)
    mutating func take(_ key: RowKey) throws(RecordError) -> Bool {
        if let key = Key(key) { keys.append(key) }
        if keys.count & 4095 == 0, cancellation?.isCancelled == true { throw .cancelled }
        return true
    }
}

/// Collects row keys for a row-id set scan, ascending and each once.
struct KeyGathering {
    let table: TableHandle
    let view: Snapshot
    let cancellation: Cancellation?

    /// - Parameter measure: counts what is read, if the run is measured.
    func keys(_ source: RowIDSet, _ measure: PlanMeasure?) throws(RecordError) -> [RowKey] {
        if table.isRowID { return try gather(source, Int64.self, measure).map(\.rowKey) }
        return try gather(source, [UInt8].self, measure).map(\.rowKey)
    }

    private func gather<Key: GatheredKey>(
        _ source: RowIDSet, _ kind: Key.Type, _ measure: PlanMeasure?, isSorted: Bool = true
    ) throws(RecordError) -> [Key] {
        if cancellation?.isCancelled == true { throw .cancelled }
        guard let measure else { return try gathered(source, kind, nil, isSorted) }
        let before = measure.run.turn(to: measure.access)
        defer { measure.run.turn(to: before) }
        let keys = try gathered(source, kind, measure, isSorted)
        measure.access.counts.runs += 1
        measure.access.counts.passed += keys.count
        measure.access.hold(keys.reduce(0) { $0 + $1.memory })
        return keys
    }

    private func gathered<Key: GatheredKey>(
        _ source: RowIDSet, _ kind: Key.Type, _ measure: PlanMeasure?, _ isSorted: Bool
    ) throws(RecordError) -> [Key] {
        switch source {
        case .access(.gathered(let inner)): return try gathered(inner, kind, measure, isSorted)
        case .access(let access):
            let keys = try scan(access, kind, measure)
            return isSorted ? KeyGathering.sorted(keys) : keys
        case .union(let parts):
            measure?.access.operation = .union
            var all: [Key] = []
            for (place, part) in parts.enumerated() {
                all += try gather(part, kind, measure?.part(place), isSorted: false)
            }
            return KeyGathering.sorted(all)
        case .intersection(let parts):
            measure?.access.operation = .intersection
            var common: [Key]?
            for (place, part) in parts.enumerated() {
                let next = try gather(part, kind, measure?.part(place))
                common = common.map { KeyGathering.common($0, next) } ?? next
            }
            return common ?? []
        case .members(let subquery, let index):
            let list = try SubqueryExecutor(subquery, view, cancellation).wholeList()
            measure?.access.operation = index == nil ? .subqueryKeys : .indexSearch
            if let index {
                return KeyGathering.sorted(try scan(index, list.codings(index.parts[0].slot.type), kind, measure))
            }
            if table.isRowID { return list.numbers.compactMap { Key(.rowID($0)) } }
            return list.codings(table.keySlots[0].type).compactMap {
                $0.count > TableHandle.longestKey ? nil : Key(.bytes($0))
            }
        case .linked(let subquery):
            return try linked(subquery, kind, measure) { _ in true }
        case .collection(let source): return KeyGathering.sorted(try collect(source, kind, measure))
        case .counted(let subquery, let operation, let number):
            return try linked(subquery, kind, measure) { value in
                guard case .integer(let count) = value else { return false }
                return Binder.holds(operation, KeyOrder.compare(count, number))
            }
        }
    }

    private func collect<Key: GatheredKey>(
        _ source: CollectionSource, _ kind: Key.Type, _ measure: PlanMeasure?
    ) throws(RecordError) -> [Key] {
        var found = FoundKeys<Key>(cancellation: cancellation)
        switch source.link {
        case .holders: measure?.access.operation = .keyHolders
        case .held: measure?.access.operation = .heldKeys
        }
        try recorded {
            try source.others.forEachRow(layout: nil, in: view, measure?.part(0)) { key, row in
                switch source.link {
                case .holders(let index):
                    let keys = try table.keys(holding: key, in: index.schema.columns[0].name, view: view)
                    measure?.access.counts.entries += keys.count
                    for key in keys { _ = try found.take(key) }
                case .held(let index):
                    guard case .blob(let bytes) = Operand(row, index.slot) else { return true }
                    try HeldKeys.forEach(in: bytes) { number, key in number == 0 ? try take(held: key, &found) : true }
                }
                return true
            }
        }
        return found.keys
    }

    /// Adds a key that a column of keys holds. A key beyond the maximum length matches no row.
    private func take<Key: GatheredKey>(held key: RowKey, _ found: inout FoundKeys<Key>) throws(RecordError) -> Bool {
        if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { return true }
        return try found.take(key)
    }

    /// Adds the rows whose first index column equals one of some values.
    private func scan<Key: GatheredKey>(
        _ index: IndexHandle, _ codings: [[UInt8]], _ kind: Key.Type, _ measure: PlanMeasure?
    ) throws(RecordError) -> [Key] {
        let whole = codings.filter { $0.count <= IndexHandle.keptBytes }
        var keys = try found(.index(index, whole.map { KeyRange(prefix: $0) }), kind, measure)
        // The index truncates longer values, so that their rows must be compared.
        for coding in codings where coding.count > IndexHandle.keptBytes {
            var range = KeyRange(prefix: coding)
            range.widen(to: IndexHandle.keptBytes)
            for key in try found(.index(index, [range]), kind, measure) where try holds(key.rowKey, index, coding) {
                keys.append(key)
            }
        }
        return keys
    }

    private func holds(_ key: RowKey, _ index: IndexHandle, _ coding: [UInt8]) throws(RecordError) -> Bool {
        try recorded {
            try table.withRow(key, in: view) { row in
                var buffer = KeyBuffer()
                buffer.append(row, index.parts[0].slot)
                return buffer.bytes == coding
            } ?? false
        }
    }

    private func linked<Key: GatheredKey>(
        _ subquery: SubqueryPlan, _ kind: Key.Type, _ measure: PlanMeasure?, _ isWanted: (Value) -> Bool
    ) throws(RecordError) -> [Key] {
        guard let link = subquery.link, let all = link.all else { return [] }
        measure?.access.operation = .linkedKeys
        var keys: [Key] = []
        if let index = link.counting {
            let entries = measure?.part(0).access
            entries?.operation = .coveringIndexScan
            entries?.counts.runs += 1
            try IndexGroups.forEach(index, all.table.schema.name, view, cancellation) { number, count in
                entries?.counts.entries += Int(count)
                entries?.counts.passed += 1
                if isWanted(.integer(count)), let key = Key(.rowID(number)) { keys.append(key) }
            }
            return keys
        }
        try SubqueryGroups(subquery, view, cancellation, measure?.part(0))?.forEachNumber { number, value in
            if isWanted(value), let key = Key(.rowID(number)) { keys.append(key) }
        }
        return keys
    }

    private func scan<Key: GatheredKey>(
        _ access: Access, _ kind: Key.Type, _ measure: PlanMeasure?
    ) throws(RecordError) -> [Key] {
        switch access {
        case .nothing, .gathered, .query, .outerRow: measure?.access.operation = .nothing
        case .rows, .keyRanges: measure?.access.operation = .keyRange
        case .keys: measure?.access.operation = .keyLookup
        case .index: measure?.access.operation = .coveringIndexScan
        case .fullText: measure?.access.operation = .textSearch
        }
        return try found(access, kind, measure)
    }

    private func found<Key: GatheredKey>(
        _ access: Access, _ kind: Key.Type, _ measure: PlanMeasure?
    ) throws(RecordError) -> [Key] {
        var found = FoundKeys<Key>(cancellation: cancellation)
        try recorded {
            switch access {
            // ``gathered(_:_:_:)`` combines sets. Rows of a query have no row keys.
            case .nothing, .gathered, .query, .outerRow: break
            case .keys(let list): for key in list { _ = try found.take(key) }
            case .index(let index, let ranges):
                try IndexScan(index, table, view, false).run(ranges) { try found.take($0) }
            case .rows(let range):
                let high = KeyOrder.treeKey(range.upperBound)
                try view.forEach(in: table.rows, from: KeyOrder.treeKey(range.lowerBound)) { key, _ in
                    key > high ? false : try found.take(.rowID(KeyOrder.rowID(key)))
                }
            case .keyRanges(let ranges):
                for range in ranges {
                    var cursor = try view.cursor(in: table.rows)
                    var isThere = try IndexScan.start(&cursor, range, false)
                    while isThere {
                        let key = cursor.key
                        guard IndexScan.isInside(key, range, false) else { break }
                        _ = try found.take(.bytes(key))
                        isThere = try cursor.next()
                    }
                }
            case .fullText(let text):
                for number in try TextAccess(match: text.match, isRanked: false).numbers(view, wanted: nil) {
                    _ = try found.take(try text.match.index.key(of: number, in: view))
                }
            }
        }
        switch access {
        case .index, .fullText: measure?.access.counts.entries += found.keys.count
        case .rows, .keyRanges: measure?.access.counts.rows += found.keys.count
        // Given keys need no lookup.
        case .nothing, .keys, .gathered, .query, .outerRow: break
        }
        return found.keys
    }

    private static func sorted<Key: GatheredKey>(_ keys: [Key]) -> [Key] {
        var isAscending = true
        for place in keys.indices.dropFirst() where !Key.precedes(keys[place - 1], keys[place]) {
            isAscending = false
            break
        }
        if isAscending { return keys }
        var ordered = keys
        Key.sort(&ordered)
        var result: [Key] = []
        result.reserveCapacity(ordered.count)
        for key in ordered {
            if let last = result.last, Key.isSame(last, key) { continue }
            result.append(key)
        }
        return result
    }

    /// Returns the intersection of two ascending lists.
    private static func common<Key: GatheredKey>(_ left: [Key], _ right: [Key]) -> [Key] {
        var result: [Key] = []
        var (a, b) = (0, 0)
        while a < left.count, b < right.count {
            if Key.isSame(left[a], right[b]) {
                result.append(left[a])
                a += 1
                b += 1
            } else if Key.precedes(left[a], right[b]) {
                a += 1
            } else {
                b += 1
            }
        }
        return result
    }
}
