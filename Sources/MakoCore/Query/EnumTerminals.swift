import MakoRecords

// Values of enums and other types with raw values, as the terminals return them. Disfavoured for the same reason as their operators.

extension Query {
    // async: early
    /// Returns the distinct values of a property with raw values, in the order of these, ascending.
    @_disfavoredOverload
    public func distinct<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) throws(MakoError) -> [V] where V.RawValue: StorableValue {
        try distinctRaw(try keyPath.path().expr(), direction)
    }

    // async: early
    /// Returns the distinct values of an optional property with raw values, in the order of these, ascending.
    @_disfavoredOverload
    public func distinct<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V?>>, _ direction: SortDirection = .ascending
    ) throws(MakoError) -> [V?] where V.RawValue: StorableValue {
        try distinctRawOrNil(try keyPath.path().expr(), direction)
    }

    // async: early
    /// Returns the value of a property with the smallest raw value; nil without values.
    @_disfavoredOverload
    public func min<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        try rawExtreme(.minimum, try keyPath.path().expr())
    }

    // async: early
    /// Returns the value of an optional property with the smallest raw value; nil without values.
    @_disfavoredOverload
    public func min<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        try rawExtreme(.minimum, try keyPath.path().expr())
    }

    // async: early
    /// Returns the value of a property with the largest raw value; nil without values.
    @_disfavoredOverload
    public func max<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        try rawExtreme(.maximum, try keyPath.path().expr())
    }

    // async: early
    /// Returns the value of an optional property with the largest raw value; nil without values.
    @_disfavoredOverload
    public func max<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        try rawExtreme(.maximum, try keyPath.path().expr())
    }
    func distinctRaw<V: RawRepresentable>(_ expr: Expr, _ direction: SortDirection) throws(MakoError) -> [V]
    where V.RawValue: StorableValue {
        let found: [V.RawValue] = try distinct(expr, direction)
        return try found.map { (raw) throws(MakoError) in try value(of: raw, "distinct") }
    }

    func distinctRawOrNil<V: RawRepresentable>(_ expr: Expr, _ direction: SortDirection) throws(MakoError) -> [V?]
    where V.RawValue: StorableValue {
        let found: [V.RawValue?] = try distinct(expr, direction)
        return try found.map { (raw) throws(MakoError) in
            guard let raw else { return nil }
            return try value(of: raw, "distinct")
        }
    }

    func rawExtreme<V: RawRepresentable>(_ function: AggregateFunction, _ expr: Expr) throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        guard let raw: V.RawValue = try extreme(function, expr) else { return nil }
        return try value(of: raw, function.rawValue)
    }

    /// The value with a stored raw value, which the type may have lost since.
    private func value<V: RawRepresentable>(of raw: V.RawValue, _ name: String) throws(MakoError) -> V
    where V.RawValue: StorableValue {
        if let value = V(rawValue: raw) { return value }
        throw .typeMismatch(
            entity: T.entityModel.name, property: name, expected: "\(V.self)", found: raw.stored.description)
    }
}
