/// A table of items that is asked questions, with one of cities and one of countries beside it.
protocol ItemEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws

    func fill(_ count: Int) throws
    /// The objects with each of these codes, as an array. The sum of their numbers.
    func items(codes: [Int]) throws -> UInt64
    func close() throws
}

/// An engine that is asked in SQL. What comes back is summed up by `Answer`.
protocol SelectEngine: ItemEngine {
    /// The sum of the ids of the items for which a condition holds; `?` are the numbers.
    func ids(_ condition: String, _ numbers: [Int]) throws -> UInt64
    /// The objects for which a condition holds, in an order, as many as are said.
    func items(_ condition: String, _ numbers: [Int], orderBy: String, limit: Int) throws -> UInt64
    /// A `SELECT`, all of whose rows are read.
    func select(_ text: String, _ numbers: [Int]) throws -> UInt64
    /// A condition that holds for no item and is decided by an index: what it takes to get a text ready.
    func none(_ condition: String, _ number: Int) throws -> Bool
    /// Gets a text ready, its number in place, and runs nothing.
    func prepare(_ condition: String, _ number: Int) throws
}

/// What a checksum takes of the values that a question was answered with.
enum Answer {
    static func of(_ number: Int64) -> UInt64 { UInt64(truncatingIfNeeded: number) }
    /// Engines add reals in orders of their own: the last digits do not count.
    static func of(_ number: Double) -> UInt64 { UInt64(truncatingIfNeeded: Int64((number * 1e6).rounded())) }
}
