/// What one part of a condition says about one column of the row itself, in a form that sorted keys can answer.
struct Constraint: Sendable {
    /// A column under one of its two codings.
    struct Term: Sendable, Hashable {
        /// `nil` is the row id.
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
    }

    let term: Term
    let test: Test
    /// Which of the condition's conjuncts it comes from.
    let conjunct: Int
    /// Whether the test says all that the conjunct does.
    let isExact: Bool

    /// Everything the conjuncts say.
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
            // Equal texts are equal under the no-case form too.
            if !noCase, column.type == .text, operation == .equal { result.append(make(column, true, test, false)) }
            return result
        case .isIn(let side, let items):
            guard let (column, noCase) = column(side) else { return [] }
            var values: [Value] = []
            for item in items {
                guard let value = item.constant else { return [] }
                // What the column cannot hold, no row has.
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

    /// Whether the coding of the value sorts among those of the column.
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

/// How far a row of sorted columns (an index, or the key of a table) answers a condition.
struct KeySearch {
    struct Part {
        let term: Constraint.Term
        let descending: Bool
    }

    private(set) var ranges: [KeyRange] = []
    /// How many leading columns have one value only.
    private(set) var equalCount = 0
    /// The conjuncts that the ranges take care of, wholly.
    private(set) var answered: Set<Int> = []
    /// The conjuncts that shaped the ranges, for the explanation.
    private(set) var used: [Int] = []
    /// Whether every column has one value or one of a list.
    private(set) var isPoint = false
    /// The share of rows that is expected.
    private(set) var share = 1.0

    /// - Parameter limit: bytes of a key that can be relied on.
    init(_ parts: [Part], _ constraints: [Constraint], limit: Int) {
        var prefix = KeyBuffer()
        var exact: [Int] = []
        while equalCount < parts.count {
            let part = parts[equalCount]
            guard let (constraint, value) = KeySearch.equality(part.term, constraints) else { break }
            KeySearch.append(value, part, to: &prefix)
            note(constraint, &exact)
            share *= value.isNull ? 0.05 : 0.001
            equalCount += 1
        }
        isPoint = equalCount == parts.count
        ranges = [KeyRange(prefix: prefix.bytes)]
        if equalCount < parts.count { narrow(parts[equalCount], prefix.bytes, constraints, parts.count, &exact) }
        var isWider = false
        for index in ranges.indices where ranges[index].widen(to: limit) { isWider = true }
        if !sabotaged("listRangesNotJoined") { ranges = KeyRange.merged(ranges) }
        if isWider {
            isPoint = false
        } else {
            answered = Set(exact)
        }
    }

    private mutating func note(_ constraint: Constraint, _ exact: inout [Int]) {
        if !used.contains(constraint.conjunct) { used.append(constraint.conjunct) }
        if constraint.isExact || sabotaged("inexactConditionDropped") { exact.append(constraint.conjunct) }
    }

    private static func equality(_ term: Constraint.Term, _ constraints: [Constraint]) -> (Constraint, Value)? {
        for constraint in constraints where constraint.term == term {
            if case .equal(let value) = constraint.test { return (constraint, value) }
        }
        for constraint in constraints where constraint.term == term {
            if case .isNull = constraint.test { return (constraint, .null) }
        }
        return nil
    }

    private static func append(_ value: Value, _ part: Part, to buffer: inout KeyBuffer) {
        let start = buffer.count
        buffer.append(value, noCase: part.term.noCase)
        if part.descending { buffer.complement(from: start) }
    }

    /// Takes a list, a range or a prefix on the first column that is not equal to one value.
    private mutating func narrow(
        _ part: Part, _ prefix: [UInt8], _ constraints: [Constraint], _ partCount: Int, _ exact: inout [Int]
    ) {
        let mine = constraints.filter { $0.term == part.term }
        func coded(_ value: Value) -> [UInt8] {
            var buffer = KeyBuffer(prefix)
            KeySearch.append(value, part, to: &buffer)
            return buffer.bytes
        }
        for constraint in mine {
            guard case .isIn(let values) = constraint.test else { continue }
            note(constraint, &exact)
            ranges = values.map { KeyRange(prefix: coded($0)) }
            share *= min(1, 0.001 * Double(values.count))
            isPoint = equalCount + 1 == partCount
            return
        }
        for constraint in mine {
            guard case .prefix(var text) = constraint.test else { continue }
            note(constraint, &exact)
            var buffer = KeyBuffer(prefix)
            let noCase = part.term.noCase
            text.withUTF8 { buffer.appendPrefix(.init($0), noCase: noCase) }
            if part.descending { buffer.complement(from: prefix.count) }
            ranges = [KeyRange(prefix: buffer.bytes)]
            share *= 0.01
            return
        }
        var bounds = KeyRange(prefix: prefix)
        var low: Value?
        var high: Value?
        var isBounded = false
        for constraint in mine {
            switch constraint.test {
            case .lower(let value, let inclusive) where low == nil:
                low = value
                let key = coded(value)
                if part.descending && !sabotaged("descendingBoundNotTurned") {
                    bounds.upper = inclusive ? KeyRange.successor(key) : key
                } else {
                    bounds.lower =
                        inclusive || sabotaged("lowerBoundAlwaysIncluded") ? key : KeyRange.successor(key) ?? key
                }
            case .upper(let value, let inclusive) where high == nil:
                high = value
                let key = coded(value)
                if part.descending {
                    bounds.lower = inclusive ? key : KeyRange.successor(key) ?? key
                } else {
                    bounds.upper = inclusive ? KeyRange.successor(key) : key
                }
            case .notNull: break
            default: continue
            }
            isBounded = true
            note(constraint, &exact)
        }
        guard isBounded else { return }
        // NULL is in no range: it stands before the values, or behind them in a descending column.
        if part.descending {
            if low == nil { bounds.upper = prefix + [0xFF] }
        } else if low == nil {
            bounds.lower = prefix + [1]
        }
        if part.descending && high == nil { bounds.lower = prefix }
        ranges = [bounds]
        share *= low != nil && high != nil ? 0.05 : (low == nil && high == nil ? 0.9 : 0.3)
    }
}
