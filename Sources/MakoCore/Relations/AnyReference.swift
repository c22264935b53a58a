import MakoRecords

extension EntityCoding {
    /// The codec of a reference to an object of any entity.
    public typealias AnyReferenceCodec = ReferenceCodec<StrongSlot<AnyAddress>>
}

extension ObjectEntity {
    /// The table and key of the object; nil before its first save.
    var anyReference: AnyReference? {
        storedKey.map { AnyReference(table: type(of: self).entityModel.table, key: $0) }
    }
}

extension ObjectEntity {
    /// Loads the object of a reference to any entity and returns it. Throws where property access would return nil
    /// because of an error.
    ///
    /// - Throws: `MakoError.unsupported` when the class of the object is not in use; the error of the load.
    @discardableResult
    public func load(_ relation: KeyPath<Self, (any ObjectEntity)?>) throws(MakoError) -> (any ObjectEntity)? {
        lockedState { $0.setLoadError(nil) }
        let value = self[keyPath: relation]
        if value == nil, let error = loadError { throw error }
        return value
    }
}

// MARK: - Conditions

/// Returns the condition that a reference to any entity leads to this object, or, for nil, to none.
public func == <R: Entity>(
    left: KeyPath<Row<R>, Column<(any ObjectEntity)?>>, right: (any ObjectEntity)?
) -> Condition<R> {
    if let right, right.anyReference == nil { return Condition(.constant(false)) }
    return ConditionBuilder.compare(left.path(), .equal, EntityCoding.AnyReferenceCodec.stored(right))
}

/// Returns the condition that a reference to any entity does not lead to this object, or, for nil, leads to any.
public func != <R: Entity>(
    left: KeyPath<Row<R>, Column<(any ObjectEntity)?>>, right: (any ObjectEntity)?
) -> Condition<R> {
    if let right, right.anyReference == nil { return Condition(.constant(true)) }
    return ConditionBuilder.compare(left.path(), .notEqual, EntityCoding.AnyReferenceCodec.stored(right))
}

extension Update {
    /// Sets a reference to any entity to a stored object, or to nil.
    public func set(
        _ keyPath: KeyPath<Row<T>, Column<(any ObjectEntity)?>>, to object: (any ObjectEntity)?
    ) -> Update {
        adding(keyPath.path(), object) { (_) throws(MakoError) in [.literal(.null, at: .none)] }
    }
}
