import CSQLite
import Foundation
import MakoCore
import MakoStorage

/// A store of texts with an index of their words.
protocol TextEngine: AnyObject {
    static var name: String { get }

    init(directory: String, isIndexed: Bool) throws

    /// Stores texts in one transaction.
    func insert(_ texts: [String]) throws
    /// The sum of the ids of the texts that fit.
    func match(_ query: String) throws -> UInt64
    /// The best twenty.
    func best(_ query: String) throws -> Int
    /// Closes the database and returns the bytes of its pages in use.
    func close() throws -> UInt64
}

/// The code that `@Entity` generates for a struct.
struct MakoText: Entity {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        MakoText.self, table: "text", id: \MakoText.id,
        properties: [.column("text", \MakoText.text, EntityCoding.codec(String.self), options: [.fullText])])

    var text: String
    var id: Int? { _$value.id }

    init(text: String) { self.text = text }

    init(row: EntityRow) throws(MakoError) {
        text = try EntityCoding.codec(String.self).read(row, 0)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(text, &writer, 0) }
    }
}

/// The same without an index, to compute the size of the index.
struct MakoPlainText: Entity {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        MakoPlainText.self, table: "plain", id: \MakoPlainText.id,
        properties: [.column("text", \MakoPlainText.text, EntityCoding.codec(String.self))])

    var text: String
    var id: Int? { _$value.id }

    init(text: String) { self.text = text }

    init(row: EntityRow) throws(MakoError) {
        text = try EntityCoding.codec(String.self).read(row, 0)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(text, &writer, 0) }
    }
}

final class MakoTexts: TextEngine {
    static let name = "Mako"

    private let path: String
    private let isIndexed: Bool
    private let database: Database

    init(directory: String, isIndexed: Bool) throws {
        path = directory + "/data.mako"
        self.isIndexed = isIndexed
        var options = DatabaseOptions()
        options.durability = .ordered
        options.cacheBytes = 1 << 30
        database = try Database(
            at: path, entities: [isIndexed ? MakoText.self : MakoPlainText.self], options: options)
    }

    func insert(_ texts: [String]) throws {
        if isIndexed {
            _ = try database.save(texts.map { MakoText(text: $0) })
        } else {
            _ = try database.save(texts.map { MakoPlainText(text: $0) })
        }
    }

    func match(_ query: String) throws -> UInt64 {
        try database.query(MakoText.self).where(.match(\.text, query)).ids().reduce(0) { $0 &+ UInt64($1) }
    }

    func best(_ query: String) throws -> Int {
        try database.query(MakoText.self).where(.match(\.text, query)).orderBy(.rank).limit(20).ids().count
    }

    func close() throws -> UInt64 {
        try database.close()
        let store = try Store(at: path)
        let stats = store.stats
        try store.close()
        return UInt64(stats.livePages * stats.pageBytes)
    }
}

/// FTS5 with a content table of its own, its usual form.
final class SQLiteTexts: TextEngine {
    static let name = "SQLite FTS5"

    private let connection: SQLiteConnection
    private let store: OpaquePointer
    private let find: OpaquePointer?
    private let rank: OpaquePointer?

    init(directory: String, isIndexed: Bool) throws {
        connection = try SQLiteConnection(directory: directory, durability: .relaxed)
        try connection.run(
            isIndexed
                ? "CREATE VIRTUAL TABLE text USING fts5(body)" : "CREATE TABLE text (id INTEGER PRIMARY KEY, body)")
        store = try connection.statement("INSERT INTO text (body) VALUES (?1)")
        find = isIndexed ? try connection.statement("SELECT rowid FROM text WHERE text MATCH ?1") : nil
        rank =
            isIndexed
            ? try connection.statement("SELECT rowid FROM text WHERE text MATCH ?1 ORDER BY rank LIMIT 20") : nil
    }

    private func bind(_ text: String, _ statement: OpaquePointer) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // SQLite copies it.
                _ = sqlite3_bind_text(
                    statement, 1, bytes.baseAddress, Int32(bytes.count),
                    unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        }
    }

    func insert(_ texts: [String]) throws {
        try connection.run("BEGIN IMMEDIATE")
        for text in texts {
            bind(text, store)
            guard sqlite3_step(store) == SQLITE_DONE else { throw connection.failure() }
            sqlite3_reset(store)
        }
        try connection.run("COMMIT")
    }

    private func rows(_ query: String, _ statement: OpaquePointer?, _ body: (Int64) -> Void) throws {
        guard let statement else { return }
        bind(query, statement)
        var state = sqlite3_step(statement)
        while state == SQLITE_ROW {
            body(sqlite3_column_int64(statement, 0))
            state = sqlite3_step(statement)
        }
        guard state == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(statement)
    }

    func match(_ query: String) throws -> UInt64 {
        var sum: UInt64 = 0
        try rows(query, find) { sum &+= UInt64($0) }
        return sum
    }

    func best(_ query: String) throws -> Int {
        var count = 0
        try rows(query, rank) { _ in count += 1 }
        return count
    }

    func close() throws -> UInt64 {
        var bytes: UInt64 = 1
        for name in ["page_count", "page_size"] {
            let statement = try connection.statement("PRAGMA \(name)")
            guard sqlite3_step(statement) == SQLITE_ROW else { throw connection.failure() }
            bytes *= UInt64(sqlite3_column_int64(statement, 0))
            sqlite3_finalize(statement)
        }
        for statement in [store, find, rank] { sqlite3_finalize(statement) }
        try connection.close()
        return bytes
    }
}
