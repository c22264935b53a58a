import Foundation
import MakoRecords

/// An expression of an object's own properties, for ``Update/set(_:to:)``: `\.age + 1`,
/// `\.price * \.amount`.
public struct Arithmetic<Root: Entity, V>: Sendable {
    /// The expression, or the error that the call that runs the update throws.
    let source: Result<Expr, MakoError>
    private let levels: Int

    init(_ path: [PathStep]) {
        levels = 1
        do throws(MakoError) { source = .success(try path.ownExpr()) } catch { source = .failure(error) }
    }

    init(_ value: StoredValue) {
        levels = 1
        source = .success(.literal(value, at: .none))
    }

    init<A, B>(_ operation: ArithmeticOperator, _ left: Arithmetic<Root, A>, _ right: Arithmetic<Root, B>) {
        levels = max(left.levels, right.levels) + 1
        do throws(MakoError) {
            let (first, second) = (try left.source.get(), try right.source.get())
            let isTooDeep = levels > MakoRecords.Condition.depthLimit
            source = isTooDeep ? .failure(.tooDeep) : .success(.arithmetic(operation, first, second))
        } catch {
            source = .failure(error)
        }
    }

    fileprivate typealias Own = KeyPath<Row<Root>, Column<V>>
    fileprivate init(_ operation: ArithmeticOperator, _ left: Own, _ right: Own) {
        self.init(operation, Arithmetic(left.path()), Arithmetic(right.path()))
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: Own, _ right: V) where V: StorableValue {
        self.init(operation, Arithmetic(left.path()), Arithmetic(right.stored))
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: V, _ right: Own) where V: StorableValue {
        self.init(operation, Arithmetic(left.stored), Arithmetic(right.path()))
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: Arithmetic, _ right: Own) {
        self.init(operation, left, Arithmetic(right.path()))
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: Own, _ right: Arithmetic) {
        self.init(operation, Arithmetic(left.path()), right)
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: Arithmetic, _ right: V) where V: StorableValue {
        self.init(operation, left, Arithmetic(right.stored))
    }
    fileprivate init(_ operation: ArithmeticOperator, _ left: V, _ right: Arithmetic) where V: StorableValue {
        self.init(operation, Arithmetic(left.stored), right)
    }
}

extension [PathStep] {
    /// The column of a property of the object itself.
    func ownExpr() throws(MakoError) -> Expr {
        try requireOwn()
        return try expr()
    }

    /// The columns of a property of the object itself.
    func ownExprs() throws(MakoError) -> [Expr] {
        try requireOwn()
        return try exprs()
    }

    private func requireOwn() throws(MakoError) {
        if count == 1 { return }
        throw .invalidArgument("an update takes properties of the objects themselves, not of those they refer to")
    }
}

// MARK: - Sums

/// Returns the expression for a property plus a number.
public func + <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for a number plus a property.
public func + <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for a property plus another.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for an expression plus a number.
public func + <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for a number plus an expression.
public func + <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for an expression plus a property.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for a property plus an expression.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for an expression plus another.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for an optional property plus a number; nil where the property is nil.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, .some(right))
}
/// Returns the expression for a number plus an optional property; nil where the property is nil.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, .some(left), right)
}
/// Returns the expression for an optional property plus another; nil where either is nil.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, right)
}
/// Returns the expression for an optional expression plus a number; nil where the expression is nil.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, .some(right))
}
/// Returns the expression for an optional expression plus another; nil where either is nil.
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, right)
}

// MARK: - Differences

/// Returns the expression for a property minus a number.
public func - <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for a number minus a property.
public func - <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for a property minus another.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for an expression minus a number.
public func - <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for a number minus an expression.
public func - <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for an expression minus a property.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for a property minus an expression.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for an expression minus another.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for an optional property minus a number; nil where the property is nil.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, .some(right))
}
/// Returns the expression for a number minus an optional property; nil where the property is nil.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, .some(left), right)
}
/// Returns the expression for an optional property minus another; nil where either is nil.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, right)
}
/// Returns the expression for an optional expression minus a number; nil where the expression is nil.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, .some(right))
}
/// Returns the expression for an optional expression minus another; nil where either is nil.
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, right)
}

// MARK: - Products

/// Returns the expression for a property times a number.
public func * <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for a number times a property.
public func * <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for a property times another.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for an expression times a number.
public func * <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for a number times an expression.
public func * <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for an expression times a property.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for a property times an expression.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for an expression times another.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for an optional property times a number; nil where the property is nil.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, .some(right))
}
/// Returns the expression for a number times an optional property; nil where the property is nil.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, .some(left), right)
}
/// Returns the expression for an optional property times another; nil where either is nil.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, right)
}
/// Returns the expression for an optional expression times a number; nil where the expression is nil.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, .some(right))
}
/// Returns the expression for an optional expression times another; nil where either is nil.
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, right)
}

// MARK: - Quotients

// The quotient of integers is an integer. A division by zero gives nil, which only an optional property accepts.

/// Returns the expression for a property divided by a number; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for a number divided by a property; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for a property divided by another; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for an expression divided by a number; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for a number divided by an expression; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for an expression divided by a property; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for a property divided by an expression; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for an expression divided by another; nil where the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for an optional property divided by a number; nil where the property is nil or the divisor is
/// 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, .some(right))
}
/// Returns the expression for a number divided by an optional property; nil where the property is nil or the divisor is
/// 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, .some(left), right)
}
/// Returns the expression for an optional property divided by another; nil where either is nil or the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, right)
}
/// Returns the expression for an optional expression divided by a number; nil where the expression is nil or the
/// divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, .some(right))
}
/// Returns the expression for an optional expression divided by another; nil where either is nil or the divisor is 0.
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, right)
}

// MARK: - Texts and dates

/// Returns the expression for a text property followed by a text.
public func + <R: Entity>(
    left: KeyPath<Row<R>, Column<String>>, right: String
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a text followed by a text property.
public func + <R: Entity>(
    left: String, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a text property followed by another.
public func + <R: Entity>(
    left: KeyPath<Row<R>, Column<String>>, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a text expression followed by a text.
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: String
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a text expression followed by a text property.
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a text expression followed by another.
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: Arithmetic<R, String>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Returns the expression for a date property plus a number of seconds.
public func + <R: Entity>(left: KeyPath<Row<R>, Column<Date>>, right: Double) -> Arithmetic<R, Date> {
    Arithmetic(.add, Arithmetic<R, Date>(left.path()), Arithmetic<R, Double>(right.stored))
}
/// Returns the expression for a date property minus a number of seconds.
public func - <R: Entity>(left: KeyPath<Row<R>, Column<Date>>, right: Double) -> Arithmetic<R, Date> {
    Arithmetic(.subtract, Arithmetic<R, Date>(left.path()), Arithmetic<R, Double>(right.stored))
}
