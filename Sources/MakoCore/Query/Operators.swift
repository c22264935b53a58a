import MakoRecords

// Typed conditions: each operator builds a condition of a property and a value, which the query evaluates when it runs.

/// Builds conditions from paths. A condition carries its error, which the call that runs the query throws.
enum ConditionBuilder {
    static func make<R: Entity>(
        _ path: [PathStep], _ build: (Expr) throws(MakoError) -> MakoRecords.Condition
    ) -> Condition<R> {
        do throws(MakoError) { return Condition(source: .parsed(try build(try path.expr()))) } catch {
            return Condition(source: .failed(error))
        }
    }

    static func compare<R: Entity>(_ path: [PathStep], _ op: ComparisonOperator, _ value: StoredValue) -> Condition<R> {
        do throws(MakoError) { return compared(try path.expr(), op, value) } catch {
            return Condition(source: .failed(error))
        }
    }

    private static func compared<R: Entity>(
        _ expr: Expr, _ op: ComparisonOperator, _ value: StoredValue
    ) -> Condition<R> {
        switch (op, value.isNull) {
        case (.equal, true): Condition(.isNull(expr))
        case (.notEqual, true): Condition(.not(.isNull(expr)))
        // As Swift compares optionals: nil differs from any value.
        case (.notEqual, false): Condition(.or([.comparison(op, expr, .literal(value, at: .none)), .isNull(expr)]))
        default: prepared(expr, op, value) ?? Condition(.comparison(op, expr, .literal(value, at: .none)))
        }
    }

    /// The cached comparison of an own column of the entity; nil for a path of several steps.
    private static func prepared<R: Entity>(
        _ expr: Expr, _ op: ComparisonOperator, _ value: StoredValue
    ) -> Condition<R>? {
        guard case .column(let names, _) = expr, names.count == 1 else { return nil }
        return prepared(KnownComparisons.comparison(of: expr, names[0], op), value)
    }

    private static func prepared<R: Entity>(_ comparison: PreparedCondition, _ value: StoredValue) -> Condition<R> {
        Condition(source: .prepared(comparison, ParameterValues(positions: [value], names: [:], text: "")))
    }

    /// Compares the property of a key path that begins at the entity.
    static func compare<R: Entity, V>(
        _ keyPath: KeyPath<R, V>, _ op: ComparisonOperator, _ value: StoredValue
    ) -> Condition<R> {
        guard !value.isNull, op != .notEqual,
            let comparison = KnownComparisons.shared.of(R.entityModel, keyPath, op)
        else { return compare([PathStep].leading(along: keyPath), op, value) }
        return prepared(comparison, value)
    }

    /// Compares two properties. `==` and `!=` treat nil as Swift does: nil equals nil and differs from any value.
    ///
    /// - Parameter optional: whether the types of the two properties are optional. A property behind a reference may be
    ///   nil in any case.
    static func compare<R: Entity>(
        _ left: [PathStep], _ op: ComparisonOperator, _ right: [PathStep], optional: (left: Bool, right: Bool)
    ) -> Condition<R> {
        if left.last?.composite != nil { return compareParts(left, op, right) }
        let (firstMayBeNil, secondMayBeNil) = (optional.left || left.count > 1, optional.right || right.count > 1)
        return make(left) { (first) throws(MakoError) in
            let second = try right.expr()
            var cases = [MakoRecords.Condition.comparison(op, first, second)]
            switch op {
            case .equal:
                if firstMayBeNil && secondMayBeNil { cases.append(.and([.isNull(first), .isNull(second)])) }
            case .notEqual:
                if firstMayBeNil { cases.append(.and([.isNull(first), .not(.isNull(second))])) }
                if secondMayBeNil { cases.append(.and([.not(.isNull(first)), .isNull(second)])) }
            case .less, .lessOrEqual, .greater, .greaterOrEqual: break
            }
            return cases.count > 1 ? .or(cases) : cases[0]
        }
    }

    /// The condition that a property's value is in a range of any kind.
    static func contains<R: Entity>(_ range: Any, _ path: [PathStep]) -> Condition<R> {
        make(path) { (expr) throws(MakoError) in
            guard let range = range as? any RangeValue else {
                throw .query(message: "no property is in a \(type(of: range))")
            }
            return try range.bounds().contains(expr).isTrue
        }
    }

    /// Compares a composite property with a value: equal when all columns are equal, unequal when one column differs.
    static func compareParts<R: Entity>(
        _ path: [PathStep], _ op: ComparisonOperator, _ values: [StoredValue]?
    ) -> Condition<R> {
        do throws(MakoError) {
            guard path.last?.composite != nil else { throw path.withoutParts }
            let columns = try path.exprs()
            // The first column is NULL exactly where the value is nil.
            guard let values else { return compared(columns[0], op, .null) }
            let parts: [Condition<R>] = zip(columns, values).map { compared($0, op, $1) }
            return joined(parts, op)
        } catch { return Condition(source: .failed(error)) }
    }

    private static func compareParts<R: Entity>(
        _ left: [PathStep], _ op: ComparisonOperator, _ right: [PathStep]
    ) -> Condition<R> {
        do throws(MakoError) {
            let parts = zip(try left.exprs(), try right.exprs()).map {
                Condition<R>(source: .parsed(.comparison(op, $0, $1)))
            }
            return joined(parts, op)
        } catch { return Condition(source: .failed(error)) }
    }

    private static func joined<R: Entity>(_ parts: [Condition<R>], _ op: ComparisonOperator) -> Condition<R> {
        guard let first = parts.first else { return Condition(.constant(op == .equal)) }
        return parts.dropFirst().reduce(first) { op == .equal ? $0 && $1 : $0 || $1 }
    }

    static func isIn<R: Entity>(_ path: [PathStep], _ values: [StoredValue]) -> Condition<R> {
        make(path) { (expr) throws(MakoError) in
            .isAmong(expr, values)
        }
    }
}

// MARK: - Properties of the entity's own

// These overloads take precedence over those of `Row` below, which are disfavored: otherwise the type checker tries
// both in long conditions. A key path of the entity is created once, one of a row at each use.

/// Returns the condition that a property equals a value; nil matches properties that are nil.
public func == <R: Entity, V: StorableValue>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .equal, right.stored)
}
/// Returns the condition that a property differs from a value; nil differs from any value.
public func != <R: Entity, V: StorableValue>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .notEqual, right.stored)
}
/// Returns the condition that a property is less than a value.
public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .less, right.stored)
}
/// Returns the condition that a property is at most a value.
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .lessOrEqual, right.stored)
}
/// Returns the condition that a property is greater than a value.
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .greater, right.stored)
}
/// Returns the condition that a property is at least a value.
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .greaterOrEqual, right.stored)
}

// MARK: - Equal and not equal

/// Returns the condition that a property equals a value; nil matches properties that are nil.
@_disfavoredOverload
public func == <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .equal, right.stored)
}
/// Returns the condition that a property differs from a value; nil differs from any value.
@_disfavoredOverload
public func != <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .notEqual, right.stored)
}
/// Returns the condition that a property equals a value, compared by its raw value.
public func == <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .equal, right.rawValue.stored) }
/// Returns the condition that a property differs from a value, compared by its raw value.
public func != <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .notEqual, right.rawValue.stored) }
/// Returns the condition that an optional property equals a value, compared by its raw value.
public func == <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .equal, right?.rawValue.stored ?? .null) }
/// Returns the condition that an optional property differs from a value, compared by its raw value.
public func != <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R>
where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .notEqual, right?.rawValue.stored ?? .null) }
/// Returns the condition that a property equals a storable enumeration value.
public func == <R: Entity, V: StorableValue & RawRepresentable>(
    left: KeyPath<Row<R>, Column<V>>, right: V
) -> Condition<R> where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .equal, right.stored) }
/// Returns the condition that a property differs from a storable enumeration value.
public func != <R: Entity, V: StorableValue & RawRepresentable>(
    left: KeyPath<Row<R>, Column<V>>, right: V
) -> Condition<R> where V.RawValue: StorableValue { ConditionBuilder.compare(left.path(), .notEqual, right.stored) }
/// Returns the condition that two properties are equal; nil equals nil.
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (false, false))
}
/// Returns the condition that two optional properties are equal; nil equals nil.
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (true, true))
}
/// Returns the condition that an optional property equals a required one.
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (true, false))
}
/// Returns the condition that a property equals an optional one.
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (false, true))
}
/// Returns the condition that two properties differ; nil differs from any value.
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (false, false))
}
/// Returns the condition that two optional properties differ; nil differs from any value.
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (true, true))
}
/// Returns the condition that an optional property differs from a required one; nil differs from any value.
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (true, false))
}
/// Returns the condition that a property differs from an optional one; nil differs from any value.
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (false, true))
}

/// Returns the condition that all columns of a composite property equal those of a value.
public func == <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .equal, right.storedParts)
}
/// Returns the condition that a column of a composite property differs from that of a value.
public func != <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .notEqual, right.storedParts)
}
/// Returns the condition that all columns of an optional composite property equal those of a value.
public func == <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .equal, right?.storedParts)
}
/// Returns the condition that a column of an optional composite property differs from that of a value.
public func != <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .notEqual, right?.storedParts)
}

/// Returns the condition that a relationship leads to this object, or, for nil, to none.
public func == <R: Entity, T: ObjectEntity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R> {
    if left.path().last?.reference?.property?.refersToAny == true {
        if let right, right.storedKey == nil { return Condition(.constant(false)) }
        return ConditionBuilder.compare(left.path(), .equal, EntityCoding.AnyReferenceCodec.stored(right))
    }
    if let right, right.storedKey == nil || !type(of: right).entityModel.hasTable(of: T.entityModel) {
        // No row, or one in a subclass's table: the column leads to neither.
        return Condition(.constant(false))
    }
    return ConditionBuilder.compare(left.path(), .equal, right?.conditionValue ?? .null)
}
/// Returns the condition that a relationship does not lead to this object, or, for nil, leads to any.
public func != <R: Entity, T: ObjectEntity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R> {
    if left.path().last?.reference?.property?.refersToAny == true {
        if let right, right.storedKey == nil { return Condition(.constant(true)) }
        return ConditionBuilder.compare(left.path(), .notEqual, EntityCoding.AnyReferenceCodec.stored(right))
    }
    if let right, right.storedKey == nil || !type(of: right).entityModel.hasTable(of: T.entityModel) {
        return Condition(.constant(true))
    }
    return ConditionBuilder.compare(left.path(), .notEqual, right?.conditionValue ?? .null)
}

/// Returns the condition that a relationship leads to this struct, or, for nil, to none.
public func == <R: Entity, T: Entity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R>
where T._$Kind == EntityKind.Value {
    if let right, right.storedValueKey == nil { return Condition(.constant(false)) }
    return ConditionBuilder.compare(left.path(), .equal, right?.conditionValue ?? .null)
}
/// Returns the condition that a relationship does not lead to this struct, or, for nil, leads to any.
public func != <R: Entity, T: Entity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R>
where T._$Kind == EntityKind.Value {
    if let right, right.storedValueKey == nil { return Condition(.constant(true)) }
    return ConditionBuilder.compare(left.path(), .notEqual, right?.conditionValue ?? .null)
}

// MARK: - Order

/// Returns the condition that a property is less than a value.
public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.stored)
}
/// Returns the condition that a property is at most a value.
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.stored)
}
/// Returns the condition that a property is greater than a value.
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.stored)
}
/// Returns the condition that a property is at least a value.
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.stored)
}
/// Returns the condition that an optional property is less than a value; never true where it is nil.
public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.stored)
}
/// Returns the condition that an optional property is at most a value; never true where it is nil.
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.stored)
}
/// Returns the condition that an optional property is greater than a value; never true where it is nil.
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.stored)
}
/// Returns the condition that an optional property is at least a value; never true where it is nil.
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.stored)
}
/// Returns the condition that a property is less than another.
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true)) }
/// Returns the condition that a property is at most another.
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that a property is greater than another.
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true)) }
/// Returns the condition that a property is at least another.
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is less than another; never true where either is nil.
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is less than a required one; never true where either is nil.
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true)) }
/// Returns the condition that a property is less than an optional one; never true where either is nil.
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is at most another; never true where either is nil.
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is at most a required one; never true where either is nil.
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that a property is at most an optional one; never true where either is nil.
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is greater than another; never true where either is nil.
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is greater than a required one; never true where either is nil.
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true)) }
/// Returns the condition that a property is greater than an optional one; never true where either is nil.
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is at least another; never true where either is nil.
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that an optional property is at least a required one; never true where either is nil.
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true)) }
/// Returns the condition that a property is at least an optional one; never true where either is nil.
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> { ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true)) }

// MARK: - Text

infix operator !~ : ComparisonPrecedence
infix operator !<< : BitwiseShiftPrecedence

/// Returns the condition that a text property matches a LIKE pattern: `%` is any text, `_` any character. The case of
/// ASCII letters is ignored.
public func ~= <R: Entity>(left: KeyPath<Row<R>, Column<String>>, right: String) -> Condition<R> {
    ConditionBuilder.make(left.path()) { (expr) throws(MakoError) in
        .like(expr, .literal(.text(right), at: .none), escape: nil)
    }
}
/// Returns the condition that an optional text property matches a LIKE pattern; nil matches none.
public func ~= <R: Entity>(left: KeyPath<Row<R>, Column<String?>>, right: String) -> Condition<R> {
    ConditionBuilder.make(left.path()) { (expr) throws(MakoError) in
        .like(expr, .literal(.text(right), at: .none), escape: nil)
    }
}
/// Returns the condition that a text property does not match a LIKE pattern.
public func !~ <R: Entity>(left: KeyPath<Row<R>, Column<String>>, right: String) -> Condition<R> { !(left ~= right) }
/// Returns the condition that an optional text property does not match a LIKE pattern; never true where it is nil.
public func !~ <R: Entity>(left: KeyPath<Row<R>, Column<String?>>, right: String) -> Condition<R> { !(left ~= right) }

// MARK: - Lists and ranges

/// Returns the condition that a property's value is in a list: `\.age << [35, 36]`.
public func << <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R> {
    ConditionBuilder.isIn(left.path(), right.map(\.stored))
}
/// Returns the condition that an optional property's value is in a list.
public func << <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R> {
    ConditionBuilder.isIn(left.path(), right.map(\.stored))
}
/// Returns the condition that a property's value is not in a list.
public func !<< <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R> {
    !(left << right)
}
/// Returns the condition that an optional property's value is not in a list; never true where it is nil.
public func !<< <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R> {
    !(left << right)
}
/// Returns the condition that a property has a value in a range, which may be open at an end: `\.age << (35...)`.
public func << <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> { ConditionBuilder.contains(right, left.path()) }
/// Returns the condition that an optional property has a value in a range.
public func << <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> { ConditionBuilder.contains(right, left.path()) }
/// Returns the condition that a property has a value outside a range.
public func !<< <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> { !(left << right) }
/// Returns the condition that an optional property has a value outside a range; never true where it is nil.
public func !<< <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> { !(left << right) }

// MARK: - And, or, not

/// Returns the condition that both conditions are true.
public func && <R: Entity>(left: Condition<R>, right: Condition<R>) -> Condition<R> {
    Condition(source: .joined(left.source, right.source, isAnd: true))
}
/// Returns the condition that at least one of two conditions is true.
public func || <R: Entity>(left: Condition<R>, right: Condition<R>) -> Condition<R> {
    Condition(source: .joined(left.source, right.source, isAnd: false))
}
/// Returns the opposite of a condition. An order comparison with nil is unknown, and so is its opposite.
prefix public func ! <R: Entity>(condition: Condition<R>) -> Condition<R> {
    Condition(source: condition.source.negated)
}
/// Returns the condition that a Boolean property and a condition are both true.
public func && <R: Entity>(left: KeyPath<Row<R>, Column<Bool>>, right: Condition<R>) -> Condition<R> {
    (left == true) && right
}
/// Returns the condition that a condition and a Boolean property are both true.
public func && <R: Entity>(left: Condition<R>, right: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> {
    left && (right == true)
}
/// Returns the condition that both Boolean properties are true.
public func && <R: Entity>(
    left: KeyPath<Row<R>, Column<Bool>>, right: KeyPath<Row<R>, Column<Bool>>
) -> Condition<R> { (left == true) && (right == true) }
/// Returns the condition that a Boolean property or a condition is true.
public func || <R: Entity>(left: KeyPath<Row<R>, Column<Bool>>, right: Condition<R>) -> Condition<R> {
    (left == true) || right
}
/// Returns the condition that a condition or a Boolean property is true.
public func || <R: Entity>(left: Condition<R>, right: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> {
    left || (right == true)
}
/// Returns the condition that at least one of two Boolean properties is true.
public func || <R: Entity>(
    left: KeyPath<Row<R>, Column<Bool>>, right: KeyPath<Row<R>, Column<Bool>>
) -> Condition<R> { (left == true) || (right == true) }
/// Returns the condition that a Boolean property is false.
prefix public func ! <R: Entity>(flag: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> { flag == false }
