// Decimals stand in columns of text. They are compared as texts where they are to be equal, so that indexes serve, and by their values where
// one is to be the smaller.
extension Binder {
    /// Which of two sides is the smaller, where one of them is a decimal; nil: neither is, or that is not asked.
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

    /// What is sorted and compared in the place of a decimal.
    static func decimalOrder(_ expr: BoundExpr) -> BoundExpr {
        .function(.decimalOrder, [expr])
    }

    /// The decimal in whose place something is sorted; anything else itself.
    static func sorted(_ expr: BoundExpr) -> BoundExpr {
        if case .function(.decimalOrder, let arguments) = expr, let decimal = arguments.first { decimal } else { expr }
    }

    /// A constant as the column of a decimal holds it.
    func decimal(_ value: Value, _ other: BoundExpr, _ source: Expr) throws(RecordError) -> Value {
        // No number is equal to it, but it may be stored.
        if value == .text("NaN") { return value }
        if let decimal = DecimalText(value) { return .text(decimal.plain) }
        throw source.position.error(
            "\(describe(other)), which cannot be compared with \(value.typeName) \(value)")
    }
}
