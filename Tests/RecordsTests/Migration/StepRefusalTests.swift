import MakoStorage
import Testing

import MakoRecords

/// Manual steps that cannot be done: nothing is changed, an error gives the reason, and a survey gives the same reason
/// before.
@Suite struct StepRefusalTests {
    private struct Odd: Error, CustomStringConvertible {
        let description = "an odd row"
    }

    private static func schema(_ name: String, _ columns: ColumnSchema...) -> EntitySchema {
        EntitySchema(name: name, columns: columns)
    }

    private static let plain = schema("P", ColumnSchema("name", .text), ColumnSchema("size", .integer))

    /// P has two rows, Q one, R none.
    private func fixture() throws -> Fixture {
        let fixture = try Fixture(
            Self.plain, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
            Self.schema("R", ColumnSchema("word", .text)))
        try fixture.insertAll("P", [[.text("a"), .integer(1)], [.text("b"), .integer(2)]])
        try fixture.insertAll("Q", [[.text("q"), .integer(9)]])
        return fixture
    }

    private func request(_ schema: EntitySchema, _ steps: [TableStep]) -> TableMigration {
        TableMigration(schema) { from in from < 1 ? (steps, 1) : ([], from) }
    }

    /// The reason for which a migration is refused, as text.
    private func refusal(_ store: Store, _ requests: [TableMigration]) -> String {
        Fixture.error { try store.write { tx in _ = try Catalogue.migrate(requests, in: tx) } }.map { "\($0)" } ?? ""
    }

    private func survey(_ store: Store, _ requests: [TableMigration]) throws -> MigrationSurvey {
        try #require(try Catalogue.survey(requests, view: store.snapshot()).first)
    }

    private static var refusals: [(steps: [TableStep], words: String)] {
        [
            ([.rename("nam", to: "title")], "did you mean name"),
            ([.rename("name", to: "size")], "name cannot be called size, which there is already"),
            ([.rename("name", to: "id")], "name cannot be called id, which there is already"),
            ([.remove("nothing")], "has no column nothing"),
            ([.add("size", .integer, .integer(1))], "size cannot be added: it is there already"),
            ([.compute("name", .text) { _ in .null }], "name cannot be added: it is there already"),
            ([.transform("sise", nil) { $0 }], "did you mean size"),
            ([.merge(from: "P", nil)], "its rows cannot be merged into itself"),
            ([.split(into: "P", linking: nil) { _ in [] }], "it cannot be split into itself"),
            ([.split(into: "R", linking: "part") { _ in [] }], "it has no property part to refer to a R"),
            ([.renameTable(from: "Q")], "there are both Q and P"),
            ([.add("size2", .integer, .text("x")), .rename("size2", to: "name")], "which there is already"),
        ]
    }

    @Test(arguments: refusals.indices) func namesThatDoNotFitAreRefused(number: Int) throws {
        let (steps, words) = Self.refusals[number]
        let store = try fixture().store
        let request = request(Self.plain, steps)
        let refusal = refusal(store, [request])
        #expect(refusal.contains(words), "\(refusal)")
        #expect(try survey(store, [request]).refusal.map { "\($0)" } == refusal)
    }

    /// A failure at a row names the step and the row; a survey counts the rows.
    private static var failures: [(steps: [TableStep], words: String, rows: Int)] {
        [
            ([.compute("more", .integer) { _ in throw Odd() }], "compute more", 2),
            ([.compute("more", .integer) { .integer(try $0["sise"].isNull ? 0 : 1) }], "did you mean size", 2),
            ([.transform("name", nil) { $0 == .text("b") ? .null : $0 }], "nothing is given for name", 1),
            ([.transform("size", nil) { _ in .text("x") }], "'x' is given for size, which holds integer", 2),
            ([.split(into: "R", linking: nil) { _ in throw Odd() }], "an odd row", 2),
        ]
    }

    @Test(arguments: failures.indices) func rowsThatDoNotFitAreNamed(number: Int) throws {
        let (steps, words, rows) = Self.failures[number]
        let store = try fixture().store
        var wanted = Self.plain
        wanted.columns.append(ColumnSchema("more", .integer, isOptional: true))
        let request = request(wanted, steps)
        let refusal = refusal(store, [request])
        #expect(refusal.contains(words), "\(refusal)")
        let survey = try survey(store, [request])
        #expect(survey.refusal == nil)
        let step = try #require(survey.steps.first)
        #expect(step.failures == rows && step.rows == 2)
        #expect(step.example.map { refusal.contains($0) || $0.contains(words) } == true, "\(step)")
    }

    /// Invalid values that a closure returns for new rows are found when the rows are stored.
    @Test(
        arguments: [
            (["word": .integer(1), "more": .null], "R has no column more"),
            (["word": .null], "R.word holds text, not NULL"),
            (["id": .text("x"), "word": .text("w")], "'x' is no id"),
        ] as [([String: Value], String)])
    func rowsMadeOfOthersMustFit(values: [String: Value], words: String) throws {
        let store = try fixture().store
        let refusal = refusal(store, [request(Self.plain, [.split(into: "R", linking: nil) { _ in [values] }])])
        #expect(refusal.contains(words) && refusal.contains("split into R"), "\(refusal)")
        let nowhere = self.refusal(store, [request(Self.plain, [.split(into: "S", linking: nil) { _ in [values] }])])
        #expect(nowhere.contains("there is no table S"), "\(nowhere)")
    }

    /// Values that do not become what their column is to hold, and ones that cannot be encrypted without the key.
    @Test func aSurveyCountsRowsThatCannotBeConverted() throws {
        let store = try fixture().store
        var wanted = Self.plain
        wanted.columns[0].type = .integer
        let plain = try #require(try survey(store, [TableMigration(wanted)]).steps.first)
        #expect(plain.rows == 2 && plain.failures == 2)
        #expect(plain.example == "row 1: 'a' does not become an integer")
        wanted.columns[0] = ColumnSchema("name", .blob, isOptional: true, sealing: .text)
        let sealed = try #require(try survey(store, [TableMigration(wanted)]).steps.first)
        #expect(sealed.rows == 2 && sealed.failures == 2)
        #expect(sealed.example == "row 1: \(RecordError.valueSealed(table: "P", column: "name", .missing))")
    }

    /// The steps of a table that gets another name stand behind that in the report.
    @Test func aRenamedTableCountsItsRowsAtTheRightStep() throws {
        let store = try fixture().store
        var wanted = Self.plain
        wanted.name = "Z"
        let request = request(wanted, [.renameTable(from: "P"), .transform("size", nil) { _ in .text("x") }])
        let survey = try survey(store, [request])
        #expect(survey.steps.map { "\($0.step)" }.last == "transform size")
        #expect(survey.steps.map(\.failures) == survey.steps.map { "\($0.step)" == "transform size" ? 2 : 0 })
        #expect(refusal(store, [request]).contains("'x' is given for size"))
    }

    private static var merges: [(body: (OldRow) throws -> [String: Value], words: String)] {
        [
            ({ _ in throw Odd() }, "an odd row"),
            ({ _ in ["name": .text("n"), "sise": .null] }, "did you mean size"),
            ({ _ in ["name": .text("n")] }, "nothing is given for size, which must have a value"),
            ({ _ in ["name": .text("n"), "size": .text("x")] }, "'x' is given for size, which holds integer"),
            ({ ["name": try $0["nam"], "size": .null] }, "did you mean name"),
        ]
    }

    @Test(arguments: merges.indices) func mergedRowsMustFit(number: Int) throws {
        let (body, words) = Self.merges[number]
        let store = try fixture().store
        let request = request(Self.plain, [.merge(from: "Q", body)])
        let refusal = refusal(store, [request])
        #expect(refusal.contains(words) && refusal.contains("merge the rows of Q"), "\(refusal)")
        let step = try #require(try survey(store, [request]).steps.first)
        #expect(step.rows == 1 && step.failures == 1)
        #expect(step.example.map { $0.contains(words) } == true, "\(step)")
    }

    @Test func theIdOfAMergedRowIsANumber() throws {
        let store = try fixture().store
        let values: [String: Value] = ["id": .text("x"), "name": .text("n"), "size": .integer(1)]
        let refusal = refusal(store, [request(Self.plain, [.merge(from: "Q") { _ in values }])])
        #expect(refusal.contains("'x' is given as the id of row 1"), "\(refusal)")
    }

    @Test func tablesAreTakenOverOnce() throws {
        let store = try fixture().store
        let requests = [
            request(Self.plain, [.merge(from: "Q", nil)]),
            request(Self.schema("R", ColumnSchema("word", .text)), [.merge(from: "Q") { ["word": try $0["name"]] }]),
        ]
        let words = refusal(store, requests)
        #expect(words.contains("Q is taken over twice"), "\(words)")
    }

    @Test func aSurveyReportsTablesThatWaitForEachOther() throws {
        let store = try fixture().store
        let requests = [
            request(Self.plain, [.split(into: "Q", linking: nil) { _ in [] }]),
            request(
                Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
                [.split(into: "P", linking: nil) { _ in [] }]),
        ]
        #expect(try survey(store, requests).refusal.map { "\($0)".contains("wait for each other") } == true)
    }

    /// The ids of a table end somewhere.
    @Test func mergedRowsFindNoIds() throws {
        let fixture = try fixture()
        try fixture.insert("P", [.text("last"), .integer(0)], key: .rowID(.max - 1))
        let words = refusal(fixture.store, [request(Self.plain, [.merge(from: "Q", nil)])])
        #expect(words == "\(RecordError.idsExhausted(table: "P"))")
    }

    /// A version that has more bytes than a number.
    @Test func aVersionThatIsNoNumberIsDamage() throws {
        let fixture = try fixture()
        let number = try fixture.table("P").number
        try fixture.store.write { tx in
            let tree = try #require(tx.view.tree(named: Catalogue.treeName))
            try tx.put([1, 0, 0, 0, 0, 0, 0, 0, 7], for: [0, 0, 0, 0, UInt8(number)], in: tree)
        }
        let words = refusal(fixture.store, [request(Self.plain, [])])
        #expect(words.contains("the version of table \(number)"), "\(words)")
    }
}
