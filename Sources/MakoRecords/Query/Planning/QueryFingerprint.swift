/// The fingerprint of a selection: all of it but the values that its columns are compared with.
///
/// Only simple selections have one: a conjunction of comparisons of a column of one table with a value, IS NULL
/// included, ordered by columns.
struct QueryFingerprint {
    /// Everything but the values. Each text ends with a byte that UTF-8 does not contain.
    struct Key: Hashable, Sendable {
        private var bytes: [UInt8] = []

        init() { bytes.reserveCapacity(128) }

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

        mutating func append(byte: UInt8) { bytes.append(byte) }

        mutating func append(_ text: String) {
            bytes.append(contentsOf: text.utf8)
            bytes.append(0xFF)
        }

        mutating func append(_ number: Int?) {
            append(byte: number == nil ? 0 : 1)
            guard let number else { return }
            withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
        }
    }

    private enum Mark: UInt8 {
        case comparison = 1, comparisonWithoutCase, mirrored, between, isNull, notNull, truth, order, end
    }

    private(set) var key = Key()
    /// The values that the conjuncts compare their columns with, in order; `nil` for a conjunct without a value.
    private(set) var values: [Value?] = []
    /// The expressions of these values, if requested.
    private(set) var sources: [Expr?]?

    /// - Returns: `nil` if the selection is not simple.
    init?(_ selection: Selection) {
        values.reserveCapacity(4)
        guard selection.joins.isEmpty else { return nil }
        key.append(selection.table)
        key.append(selection.alias ?? "")
        key.append(selection.limit)
        key.append(selection.offset)
        if let condition = selection.condition, !append(condition, selection, depth: 0) { return nil }
        for order in selection.orderBy {
            guard append(.order, order.expr) else { return nil }
            key.append(byte: (order.descending ? 1 : 0) + (order.noCase ? 2 : 0))
            key.append(order.nullsFirst.map { $0 ? 1 : 0 })
        }
    }

    /// Makes the fingerprint of a condition whose parameters have no values yet, for the sources of its values.
    init?(sourcesOf condition: Condition) {
        sources = []
        if !append(condition, Selection(table: ""), depth: 0) { return nil }
    }

    private mutating func append(_ condition: Condition, _ selection: Selection, depth: Int) -> Bool {
        switch condition {
        case .and(let parts):
            if depth > 20 { return false }
            for part in parts where !append(part, selection, depth: depth + 1) { return false }
            return true
        case .comparison(let operation, let left, let right):
            key.append(operation.rawValue)
            if case .noCase(let inner) = right, let value = value(inner, selection) {
                return append(.comparisonWithoutCase, left) && append(value, inner)
            }
            if let value = value(right, selection) { return append(.comparison, left) && append(value, right) }
            guard let value = value(left, selection) else { return false }
            return append(.mirrored, right) && append(value, left)
        case .between(let column, let low, let high):
            guard let first = value(low, selection), let last = value(high, selection) else { return false }
            return append(.between, column) && append(first, low) && append(last, high)
        case .isNull(let column): return appendFixed(.isNull, column)
        case .not(.isNull(let column)): return appendFixed(.notNull, column)
        case .truth(let column): return appendFixed(.truth, column)
        default: return false
        }
    }

    private mutating func appendFixed(_ part: Mark, _ column: Expr) -> Bool {
        values.append(nil)
        sources?.append(nil)
        return append(part, column)
    }

    /// Appends a column, with or without case.
    private mutating func append(_ part: Mark, _ expr: Expr) -> Bool {
        key.append(byte: part.rawValue)
        switch expr {
        case .column(let path, _):
            for name in path { key.append(name) }
            key.append(byte: Mark.end.rawValue)
            return true
        case .noCase(.column(let path, _)):
            for name in path { key.append(name) }
            key.append(byte: Mark.end.rawValue | 0x80)
            return true
        default: return false
        }
    }

    /// Appends the kind of the value, not the value.
    private mutating func append(_ value: Value, _ source: Expr) -> Bool {
        guard let kind = QueryFingerprint.kind(value) else { return false }
        key.append(byte: kind)
        values.append(value)
        sources?.append(source)
        return true
    }

    /// Returns a number from 1 to 15; `nil` for values that make a condition not simple.
    static func kind(_ value: Value) -> UInt8? {
        switch value {
        case .null, .blob: nil
        case .bool: 1
        case .integer: 2
        case .unsigned: 3
        case .double: 4
        case .text: 5
        case .date: 6
        case .uuid: 7
        }
    }

    private func value(_ expr: Expr, _ selection: Selection) -> Value? {
        switch expr {
        case .literal(let value, _): value
        case .parameter where sources != nil: .integer(0)
        case .parameter(.position(let number), _):
            selection.parameters.indices.contains(number) ? selection.parameters[number] : nil
        case .parameter(.name(let name), _): selection.namedParameters[name]
        default: nil
        }
    }
}
