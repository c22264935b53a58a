import MakoRecords

/// The kind of a change.
public enum ChangeKind: Sendable, Hashable {
    case insert, update, delete
    /// Changes whose objects are unknown: the buffer was full, a read-only database learned of commits without their
    /// individual changes (`Database.refresh()`), or the first use of a type migrated the table. Query again.
    case missed
}

/// One change of one object, delivered after its transaction, with the object's final state.
public struct ObjectChange<T: Entity>: Sendable {
    /// The kind of the change.
    public let kind: ChangeKind
    /// The row's key; nil for `.missed`.
    public let key: RowKey?
    /// The names of the properties that differ; all of them for an insert or a delete.
    public let changedProperties: [String]
    /// The committed object, otherwise one read from the database; for a delete the removed object, if it was removed
    /// as an object.
    public let object: T?
    /// The row images before and after, for watchers `withValues`.
    let values: ChangedRow?
}

/// One change of a row of any entity, for watchers of a whole database.
public struct DatabaseChange: Sendable {
    /// The name of the table.
    public let entity: String
    /// The kind of the change.
    public let kind: ChangeKind
    /// The row's key.
    public let key: RowKey?
    /// The names of the properties that differ; all of them for an insert or a delete.
    public let changedProperties: [String]
    /// The properties that differ, with their values before and after the transaction, as in ``ObjectChange/changes``;
    /// empty without `withValues`.
    public let changes: [PropertyChange]

    /// Returns a property's value before the transaction; nil when it does not differ, for an insert, and without
    /// `withValues`.
    ///
    /// - Parameter name: the name of the property; of a property with several columns the name of one column, such as
    ///   `frame_x`.
    public func oldValue(of name: String) -> StoredValue? { changes.first { $0.name == name }?.old }

    /// Returns a property's value after the transaction; nil when it does not differ, for a delete, and without
    /// `withValues`.
    public func newValue(of name: String) -> StoredValue? { changes.first { $0.name == name }?.new }
}
