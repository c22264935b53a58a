import CLMDB
import Foundation
import MakoTestSupport

/// The same operations on LMDB: a database with MDB_INTEGERKEY and a plain one. A range goes entry by entry.
final class LMDBSide {
    private let directory: String
    private var environment: OpaquePointer?
    private var integers: MDB_dbi = 0
    private var words: MDB_dbi = 0
    private var kept: OpaquePointer?
    private var answers: [StoreAnswer] = []

    init() throws {
        let folder = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        directory = folder + "/mako-differential-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try open()
    }

    func remove() {
        close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func open() throws {
        try check(mdb_env_create(&environment))
        try check(mdb_env_set_mapsize(environment, 64 << 20))
        try check(mdb_env_set_maxdbs(environment, 2))
        try check(mdb_env_open(environment, directory, UInt32(MDB_NOSYNC | MDB_NOTLS), 0o644))
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction))
        try check(mdb_dbi_open(transaction, "integers", UInt32(MDB_CREATE | MDB_INTEGERKEY), &integers))
        try check(mdb_dbi_open(transaction, "bytes", UInt32(MDB_CREATE), &words))
        try check(mdb_txn_commit(transaction))
    }

    private func close() {
        if let kept { mdb_txn_abort(kept) }
        kept = nil
        mdb_env_close(environment)
        environment = nil
    }

    private func check(_ code: Int32) throws {
        guard code == 0 else { throw Disagreement("LMDB: \(String(cString: mdb_strerror(code)))") }
    }

    /// Whether a key was found; other errors are thrown.
    private func found(_ code: Int32) throws -> Bool {
        if code == MDB_NOTFOUND { return false }
        try check(code)
        return true
    }

    /// Runs a sequence on empty databases.
    func run(_ steps: [StoreStep]) throws -> [StoreAnswer] {
        answers = []
        try writing(commits: true) { transaction in
            try check(mdb_drop(transaction, integers, 0))
            try check(mdb_drop(transaction, words, 0))
        }
        for step in steps {
            switch step {
            case .transaction(let changes, let commits): try self.transaction(changes, commits)
            case .get(let key): answers.append(try reading { try get(key, $0) })
            case .scan(let scan): answers.append(try reading { try self.scan(scan, $0) })
            case .keepView:
                if let kept { mdb_txn_abort(kept) }
                kept = nil
                try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &kept))
            case .readKeptView:
                guard let kept else { continue }
                for isInteger in [true, false] {
                    answers.append(try scan(.all(isInteger: isInteger), kept))
                    answers.append(.count(try count(isInteger, kept)))
                }
            case .reopen:
                close()
                try open()
            }
        }
        if let kept { mdb_txn_abort(kept) }
        kept = nil
        return answers
    }

    private func reading<R>(_ body: (OpaquePointer?) throws -> R) throws -> R {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { mdb_txn_abort(transaction) }
        return try body(transaction)
    }

    private func writing(commits: Bool, _ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction))
        try body(transaction)
        if commits { try check(mdb_txn_commit(transaction)) } else { mdb_txn_abort(transaction) }
    }

    private func transaction(_ changes: [StoreChange], _ commits: Bool) throws {
        try writing(commits: commits) { outer in
            var nested: OpaquePointer?
            for change in changes {
                switch change {
                case .beginNested:
                    if nested == nil { try check(mdb_txn_begin(environment, outer, 0, &nested)) }
                case .endNested(let keeps):
                    guard nested != nil else { continue }
                    if keeps { try check(mdb_txn_commit(nested)) } else { mdb_txn_abort(nested) }
                    nested = nil
                default: answers.append(try apply(change, nested ?? outer))
                }
            }
            if nested != nil { try check(mdb_txn_commit(nested)) }
        }
    }

    private func apply(_ change: StoreChange, _ transaction: OpaquePointer?) throws -> StoreAnswer {
        switch change {
        case .put(let key, let value): return .flag(try put(key, value, 0, transaction))
        case .insert(let key, let value): return .flag(try put(key, value, UInt32(MDB_NOOVERWRITE), transaction))
        case .append(let key, let value): return .flag(try put(key, value, UInt32(MDB_APPEND), transaction))
        case .delete(let key):
            return .flag(try withValue(key) { try found(mdb_del(transaction, database(key.isInteger), $0, nil)) })
        case .deleteRange(let range): return .count(try delete(range, transaction))
        case .deleteAll(let isInteger):
            try check(mdb_drop(transaction, database(isInteger), 0))
            return .count(try count(isInteger, transaction))
        case .get(let key): return try get(key, transaction)
        case .scan(let scan): return try self.scan(scan, transaction)
        case .beginNested, .endNested: throw Disagreement("\(change) is no change")
        }
    }

    private func put(_ key: ModelKey, _ value: [UInt8], _ flags: UInt32, _ transaction: OpaquePointer?) throws -> Bool {
        try withValue(key) { key, isInteger in
            var value = value
            return try value.withUnsafeMutableBytes { bytes in
                var data = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                let code = mdb_put(transaction, database(isInteger), key, &data, flags)
                if code == MDB_KEYEXIST { return false }
                try check(code)
                return true
            }
        }
    }

    private func delete(_ range: ClosedRange<UInt64>, _ transaction: OpaquePointer?) throws -> UInt64 {
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, integers, &cursor))
        defer { mdb_cursor_close(cursor) }
        var count: UInt64 = 0
        while let key = try seek(.integer(range.lowerBound), cursor), case .integer(let number) = key.key,
            number <= range.upperBound
        {
            try check(mdb_cursor_del(cursor, 0))
            count += 1
        }
        return count
    }

    private func get(_ key: ModelKey, _ transaction: OpaquePointer?) throws -> StoreAnswer {
        try withValue(key) { key, isInteger in
            var data = MDB_val()
            guard try found(mdb_get(transaction, database(isInteger), key, &data)) else { return .value(nil) }
            return .value(LMDBSide.bytes(data))
        }
    }

    private func count(_ isInteger: Bool, _ transaction: OpaquePointer?) throws -> UInt64 {
        var statistics = MDB_stat()
        try check(mdb_stat(transaction, database(isInteger), &statistics))
        return UInt64(statistics.ms_entries)
    }

    // MARK: Cursors

    private func scan(_ scan: StoreScan, _ transaction: OpaquePointer?) throws -> StoreAnswer {
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, database(scan.isInteger), &cursor))
        defer { mdb_cursor_close(cursor) }
        var entry =
            switch scan.start {
            case .first: try step(cursor, MDB_FIRST, scan.isInteger)
            case .last: try step(cursor, MDB_LAST, scan.isInteger)
            case .key(let key): try seek(key, cursor)
            }
        var entries: [StoreAnswer.Entry] = []
        for move in scan.moves {
            var left = move.count
            while let there = entry, left > 0 {
                entries.append(there)
                entry = try step(cursor, move.forwards ? MDB_NEXT : MDB_PREV, scan.isInteger)
                left -= 1
            }
        }
        return .entries(entries)
    }

    private func step(_ cursor: OpaquePointer?, _ operation: MDB_cursor_op, _ isInteger: Bool) throws
        -> StoreAnswer.Entry?
    {
        var key = MDB_val()
        var data = MDB_val()
        guard try found(mdb_cursor_get(cursor, &key, &data, operation)) else { return nil }
        return LMDBSide.entry(key, data, isInteger)
    }

    private func seek(_ key: ModelKey, _ cursor: OpaquePointer?) throws -> StoreAnswer.Entry? {
        try withValue(key) { key, isInteger in
            var data = MDB_val()
            guard try found(mdb_cursor_get(cursor, key, &data, MDB_SET_RANGE)) else { return nil }
            return LMDBSide.entry(key.pointee, data, isInteger)
        }
    }

    // MARK: Bytes

    private func database(_ isInteger: Bool) -> MDB_dbi { isInteger ? integers : words }

    private func withValue<R>(_ key: ModelKey, _ body: (UnsafeMutablePointer<MDB_val>) throws -> R) throws -> R {
        try withValue(key) { key, _ in try body(key) }
    }

    private func withValue<R>(_ key: ModelKey, _ body: (UnsafeMutablePointer<MDB_val>, Bool) throws -> R) throws -> R {
        switch key {
        case .integer(var number):
            try withUnsafeMutableBytes(of: &number) { bytes in
                var value = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                return try body(&value, true)
            }
        case .bytes(var word):
            try word.withUnsafeMutableBytes { bytes in
                var value = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                return try body(&value, false)
            }
        }
    }

    private static func entry(_ key: MDB_val, _ data: MDB_val, _ isInteger: Bool) -> StoreAnswer.Entry {
        let bytes = bytes(key)
        let key: ModelKey =
            isInteger ? .integer(bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }) : .bytes(bytes)
        return StoreAnswer.Entry(key: key, value: self.bytes(data))
    }

    private static func bytes(_ value: MDB_val) -> [UInt8] {
        [UInt8](UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
}
