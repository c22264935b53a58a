import CSQLite
import Foundation

/// A database of SQLite with the settings that litestream recommends, which ships it from a process beside.
final class ReplicatedSQLite: ReplicatedDatabase {
    static let name = "litestream"

    private let connection: SQLiteConnection
    private var statement: SQLiteStatement?
    private let maker = ValueMaker()
    private var litestream: Litestream?

    init(_ directory: String, _ place: ReplicationPlace, prefix: String?, records: Int, interval: Int) throws {
        connection = try SQLiteConnection(directory: directory, durability: .full, isShared: true)
        try connection.run("PRAGMA busy_timeout = 5000")
        try connection.run("CREATE TABLE data (key INTEGER PRIMARY KEY, value BLOB NOT NULL)")
        try connection.run("BEGIN")
        let insert = try SQLiteStatement("INSERT INTO data VALUES (?1, ?2)", connection)
        for key in 1...records {
            maker.make(UInt64(key))
            insert.bind(key, 1)
            insert.bind(Array(maker.value), 2)
            try insert.run()
        }
        try connection.run("COMMIT")
        try connection.checkpoint()
        statement = try SQLiteStatement("UPDATE data SET value = ?1 WHERE key = ?2", connection)
        guard let prefix else { return }
        // It is litestream that checkpoints.
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        let litestream = try Litestream(directory, place, prefix: prefix, interval: interval)
        try litestream.replicate()
        self.litestream = litestream
    }

    func update(_ key: UInt64, _ version: UInt64) throws {
        maker.make(versioned(key, version))
        statement?.bind(Array(maker.value), 1)
        statement?.bind(Int(key), 2)
        try statement?.run()
    }

    func ship() throws { try litestream?.sync() }

    func close() throws {
        litestream?.end()
        statement = nil
        try connection.close()
    }

    static func restore(_ directory: String, _ place: ReplicationPlace, prefix: String) throws {
        try Litestream(directory, place, prefix: prefix, interval: 1000).restore(to: "restored.sqlite")
    }

    static func checksum(_ directory: String) throws -> UInt64 {
        let connection = try SQLiteConnection(path: directory + "/restored.sqlite")
        var sum: UInt64 = 0
        do {
            let rows = try SQLiteStatement("SELECT key, value FROM data", connection)
            try rows.forEach {
                sum &+= UInt64(rows.int(0)) &+ rows.bytes(1).withUnsafeBytes { touch($0) }
            }
        }
        try connection.close()
        return sum
    }

    static func follow(
        _ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int
    ) throws -> any ReplicatedCopy {
        try SQLiteFollower(directory, place, prefix: prefix, interval: interval)
    }
}

/// `litestream restore -f`, and readers of its file: it is changed below SQLite, so that an open connection could serve old pages.
private final class SQLiteFollower: ReplicatedCopy {
    private let litestream: Litestream
    private let path: String
    private let maker = ValueMaker()

    init(_ directory: String, _ place: ReplicationPlace, prefix: String, interval: Int) throws {
        litestream = try Litestream(directory, place, prefix: prefix, interval: interval)
        path = directory + "/copy.sqlite"
        try litestream.follow(at: "copy.sqlite")
    }

    func has(_ key: UInt64, _ version: UInt64) throws -> Bool {
        maker.make(versioned(key, version))
        let wanted = touch(maker.value)
        let reader = try SQLiteConnection(path: path)
        try reader.run("PRAGMA busy_timeout = 5000")
        var found: UInt64?
        do {
            let statement = try SQLiteStatement("SELECT value FROM data WHERE key = ?1", reader)
            statement.bind(Int(key), 1)
            found = try statement.first { statement.bytes(0).withUnsafeBytes { touch($0) } }
        }
        try reader.close()
        return found == wanted
    }

    func close() throws { litestream.end() }
}
