import MakoRecords
import MakoStorage
import Testing

/// A cancelled query ends, whatever its plan.
@Suite struct CancelledQueryTests {
    private func all() throws -> ManyFixture { try ManyFixture(seed: 1, people: 2500, pets: 300, isIndexed: true) }

    @Test func everyPlanEndsWhenCancelled() throws {
        let all = try all()
        let view = try all.fixture.store.snapshot()
        let plans: [(condition: String, order: String, operators: String)] = [
            ("TRUE", "", "scan Person"), ("salary + 1 > 0", "", "scan Person, then filter"),
            ("salary > 0", "", "scan Person, then filter"), ("salary > 0", "id DESC", "already in order of id DESC"),
            ("age = 3 OR name = 'Ada'", "", "union of index"), ("age >= 0", "name, salary", "sort by name, salary"),
            ("salary = 1 AND EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND age > Person.age)", "", "filter"),
        ]
        for (condition, order, operators) in plans {
            var plan = try all.plan("Person", condition, order: order)
            #expect("\(plan)".contains(operators), "\(plan)")
            let cancellation = Cancellation()
            plan.cancellation = cancellation
            #expect(try !plan.keys(in: view).isEmpty, "\(condition)")
            cancellation.cancel()
            #expect(throws: RecordError.cancelled, "\(condition)") { try plan.forEachRow(in: view) { _, _ in true } }
        }
    }

    @Test(arguments: [
        "SELECT salary FROM Person WHERE salary + 1 > 0", "SELECT count(*) FROM Person WHERE salary + 1 > 0",
        "SELECT age, count(*), max(salary) FROM Person GROUP BY age",
        "SELECT DISTINCT name, salary FROM Person ORDER BY salary",
        "SELECT p.name, q.name FROM Person p JOIN Person q ON p.salary + 1 < q.salary WHERE p.id < 20",
        "SELECT p.age, count(*) FROM Person p JOIN Person q ON p.age = q.age GROUP BY p.age",
        "SELECT salary FROM Person UNION SELECT age FROM Person",
    ])
    func everyStatementEnds(text: String) throws {
        let all = try all()
        let view = try all.fixture.store.snapshot()
        let statement = try SelectStatement.parse(text)
        let cancellation = Cancellation()
        let rows = try statement.run(all.fixture.catalogue, view: view, cancellation: cancellation).rows
        #expect(try rows == statement.run(all.fixture.catalogue, view: view).rows)
        #expect(!rows.isEmpty)
        let analysis = try statement.analysis(all.fixture.catalogue, view: view, cancellation: cancellation)
        #expect(analysis.rows == rows.count)
        cancellation.cancel()
        #expect(throws: RecordError.cancelled) {
            try statement.analysis(all.fixture.catalogue, view: view, cancellation: cancellation)
        }
        #expect(throws: RecordError.cancelled) {
            try statement.run(all.fixture.catalogue, view: view, cancellation: cancellation)
        }
    }

    /// Its earlier writes are rolled back.
    @Test(arguments: [
        "UPDATE Person SET salary = salary + 1 WHERE salary + 1 > 0", "UPDATE Person SET salary = 1",
        "DELETE FROM Person WHERE salary + 1 > 0", "DELETE FROM Person WHERE id = 1",
        "INSERT INTO Person (name) SELECT name FROM Person", "INSERT INTO Person (name) VALUES ('a'), ('b')",
    ])
    func everyWritingStatementEnds(text: String) throws {
        let all = try all()
        let statement = try Statement.parse(text)
        let cancellation = Cancellation()
        cancellation.cancel()
        try all.fixture.store.write { tx in
            let before = try Fixture.contents(of: tx.view)
            var changes = ChangeSet()
            let error = Fixture.error {
                _ = try statement.run(all.fixture.catalogue, in: tx, changes: &changes, cancellation: cancellation)
            }
            #expect(error == .cancelled)
            #expect(changes.isEmpty)
            #expect(try Fixture.contents(of: tx.view) == before)
        }
    }

    @Test func aCancelledCursorReadsNoFurtherBatch() throws {
        let all = try all()
        let view = try all.fixture.store.snapshot()
        var batches = BatchedCursor(of: try all.plan("Person", "salary > 0"))
        #expect(batches.cancellation == nil)
        let cancellation = Cancellation()
        batches.cancellation = cancellation
        var count = 0
        try batches.next(5, in: view) { _, _ in count += 1 }
        batches.cancellation?.cancel()
        #expect(cancellation.isCancelled)
        #expect(throws: RecordError.cancelled) { try batches.next(5, in: view) { _, _ in count += 1 } }
        #expect(count == 5 && !batches.isAtEnd)
    }
}
