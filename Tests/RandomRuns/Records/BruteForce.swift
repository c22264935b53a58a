import MakoRecords

/// The where language once more, plainly and slowly, over rows of values: what the executor must agree with.
package struct BruteForce {
    /// The values of a row by their columns.
    package typealias Row = [String: Value]

    /// The row to which a reference leads, by the column's name and its value.
    private let related: (String, Value) -> Row?
    /// The name of the key in the table to which a column leads.
    private let keyName: (String) -> String

    package init(keyName: @escaping (String) -> String = { _ in "id" }, related: @escaping (String, Value) -> Row?) {
        self.keyName = keyName
        self.related = related
    }

    /// The no-case form of a text.
    package static func folded(_ value: Value) -> Value {
        guard case .text(let text) = value else { return value }
        var result = ""
        for scalar in text.unicodeScalars { result += scalar.properties.lowercaseMapping }
        return .text(result)
    }

    /// Returns the value of an expression for a row.
    package func value(_ expr: Expr, _ row: Row) -> Value {
        switch expr {
        case .literal(let value, _): return value
        case .column(let path, _): return follow(path[...], row)
        case .negate(let inner):
            switch value(inner, row) {
            case .integer(let number): return .integer(-number)
            case .double(let number): return .double(-number)
            default: return .null
            }
        case .arithmetic(.add, let left, let right, _):
            guard case .integer(let x) = value(left, row), case .integer(let y) = value(right, row) else {
                return .null
            }
            let (sum, overflow) = x.addingReportingOverflow(y)
            return overflow ? .double(Double(x) + Double(y)) : .integer(sum)
        case .function("lower", let arguments, _):
            guard case .text(let text) = value(arguments[0], row) else { return .null }
            return BruteForce.folded(.text(text))
        case .function("coalesce", let arguments, _):
            return arguments.lazy.map { value($0, row) }.first { !$0.isNull } ?? .null
        case .noCase(let inner):
            guard case .text(let text) = value(inner, row) else { return .null }
            return BruteForce.folded(.text(text))
        case .condition(let condition, _):
            return truth(condition, row).map { .integer($0 ? 1 : 0) } ?? .null
        case .choice(let choice):
            let chosen = choice.branches.first { truth(tested($0.condition, choice.subject), row) == true }
            return (chosen?.value ?? choice.otherwise).map { value($0, row) } ?? .null
        default: return .null
        }
    }

    /// The condition of a CASE branch with the subject inserted.
    private func tested(_ condition: Condition, _ subject: Expr?) -> Condition {
        guard let subject, case .comparison(let operation, .subject, let other) = condition else { return condition }
        return .comparison(operation, subject, other)
    }

    private func follow(_ path: ArraySlice<String>, _ row: Row) -> Value {
        guard let name = path.first, let value = row[name] else { return .null }
        if path.count == 1 { return value }
        // The key of the target is the reference itself.
        if path.count == 2, path.last == keyName(name) { return value }
        return related(name, value).map { follow(path.dropFirst(), $0) } ?? .null
    }

    /// Returns whether a condition is true for a row, nil when it is unknown.
    package func truth(_ condition: Condition, _ row: Row) -> Bool? {
        switch condition {
        case .constant(let flag): return flag
        case .and(let parts):
            let results = parts.map { truth($0, row) }
            return results.contains(false) ? false : (results.contains(nil) ? nil : true)
        case .or(let parts):
            let results = parts.map { truth($0, row) }
            return results.contains(true) ? true : (results.contains(nil) ? nil : false)
        case .not(let inner): return truth(inner, row).map { !$0 }
        case .isNull(let expr): return value(expr, row).isNull
        case .truth(let expr):
            if case .bool(let flag) = value(expr, row) { return flag }
            return nil
        case .comparison(let operation, let left, let right):
            return compare(left, right, row).map { BruteForce.holds(operation, $0) }
        case .between(let expr, let low, let high):
            return truth(.and([.comparison(.greaterOrEqual, expr, low), .comparison(.lessOrEqual, expr, high)]), row)
        case .isIn(let expr, let items):
            if items.isEmpty { return false }
            return truth(.or(items.map { .comparison(.equal, expr, $0) }), row)
        case .isAmong(let expr, let values): return truth(.isIn(expr, values.map { .literal($0) }), row)
        case .like(let expr, let pattern, let escape):
            guard case .text(let text) = value(expr, row), case .text(let pattern) = value(pattern, row) else {
                return nil
            }
            var mark: Unicode.Scalar?
            if let escape, case .text(let text) = value(escape, row) { mark = text.unicodeScalars.first }
            return like(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...], mark)
        case .glob(let expr, let pattern):
            guard case .text(let text) = value(expr, row), case .text(let pattern) = value(pattern, row) else {
                return nil
            }
            return glob(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
        // The model has no words; other tests cover MATCH.
        case .match: return nil
        // Other tables have models of their own.
        case .isInQuery, .exists, .quantified, .elements: return nil
        }
    }

    private static func holds(_ operation: ComparisonOperator, _ order: Int) -> Bool {
        switch operation {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }

    private func compare(_ left: Expr, _ right: Expr, _ row: Row) -> Int? {
        var (x, y) = (left, right)
        if case .noCase = left { if case .noCase = right {} else { y = .noCase(right) } }
        if case .noCase = right { if case .noCase = left {} else { x = .noCase(left) } }
        return value(x, row).compare(value(y, row))
    }

    /// Recurses once for each `%`, not for each letter: the model runs on small stacks, too.
    private func like(
        _ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>, _ mark: Unicode.Scalar?
    ) -> Bool {
        var (text, pattern) = (text, pattern)
        while let first = pattern.popFirst() {
            if first == mark, let literal = pattern.popFirst() {
                guard text.popFirst() == literal else { return false }
                continue
            }
            if first == "%" { return (text.startIndex...text.endIndex).contains { like(text[$0...], pattern, mark) } }
            guard let letter = text.popFirst() else { return false }
            let isSame =
                first == "_" || letter == first
                || (letter.isASCII && first.isASCII
                    && letter.properties.lowercaseMapping == first.properties.lowercaseMapping)
            if !isSame { return false }
        }
        return text.isEmpty
    }

    private func glob(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        var (text, pattern) = (text, pattern)
        while let first = pattern.popFirst() {
            if first == "*" { return (text.startIndex...text.endIndex).contains { glob(text[$0...], pattern) } }
            guard let letter = text.popFirst(), first == "?" || letter == first else { return false }
        }
        return text.isEmpty
    }
}
