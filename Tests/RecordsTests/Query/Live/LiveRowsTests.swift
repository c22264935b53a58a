import Foundation
import MakoRecords
import MakoStorage
import RandomRuns
import Testing

@Suite struct LiveRowsTests {
    /// `MAKO_TEST_EFFORT=full` makes 100,000 changes.
    private static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"

    // MARK: - Against running again

    /// A live selection, what it showed last, and the values of those rows then.
    private struct Watched {
        let selection: Selection
        var rows: LiveRows
        var values: [RowKey: [Value]]
    }

    private static let orders = [
        "", "i", "i DESC", "t COLLATE NOCASE", "ref.n, i DESC", "j, i, d DESC", "id DESC", "b, i DESC", "at DESC, j",
        "i + j", "length(t), i", "t", "code.w DESC, i", "t > 'a' OR d > 1 DESC, j",
        "CASE WHEN b THEN i > 2 ELSE b END, t",
    ]

    /// The rows that may be joined to a row of A; the first also to one of C.
    private static let joins = [
        SelectionJoin(table: "B", name: "Other", left: .path("ref"), target: .path("id")),
        SelectionJoin(table: "B", name: "Far", left: .path("Other.parent"), target: .path("id")),
        SelectionJoin(table: "C", name: "Code", left: .path("code"), target: .path("k")),
    ]

    private func selection(_ random: inout Seeded) throws -> Selection {
        if random.chance(10) {
            var selection = Selection(
                table: "C", condition: try Condition.parse(random.pick(["w > 1", "ref.v IS NOT NULL", "k >= 'b'"])),
                orderBy: try Order.parse(random.pick(["w", "w DESC", "k DESC", "ref.n"])))
            if random.chance(50) { selection.joins = Array(Self.joins.prefix(1)) }
            return selection
        }
        let orders = random.pick(Self.orders)
        var selection = Selection(
            table: "A", condition: random.chance(85) ? QueryFixture.condition(&random, depth: 1) : nil,
            orderBy: orders.isEmpty ? [] : try Order.parse(orders))
        if random.chance(50) { selection.limit = Int.random(in: 0...12, using: &random) }
        if random.chance(25) { selection.offset = Int.random(in: 0...12, using: &random) }
        if random.chance(40) { selection.joins = Array(Self.joins.prefix(Int.random(in: 1...3, using: &random))) }
        return selection
    }

    /// The result of a new run of the selection, with the order of keys among equals.
    private func expected(_ selection: Selection, _ fixture: Fixture, _ view: Snapshot) throws -> [RowKey] {
        var whole = selection
        let key = selection.table == "C" ? "k" : "id"
        whole.orderBy.append(Order(key, descending: selection.orderBy.last?.descending ?? false))
        return try whole.plan(fixture.catalogue).keys(in: view)
    }

    private func values(
        _ keys: [RowKey], _ selection: Selection, _ fixture: Fixture, _ view: Snapshot
    ) throws -> [RowKey: [Value]] {
        let table = try fixture.table(selection.table)
        var found: [RowKey: [Value]] = [:]
        for key in keys {
            found[key] = try table.withRow(key, in: view) { row in (0..<table.layout.count).map { row.value($0) } }
        }
        if selection.joins.isEmpty { return found }
        try JoinedValues(table: selection.table, selection.joins, fixture.catalogue).read(keys, of: table, in: view) {
            found[keys[$0]]? += $1.sorted { $0.key < $1.key }.map(\.value)
        }
        return found
    }

    private func change(_ fixture: Fixture, _ random: inout Seeded, _ tx: borrowing WriteTransaction) throws
        -> ChangeSet
    {
        var changes = ChangeSet()
        var row = RowWriter()
        func write(_ table: TableHandle, _ columns: [(Int, Value)]) {
            row.begin(table.layout)
            for (position, value) in columns { row.set(position, value) }
        }
        func some(_ table: TableHandle) throws -> RowKey? {
            let keys = try table.allKeys(in: tx.view)
            return keys.isEmpty ? nil : random.pick(keys)
        }
        for _ in 0..<(random.chance(5) ? 60 : Int.random(in: 1...4, using: &random)) {
            let what = Int.random(in: 0..<100, using: &random)
            let table = try fixture.table(what < 85 ? "A" : (what < 95 ? "B" : "C"))
            let fresh: [Value] =
                switch table.schema.name {
                case "A": QueryFixture.row(&random)
                case "B":
                    [
                        .text(random.pick(["one", "two", "x", "Z"])),
                        .integer(Int64.random(in: -5...5, using: &random)),
                        random.chance(50) ? .null : .integer(Int64.random(in: 1...6, using: &random)),
                    ]
                default:
                    [
                        .text(random.pick(["x", "y", "z", "gone"])), .double(random.pick([0, 1, 1.5, 2])),
                        random.chance(30) ? .null : .integer(Int64.random(in: 1...6, using: &random)),
                    ]
                }
            let count = try table.count(in: tx.view)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2 where table.schema.name == "C" || count < 60:
                write(table, Array(fresh.enumerated()).map { ($0.offset, $0.element) })
                _ = try table.put(&row, in: tx, changes: &changes)
            case 0...4:
                if let key = try some(table) { _ = try table.delete(key, in: tx, changes: &changes) }
            default:
                guard let key = try some(table) else { continue }
                let first = table.schema.name == "C" ? 1 : 0
                let column = Int.random(in: first..<fresh.count, using: &random)
                write(table, [(column, fresh[column])])
                _ = try table.update(&row, key: key, in: tx, changes: &changes)
            }
        }
        return changes
    }

    /// Applies a difference to a list, as a user interface would.
    private func applying(_ difference: RowsDifference, to before: [RowKey], _ now: [RowKey]) throws -> [RowKey] {
        let taken = Set(difference.deletions + difference.moves.map(\.from))
        var list = before.enumerated().filter { !taken.contains($0.offset) }.map(\.element)
        let put = difference.insertions.map { ($0, now[$0]) } + difference.moves.map { ($0.to, before[$0.from]) }
        for (place, key) in put.sorted(by: { $0.0 < $1.0 }) {
            try #require(place <= list.count)
            list.insert(key, at: place)
        }
        return list
    }

    @Test(arguments: 1...6)
    func changesGiveWhatRunningAgainGives(seed: Int) throws {
        var random = Seeded(UInt64(seed) * 104_729)
        let indexes = seed == 1 ? [] : QueryFixture.indexes.filter { _ in random.chance(70) }
        let fixture = try QueryFixture.filled(40, indexes, &random)
        var view = try fixture.store.snapshot()
        var watched: [Watched] = []
        while watched.count < 12 {
            let selection = try selection(&random)
            let rows = try LiveRows(selection, fixture.catalogue, in: view)
            #expect(rows.keys == (try expected(selection, fixture, view)), "\(selection)")
            let values = try values(rows.keys, selection, fixture, view)
            watched.append(Watched(selection: selection, rows: rows, values: values))
        }
        var made = 0
        var notified = 0
        while made < (Self.isFull ? 17_000 : 500) {
            var sets: [ChangeSet] = []
            for _ in 0..<(random.chance(20) ? 3 : 1) {
                sets.append(try fixture.store.write { tx in try change(fixture, &random, tx) })
            }
            made += sets.reduce(0) { $0 + $1.count }
            view = try fixture.store.snapshot()
            let changes = sets.flatMap { set in ["A", "B", "C"].compactMap { set.changes(of: $0) } }
            for index in watched.indices {
                let before = watched[index].rows.keys
                let difference = try watched[index].rows.update(changes, in: view)
                let now = watched[index].rows.keys
                let note: Comment = "\(watched[index].selection) after \(made) changes"
                try #require(now == (try expected(watched[index].selection, fixture, view)), note)
                let values = try values(now, watched[index].selection, fixture, view)
                guard let difference else {
                    #expect(now == before, note)
                    #expect(values == watched[index].values, note)
                    continue
                }
                notified += 1
                #expect(!difference.isEmpty, note)
                #expect(try applying(difference, to: before, now) == now, note)
                // A row that remained with other values is an update.
                let updated = Set(difference.updates.map { now[$0] })
                for key in now where before.contains(key) && values[key] != watched[index].values[key] {
                    #expect(updated.contains(key), note)
                }
                #expect(updated.isSubset(of: Set(before)), note)
                let origins = difference.origins ?? Array(now.indices)
                #expect(origins.count == now.count, note)
                for (place, origin) in origins.enumerated() {
                    #expect(origin < 0 ? !before.contains(now[place]) : before[origin] == now[place], note)
                }
                watched[index].values = values
            }
        }
        #expect(notified > 100)
    }

    // MARK: - Differences

    private func people() throws -> (Fixture, (String) throws -> LiveRows) {
        let schema = EntitySchema(
            name: "Person", columns: [ColumnSchema("name", .text), ColumnSchema("age", .integer)],
            indexes: [IndexSchema("Person.age", [IndexColumn("age")])])
        let fixture = try Fixture(schema)
        try fixture.insertAll(
            "Person", [("Ada", 30), ("Bob", 40), ("Cem", 50), ("Dee", 60)].map { [.text($0.0), .integer($0.1)] })
        return (
            fixture,
            { text in
                let parts = text.split(separator: "|").map(String.init)
                let selection = Selection(
                    table: "Person", condition: try Condition.parse(parts[0]), orderBy: try Order.parse(parts[1]),
                    limit: parts.count > 2 ? Int(parts[2]) : nil)
                return try LiveRows(selection, fixture.catalogue, in: fixture.store.snapshot())
            }
        )
    }

    private func update(
        _ rows: inout LiveRows, _ fixture: Fixture,
        _ body: (TableHandle, borrowing WriteTransaction, inout ChangeSet) throws -> Void
    ) throws -> RowsDifference? {
        let table = try fixture.table("Person")
        let changes = try fixture.store.write { tx in
            var changes = ChangeSet()
            try body(table, tx, &changes)
            return changes
        }
        return try rows.update([changes.changes(of: "Person")].compactMap { $0 }, in: fixture.store.snapshot())
    }

    private func set(
        _ id: Int64, age: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws {
        var row = RowWriter()
        row.begin(table.layout)
        row.set(1, .integer(age))
        _ = try table.update(&row, key: .rowID(id), in: tx, changes: &changes)
    }

    @Test func aRowThatMovesAloneIsTheOnlyMove() throws {
        let (fixture, open) = try people()
        var rows = try open("age > 0|age")
        // Ada becomes the oldest: one row moves, not three.
        let difference = try #require(try update(&rows, fixture) { try set(1, age: 70, $0, $1, &$2) })
        #expect(difference.moves.map(\.from) == [0] && difference.moves.map(\.to) == [3])
        #expect(difference.updates == [3])
        #expect(difference.insertions.isEmpty && difference.deletions.isEmpty)
        #expect(rows.keys == [2, 3, 4, 1].map { .rowID($0) })
    }

    @Test func aChangeThatKeepsTheOrderMovesNothing() throws {
        let (fixture, open) = try people()
        var rows = try open("age > 0|age")
        let difference = try #require(try update(&rows, fixture) { try set(2, age: 41, $0, $1, &$2) })
        #expect(difference.moves.isEmpty)
        #expect(difference.updates == [1])
        #expect(difference.origins == nil)
    }

    @Test func irrelevantChangesAreNotSent() throws {
        let (fixture, open) = try people()
        var rows = try open("age > 45|name")
        #expect(try update(&rows, fixture) { try set(1, age: 31, $0, $1, &$2) } == nil)
        #expect(
            try update(&rows, fixture) { table, tx, changes in
                _ = try table.delete(.rowID(2), in: tx, changes: &changes)
            } == nil)
        #expect(rows.keys == [3, 4].map { .rowID($0) })
    }

    @Test func aWindowIsFilledAgain() throws {
        let (fixture, open) = try people()
        var rows = try open("age > 0|age DESC|2")
        #expect(rows.keys == [4, 3].map { .rowID($0) })
        let difference = try #require(
            try update(&rows, fixture) { table, tx, changes in
                _ = try table.delete(.rowID(4), in: tx, changes: &changes)
            })
        #expect(difference.deletions == [0])
        #expect(difference.insertions == [1])
        #expect(rows.keys == [3, 2].map { .rowID($0) })
        // One that comes pushes the last out.
        let pushed = try #require(try update(&rows, fixture) { try set(1, age: 99, $0, $1, &$2) })
        #expect(pushed.deletions == [1])
        #expect(pushed.insertions == [0])
        #expect(rows.keys == [1, 3].map { .rowID($0) })
    }

    @Test func equalRowsAreInTheOrderOfTheirKeys() throws {
        let (fixture, open) = try people()
        var up = try open("age >= 40|age")
        var down = try open("age >= 40|age DESC")
        for id in [4, 3] as [Int64] {
            _ = try update(&up, fixture) { try set(id, age: 40, $0, $1, &$2) }
            down = try open("age >= 40|age DESC")
        }
        #expect(up.keys == [2, 3, 4].map { .rowID($0) })
        #expect(down.keys == [4, 3, 2].map { .rowID($0) })
    }

    @Test func anIndexGivesTheOrderToTheKey() throws {
        let (fixture, _) = try people()
        for (order, sorting) in [("age, id", "already in order"), ("age DESC, id DESC", "already in order")] {
            let plan = try Selection(
                table: "Person", condition: try Condition.parse("age > 35"), orderBy: try Order.parse(order), limit: 2
            ).plan(fixture.catalogue)
            #expect(
                plan.description.contains("using index Person.age") && plan.description.contains(sorting), "\(plan)")
        }
        let mixed = try Selection(
            table: "Person", condition: try Condition.parse("age > 35"), orderBy: try Order.parse("age, id DESC")
        ).plan(fixture.catalogue)
        #expect(!mixed.description.contains("already in order"))
    }

    @Test func longEqualTextsAreInTheOrderOfTheirRows() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Page", columns: [ColumnSchema("text", .text)],
                indexes: [IndexSchema("Page.text", [IndexColumn("text")])]))
        let long = String(repeating: "a", count: 1000)
        try fixture.insertAll("Page", [long, long + "b", long, long].map { [.text($0)] })
        let view = try fixture.store.snapshot()
        for (order, expected) in [("text, id", [1, 3, 4, 2]), ("text DESC, id DESC", [2, 4, 3, 1])] {
            let plan = try Selection(table: "Page", orderBy: try Order.parse(order), limit: 9).plan(fixture.catalogue)
            #expect(plan.description.contains("already in order"), "\(plan)")
            #expect(try plan.ids(in: view) == expected.map { Int64($0) }, "\(plan)")
        }
    }
}
