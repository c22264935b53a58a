/// A box of entities, as ObjectBox calls it.
protocol BoxEngine: AnyObject {
    static var name: String { get }

    /// A new file with an empty table.
    init(directory: String, isIndexed: Bool) throws

    /// Makes entities, outside the measured time.
    func prepare(_ data: [BoxData])
    /// Gives the prepared entities other values.
    func change(_ data: [BoxData])
    /// Stores the prepared entities, new or changed, in one transaction.
    func put(isNew: Bool) throws
    /// Reads all entities and retains them.
    func load() throws
    /// Reads all properties of the retained entities.
    func access() -> UInt64
    /// Halves the long number of the retained entities.
    func halve()
    /// Stores the changed entities, in one transaction.
    func update() throws
    func count() throws -> Int
    /// `count`, so many times in one read transaction.
    func count(times: Int) throws -> Int
    func removeAll() throws -> Int
    /// Releases the prepared and the retained entities.
    func drop()
    /// Prepares the database for reading.
    func settle() throws

    // In one read transaction, a query or a look-up for each; all properties are read.

    func find(strings: [String]) throws -> UInt64
    func find(ints: [Int32]) throws -> UInt64
    func find(ids: [Int]) throws -> UInt64

    func close() throws
}
