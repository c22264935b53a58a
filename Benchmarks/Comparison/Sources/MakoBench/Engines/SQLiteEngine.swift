import CSQLite
import Foundation

/// SQLite through its C interface: persistent prepared statements, values bound and read in place, an integer primary key or
/// a table WITHOUT ROWID for text keys.
final class SQLiteEngine: KeyValueEngine, @unchecked Sendable {
    static let name = "SQLite"
    static let batch = 100

    private let connection: SQLiteConnection
    private let begin: OpaquePointer
    private let beginWrite: OpaquePointer
    private let commit: OpaquePointer
    private let insert: OpaquePointer
    private let select: OpaquePointer
    private let selectMany: OpaquePointer
    private let selectAll: OpaquePointer
    private let selectFrom: OpaquePointer
    private let update: OpaquePointer
    private let maker = ValueMaker()
    /// Connections that compete for the file's lock sleep and poll; an expert lets threads share one behind a lock.
    private let turn = NSLock()

    init(_ setup: Setup) throws {
        connection = try SQLiteConnection(
            directory: setup.directory, durability: setup.durability, cacheBytes: setup.cacheBytes)
        if setup.cacheBytes == nil { try connection.run("PRAGMA cache_size = -\(setup.memoryBytes >> 10)") }
        switch setup.keys {
        case .integers: try connection.run("CREATE TABLE IF NOT EXISTS data (k INTEGER PRIMARY KEY, v BLOB NOT NULL)")
        case .strings:
            try connection.run("CREATE TABLE IF NOT EXISTS data (k TEXT PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID")
        }
        begin = try connection.statement("BEGIN")
        beginWrite = try connection.statement("BEGIN IMMEDIATE")
        commit = try connection.statement("COMMIT")
        insert = try connection.statement("INSERT INTO data (k, v) VALUES (?1, ?2)")
        select = try connection.statement("SELECT v FROM data WHERE k = ?1")
        let places = Array(repeating: "?", count: SQLiteEngine.batch).joined(separator: ",")
        selectMany = try connection.statement("SELECT v FROM data WHERE k IN (\(places))")
        selectAll = try connection.statement("SELECT k, v FROM data ORDER BY k")
        selectFrom = try connection.statement("SELECT k, v FROM data WHERE k >= ?1 ORDER BY k LIMIT ?2")
        update = try connection.statement("UPDATE data SET v = ?2 WHERE k = ?1")
    }

    private func finish(_ statement: OpaquePointer) throws {
        guard sqlite3_step(statement) == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(statement)
    }

    private func transaction<R>(_ start: OpaquePointer, _ body: () throws -> R) throws -> R {
        try finish(start)
        let result = try body()
        try finish(commit)
        return result
    }

    func insert(_ keys: [UInt64], order: KeyOrder) throws {
        try transaction(beginWrite) {
            sqlite3_bind_blob(insert, 2, maker.bytes, Int32(ValueMaker.size), nil)
            for key in keys {
                maker.make(key)
                sqlite3_bind_int64(insert, 1, Int64(bitPattern: key))
                try finish(insert)
            }
        }
    }

    func insert(_ keys: StringKeys, order: KeyOrder) throws {
        try transaction(beginWrite) {
            sqlite3_bind_blob(insert, 2, maker.bytes, Int32(ValueMaker.size), nil)
            try keys.bytes.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return }
                for index in 0..<keys.count {
                    maker.make(keys.numbers[index])
                    bindText(insert, base + index * StringKeys.width)
                    try finish(insert)
                }
            }
        }
    }

    private func bindText(_ statement: OpaquePointer, _ bytes: UnsafePointer<UInt8>, place: Int32 = 1) {
        bytes.withMemoryRebound(to: CChar.self, capacity: StringKeys.width) { text in
            _ = sqlite3_bind_text(statement, place, text, Int32(StringKeys.width), nil)
        }
    }

    func deleteRange(_ keys: ClosedRange<UInt64>) throws {
        try transaction(beginWrite) {
            let delete = try connection.statement("DELETE FROM data WHERE k BETWEEN ?1 AND ?2")
            defer { sqlite3_finalize(delete) }
            sqlite3_bind_int64(delete, 1, Int64(bitPattern: keys.lowerBound))
            sqlite3_bind_int64(delete, 2, Int64(bitPattern: keys.upperBound))
            try finish(delete)
        }
    }

    func deleteRange(_ range: Range<Int>, of keys: StringKeys) throws {
        try transaction(beginWrite) {
            let delete = try connection.statement("DELETE FROM data WHERE k >= ?1 AND k < ?2")
            defer { sqlite3_finalize(delete) }
            try keys.bytes.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return }
                bindText(delete, base + range.lowerBound * StringKeys.width)
                bindText(delete, base + range.upperBound * StringKeys.width, place: 2)
                try finish(delete)
            }
        }
    }

    func delete(_ keys: [UInt64]) throws {
        try transaction(beginWrite) {
            let delete = try connection.statement("DELETE FROM data WHERE k = ?1")
            defer { sqlite3_finalize(delete) }
            for key in keys {
                sqlite3_bind_int64(delete, 1, Int64(bitPattern: key))
                try finish(delete)
            }
        }
    }

    func delete(_ keys: StringKeys) throws {
        try transaction(beginWrite) {
            let delete = try connection.statement("DELETE FROM data WHERE k = ?1")
            defer { sqlite3_finalize(delete) }
            try keys.bytes.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return }
                for index in 0..<keys.count {
                    bindText(delete, base + index * StringKeys.width)
                    try finish(delete)
                }
            }
        }
    }

    func settle() throws {
        try connection.checkpoint()
    }

    @inline(__always)
    private func value(_ statement: OpaquePointer, column: Int32 = 0) -> UInt64? {
        guard sqlite3_step(statement) == SQLITE_ROW, let bytes = sqlite3_column_blob(statement, column) else {
            return nil
        }
        return touch(bytes, Int(sqlite3_column_bytes(statement, column)))
    }

    private func get(_ key: UInt64) throws -> UInt64 {
        sqlite3_bind_int64(select, 1, Int64(bitPattern: key))
        guard let read = value(select) else { throw missing(key) }
        sqlite3_reset(select)
        return read
    }

    func gets(_ keys: [UInt64]) throws -> UInt64 {
        try transaction(begin) { try getsInOwnTransactions(keys) }
    }

    func getsInOwnTransactions(_ keys: [UInt64]) throws -> UInt64 {
        var sum: UInt64 = 0
        for key in keys { sum &+= try get(key) }
        return sum
    }

    func serialGets(_ count: Int, records: Int) throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            var key: UInt64 = 1
            for step in 0..<count {
                let read = try get(key)
                sum &+= read
                key = successor(of: read, step: step, records: UInt64(records))
            }
            return sum
        }
    }

    func multiGets(_ keys: [UInt64], batch: Int) throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            var start = 0
            while start + SQLiteEngine.batch <= keys.count {
                for index in 0..<SQLiteEngine.batch {
                    sqlite3_bind_int64(selectMany, Int32(index + 1), Int64(bitPattern: keys[start + index]))
                }
                while let read = value(selectMany) { sum &+= read }
                sqlite3_reset(selectMany)
                start += SQLiteEngine.batch
            }
            for key in keys[start...] { sum &+= try get(key) }
            return sum
        }
    }

    func gets(_ keys: StringKeys) throws -> UInt64 {
        try transaction(begin) {
            try keys.bytes.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return 0 }
                var sum: UInt64 = 0
                for index in 0..<keys.count {
                    bindText(select, base + index * StringKeys.width)
                    guard let read = value(select) else { throw missing(keys.numbers[index]) }
                    sqlite3_reset(select)
                    sum &+= read
                }
                return sum
            }
        }
    }

    func scan() throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            // The first eight bytes of a text key, or the integer itself: the other engines read the same.
            while let read = value(selectAll, column: 1) {
                if sqlite3_column_type(selectAll, 0) == SQLITE_INTEGER {
                    sum &+= UInt64(bitPattern: sqlite3_column_int64(selectAll, 0))
                } else if let text = sqlite3_column_blob(selectAll, 0) {
                    sum &+= text.loadUnaligned(as: UInt64.self)
                }
                sum &+= read
            }
            sqlite3_reset(selectAll)
            return sum
        }
    }

    func shortScans(_ starts: [UInt64], length: Int) throws -> UInt64 {
        try transaction(begin) {
            var sum: UInt64 = 0
            for start in starts {
                sqlite3_bind_int64(selectFrom, 1, Int64(bitPattern: start))
                sqlite3_bind_int64(selectFrom, 2, Int64(length))
                while let read = value(selectFrom, column: 1) {
                    sum &+= UInt64(bitPattern: sqlite3_column_int64(selectFrom, 0)) &+ read
                }
                sqlite3_reset(selectFrom)
            }
            return sum
        }
    }

    func update(_ keys: ArraySlice<UInt64>, round: UInt64, perTransaction: Int) throws {
        sqlite3_bind_blob(update, 2, maker.bytes, Int32(ValueMaker.size), nil)
        var rest = keys
        while !rest.isEmpty {
            // A single statement is a transaction.
            let isAlone = perTransaction == 1
            if !isAlone { try finish(beginWrite) }
            for key in rest.prefix(perTransaction) {
                maker.make(key &+ round)
                sqlite3_bind_int64(update, 1, Int64(bitPattern: key))
                try finish(update)
            }
            if !isAlone { try finish(commit) }
            rest = rest.dropFirst(perTransaction)
        }
    }

    func reachableBytes() throws -> UInt64 {
        func number(_ pragma: String) throws -> UInt64 {
            let statement = try connection.statement("PRAGMA \(pragma)")
            defer { sqlite3_finalize(statement) }
            guard sqlite3_step(statement) == SQLITE_ROW else { throw connection.failure() }
            return UInt64(sqlite3_column_int64(statement, 0))
        }
        return try (number("page_count") - number("freelist_count")) * number("page_size")
    }

    /// A single statement is a transaction.
    private func commitOne(_ key: UInt64, _ maker: ValueMaker) throws {
        sqlite3_bind_int64(insert, 1, Int64(bitPattern: key))
        sqlite3_bind_blob(insert, 2, maker.bytes, Int32(ValueMaker.size), nil)
        try finish(insert)
    }

    func commitEach(_ keys: Range<UInt64>) throws {
        for key in keys {
            maker.make(key)
            try commitOne(key, maker)
        }
    }

    func commitEach(_ keys: Range<UInt64>, threads: Int) throws {
        let share = UInt64(keys.count / threads)
        try onThreads(threads) { thread in
            let maker = ValueMaker()
            let start = keys.lowerBound + UInt64(thread) * share
            for key in start..<start + share {
                maker.make(key)
                self.turn.lock()
                defer { self.turn.unlock() }
                try self.commitOne(key, maker)
            }
        }
    }

    func close() throws {
        for statement in [begin, beginWrite, commit, insert, select, selectMany, selectAll, selectFrom, update] {
            sqlite3_finalize(statement)
        }
        try connection.close()
    }
}
