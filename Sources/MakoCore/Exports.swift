import MakoRecords
import MakoStorage

// What users and generated code name of the rooms below. Everything else of them stays out of users' namespaces.

/// A value of any column type, when its type is known only at run time.
public typealias StoredValue = MakoRecords.Value
/// The kind of value a column holds.
public typealias ColumnType = MakoRecords.ColumnType
/// The key of a stored row.
public typealias RowKey = MakoRecords.RowKey
/// Builds the bytes of a row; generated code writes properties into it.
public typealias RowWriter = MakoRecords.RowWriter
/// Reads the fields of a row; generated code reads properties from it.
public typealias RowReader = MakoRecords.RowReader
/// How words are brought to a form that several share, for full-text indexes.
public typealias Stemming = MakoRecords.Stemming
/// How a text is shown with what was found in it.
public typealias ExcerptStyle = MakoRecords.ExcerptStyle
/// How sure a commit is when it returns.
public typealias Durability = MakoStorage.Durability
/// When the files of a database can be read and written on a device with a passcode.
public typealias FileProtection = MakoStorage.FileProtection
/// How a query is run, and what else was thought of.
public typealias PlanExplanation = MakoRecords.PlanExplanation
/// An operator of a plan, with those that feed it.
public typealias PlanNode = MakoRecords.PlanNode
/// What the operators of a plan did when its query was run once; see ``Query/explanation(_:analyzing:)``.
public typealias PlanAnalysis = MakoRecords.PlanAnalysis
/// How a database is encrypted, and what it opens with.
public typealias Encryption = MakoStorage.Encryption
/// What the encrypted properties of a database are sealed with.
public typealias PropertyKey = MakoStorage.PropertyKey
/// Why an encrypted property cannot be read or stored.
public typealias PropertyKeyProblem = MakoStorage.PropertyKeyProblem
/// What a check of a whole database found.
public typealias DatabaseReport = MakoRecords.DatabaseReport
/// What could be saved of a damaged database, and what not.
public typealias SalvageReport = MakoRecords.TableSalvageReport
/// How far a salvage has come.
public typealias SalvageProgress = MakoStorage.SalvageProgress
/// How far a backup has come.
public typealias CopyProgress = MakoStorage.CopyProgress
/// What a backup holds.
public typealias CopyReport = MakoStorage.CopyReport
