import MakoRecords

// Typed conditions. Each operator makes a condition of a property and a value; nothing is compared here.

/// Builds conditions from paths; faults wait for the call that runs the query.
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
        // As Swift compares optionals: nil is unlike any value.
        case (.notEqual, false): Condition(.or([.comparison(op, expr, .literal(value, at: .none)), .isNull(expr)]))
        default: prepared(expr, op, value) ?? Condition(.comparison(op, expr, .literal(value, at: .none)))
        }
    }

    /// The comparison of a column of the entity's own, which programs ask for again and again.
    private static func prepared<R: Entity>(
        _ expr: Expr, _ op: ComparisonOperator, _ value: StoredValue
    ) -> Condition<R>? {
        guard case .column(let names, _) = expr, names.count == 1 else { return nil }
        return prepared(KnownComparisons.comparison(of: expr, names[0], op), value)
    }

    private static func prepared<R: Entity>(_ comparison: PreparedCondition, _ value: StoredValue) -> Condition<R> {
        Condition(source: .prepared(comparison, ParameterValues(positions: [value], names: [:], text: "")))
    }

    /// The comparison of a property that a key path of the entity's own leads to.
    static func compare<R: Entity, V>(
        _ keyPath: KeyPath<R, V>, _ op: ComparisonOperator, _ value: StoredValue
    ) -> Condition<R> {
        guard !value.isNull, op != .notEqual,
            let comparison = KnownComparisons.shared.of(R.entityModel, keyPath, op)
        else { return compare([PathStep].leading(along: keyPath), op, value) }
        return prepared(comparison, value)
    }

    /// Compares two properties, for equality as Swift compares optionals: nil equals nil, and is unlike any value.
    ///
    /// - Parameter optional: whether their own types are; what stands behind a reference may be nil all the same.
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

    /// The property's value lies in a range of any kind.
    static func contains<R: Entity>(_ range: Any, _ path: [PathStep]) -> Condition<R> {
        make(path) { (expr) throws(MakoError) in
            guard let range = range as? any RangeValue else {
                throw .query(message: "no property is in a \(type(of: range))")
            }
            return try range.bounds().contains(expr).isTrue
        }
    }

    /// Compares a value of several columns: equal when all its parts are, unequal when one of them is.
    static func compareParts<R: Entity>(
        _ path: [PathStep], _ op: ComparisonOperator, _ values: [StoredValue]?
    ) -> Condition<R> {
        do throws(MakoError) {
            guard path.last?.composite != nil else { throw path.withoutParts }
            let columns = try path.exprs()
            // The first part tells whether there is a value.
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

// The same as those of rows below, which are disfavored, lest both be tried in long conditions. A key path of the entity is made once, one of
// a row at each use.

public func == <R: Entity, V: StorableValue>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .equal, right.stored)
}
public func != <R: Entity, V: StorableValue>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .notEqual, right.stored)
}
public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .less, right.stored)
}
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .lessOrEqual, right.stored)
}
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .greater, right.stored)
}
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<R, V>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left, .greaterOrEqual, right.stored)
}

// MARK: - Equal and not equal

@_disfavoredOverload
public func == <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .equal, right.stored)
}
@_disfavoredOverload
public func != <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .notEqual, right.stored)
}
public func == <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .equal, right.rawValue.stored)
}
public func != <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R>
where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .notEqual, right.rawValue.stored)
}
public func == <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R>
where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .equal, right?.rawValue.stored ?? .null)
}
public func != <R: Entity, V: RawRepresentable>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R>
where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .notEqual, right?.rawValue.stored ?? .null)
}
public func == <R: Entity, V: StorableValue & RawRepresentable>(
    left: KeyPath<Row<R>, Column<V>>, right: V
) -> Condition<R> where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .equal, right.stored)
}
public func != <R: Entity, V: StorableValue & RawRepresentable>(
    left: KeyPath<Row<R>, Column<V>>, right: V
) -> Condition<R> where V.RawValue: StorableValue {
    ConditionBuilder.compare(left.path(), .notEqual, right.stored)
}
/// Nil equals nil, and is unlike any value.
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (false, false))
}
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (true, true))
}
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (true, false))
}
public func == <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .equal, right.path(), optional: (false, true))
}
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (false, false))
}
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (true, true))
}
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (true, false))
}
public func != <R: Entity, V>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(
        left.path(), .notEqual, right.path(), optional: (false, true))
}

/// All parts of a value with several columns are equal.
public func == <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .equal, right.storedParts)
}
public func != <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .notEqual, right.storedParts)
}
public func == <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .equal, right?.storedParts)
}
public func != <R: Entity, V: CompositeValue>(left: KeyPath<Row<R>, Column<V?>>, right: V?) -> Condition<R> {
    ConditionBuilder.compareParts(left.path(), .notEqual, right?.storedParts)
}

/// The relationship leads to this object; nil: to nobody.
public func == <R: Entity, T: ObjectEntity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R> {
    if left.path().last?.reference?.property?.refersToAny == true {
        if let right, right.storedKey == nil { return Condition(.constant(false)) }
        return ConditionBuilder.compare(left.path(), .equal, AnyReferenceCodec.stored(right))
    }
    if let right, right.storedKey == nil || !type(of: right).entityModel.hasTable(of: T.entityModel) {
        // No row, or one in a subclass's table: the column leads to neither.
        return Condition(.constant(false))
    }
    return ConditionBuilder.compare(left.path(), .equal, right?.conditionValue ?? .null)
}
public func != <R: Entity, T: ObjectEntity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R> {
    if left.path().last?.reference?.property?.refersToAny == true {
        if let right, right.storedKey == nil { return Condition(.constant(true)) }
        return ConditionBuilder.compare(left.path(), .notEqual, AnyReferenceCodec.stored(right))
    }
    if let right, right.storedKey == nil || !type(of: right).entityModel.hasTable(of: T.entityModel) {
        return Condition(.constant(true))
    }
    return ConditionBuilder.compare(left.path(), .notEqual, right?.conditionValue ?? .null)
}

/// The relationship leads to this struct's row; nil: to none.
public func == <R: Entity, T: Entity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R>
where T._$Kind == EntityKind.Value {
    if let right, right.storedValueKey == nil { return Condition(.constant(false)) }
    return ConditionBuilder.compare(left.path(), .equal, right?.conditionValue ?? .null)
}
public func != <R: Entity, T: Entity>(left: KeyPath<Row<R>, Related<T>>, right: T?) -> Condition<R>
where T._$Kind == EntityKind.Value {
    if let right, right.storedValueKey == nil { return Condition(.constant(true)) }
    return ConditionBuilder.compare(left.path(), .notEqual, right?.conditionValue ?? .null)
}

// MARK: - Order

public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.stored)
}
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.stored)
}
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.stored)
}
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.stored)
}
public func < <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.stored)
}
public func <= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.stored)
}
public func > <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.stored)
}
public func >= <R: Entity, V: StorableValue & Comparable>(left: KeyPath<Row<R>, Column<V?>>, right: V) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.stored)
}
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true))
}
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true))
}
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true))
}
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true))
}
// Where one of them is nil neither is the smaller.
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true))
}
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true))
}
public func < <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .less, right.path(), optional: (true, true))
}
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true))
}
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true))
}
public func <= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .lessOrEqual, right.path(), optional: (true, true))
}
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true))
}
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true))
}
public func > <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greater, right.path(), optional: (true, true))
}
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true))
}
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true))
}
public func >= <R: Entity, V: Comparable>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V?>>
) -> Condition<R> {
    ConditionBuilder.compare(left.path(), .greaterOrEqual, right.path(), optional: (true, true))
}

// MARK: - Text

infix operator !~ : ComparisonPrecedence
infix operator !<< : BitwiseShiftPrecedence

/// LIKE: `%` stands for any text, `_` for any character; case does not count.
public func ~= <R: Entity>(left: KeyPath<Row<R>, Column<String>>, right: String) -> Condition<R> {
    ConditionBuilder.make(left.path()) { (expr) throws(MakoError) in
        .like(expr, .literal(.text(right), at: .none), escape: nil)
    }
}
public func ~= <R: Entity>(left: KeyPath<Row<R>, Column<String?>>, right: String) -> Condition<R> {
    ConditionBuilder.make(left.path()) { (expr) throws(MakoError) in
        .like(expr, .literal(.text(right), at: .none), escape: nil)
    }
}
/// NOT LIKE.
public func !~ <R: Entity>(left: KeyPath<Row<R>, Column<String>>, right: String) -> Condition<R> { !(left ~= right) }
public func !~ <R: Entity>(left: KeyPath<Row<R>, Column<String?>>, right: String) -> Condition<R> { !(left ~= right) }

// MARK: - Lists and ranges

/// The property's value is one of these: `\.age << [35, 36]`.
public func << <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R> {
    ConditionBuilder.isIn(left.path(), right.map(\.stored))
}
public func << <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R> {
    ConditionBuilder.isIn(left.path(), right.map(\.stored))
}
public func !<< <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V>>, right: [V]) -> Condition<R> {
    !(left << right)
}
public func !<< <R: Entity, V: StorableValue>(left: KeyPath<Row<R>, Column<V?>>, right: [V]) -> Condition<R> {
    !(left << right)
}
/// The property's value lies in the range: `\.age << (35...40)`, also one that is open at an end: `\.age << (35...)`.
public func << <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> {
    ConditionBuilder.contains(right, left.path())
}
public func << <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> {
    ConditionBuilder.contains(right, left.path())
}
/// The property has a value outside the range.
public func !<< <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V>>, right: B
) -> Condition<R> {
    !(left << right)
}
public func !<< <R: Entity, V: StorableValue & Comparable, B: RangeExpression<V>>(
    left: KeyPath<Row<R>, Column<V?>>, right: B
) -> Condition<R> {
    !(left << right)
}

// MARK: - And, or, not

public func && <R: Entity>(left: Condition<R>, right: Condition<R>) -> Condition<R> {
    Condition(source: .joined(left.source, right.source, isAnd: true))
}
public func || <R: Entity>(left: Condition<R>, right: Condition<R>) -> Condition<R> {
    Condition(source: .joined(left.source, right.source, isAnd: false))
}
prefix public func ! <R: Entity>(condition: Condition<R>) -> Condition<R> {
    Condition(source: condition.source.negated)
}
/// Boolean properties by themselves: `where(\.isActive && \.age > 35)`, `where(!\.isActive || \.isAdmin)`.
public func && <R: Entity>(left: KeyPath<Row<R>, Column<Bool>>, right: Condition<R>) -> Condition<R> {
    (left == true) && right
}
public func && <R: Entity>(left: Condition<R>, right: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> {
    left && (right == true)
}
public func && <R: Entity>(
    left: KeyPath<Row<R>, Column<Bool>>, right: KeyPath<Row<R>, Column<Bool>>
) -> Condition<R> {
    (left == true) && (right == true)
}
public func || <R: Entity>(left: KeyPath<Row<R>, Column<Bool>>, right: Condition<R>) -> Condition<R> {
    (left == true) || right
}
public func || <R: Entity>(left: Condition<R>, right: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> {
    left || (right == true)
}
public func || <R: Entity>(
    left: KeyPath<Row<R>, Column<Bool>>, right: KeyPath<Row<R>, Column<Bool>>
) -> Condition<R> {
    (left == true) || (right == true)
}
prefix public func ! <R: Entity>(flag: KeyPath<Row<R>, Column<Bool>>) -> Condition<R> { flag == false }
