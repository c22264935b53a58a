/// The keys and aggregates of groups, by the names that ``GroupBinder`` gives them.
struct GroupResults {
    private static let mark = "\u{0}"

    fileprivate(set) var values: [BoundExpr] = []
    /// The collations of keys that are columns.
    fileprivate var collations: [Collation?] = []
    fileprivate var outerRow: OuterRow?

    func collation(_ number: Int) -> Collation? { collations.indices.contains(number) ? collations[number] : nil }

    static func name(_ number: Int, at: SourcePosition) -> Expr { .column([mark, "\(number)"], at: at) }

    func value(_ path: [String], _ at: SourcePosition) throws(RecordError) -> BoundExpr {
        if path.count == 2, path[0] == GroupResults.mark, let number = Int(path[1]), values.indices.contains(number) {
            return values[number]
        }
        if path.count == 2, path[0] == outerRow?.name, let value = outerRow?.value(path[1]) { return value }
        throw at.error("a column beside aggregates must stand in GROUP BY")
    }
}

/// Separates what is computed for each row, keys and aggregate arguments, from what is computed for each group.
struct GroupBinder {
    private(set) var binder: Binder
    private let keys: [Expr]
    private(set) var boundKeys: [BoundExpr] = []
    private(set) var areNoCase: [Bool] = []
    private var calls: [Expr] = []
    private(set) var aggregates: [BoundAggregate] = []
    /// The collations of columns that depend on the group keys, by the indexes of their aggregates.
    private var determined: [Int: Collation?] = [:]

    init(_ binder: Binder, keys: [Expr]) throws(RecordError) {
        self.binder = binder
        // An expression matches a key with or without its COLLATE.
        self.keys = keys.map(\.uncollated)
        for key in keys {
            if key.hasAggregate { throw key.position.error("rows are not grouped by what is known of groups only") }
            let bound = try self.binder.bind(key)
            boundKeys.append(bound)
            areNoCase.append(self.binder.isNoCase(key, bound))
        }
    }

    /// Returns the expression over groups: its keys and aggregates are replaced by their numbers.
    mutating func named(_ expr: Expr) throws(RecordError) -> Expr {
        try expr.rewritten { (part) throws(RecordError) in try name(part) }
    }

    mutating func named(_ condition: Condition) throws(RecordError) -> Condition {
        try condition.refuseInGroups()
        return try condition.rewritten { (part) throws(RecordError) in try name(part) }
    }

    private mutating func name(_ part: Expr) throws(RecordError) -> Expr? {
        if let number = keys.firstIndex(of: part) { return GroupResults.name(number, at: part.position) }
        if let (function, isDistinct, argument) = part.aggregate {
            return GroupResults.name(
                keys.count + (try number(part, function, isDistinct, argument)), at: part.position)
        }
        guard case .column(let path, let at) = part, path[0] != binder.scope?.outerRow?.name else { return nil }
        // Resolves other spellings of a key column.
        let column = try binder.resolve(path, at)
        let number = boundKeys.firstIndex {
            guard case .column(let key) = $0 else { return false }
            return key.node == column.node && key.ordinal == column.ordinal
        }
        if let number { return GroupResults.name(number, at: at) }
        guard isDetermined(column) else { throw at.error("a column beside aggregates must stand in GROUP BY") }
        return GroupResults.name(keys.count + (try self.number(determined: column, part)), at: at)
    }

    /// Returns whether a column has one value in each group, because the key of its table, or of the table where its
    /// path begins, is among the group keys.
    private func isDetermined(_ column: BoundColumn) -> Bool {
        var node = column.node
        while node >= 0, !binder.joins[node].isSupplied { node = binder.joins[node].parent }
        let table = node < 0 ? binder.table : binder.joins[node].target
        let needed: [Int?] = table.isRowID ? [nil] : table.keySlots.map { Int($0.ordinal) }
        return needed.allSatisfy { ordinal in
            zip(boundKeys, areNoCase).contains { key, isNoCase in
                guard case .column(let found) = key else { return false }
                // Compared without case, one group may have several keys.
                return found.node == node && found.ordinal == ordinal && (!isNoCase || found.isNoCase)
            }
        }
    }

    /// Adds a column that has one value in each group, as a MIN.
    private mutating func number(determined column: BoundColumn, _ part: Expr) throws(RecordError) -> Int {
        if let known = calls.firstIndex(of: part) { return known }
        if column.isSealed { _ = try binder.bind(part) }
        let bound = BoundExpr.column(column)
        calls.append(part)
        aggregates.append(
            BoundAggregate(
                function: .minimum, isDistinct: false, argument: bound, isNoCase: binder.isNoCase(part, bound)))
        determined[aggregates.count - 1] = binder.collation(part, bound)
        return aggregates.count - 1
    }

    private mutating func number(
        _ part: Expr, _ function: AggregateFunction, _ isDistinct: Bool, _ argument: Expr?
    ) throws(RecordError) -> Int {
        if let known = calls.firstIndex(of: part) { return known }
        var bound: BoundExpr?
        var isNoCase = false
        if let argument {
            if argument.hasAggregate { throw argument.position.error("an aggregate of aggregates is not there") }
            var value = function == .count && !isDistinct ? try binder.bindUnseen(argument) : try binder.bind(argument)
            if function.adds { value = Binder.counted(value) }
            try function.check(Binder.kind(value), argument)
            isNoCase = binder.isNoCase(argument, value)
            bound = value
        }
        calls.append(part)
        aggregates.append(
            BoundAggregate(function: function, isDistinct: isDistinct, argument: bound, isNoCase: isNoCase))
        return calls.count - 1
    }

    /// Returns the scope in which expressions over groups are bound.
    func results() -> GroupResults {
        var results = GroupResults()
        results.outerRow = binder.scope?.outerRow
        for (number, (key, bound)) in zip(keys, boundKeys).enumerated() {
            results.values.append(.result(number, Binder.kind(bound), key.position.words))
            var collation: Collation?
            if case .column = bound { collation = binder.collation(key, bound) }
            results.collations.append(collation)
        }
        for (number, aggregate) in aggregates.enumerated() {
            let kind: ValueKind =
                switch aggregate.function {
                case .count: .whole
                case .average, .total: .real
                case .sum, .minimum, .maximum: aggregate.argument.map(Binder.kind) ?? .null
                }
            results.values.append(.result(keys.count + number, kind, calls[number].position.words))
            results.collations.append(determined[number] ?? nil)
        }
        return results
    }
}

extension Condition {
    /// Refuses conditions on rows before the names in them are resolved, so that the error names the cause.
    fileprivate func refuseInGroups() throws(RecordError) {
        switch self {
        case .match(let value, _): throw value.position.error("MATCH tests rows, not groups; write it in WHERE")
        case .quantified(_, _, let at): throw at.error("a condition on many tests rows, not groups; write it in WHERE")
        case .and(let parts), .or(let parts): for part in parts { try part.refuseInGroups() }
        case .not(let inner): try inner.refuseInGroups()
        default: return
        }
    }
}

extension SourcePosition {
    /// The source text at this position.
    var words: String {
        let bytes = Array(text.utf8)
        let start = min(max(0, offset), bytes.count)
        return String(decoding: bytes[start..<min(bytes.count, start + max(0, length))], as: UTF8.self)
    }
}
