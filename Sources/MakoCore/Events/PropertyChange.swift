import MakoRecords

/// One property of a changed object with what it held before the transaction and what it holds after it.
public struct PropertyChange: Sendable, Hashable {
    /// The property's name; where its values have several columns, that of one of them, such as `frame_x`.
    public let name: String
    /// What it held before; nil for an object that is new. `.null` stands for a property that was nil.
    public let old: StoredValue?
    /// What it holds now; nil for an object that is gone.
    public let new: StoredValue?

    public init(name: String, old: StoredValue?, new: StoredValue?) {
        self.name = name
        self.old = old
        self.new = new
    }
}

extension ObjectChange {
    /// The properties that differ, in the order of their declaration, with what they held before the transaction and hold after it: each
    /// once, whatever was stored between. All of them for an insert or a delete.
    ///
    /// ```swift
    /// let token = try Person.onChange(.update, withValues: true) { change in
    ///     for property in change.changes { print("\(property.name): \(property.old) -> \(property.new)") }
    /// }
    /// ```
    ///
    /// Empty unless the watcher asked `withValues`, and for a transaction that had begun before it did. A property that was changed and changed
    /// back is among ``changedProperties`` but not here. A reference has the key of the object it leads to, a collection of objects their keys as
    /// bytes (``oldKeys(of:)`` gives them one by one). Encrypted values are decrypted; one that cannot be is nil.
    ///
    /// - Complexity: linear in the size of the row.
    public var changes: [PropertyChange] {
        guard let values else { return [] }
        return values.changes { T.entityModel.fieldName(ofColumn: $0) }
    }

    /// What a property held before the transaction, whether it differs or not.
    ///
    /// ```swift
    /// if let before = change.oldValue(of: \.age) { print("was \(before)") }
    /// ```
    ///
    /// Nil for an insert, and where ``changes`` would be empty for want of being asked for. For references see ``oldValue(of:)-(KeyPath<T,Target?>)``,
    /// for collections of objects ``oldKeys(of:)``: objects themselves are no values.
    public func oldValue<V>(of property: KeyPath<T, V>) -> V? { value(property, values?.old) }

    /// What a property holds after the transaction, whether it differs or not; nil for a delete.
    public func newValue<V>(of property: KeyPath<T, V>) -> V? { value(property, values?.new) }

    /// What an optional property held before the transaction; nil as well when that was nil.
    public func oldValue<V>(of property: KeyPath<T, V?>) -> V? { value(property, values?.old) ?? nil }

    /// What an optional property holds after the transaction; nil as well when that is nil.
    public func newValue<V>(of property: KeyPath<T, V?>) -> V? { value(property, values?.new) ?? nil }

    /// The key of the object that a reference led to before the transaction; nil when it led to none.
    public func oldValue<Target: ObjectEntity>(of reference: KeyPath<T, Target?>) -> RowKey? {
        keys(reference, values?.old)?.first
    }

    /// The key of the object that a reference leads to after the transaction; nil when it leads to none.
    public func newValue<Target: ObjectEntity>(of reference: KeyPath<T, Target?>) -> RowKey? {
        keys(reference, values?.new)?.first
    }

    /// The key of the object that a struct's handle led to before the transaction; nil when it led to none.
    public func oldValue<Target: ObjectEntity>(of reference: KeyPath<T, ToOne<Target>>) -> RowKey? {
        keys(reference, values?.old)?.first
    }

    /// The key of the object that a struct's handle leads to after the transaction; nil when it leads to none.
    public func newValue<Target: ObjectEntity>(of reference: KeyPath<T, ToOne<Target>>) -> RowKey? {
        keys(reference, values?.new)?.first
    }

    /// The key of the struct that a struct's relationship led to before the transaction; nil when it led to none.
    public func oldValue<Target: Entity>(of reference: KeyPath<T, Target?>) -> RowKey?
    where Target._$Kind == EntityKind.Value {
        keys(reference, values?.old)?.first
    }

    /// The key of the struct that a struct's relationship leads to after the transaction; nil when it leads to none.
    public func newValue<Target: Entity>(of reference: KeyPath<T, Target?>) -> RowKey?
    where Target._$Kind == EntityKind.Value {
        keys(reference, values?.new)?.first
    }

    /// The keys of the objects that a reference or a collection of objects held before the transaction, in their order; nil for an insert, and
    /// for a property that holds no objects.
    ///
    /// ```swift
    /// let gone = Set(change.oldKeys(of: \.songs) ?? []).subtracting(change.newKeys(of: \.songs) ?? [])
    /// ```
    public func oldKeys<V>(of relation: KeyPath<T, V>) -> [RowKey]? { keys(relation, values?.old) }

    /// The keys of the objects that a reference or a collection of objects holds after the transaction, in their order; nil for a delete, and
    /// for a property that holds no objects.
    public func newKeys<V>(of relation: KeyPath<T, V>) -> [RowKey]? { keys(relation, values?.new) }

    /// What a property held before the transaction, as its column holds it, whether it differs or not.
    ///
    /// - Parameter name: the property's; of a property with several columns that of one of them, such as `frame_x`.
    public func oldValue(of name: String) -> StoredValue? { stored(name, values?.old) }

    /// What a property holds after the transaction, as its column holds it, whether it differs or not.
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
        if type == .keys {
            guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return [] }
            var keys: [RowKey] = []
            tree.forEachKey { keys.append($1) }
            return keys
        }
        guard let target else { return AnyReference(stored).map { [$0.key] } ?? [] }
        return ReferenceKeys.key(stored, of: target.entityModel).map { [$0] } ?? []
    }

    private func stored(_ name: String, _ row: RowState?) -> StoredValue? {
        let fields = T.entityModel.columns.lazy.flatMap(\.fields)
        return fields.first { $0.name == name }.flatMap { row?.value(ofColumn: $0.column) }
    }
}
