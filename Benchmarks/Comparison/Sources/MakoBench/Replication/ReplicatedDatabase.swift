/// A database of rows with the bytes of `ValueMaker`, that commits durably, and whose changes are shipped to an object store.
protocol ReplicatedDatabase: AnyObject {
    static var name: String { get }

    /// Loads `records` rows with the keys from 1; with a prefix, ships them.
    ///
    /// - Parameter interval: milliseconds between two shipments by itself.
    init(_ directory: String, _ place: ReplicationPlace, prefix: String?, records: Int, interval: Int) throws

    /// Replaces a row in a durable transaction of its own.
    ///
    /// - Parameter version: another one in each call. SQLite commits nothing where a row gets the bytes that it has.
    func update(_ key: UInt64, _ version: UInt64) throws

    /// Returns when the object store has every commit.
    func ship() throws

    /// Ends the database, and what ships it.
    func close() throws

    /// Makes a database of what the object store has.
    static func restore(_ directory: String, _ place: ReplicationPlace, prefix: String) throws

    /// A checksum of the database that ``restore(_:_:prefix:)`` has made.
    static func checksum(_ directory: String) throws -> UInt64

    /// A copy in another directory that is kept up to date.
    static func follow(_ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int) throws
        -> any ReplicatedCopy
}

/// A copy that follows another database.
protocol ReplicatedCopy: AnyObject {
    func has(_ key: UInt64, _ version: UInt64) throws -> Bool
    func close() throws
}

/// The number from which a value of a version is made.
func versioned(_ key: UInt64, _ version: UInt64) -> UInt64 { key &+ version << 32 }
