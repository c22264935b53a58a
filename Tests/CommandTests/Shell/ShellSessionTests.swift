import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

@Suite struct ShellSessionTests {
    private let store: Store

    init() throws {
        store = try Store.inMemory()
        let path = try temporaryPath("Person.csv")
        try "name,age\nAda,36\nBob,7\n".write(toFile: path, atomically: true, encoding: .utf8)
        let work = TableImport(path: path, table: "Person", options: .init(format: .csv, indexes: ["age"]))
        _ = try work.run(columns: work.inspect().columns, in: store)
    }

    /// The output of a session for the lines: rows first, errors after them.
    private func answer(
        _ lines: String..., mode: ShellSession.Mode = .scriptThatGoesOn
    ) -> (output: String, complaints: String, session: ShellSession) {
        final class Collected { var output = "", complaints = "" }
        let collected = Collected()
        let session = ShellSession(
            database: DatabaseFile(path: "memory", store: store), mode: mode, output: { collected.output += $0 },
            complaint: { collected.complaints += $0 })
        for line in lines where !session.take(line) { return (collected.output, collected.complaints, session) }
        session.end()
        return (collected.output, collected.complaints, session)
    }

    private func count() throws -> Int {
        try store.read { view in try Catalogue.load(view: view).requireTable("Person").count(in: view) }
    }

    /// A line that parses by itself is no statement yet.
    @Test func onlyASemicolonEndsAStatement() throws {
        let (output, complaints, session) = answer(
            "DELETE FROM Person", "WHERE name = 'Ada';", ".mode csv", "SELECT name", "",
            "  -- a comment; with a semicolon",
            "/* and", "another; */ FROM Person;")
        #expect(output == "1 row changed\nname\nBob\n" && complaints.isEmpty && session.failures == 0)
        #expect(try count() == 1)
    }

    @Test func theEndOfAScriptEndsItsLastStatement() throws {
        #expect(answer(".mode csv", "SELECT name", "FROM Person WHERE age = 7").output == "name\nBob\n")
        #expect(answer("SELECT 'open FROM Person").complaints.contains("the text that begins here has no end"))
        #expect(answer("/* open").complaints.contains("the comment that begins here has no end"))
        #expect(answer(".mode csv", "-- open", " /* closed */ ").complaints.isEmpty)
    }

    @Test func aScriptStopsAtItsFirstFailure() throws {
        let lines = ["INSERT INTO Person (name, age) VALUES ('Cy', 8);", "DELETE FROM Persn;", "DELETE FROM Person;"]
        let (output, complaints, session) = answer(lines[0], lines[1], lines[2], mode: .script)
        #expect(output == "1 row changed\n" && session.failures == 1 && session.status == .badInput)
        #expect(complaints.hasPrefix("mako: line 2: there is no table Persn"))
        #expect(try count() == 3)
        #expect(
            answer(".dance", lines[2], mode: .script).complaints.hasPrefix("mako: line 1: there is no command .dance"))
        #expect(try count() == 3)
        #expect(answer(lines[1] + " " + lines[2], mode: .script).output == "")
        #expect(answer(lines[1], "", "DELETE", "FROM Person WHERE name = 'Cy';").output == "1 row changed\n")
        #expect(try count() == 2)
    }

    @Test func aStatementIsGivenUpAndCancelled() throws {
        final class Collected { var output = "", complaints = "" }
        let collected = Collected()
        let running = RunningStatement()
        let session = ShellSession(
            database: DatabaseFile(path: "memory", store: store), running: running,
            output: {
                collected.output += $0
                running.cancel()
            }, complaint: { collected.complaints += $0 })
        #expect(session.prompt == "mako> " && session.take("DELETE FROM Person") && session.prompt == " ...> ")
        session.cancelInput()
        #expect(session.prompt == "mako> " && session.take("SELECT 1 AS n FROM Person WHERE age = 7;"))
        #expect(collected.output.contains("n") && collected.complaints.isEmpty)
        #expect(try count() == 2)
        #expect(running.finish(within: .seconds(1)))
        #expect(session.take("DELETE FROM Person;") && collected.complaints == "the query was cancelled\n")
        #expect(try count() == 2)
    }

    /// What follows the rows of a cancelled statement begins on a line of its own, in a transaction too.
    @Test(arguments: ["", "BEGIN; "]) func theRowsOfACancelledStatementEndWithALine(_ start: String) throws {
        for _ in 0..<12 { _ = answer("INSERT INTO Person (name, age) SELECT name, age FROM Person;") }
        final class Collected { var output = "", complaints = "" }
        let collected = Collected()
        let running = RunningStatement()
        let session = ShellSession(
            database: DatabaseFile(path: "memory", store: store), format: .json, mode: .scriptThatGoesOn,
            running: running,
            output: { text in
                collected.output += text
                if text.hasPrefix("[") { running.cancel() }
            }, complaint: { collected.complaints += $0 })
        #expect(session.take("\(start)SELECT name, age FROM Person; SELECT 1 AS n FROM Person LIMIT 1;"))
        #expect(collected.complaints == "mako: line 1: the query was cancelled\n")
        let rows = collected.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(rows.suffix(4) == ["[", "  {\"n\": 1}", "]", ""])
        #expect(rows.dropLast(4).last?.hasPrefix("  {\"name\": ") == true && !rows.dropLast(4).contains("]"))
        session.leave()
    }

    @Test func aSelectShowsRows() {
        let expected = " name │ age\n──────┼─────\n Bob  │   7\n Ada  │  36\n"
        #expect(answer("SELECT name, age FROM Person ORDER BY age").output == expected)
        #expect(answer("SELECT name, age FROM Person ORDER BY age;").output == expected)
        #expect(answer("SELECT name, age", "FROM Person", "ORDER BY age;").output == expected)
    }

    @Test func aLineMayHaveSeveralStatements() {
        #expect(
            answer(".mode csv", "SELECT name FROM Person WHERE age = 7; SELECT age FROM Person WHERE name = 'A;a'; ")
                .output == "name\nBob\nage\n")
        #expect(
            answer(".mode csv", "SELECT count(*) FROM Person; SELECT name", "FROM Person WHERE age = 7;").output
                == "count(*)\n2\nname\nBob\n")
        let (output, complaints, session) = answer(
            ".mode csv", "SELECT nam FROM Person; SELECT name FROM Person WHERE age = 7")
        #expect(output == "name\nBob\n" && complaints.contains("nam") && session.failures == 1)
    }

    /// BEGIN makes one transaction of what follows, up to COMMIT or ROLLBACK.
    @Test func aTransactionIsCommittedOrRolledBackAsAWhole() throws {
        let (output, complaints, session) = answer(
            ".mode csv", "BEGIN; DELETE FROM Person WHERE name = 'Ada'; SELECT count(*) AS n FROM Person; ROLLBACK;",
            "BEGIN TRANSACTION; INSERT INTO Person (name, age) VALUES ('Cy', 1) RETURNING name;",
            "DELETE FROM Persn;", "CREATE TABLE T (a INTEGER); INSERT INTO T VALUES (7); SELECT * FROM T; COMMIT;")
        #expect(output == "done\n1 row changed\nn\n1\ndone\ndone\nname\nCy\ndone\n1 row changed\na\n7\ndone\n")
        #expect(complaints.contains("no table Persn") && session.failures == 1)
        #expect(try count() == 3)
        #expect(answer("COMMIT;").complaints.contains("no transaction has begun"))
        #expect(answer("BEGIN; BEGIN; ROLLBACK;").complaints.contains("has begun already"))
        let open = answer("BEGIN; DELETE FROM Person;")
        open.session.leave()
        #expect(try count() == 3 && open.session.failures == 1)
    }

    @Test func modesChangeTheForm() {
        #expect(answer(".mode csv", "select name from Person where age > 10").output == "name\nAda\n")
        #expect(
            answer(".mode json", "select name from Person where age > 10").output == "[\n  {\"name\": \"Ada\"}\n]\n")
        let (_, complaints, session) = answer(".mode loud")
        #expect(complaints == "mako: line 1: .mode takes one of table, line, csv, tsv, json, jsonl; now table\n")
        #expect(session.failures == 1)
    }

    @Test func tablesAndSchema() {
        #expect(answer(".mode csv", ".tables").output == "table,rows\nPerson,2\n")
        #expect(
            answer(".schema").output == """
                CREATE TABLE Person (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL,
                    age INTEGER NOT NULL
                );
                CREATE INDEX Person_age ON Person (age);

                """)
        #expect(answer(".schema Nobody").complaints.contains("there is no table Nobody"))
    }

    @Test func explainNamesTheIndex() {
        #expect(answer("EXPLAIN SELECT name FROM Person WHERE age = 7").output.contains("Person_age"))
    }

    @Test func explainAnalyzeSaysWhatWasExamined() {
        let output = answer("EXPLAIN ANALYZE SELECT name FROM Person WHERE age = 7").output
        #expect(output.contains("Person_age") && output.contains(" examined, ") && output.contains(" ms\n"))
    }

    @Test func statementsThatWriteSayHowManyRows() {
        #expect(
            answer(
                "INSERT INTO Person (name, age) VALUES ('Cy', 8),", "('Di', 9);", "UPDATE Person SET age = 0;",
                "DELETE FROM Person WHERE name = 'Ada'"
            )
            .output == "2 rows changed\n4 rows changed\n1 row changed\n")
        #expect(
            answer("CREATE INDEX few ON Person (name) WHERE age = 0;", ".schema").output.contains(" WHERE age = 0;\n"))
        #expect(answer("DROP INDEX few; DROP TABLE Person").output == "done\ndone\n")
        #expect(answer("UPDTE Person SET age = 0").complaints.contains("did you mean UPDATE?"))
    }

    @Test func aPragmaHasStatementsIgnoreReferences() {
        let (output, complaints, _) = answer(
            "CREATE TABLE Dog (owner INTEGER REFERENCES Person);", "INSERT INTO Dog VALUES (9);",
            "PRAGMA foreign_keys = OFF;", "INSERT INTO Dog VALUES (9);", "PRAGMA foreign_keys = ON;",
            "INSERT INTO Dog VALUES (9);")
        #expect(output == "done\n1 row changed\n")
        #expect(
            complaints.contains("Dog.owner cannot be 9: Person has no row with that key, or say PRAGMA foreign_keys"))
        #expect(complaints.split(separator: "\n").count == 2)
    }

    @Test func helpCommentsAndLeaving() {
        #expect(answer("-- nothing", "", ".help").output.contains(".tables"))
        #expect(answer(".quit", ".help").output.isEmpty)
        #expect(answer(".dance").complaints == "mako: line 1: there is no command .dance; .help lists them\n")
        #expect(answer(".dance", mode: .interactive).complaints == "there is no command .dance; .help lists them\n")
    }

    @Test func aFaultDoesNotEndTheSession() {
        let (output, complaints, session) = answer(
            "SELECT nam FROM Person;", ".mode csv", "SELECT name FROM Person WHERE age < 10")
        #expect(output == "name\nBob\n")
        #expect(complaints.contains("nam"))
        #expect(session.failures == 1)
    }
}
