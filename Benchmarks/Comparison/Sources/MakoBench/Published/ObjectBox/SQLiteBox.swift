final class SQLiteBox<Thing: PlainBoxed>: BoxEngine {
    static var name: String { "SQLite" }

    private let store: SQLiteStore
    private var prepared: [Thing] = []
    private var held: [Thing] = []

    init(directory: String, isIndexed: Bool) throws {
        store = try SQLiteStore(
            directory: directory, schema: SQLiteBox.schema(isIndexed: isIndexed), durability: .full)
    }

    /// For SQLite and for GRDB.
    static func schema(isIndexed: Bool) -> [String] {
        guard isIndexed else { return [Thing.schema] }
        return [Thing.schema] + ["string", "int"].map { "CREATE INDEX by_\($0) ON \(Thing.table) (\($0))" }
    }

    func prepare(_ data: [BoxData]) { prepared = data.map { Thing($0) } }
    func change(_ data: [BoxData]) { for index in prepared.indices { prepared[index].take(data[index]) } }

    func put(isNew: Bool) throws {
        let statement = try isNew ? store.insertion(Thing.self) : store.statement(SQLiteBox.updateAll)
        try store.write {
            for index in prepared.indices {
                prepared[index].bind(to: statement)
                try statement.run()
                if isNew { prepared[index].id = store.lastID }
            }
        }
    }

    private static var updateAll: String {
        let settings = zip(Thing.columns, 1...).dropFirst().map { "\($0) = ?\($1)" }.joined(separator: ", ")
        return "UPDATE \(Thing.table) SET \(settings) WHERE id = ?1"
    }

    func load() throws { held = try store.fetch(Thing.self) }
    func access() -> UInt64 { held.checksum }
    func halve() { for index in held.indices { held[index].long /= 2 } }

    func update() throws {
        // Only the changed column, as an expert on SQLite writes it.
        let statement = try store.statement("UPDATE \(Thing.table) SET long = ?1 WHERE id = ?2")
        try store.write {
            for thing in held {
                statement.bind(Int(thing.long), 1)
                statement.bind(thing.id, 2)
                try statement.run()
            }
        }
    }

    func count() throws -> Int { try store.int("SELECT count(*) FROM \(Thing.table)") }

    func count(times: Int) throws -> Int {
        try store.read {
            var count = 0
            for _ in 0..<times { count = try self.count() }
            return count
        }
    }

    func removeAll() throws -> Int {
        try store.write {
            try store.run("DELETE FROM \(Thing.table)")
            return store.changes
        }
    }

    func drop() {
        prepared = []
        held = []
    }

    func settle() throws { try store.settle() }

    func find(strings: [String]) throws -> UInt64 { try find("string", strings) { $0.bind($1, 1) } }
    func find(ints: [Int32]) throws -> UInt64 { try find("int", ints) { $0.bind(Int($1), 1) } }
    func find(ids: [Int]) throws -> UInt64 { try find("id", ids) { $0.bind($1, 1) } }

    private func find<Value>(
        _ column: String, _ values: [Value], _ bind: (SQLiteStatement, Value) -> Void
    ) throws -> UInt64 {
        let statement = try store.selection(Thing.self, "WHERE \(column) = ?1")
        return try store.read {
            var sum: UInt64 = 0
            for value in values {
                bind(statement, value)
                try statement.forEach { sum &+= Thing(statement).checksum }
            }
            return sum
        }
    }

    func close() throws { try store.close() }
}
