extension SelectStatement {
    private var hasCounts: Bool {
        counts != nil || compounds.contains { $0.statement.hasCounts }
            || commonTables.contains { $0.statement.hasCounts }
    }

    /// Returns the statement with numbers for the parameters of LIMIT and OFFSET; those of sub-queries are resolved
    /// when these are bound.
    ///
    /// - Throws: `syntax` for a parameter without a value, or whose value is not an integer from 0 on.
    func counted(_ parameters: [Value], _ named: [String: Value]) throws(RecordError) -> SelectStatement {
        guard hasCounts else { return self }
        var copy = self
        if let counts {
            if let limit = counts.limit { copy.limit = try SelectStatement.count(limit, "LIMIT", parameters, named) }
            if let offset = counts.offset {
                copy.offset = try SelectStatement.count(offset, "OFFSET", parameters, named)
            }
            copy.counts = nil
        }
        for place in compounds.indices {
            copy.compounds[place].statement = try compounds[place].statement.counted(parameters, named)
        }
        copy.commonTables = []
        for table in commonTables {
            copy.commonTables.append(table.with(try table.statement.counted(parameters, named)))
        }
        return copy
    }

    private static func count(
        _ expr: Expr, _ word: String, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> Int {
        guard case .parameter(let parameter, let at) = expr else {
            throw expr.position.error("a number is expected here")
        }
        let value = try Binder.value(of: parameter, at, parameters, named)
        if case .integer(let number) = value, number >= 0, let count = Int(exactly: number) { return count }
        throw at.error("\(word) takes a whole number from 0 on, not \(value.typeName) \(value)")
    }
}
