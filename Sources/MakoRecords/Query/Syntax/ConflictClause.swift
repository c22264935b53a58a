/// The handling of rows that conflict with a new row in the key or a unique index: `ON CONFLICT … DO NOTHING | UPDATE`.
struct ConflictClause: Sendable, Hashable {
    /// The columns of the key or unique index that the clause applies to; empty for any.
    var target: [ColumnName] = []
    let at: SourcePosition
    /// The assignments to the conflicting row; `nil` for DO NOTHING.
    var assignments: [UpdateStatement.Assignment]?
    /// The condition on conflicting rows.
    var condition: Condition?

    var isDeep: Bool {
        condition?.isDeep == true || assignments?.contains { $0.value.isDeep } == true
    }
}

extension Parser {
    /// Parses `ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET column = expression, … [WHERE condition]`.
    mutating func conflictClause() throws(RecordError) -> ConflictClause? {
        guard startsConflict else { return nil }
        let start = token
        advance()
        advance()
        var clause = ConflictClause(at: position(start))
        if takeSymbol("(") {
            repeat { clause.target.append(try columnName()) } while takeSymbol(",")
            try expectSymbol(")")
            if isWord("WHERE") {
                throw position(token).error(
                    "ON CONFLICT cannot name a partial index; leave the columns out, which means any")
            }
        }
        try expectWord("DO")
        if takeWord("NOTHING") { return clause }
        try expectWord("UPDATE")
        try expectWord("SET")
        clause.assignments = try assignments()
        if takeWord("WHERE") { clause.condition = try condition() }
        return clause
    }

    mutating func assignments() throws(RecordError) -> [UpdateStatement.Assignment] {
        var assignments: [UpdateStatement.Assignment] = []
        repeat {
            let column = try columnName()
            guard takeSymbol("=") || takeSymbol("==") else { throw unexpected("\"=\"") }
            assignments.append(.init(column: column, value: try expression()))
        } while takeSymbol(",")
        return assignments
    }

    /// Parses `RETURNING expression [[AS] name], …`; empty without RETURNING.
    mutating func returning() throws(RecordError) -> [SelectStatement.Output] {
        guard takeWord("RETURNING") else { return [] }
        var outputs: [SelectStatement.Output] = []
        repeat { outputs.append(try SelectStatement.output(&self)) } while takeSymbol(",")
        return outputs
    }
}
