/// `INSERT INTO …`.
public struct InsertStatement: Sendable, Hashable {
    /// What is done about a row whose key or unique values another row has.
    enum Conflict: Sendable, Hashable {
        case refuse
        /// That row is deleted first.
        case replace
        /// The new row is left out, also where a value is missing.
        case ignore
    }

    enum Source: Sendable, Hashable {
        case values([[Expr]])
        case select(SelectStatement)
        case defaults
    }

    public let table: TableName
    /// Empty: every column.
    var columns: [ColumnName] = []
    var source = Source.defaults
    var conflict = Conflict.refuse
    var onConflict: ConflictClause?
    /// What the statement gives of each row that it has written.
    var returning: [SelectStatement.Output] = []
    public internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}

/// `UPDATE … SET …`.
public struct UpdateStatement: Sendable, Hashable {
    struct Assignment: Sendable, Hashable {
        let column: ColumnName
        let value: Expr
    }

    public let table: TableName
    var assignments: [Assignment] = []
    var condition: Condition?
    /// What the statement gives of each row that it has changed.
    var returning: [SelectStatement.Output] = []
    public internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}

/// `DELETE FROM …`.
public struct DeleteStatement: Sendable, Hashable {
    public let table: TableName
    var condition: Condition?
    /// What the statement gives of each row that it deletes.
    var returning: [SelectStatement.Output] = []
    public internal(set) var parameterCount = 0

    init(table: TableName) { self.table = table }
}
