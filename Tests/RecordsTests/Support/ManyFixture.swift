import MakoRecords
import MakoStorage

/// Departments, people and pets as plain values, and the same in a database: what sub-queries and conditions on many must agree with.
struct ManyFixture {
    struct Department {
        var id: Int
        var name: String
        var budget: Int?
    }

    struct Person {
        var id: Int
        var name: String
        var age: Int?
        var salary: Int
        var department: Int?
        var boss: Int?
        var tags: [String]?
        var friends: [Int]
    }

    struct Pet {
        var id: Int
        var name: String
        var owner: Int?
        var age: Int?
    }

    private(set) var departments: [Department] = []
    private(set) var people: [Person] = []
    private(set) var pets: [Pet] = []
    private(set) var fixture: Fixture
    var catalogue: Catalogue { fixture.catalogue.describing(ManyFixture.relations) }

    private static let relations: [String: TableRelations] = [
        "Department": TableRelations(inverses: ["people": .init(table: "Person", column: "department")]),
        "Person": TableRelations(
            inverses: [
                "pets": .init(table: "Pet", column: "owner"), "staff": .init(table: "Person", column: "boss"),
                "fans": .init(table: "Person", column: "friends"),
            ], lists: ["tags"]),
    ]

    private static let indexes = [
        IndexSchema("Person.department", [IndexColumn("department"), IndexColumn("age")]),
        IndexSchema("Person.boss", [IndexColumn("boss")]), IndexSchema("Person.age", [IndexColumn("age")]),
        IndexSchema("Person.name", [IndexColumn("name")]),
    ]

    init(seed: UInt64, departments: Int = 8, people: Int = 40, pets: Int = 60, isIndexed: Bool) throws {
        let friends = IndexSchema("Person.friends", [IndexColumn("friends")])
        fixture = try Fixture(
            EntitySchema(
                name: "Department",
                columns: [ColumnSchema("name", .text), ColumnSchema("budget", .integer, isOptional: true)]),
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer, isOptional: true),
                    ColumnSchema("salary", .integer),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                    ColumnSchema("boss", .reference, isOptional: true, target: "Person"),
                    ColumnSchema("tags", .text, isOptional: true),
                    ColumnSchema("friends", .keys, isOptional: true, target: "Person"),
                ], indexes: (isIndexed ? ManyFixture.indexes : []) + [friends]),
            EntitySchema(
                name: "Pet",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("owner", .reference, isOptional: true, target: "Person"),
                    ColumnSchema("age", .integer, isOptional: true),
                ], indexes: isIndexed ? [IndexSchema("Pet.owner", [IndexColumn("owner")])] : []))
        var random = Seeded(seed)
        fill(departments, people, pets, &random)
        try store()
    }

    private mutating func fill(_ departmentCount: Int, _ personCount: Int, _ petCount: Int, _ random: inout Seeded) {
        func maybe<T>(_ value: T, _ random: inout Seeded) -> T? { random.chance(20) ? nil : value }
        func number(_ range: ClosedRange<Int>, _ random: inout Seeded) -> Int { Int.random(in: range, using: &random) }
        for id in 1...max(1, departmentCount) {
            departments.append(
                Department(
                    id: id, name: random.pick(["Engines", "Looms", "Mills"]),
                    budget: maybe(number(0...9, &random), &random)))
        }
        for id in 1...max(1, personCount) {
            let tags = (0..<number(0...3, &random)).map { _ in random.pick(["x", "y", "a\"b", "é\\", "日\n"]) }
            people.append(
                Person(
                    id: id, name: random.pick(["Ada", "Bob", "Eve", "Dan"]),
                    age: maybe(number(0...9, &random), &random),
                    salary: number(1...5, &random), department: maybe(number(1...departments.count, &random), &random),
                    boss: maybe(number(1...personCount, &random), &random), tags: maybe(tags, &random),
                    friends: (0..<number(0...3, &random)).map { _ in number(1...personCount, &random) }))
        }
        for id in 1...max(1, petCount) {
            pets.append(
                Pet(
                    id: id, name: random.pick(["Rex", "Tom"]), owner: maybe(number(1...personCount, &random), &random),
                    age: maybe(number(0...9, &random), &random)))
        }
    }

    private func store() throws {
        func value(_ number: Int?) -> Value { number.map { .integer(Int64($0)) } ?? .null }
        try fixture.insertAll("Department", departments.map { [.text($0.name), value($0.budget)] })
        try fixture.insertAll(
            "Person",
            people.map {
                [
                    .text($0.name), value($0.age), value($0.salary), value($0.department), value($0.boss),
                    $0.tags.map { .text(ManyFixture.json($0)) } ?? .null,
                    .blob(KeyTree.list($0.friends.map { .key(.rowID(Int64($0))) }).encoded),
                ]
            })
        try fixture.insertAll("Pet", pets.map { [.text($0.name), value($0.owner), value($0.age)] })
    }

    private static func json(_ texts: [String]) -> String {
        let parts = texts.map { text in
            let escaped = text.unicodeScalars.map { scalar in
                switch scalar {
                case "\"": "\\\""
                case "\\": "\\\\"
                case "\n": "\\n"
                case "日": "\\u65e5"
                default: String(Character(scalar))
                }
            }
            return "\"" + escaped.joined() + "\""
        }
        return "[" + parts.joined(separator: ",") + "]"
    }

    // MARK: - Queries

    func plan(
        _ table: String, _ condition: String, _ parameters: [Value] = [], order: String = "", limit: Int? = nil,
        inView: Bool = true
    ) throws -> Plan {
        try Selection(
            table: table, condition: .parse(condition), parameters: parameters,
            orderBy: order.isEmpty ? [] : Order.parse(order), limit: limit
        ).plan(catalogue)
    }

    func ids(_ table: String, _ condition: String, _ parameters: [Value] = []) throws -> [Int] {
        try plan(table, condition, parameters).ids(in: fixture.store.snapshot()).map { Int($0) }.sorted()
    }

    func rows(_ text: String, _ parameters: [Value] = []) throws -> [[Value]] {
        try SelectStatement.parse(text).run(catalogue, view: fixture.store.snapshot(), parameters: parameters).rows
    }

    func people(in department: Department) -> [Person] { people.filter { $0.department == department.id } }
    func pets(of person: Person) -> [Pet] { pets.filter { $0.owner == person.id } }
    func staff(of person: Person) -> [Person] { people.filter { $0.boss == person.id } }
    func friends(of person: Person) -> [Person] { person.friends.map { people[$0 - 1] } }
    func fans(of person: Person) -> [Person] { people.filter { $0.friends.contains(person.id) } }
}
