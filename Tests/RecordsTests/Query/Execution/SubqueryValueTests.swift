import MakoRecords
import MakoStorage
import Testing

/// Values of every type that sub-queries give, and texts that keys and indexes do not hold whole.
@Suite struct SubqueryValueTests {
    private static let columns = ["flag", "many", "whole", "size", "day", "uu", "bytes", "word"]

    /// Each value is that of one row; those of the last are missing.
    private func session(_ more: String...) throws -> StatementSession {
        let session = try StatementSession(
            """
            CREATE TABLE V (id INTEGER PRIMARY KEY, flag BOOLEAN, many UNSIGNED, whole INTEGER, size REAL, day DATE, uu UUID, bytes BLOB,
                word TEXT)
            """)
        for text in more { try session.run(text) }
        let rows: [[Value]] = [
            [
                .bool(true), .unsigned(.max), .integer(-1), .double(1.5), .date(7), .uuid(1, 2), .blob([0, 1]),
                .text("a"),
            ],
            [
                .bool(false), .integer(3), .integer(3), .double(18_446_744_073_709_549_568), .date(8), .uuid(1, 3),
                .blob([2]), .text("b"),
            ],
            Array(repeating: .null, count: 8),
        ]
        for row in rows { try session.run("INSERT INTO V VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row) }
        return session
    }

    private func numbers(_ session: StatementSession, _ text: String, _ parameters: [Value] = []) throws -> [Int64] {
        try session.rows(text, parameters).compactMap { row in
            if case .integer(let number)? = row.first { number } else { nil }
        }
    }

    @Test(arguments: columns) func valuesOfEachTypeAreCompared(column: String) throws {
        for indexed in [false, true] {
            let session = try session()
            if indexed { try session.run("CREATE INDEX V.it ON V (\(column))") }
            func ids(_ condition: String) throws -> [Int64] {
                try numbers(session, "SELECT id FROM V WHERE \(condition) ORDER BY id")
            }
            #expect(try ids("\(column) = (SELECT \(column) FROM V WHERE id = 1)") == [1])
            #expect(try ids("\(column) = (SELECT max(\(column)) FROM V WHERE id = 2)") == [2])
            #expect(try ids("\(column) = (SELECT o.\(column) FROM V o WHERE o.id = V.id LIMIT 1)") == [1, 2])
            #expect(try ids("\(column) IN (SELECT \(column) FROM V WHERE id < 3)") == [1, 2])
            #expect(try ids("\(column) IN (SELECT \(column) FROM V WHERE id = 2)") == [2])
            #expect(try ids("\(column) IN (SELECT \(column) FROM V GROUP BY \(column))") == [1, 2])
            #expect(try ids("\(column) NOT IN (SELECT \(column) FROM V WHERE id = 2)") == [1])
            #expect(try ids("\(column) NOT IN (SELECT \(column) FROM V WHERE id > 1)") == [])
            #expect(try ids("\(column) = (SELECT \(column) FROM V WHERE id = 3)") == [])
        }
    }

    /// Numbers are equal whatever type holds them.
    @Test func numbersOfOtherTypesAreMet() throws {
        let session = try session()
        #expect(try numbers(session, "SELECT id FROM V WHERE many IN (SELECT whole FROM V)") == [2])
        #expect(try numbers(session, "SELECT id FROM V WHERE whole IN (SELECT many FROM V)") == [2])
        #expect(try numbers(session, "SELECT id FROM V WHERE size IN (SELECT many FROM V)") == [])
        #expect(try numbers(session, "SELECT id FROM V WHERE whole + 0.5 IN (SELECT size + 2 FROM V)") == [2])
        try session.run("INSERT INTO V (many) VALUES (?)", [.unsigned(18_446_744_073_709_549_568)])
        #expect(try numbers(session, "SELECT id FROM V WHERE size IN (SELECT many FROM V)") == [2])
        #expect(try numbers(session, "SELECT id FROM V WHERE many IN (SELECT size FROM V)") == [4])
    }

    /// The smallest and the largest value of each group are held while others come.
    @Test func bytesAreKeptForGroups() throws {
        let session = try StatementSession("CREATE TABLE T (id INTEGER PRIMARY KEY, kind TEXT, bytes BLOB)")
        let rows: [(String, [UInt8])] = [
            ("a", [5]), ("b", [1, 2]), ("a", [5, 6, 7]), ("b", []), ("a", [4, 4]), ("b", [200, 1, 1, 1]),
        ]
        for (kind, bytes) in rows { try session.run("INSERT INTO T VALUES (NULL, ?, ?)", [.text(kind), .blob(bytes)]) }
        #expect(
            try session.rows("SELECT kind, min(bytes), max(bytes) FROM T GROUP BY kind ORDER BY kind") == [
                [.text("a"), .blob([4, 4]), .blob([5, 6, 7])], [.text("b"), .blob([]), .blob([200, 1, 1, 1])],
            ])
    }

    /// Statements that are run as a whole.
    @Test func groupsAreThereOrNot() throws {
        let session = try session()
        let grouped = "SELECT word FROM V GROUP BY word HAVING count(*) >"
        #expect(try numbers(session, "SELECT id FROM V WHERE EXISTS (\(grouped) 0) ORDER BY id") == [1, 2, 3])
        #expect(try numbers(session, "SELECT id FROM V WHERE EXISTS (\(grouped) 5)") == [])
        #expect(try numbers(session, "SELECT id FROM V WHERE NOT EXISTS (\(grouped) 5) ORDER BY id") == [1, 2, 3])
        #expect(try session.rows("SELECT (\(grouped) 5) FROM V WHERE id = 1") == [[.null]])
        #expect(try numbers(session, "SELECT id FROM V WHERE word = (\(grouped) 0 ORDER BY word DESC LIMIT 1)") == [2])
    }

    // MARK: - Keys and entries

    /// More than keys and indexes hold.
    private static let long = String(repeating: "long ", count: 1000)

    @Test func keysOfATableAreNamedBySubqueries() throws {
        let session = try session("CREATE TABLE K (k TEXT PRIMARY KEY, n INTEGER)", "CREATE INDEX K.n ON K (n)")
        try session.run("INSERT INTO K VALUES ('a', 1), ('c', 1), ('d', 2)")
        try session.run("INSERT INTO V (word) VALUES ('d'), ('none'), (?)", [.text(Self.long)])
        let named = "SELECT k FROM K WHERE k IN (SELECT word FROM V) ORDER BY k"
        #expect(try session.rows(named) == [[.text("a")], [.text("d")]])
        #expect(try session.plan(named).contains("\n  row ids\n    sub-query (word of V), once\n"))
        let held = "SELECT id FROM V WHERE EXISTS (SELECT 1 FROM K WHERE k = V.word) ORDER BY id"
        #expect(try numbers(session, held) == [1, 4])
        #expect(try session.plan(held).contains("look up K by key (k)"))
        // Evaluated again for each row, where look-ups cannot be replaced by one scan.
        #expect(
            try numbers(session, "SELECT id FROM V WHERE EXISTS (SELECT 1 FROM K WHERE k = V.word AND n + V.id = 6)")
                == [4])
        #expect(
            try numbers(session, "SELECT id FROM V WHERE (SELECT count(*) FROM K WHERE k = V.word) = 1 ORDER BY id")
                == [1, 4])
        let counted = "SELECT id FROM V WHERE (SELECT count(*) FROM K WHERE n = V.id)"
        #expect(try numbers(session, counted + " > 1") == [1] && numbers(session, counted + " = 1") == [2])
        #expect(try session.plan(counted + " > 1").contains("row ids in n (count(*) > 1)"))
        #expect(try numbers(session, counted + " = 0 ORDER BY id") == [3, 4, 5, 6])
        #expect(
            try session.rows("SELECT n, count(*) FROM K GROUP BY n ORDER BY n").map { "\($0)" } == ["[1, 2]", "[2, 1]"])
    }

    @Test(arguments: [false, true]) func longTextsAreDistinguished(isUnique: Bool) throws {
        let session = try session(
            "CREATE TABLE W (t TEXT)", "CREATE \(isUnique ? "UNIQUE " : "")INDEX W.t ON W (t)",
            "CREATE INDEX V.word ON V (word)")
        let texts = [Self.long + "1", Self.long + "2", Self.long + "3", "a"].map(Value.text)
        try session.run("INSERT INTO W (t) VALUES (?), (?), (?), (?)", texts)
        try session.run("INSERT INTO V (word) VALUES (?), (?), (?)", [texts[1], .text(Self.long + "4"), texts[0]])
        for condition in [
            "word IN (SELECT t FROM W)", "EXISTS (SELECT 1 FROM W WHERE t = V.word)",
            "EXISTS (SELECT 1 FROM W WHERE t = V.word AND W.id + V.id > 0)",
            "(SELECT count(*) FROM W WHERE t = V.word) = 1",
        ] {
            #expect(
                try numbers(session, "SELECT id FROM V WHERE \(condition) ORDER BY id") == [1, 4, 6], "\(condition)")
        }
        #expect(
            try numbers(session, "SELECT id FROM W WHERE t IN (SELECT word FROM V) ORDER BY id") == [1, 2, 4])
        #expect(
            try session.plan("SELECT id FROM V WHERE word IN (SELECT t FROM W)").contains("index V.word for each value")
        )
    }

    /// Texts that begin alike, in an index from the last to the first.
    @Test func beginningsAreSoughtBackwards() throws {
        let session = try StatementSession("CREATE TABLE T (a TEXT)", "CREATE INDEX T.a ON T (a DESC)")
        try session.run("INSERT INTO T (a) VALUES ('ab'), ('a'), ('abc'), ('b'), (NULL), ('Ab')")
        let text = "SELECT id FROM T WHERE a GLOB 'ab*' ORDER BY id"
        #expect(try numbers(session, text) == [1, 3])
        #expect(try session.plan(text).contains("using covering index T.a (a GLOB 'ab*')"))
        #expect(try numbers(session, "SELECT id FROM T WHERE a IN ('ab', 'b', 'c') ORDER BY id") == [1, 4])
        #expect(try numbers(session, "SELECT id FROM T WHERE a > 'a' AND a <= 'abc' ORDER BY id") == [1, 3])
        #expect(try numbers(session, "SELECT id FROM T WHERE a >= 'abc' AND a < 'b' ORDER BY id") == [3])
    }
}
