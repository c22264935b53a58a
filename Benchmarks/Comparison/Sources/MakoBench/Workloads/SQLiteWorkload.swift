import CSQLite
import Foundation

/// SQLite in WAL mode: a connection for each thread that reads, and one that all share for writing, behind a lock, so that no thread has to
/// poll the file lock.
final class SQLiteWorkload: WorkloadEngine, @unchecked Sendable {
    static let name = SQLiteEngine.name

    private let directory: String
    private let durability: SyncMode
    private let writer: Connection
    private let turn = NSLock()

    init(_ setup: Setup) throws {
        directory = setup.directory
        durability = setup.durability
        let first = try SQLiteConnection(directory: directory, durability: durability, isShared: true)
        try first.run("CREATE TABLE data (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID")
        try first.close()
        writer = try Connection(directory, durability)
    }

    func load(_ records: Range<UInt64>) throws { try session().write(Array(records)) }
    func settle() throws { try writer.connection.checkpoint() }
    func session() throws -> any WorkloadSession { Session(self, try Connection(directory, durability)) }
    func close() throws { try writer.close() }

    /// A connection with its statements.
    private final class Connection {
        let connection: SQLiteConnection
        private let begin: OpaquePointer
        private let commit: OpaquePointer
        private let put: OpaquePointer
        private let select: OpaquePointer
        private let range: OpaquePointer

        init(_ directory: String, _ durability: SyncMode) throws {
            connection = try SQLiteConnection(directory: directory, durability: durability, isShared: true)
            sqlite3_busy_timeout(connection.handle, 10_000)
            begin = try connection.statement("BEGIN IMMEDIATE")
            commit = try connection.statement("COMMIT")
            put = try connection.statement("INSERT OR REPLACE INTO data (k, v) VALUES (?1, ?2)")
            select = try connection.statement("SELECT v FROM data WHERE k = ?1")
            range = try connection.statement("SELECT v FROM data WHERE k >= ?1 ORDER BY k LIMIT ?2")
        }

        private func finish(_ statement: OpaquePointer) throws {
            guard sqlite3_step(statement) == SQLITE_DONE else { throw connection.failure() }
            sqlite3_reset(statement)
        }

        func writing(_ body: () throws -> Void) throws {
            try finish(begin)
            try body()
            try finish(commit)
        }

        func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            sqlite3_bind_blob(put, 1, key.baseAddress, Int32(key.count), nil)
            sqlite3_bind_blob(put, 2, value.baseAddress, Int32(value.count), nil)
            try finish(put)
        }

        func read(_ key: UnsafeRawBufferPointer) throws -> UInt64 {
            sqlite3_bind_blob(select, 1, key.baseAddress, Int32(key.count), nil)
            defer { sqlite3_reset(select) }
            guard sqlite3_step(select) == SQLITE_ROW, let start = sqlite3_column_blob(select, 0) else {
                throw BenchmarkError("a key is missing")
            }
            return touch(start, Int(sqlite3_column_bytes(select, 0)))
        }

        func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64 {
            sqlite3_bind_blob(range, 1, key.baseAddress, Int32(key.count), nil)
            sqlite3_bind_int64(range, 2, Int64(count))
            defer { sqlite3_reset(range) }
            var total: UInt64 = 0
            while sqlite3_step(range) == SQLITE_ROW, let start = sqlite3_column_blob(range, 0) {
                total &+= touch(start, Int(sqlite3_column_bytes(range, 0)))
            }
            return total
        }

        func close() throws {
            for statement in [begin, commit, put, select, range] { sqlite3_finalize(statement) }
            try connection.close()
        }
    }

    private final class Session: WorkloadSession {
        private let engine: SQLiteWorkload
        private let reader: Connection
        private let maker = RecordMaker()

        init(_ engine: SQLiteWorkload, _ reader: Connection) {
            self.engine = engine
            self.reader = reader
        }

        func read(_ key: UnsafeRawBufferPointer) throws -> UInt64 { try reader.read(key) }
        func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64 { try reader.scan(from: key, count) }

        func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            // A single statement is a transaction.
            try engine.turn.withLock { try engine.writer.write(key, value) }
        }

        func modify(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            try engine.turn.withLock {
                try engine.writer.writing {
                    _ = try engine.writer.read(key)
                    try engine.writer.write(key, value)
                }
            }
        }

        func write(_ records: [UInt64]) throws {
            try engine.turn.withLock {
                try engine.writer.writing {
                    for record in records {
                        maker.make(record)
                        try engine.writer.write(maker.key, maker.value)
                    }
                }
            }
        }

        func end() throws { try reader.close() }
    }
}
