/// The order of keys.
enum KeyOrder {
    case random
    /// By LMDB's append mode; by ordinary inserts in other engines.
    case ascending
    /// By the engine's bulk load, if it has one.
    case bulk
}

/// The options of an engine for a case.
struct Setup: Sendable {
    enum Keys: Sendable { case integers, strings }

    var directory: String
    var keys: Keys
    var durability: SyncMode
    /// The expected number of records, so that caches and maps are large enough.
    var records: Int
    /// The cache in bytes, if it is smaller than the data.
    var cacheBytes: Int?
    /// No checkpoint runs before `close`.
    var keepsLog = false

    /// The cache size of engines that have one: all data fits unless the case says otherwise, the pages of a
    /// transaction that is not packed yet included.
    var memoryBytes: Int { cacheBytes ?? max(1 << 30, records * ValueMaker.size * 4) }
}

/// An ordered store of 100-byte values under one kind of key.
///
/// Every method is one whole loop of a case, so that the harness calls the engine once per loop and not
/// once per record.
protocol KeyValueEngine: AnyObject {
    static var name: String { get }

    /// Creates a database in an empty directory, or opens the existing one.
    init(_ setup: Setup) throws

    // Writing: one transaction, committed.
    func insert(_ keys: [UInt64], order: KeyOrder) throws
    func insert(_ keys: StringKeys, order: KeyOrder) throws
    /// Prepares a freshly loaded database for reading, as its experts would.
    func settle() throws

    // Deleting: one transaction, committed.
    func deleteRange(_ keys: ClosedRange<UInt64>) throws
    /// Deletes the keys from one of the ordered keys up to below another.
    func deleteRange(_ range: Range<Int>, of keys: StringKeys) throws
    func delete(_ keys: [UInt64]) throws
    func delete(_ keys: StringKeys) throws

    // Reading, inside one read transaction by default. All return the checksum of the records read.
    func gets(_ keys: [UInt64]) throws -> UInt64
    func getsInOwnTransactions(_ keys: [UInt64]) throws -> UInt64
    func serialGets(_ count: Int, records: Int) throws -> UInt64
    func multiGets(_ keys: [UInt64], batch: Int) throws -> UInt64
    func gets(_ keys: StringKeys) throws -> UInt64
    func scan() throws -> UInt64
    /// Reads `length` records in order from each of the keys on.
    func shortScans(_ starts: [UInt64], length: Int) throws -> UInt64

    /// Gives the records of these keys other values, in transactions of the given size. The values differ in each round: some engines write
    /// nothing if the value is equal.
    func update(_ keys: ArraySlice<UInt64>, round: UInt64, perTransaction: Int) throws
    /// The bytes of the pages that the data needs.
    func reachableBytes() throws -> UInt64

    /// Inserts each of the keys in a transaction of its own.
    func commitEach(_ keys: Range<UInt64>) throws
    /// The same by several threads at once.
    func commitEach(_ keys: Range<UInt64>, threads: Int) throws

    func close() throws
}

func missing(_ key: UInt64) -> BenchmarkError {
    BenchmarkError("key \(key) is missing")
}
