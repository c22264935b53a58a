import Foundation
import MakoRecords

/// A value worked out of an object's own properties, for ``Update/set(_:to:)-(_,Arithmetic<T,V>)``: `\.age + 1`, `\.price * \.amount`.
public struct Arithmetic<Root: Entity, V>: Sendable {
    /// An expression, or why it is none: faults are told by the call that runs the update.
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
    /// The property of the object itself.
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
        throw .query(message: "an update takes properties of the objects themselves, not of those they refer to")
    }
}

// MARK: - Sums

public func + <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, .some(right))
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, .some(left), right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, right)
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, .some(right))
}
public func + <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.add, left, right)
}

// MARK: - Differences

public func - <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, .some(right))
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, .some(left), right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, right)
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, .some(right))
}
public func - <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.subtract, left, right)
}

// MARK: - Products

public func * <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, .some(right))
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, .some(left), right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, right)
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, .some(right))
}
public func * <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.multiply, left, right)
}

// MARK: - Quotients

// Whole numbers are divided as whole numbers; a division by zero gives nil, which only optional properties take.

public func / <R: Entity, V: StorableValue & Numeric>(left: KeyPath<Row<R>, Column<V>>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(left: V, right: KeyPath<Row<R>, Column<V>>) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(left: Arithmetic<R, V>, right: V) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(left: V, right: Arithmetic<R, V>) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: KeyPath<Row<R>, Column<V>>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V>>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V>, right: Arithmetic<R, V>
) -> Arithmetic<R, V> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, .some(right))
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: V, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, .some(left), right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: KeyPath<Row<R>, Column<V?>>, right: KeyPath<Row<R>, Column<V?>>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, right)
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: V
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, .some(right))
}
public func / <R: Entity, V: StorableValue & Numeric>(
    left: Arithmetic<R, V?>, right: Arithmetic<R, V?>
) -> Arithmetic<R, V?> {
    Arithmetic(.divide, left, right)
}

// MARK: - Texts and dates

public func + <R: Entity>(
    left: KeyPath<Row<R>, Column<String>>, right: String
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
public func + <R: Entity>(
    left: String, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
public func + <R: Entity>(
    left: KeyPath<Row<R>, Column<String>>, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: String
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: KeyPath<Row<R>, Column<String>>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
public func + <R: Entity>(
    left: Arithmetic<R, String>, right: Arithmetic<R, String>
) -> Arithmetic<R, String> {
    Arithmetic(.concatenate, left, right)
}
/// Seconds later.
public func + <R: Entity>(left: KeyPath<Row<R>, Column<Date>>, right: Double) -> Arithmetic<R, Date> {
    Arithmetic(.add, Arithmetic<R, Date>(left.path()), Arithmetic<R, Double>(right.stored))
}
/// Seconds earlier.
public func - <R: Entity>(left: KeyPath<Row<R>, Column<Date>>, right: Double) -> Arithmetic<R, Date> {
    Arithmetic(.subtract, Arithmetic<R, Date>(left.path()), Arithmetic<R, Double>(right.stored))
}
