import MakoRecords
import MakoStorage

// The names of the lower layers that users and generated code need. The rest of those modules stays out of users'
// namespaces.

/// A value of any column type, whose type is known only at run time.
public typealias StoredValue = MakoRecords.Value
/// The type of a column.
public typealias ColumnType = MakoRecords.ColumnType
/// The key of a stored row.
public typealias RowKey = MakoRecords.RowKey
/// Builds the bytes of a row; generated code encodes properties with it.
public typealias RowWriter = MakoRecords.RowWriter
/// Reads the fields of a row; generated code decodes properties with it.
public typealias RowReader = MakoRecords.RowReader
/// How full-text indexes reduce words to stems.
public typealias Stemming = MakoRecords.Stemming
/// How an excerpt marks the matches in a text.
public typealias ExcerptStyle = MakoRecords.ExcerptStyle
/// The durability of a commit when it returns.
public typealias Durability = MakoStorage.Durability
/// The data protection class of a database's files on a device with a passcode.
public typealias FileProtection = MakoStorage.FileProtection
/// The plan of a query, and the rejected alternatives.
public typealias PlanExplanation = MakoRecords.PlanExplanation
/// An operator of a plan, with its inputs.
public typealias PlanNode = MakoRecords.PlanNode
/// Measurements of a plan's operators during one run; see ``Query/explanation(_:analyzing:)``.
public typealias PlanAnalysis = MakoRecords.PlanAnalysis
/// The encryption of a database, and the key that opens it.
public typealias Encryption = MakoStorage.Encryption
/// The key of a database's encrypted properties.
public typealias PropertyKey = MakoStorage.PropertyKey
/// Why an encrypted property cannot be read or stored.
public typealias PropertyKeyProblem = MakoStorage.PropertyKeyProblem
/// The findings of a database check.
public typealias DatabaseReport = MakoRecords.DatabaseReport
/// What a salvage recovered, and what it could not.
public typealias SalvageReport = MakoRecords.TableSalvageReport
/// The progress of a salvage.
public typealias SalvageProgress = MakoStorage.SalvageProgress
/// The progress of a backup.
public typealias CopyProgress = MakoStorage.CopyProgress
/// The result of a backup.
public typealias CopyReport = MakoStorage.CopyReport
