import CSQLite

/// A connection to SQLite, configured alike for all cases: WAL, the whole data set in cache or map, no mutex of its own, memory
/// statistics off.
final class SQLiteConnection {
    let handle: OpaquePointer

    /// - Parameters:
    ///   - cacheBytes: a cache of that size, and no map of the file beside it.
    ///   - isShared: whether there are other connections to the file.
    convenience init(directory: String, durability: SyncMode, cacheBytes: Int? = nil, isShared: Bool = false) throws {
        try self.init(path: directory + "/data.sqlite")
        for setting in SQLiteConnection.settings(durability, isShared: isShared) { try run("PRAGMA \(setting)") }
        if let cacheBytes {
            try run("PRAGMA mmap_size = 0")
            try run("PRAGMA cache_size = -\(cacheBytes >> 10)")
        }
    }

    /// Without settings: for a database in memory.
    init(path: String) throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
            throw BenchmarkError("SQLite: the database does not open")
        }
        self.handle = handle
    }

    /// The settings of SQLite in every case, through its C interface and through GRDB.
    ///
    /// A connection that once had exclusive access never shares its log again: the mode is set before the first use.
    static func settings(_ durability: SyncMode, isShared: Bool = false) -> [String] {
        [
            "page_size = 4096", "locking_mode = \(isShared ? "NORMAL" : "EXCLUSIVE")", "journal_mode = WAL",
            "synchronous = \(durability == .full ? "FULL" : "NORMAL")",
            "cache_size = -1048576", "mmap_size = 2147418112", "temp_store = MEMORY",
        ]
    }

    func run(_ text: String) throws {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    func statement(_ text: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        guard sqlite3_prepare_v3(handle, text, -1, flags, &statement, nil) == SQLITE_OK, let statement else {
            throw failure()
        }
        return statement
    }

    /// Checkpoints the log into the file, from which the memory map serves it.
    func checkpoint() throws {
        guard sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK else {
            throw failure()
        }
    }

    func failure() -> BenchmarkError {
        BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(handle)))")
    }

    func close() throws {
        guard sqlite3_close(handle) == SQLITE_OK else { throw failure() }
    }
}
