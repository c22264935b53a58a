import MakoRecords
import Testing

@Suite struct PlannerTests {
    private func explain(_ text: String, order: String = "", limit: Int? = nil, offset: Int? = nil) throws -> String {
        let fixture = try Fixture(
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer),
                    ColumnSchema("mail", .text, isOptional: true),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                    ColumnSchema("number", .integer, isOptional: true),
                ],
                indexes: [
                    IndexSchema("Person.age", [IndexColumn("age"), IndexColumn("name")]),
                    IndexSchema("Person.mail", [IndexColumn("mail", noCase: true)]),
                    IndexSchema("Person.number", [IndexColumn("number")], isUnique: true),
                    IndexSchema(
                        "Person.department", [IndexColumn("department"), IndexColumn("age", descending: true)]),
                ]),
            EntitySchema(name: "Department", columns: [ColumnSchema("name", .text)], key: .rowID(column: "id")),
            EntitySchema(
                name: "Wolf", columns: [ColumnSchema("pack", .integer), ColumnSchema("name", .text)],
                key: .columns(["pack", "name"])))
        var text = text
        var table = "Person"
        if text.hasPrefix("Wolf:") {
            table = "Wolf"
            text.removeFirst(5)
        }
        return try Selection(
            table: table, condition: text.isEmpty ? nil : .parse(text),
            orderBy: order.isEmpty ? [] : Order.parse(order), limit: limit, offset: offset
        ).plan(fixture.catalogue).description
    }

    @Test(arguments: [
        ("", "scan Person"), ("name = 'x'", "scan Person, then filter name = 'x'"),
        ("age = 35", "search Person using index Person.age (age = 35)"),
        ("35 < age", "search Person using index Person.age (age > 35)"),
        ("age > 35 AND name LIKE 'a%'", "search Person using index Person.age (age > 35), then filter name LIKE 'a%'"),
        ("age = 35 AND name GLOB 'a*'", "search Person using index Person.age (age = 35 AND name GLOB 'a*')"),
        ("age BETWEEN 3 AND 5", "search Person using index Person.age (age >= 3 AND age <= 5)"),
        ("age > 3.5", "search Person using index Person.age (age > 3)"),
        ("age = 1 OR age = 2", "search Person using index Person.age (age IN (1, 2))"),
        ("age IN (1,2,3,4,5,6)", "search Person using index Person.age (age IN (1, 2, 3, 4, 5, …))"),
        ("mail LIKE 'ada%'", "search Person using index Person.mail (mail LIKE 'ada%'), then filter mail LIKE 'ada%'"),
        ("mail = 'Ada' COLLATE NOCASE", "search Person using index Person.mail (mail COLLATE NOCASE = 'ada')"),
        ("mail = 'Ada'", "search Person using index Person.mail (mail = 'Ada'), then filter mail = 'Ada'"),
        ("mail IS NULL", "search Person using index Person.mail (mail IS NULL)"),
        ("age = 3 AND number = 7", "search Person using index Person.number (number = 7), then filter age = 3"),
        ("id = 7", "search Person by key (id = 7)"), ("id IN (3, 1)", "search Person by key (id IN (3, 1))"),
        ("id > 7 AND id <= 9", "search Person by key range (id > 7 AND id <= 9)"), ("age = NULL", "nothing to read"),
        ("FALSE", "nothing to read"), ("id = 9223372036854775808", "nothing to read"),
        ("department = 3", "search Person using index Person.department (department = 3)"),
        ("department.id = 3", "search Person using index Person.department (department.id = 3)"),
        ("department.name = 'x'", "scan Person, then filter department.name = 'x'"),
        ("age = 1 OR name = 'x'", "scan Person, then filter age = 1 OR name = 'x'"),
        ("Wolf:pack = 1", "search Wolf by key range (pack = 1)"),
        ("Wolf:pack = 1 AND name = 'F'", "search Wolf by key (pack = 1 AND name = 'F')"),
    ])
    func conditionsChooseTheirAccessPath(text: String, plan: String) throws {
        #expect(try explain(text) == plan)
    }

    /// A scan would have to come upon the few rows by chance.
    @Test func fewRowsAreSoughtByTheirIndex() throws {
        #expect(try explain("age = 3", limit: 1) == "search Person using index Person.age (age = 3), limit 1")
        #expect(
            try explain("number = 7 AND mail LIKE 'a%'", limit: 3)
                == "search Person using index Person.number (number = 7), then filter mail LIKE 'a%', limit 3")
        #expect(try explain("name = 'x'", limit: 1) == "scan Person, then filter name = 'x', limit 1")
        #expect(try explain("", limit: 1) == "scan Person, limit 1")
    }

    @Test func ordersChooseTheirAccessPath() throws {
        #expect(try explain("", order: "age") == "scan Person using index Person.age, already in order of age")
        #expect(
            try explain("", order: "age DESC, name DESC", limit: 5)
                == "scan Person using index Person.age, already in order of age DESC, name DESC, limit 5")
        #expect(try explain("", order: "age DESC, name") == "scan Person, sort by age DESC, name")
        #expect(
            try explain("age = 3", order: "age, name")
                == "search Person using index Person.age (age = 3), already in order of name")
        #expect(
            try explain("department = 3", order: "age DESC", limit: 3, offset: 2)
                == "search Person using index Person.department (department = 3), already in order of age DESC, limit 3 offset 2"
        )
        #expect(
            try explain("age > 35 AND name LIKE 'a%'", order: "department.name", limit: 99)
                == "search Person using index Person.age (age > 35), then filter name LIKE 'a%', sort by department.name limit 99"
        )
        #expect(try explain("", order: "id DESC") == "scan Person, already in order of id DESC")
        #expect(
            try explain("", order: "mail COLLATE NOCASE")
                == "scan Person using index Person.mail, already in order of mail COLLATE NOCASE")
        #expect(try explain("", order: "mail") == "scan Person, sort by mail")
        #expect(try explain("", order: "'x', age") == "scan Person using index Person.age, already in order of age")
        #expect(try explain("", order: "name", limit: 0) == "nothing to read")
        #expect(try explain("Wolf:", order: "pack DESC") == "scan Wolf, already in order of pack DESC")
    }
}
