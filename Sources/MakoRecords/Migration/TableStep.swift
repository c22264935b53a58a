/// A manual step, executed before the table is migrated to its declared schema. Steps run in order, each with the
/// column names at that point.
package enum TableStep {
    /// A new name of a column.
    case rename(String, to: String)
    /// The column is dropped, and a retired column of that name as well.
    case remove(String)
    /// A new column with the same value in each existing row.
    case add(String, ColumnType, Value)
    /// A new column with a computed value in each existing row.
    case compute(String, ColumnType, (OldRow) throws -> Value)
    /// A column's values are computed. The column gets the type of its declared column; without one, the given type, or
    /// keeps its own.
    case transform(String, ColumnType?, (Value) throws -> Value)
    /// The table's former name.
    case renameTable(from: String)
    /// The rows of another table move to this one, and that table is dropped. The closure returns the values of a row
    /// by the column names of this table; without it, both tables have the same columns.
    case merge(from: String, ((OldRow) throws -> [String: Value])?)
    /// Rows of another table are made from each row; `linking` names a new column for the key of the first of them.
    case split(into: String, linking: String?, (OldRow) throws -> [[String: Value]])

    var text: String {
        switch self {
        case .rename(let old, let new): "rename \(old) to \(new)"
        case .remove(let name): "remove \(name)"
        case .add(let name, _, let value): "add \(name) as \(value)"
        case .compute(let name, _, _): "compute \(name)"
        case .transform(let name, _, _): "transform \(name)"
        case .renameTable(let old): "take over table \(old)"
        case .merge(let source, _): "merge the rows of \(source)"
        case .split(let target, _, _): "split into \(target)"
        }
    }
}

/// A table's declared schema, and its manual steps.
package struct TableMigration {
    /// Returns the steps from a version on, and the version after them.
    package typealias Steps = (_ version: UInt64) throws(RecordError) -> (steps: [TableStep], version: UInt64)

    /// The declared schema.
    package var schema: EntitySchema
    /// Whether retired columns are dropped.
    package var dropsRetired: Bool
    /// Whether row ids are significant: rows of another table keep theirs, or are refused.
    package var keepsIDs: Bool
    /// The manual steps; `nil` if there are none, and have never been.
    package var steps: Steps?
    /// Whether the version of the manual steps in the file is left as it is, as by a statement.
    package var keepsVersion = false
    /// The cipher, for values that are encrypted before or after.
    package var access = CipherAccess.none

    /// Makes the migration of a table.
    package init(_ schema: EntitySchema, dropsRetired: Bool = false, keepsIDs: Bool = false, steps: Steps? = nil) {
        self.schema = schema
        self.dropsRetired = dropsRetired
        self.keepsIDs = keepsIDs
        self.steps = steps
    }
}

/// A row before a step, passed to the step's closure.
package struct OldRow {
    /// The key in its table; for a row of another table, the key in that one.
    package let key: RowKey
    let names: ColumnNames
    let values: [Value]

    /// The names of the columns.
    package var columns: [String] { names.live }

    /// Returns the value of a column, or the row id.
    ///
    /// - Throws: `RecordError.columnNotFound` with the nearest existing name.
    package subscript(name: String) -> Value {
        get throws(RecordError) {
            if let slot = names.slots[name] { return values[slot] }
            if name == names.idColumn, case .rowID(let id) = key { return .integer(id) }
            throw .columnNotFound(
                table: names.table, name: name, nearest: Spelling.nearest(to: name, in: names.live))
        }
    }
}

/// The columns at a step, and their slots.
final class ColumnNames {
    let table: String
    let idColumn: String?
    /// By name; a retired column if no live one has the name.
    let slots: [String: Int]
    let live: [String]

    init(table: String, idColumn: String?, slots: [String: Int], live: [String]) {
        self.table = table
        self.idColumn = idColumn
        self.slots = slots
        self.live = live
    }
}
