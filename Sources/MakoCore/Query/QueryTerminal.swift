import MakoRecords

/// A terminal of a query, for ``Query/explain(_:analyzing:)`` and ``Query/explanation(_:analyzing:)``, because the
/// planner may choose another plan for each:
///
/// ```swift
/// print(try db.query(Person.self).explain(.min(\.age)))
/// // min(age) by index order
/// //   limit 1 (cost 2)
/// //     search Person using covering index age (age IS NOT NULL), already in order of age (about 1000 rows)
/// ```
public struct QueryTerminal<T: Entity>: Sendable {
    let result: Result<SelectionResult, MakoError>

    private init(_ result: SelectionResult) { self.result = .success(result) }

    private init<V>(_ property: KeyPath<Row<T>, Column<V>>, _ result: (Expr) -> SelectionResult) {
        do throws(MakoError) {
            self.result = .success(result(try property.path().expr()))
        } catch {
            self.result = .failure(error)
        }
    }

    /// All objects.
    public static var fetch: QueryTerminal { QueryTerminal(.rows) }
    /// The number of objects.
    public static var count: QueryTerminal { QueryTerminal(.count) }
    /// Whether there is an object.
    public static var exists: QueryTerminal { QueryTerminal(.exists) }

    /// Returns the terminal for the sum of a property.
    public static func sum<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .aggregate(.sum, of: $0) }
    }
    /// Returns the terminal for the sum of a property as a `Double`.
    public static func total<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .aggregate(.total, of: $0) }
    }
    /// Returns the terminal for the mean of a property.
    public static func avg<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .aggregate(.average, of: $0) }
    }
    /// Returns the terminal for the smallest value of a property.
    public static func min<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .aggregate(.minimum, of: $0) }
    }
    /// Returns the terminal for the largest value of a property.
    public static func max<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .aggregate(.maximum, of: $0) }
    }
    /// Returns the terminal for the distinct values of a property.
    public static func distinct<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .distinct($0) }
    }
    /// Returns the terminal for the number of objects of each value of a property.
    public static func groupCount<V>(_ property: KeyPath<Row<T>, Column<V>>) -> QueryTerminal {
        QueryTerminal(property) { .groupCount(by: $0) }
    }
}
