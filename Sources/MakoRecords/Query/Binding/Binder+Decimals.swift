// Decimals are stored in text columns. Equality compares their canonical texts, so that indexes serve; order compares
// their values.
extension Binder {
    /// Returns an order comparison where one side is a decimal; `nil` for other comparisons.
    func decimals(
        _ operation: ComparisonOperator, _ left: BoundExpr, _ right: BoundExpr, _ leftSource: Expr, _ rightSource: Expr
    ) throws(RecordError) -> BoundCondition? {
        guard kind(left) == .decimal || kind(right) == .decimal, operation != .equal, operation != .notEqual else {
            return nil
        }
        if left.constant?.isNull == true || right.constant?.isNull == true { return .constant(nil) }
        let first = try ordered(left, right, leftSource)
        let second = try ordered(right, left, rightSource)
        return left.constant == nil
            ? .comparison(operation, first, second) : .comparison(operation.mirrored, second, first)
    }

    private func ordered(_ side: BoundExpr, _ other: BoundExpr, _ source: Expr) throws(RecordError) -> BoundExpr {
        if let value = side.constant {
            return .function(.decimalOrder, [.constant(try decimal(value, other, source))])
        }
        guard kind(side) == .decimal || kind(side).isNumber || kind(side) == .null else {
            throw source.position.error("\(describe(side)), which cannot be compared with \(phrase(other))")
        }
        return Binder.decimalOrder(side)
    }

    /// Returns the sort key of a decimal.
    static func decimalOrder(_ expr: BoundExpr) -> BoundExpr {
        .function(.decimalOrder, [expr])
    }

    /// Returns the decimal of which the expression is the sort key; other expressions unchanged.
    static func sorted(_ expr: BoundExpr) -> BoundExpr {
        if case .function(.decimalOrder, let arguments) = expr, let decimal = arguments.first { decimal } else { expr }
    }

    /// Returns a constant in the form that a decimal column stores.
    func decimal(_ value: Value, _ other: BoundExpr, _ source: Expr) throws(RecordError) -> Value {
        // NaN equals no number, but a column may store it.
        if value == .text("NaN") { return value }
        if let decimal = DecimalText(value) { return .text(decimal.plain) }
        throw source.position.error(
            "\(describe(other)), which cannot be compared with \(value.typeName) \(value)")
    }
}
