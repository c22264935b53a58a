// The order of enums and other types with raw values is that of their raw values, as they are stored and as `orderBy` sorts them. Disfavoured, so
// that a type that is storable itself is compared by its own stored form.

/// Compares the property's raw value: `\.priority < .medium`.
@_disfavoredOverload
public func < <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .less, right.rawValue.stored)
}

/// Compares the property's raw value; nil fulfils no comparison: `\.priority < .medium`.
@_disfavoredOverload
public func < <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .less, right.rawValue.stored)
}

/// Compares the property's raw value: `\.priority <= .medium`.
@_disfavoredOverload
public func <= <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.rawValue.stored)
}

/// Compares the property's raw value; nil fulfils no comparison: `\.priority <= .medium`.
@_disfavoredOverload
public func <= <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.rawValue.stored)
}

/// Compares the property's raw value: `\.priority > .medium`.
@_disfavoredOverload
public func > <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .greater, right.rawValue.stored)
}

/// Compares the property's raw value; nil fulfils no comparison: `\.priority > .medium`.
@_disfavoredOverload
public func > <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .greater, right.rawValue.stored)
}

/// Compares the property's raw value: `\.priority >= .medium`.
@_disfavoredOverload
public func >= <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.rawValue.stored)
}

/// Compares the property's raw value; nil fulfils no comparison: `\.priority >= .medium`.
@_disfavoredOverload
public func >= <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R>
where V.RawValue: StorableValue & Comparable {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.rawValue.stored)
}

// MARK: - Lists and ranges

/// Returns the condition that a property's value is in a list, by raw values: `\.priority << [.low, .high]`.
@_disfavoredOverload
public func << <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.isIn(left.path(), right.map(\.rawValue.stored)) }

/// Returns the condition that an optional property's value is in a list, by raw values.
@_disfavoredOverload
public func << <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.isIn(left.path(), right.map(\.rawValue.stored)) }

/// Returns the condition that a property's value is not in a list, by raw values.
@_disfavoredOverload
public func !<< <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R>
where V.RawValue: StorableValue { !(left << right) }

/// Returns the condition that an optional property's value is not in a list, by raw values; never true where it is nil.
@_disfavoredOverload
public func !<< <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R>
where V.RawValue: StorableValue { !(left << right) }

/// Returns the condition that a property's raw value lies between those of a range's ends: `\.priority << (.low ... .medium)`.
@_disfavoredOverload
public func << <R: Entity, V: RawRepresentable & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> where V.RawValue: StorableValue { ConditionBuilder.contains(right, left.path()) }

/// Returns the condition that an optional property's raw value lies between those of a range's ends.
@_disfavoredOverload
public func << <R: Entity, V: RawRepresentable & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> where V.RawValue: StorableValue { ConditionBuilder.contains(right, left.path()) }

/// Returns the condition that a property's raw value lies outside a range.
@_disfavoredOverload
public func !<< <R: Entity, V: RawRepresentable & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> where V.RawValue: StorableValue { !(left << right) }

/// Returns the condition that an optional property's raw value lies outside a range; never true where it is nil.
@_disfavoredOverload
public func !<< <R: Entity, V: RawRepresentable & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> where V.RawValue: StorableValue { !(left << right) }

extension KeyPath {
    /// The raw value is that of one of a list: `$0.priority.in([.low, .high])`. The same as `<<`.
    @_disfavoredOverload
    public func `in`<R: Entity, V: RawRepresentable>(_ values: [V]) -> Condition<R>
    where Root == Row<R>, Value == Column<V>, V.RawValue: StorableValue { self << values }

    /// The raw value is that of one of a list; false where the property is nil.
    @_disfavoredOverload
    public func `in`<R: Entity, V: RawRepresentable>(_ values: [V]) -> Condition<R>
    where Root == Row<R>, Value == Column<V?>, V.RawValue: StorableValue { self << values }
}

extension Array where Element: RawRepresentable, Element.RawValue: StorableValue {
    /// The property's raw value is that of one of the list: `where { [.low, .high].contains($0.priority) }`.
    @_disfavoredOverload
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Element>>) -> Condition<R> { column << self }

    /// The property's raw value is that of one of the list; false where the property is nil.
    @_disfavoredOverload
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Element?>>) -> Condition<R> { column << self }
}

extension RangeExpression where Bound: RawRepresentable, Bound.RawValue: StorableValue {
    /// The property's raw value lies in the range. The same as `\.priority << (.low ... .medium)`.
    @_disfavoredOverload
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Bound>>) -> Condition<R> { column << self }

    /// The property's raw value lies in the range; false where the property is nil.
    @_disfavoredOverload
    public func contains<R: Entity>(_ column: KeyPath<Row<R>, Column<Bound?>>) -> Condition<R> { column << self }
}

extension Condition {
    /// Returns the condition that a collection contains a value, by raw values: `.contains(\.kinds, .tap)`.
    @_disfavoredOverload
    public static func contains<C: Collection>(
        _ many: KeyPath<Row<Root>, Column<C>>, _ value: C.Element
    ) -> Condition where C.Element: RawRepresentable, C.Element.RawValue: StorableValue {
        ConditionBuilder.make(many.path()) { (expr) throws(MakoError) in
            .quantified(.any, .comparison(.equal, expr, .literal(value.rawValue.stored, at: .none)))
        }
    }
}
