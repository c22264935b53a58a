/// A selection without the values that its columns are compared with: what selections that are asked again and again have in common.
///
/// Only simple ones have a shape: conditions of one table that must all hold, each of which compares a column with a value or asks
/// whether there is one, and orders by columns.
struct SelectionShape {
    /// Everything but the values. Texts end with a byte that none has.
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

    private enum Part: UInt8 {
        case comparison = 1, comparisonWithoutCase, mirrored, between, isNull, notNull, truth, order, end
    }

    private(set) var key = Key()
    /// What the parts of the condition compare their columns with, in their order; nil where a part compares with nothing.
    private(set) var values: [Value?] = []

    /// - Returns: nil: it is not simple.
    init?(_ selection: Selection) {
        guard selection.joins.isEmpty else { return nil }
        key.append(selection.table)
        key.append(selection.alias ?? "")
        key.append(selection.limit)
        key.append(selection.offset)
        if let condition = selection.condition, !append(condition, selection, depth: 0) { return nil }
        for order in selection.orderBy {
            guard append(.order, order.expr) else { return nil }
            key.append(byte: (order.descending ? 1 : 0) + (order.noCase ? 2 : 0))
        }
    }

    private mutating func append(_ condition: Condition, _ selection: Selection, depth: Int) -> Bool {
        switch condition {
        case .and(let parts):
            if depth > 20 { return false }
            for part in parts where !append(part, selection, depth: depth + 1) { return false }
            return true
        case .comparison(let operation, let left, let right):
            key.append(operation.rawValue)
            if case .noCase(let inner) = right, let value = SelectionShape.value(inner, selection) {
                return append(.comparisonWithoutCase, left) && append(value)
            }
            if let value = SelectionShape.value(right, selection) { return append(.comparison, left) && append(value) }
            guard let value = SelectionShape.value(left, selection) else { return false }
            return append(.mirrored, right) && append(value)
        case .between(let column, let low, let high):
            guard let low = SelectionShape.value(low, selection), let high = SelectionShape.value(high, selection)
            else { return false }
            return append(.between, column) && append(low) && append(high)
        case .isNull(let column): return appendFixed(.isNull, column)
        case .not(.isNull(let column)): return appendFixed(.notNull, column)
        case .truth(let column): return appendFixed(.truth, column)
        default: return false
        }
    }

    private mutating func appendFixed(_ part: Part, _ column: Expr) -> Bool {
        values.append(nil)
        return append(part, column)
    }

    /// A column, as it is or without its case.
    private mutating func append(_ part: Part, _ expr: Expr) -> Bool {
        key.append(byte: part.rawValue)
        switch expr {
        case .column(let path, _):
            for name in path { key.append(name) }
            key.append(byte: Part.end.rawValue)
            return true
        case .noCase(.column(let path, _)):
            for name in path { key.append(name) }
            key.append(byte: Part.end.rawValue | 0x80)
            return true
        default: return false
        }
    }

    /// Of the value only what kind it is.
    private mutating func append(_ value: Value) -> Bool {
        let kind: UInt8
        switch value {
        case .null, .blob: return false
        case .bool: kind = 1
        case .integer: kind = 2
        case .unsigned: kind = 3
        case .double: kind = 4
        case .text: kind = 5
        case .date: kind = 6
        case .uuid: kind = 7
        }
        key.append(byte: kind)
        values.append(value)
        return true
    }

    private static func value(_ expr: Expr, _ selection: Selection) -> Value? {
        switch expr {
        case .literal(let value, _): value
        case .parameter(.position(let number), _):
            selection.parameters.indices.contains(number) ? selection.parameters[number] : nil
        case .parameter(.name(let name), _): selection.namedParameters[name]
        default: nil
        }
    }
}
