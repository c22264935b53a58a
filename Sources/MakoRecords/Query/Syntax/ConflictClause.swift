/// What an INSERT does about a row that has the key or unique values of a new one: `ON CONFLICT … DO NOTHING | UPDATE`.
struct ConflictClause: Sendable, Hashable {
    /// The columns of the key or unique index it is about; empty: any.
    var target: [ColumnName] = []
    let at: SourcePosition
    /// What the row in the way gets; nil: it stays as it is.
    var assignments: [UpdateStatement.Assignment]?
    /// For which rows in the way that holds.
    var condition: Condition?

    var isDeep: Bool {
        condition?.isDeep == true || assignments?.contains { $0.value.isDeep } == true
    }
}

extension Parser {
    /// `ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET column = expression, … [WHERE condition]`
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

    /// `RETURNING expression [[AS] name], …`; empty where nothing is to be returned.
    mutating func returning() throws(RecordError) -> [SelectStatement.Output] {
        guard takeWord("RETURNING") else { return [] }
        var outputs: [SelectStatement.Output] = []
        repeat { outputs.append(try SelectStatement.output(&self)) } while takeSymbol(",")
        return outputs
    }
}
