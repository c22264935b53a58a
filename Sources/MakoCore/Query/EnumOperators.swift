// The order of enums and other types with raw values is that of their raw values, as they are stored and as `orderBy` sorts them. Disfavoured, so
// that a type that is storable and comparable itself is compared by its own stored form.

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
