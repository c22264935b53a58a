import CSQLite

/// The form of SQLite's query.
protocol FamilyQuestion {
    static var name: String { get }
    static var text: String { get }
}

/// Groups of the index of the children, which never reads a parent.
enum GroupedChildren: FamilyQuestion {
    static let name = "SQLite"
    static let text = "SELECT parent FROM child GROUP BY parent HAVING count(*) > 3"
}

enum CorrelatedCount: FamilyQuestion {
    static let name = "SQLite correlated"
    static let text =
        "SELECT id FROM parent WHERE (SELECT count(*) FROM child WHERE child.parent = parent.id) > 3"
}

final class SQLiteFamilies<Question: FamilyQuestion>: FamilyEngine {
    static var name: String { Question.name }

    private let connection: SQLiteConnection
    private var question: OpaquePointer?

    init(directory: String) throws {
        connection = try SQLiteConnection(directory: directory, durability: .relaxed, isShared: false)
        try connection.run("CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        try connection.run(
            """
            CREATE TABLE child (id INTEGER PRIMARY KEY, born INTEGER NOT NULL,
                parent INTEGER NOT NULL REFERENCES parent(id))
            """)
        try connection.run("CREATE INDEX child_parent ON child (parent)")
    }

    func fill(_ count: Int) throws {
        try connection.run("BEGIN IMMEDIATE")
        for id in 1...count { try connection.run("INSERT INTO parent VALUES (\(id), '\(Family.name(of: id))')") }
        for id in 1...Family.children(count) {
            let parent = Family.parent(of: id, among: count)
            try connection.run("INSERT INTO child VALUES (\(id), \(Family.born(id)), \(parent))")
        }
        try connection.run("COMMIT")
        try connection.run("ANALYZE")
        try connection.checkpoint()
        question = try connection.statement(Question.text)
    }

    func parentsOfMany() throws -> UInt64 {
        guard let question else { return 0 }
        var sum: UInt64 = 0
        var state = sqlite3_step(question)
        while state == SQLITE_ROW {
            sum &+= Answer.of(sqlite3_column_int64(question, 0))
            state = sqlite3_step(question)
        }
        guard state == SQLITE_DONE else { throw connection.failure() }
        sqlite3_reset(question)
        return sum
    }

    func close() throws {
        sqlite3_finalize(question)
        try connection.close()
    }
}
