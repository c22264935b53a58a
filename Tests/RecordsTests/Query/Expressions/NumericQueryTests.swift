import MakoRecords
import MakoStorage
import Testing

/// Queries on numbers: joins of integers with doubles, and conditions as values.
@Suite struct NumericQueryTests {
    private func session() throws -> StatementSession {
        let session = try StatementSession(
            "CREATE TABLE A (n INTEGER, big INTEGER, word TEXT)", "CREATE TABLE B (x DOUBLE)",
            "CREATE INDEX B.x ON B (x)")
        for (n, big, word) in [(1, 9_007_199_254_740_993, "a"), (2, 9_007_199_254_740_992, "b"), (3, 5, "c")] {
            try session.run(
                "INSERT INTO A (n, big, word) VALUES (?, ?, ?)",
                [.integer(Int64(n)), .integer(Int64(big)), .text(word)])
        }
        for x in [9_007_199_254_740_992.0, 5, 1.5] { try session.run("INSERT INTO B (x) VALUES (?)", [.double(x)]) }
        return session
    }

    private func rows(_ session: StatementSession, _ text: String) throws -> [[Value]] {
        try session.run(text).rows.rows
    }

    /// A whole number that no double is has no partner among doubles.
    @Test func wholeNumbersThatNoDoubleIs() throws {
        let session = try session()
        let found = try rows(session, "SELECT A.n FROM A JOIN B ON B.x = A.big ORDER BY A.n")
        #expect(found == [[.integer(2)], [.integer(3)]])
    }

    @Test func conditionsAsValuesOfATableThatIsJoined() throws {
        let session = try session()
        let found = try rows(
            session, "SELECT A.n FROM A JOIN B ON B.x = A.big WHERE (A.n > 2) + 1 = 2 AND length(A.word) = 1")
        #expect(found == [[.integer(3)]])
        let counted = try rows(session, "SELECT sum(!(n > 2)), sum(NOT n > 1) FROM A")
        #expect(counted == [[.integer(2), .integer(1)]])
    }

    /// The condition of a partial index may count a condition.
    @Test func conditionsAsValuesInAPartialIndex() throws {
        let session = try session()
        try session.run("CREATE INDEX A.some ON A (n) WHERE (n > 1) + (big > 9) = 2")
        let found = try rows(session, "SELECT n FROM A WHERE n > 0 AND (n > 1) + (big > 9) = 2")
        #expect(found == [[.integer(2)]])
    }
}
