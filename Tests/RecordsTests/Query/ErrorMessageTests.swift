import Foundation
import Testing

@testable import MakoRecords

/// Provokes each message of the last table of `docs/where.md` and compares it with the table, with the caret at the
/// fault.
@Suite struct ErrorMessageTests {
    /// A text that is refused, and its error.
    struct Case: Sendable, CustomTestStringConvertible {
        let message: String
        let text: String
        /// The last place in the text that reads so is at fault; empty: its end; nil: the message has no place.
        let fault: String?
        let bringAbout: @Sendable (String, ErrorMessageFixture) throws -> Void

        init(
            _ message: String, _ text: String = "", at fault: String? = nil,
            _ bringAbout: @escaping @Sendable (String, ErrorMessageFixture) throws -> Void = { try $1.run($0) }
        ) {
            (self.message, self.text, self.fault, self.bringAbout) = (message, text, fault, bringAbout)
        }

        var testDescription: String { message }

        /// The message with the text and a caret below it.
        var shown: String {
            guard let fault else { return message }
            let place = fault.isEmpty ? text.endIndex : text.range(of: fault, options: .backwards)?.lowerBound
            guard let place else { return "\(fault) is not in the text" }
            let caret = String(repeating: " ", count: text.distance(from: text.startIndex, to: place)) + "^"
            return "\(message)\n  \(text)\n  \(caret)" + String(repeating: "~", count: max(0, fault.count - 1))
        }
    }

    static let cases = limits + parameters + names + decimals + joins + others

    private static let limits = [
        Case(
            "this is nested too deeply; the limit is 100", String(repeating: "(", count: 100) + "age > 3", at: "age",
            { try $1.find($0) }),
        Case(
            "this is nested too deeply; the limit is 100", String(repeating: "NOT ", count: 100) + "isAdmin",
            at: "NOT", { try $1.find($0) }),
        Case("this is nested too deeply; the limit is 250") { _, fixture in
            try fixture.find((0..<250).reduce(Condition.constant(true)) { condition, _ in .not(condition) })
        },
        Case("this is nested too deeply; the limit is 250") { _, fixture in
            let value = (0..<250).reduce(Expr.path("age")) { value, _ in .negate(value) }
            try fixture.find(.isNull(value))
        },
        Case("this is nested too deeply; the limit is 250") { _, fixture in
            let inner = try SelectStatement.parse("SELECT id FROM Person")
            let condition = (0..<125).reduce(Condition.constant(true)) { condition, _ in
                var statement = inner
                statement.condition = condition
                return .exists(Subquery(statement))
            }
            try fixture.find(condition)
        },
        Case("this is nested too deeply for the stack of this thread") { _, _ in
            throw SourcePosition.none.tooDeepForStack
        },
        Case(
            "this chain is too long; the limit is 100", "age" + String(repeating: " + 1", count: 100) + " - 2 > 3",
            at: "-", { try $1.find($0) }),
        Case("no CASE is around this") { _, fixture in try fixture.find(.isNull(.subject())) },
        Case(
            "there are too many sub-queries; the limit is 500",
            (1...501).map { "age = (SELECT \($0) FROM Person)" }.joined(separator: " OR "),
            at: "(SELECT 501 FROM Person)", { try $1.find($0) }),
        Case(
            "a path has at most 32 steps", Array(repeating: "x", count: 33).joined(separator: ".") + " = 1",
            at: Array(repeating: "x", count: 33).joined(separator: "."), { try $1.find($0) }),
        Case(
            "a statement joins at most 64 tables",
            "SELECT 1 FROM Person p0" + (1...64).map { ", Person p\($0)" }.joined(), at: "Person"),
        Case(
            "at most 50 queries can be named",
            "WITH " + (1...51).map { "a\($0) AS (SELECT name FROM Person)" }.joined(separator: ", ")
                + " SELECT * FROM a1", at: "a51"),
        Case(
            "at most 100 queries can be put together",
            "SELECT name FROM Person" + String(repeating: " UNION SELECT name FROM Person", count: 100), at: "SELECT"),
        Case("replace would make a text of more than 256 MiB", "replace(?, 'a', ?) = 'b'") { text, fixture in
            let long = Value.text(String(repeating: "a", count: 1 << 15))
            try fixture.find(text, parameters: [long, long])
        },
    ]

    private static let parameters = [
        Case("the text has no parameters, but 1 value was given", "age > 3", at: "") { text, _ in
            _ = try Condition.parse(text, values: 1)
        },
        Case("the text has 1 parameter, but 2 values were given", "age > ?", at: "") { text, _ in
            _ = try ParameterPlaces.ofCondition(text).filled(text, [.one(.integer(1)), .one(.integer(2))], [:])
        },
        Case("the text has no parameter :limti; did you mean limit?", "age > :limit", at: "") { text, _ in
            try ParameterPlaces.ofCondition(text).check(["limti"], in: text)
        },
        Case("a list of values is allowed after IN only", "age > ?", at: "?") { text, _ in
            _ = try ParameterPlaces.ofCondition(text).filled(text, [.list([.integer(1)])], [:])
        },
        Case(
            "LIMIT takes a whole number from 0 on, not integer -1", "SELECT name FROM Person LIMIT ? OFFSET 1", at: "?",
            { try $1.run($0, parameters: [.integer(-1)]) }),
        Case(
            "OFFSET takes a whole number from 0 on, not text 'x'", "SELECT name FROM Person LIMIT 1 OFFSET ?", at: "?",
            { try $1.run($0, parameters: [.text("x")]) }),
        Case(
            "in the pattern of MATCH, this is nested too deeply; the limit is 100",
            String(repeating: "(", count: 100) + "a", at: "a", { try $1.seek($0) }),
        Case(
            "in the pattern of MATCH, this is nested too deeply; the limit is 100",
            String(repeating: "body: ", count: 99) + "(body: a)", at: "body", { try $1.seek($0) }),
        Case(
            "in the pattern of MATCH, this is too long; the limit is 1000 words and phrases",
            String(repeating: "a ", count: 1000) + "b", at: "b", { try $1.seek($0) }),
    ]

    private static let names = [
        Case(
            "Twice has several full-text indexes; name one of \"byFirst\", \"bySecond\", or a column",
            "SELECT first FROM Twice WHERE Twice MATCH 'x'", at: "Twice"),
        Case(
            "Coded has no row ids, so MATCH cannot search it through coded.name",
            "SELECT tags FROM Thing WHERE coded.name MATCH 'x'", at: "coded.name"),
        Case(
            "tags holds plain values, which have no name", "SELECT id FROM Thing WHERE ANY tags.name = 'x'",
            at: "tags.name"),
        Case(
            "tags holds plain values, which have no name", "SELECT id FROM Thing WHERE tags.@max.name = 'x'",
            at: "tags.@max.name"),
        Case(
            "Thing.whatever refers to rows of any table, so no path leads on from it",
            "SELECT whatever.name FROM Thing", at: "whatever.name"),
        Case(
            "Thing.gone refers to table Nowhere, which is not there", "SELECT gone.name FROM Thing", at: "gone.name"),
        Case("Thing.pair does not hold the key of Pair", "SELECT pair.a FROM Thing", at: "pair.a"),
        Case(
            "Thing.pair does not hold the key of Pair", "SELECT a FROM Pair WHERE ANY things.tags = 'x'",
            at: "ANY things.tags = 'x'"),
    ]

    private static let decimals = [
        Case(
            "min is not worked out of decimals here; order by them and take the first", "SELECT min(price) FROM Thing",
            at: "price"),
        Case(
            "@max is not worked out of decimals", "SELECT shelf.things.@max.price FROM Thing",
            at: "shelf.things.@max.price"),
        Case(
            "rows of several queries are not ordered by decimals; price is one",
            "SELECT price FROM Thing UNION SELECT price FROM Thing t ORDER BY price", at: "price"),
    ]

    private static let joins = [
        Case("a join names two columns") { _, fixture in
            try fixture.join(
                SelectionJoin(table: "Department", name: "d", left: .path("age"), target: .negate(.path("id"))))
        },
        Case("a join leads to a column of Department itself") { _, fixture in
            try fixture.join(
                SelectionJoin(table: "Department", name: "d", left: .path("age"), target: .path("location.id")))
        },
        Case("Person is the query's own table; give the join a name of its own") { _, fixture in
            try fixture.join(SelectionJoin(table: "Person", name: "Person", left: .path("age"), target: .path("id")))
        },
        Case("two joins are called d; give one of them a name of its own") { _, fixture in
            let join = SelectionJoin(table: "Department", name: "d", left: .path("age"), target: .path("id"))
            try fixture.join(join, join)
        },
        Case(
            "Department.name is not the key of Department, so that it may name many rows, which fetch, count, keys, "
                + "aggregates and groups take; did you mean id?"
        ) { _, fixture in
            try fixture.join(SelectionJoin(table: "Department", name: "d", left: .path("note"), target: .path("name")))
        },
        Case("note does not hold the key of Department") { _, fixture in
            try fixture.join(SelectionJoin(table: "Department", name: "d", left: .path("note"), target: .path("id")))
        },
    ]

    private static let others = [
        Case("the columns of a group are named", "Person.*", at: "Person") { text, _ in
            _ = try SelectStatement.output(text)
        },
        Case("this takes several plans", "SELECT name FROM Person UNION SELECT name FROM Department", at: "Person") {
            text, fixture in
            _ = try SelectStatement.parse(text).plan(fixture.catalogue)
        },
        Case("this takes several plans", "SELECT 1 FROM Department, Person", at: "Department") { text, fixture in
            _ = try SelectStatement.parse(text).plan(fixture.catalogue)
        },
        Case("the statement changes the database and needs a transaction for writing", "DELETE FROM Person") {
            text, fixture in
            _ = try Statement.parse(text).read(fixture.catalogue, view: fixture.fixture.store.snapshot())
        },
        Case(
            "PRAGMA foreign_keys is for the shell, whose later statements it concerns", "PRAGMA foreign_keys = OFF",
            at: "foreign_keys"),
        Case("a transaction has begun already; COMMIT or ROLLBACK ends it", "BEGIN", at: "BEGIN") { text, _ in
            guard case .transaction(let step, let at) = try Statement.parse(text) else { return }
            throw at.isOutOfPlace(step)
        },
        Case("no transaction has begun; BEGIN begins one", "ROLLBACK", at: "ROLLBACK") { text, _ in
            guard case .transaction(let step, let at) = try Statement.parse(text) else { return }
            throw at.isOutOfPlace(step)
        },
        Case(
            "primary key keeps the keys of Label apart without regard to case; it goes with the table",
            "DROP INDEX \"primary key\"", at: "\"primary key\""),
        Case(
            "mako_store_x belongs to the keyed stores; change them by their own calls", "DELETE FROM mako_store_x",
            at: "mako_store_x"),
        Case(
            "mako_store_x belongs to the keyed stores; change them by their own calls", "DROP TABLE mako_store_x",
            at: "mako_store_x"),
        Case("mako_store_x belongs to the keyed stores", "DROP INDEX byValue", at: "byValue"),
    ]

    private static func rows() throws -> [String] {
        try WhereDocumentTests.rows(under: "| message | when |").map { $0[0] }
    }

    @Test(arguments: cases) func messageIsAsIsSaid(_ fault: Case) throws {
        let fixture = try ErrorMessageFixture()
        let error = #expect(throws: RecordError.self) { try fault.bringAbout(fault.text, fixture) }
        let found = "\(try #require(error))"
        #expect(found == fault.shown)
    }

    /// A message of the table that nothing here brings about, and one that the table does not have.
    @Test func eachRowHasACase() throws {
        var missing = try Self.rows()
        #expect(missing.count >= 30)
        let patterns = try missing.map { row in
            (
                row,
                try Regex(
                    row.components(separatedBy: "…").map(NSRegularExpression.escapedPattern).joined(separator: ".+"))
            )
        }
        for fault in Self.cases {
            let message = String(fault.message.prefix(while: { $0 != "\n" })).components(separatedBy: "; did you mean")[
                0]
            let found = patterns.filter { message.wholeMatch(of: $0.1) != nil }.map(\.0)
            #expect(found.count == 1, "\(message) is as these rows are: \(found)")
            missing.removeAll(where: found.contains)
        }
        #expect(missing == [])
    }
}

/// The tables of the document, and some whose columns few have.
struct ErrorMessageFixture {
    let fixture: Fixture
    let catalogue: Catalogue

    init() throws {
        var fixture = try WhereDocumentTests.fixture()
        let words = FullTextOptions()
        try fixture.migrate(
            EntitySchema(
                name: "Twice", columns: [ColumnSchema("first", .text), ColumnSchema("second", .text)],
                indexes: [
                    IndexSchema("byFirst", [IndexColumn("first")], fullText: words),
                    IndexSchema("bySecond", [IndexColumn("second")], fullText: words),
                ]))
        try fixture.migrate(
            EntitySchema(
                name: "Coded", columns: [ColumnSchema("code", .text), ColumnSchema("name", .text)],
                key: .columns(["code"]), indexes: [IndexSchema("words", [IndexColumn("name")], fullText: words)]))
        try fixture.migrate(
            EntitySchema(name: "Label", columns: [ColumnSchema("text", .text, isNoCase: true)], key: .columns(["text"]))
        )
        try fixture.migrate(
            EntitySchema(
                name: "Thing",
                columns: [
                    ColumnSchema("tags", .text), ColumnSchema("price", .text),
                    ColumnSchema("coded", .text, target: "Coded"), ColumnSchema("pair", .reference, target: "Pair"),
                    ColumnSchema("gone", .reference, target: "Nowhere"),
                    ColumnSchema("whatever", .text, target: AnyReference.anyTable),
                    ColumnSchema("shelf", .reference, target: "Location"),
                ]))
        try fixture.migrate(
            EntitySchema(
                name: "mako_store_x", columns: [ColumnSchema("value", .text)],
                indexes: [IndexSchema("byValue", [IndexColumn("value")])]))
        self.fixture = fixture
        var relations = WhereDocumentTests.relations
        relations["Thing"] = TableRelations(lists: ["tags"], decimals: ["price"])
        relations["Pair"] = TableRelations(inverses: ["things": .init(table: "Thing", column: "pair")])
        relations["Location"] = TableRelations(inverses: ["things": .init(table: "Thing", column: "shelf")])
        catalogue = fixture.catalogue.describing(relations)
    }

    func find(_ text: String, parameters: [Value] = []) throws {
        _ = try Selection(table: "Person", condition: .parse(text), parameters: parameters).bind(catalogue)
    }

    func find(_ condition: Condition) throws {
        _ = try Selection(table: "Person", condition: condition).bind(catalogue)
    }

    func seek(_ text: String) throws {
        try run("SELECT title FROM Article WHERE body MATCH ?", parameters: [.text(text)])
    }

    func join(_ joins: SelectionJoin...) throws {
        var selection = Selection(table: "Person")
        selection.joins = joins
        _ = try selection.bind(catalogue)
    }

    func run(_ text: String, parameters: [Value] = []) throws {
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes, parameters: parameters)
        }
    }
}
