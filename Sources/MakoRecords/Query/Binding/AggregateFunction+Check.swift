extension AggregateFunction {
    /// - Throws: `syntax` for kinds of values that the aggregate does not take.
    func check(_ kind: ValueKind, _ expr: Expr) throws(RecordError) {
        if kind == .decimal, self == .minimum || self == .maximum {
            throw expr.position.error(
                "\(rawValue) is not worked out of decimals here; order by them and take the first")
        }
        guard adds, !kind.isNumber, kind != .null else { return }
        throw expr.position.error("\(rawValue) needs numbers, and this is \(kind.name)")
    }
}
