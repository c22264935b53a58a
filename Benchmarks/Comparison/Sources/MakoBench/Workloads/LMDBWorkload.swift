import CLMDB

final class LMDBWorkload<Mode: LMDBMode>: WorkloadEngine, @unchecked Sendable {
    static var name: String { Mode.name }

    private let environment: OpaquePointer
    private let database: MDB_dbi

    init(_ setup: Setup) throws {
        var environment: OpaquePointer?
        try checkLMDB(mdb_env_create(&environment))
        guard let environment else { throw BenchmarkError("mdb_env_create gave nothing") }
        self.environment = environment
        try checkLMDB(mdb_env_set_mapsize(environment, max(1 << 30, setup.records * Workload.valueBytes * 10)))
        var flags = MDB_NORDAHEAD | MDB_NOTLS | Mode.flags
        if setup.durability != .full { flags |= MDB_NOSYNC }
        try checkLMDB(mdb_env_open(environment, setup.directory, UInt32(flags), 0o644))
        var transaction: OpaquePointer?
        try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
        var database: MDB_dbi = 0
        try checkLMDB(mdb_dbi_open(transaction, nil, 0, &database))
        try checkLMDB(mdb_txn_commit(transaction))
        self.database = database
    }

    func load(_ records: Range<UInt64>) throws { try session().write(Array(records)) }
    func settle() throws { try checkLMDB(mdb_env_sync(environment, 1)) }
    func session() throws -> any WorkloadSession { try Session(environment, database) }
    func close() throws { mdb_env_close(environment) }

    /// A thread with a read transaction of its own, reset and renewed as LMDB's manual advises.
    private final class Session: WorkloadSession {
        private let environment: OpaquePointer
        private let database: MDB_dbi
        private let reader: OpaquePointer
        private let cursor: OpaquePointer
        private let maker = RecordMaker()

        init(_ environment: OpaquePointer, _ database: MDB_dbi) throws {
            self.environment = environment
            self.database = database
            var reader: OpaquePointer?
            try checkLMDB(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
            var cursor: OpaquePointer?
            try checkLMDB(mdb_cursor_open(reader, database, &cursor))
            guard let reader, let cursor else { throw BenchmarkError("LMDB gave no reader") }
            self.reader = reader
            self.cursor = cursor
            mdb_txn_reset(reader)
        }

        private func item(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
            MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }

        private func find(_ key: UnsafeRawBufferPointer, _ transaction: OpaquePointer?) throws -> UInt64 {
            var key = item(key)
            var value = MDB_val()
            guard mdb_get(transaction, database, &key, &value) == 0, let data = value.mv_data else {
                throw BenchmarkError("a key is missing")
            }
            return touch(data, value.mv_size)
        }

        func read(_ key: UnsafeRawBufferPointer) throws -> UInt64 {
            try checkLMDB(mdb_txn_renew(reader))
            defer { mdb_txn_reset(reader) }
            return try find(key, reader)
        }

        private func writing(_ body: (OpaquePointer?) throws -> Void) throws {
            var transaction: OpaquePointer?
            try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
            try body(transaction)
            try checkLMDB(mdb_txn_commit(transaction))
        }

        private func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ transaction: OpaquePointer?)
            throws
        {
            var key = item(key)
            var value = item(value)
            try checkLMDB(mdb_put(transaction, database, &key, &value, 0))
        }

        func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            try writing { try put(key, value, $0) }
        }

        func modify(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            try writing { transaction in
                _ = try find(key, transaction)
                try put(key, value, transaction)
            }
        }

        func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64 {
            try checkLMDB(mdb_txn_renew(reader))
            defer { mdb_txn_reset(reader) }
            try checkLMDB(mdb_cursor_renew(reader, cursor))
            var key = item(key)
            var value = MDB_val()
            var total: UInt64 = 0
            var operation = MDB_SET_RANGE
            for _ in 0..<count {
                guard mdb_cursor_get(cursor, &key, &value, operation) == 0, let data = value.mv_data else { break }
                total &+= touch(data, value.mv_size)
                operation = MDB_NEXT
            }
            return total
        }

        func write(_ records: [UInt64]) throws {
            try writing { transaction in
                for record in records {
                    maker.make(record)
                    try put(maker.key, maker.value, transaction)
                }
            }
        }

        func end() throws {
            mdb_cursor_close(cursor)
            mdb_txn_abort(reader)
        }
    }
}

func checkLMDB(_ code: Int32) throws {
    guard code == 0 else { throw BenchmarkError("LMDB: \(String(cString: mdb_strerror(code)))") }
}
