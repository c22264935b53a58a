import Foundation
import MakoRecords
import MakoStorage

/// The errors of the object layer. `description` says what was wrong, where, and what to do.
///
/// ```swift
/// do { try ada.commit() } catch .duplicate(let entity, let names, let values) { … }
/// ```
public enum MakoError: Error, Sendable, Hashable {
    /// There is no database: no argument, no running transaction or read, no default.
    case noDatabase(entity: String)
    /// The database was closed.
    case closed(path: String)
    /// The file is open already: in this process with other options, or in another process.
    case alreadyOpen(path: String)
    /// `tx.rollback()` rolled the transaction back.
    case rolledBack
    /// A hook of an object refused.
    case vetoed(entity: String, hook: String)
    /// A transaction was used after its end or on another thread.
    case transactionEnded
    /// An object of one database was used with another.
    case foreignObject(entity: String)
    /// An object was to be saved that was deleted before.
    case deleted(entity: String, key: String)
    /// The row does not exist.
    case notFound(entity: String, key: String)
    /// Another row has the same values in a unique index or in the key.
    case duplicate(entity: String, properties: [String], values: [StoredValue])
    /// Other objects refer to this one and the delete rule is `.deny`; or a statement would remove rows to which others
    /// refer, without a delete rule for that.
    case deniedByReference(entity: String, from: String, property: String)
    /// A statement would store a reference to a row that does not exist.
    case danglingReference(entity: String, property: String, target: String, value: StoredValue)
    /// A value does not match the type of its property.
    case typeMismatch(entity: String, property: String, expected: String, found: String)
    /// A row has a value that its property does not accept, for example one stored by a statement.
    case unreadableValue(entity: String, key: String, property: String, reason: String)
    /// A value cannot be stored, or a statement would store a value that the property does not accept. Without a key,
    /// there is no row yet.
    case unstorableValue(entity: String, key: String?, property: String, reason: String)
    /// A column of a `SELECT` has a value that is not of the requested type; rows are counted from 0.
    case columnMismatch(column: String, row: Int, expected: String, found: String)
    /// Typed rows need a column that the result does not have, or, without a name, another number of columns.
    case columnMissing(column: String?, expected: String, columns: [String])
    /// A keyed store has a value of another type than the requested one.
    case storedAsOtherType(store: String, key: String, stored: String, requested: String)
    /// A required property has no value.
    case missingValue(entity: String, property: String)
    /// The property name is unknown.
    case unknownProperty(entity: String, name: String, nearest: String?)
    /// A where string, order or expression is invalid; the message shows the text with a caret under the error.
    case query(message: String)
    /// The table cannot be migrated to the type.
    case migration(entity: String, reason: String)
    /// The table naming of the file differs from that of the options; nil: the names of the types. See
    /// ``DatabaseOptions/tableNaming``.
    case tableNaming(path: String, stored: String?, requested: String?)
    /// An encrypted property cannot be read or stored: there is no key or a wrong key, or the stored value is damaged.
    case propertyKey(entity: String, property: String, PropertyKeyProblem)
    /// Stored bytes are damaged.
    case damaged(reason: String)
    /// The database keeps no history; see ``DatabaseOptions/history``.
    case historyNotKept(path: String)
    /// The token is of another database's history, or the database was salvaged since.
    case foreignHistory(path: String)
    /// The database is read-only.
    case readOnly(reason: String)
    /// Waiting for the writer lock took longer than the options allow.
    case writerTimeout(seconds: Double)
    /// The storage engine or the operating system reported an error.
    case storage(StorageError)
    /// The waiting task was cancelled; nothing was changed.
    case cancelled
    /// An argument is invalid.
    case invalidArgument(String)
    /// The operation is not supported.
    case unsupported(String)
    /// A statement would remove a table or an index of a type in use; nothing was changed.
    case tableInUse(table: String, entity: String, remedy: String)
}

extension MakoError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .noDatabase(let entity):
            "no database for \(entity): set Database.default, use Database.withDefault, or call db.save and db.query"
        case .closed(let path): "the database\(path.isEmpty ? "" : " " + path) is closed; open it again"
        case .alreadyOpen(let path):
            "\(path) is open already, here with other options or elsewhere; use the open database or close it first"
        case .rolledBack: "the transaction was rolled back on request; nothing was changed"
        case .vetoed(let entity, let hook):
            "\(hook) of a \(entity) refused; nothing was changed. Change the object, or what the hook requires"
        case .transactionEnded:
            "the transaction has ended or belongs to another thread; use it only inside its closure, on the thread that runs it"
        case .foreignObject(let entity):
            "this \(entity) belongs to another database; relate and save objects of one database only"
        case .deleted(let entity, let key):
            "this \(entity) with key \(key) was deleted, and a deleted object cannot be saved; save its clone() or a new object"
        case .notFound(let entity, let key): "there is no \(entity) with key \(key)"
        case .duplicate(let entity, let properties, let values):
            "there is a \(entity) with \(properties.joined(separator: ", ")) = "
                + "\(values.map(\.description).joined(separator: ", ")) already; change the value or update that object"
        case .deniedByReference(let entity, let from, let property):
            "this \(entity) cannot be removed: \(from).\(property) refers to it, and its delete rule is .deny, or it "
                + "has none; change or remove what refers to it first"
        case .danglingReference(let entity, let property, let target, let value):
            "\(RecordError.danglingReference(table: entity, column: property, target: target, value: value))"
        case .typeMismatch(let entity, let property, let expected, let found):
            "\(entity).\(property) takes \(expected), not \(found)" + DateText.hint(expected: expected, found: found)
        case .unreadableValue(let entity, let key, let property, let reason):
            "\(entity).\(property) of the row with key \(key) cannot be read: \(reason); store another value there, or have "
                + "the property's type accept it"
        case .unstorableValue(let entity, let key, let property, let reason):
            "\(entity).\(property)" + (key.map { " of the row with key \($0)" } ?? "") + " cannot be stored: \(reason)"
        case .columnMismatch(let column, let row, let expected, let found):
            "\(column) of row \(row) holds \(found), not \(expected)"
                + (found == "NULL" ? "; use \(expected)?, or leave such rows out" : "")
        case .columnMissing(let column?, let expected, let columns):
            "the result has no column \(column), where \(expected) is expected; it has \(columns.joined(separator: ", "))"
        case .columnMissing(nil, let expected, let columns):
            "the result has \(columns.isEmpty ? "no columns" : "the columns \(columns.joined(separator: ", "))"), which are not "
                + "as many as \(expected) takes"
        case .storedAsOtherType(let store, let key, let stored, let requested) where stored == requested:
            "the \(stored) under \(StoreContent.quoted(key)) in the store \(store) was stored by another form of that type, "
                + "whose properties do not fit; give those that came later a default value in init(from:)"
        case .storedAsOtherType(let store, let key, let stored, let requested):
            "\(StoreContent.quoted(key)) in the store \(store) has a value of type \(stored), not \(requested); read it as "
                + (stored == "nil"
                    ? "an optional" : "\(stored), or pass converting: true where the type has another name now")
        case .missingValue(let entity, let property): "\(entity).\(property) must have a value"
        case .unknownProperty(let entity, let name, let nearest):
            "\(entity) has no property \(name)" + (nearest.map { "; did you mean \($0)?" } ?? "")
        case .query(let message): message
        case .tableNaming(let path, let stored, let wanted):
            "the tables of \(path) are named by \(stored.map { "'\($0)'" } ?? "their types"), and not by "
                + "\(wanted.map { "'\($0)'" } ?? "their types"); open it with that 'tableNaming', or give the types their "
                + "tables by @Entity(\"name\")"
        case .migration(let entity, let reason): "the stored \(entity) cannot be migrated: \(reason)"
        case .propertyKey(let entity, let property, let problem): "\(entity).\(property) is encrypted: \(problem)"
        case .damaged(let reason): "\(reason); run `mako check` and restore a backup or salvage the file"
        case .historyNotKept(let path):
            "\(path) keeps no history of its changes; open it with DatabaseOptions.history = .kept() to begin one"
        case .foreignHistory(let path):
            "the token is of another history than that of \(path); read everything anew and go on from historyToken()"
        case .readOnly(let reason): "the database cannot be written: \(reason)"
        case .writerTimeout(let seconds): "another writer held the database for \(seconds) seconds"
        case .storage(let error): "\(error)"
        case .cancelled: "the task was cancelled; nothing was changed"
        case .invalidArgument(let what): what
        case .unsupported(let what): "\(what) is not supported"
        case .tableInUse(let table, let entity, let remedy):
            "\(table) is in use by \(entity); nothing was changed. To do without it, \(remedy)"
        }
    }
    public var errorDescription: String? { description }
}

extension MakoError {
    /// Converts an error of the record layer.
    package init(_ error: RecordError) {
        switch error {
        case .storage(let storage): self.init(storage)
        case .cancelled: self = .cancelled
        case .tableNotFound(let name, let nearest):
            self = .query(message: "there is no table \(name)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
        case .columnNotFound(let table, let name, let nearest):
            self = .unknownProperty(entity: table, name: name, nearest: nearest)
        case .typeMismatch(let table, let column, let expected, let found):
            self = .typeMismatch(entity: table, property: column, expected: "\(expected)", found: found)
        case .nullViolation(let table, let column): self = .missingValue(entity: table, property: column)
        case .uniqueViolation(let table, let columns, let values, _),
            .duplicateKey(let table, _, let columns, let values):
            self = .duplicate(entity: table, properties: columns, values: values)
        case .syntax(let fault): self = .query(message: "\(fault)")
        case .incompatibleSchema(let table, _), .conversionFailed(let table, _, _, _):
            self = .migration(entity: table, reason: "\(error)")
        case .invalidKey: self = .invalidArgument("\(error)")
        case .idsExhausted(let table):
            self = .unstorableValue(entity: table, key: nil, property: "id", reason: "\(error)")
        case .referenced(let table, _, let other, let column, _, _):
            self = .deniedByReference(entity: table, from: other, property: column)
        case .danglingReference(let table, let column, let target, let value):
            self = .danglingReference(entity: table, property: column, target: target, value: value)
        case .valueRefused(let table, let key, let column, let reason):
            self = .unstorableValue(entity: table, key: key, property: column, reason: reason)
        case .migrationFailed(let table, let reason): self = .migration(entity: table, reason: reason)
        case .stepFailed(let table, let step, let row, let reason):
            self = .migration(
                entity: table, reason: "\(step) fails at row \(row): \(reason); nothing was changed")
        case .valueSealed(let table, let column, let problem):
            self = .propertyKey(entity: table, property: column, problem)
        case .catalogueDamaged(let reason): self = .damaged(reason: "the catalogue is damaged: \(reason)")
        case .rowDamaged, .indexDamaged: self = .damaged(reason: "\(error)")
        }
    }

    /// Converts an error of a migration, in which a key or a duplicate concerns existing rows, not a row or a key of the
    /// caller.
    init(migrating error: RecordError) {
        self.init(error)
        switch error {
        case .invalidKey(let table, _), .idsExhausted(let table):
            self = .migration(entity: table, reason: "\(error)")
        default: break
        }
        guard case .duplicate(let entity, let properties, let values) = self else { return }
        self = .migration(
            entity: entity,
            reason: "several rows have \(properties.joined(separator: ", ")) = "
                + "\(values.map(\.brief).joined(separator: ", ")), which is to be unique; change all but one of them first"
        )
    }

    /// Converts an error of the engine.
    package init(_ error: StorageError) {
        switch error {
        case .closed(let path): self = .closed(path: path)
        // Without the engine's remedy, because the text of `damaged` has its own.
        case .corrupted(let page, let reason): self = .damaged(reason: "page \(page) is damaged: \(reason)")
        case .alreadyOpen(let path): self = .alreadyOpen(path: path)
        case .writerTimeout(let seconds): self = .writerTimeout(seconds: seconds)
        default: self = .storage(error)
        }
    }

    /// Converts an error of a call that rethrows a closure's, for closures of this module, which throw the errors of its
    /// layers.
    @usableFromInline
    init(any error: any Error) {
        if let error = error as? MakoError { self = error } else { self.init(RecordError(any: error)) }
    }
}

extension MakoError {
    /// A negative number where rows are counted.
    static func negative(_ name: String, _ count: Int) -> MakoError {
        .invalidArgument("\(name)(\(count)): the number of rows is negative; leave \(name) out for all rows")
    }
}

/// Runs calls of the record layer and converts their errors.
@inline(__always)
func records<R: ~Copyable>(_ body: () throws(RecordError) -> R) throws(MakoError) -> R {
    do { return try body() } catch { throw MakoError(error) }
}

/// Runs calls of the storage layer and converts their errors.
@inline(__always)
func storage<R: ~Copyable>(_ body: () throws(StorageError) -> R) throws(MakoError) -> R {
    do { return try body() } catch { throw MakoError(error) }
}

/// Runs calls that rethrow a closure's error, for closures of this module.
@inline(__always)
func translated<R>(_ body: () throws -> R) throws(MakoError) -> R {
    do { return try body() } catch { throw MakoError(any: error) }
}
