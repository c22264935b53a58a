#if ROCKSDB
    import CRocksDB

    /// RocksDB with its block cache as large as the others' caches, a filter of 10 bits a key, and as many background threads as there
    /// are cores.
    final class RocksDBWorkload: WorkloadEngine, @unchecked Sendable {
        static let name = "RocksDB"

        private let database: OpaquePointer
        private let durability: SyncMode

        init(_ setup: Setup) throws {
            durability = setup.durability
            let options = rocksdb_options_create()
            rocksdb_options_set_create_if_missing(options, 1)
            rocksdb_options_increase_parallelism(options, 2)
            rocksdb_options_set_compression(options, Int32(rocksdb_no_compression))
            rocksdb_options_set_write_buffer_size(options, 64 << 20)
            let table = rocksdb_block_based_options_create()
            rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(1 << 30))
            rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10))
            rocksdb_options_set_block_based_table_factory(options, table)
            var error: UnsafeMutablePointer<CChar>?
            let database = rocksdb_open(options, setup.directory, &error)
            try RocksDBWorkload.check(error)
            guard let database else { throw BenchmarkError("RocksDB does not open") }
            self.database = database
        }

        static func check(_ error: UnsafeMutablePointer<CChar>?) throws {
            guard let error else { return }
            defer { rocksdb_free(error) }
            throw BenchmarkError("RocksDB: \(String(cString: error))")
        }

        func load(_ records: Range<UInt64>) throws {
            let session = try session()
            for start in stride(from: records.lowerBound, to: records.upperBound, by: 1000) {
                try session.write(Array(start..<min(start + 1000, records.upperBound)))
            }
            try session.end()
        }

        func settle() throws {
            var error: UnsafeMutablePointer<CChar>?
            let options = rocksdb_flushoptions_create()
            rocksdb_flush(database, options, &error)
            rocksdb_flushoptions_destroy(options)
            try RocksDBWorkload.check(error)
            rocksdb_compact_range(database, nil, 0, nil, 0)
        }

        func session() throws -> any WorkloadSession { Session(database, isDurable: durability == .full) }
        func close() throws { rocksdb_close(database) }

        private final class Session: WorkloadSession {
            private let database: OpaquePointer
            private let reading = rocksdb_readoptions_create()
            private let writing = rocksdb_writeoptions_create()
            private let batch = rocksdb_writebatch_create()
            private let maker = RecordMaker()

            init(_ database: OpaquePointer, isDurable: Bool) {
                self.database = database
                rocksdb_writeoptions_set_sync(writing, isDurable ? 1 : 0)
            }

            private func text(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            }

            func read(_ key: UnsafeRawBufferPointer) throws -> UInt64 {
                var error: UnsafeMutablePointer<CChar>?
                let found = rocksdb_get_pinned(database, reading, text(key), key.count, &error)
                try RocksDBWorkload.check(error)
                guard let found else { throw BenchmarkError("a key is missing") }
                defer { rocksdb_pinnableslice_destroy(found) }
                var count = 0
                guard let start = rocksdb_pinnableslice_value(found, &count) else { return 0 }
                return touch(start, count)
            }

            func write(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
                var error: UnsafeMutablePointer<CChar>?
                rocksdb_put(database, writing, text(key), key.count, text(value), value.count, &error)
                try RocksDBWorkload.check(error)
            }

            /// Without a transaction around both: the plain interface has none.
            func modify(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
                _ = try read(key)
                try write(key, value)
            }

            func scan(from key: UnsafeRawBufferPointer, _ count: Int) throws -> UInt64 {
                let iterator = rocksdb_create_iterator(database, reading)
                defer { rocksdb_iter_destroy(iterator) }
                rocksdb_iter_seek(iterator, text(key), key.count)
                var total: UInt64 = 0
                var left = count
                while left > 0, rocksdb_iter_valid(iterator) != 0 {
                    var length = 0
                    if let start = rocksdb_iter_value(iterator, &length) { total &+= touch(start, length) }
                    rocksdb_iter_next(iterator)
                    left -= 1
                }
                return total
            }

            func write(_ records: [UInt64]) throws {
                rocksdb_writebatch_clear(batch)
                for record in records {
                    maker.make(record)
                    rocksdb_writebatch_put(
                        batch, text(maker.key), maker.key.count, text(maker.value), maker.value.count)
                }
                var error: UnsafeMutablePointer<CChar>?
                rocksdb_write(database, writing, batch, &error)
                try RocksDBWorkload.check(error)
            }

            func end() throws {
                rocksdb_readoptions_destroy(reading)
                rocksdb_writeoptions_destroy(writing)
                rocksdb_writebatch_destroy(batch)
            }
        }
    }
#endif
