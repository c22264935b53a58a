import MakoRecords
import MakoStorage
import Testing

/// Conditions on columns of keys that start from the other side: how they are planned, and that they find what loops find.
@Suite struct CollectionPlanTests {
    /// Notes hold keys of labels, some of labels that are not there, some twice; every second one holds label 1.
    private struct Notes {
        var labels: [(name: String, weight: Int64)] = []
        var notes: [(title: String, labels: [Int64])] = []
        let fixture: Fixture

        init(seed: UInt64, notes count: Int, labels labelCount: Int) throws {
            var random = Seeded(seed)
            fixture = try Fixture(
                EntitySchema(
                    name: "Label", columns: [ColumnSchema("name", .text), ColumnSchema("weight", .integer)],
                    indexes: [IndexSchema("byLabel", [IndexColumn("name")])]),
                EntitySchema(
                    name: "Note",
                    columns: [
                        ColumnSchema("title", .text), ColumnSchema("labels", .keys, isOptional: true, target: "Label"),
                    ], indexes: [IndexSchema("labels", [IndexColumn("labels")])]))
            for number in 0..<labelCount {
                labels.append(("l\(number)", Int64.random(in: 1...Int64(labelCount), using: &random)))
            }
            // Label 8 names one that is not there.
            labels[7].weight = Int64(labelCount + 1)
            for number in 0..<count {
                var held = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    Int64.random(in: 1...Int64(labelCount + 2), using: &random)
                }
                if number % 2 == 0 { held.append(1) }
                if random.chance(10), let first = held.first { held.append(first) }
                notes.append(("n\(number)", held))
            }
            try fixture.insertAll("Label", labels.map { [.text($0.name), .integer($0.weight)] })
            try fixture.insertAll(
                "Note",
                notes.map { note in
                    let keys = KeyTree.list(note.labels.map { .key(.rowID($0)) }).encoded
                    return [.text(note.title), note.labels.isEmpty ? .null : .blob(keys)]
                })
        }

        var catalogue: Catalogue {
            fixture.catalogue.describing([
                "Label": TableRelations(inverses: ["notes": .init(table: "Note", column: "labels")])
            ])
        }

        func rows(_ text: String, _ parameters: [Value] = []) throws -> [[Value]] {
            try SelectStatement.parse(text).run(catalogue, view: fixture.store.snapshot(), parameters: parameters).rows
        }

        func ids(_ text: String, _ parameters: [Value] = []) throws -> [Int] {
            try rows(text, parameters).map { row in
                if case .integer(let id) = row[0] { Int(id) } else { -1 }
            }.sorted()
        }

        func plan(_ text: String, _ parameters: [Value] = []) throws -> String {
            try SelectStatement.parse(text).explanation(
                catalogue, parameters: parameters, view: fixture.store.snapshot()
            ).outline
        }

        func analysis(_ text: String) throws -> PlanAnalysis {
            try SelectStatement.parse(text).analysis(catalogue, view: fixture.store.snapshot())
        }

        func label(_ key: Int64) -> (name: String, weight: Int64)? {
            labels.indices.contains(Int(key) - 1) ? labels[Int(key) - 1] : nil
        }

        /// The numbers of the notes that hold a label like this.
        func notes(_ isWanted: ((name: String, weight: Int64)) -> Bool) -> [Int] {
            notes.indices.filter { notes[$0].labels.contains { label($0).map(isWanted) ?? false } }.map { $0 + 1 }
        }
    }

    @Test func fewLabelsLeadToTheirNotes() throws {
        let all = try Notes(seed: 1, notes: 4000, labels: 500)
        let byName = "SELECT id FROM Note WHERE ANY labels.name = 'l7'"
        #expect(
            try all.plan(byName)
                == """
                search Note by row ids
                  index labels for each row
                    search Label using covering index byLabel (name = 'l7')
                """)
        let steps = try all.analysis(byName).steps
        let found = all.notes { $0.name == "l7" }.count
        #expect(found > 0 && steps[1].examinedEntries == found && steps[2].examinedRows <= found)
        #expect(try all.plan("SELECT id FROM Note WHERE ANY labels = ?", [.integer(8)]).contains("index labels"))
        #expect(
            try all.plan("SELECT id FROM Note WHERE ANY labels.name = 'l7' AND title LIKE '%1'")
                .hasPrefix("filter title LIKE"))
    }

    /// Conditions that depend on the row itself, or on missing labels, are tested on each row.
    @Test func otherConditionsAreTestedOnEachRow() throws {
        let all = try Notes(seed: 2, notes: 1500, labels: 50)
        for text in ["ANY labels.weight = Note.id", "ALL labels.name = 'l7'", "NONE labels.name = 'l7'"] {
            #expect(try all.plan("SELECT id FROM Note WHERE \(text)").contains("\n  scan Note\n"), "\(text)")
        }
    }

    @Test func fewNotesLeadToTheirLabels() throws {
        let all = try Notes(seed: 3, notes: 50, labels: 5000)
        let text = "SELECT id FROM Label WHERE ANY notes.title = 'n8'"
        #expect(
            try all.plan(text)
                == """
                search Label by row ids
                  keys in labels
                    filter title = 'n8'
                      scan Note
                """)
        #expect(try all.ids(text) == Set(all.notes[8].labels).filter { $0 <= 5000 }.map { Int($0) }.sorted())
    }

    @Test(arguments: UInt64(1)...6) func conditionsFindWhatLoopsFind(seed: UInt64) throws {
        let all = try Notes(seed: seed, notes: 400, labels: 40)
        var random = Seeded(seed)
        for _ in 0..<4 {
            let number = Int.random(in: 0..<40, using: &random)
            let name = "l\(number)"
            #expect(
                try all.ids("SELECT id FROM Note WHERE ANY labels.name = '\(name)'") == all.notes { $0.name == name })
            #expect(
                try all.ids("SELECT id FROM Note WHERE ANY labels = ?", [.integer(Int64(number + 1))])
                    == all.notes { $0.name == name })
            #expect(
                try all.ids("SELECT id FROM Note WHERE ANY labels.weight BETWEEN \(number) AND \(number + 1)")
                    == all.notes { (Int64(number)...Int64(number + 1)).contains($0.weight) })
            #expect(
                try all.ids("SELECT id FROM Note WHERE ANY labels.name IN ('\(name)', 'l3') AND id > 200")
                    == all.notes { $0.name == name || $0.name == "l3" }.filter { $0 > 200 })
            #expect(
                try all.ids("SELECT id FROM Note WHERE ANY labels.notes.title = 'n\(number)'").contains(number + 1)
                    == all.notes[number].labels.contains { all.label($0) != nil })
            let notes = "'n\(number)', 'n\(number + 1)'"
            let held = Set(all.notes[number...number + 1].flatMap(\.labels)).filter { all.label($0) != nil }
            #expect(
                try all.ids("SELECT id FROM Label WHERE ANY notes.title IN (\(notes))") == held.map { Int($0) }.sorted()
            )
        }
    }

    @Test(arguments: UInt64(1)...4) func joinsFindWhatLoopsFind(seed: UInt64) throws {
        let all = try Notes(seed: seed, notes: 1500, labels: 60)
        var pairs: Set<[Value]> = []
        for (note, held) in all.notes.enumerated() {
            for key in held.labels where all.label(key) != nil {
                pairs.insert([.integer(Int64(note + 1)), .integer(key)])
            }
        }
        func expect(_ text: String, _ plan: String, _ expected: Set<[Value]>) throws {
            let rows = try all.rows(text)
            #expect(Set(rows) == expected && rows.count == expected.count, "\(text)")
            #expect(try all.plan(text).contains(plan), "\(text)")
        }
        let pair = "SELECT n.id, l.id FROM Note n JOIN Label l ON ANY n.labels = l.id"
        try expect(pair, "join Note AS n using index labels (holding l.id)", pairs)
        let held: Set<[Value]> = pairs.filter { $0[1] == .integer(8) }
        try expect(pair + " WHERE l.name = 'l7'", "join Note AS n using index labels (holding l.id)", held)
        let one = pairs.filter { $0[0] == .integer(9) }
        try expect(pair + " WHERE n.id = 9", "join Label AS l by keys in n.labels", one)
        let left = "SELECT n.id, l.id FROM Note n LEFT JOIN Label l ON ANY n.labels = l.id"
        let with = Set(pairs.map { $0[0] })
        let without = (1...1500).map { Value.integer(Int64($0)) }.filter { !with.contains($0) }.map { [$0, .null] }
        try expect(left, "left join Label AS l by keys in n.labels", pairs.union(without))
        // The value may be any, and then leads to notes that hold it, if there is such a label.
        var weighed: Set<[Value]> = []
        for (note, held) in all.notes.enumerated() {
            for key in Int64(8)...9 {
                let weight = all.labels[Int(key) - 1].weight
                guard held.labels.contains(weight), all.label(weight) != nil else { continue }
                weighed.insert([.integer(Int64(note + 1)), .integer(key)])
            }
        }
        try expect(
            "SELECT n.id, l.id FROM Note n JOIN Label l ON ANY n.labels = l.weight WHERE l.name IN ('l7', 'l8')",
            "using index labels (holding l.weight), test", weighed)
    }
}
