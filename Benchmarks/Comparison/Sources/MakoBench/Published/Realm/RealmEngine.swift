/// The tables of Realm's tests, in a file.
protocol RealmEngine: AnyObject {
    static var name: String { get }

    /// Opens the file in a directory, or creates it with all tables.
    init(directory: String) throws
    func close() throws

    // Filling, outside the measured time.

    /// The given number of objects whose text is "a" and as many with "b"; ints that are 1 and 2 likewise.
    func fill(pairs: Int) throws
    /// Texts that are the numbers from 0 on.
    func fillTexts(_ count: Int) throws
    func fillInts(_ numbers: [Int]) throws
    func fillIndexed(_ count: Int) throws
    /// A list and a set that hold all objects with a text.
    func collect() throws

    // Inserting.

    /// Objects with the text "a", added one by one in one transaction.
    func insertObjects(_ count: Int) throws
    /// Rows of values by the names of their properties, in one transaction.
    func insertValues(_ count: Int) throws
    /// A transaction for each.
    func insertEach(_ count: Int) throws
    func countAll() throws -> Int

    // Reading. The checksum takes the property of every object.

    /// The number of texts that are "a".
    func countWhere() throws -> Int
    /// The first object whose text is "a", and their number.
    func firstAndCount() throws -> Int
    func readAll() throws -> UInt64
    /// The objects whose text is "a".
    func readQuery() throws -> UInt64
    func readInts() throws -> UInt64
    func readList() throws -> UInt64
    func readSet() throws -> UInt64
    /// The first object with each of the numbers as its text.
    func lookUp(_ count: Int) throws -> UInt64
    func lookUpIndexed(_ count: Int) throws -> UInt64
    /// The first object whose number is among these.
    func firstAmong(_ numbers: [Int]) throws -> UInt64
    /// The last object in ascending order.
    func lastSorted() throws -> UInt64

    // Changing and deleting, each in one transaction.

    /// The text "c" for all objects, one by one.
    func changeAll() throws
    /// The same for those whose text is not "b".
    func changeQuery() throws
    func deleteAll() throws -> Int
    /// The objects whose text is "a" or "b".
    func deleteQuery() throws -> Int
    func hold() throws
    func deleteHeld() throws -> Int
}

extension String {
    /// The contribution of a text to a checksum.
    @inline(__always)
    var weight: UInt64 {
        var sum: UInt64 = 0
        for byte in utf8 { sum = sum &* 31 &+ UInt64(byte) }
        return sum
    }
}
