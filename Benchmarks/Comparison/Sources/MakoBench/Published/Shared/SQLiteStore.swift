import CSQLite
import Foundation

/// A type whose values are rows of a table, coded by hand for SQLite's C interface.
protocol SQLiteRecord {
    static var table: String { get }
    /// The columns in the order in which they are read and bound.
    static var columns: [String] { get }

    init(_ row: SQLiteStatement)
    func bind(to statement: SQLiteStatement)
}

/// SQLite's C interface with cached statements, for the published designs.
final class SQLiteStore {
    let connection: SQLiteConnection
    private var statements: [String: SQLiteStatement] = [:]

    /// - Parameters:
    ///   - schema: for a new file.
    ///   - isShared: whether GRDB has the file open, too.
    init(directory: String, schema: [String], durability: SyncMode, isShared: Bool = false) throws {
        let isNew = !FileManager.default.fileExists(atPath: directory + "/data.sqlite")
        connection = try SQLiteConnection(directory: directory, durability: durability, isShared: isShared)
        if isNew { for text in schema { try connection.run(text) } }
    }

    init(inMemory schema: [String]) throws {
        connection = try SQLiteConnection(path: ":memory:")
        for text in schema { try connection.run(text) }
    }

    func statement(_ text: String) throws -> SQLiteStatement {
        if let known = statements[text] { return known }
        let made = try SQLiteStatement(text, connection)
        statements[text] = made
        return made
    }

    func write<R>(_ body: () throws -> R) throws -> R { try transaction("BEGIN IMMEDIATE", body) }
    func read<R>(_ body: () throws -> R) throws -> R { try transaction("BEGIN", body) }

    private func transaction<R>(_ begin: String, _ body: () throws -> R) throws -> R {
        try statement(begin).run()
        let result = try body()
        try statement("COMMIT").run()
        return result
    }

    /// The statement that inserts its bound values.
    func insertion<R: SQLiteRecord>(_ type: R.Type) throws -> SQLiteStatement {
        let places = (1...R.columns.count).map { "?\($0)" }.joined(separator: ", ")
        return try statement("INSERT INTO \(R.table) (\(R.columns.joined(separator: ", "))) VALUES (\(places))")
    }

    /// Inserts records in the running transaction.
    func insert<R: SQLiteRecord>(_ records: some Sequence<R>) throws {
        let statement = try insertion(R.self)
        for record in records {
            record.bind(to: statement)
            try statement.run()
        }
    }

    func selection<R: SQLiteRecord>(_ type: R.Type, _ rest: String = "") throws -> SQLiteStatement {
        try statement("SELECT \(R.columns.joined(separator: ", ")) FROM \(R.table) \(rest)")
    }

    func fetch<R: SQLiteRecord>(
        _ type: R.Type, _ rest: String = "", _ bind: (SQLiteStatement) -> Void = { _ in }
    ) throws -> [R] {
        let statement = try selection(type, rest)
        bind(statement)
        var records: [R] = []
        try statement.forEach { records.append(R(statement)) }
        return records
    }

    func run(_ text: String) throws { try statement(text).run() }

    func int(_ text: String) throws -> Int {
        let statement = try statement(text)
        return try statement.first { statement.int(0) } ?? 0
    }

    var lastID: Int { Int(sqlite3_last_insert_rowid(connection.handle)) }
    /// The number of rows that the previous statement has changed.
    var changes: Int { Int(sqlite3_changes(connection.handle)) }

    /// Checkpoints the log into the file, from which the memory map serves it.
    func settle() throws { try connection.checkpoint() }

    func close() throws {
        statements = [:]
        try connection.close()
    }
}
