/// What is done to a stored table by hand before it is brought to the wanted schema; the steps of a list one after the other, each by the
/// names that columns have at its turn.
public enum TableStep {
    case rename(String, to: String)
    /// The column's values are given up, those of a retired column of that name as well.
    case remove(String)
    /// A column with the same value in each row that is there.
    case add(String, ColumnType, Value)
    /// A column whose values are made of the rows that are there.
    case compute(String, ColumnType, (OldRow) throws -> Value)
    /// Other values, and another type unless it is nil: that of the wanted column, else the one before.
    case transform(String, ColumnType?, (Value) throws -> Value)
    /// The table's former name.
    case renameTable(from: String)
    /// Takes the rows of another table, which goes. The closure gives the values of a row of this one by its columns' names; without one the
    /// columns of both have the same names.
    case merge(from: String, ((OldRow) throws -> [String: Value])?)
    /// Makes rows of another table of each row; `linking` names a new column for the key of the first of them.
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

/// A table as it is to be, and the steps by hand on the way there.
public struct TableMigration {
    /// The steps from a version on, and the version that they lead to.
    public typealias Steps = (_ version: UInt64) throws(RecordError) -> (steps: [TableStep], version: UInt64)

    public var schema: EntitySchema
    public var dropsRetired: Bool
    /// Whether ids mean something to their user: rows that come from another table keep theirs, or are refused.
    public var keepsIDs: Bool
    /// Nil: nothing is done by hand, and nothing has been.
    public var steps: Steps?
    /// For values that are encrypted before or afterwards.
    package var access = CipherAccess.none

    public init(_ schema: EntitySchema, dropsRetired: Bool = false, keepsIDs: Bool = false, steps: Steps? = nil) {
        self.schema = schema
        self.dropsRetired = dropsRetired
        self.keepsIDs = keepsIDs
        self.steps = steps
    }
}

/// A row as it was before a step, for the closure that makes something of it.
public struct OldRow {
    /// The key in its table. A row that came from another table has the one it has there.
    public let key: RowKey
    let names: ColumnNames
    let values: [Value]

    /// The names of the columns.
    public var columns: [String] { names.live }

    /// The value of a column, or of the id.
    ///
    /// - Throws: `RecordError.columnNotFound` with the nearest right name.
    public subscript(name: String) -> Value {
        get throws(RecordError) {
            if let slot = names.slots[name] { return values[slot] }
            if name == names.idColumn, case .rowID(let id) = key { return .integer(id) }
            throw .columnNotFound(
                table: names.table, name: name, nearest: Spelling.nearest(to: name, in: names.live))
        }
    }
}

/// Which columns there are at a step, and where their values stand.
final class ColumnNames {
    let table: String
    let idColumn: String?
    /// Retired columns among them, where no other has the name.
    let slots: [String: Int]
    let live: [String]

    init(table: String, idColumn: String?, slots: [String: Int], live: [String]) {
        self.table = table
        self.idColumn = idColumn
        self.slots = slots
        self.live = live
    }
}
