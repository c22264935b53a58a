import CLMDB

/// LMDB's write mode: by default it copies changed pages and writes them to the file; with MDB_WRITEMAP it changes them in a
/// writable map of the file. The map is faster for some loads and slower for others, and it gives up the protection
/// against stray writes; so every writing case shows both.
protocol LMDBMode: SendableMetatype {
    static var name: String { get }
    static var flags: Int32 { get }
}

enum LMDBDefault: LMDBMode {
    static let name = "LMDB"
    static let flags: Int32 = 0
}

enum LMDBWriteMap: LMDBMode {
    static let name = "LMDB WRITEMAP"
    static let flags = MDB_WRITEMAP
}

/// LMDB: MDB_INTEGERKEY for integer keys, MDB_APPEND for ascending ones, a map that is large enough, one read transaction for
/// many gets, and one that is reset and renewed if each get has its own.
final class LMDBEngine<Mode: LMDBMode>: KeyValueEngine, @unchecked Sendable {
    static var name: String { Mode.name }

    private let environment: OpaquePointer
    private let database: MDB_dbi
    private let maker = ValueMaker()

    init(_ setup: Setup) throws {
        var environment: OpaquePointer?
        try LMDBEngine.check(mdb_env_create(&environment))
        guard let environment else { throw BenchmarkError("mdb_env_create gave nothing") }
        self.environment = environment
        try LMDBEngine.check(mdb_env_set_mapsize(environment, max(1 << 30, setup.records * ValueMaker.size * 10)))
        var flags = MDB_NORDAHEAD | Mode.flags
        if setup.durability != .full { flags |= MDB_NOSYNC }
        try LMDBEngine.check(mdb_env_open(environment, setup.directory, UInt32(flags), 0o644))
        var transaction: OpaquePointer?
        try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var database: MDB_dbi = 0
        let databaseFlags = setup.keys == .integers ? UInt32(MDB_INTEGERKEY) : 0
        try LMDBEngine.check(mdb_dbi_open(transaction, nil, databaseFlags, &database))
        try LMDBEngine.check(mdb_txn_commit(transaction))
        self.database = database
    }

    private static func check(_ code: Int32) throws {
        guard code == 0 else { throw BenchmarkError("LMDB: \(String(cString: mdb_strerror(code)))") }
    }

    func insert(_ keys: [UInt64], order: KeyOrder) throws {
        var transaction: OpaquePointer?
        try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var cursor: OpaquePointer?
        try LMDBEngine.check(mdb_cursor_open(transaction, database, &cursor))
        let flags = order == .random ? 0 : UInt32(MDB_APPEND)
        var number: UInt64 = 0
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            var value = MDB_val(mv_size: ValueMaker.size, mv_data: maker.bytes)
            for next in keys {
                number.pointee = next
                maker.make(next)
                try LMDBEngine.check(mdb_cursor_put(cursor, &key, &value, flags))
            }
        }
        mdb_cursor_close(cursor)
        try LMDBEngine.check(mdb_txn_commit(transaction))
    }

    func insert(_ keys: StringKeys, order: KeyOrder) throws {
        var transaction: OpaquePointer?
        try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var cursor: OpaquePointer?
        try LMDBEngine.check(mdb_cursor_open(transaction, database, &cursor))
        let flags = order == .random ? 0 : UInt32(MDB_APPEND)
        try keys.bytes.withUnsafeBytes { bytes in
            var value = MDB_val(mv_size: ValueMaker.size, mv_data: maker.bytes)
            for index in 0..<keys.count {
                let start = bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + index * StringKeys.width) }
                var key = MDB_val(mv_size: StringKeys.width, mv_data: start)
                maker.make(keys.numbers[index])
                try LMDBEngine.check(mdb_cursor_put(cursor, &key, &value, flags))
            }
        }
        mdb_cursor_close(cursor)
        try LMDBEngine.check(mdb_txn_commit(transaction))
    }

    private func writing(_ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction))
        try body(transaction)
        try LMDBEngine.check(mdb_txn_commit(transaction))
    }

    /// Deletes `count` entries from a key on, by a cursor.
    private func delete(_ count: Int, from key: inout MDB_val) throws {
        try writing { transaction in
            var cursor: OpaquePointer?
            try LMDBEngine.check(mdb_cursor_open(transaction, database, &cursor))
            defer { mdb_cursor_close(cursor) }
            var value = MDB_val()
            try LMDBEngine.check(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE))
            for left in (0..<count).reversed() {
                try LMDBEngine.check(mdb_cursor_del(cursor, 0))
                // The next one takes the place of the deleted one.
                if left > 0 { try LMDBEngine.check(mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) }
            }
        }
    }

    func deleteRange(_ keys: ClosedRange<UInt64>) throws {
        var number = keys.lowerBound
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            try delete(keys.count, from: &key)
        }
    }

    func deleteRange(_ range: Range<Int>, of keys: StringKeys) throws {
        try keys.bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress.map {
                UnsafeMutableRawPointer(mutating: $0 + range.lowerBound * StringKeys.width)
            }
            var key = MDB_val(mv_size: StringKeys.width, mv_data: start)
            try delete(range.count, from: &key)
        }
    }

    func delete(_ keys: [UInt64]) throws {
        var number: UInt64 = 0
        try writing { transaction in
            try withUnsafeMutablePointer(to: &number) { number in
                var key = MDB_val(mv_size: 8, mv_data: number)
                for next in keys {
                    number.pointee = next
                    try LMDBEngine.check(mdb_del(transaction, database, &key, nil))
                }
            }
        }
    }

    func delete(_ keys: StringKeys) throws {
        try writing { transaction in
            try keys.bytes.withUnsafeBytes { bytes in
                for index in 0..<keys.count {
                    let start = bytes.baseAddress.map {
                        UnsafeMutableRawPointer(mutating: $0 + index * StringKeys.width)
                    }
                    var key = MDB_val(mv_size: StringKeys.width, mv_data: start)
                    try LMDBEngine.check(mdb_del(transaction, database, &key, nil))
                }
            }
        }
    }

    func settle() throws {
        try LMDBEngine.check(mdb_env_sync(environment, 1))
    }

    private func reading<R>(_ body: (OpaquePointer?) throws -> R) throws -> R {
        var transaction: OpaquePointer?
        try LMDBEngine.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { mdb_txn_abort(transaction) }
        return try body(transaction)
    }

    func gets(_ keys: [UInt64]) throws -> UInt64 {
        try reading { transaction in
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
                    sum &+= touch(data, value.mv_size)
                }
            }
            return sum
        }
    }

    func getsInOwnTransactions(_ keys: [UInt64]) throws -> UInt64 {
        try reading { transaction in
            var sum: UInt64 = 0
            var number: UInt64 = 0
            var value = MDB_val()
            try withUnsafeMutablePointer(to: &number) { number in
                var key = MDB_val(mv_size: 8, mv_data: number)
                for next in keys {
                    mdb_txn_reset(transaction)
                    try LMDBEngine.check(mdb_txn_renew(transaction))
                    number.pointee = next
                    guard mdb_get(transaction, database, &key, &value) == 0, let data = value.mv_data else {
                        throw missing(next)
                    }
                    sum &+= touch(data, value.mv_size)
                }
            }
            return sum
        }
    }

    func serialGets(_ count: Int, records: Int) throws -> UInt64 {
        try reading { transaction in
            var sum: UInt64 = 0
            var number: UInt64 = 1
            var value = MDB_val()
            try withUnsafeMutablePointer(to: &number) { number in
                var key = MDB_val(mv_size: 8, mv_data: number)
                for step in 0..<count {
                    guard mdb_get(transaction, database, &key, &value) == 0, let data = value.mv_data else {
                        throw missing(number.pointee)
                    }
                    let read = touch(data, value.mv_size)
                    sum &+= read
                    number.pointee = successor(of: read, step: step, records: UInt64(records))
                }
            }
            return sum
        }
    }

    func multiGets(_ keys: [UInt64], batch: Int) throws -> UInt64 {
        // LMDB has no call for several unrelated keys.
        try gets(keys)
    }

    func gets(_ keys: StringKeys) throws -> UInt64 {
        try reading { transaction in
            try keys.bytes.withUnsafeBytes { bytes in
                var sum: UInt64 = 0
                var value = MDB_val()
                for index in 0..<keys.count {
                    let start = bytes.baseAddress.map {
                        UnsafeMutableRawPointer(mutating: $0 + index * StringKeys.width)
                    }
                    var key = MDB_val(mv_size: StringKeys.width, mv_data: start)
                    guard mdb_get(transaction, database, &key, &value) == 0, let data = value.mv_data else {
                        throw missing(keys.numbers[index])
                    }
                    sum &+= touch(data, value.mv_size)
                }
                return sum
            }
        }
    }

    func scan() throws -> UInt64 {
        try reading { transaction in
            var cursor: OpaquePointer?
            try LMDBEngine.check(mdb_cursor_open(transaction, database, &cursor))
            defer { mdb_cursor_close(cursor) }
            var sum: UInt64 = 0
            var key = MDB_val()
            var value = MDB_val()
            while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
                guard let name = key.mv_data, let data = value.mv_data else { break }
                sum &+= name.loadUnaligned(as: UInt64.self) &+ touch(data, value.mv_size)
            }
            return sum
        }
    }

    func shortScans(_ starts: [UInt64], length: Int) throws -> UInt64 {
        try reading { transaction in
            var cursor: OpaquePointer?
            try LMDBEngine.check(mdb_cursor_open(transaction, database, &cursor))
            defer { mdb_cursor_close(cursor) }
            var sum: UInt64 = 0
            var value = MDB_val()
            var number: UInt64 = 0
            for start in starts {
                number = start
                withUnsafeMutablePointer(to: &number) { number in
                    var key = MDB_val(mv_size: 8, mv_data: number)
                    var operation = MDB_SET_RANGE
                    for _ in 0..<length {
                        guard mdb_cursor_get(cursor, &key, &value, operation) == 0, let name = key.mv_data,
                            let data = value.mv_data
                        else { break }
                        sum &+= name.loadUnaligned(as: UInt64.self) &+ touch(data, value.mv_size)
                        operation = MDB_NEXT
                    }
                }
            }
            return sum
        }
    }

    func update(_ keys: ArraySlice<UInt64>, round: UInt64, perTransaction: Int) throws {
        var value = MDB_val(mv_size: ValueMaker.size, mv_data: maker.bytes)
        var number: UInt64 = 0
        var rest = keys
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            while !rest.isEmpty {
                try writing { transaction in
                    for next in rest.prefix(perTransaction) {
                        number.pointee = next
                        maker.make(next &+ round)
                        try LMDBEngine.check(mdb_put(transaction, database, &key, &value, 0))
                    }
                }
                rest = rest.dropFirst(perTransaction)
            }
        }
    }

    func reachableBytes() throws -> UInt64 {
        try reading { transaction in
            var stat = MDB_stat()
            try LMDBEngine.check(mdb_stat(transaction, database, &stat))
            return UInt64(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * UInt64(stat.ms_psize)
        }
    }

    func commitEach(_ keys: Range<UInt64>) throws {
        try commitEach(keys, maker: maker)
    }

    private func commitEach(_ keys: Range<UInt64>, maker: ValueMaker) throws {
        var value = MDB_val(mv_size: ValueMaker.size, mv_data: maker.bytes)
        var number: UInt64 = 0
        try withUnsafeMutablePointer(to: &number) { number in
            var key = MDB_val(mv_size: 8, mv_data: number)
            for next in keys {
                number.pointee = next
                maker.make(next)
                var transaction: OpaquePointer?
                try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction))
                try LMDBEngine.check(mdb_put(transaction, database, &key, &value, 0))
                try LMDBEngine.check(mdb_txn_commit(transaction))
            }
        }
    }

    func commitEach(_ keys: Range<UInt64>, threads: Int) throws {
        let share = UInt64(keys.count / threads)
        try onThreads(threads) { thread in
            let start = keys.lowerBound + UInt64(thread) * share
            try self.commitEach(start..<start + share, maker: ValueMaker())
        }
    }

    func close() throws {
        mdb_env_close(environment)
    }
}
