import MakoRecords

/// One property of a changed object with its values before and after the transaction.
public struct PropertyChange: Sendable, Hashable {
    /// The property's name; for a property with several columns the name of one column, such as `frame_x`.
    public let name: String
    /// The value before; nil for an insert. `.null` represents a property that was nil.
    public let old: StoredValue?
    /// The value after; nil for a delete. `.null` represents a property that is nil.
    public let new: StoredValue?

    /// Creates a property change from its parts.
    public init(name: String, old: StoredValue?, new: StoredValue?) {
        self.name = name
        self.old = old
        self.new = new
    }
}

extension ObjectChange {
    /// The properties that differ, in the order of their declaration, with their values before and after the
    /// transaction. Each property occurs once, however often the transaction assigned it; an insert or a delete has all
    /// properties.
    ///
    /// ```swift
    /// let token = try Person.onChange(.update, withValues: true) { change in
    ///     for property in change.changes { print("\(property.name): \(property.old) -> \(property.new)") }
    /// }
    /// ```
    ///
    /// Empty without `withValues`, and for a transaction that began before the watcher subscribed. A property that was
    /// changed and changed back is in ``changedProperties`` but not here. A reference has the key of its object, a
    /// collection of objects their keys as bytes (``oldKeys(of:)`` returns them one by one). Encrypted values are
    /// decrypted; a value that cannot be decrypted is nil.
    ///
    /// - Complexity: linear in the size of the row.
    public var changes: [PropertyChange] {
        guard let values else { return [] }
        return values.changes { T.entityModel.fieldName(ofColumn: $0) }
    }

    /// Returns a property's value before the transaction, whether it differs or not.
    ///
    /// ```swift
    /// if let before = change.oldValue(of: \.age) { print("was \(before)") }
    /// ```
    ///
    /// Returns nil for an insert and without `withValues`. References have ``oldValue(of:)-(KeyPath<T,Target?>)`` and
    /// collections of objects ``oldKeys(of:)``: both return keys, not objects.
    public func oldValue<V>(of property: KeyPath<T, V>) -> V? { value(property, values?.old) }

    /// Returns a property's value after the transaction, whether it differs or not; nil for a delete and without
    /// `withValues`.
    public func newValue<V>(of property: KeyPath<T, V>) -> V? { value(property, values?.new) }

    /// Returns an optional property's value before the transaction; nil also when the value was nil.
    public func oldValue<V>(of property: KeyPath<T, V?>) -> V? { value(property, values?.old) ?? nil }

    /// Returns an optional property's value after the transaction; nil also when the value is nil.
    public func newValue<V>(of property: KeyPath<T, V?>) -> V? { value(property, values?.new) ?? nil }

    /// Returns the key of a reference before the transaction; nil when the reference was nil.
    public func oldValue<Target: ObjectEntity>(of reference: KeyPath<T, Target?>) -> RowKey? {
        keys(reference, values?.old)?.first
    }

    /// Returns the key of a reference after the transaction; nil when the reference is nil.
    public func newValue<Target: ObjectEntity>(of reference: KeyPath<T, Target?>) -> RowKey? {
        keys(reference, values?.new)?.first
    }

    /// Returns the key of a struct's `ToOne` before the transaction; nil when it was empty.
    public func oldValue<Target: ObjectEntity>(of reference: KeyPath<T, ToOne<Target>>) -> RowKey? {
        keys(reference, values?.old)?.first
    }

    /// Returns the key of a struct's `ToOne` after the transaction; nil when it is empty.
    public func newValue<Target: ObjectEntity>(of reference: KeyPath<T, ToOne<Target>>) -> RowKey? {
        keys(reference, values?.new)?.first
    }

    /// Returns the key of a reference to a struct before the transaction; nil when the reference was nil.
    public func oldValue<Target: Entity>(of reference: KeyPath<T, Target?>) -> RowKey?
    where Target._$Kind == EntityKind.Value {
        keys(reference, values?.old)?.first
    }

    /// Returns the key of a reference to a struct after the transaction; nil when the reference is nil.
    public func newValue<Target: Entity>(of reference: KeyPath<T, Target?>) -> RowKey?
    where Target._$Kind == EntityKind.Value {
        keys(reference, values?.new)?.first
    }

    /// Returns the keys of a reference or a collection of objects before the transaction, in their order; nil for an
    /// insert, and for a property that holds no objects.
    ///
    /// ```swift
    /// let gone = Set(change.oldKeys(of: \.songs) ?? []).subtracting(change.newKeys(of: \.songs) ?? [])
    /// ```
    public func oldKeys<V>(of relation: KeyPath<T, V>) -> [RowKey]? { keys(relation, values?.old) }

    /// Returns the keys of a reference or a collection of objects after the transaction, in their order; nil for a
    /// delete, and for a property that holds no objects.
    public func newKeys<V>(of relation: KeyPath<T, V>) -> [RowKey]? { keys(relation, values?.new) }

    /// Returns the column value of a property before the transaction, whether it differs or not.
    ///
    /// - Parameter name: the name of the property; of a property with several columns the name of one column, such as
    ///   `frame_x`.
    public func oldValue(of name: String) -> StoredValue? { stored(name, values?.old) }

    /// Returns the column value of a property after the transaction, whether it differs or not.
    public func newValue(of name: String) -> StoredValue? { stored(name, values?.new) }

    // MARK: -

    private func property(_ keyPath: PartialKeyPath<T>) -> PropertyModel? {
        T.entityModel.columns.first { $0.keyPath == keyPath }
    }

    private func value<V>(_ keyPath: KeyPath<T, V>, _ row: RowState?) -> V? {
        guard let row, let property = property(keyPath), let coding = property.coding as? PropertyCoding<V> else {
            return nil
        }
        var parts: [StoredValue] = []
        for field in property.fields {
            guard let part = row.value(ofColumn: field.column) else { return nil }
            parts.append(part)
        }
        return property.parts.isEmpty ? parts.first.flatMap(coding.value) : coding.joined(parts)
    }

    private func keys(_ keyPath: PartialKeyPath<T>, _ row: RowState?) -> [RowKey]? {
        guard let row, let property = property(keyPath), property.isReference,
            let stored = row.value(ofColumn: property.column), case .column(let type, _, _, let target) = property.kind
        else { return nil }
        if property.refersToAny { return AnyReference.all(in: stored, property).map(\.key) }
        if type == .keys {
            guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return [] }
            return tree.keys
        }
        guard let target else { return [] }
        return ReferenceKeys.key(stored, of: target.entityModel).map { [$0] } ?? []
    }

    private func stored(_ name: String, _ row: RowState?) -> StoredValue? {
        let fields = T.entityModel.columns.lazy.flatMap(\.fields)
        return fields.first { $0.name == name }.flatMap { row?.value(ofColumn: $0.column) }
    }
}
