import MakoRecords

/// What happened to an object.
public enum ChangeKind: Sendable, Hashable {
    case insert, update, delete
    /// Changes were left out here, because nobody took them while the buffer was full, or because a database that is only read does not know them
    /// one by one (`Database.refresh()`): read anew.
    case missed
}

/// One change of one object, told after the transaction that made it, with the object's final state.
public struct ObjectChange<T: Entity>: Sendable {
    public let kind: ChangeKind
    /// The row's key; nil for `.missed`.
    public let key: RowKey?
    /// The names of the properties that differ; all of them for an insert or a delete.
    public let changedProperties: [String]
    /// The object that was committed, else the stored one; for a delete the removed object, when it was removed as an object.
    public let object: T?
    /// The object's row before and after, where the watcher asked for values.
    let values: ChangedRow?
}

/// The type of a change with the row's number, for watchers of a whole database.
public struct DatabaseChange: Sendable {
    public let entity: String
    public let kind: ChangeKind
    public let key: RowKey?
    public let changedProperties: [String]
    /// The properties that differ with what they held before the transaction and hold after it, as ``ObjectChange/changes`` gives them; empty
    /// unless the handler asked `withValues`.
    public let changes: [PropertyChange]

    /// What a property held before the transaction; nil where it does not differ, for an insert, and for a handler without values.
    ///
    /// - Parameter name: the property's; of a property with several columns one of them, such as `frame_x`.
    public func oldValue(of name: String) -> StoredValue? { changes.first { $0.name == name }?.old }

    /// What a property holds after the transaction; nil where it does not differ, for a delete, and for a handler without values.
    public func newValue(of name: String) -> StoredValue? { changes.first { $0.name == name }?.new }
}
