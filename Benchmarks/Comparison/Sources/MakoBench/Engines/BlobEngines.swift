import CLMDB
import CSQLite
import MakoStorage

/// A store of values of 100,000 bytes under integer keys.
protocol BlobEngine: AnyObject {
    static var name: String { get }

    /// Creates a database in an empty directory.
    init(_ setup: Setup) throws

    /// Stores a value under each of the keys, in one transaction.
    func load(_ keys: [UInt64]) throws
    func settle() throws
    /// Reads every byte of the values, in one read transaction; returns the sum of their words.
    func read(_ keys: [UInt64]) throws -> UInt64
    func close() throws
}

/// Bytes that cannot be compressed, the first eight of them the key.
final class BlobMaker {
    static let size = 100_000

    let bytes: UnsafeMutableRawPointer

    init() {
        var random = Mixer(seed: 11)
        bytes = .allocate(byteCount: BlobMaker.size, alignment: 16)
        for offset in stride(from: 0, to: BlobMaker.size, by: 8) {
            bytes.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
    }

    deinit { bytes.deallocate() }

    func make(_ key: UInt64) { bytes.storeBytes(of: key, as: UInt64.self) }

    /// The sum of the words of some bytes, eight at a time.
    @inline(__always)
    static func sum(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        var sum: UInt64 = 0
        for index in 0..<count / 8 { sum &+= start.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
        return sum
    }
}

final class MakoBlobs: BlobEngine {
    static let name = MakoEngine.name

    private let store: Store
    private let tree: Tree
    private let maker = BlobMaker()

    init(_ setup: Setup) throws {
        var options = StoreOptions()
        options.durability = setup.durability == .full ? .full : .ordered
        options.cacheBytes = 1 << 30
        store = try Store(at: setup.directory + "/data.mako", options: options)
        tree = try store.write { try $0.createTree(named: "data", keys: .integer) }
    }

    func load(_ keys: [UInt64]) throws {
        try store.write { transaction in
            for key in keys {
                maker.make(key)
                let value = UnsafeRawBufferPointer(start: maker.bytes, count: BlobMaker.size)
                try transaction.put(value, for: key, in: tree)
            }
        }
    }

    func settle() throws { try store.checkpoint() }

    func read(_ keys: [UInt64]) throws -> UInt64 {
        var sum: UInt64 = 0
        try store.read { snapshot in
            for key in keys {
                guard let blob = try snapshot.blob(of: key, in: tree) else { throw missing(key) }
                try blob.forEachPiece { piece in
                    if let start = piece.baseAddress { sum &+= BlobMaker.sum(start, piece.count) }
                }
            }
        }
        return sum
    }

    func close() throws { try store.close() }
}

final class LMDBBlobs<Mode: LMDBMode>: BlobEngine {
    static var name: String { Mode.name }

    private let environment: OpaquePointer
    private let database: MDB_dbi
    private let maker = BlobMaker()

    init(_ setup: Setup) throws {
        var environment: OpaquePointer?
        try LMDBBlobs.check(mdb_env_create(&environment))
        guard let environment else { throw BenchmarkError("mdb_env_create gave nothing") }
        self.environment = environment
        try LMDBBlobs.check(mdb_env_set_mapsize(environment, max(1 << 30, setup.records * BlobMaker.size * 4)))
        var flags = MDB_NORDAHEAD | Mode.flags
        if setup.durability != .full { flags |= MDB_NOSYNC }
        try LMDBBlobs.check(mdb_env_open(environment, setup.directory, UInt32(flags), 0o644))
        var transaction: OpaquePointer?
        try LMDBBlobs.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var database: MDB_dbi = 0
        try LMDBBlobs.check(mdb_dbi_open(transaction, nil, UInt32(MDB_INTEGERKEY), &database))
        try LMDBBlobs.check(mdb_txn_commit(transaction))
        self.database = database
    }

    private static func check(_ code: Int32) throws {
        guard code == 0 else { throw BenchmarkError("LMDB: \(String(cString: mdb_strerror(code)))") }
    }

    /// The pages are reserved and filled in place: one copy.
    func load(_ keys: [UInt64]) throws {
        var transaction: OpaquePointer?
        try LMDBBlobs.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var number: UInt64 = 0
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            for next in keys {
                number.pointee = next
                maker.make(next)
                var value = MDB_val(mv_size: BlobMaker.size, mv_data: nil)
                let flags = UInt32(MDB_RESERVE | MDB_APPEND)
                try LMDBBlobs.check(mdb_put(transaction, database, &key, &value, flags))
                value.mv_data?.copyMemory(from: maker.bytes, byteCount: BlobMaker.size)
            }
        }
        try LMDBBlobs.check(mdb_txn_commit(transaction))
    }

    func settle() throws { try LMDBBlobs.check(mdb_env_sync(environment, 1)) }

    func read(_ keys: [UInt64]) throws -> UInt64 {
        var transaction: OpaquePointer?
        try LMDBBlobs.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { mdb_txn_abort(transaction) }
        var sum: UInt64 = 0
        var number: UInt64 = 0
        var value = MDB_val()
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            for next in keys {
                number.pointee = next
                guard mdb_get(transaction, database, &key, &value) == 0, let data = value.mv_data else {
                    throw missing(next)
                }
                sum &+= BlobMaker.sum(data, value.mv_size)
            }
        }
        return sum
    }

    func close() throws { mdb_env_close(environment) }
}

final class SQLiteBlobs: BlobEngine {
    static let name = SQLiteEngine.name

    private let connection: SQLiteConnection
    private let insert: OpaquePointer
    private let select: OpaquePointer
    private let maker = BlobMaker()

    init(_ setup: Setup) throws {
        connection = try SQLiteConnection(directory: setup.directory, durability: setup.durability)
        try connection.run("CREATE TABLE data (k INTEGER PRIMARY KEY, v BLOB NOT NULL)")
        insert = try connection.statement("INSERT INTO data (k, v) VALUES (?1, ?2)")
        select = try connection.statement("SELECT v FROM data WHERE k = ?1")
    }

    func load(_ keys: [UInt64]) throws {
        try connection.run("BEGIN IMMEDIATE")
        for key in keys {
            maker.make(key)
            sqlite3_bind_int64(insert, 1, Int64(bitPattern: key))
            sqlite3_bind_blob(insert, 2, maker.bytes, Int32(BlobMaker.size), nil)
            guard sqlite3_step(insert) == SQLITE_DONE else { throw connection.failure() }
            sqlite3_reset(insert)
        }
        try connection.run("COMMIT")
    }

    func settle() throws { try connection.checkpoint() }

    func read(_ keys: [UInt64]) throws -> UInt64 {
        var sum: UInt64 = 0
        try connection.run("BEGIN")
        for key in keys {
            sqlite3_bind_int64(select, 1, Int64(bitPattern: key))
            guard sqlite3_step(select) == SQLITE_ROW, let start = sqlite3_column_blob(select, 0) else {
                throw missing(key)
            }
            sum &+= BlobMaker.sum(start, Int(sqlite3_column_bytes(select, 0)))
            sqlite3_reset(select)
        }
        try connection.run("COMMIT")
        return sum
    }

    func close() throws {
        sqlite3_finalize(insert)
        sqlite3_finalize(select)
        try connection.close()
    }
}
