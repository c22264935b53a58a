/// A store of people with an index on `name` and one on `points`.
protocol ObjectEngine: AnyObject {
    static var name: String { get }

    /// Creates a database in an empty directory, with table and indexes.
    init(directory: String, durability: SyncMode) throws

    /// Builds the objects, outside the measured time.
    func prepare(_ count: Int) throws
    /// Stores the prepared objects in one durable transaction.
    func insertPrepared() throws
    /// Stores the first of the prepared objects, each in a transaction of its own.
    func insertEach(_ count: Int) throws
    /// Prepares a freshly loaded database for reading.
    func settle() throws

    // Reading. The checksum of these three adds `points` of every object: that it exists and is the right one.

    /// One object for each id, inside one read transaction.
    func fetch(_ ids: [Int]) throws -> UInt64
    /// The same in one call, if the engine has one.
    func fetchTogether(_ ids: [Int]) throws -> UInt64
    /// All objects at once in an array.
    func fetchAll() throws -> UInt64
    /// For each number, the objects with points from it to 99 above, by the index, as an array.
    func query(_ lowest: [Int]) throws -> UInt64

    /// Fetches all objects and retains them.
    func hold() throws
    func drop()
    /// Reads all eight properties of the retained objects.
    func readHeld() -> UInt64
    /// Reads one property of the first of them, in repeated rounds.
    func readAges(_ count: Int, rounds: Int) -> UInt64
    func readNames(_ count: Int, rounds: Int) -> UInt64
    /// Makes all retained people a year older, in one transaction.
    func updateHeld() throws
    /// Deletes all objects, by a query that finds all of them by the index.
    func deleteAll() throws -> Int

    func close() throws
}

/// An engine with live queries.
protocol LiveEngine: ObjectEngine {
    /// For each number, follows the objects with points from it to 99 above; calls `told` whenever one of the queries has its results.
    func follow(_ lowest: [Int], told: @escaping @Sendable () -> Void) throws
    /// Makes one in ten of the retained people a year older, in one transaction.
    func updateTenth() throws
    func unfollow()
}

extension Sequence where Element: PersonLike {
    @inline(__always)
    var points: UInt64 {
        var sum: UInt64 = 0
        for person in self { sum &+= UInt64(truncatingIfNeeded: person.points) }
        return sum
    }

    @inline(__always)
    var ages: UInt64 {
        var sum: UInt64 = 0
        for person in self { sum &+= UInt64(truncatingIfNeeded: person.age) }
        return sum
    }

    @inline(__always)
    var names: UInt64 {
        var sum: UInt64 = 0
        for person in self { sum &+= UInt64(person.name.utf8.count) }
        return sum
    }

    @inline(__always)
    var allProperties: UInt64 {
        var sum: UInt64 = 0
        for person in self { sum &+= person.checksum }
        return sum
    }
}
