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

    /// What a session answers to the lines: rows first, complaints after them.
    private func answer(_ lines: String...) -> (output: String, complaints: String, session: ShellSession) {
        final class Collected { var output = "", complaints = "" }
        let collected = Collected()
        let session = ShellSession(
            database: DatabaseFile(path: "memory", store: store), output: { collected.output += $0 },
            complaint: { collected.complaints += $0 })
        for line in lines where !session.take(line) { break }
        session.end()
        return (collected.output, collected.complaints, session)
    }

    @Test func aSelectShowsRows() {
        let expected = " name │ age\n──────┼─────\n Bob  │   7\n Ada  │  36\n"
        #expect(answer("SELECT name, age FROM Person ORDER BY age").output == expected)
        #expect(answer("SELECT name, age FROM Person ORDER BY age;").output == expected)
        #expect(answer("SELECT name, age", "FROM Person", "ORDER BY age;").output == expected)
    }

    @Test func severalStatementsMayStandOnOneLine() {
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

    @Test func modesChangeTheForm() {
        #expect(answer(".mode csv", "select name from Person where age > 10").output == "name\nAda\n")
        #expect(
            answer(".mode json", "select name from Person where age > 10").output == "[\n  {\"name\": \"Ada\"}\n]\n")
        let (_, complaints, session) = answer(".mode loud")
        #expect(complaints == ".mode takes one of table, line, csv, tsv, json, jsonl; now table\n")
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
                "INSERT INTO Person (name, age) VALUES ('Cy', 8),", "('Di', 9);", "UPDATE Person SET age = 0",
                "DELETE FROM Person WHERE name = 'Ada'"
            )
            .output == "2 rows changed\n4 rows changed\n1 row changed\n")
        #expect(
            answer("CREATE INDEX few ON Person (name) WHERE age = 0", ".schema").output.contains(" WHERE age = 0;\n"))
        #expect(answer("DROP INDEX few; DROP TABLE Person").output == "done\ndone\n")
        #expect(answer("UPDTE Person SET age = 0").complaints.contains("did you mean UPDATE?"))
    }

    @Test func aPragmaHasStatementsIgnoreReferences() {
        let (output, complaints, _) = answer(
            "CREATE TABLE Dog (owner INTEGER REFERENCES Person);", "INSERT INTO Dog VALUES (1, 9);",
            "PRAGMA foreign_keys = OFF;", "INSERT INTO Dog VALUES (1, 9);", "PRAGMA foreign_keys = ON;",
            "INSERT INTO Dog VALUES (2, 9);")
        #expect(output == "done\n1 row changed\n")
        #expect(
            complaints.contains("Dog.owner cannot be 9: Person has no row with that key, or say PRAGMA foreign_keys"))
        #expect(complaints.split(separator: "\n").count == 2)
    }

    @Test func helpCommentsAndLeaving() {
        #expect(answer("-- nothing", "", ".help").output.contains(".tables"))
        #expect(answer(".quit", ".help").output.isEmpty)
        #expect(answer(".dance").complaints == "there is no command .dance; .help lists them\n")
    }

    @Test func aFaultDoesNotEndTheSession() {
        let (output, complaints, session) = answer(
            "SELECT nam FROM Person;", ".mode csv", "SELECT name FROM Person WHERE age < 10")
        #expect(output == "name\nBob\n")
        #expect(complaints.contains("nam"))
        #expect(session.failures == 1)
    }
}
