/// `INSERT INTO …`.
package struct InsertStatement: Sendable, Hashable {
    /// What to do if another row has the new row's key or unique values.
    enum Conflict: Sendable, Hashable {
        case refuse
        /// Delete that row first.
        case replace
        /// Skip the new row, also if a required value is missing.
        case ignore
    }

    enum Source: Sendable, Hashable {
        case values([[Expr]])
        case select(SelectStatement)
        case defaults
    }

    /// The table.
    package let table: TableName
    /// The columns; empty for all columns.
    var columns: [ColumnName] = []
    var source = Source.defaults
    var conflict = Conflict.refuse
    var onConflict: ConflictClause?
    /// The outputs of RETURNING, for each inserted or updated row.
    var returning: [SelectStatement.Output] = []
    /// The number of positional parameters.
    package internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}

/// `UPDATE … SET …`.
package struct UpdateStatement: Sendable, Hashable {
    struct Assignment: Sendable, Hashable {
        let column: ColumnName
        let value: Expr
    }

    /// The table.
    package let table: TableName
    var assignments: [Assignment] = []
    var condition: Condition?
    /// The outputs of RETURNING, for each updated row.
    var returning: [SelectStatement.Output] = []
    /// The number of positional parameters.
    package internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}

/// `DELETE FROM …`.
package struct DeleteStatement: Sendable, Hashable {
    /// The table.
    package let table: TableName
    var condition: Condition?
    /// The outputs of RETURNING, for each deleted row.
    var returning: [SelectStatement.Output] = []
    /// The number of positional parameters.
    package internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}
