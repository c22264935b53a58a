import MakoRecords
import MakoStorage
import Testing

/// People, departments, places and pets for queries over several tables.
enum JoinFixture {
    static let indexes = [
        IndexSchema("Pet.owner", [IndexColumn("owner")]), IndexSchema("Pet.kind", [IndexColumn("kind", noCase: true)]),
        IndexSchema("Person.age", [IndexColumn("age")]),
    ]

    static func make(indexed: Bool = true, more: Int = 0) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                    ColumnSchema("boss", .reference, isOptional: true, target: "Person"),
                ], indexes: indexed ? [indexes[2]] : []),
            EntitySchema(
                name: "Department",
                columns: [
                    ColumnSchema("name", .text),
                    ColumnSchema("location", .reference, isOptional: true, target: "Location"),
                    ColumnSchema("budget", .double, isOptional: true),
                ]),
            EntitySchema(name: "Location", columns: [ColumnSchema("city", .text)]),
            EntitySchema(
                name: "Pet",
                columns: [ColumnSchema("owner", .integer, isOptional: true), ColumnSchema("kind", .text)],
                indexes: indexed ? Array(indexes[..<2]) : []),
            EntitySchema(
                name: "Kind", columns: [ColumnSchema("code", .text), ColumnSchema("legs", .integer)],
                key: .columns(["code"])))
        try fixture.insertAll("Location", [[.text("London")], [.text("Lyon")]])
        try fixture.insertAll(
            "Department",
            [
                [.text("Engines"), .integer(1), .double(100)], [.text("Looms"), .integer(2), .double(2)],
                [.text("Letters"), .null, .null],
            ])
        try fixture.insertAll(
            "Person",
            [
                [.text("Ada"), .integer(36), .integer(1), .integer(2)],
                [.text("Charles"), .integer(50), .integer(1), .null],
                [.text("Joseph"), .integer(40), .integer(2), .integer(2)],
                [.text("Mary"), .integer(36), .null, .integer(1)],
                [.text("Gone"), .integer(20), .integer(9), .integer(9)],
            ])
        try fixture.insertAll("Kind", [[.text("cat"), .integer(4)], [.text("bird"), .integer(2)]])
        try fixture.insertAll(
            "Pet",
            [
                [.integer(1), .text("cat")], [.integer(1), .text("Cat")], [.integer(3), .text("bird")],
                [.null, .text("fish")], [.integer(77), .text("cat")],
            ])
        for number in 0..<more {
            try fixture.insert("Pet", [.integer(Int64(number % 7)), .text(["cat", "bird", "cow"][number % 3])])
        }
        return fixture
    }

    static func text(_ rows: [[Value]]) -> [String] {
        rows.map { row in
            row.map { value in if case .text(let text) = value { text } else { "\(value)" } }.joined(separator: " ")
        }
    }
}

@Suite struct JoinTests {
    private func run(_ text: String, _ parameters: [Value] = [], indexed: Bool = true) throws -> QueryRows {
        let fixture = try JoinFixture.make(indexed: indexed)
        return try SelectStatement.parse(text).run(
            fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters)
    }

    private func rows(_ text: String, _ parameters: [Value] = []) throws -> [String] {
        let found = JoinFixture.text(try run(text, parameters).rows)
        #expect(JoinFixture.text(try run(text, parameters, indexed: false).rows) == found)
        return found
    }

    @Test func innerJoinsGiveRowsThatMeet() throws {
        #expect(
            try rows(
                "SELECT p.name, d.name FROM Person p JOIN Department d ON p.department = d.id ORDER BY p.name"
            ) == ["Ada Engines", "Charles Engines", "Joseph Looms"])
        #expect(
            try rows(
                """
                SELECT p.name, l.city FROM Person AS p INNER JOIN Department d ON d.id = p.department
                JOIN Location l ON l.id = d.location WHERE p.age > ? ORDER BY p.age DESC
                """, [.integer(36)]) == ["Charles London", "Joseph Lyon"])
        #expect(
            try rows("SELECT p.name, b.name FROM Person p JOIN Person b ON p.boss = b.id ORDER BY 1")
                == ["Ada Charles", "Joseph Charles", "Mary Ada"])
        #expect(
            try rows("SELECT Person.name, Pet.kind FROM Person, Pet WHERE Person.id = Pet.owner ORDER BY Pet.id")
                == ["Ada cat", "Ada Cat", "Joseph bird"])
    }

    @Test func leftJoinsKeepRowsThatMeetNone() throws {
        #expect(
            try rows("SELECT p.name, d.name FROM Person p LEFT JOIN Department d ON p.department = d.id ORDER BY p.id")
                == ["Ada Engines", "Charles Engines", "Joseph Looms", "Mary NULL", "Gone NULL"])
        #expect(
            try rows(
                "SELECT p.name FROM Person p LEFT OUTER JOIN Pet ON Pet.owner = p.id WHERE Pet.id IS NULL ORDER BY 1")
                == ["Charles", "Gone", "Mary"])
        #expect(
            try rows(
                """
                SELECT p.name, d.name, l.city FROM Person p LEFT JOIN Department d ON p.department = d.id
                LEFT JOIN Location l ON d.location = l.id ORDER BY p.id
                """)
                == [
                    "Ada Engines London", "Charles Engines London", "Joseph Looms Lyon", "Mary NULL NULL",
                    "Gone NULL NULL",
                ])
        // Without a table behind it that needs it, the row of NULLs goes no further.
        #expect(
            try rows(
                """
                SELECT p.name, l.city FROM Person p LEFT JOIN Department d ON p.department = d.id
                JOIN Location l ON d.location = l.id ORDER BY p.id
                """) == ["Ada London", "Charles London", "Joseph Lyon"])
    }

    @Test func conditionsOfOnAreNotThoseOfWhere() throws {
        #expect(
            try rows(
                """
                SELECT p.name, d.name FROM Person p
                LEFT JOIN Department d ON p.department = d.id AND d.name = 'Looms' ORDER BY p.id
                """) == ["Ada NULL", "Charles NULL", "Joseph Looms", "Mary NULL", "Gone NULL"])
        #expect(
            try rows(
                """
                SELECT p.name, d.name FROM Person p LEFT JOIN Department d ON p.department = d.id
                WHERE d.name = 'Looms' ORDER BY p.id
                """) == ["Joseph Looms"])
        #expect(
            try rows(
                "SELECT p.name, d.name FROM Person p LEFT JOIN Department d ON p.department = d.id AND p.age > 40 ORDER BY p.id"
            ) == ["Ada NULL", "Charles Engines", "Joseph NULL", "Mary NULL", "Gone NULL"])
        #expect(
            try rows("SELECT p.name, d.name FROM Person p LEFT JOIN Department d ON p.age = 1 ORDER BY p.id").count == 5
        )
    }

    @Test func nullMeetsNothing() throws {
        #expect(try rows("SELECT count(*) FROM Person p JOIN Pet ON p.boss = Pet.owner") == ["2"])
        #expect(try rows("SELECT count(*) FROM Person a JOIN Person b ON a.department = b.department") == ["6"])
        #expect(
            try rows(
                "SELECT count(*) FROM Pet a LEFT JOIN Pet b ON a.owner = b.owner AND a.id <> b.id WHERE b.id IS NULL")
                == ["3"])
    }

    @Test func tablesWithKeysOfTheirOwnAndOtherCase() throws {
        #expect(
            try rows("SELECT Pet.id, legs FROM Pet LEFT JOIN Kind ON Kind.code = Pet.kind ORDER BY Pet.id")
                == ["1 4", "2 NULL", "3 2", "4 NULL", "5 4"])
        #expect(
            try rows("SELECT Pet.id, legs FROM Pet JOIN Kind ON Kind.code COLLATE NOCASE = Pet.kind ORDER BY Pet.id")
                == ["1 4", "2 4", "3 2", "5 4"])
    }

    @Test func numbersMeetByTheirValue() throws {
        #expect(
            try rows("SELECT p.name FROM Department d JOIN Person p ON p.id = d.budget ORDER BY 1") == ["Charles"])
        #expect(
            try rows("SELECT p.name FROM Department d JOIN Person p ON p.id + 0.0 = d.budget ORDER BY 1") == ["Charles"]
        )
        #expect(
            try rows("SELECT d.name FROM Department d JOIN Person p ON d.budget * 18 = p.age ORDER BY 1")
                == ["Looms", "Looms"])
    }

    @Test func pathsLeadOnFromJoinedRows() throws {
        #expect(
            try rows(
                """
                SELECT Pet.kind, p.department.location.city FROM Pet LEFT JOIN Person p ON Pet.owner = p.id
                WHERE p.department.name IS NOT NULL ORDER BY Pet.id
                """) == ["cat London", "Cat London", "bird Lyon"])
    }

    @Test func groupsOverJoins() throws {
        #expect(
            try rows(
                """
                SELECT d.name, count(p.id) AS n, avg(p.age) FROM Department d LEFT JOIN Person p ON p.department = d.id
                GROUP BY d.id, d.name ORDER BY n DESC, 1
                """) == ["Engines 2 43.0", "Looms 1 40.0", "Letters 0 NULL"])
        #expect(
            try rows(
                "SELECT DISTINCT p.name FROM Person p JOIN Pet ON Pet.owner = p.id ORDER BY p.name DESC LIMIT 1") == [
                    "Joseph"
                ])
    }

    @Test func wildcards() throws {
        #expect(
            try run("SELECT d.*, p.name FROM Person p JOIN Department d ON p.department = d.id WHERE p.id = 3")
                == QueryRows(
                    columns: ["id", "d.name", "location", "budget", "p.name"],
                    rows: [[.integer(2), .text("Looms"), .integer(2), .double(2), .text("Joseph")]]))
        #expect(
            try run("SELECT * FROM Location CROSS JOIN Kind LIMIT 1").columns
                == ["id", "city", "code", "legs"])
        #expect(
            try run("SELECT * FROM Person a JOIN Location b ON a.id = b.id").columns
                == ["a.id", "name", "age", "department", "boss", "b.id", "city"])
    }

    @Test func limitsAndOrders() throws {
        #expect(
            try rows(
                "SELECT p.name, l.city FROM Person p, Location l ORDER BY l.city DESC, p.age, p.name LIMIT 3 OFFSET 1")
                == ["Ada Lyon", "Mary Lyon", "Joseph Lyon"])
        #expect(try rows("SELECT p.name FROM Person p, Location l LIMIT 0") == [])
        #expect(try run("SELECT p.name FROM Person p, Location l LIMIT 3").rows.count == 3)
        #expect(
            try rows(
                "SELECT p.name AS x FROM Person p JOIN Department d ON d.id = p.department ORDER BY x DESC LIMIT 1")
                == ["Joseph"])
    }

    @Test(arguments: [
        ("SELECT name FROM Person p JOIN Department d ON p.department = d.id", "name may be p.name or d.name"),
        ("SELECT p.nmae FROM Person p JOIN Department d ON p.department = d.id", "did you mean name?"),
        ("SELECT 1 FROM Person p JOIN Department d ON p.department = e.id", "there is no table or column e"),
        (
            "SELECT 1 FROM Person p JOIN Pet ON d.id = 1 JOIN Department d ON p.department = d.id",
            "d is joined behind this condition"
        ),
        ("SELECT 1 FROM Person JOIN Person ON Person.id = 1", "two tables are called Person"),
        ("SELECT 1 FROM Person p JOIN Nobody ON p.id = 1", "there is no table Nobody"),
        ("SELECT 1 FROM Person p LEFT JOIN Pet", "the text ends where ON is expected"),
        ("SELECT 1 FROM Person p RIGHT JOIN Pet ON 1 = 1", "there is no RIGHT JOIN"),
        ("SELECT 1 FROM Person p JOIN Pet USING (id)", "USING is not there"),
        ("SELECT 1 FROM Person p NATURAL JOIN Pet", "there is no NATURAL JOIN"),
        ("SELECT 1 FROM Person p JOIN Pet ON p.name = Pet.owner", "cannot be compared"),
        ("SELECT q.* FROM Person p JOIN Pet ON 1 = 1", "there is no table q"),
        ("SELECT legs FROM Person p JOIN Pet ON 1 = 1", "no table of p, Pet has a column legs"),
    ])
    func faultsPointIntoTheText(text: String, message: String) throws {
        let found = #expect(throws: RecordError.self) { try run(text) }
        let error = "\(try #require(found))"
        #expect(error.contains(message), "\(error)")
    }

    @Test func namesInOtherCasesAreFound() throws {
        #expect(
            try rows("SELECT ID, LEGS FROM Pet JOIN Kind \"k\" ON CODE = KIND ORDER BY Id") == ["1 4", "3 2", "5 4"])
        #expect(try rows("SELECT k.OWNER, Pet.KIND FROM Pet \"k\" JOIN Pet ON 1 = 1 LIMIT 0") == [])
    }

    /// Conditions without equations are tested one after the other; what names no table, before all rows.
    @Test func conditionsThatAreNoEquations() throws {
        #expect(
            try rows(
                "SELECT a.name, b.name FROM Person a JOIN Person b ON a.age < b.age AND a.id < b.id AND b.boss <> a.id ORDER BY 1, 2"
            )
                == ["Ada Joseph"])
        let text = "SELECT a.name FROM Person a JOIN Pet ON Pet.owner = a.id WHERE "
        #expect(
            try rows(text + "(SELECT count(*) FROM Kind) = 2 AND a.age > 36 AND EXISTS (SELECT 1 FROM Kind)") == [
                "Joseph"
            ])
        #expect(try rows(text + "(SELECT count(*) FROM Kind) = 3") == [])
    }

    @Test func tooManyTablesAreRefused() throws {
        let text = "SELECT 1 FROM Person" + String(repeating: ", Person", count: 80)
        #expect(throws: RecordError.self) { try SelectStatement.parse(text) }
    }

    @Test func oneTableMayHaveAnotherName() throws {
        #expect(
            try rows("SELECT q.name FROM Person AS q WHERE q.age > 40 AND q.department.name = 'Engines'") == ["Charles"]
        )
    }
}
