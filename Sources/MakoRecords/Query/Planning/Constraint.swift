/// A test of one column of the row that one conjunct implies, in a form that sorted keys can answer.
struct Constraint: Sendable {
    /// A column in one of its two encodings.
    struct Term: Sendable, Hashable {
        /// The column, or `nil` for the row id.
        let ordinal: Int?
        let noCase: Bool
    }

    enum Test: Sendable {
        case equal(Value)
        case isIn([Value])
        case isNull
        case notNull
        case lower(Value, inclusive: Bool)
        case upper(Value, inclusive: Bool)
        case prefix(String)

        /// Returns the same test with another value.
        func with(_ value: Value) -> Test {
            switch self {
            case .equal: .equal(value)
            case .lower(_, let inclusive): .lower(value, inclusive: inclusive)
            case .upper(_, let inclusive): .upper(value, inclusive: inclusive)
            case .isIn, .isNull, .notNull, .prefix: self
            }
        }
    }

    let term: Term
    let test: Test
    /// The index of the conjunct that it comes from.
    let conjunct: Int
    /// Whether the test is equivalent to the conjunct, so that the conjunct needs no test of its own.
    let isExact: Bool

    /// Returns the constraints of all conjuncts.
    static func all(_ conjuncts: [BoundCondition]) -> [Constraint] {
        conjuncts.enumerated().flatMap { index, condition in of(condition, index) }
    }

    private static func of(_ condition: BoundCondition, _ index: Int) -> [Constraint] {
        func make(_ column: BoundColumn, _ noCase: Bool, _ test: Test, _ isExact: Bool = true) -> Constraint {
            Constraint(
                term: Term(ordinal: column.ordinal, noCase: noCase), test: test, conjunct: index, isExact: isExact)
        }
        switch condition {
        case .comparison(let operation, let side, .constant(let value)):
            guard let (column, noCase) = column(side), fits(value, column.type), let test = test(operation, value)
            else { return [] }
            var result = [make(column, noCase, test)]
            // Equal texts are also equal case-folded.
            if !noCase, column.type == .text, operation == .equal { result.append(make(column, true, test, false)) }
            return result
        case .isAmong(let side, let items):
            guard let (column, noCase) = column(side) else { return [] }
            if items.allSatisfy({ column.type.holds($0) && !$0.isNull }) { return [make(column, noCase, .isIn(items))] }
            var values: [Value] = []
            // A value that the column cannot hold matches no row.
            for value in items {
                if let fitting = column.type.coerced(value), !fitting.isNull { values.append(fitting) }
            }
            return [make(column, noCase, .isIn(values))]
        case .isNull(let side):
            guard let (column, noCase) = column(side), !noCase else { return [] }
            return [make(column, false, .isNull), make(column, true, .isNull)]
        case .not(.isNull(let side)):
            guard let (column, noCase) = column(side), !noCase else { return [] }
            return [make(column, false, .notNull), make(column, true, .notNull)]
        case .like(let side, .constant(.text(let text)), let escape):
            guard let (column, _) = column(side), escape == nil || escape?.constant != nil else { return [] }
            var mark: Unicode.Scalar?
            if case .text(let text)? = escape?.constant { mark = text.unicodeScalars.first }
            let pattern = TextPattern(like: text, escape: mark)
            if pattern.prefix.isEmpty { return [] }
            var result = [make(column, true, .prefix(pattern.prefix), false)]
            let hasLetters = pattern.prefix.utf8.contains { ($0 | 0x20) >= 97 && ($0 | 0x20) <= 122 }
            if !hasLetters { result.append(make(column, false, .prefix(pattern.prefix), pattern.isPrefixOnly)) }
            return result
        case .glob(let side, .constant(.text(let text))):
            guard let (column, noCase) = column(side), !noCase else { return [] }
            let pattern = TextPattern(glob: text)
            return pattern.prefix.isEmpty ? [] : [make(column, false, .prefix(pattern.prefix), pattern.isPrefixOnly)]
        default:
            return []
        }
    }

    private static func column(_ expr: BoundExpr) -> (BoundColumn, Bool)? {
        switch expr {
        case .column(let column) where column.node < 0: (column, false)
        case .noCase(.column(let column)) where column.node < 0: (column, true)
        default: nil
        }
    }

    /// Returns whether the encoded value sorts among the keys of the column.
    private static func fits(_ value: Value, _ type: ColumnType) -> Bool {
        switch (type, value) {
        case (.integer, .integer), (.reference, .integer), (.unsigned, .integer), (.integer, .unsigned),
            (.reference, .unsigned),
            (.unsigned, .unsigned), (.bool, .bool), (.double, .double), (.text, .text), (.blob, .blob), (.date, .date),
            (.uuid, .uuid):
            true
        default: false
        }
    }

    private static func test(_ operation: ComparisonOperator, _ value: Value) -> Test? {
        switch operation {
        case .equal: .equal(value)
        case .notEqual: nil
        case .less: .upper(value, inclusive: false)
        case .lessOrEqual: .upper(value, inclusive: true)
        case .greater: .lower(value, inclusive: false)
        case .greaterOrEqual: .lower(value, inclusive: true)
        }
    }
}
