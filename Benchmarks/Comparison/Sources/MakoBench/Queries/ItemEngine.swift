/// A table of items for queries, with one of cities and one of countries beside it.
protocol ItemEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws

    func fill(_ count: Int) throws
    /// The objects with each of these codes, as an array. The sum of their numbers.
    func items(codes: [Int]) throws -> UInt64
    func close() throws
}

/// An engine with SQL. `Answer` sums up the results.
protocol SelectEngine: ItemEngine {
    /// The sum of the ids of the items for which a condition holds; `?` are the numbers.
    func ids(_ condition: String, _ numbers: [Int]) throws -> UInt64
    /// The first objects, as many as given, for which a condition holds, in an order.
    func items(_ condition: String, _ numbers: [Int], orderBy: String, limit: Int) throws -> UInt64
    /// A `SELECT`, all of whose rows are read.
    func select(_ text: String, _ numbers: [Int]) throws -> UInt64
    /// A condition that no item satisfies and an index serves: the cost of preparing a text.
    func none(_ condition: String, _ number: Int) throws -> Bool
    /// Prepares a text, with its number bound, and runs nothing.
    func prepare(_ condition: String, _ number: Int) throws
}

/// The checksum of the values that a query returned.
enum Answer {
    static func of(_ number: Int64) -> UInt64 { UInt64(truncatingIfNeeded: number) }
    /// Engines add reals in different orders: the last digits are ignored.
    static func of(_ number: Double) -> UInt64 { UInt64(truncatingIfNeeded: Int64((number * 1e6).rounded())) }
}
