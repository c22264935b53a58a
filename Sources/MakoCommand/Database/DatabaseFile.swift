import Foundation
import MakoRecords
import MakoStorage

/// An open database file, without the Swift types it was written with.
struct DatabaseFile {
    let path: String
    let store: Store
    /// Why it is open for reading only; nil if it is writable, or if no command writes it.
    private let refusal: Failure?

    init(path: String, store: Store) {
        self.path = path
        self.store = store
        refusal = nil
    }

    /// Runs the body and closes the database, also after an error.
    func closing<R>(_ body: () throws -> R) throws -> R {
        let result: R
        do { result = try body() } catch {
            try? store.close()
            throw error
        }
        try store.close()
        return result
    }

    /// Opens an existing file read-only.
    ///
    /// - Parameter refusal: the error of a statement that writes.
    init(reading path: String, _ key: KeyOptions, refusal: Failure? = nil) throws {
        try Self.requireName(path)
        guard FileManager.default.fileExists(atPath: path) else {
            throw Failure("there is no file \(path); 'mako import' makes a database out of a table", .noInput)
        }
        self.path = path
        self.refusal = refusal
        store = try key.with(readOnly: true) { try Self.open(path, $0) }
    }

    /// Opens a file for reading and writing, or creates it.
    init(writing path: String, _ key: KeyOptions) throws {
        try Self.requireName(path)
        self.path = path
        refusal = nil
        store = try key.with { try Self.open(path, $0) }
    }

    /// - Throws: when the path does not end with a file name.
    static func requireName(_ path: String) throws {
        if FilePath.name(of: path).isEmpty { throw Failure("'\(path)' is not the name of a file", .usage) }
    }

    /// Reports damage found by opening with the file's name; the engine names only the page.
    private static func open(_ path: String, _ options: StoreOptions) throws -> Store {
        do {
            return try Store(at: path, options: options)
        } catch .corrupted(let page, let reason) {
            throw Failure(
                "\(path) is damaged: page \(page): \(reason). Restore a backup, or save what can still be read with "
                    + "'mako salvage \(path) NEW'", .damaged)
        }
    }

    /// Runs the body with a snapshot of the newest commit and its catalogue.
    func read<R>(_ body: (Snapshot, Catalogue) throws -> R) throws -> R {
        try store.read { view in try body(view, try Catalogue.load(view: view)) }
    }

    /// Runs a statement: a query on the newest commit, any other statement in its own transaction, which the file's
    /// history records.
    ///
    /// - Parameters:
    ///   - transaction: the open transaction to run in, if any.
    ///   - ignoringReferences: whether to store dangling references, and to delete rows despite references to them.
    func run(
        _ statement: Statement, in transaction: StatementTransaction? = nil, parameters: [Value] = [],
        named: [String: Value] = [:], cancellation: Cancellation? = nil, ignoringReferences: Bool = false
    ) throws -> StatementOutcome {
        if let transaction {
            return try transaction.run(
                statement, parameters, named, cancellation, ignoringReferences: ignoringReferences)
        }
        if statement.isReadOnly {
            var outcome = StatementOutcome()
            outcome.rows = try read { view, catalogue in
                try statement.read(
                    catalogue, view: view, parameters: parameters, named: named, cancellation: cancellation)
            }
            return outcome
        }
        let own = try begin()
        do {
            let outcome = try own.run(
                statement, parameters, named, cancellation, ignoringReferences: ignoringReferences)
            try own.commit()
            return outcome
        } catch {
            own.rollback()
            throw error
        }
    }

    /// Begins a write transaction.
    ///
    /// - Throws: the reason why the file is open for reading only, if it is.
    func begin() throws -> StatementTransaction {
        if let refusal { throw refusal }
        return try StatementTransaction(store)
    }

    /// Opens an existing file for reading and writing, or read-only when another process writes it or it is not
    /// writable.
    init(writingWherePossible path: String, _ key: KeyOptions) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            try self.init(reading: path, key)
            return
        }
        do { try self.init(writing: path, key) } catch let error as StorageError {
            switch error {
            case .alreadyOpen, .io: try self.init(reading: path, key, refusal: Failure(error))
            default: throw error
            }
        }
    }

    /// The file and its log files, with their sizes in bytes. The log of a symbolically linked database is beside the
    /// link's target.
    static func files(of path: String) -> [(path: String, bytes: Int)] {
        let path = (try? FilePlace.followed(path)) ?? path
        let directory = FilePath.directory(of: path)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let logs = names.filter { isLog($0, of: path) }.sorted().map { directory + "/" + $0 }
        return ([path] + logs).compactMap { file in OpenFile.size(of: file).map { (file, $0) } }
    }

    /// Whether a path is that of the database, or of a log file that it has or may get. The last symbolic link of the
    /// path is followed, and its folder is compared as a file.
    static func isPart(_ output: String, of path: String) -> Bool {
        if files(of: path).contains(where: { OpenFile.isSame(output, $0.path) }) { return true }
        guard let output = try? FilePlace.followed(output), let path = try? FilePlace.followed(path) else {
            return false
        }
        return isLog(FilePath.name(of: output), of: path)
            && OpenFile.isSame(FilePath.directory(of: output), FilePath.directory(of: path))
    }

    /// Whether a name is that of a log file of the database: `NAME-wal-` and a number.
    static func isLog(_ name: String, of path: String) -> Bool {
        let prefix = FilePath.name(of: path) + "-wal-"
        return name.hasPrefix(prefix)
            && UInt64(name.dropFirst(prefix.count)).map { name == prefix + String($0) } == true
    }
}

extension EntitySchema {
    /// The columns as users see them, with a row number first.
    var shownColumns: [String] {
        switch key {
        case .rowID(let column): [column] + liveColumns.map(\.name)
        case .columns: liveColumns.map(\.name)
        }
    }

    /// The columns of the key.
    var keyColumns: [String] {
        switch key {
        case .rowID(let column): [column]
        case .columns(let columns): columns
        }
    }
}

extension TableHandle {
    /// All values of a row, in the order of `EntitySchema.shownColumns`.
    func values(of key: RowKey, _ row: RowReader) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(layout.count + 1)
        if case .rowID = schema.key { values.append(.integer(key.rowID ?? 0)) }
        for position in 0..<layout.count { values.append(row.value(position)) }
        return values
    }
}
