import CSQLite
import Dispatch
import GRDB

/// One object with a number, in memory, whose commits are observed.
protocol CommitEngine: AnyObject {
    static var name: String { get }

    init() throws
    /// Sets the number in a transaction of its own, so often, each time one higher.
    func commit(_ count: Int) throws
    /// Calls the closure for each commit, on the thread that commits.
    func listen(_ told: @escaping @Sendable () -> Void) throws
    func close() throws
}

/// An engine that notifies other threads of commits.
protocol CrossThreadEngine: CommitEngine {
    /// Calls `seen` on a queue with the current number, and after each commit.
    func follow(on queue: DispatchQueue, _ seen: @escaping @Sendable (Int) -> Void) throws
    /// Sets the number; from any thread.
    func set(_ number: Int) throws
    func unfollow()
}

final class SQLiteCommits: CommitEngine {
    static let name = "SQLite"

    private let store: SQLiteStore
    private var listener: Listener?

    /// The context of SQLite's hook.
    private final class Listener {
        let told: () -> Void
        init(_ told: @escaping () -> Void) { self.told = told }
    }

    init() throws {
        store = try SQLiteStore(inMemory: RealmTables.schema)
        try store.run("INSERT INTO IntObject VALUES (1, 0)")
    }

    func commit(_ count: Int) throws {
        let update = try store.statement("UPDATE IntObject SET intCol = ?1 WHERE id = 1")
        for number in 1...count {
            update.bind(number, 1)
            try update.run()
        }
    }

    func listen(_ told: @escaping @Sendable () -> Void) throws {
        let made = Listener(told)
        listener = made
        sqlite3_commit_hook(
            store.connection.handle,
            { context in
                if let context { Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().told() }
                return 0
            }, Unmanaged.passUnretained(made).toOpaque())
    }

    func close() throws { try store.close() }
}

final class GRDBCommits: CrossThreadEngine {
    static let name = "GRDB hand-written"

    private let queue: DatabaseQueue
    private var observations: [AnyDatabaseCancellable] = []

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { database in
            for statement in RealmTables.schema { try database.execute(sql: statement) }
            var record = IntRecord(0)
            try record.insert(database)
        }
    }

    func commit(_ count: Int) throws {
        guard var record = try queue.read({ try IntRecord.fetchOne($0) }) else { throw missing(1) }
        for number in 1...count {
            record.intCol = number
            try queue.write { try record.update($0, columns: ["intCol"]) }
        }
    }

    func listen(_ told: @escaping @Sendable () -> Void) throws {
        observations.append(
            DatabaseRegionObservation(tracking: .fullDatabase)
                .start(in: queue, onError: { print("GRDB: \($0)") }, onChange: { _ in told() }))
    }

    func follow(on queue: DispatchQueue, _ seen: @escaping @Sendable (Int) -> Void) throws {
        observations.append(
            ValueObservation.trackingConstantRegion { try IntRecord.fetchOne($0)?.intCol ?? 0 }
                .start(
                    in: self.queue, scheduling: .async(onQueue: queue), onError: { print("GRDB: \($0)") },
                    onChange: seen))
    }

    func set(_ number: Int) throws {
        try queue.write { database in
            guard var record = try IntRecord.fetchOne(database) else { throw missing(1) }
            record.intCol = number
            try record.update(database, columns: ["intCol"])
        }
    }

    func unfollow() { observations = [] }
    func close() throws { try queue.close() }
}
