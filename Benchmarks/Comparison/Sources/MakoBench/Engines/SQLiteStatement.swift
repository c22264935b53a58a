import CSQLite

/// A cached prepared statement, with a buffer for the texts that are bound to it, so that SQLite need not copy each.
final class SQLiteStatement {
    private let connection: SQLiteConnection
    private let handle: OpaquePointer
    private let room: UnsafeMutableRawPointer
    private var used = 0

    private static let roomSize = 64 << 10

    init(_ text: String, _ connection: SQLiteConnection) throws {
        self.connection = connection
        handle = try connection.statement(text)
        room = .allocate(byteCount: SQLiteStatement.roomSize, alignment: 16)
    }

    deinit {
        sqlite3_finalize(handle)
        room.deallocate()
    }

    func bind(_ value: Int?, _ place: Int32) {
        if let value { sqlite3_bind_int64(handle, place, Int64(value)) } else { sqlite3_bind_null(handle, place) }
    }

    func bind(_ value: Double?, _ place: Int32) {
        if let value { sqlite3_bind_double(handle, place, value) } else { sqlite3_bind_null(handle, place) }
    }

    func bind(_ value: Bool, _ place: Int32) { sqlite3_bind_int(handle, place, value ? 1 : 0) }

    func bind(_ value: String?, _ place: Int32) {
        guard var value else { return _ = sqlite3_bind_null(handle, place) }
        value.withUTF8 { bytes in
            let copy = keep(UnsafeRawBufferPointer(bytes))
            let start = copy ?? UnsafeRawPointer(bytes.baseAddress)
            sqlite3_bind_text(
                handle, place, start?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), life(of: copy))
        }
    }

    func bind(_ value: [UInt8], _ place: Int32) {
        value.withUnsafeBytes { bytes in
            let copy = keep(bytes)
            // No pointer at all would be NULL instead of no bytes.
            if bytes.isEmpty { return _ = sqlite3_bind_zeroblob(handle, place, 0) }
            sqlite3_bind_blob(handle, place, copy ?? bytes.baseAddress, Int32(bytes.count), life(of: copy))
        }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard let start = bytes.baseAddress, used + bytes.count <= SQLiteStatement.roomSize else { return nil }
        let place = room + used
        place.copyMemory(from: start, byteCount: bytes.count)
        used += bytes.count
        return UnsafeRawPointer(place)
    }

    /// A text in the buffer is bound in place; SQLite copies any other.
    private func life(of copy: UnsafeRawPointer?) -> sqlite3_destructor_type? {
        copy == nil ? unsafeBitCast(-1, to: sqlite3_destructor_type.self) : nil
    }

    /// The index of a named parameter.
    func place(_ name: String) -> Int32 { sqlite3_bind_parameter_index(handle, name) }

    /// The index of a named column.
    func column(_ name: String) -> Int32 {
        (0..<sqlite3_column_count(handle)).first { String(cString: sqlite3_column_name(handle, $0)) == name } ?? 0
    }

    /// Runs a statement that returns no rows.
    func run() throws {
        guard sqlite3_step(handle) == SQLITE_DONE else { throw connection.failure() }
        reset()
    }

    @inline(__always)
    func forEach(_ body: () throws -> Void) throws {
        var state = sqlite3_step(handle)
        while state == SQLITE_ROW {
            try body()
            state = sqlite3_step(handle)
        }
        guard state == SQLITE_DONE else { throw connection.failure() }
        reset()
    }

    /// The first row, if there is one.
    @inline(__always)
    func first<R>(_ body: () throws -> R) throws -> R? {
        defer { reset() }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return try body()
        case SQLITE_DONE: return nil
        default: throw connection.failure()
        }
    }

    private func reset() {
        sqlite3_reset(handle)
        used = 0
    }

    @inline(__always) func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
    @inline(__always) func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
    @inline(__always) func text(_ column: Int32) -> String { SQLiteObjects.text(handle, column) }
    @inline(__always) func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    @inline(__always) func intOrNil(_ column: Int32) -> Int? { isNull(column) ? nil : int(column) }
    @inline(__always) func doubleOrNil(_ column: Int32) -> Double? { isNull(column) ? nil : double(column) }

    @inline(__always) func textOrNil(_ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    @inline(__always) func bytes(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(handle, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
