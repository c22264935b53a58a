import CSQLite
import MakoRecords

struct SideError: Error, CustomStringConvertible {
    let description: String
}

/// A database of SQLite in memory.
final class SQLiteSide {
    private let connection: OpaquePointer
    /// SQLite copies bound values.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ world: World) throws {
        var opened: OpaquePointer?
        guard sqlite3_open(":memory:", &opened) == SQLITE_OK, let opened else { throw SideError(description: "open") }
        connection = opened
        for statement in world.statements { _ = try run(statement, []) }
        _ = try run("BEGIN", [])
        for (number, row) in world.parents.enumerated() { try insert("P", number + 1, row) }
        for (number, row) in world.rows.enumerated() { try insert("T", number + 1, row) }
        _ = try run("COMMIT", [])
    }

    deinit { sqlite3_close(connection) }

    private func insert(_ table: String, _ id: Int, _ row: [Value]) throws {
        let marks = Array(repeating: "?", count: row.count + 1).joined(separator: ", ")
        _ = try run("INSERT INTO \(table) VALUES (\(marks))", [.integer(Int64(id))] + row)
    }

    func run(_ text: String, _ parameters: [Value]) throws -> [[Value]] {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(connection, text, -1, &prepared, nil) == SQLITE_OK else { throw failure(text) }
        defer { sqlite3_finalize(prepared) }
        for (index, value) in parameters.enumerated() { bind(value, Int32(index + 1), prepared) }
        var rows: [[Value]] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append((0..<sqlite3_column_count(prepared)).map { value($0, prepared) })
            case SQLITE_DONE: return rows
            default: throw failure(text)
            }
        }
    }

    private func failure(_ text: String) -> SideError {
        SideError(description: "\(String(cString: sqlite3_errmsg(connection))) in \(text)")
    }

    private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer?) {
        switch value {
        case .bool(let flag): sqlite3_bind_int64(statement, index, flag ? 1 : 0)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .double(let number), .date(let number): sqlite3_bind_double(statement, index, number)
        case .text(let text): sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), SQLiteSide.transient)
        case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
        case .blob(let bytes): sqlite3_bind_blob(statement, index, bytes, Int32(bytes.count), SQLiteSide.transient)
        default: sqlite3_bind_null(statement, index)
        }
    }

    private func value(_ column: Int32, _ statement: OpaquePointer?) -> Value {
        let count = Int(sqlite3_column_bytes(statement, column))
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .double(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            let bytes = UnsafeRawBufferPointer(start: sqlite3_column_text(statement, column), count: count)
            return .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            return .blob(Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count)))
        default: return .null
        }
    }
}
