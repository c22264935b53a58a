import MakoRecords
import MakoStorage
import Testing

@Suite struct TableTests {
    private static let person = EntitySchema(
        name: "Person",
        columns: [
            ColumnSchema("name", .text, isOptional: true), ColumnSchema("age", .integer, default: .integer(36)),
            ColumnSchema("number", .integer, isOptional: true), ColumnSchema("mail", .text, isOptional: true),
        ],
        indexes: [
            IndexSchema("Person.age", [IndexColumn("age"), IndexColumn("name", descending: true)]),
            IndexSchema("Person.number", [IndexColumn("number")], isUnique: true),
            IndexSchema("Person.mail", [IndexColumn("mail", noCase: true)], isUnique: true),
        ])

    private func row(_ name: String, _ age: Int64, _ number: Int64? = nil, _ mail: String? = nil) -> [Value] {
        [.text(name), .integer(age), number.map(Value.integer) ?? .null, mail.map(Value.text) ?? .null]
    }

    @Test func idsAscendAndAreNotReused() throws {
        let fixture = try Fixture(Self.person)
        #expect(try fixture.insert("Person", row("a", 1)) == .rowID(1))
        #expect(try fixture.insert("Person", row("b", 1)) == .rowID(2))
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let isDeleted = try table.delete(.rowID(2), in: tx, changes: &changes)
            #expect(isDeleted)
        }
        #expect(try fixture.insert("Person", row("c", 1)) == .rowID(3))
        // The id of a deleted last row must not be assigned again after the database was reopened.
        try fixture.store.write { tx in
            var changes = ChangeSet()
            try table.deleteAll(in: tx, changes: &changes)
            #expect(changes.count == 2)
        }
        let reopened = try Catalogue.load(view: fixture.store.snapshot())
        try fixture.store.write { tx in
            let id = try reopened.requireTable("Person").reserveRowID(in: tx)
            #expect(id == 4)
        }
    }

    @Test func theIdOfADeletedLastRowIsNotGivenAgain() throws {
        let fixture = try Fixture(Self.person)
        let keys = try fixture.insertAll("Person", (0..<3).map { row("p\($0)", 1) })
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            try table.delete(keys[2], in: tx, changes: &changes)
        }
        // Only the file can tell the next session.
        let reopened = try Catalogue.load(view: fixture.store.snapshot())
        try fixture.store.write { tx in
            let id = try reopened.requireTable("Person").reserveRowID(in: tx)
            #expect(id == 4)
        }
    }

    @Test func theIdOfADeletedLastRowIsNotGivenAgainWhereLaterIdsWereTakenInVain() throws {
        let fixture = try Fixture(Self.person)
        let keys = try fixture.insertAll("Person", (0..<3).map { row("p\($0)", 1, Int64($0)) })
        let table = try fixture.table("Person")
        // An id for a row that a unique index refuses, and one for a row that is rolled back.
        #expect(throws: RecordError.self) { try fixture.insert("Person", row("again", 1, 1)) }
        let tx = try fixture.store.beginWrite()
        let id = try table.reserveRowID(in: tx)
        #expect(id == 5)
        tx.rollback()
        try fixture.store.write { tx in
            var changes = ChangeSet()
            try table.delete(keys[2], in: tx, changes: &changes)
        }
        let reopened = try Catalogue.load(view: fixture.store.snapshot())
        try fixture.store.write { tx in
            let id = try reopened.requireTable("Person").reserveRowID(in: tx)
            #expect(id > 3)
        }
    }

    @Test func aRowDoesNotConflictWithItself() throws {
        let fixture = try Fixture(Self.person)
        let key = try fixture.insert("Person", row("a", 1, 7, "ada@x"))
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            writer.begin(table.layout)
            // Another spelling of what the index takes for the same, and the number as it was.
            for (index, value) in row("a", 2, 7, "ADA@X").enumerated() { writer.set(index, value) }
            let isThere = try table.update(&writer, key: key, in: tx, changes: &changes)
            #expect(isThere)
        }
        #expect(try fixture.values("Person", key) == row("a", 2, 7, "ADA@X"))
        try fixture.expectSound()
    }

    @Test func twoUpdatesOfARowReportTheColumnsOfBoth() throws {
        let fixture = try Fixture(Self.person)
        let key = try fixture.insert("Person", row("a", 1, 7, "ada@x"))
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            for (column, value) in [("age", Value.integer(5)), ("name", .text("b"))] {
                writer.begin(try table.layout(for: [column]))
                writer.set(0, value)
                let isThere = try table.update(&writer, key: key, in: tx, changes: &changes)
                #expect(isThere)
            }
            #expect(changes.changes.map { Set($0.changedColumns.names(in: table.schema)) } == [["age", "name"]])
        }
    }

    @Test func idsGivenByHandRaiseTheNext() throws {
        let fixture = try Fixture(Self.person)
        #expect(try fixture.insert("Person", row("a", 1), key: .rowID(100)) == .rowID(100))
        #expect(try fixture.insert("Person", row("b", 1)) == .rowID(101))
        #expect(try fixture.insert("Person", row("n", 1), key: .rowID(-5)) == .rowID(-5))
        #expect(try fixture.insert("Person", row("m", 1), key: .rowID(.max)) == .rowID(.max))
        let drawn = try #require(try fixture.insert("Person", row("x", 1)).rowID)
        #expect((1...(1 << 53)).contains(drawn) && drawn != 100 && drawn != 101)
        let reopened = try Catalogue.load(view: fixture.store.snapshot())
        try fixture.store.write { tx in
            let reserved = try reopened.requireTable("Person").reserveRowID(in: tx)
            #expect((1...(1 << 53)).contains(reserved) && reserved != drawn)
        }
        // The largest id is not assigned again after its row was deleted.
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try reopened.requireTable("Person").delete(.rowID(.max), in: tx, changes: &changes)
        }
        #expect(try fixture.insert("Person", row("y", 1)) != .rowID(.max))
        #expect(
            throws: RecordError.duplicateKey(
                table: "Person", key: .rowID(100), columns: ["id"], values: [.integer(100)])
        ) {
            try fixture.insert("Person", row("x", 1), key: .rowID(100))
        }
        try fixture.expectSound()
    }

    @Test func uniqueIndexesRefuseAndLeaveNothingBehind() throws {
        let fixture = try Fixture(Self.person)
        try fixture.insert("Person", row("a", 1, 7, "Ada@x"))
        try fixture.insert("Person", row("b", 1, nil, nil))
        try fixture.insert("Person", row("c", 1, nil, nil))
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            writer.begin(table.layout)
            for (index, value) in row("d", 1, 8, "ADA@X").enumerated() { writer.set(index, value) }
            #expect(
                throws: RecordError.uniqueViolation(
                    table: "Person", columns: ["mail"], values: [.text("ADA@X")], existing: .rowID(1))
            ) { try table.insert(&writer, in: tx, changes: &changes) }
            #expect(changes.isEmpty)
            #expect(try table.verify(in: tx.view) == [])
            // The entry that the first unique index had taken is free again.
            writer.begin(table.layout)
            for (index, value) in row("d", 1, 8, "other").enumerated() { writer.set(index, value) }
            try table.insert(&writer, in: tx, changes: &changes)
        }
        try fixture.expectSound()
    }

    @Test func putKeepsColumnsThatWereNotSet() throws {
        let fixture = try Fixture(Self.person)
        let key = try fixture.insert("Person", row("a", 1, 7, "m"))
        let table = try fixture.table("Person")
        let partial = try table.layout(for: ["age"])
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            writer.begin(partial)
            writer.set(0, Int64(2))
            let isThere = try table.update(&writer, key: key, in: tx, changes: &changes)
            writer.begin(partial)
            writer.set(0, Int64(2))
            let isNowhere = try table.update(&writer, key: .rowID(99), in: tx, changes: &changes)
            #expect(isThere && !isNowhere)
            #expect(changes.changes.count == 1)
            #expect(changes.changes[0].kind == .update)
            #expect(changes.changes[0].changedColumns.names(in: table.schema) == ["age"])
        }
        #expect(try fixture.values("Person", key) == row("a", 2, 7, "m"))
        try fixture.expectSound()
    }

    /// To the bit: 0.0 in the place of -0.0 is a change.
    private static func isSame(_ a: Value, _ b: Value) -> Bool {
        switch (a, b) {
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)): a.bitPattern == b.bitPattern
        default: a == b
        }
    }

    /// Of all types, with 64 columns and with fewer, set to values and to NULL, in rows that were written before their last columns came.
    @Test(arguments: [0, 52]) func columnsThatWereNotSetStayAsTheyAre(further: Int) throws {
        let types: [ColumnType] = [
            .integer, .text, .bool, .double, .blob, .uuid, .unsigned, .text, .date, .bool, .integer, .uuid,
        ]
        let columns = (types + Array(repeating: .bool, count: further)).enumerated().map {
            ColumnSchema("c\($0)", $1, isOptional: true)
        }
        var fixture = try Fixture(EntitySchema(name: "Row", columns: Array(columns.dropLast(2))))
        var random = Seeded(UInt64(further))
        var model: [RowKey: [Value]] = [:]
        func values(_ count: Int) -> [Value] {
            columns.prefix(count).map { random.chance(30) ? .null : random.value($0.type) }
        }
        for _ in 0..<10 {
            let row = values(columns.count - 2)
            model[try fixture.insert("Row", row)] = row + [.null, .null]
        }
        _ = try fixture.migrate(EntitySchema(name: "Row", columns: columns))
        for _ in 0..<10 {
            let row = values(columns.count)
            model[try fixture.insert("Row", row)] = row
        }
        let table = try fixture.table("Row")
        for _ in 0..<400 {
            let key = random.pick(Array(model.keys))
            let chosen = columns.indices.filter { _ in random.chance(further == 0 ? 20 : 5) }
            let row = chosen.map { random.chance(30) ? Value.null : random.value(columns[$0].type) }
            let changed = try fixture.store.write { tx in
                var changes = ChangeSet()
                var writer = RowWriter()
                writer.begin(try table.layout(for: chosen.map { columns[$0].name }))
                for place in chosen.indices { writer.set(place, row[place]) }
                #expect(try table.update(&writer, key: key, in: tx, changes: &changes))
                return changes.changes.first?.changedColumns.names(in: table.schema) ?? []
            }
            let before = model[key] ?? []
            for place in chosen.indices { model[key]?[chosen[place]] = row[place] }
            let after = model[key] ?? []
            #expect(changed == columns.indices.filter { !Self.isSame(before[$0], after[$0]) }.map { columns[$0].name })
            #expect(try fixture.values("Row", key) == model[key])
        }
        try fixture.expectSound()
    }

    @Test func keysOfColumnsComeFromTheRow() throws {
        let wolf = EntitySchema(
            name: "Wolf",
            columns: [ColumnSchema("weight", .double), ColumnSchema("name", .text), ColumnSchema("pack", .integer)],
            key: .columns(["pack", "name"]), indexes: [IndexSchema("w", [IndexColumn("weight", descending: true)])])
        let fixture = try Fixture(wolf)
        let key = try fixture.insert("Wolf", [.double(40), .text("Fenrir"), .integer(3)])
        #expect(key == RowKey(values: [.integer(3), .text("Fenrir")]))
        #expect(try key.values(in: fixture.table("Wolf").schema) == [.integer(3), .text("Fenrir")])
        let taken = #expect(throws: RecordError.self) {
            try fixture.insert("Wolf", [.double(41), .text("Fenrir"), .integer(3)])
        }
        #expect(
            taken
                == .duplicateKey(
                    table: "Wolf", key: key, columns: ["pack", "name"], values: [.integer(3), .text("Fenrir")]))
        #expect("\(try #require(taken))" == "Wolf has a row with key pack, name = 3, 'Fenrir' already")
        #expect(throws: RecordError.self) {
            try fixture.insert(
                "Wolf", [.double(41), .text("Skoll"), .integer(3)], key: RowKey(values: [.integer(3), .text("Hati")]))
        }
        #expect(throws: RecordError.self) {
            try fixture.insert("Wolf", [.double(41), .text("Skoll"), .integer(3)], key: .rowID(3))
        }
        #expect(throws: RecordError.nullViolation(table: "Wolf", column: "pack")) {
            try fixture.insert("Wolf", [.double(41)])
        }
        try fixture.expectSound()
    }

    @Test func changesMergePerRow() throws {
        let fixture = try Fixture(Self.person)
        let kept = try fixture.insertAll("Person", (0..<4).map { row("p\($0)", Int64($0)) })
        let table = try fixture.table("Person")
        func write(_ name: String, _ key: RowKey?, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet) throws
            -> RowKey
        {
            var writer = RowWriter()
            writer.begin(table.layout)
            writer.set(0, name)
            return try table.put(&writer, key: key, in: tx, changes: &changes)
        }
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let fresh = try write("new", nil, tx, &changes)
            _ = try write("newer", fresh, tx, &changes)
            let gone = try write("gone", nil, tx, &changes)
            try table.delete(gone, in: tx, changes: &changes)
            _ = try write("changed", kept[0], tx, &changes)
            try table.delete(kept[0], in: tx, changes: &changes)
            try table.delete(kept[1], in: tx, changes: &changes)
            _ = try write("back", kept[1], tx, &changes)
            _ = try write("p2", kept[2], tx, &changes)
            var nested = ChangeSet()
            _ = try write("nested", kept[3], tx, &nested)
            try table.delete(fresh, in: tx, changes: &nested)
            changes.append(nested)
            #expect(changes.changes.map(\.key) == [kept[0], kept[1], kept[3]])
            #expect(changes.changes.map(\.kind) == [.delete, .update, .update])
            #expect(changes.count == 3)
        }
        try fixture.expectSound()
    }

    @Test func runsOfInsertsAreReportedRowByRow() throws {
        let fixture = try Fixture(Self.person)
        let table = try fixture.table("Person")
        func insert(_ count: Int, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet) throws -> [RowKey] {
            var writer = RowWriter()
            return try (0..<count).map { number in
                writer.begin(table.layout)
                writer.set(0, "p\(number)")
                return try table.insert(&writer, in: tx, changes: &changes)
            }
        }
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let first = try insert(5, tx, &changes)
            #expect(changes.count == 5)
            #expect(changes.changes.map(\.key) == first)
            var nested = ChangeSet()
            let second = try insert(3, tx, &nested)
            changes.append(nested)
            #expect(changes.count == 8)
            #expect(changes.changes.map(\.key) == first + second)
            // One in the middle of a run goes: the others stay what they are.
            try table.delete(first[2], in: tx, changes: &changes)
            try table.delete(second[0], in: tx, changes: &changes)
            let third = try insert(2, tx, &changes)
            let left = [first[0], first[1], first[3], first[4], second[1], second[2]] + third
            #expect(changes.count == left.count)
            #expect(changes.changes.map(\.key) == left)
            #expect(changes.changes.allSatisfy { $0.kind == .insert })
            var outer = ChangeSet()
            try table.delete(first[0], in: tx, changes: &outer)
            outer.append(changes)
            #expect(outer.count == left.count)
            #expect(Set(outer.changes.map(\.key)) == Set(left))
        }
        try fixture.expectSound()
    }

    @Test func longKeysAreTruncatedAndStillDistinguished() throws {
        let schema = EntitySchema(
            name: "Page", columns: [ColumnSchema("text", .text)],
            indexes: [IndexSchema("u", [IndexColumn("text")], isUnique: true)])
        let fixture = try Fixture(schema)
        let long = String(repeating: "x", count: 2000)
        let first = try fixture.insert("Page", [.text(long + "a")])
        try fixture.insert("Page", [.text(long + "b")])
        #expect(
            throws: RecordError.uniqueViolation(
                table: "Page", columns: ["text"], values: [.text(long + "a")], existing: NamedKey(first, in: nil))
        ) {
            try fixture.insert("Page", [.text(long + "a")])
        }
        try fixture.expectSound()
    }

    @Test func indexesFollowRandomEdits() throws {
        let schema = EntitySchema(
            name: "T",
            columns: ColumnType.allCases.map { ColumnSchema("c\($0.rawValue)", $0, isOptional: true, target: "T") },
            indexes: ColumnType.allCases.map { type in
                IndexSchema(
                    "i\(type.rawValue)",
                    [
                        IndexColumn(
                            "c\(type.rawValue)", descending: type.rawValue % 2 == 0 && type != .keys,
                            noCase: type == .text),
                        IndexColumn("c2"),
                    ].prefix(type == .integer || type == .keys ? 1 : 2).map { $0 })
            } + [IndexSchema("unique", [IndexColumn("c2"), IndexColumn("c5")], isUnique: true)])
        let fixture = try Fixture(schema)
        let table = try fixture.table("T")
        var random = Seeded(99)
        var model: [RowKey: [Value]] = [:]
        for _ in 0..<40 {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                var writer = RowWriter()
                for _ in 0..<25 {
                    let known = model.keys.sorted { $0.rowID ?? 0 < $1.rowID ?? 0 }
                    if random.chance(25), !known.isEmpty {
                        let key = random.pick(known)
                        #expect(try table.delete(key, in: tx, changes: &changes))
                        model[key] = nil
                        continue
                    }
                    let values = ColumnType.allCases.map { random.chance(20) ? Value.null : random.value($0) }
                    let key: RowKey? = random.chance(40) && !known.isEmpty ? random.pick(known) : nil
                    writer.begin(table.layout)
                    for (index, value) in values.enumerated() { writer.set(index, value) }
                    let clash = model.first { entry in
                        entry.key != key && !values[1].isNull && !values[4].isNull && entry.value[1] == values[1]
                            && entry.value[4] == values[4]
                    }
                    do {
                        let stored = try table.put(&writer, key: key, in: tx, changes: &changes)
                        #expect(clash == nil)
                        model[stored] = values
                    } catch RecordError.uniqueViolation(_, _, _, let existing) {
                        #expect(existing.key == clash?.key)
                    }
                }
            }
            try fixture.expectSound()
        }
        var seen: [RowKey: [Value]] = [:]
        try table.scan(in: try fixture.store.snapshot()) { key, row in
            seen[key] = (0..<table.layout.count).map { row.value($0) }
            return true
        }
        #expect(seen == model)
    }

    /// Columns beyond the 64th are distinguished like the others, and their indexes follow.
    @Test func tablesWithManyColumnsKnowWhatChanged() throws {
        let schema = EntitySchema(
            name: "Wide", columns: (0..<200).map { ColumnSchema("c\($0)", .integer, default: .integer(0)) },
            indexes: [3, 70, 140].map { IndexSchema("i\($0)", [IndexColumn("c\($0)")]) })
        let fixture = try Fixture(schema)
        let key = try fixture.insert("Wide", (0..<200).map { .integer($0) })
        let table = try fixture.table("Wide")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            for columns in [["c70"], ["c3", "c199"], ["c140"]] {
                row.begin(try table.layout(for: columns))
                for place in columns.indices { row.set(place, Int64(-7)) }
                #expect(try table.update(&row, key: key, in: tx, changes: &changes))
            }
            #expect(
                changes.changes.map { $0.changedColumns.names(in: table.schema) } == [["c3", "c70", "c140", "c199"]])
            let changed = try #require(changes.changes.first?.changedColumns)
            #expect(changed.contains(199) && !changed.contains(198) && !changed.contains(500) && !changed.isEmpty)
            changes.removeAll()
            #expect(changes.isEmpty)
        }
        try fixture.expectSound()
        for column in ["c3", "c70", "c140", "c199"] {
            let selection = Selection(table: "Wide", condition: try .parse("\(column) = -7"))
            #expect(try selection.plan(fixture.catalogue).keys(in: fixture.store.snapshot()) == [key])
        }
    }

    @Test func manyRowsAreReadInTheRequestedOrder() throws {
        let fixture = try Fixture(Self.person)
        try fixture.insertAll("Person", (1...5).map { row("p\($0)", $0) })
        let table = try fixture.table("Person")
        let view = try fixture.store.snapshot()
        var ages: [Int64?] = []
        try table.withRows(ids: [4, 99, 1, 4, -1], in: view) { _, row in ages.append(row?.integer(1)) }
        #expect(ages == [4, nil, 1, 4, nil])
        let lookup = table.lookup(table.layout)
        #expect(try lookup.withRow(id: 2, in: view) { $0.text(0) } == "p2")
        #expect(try lookup.withRow(id: 9, in: view) { $0.text(0) } == nil)
        #expect(try table.withRow(id: 3, in: view) { $0.integer(1) } == 3)
        var first: [RowKey] = []
        try table.scan(in: view) { key, _ in
            first.append(key)
            return first.count < 2
        }
        #expect(first == [.rowID(1), .rowID(2)])
        let error = Fixture.error { _ = try table.layout(for: ["name", "agee"]) }
        #expect(error == .columnNotFound(table: "Person", name: "agee", nearest: "age"))
    }

    /// A row that was deleted, stored and deleted again in one transaction is one change, by its final state.
    @Test func insertedAndDeletedRowsAreReportedOnce() throws {
        let fixture = try Fixture(Self.person)
        let kept = try fixture.insert("Person", row("a", 1))
        let table = try fixture.table("Person")
        func edit(_ steps: String, _ key: RowKey, _ tx: borrowing WriteTransaction) throws -> [ChangeKind] {
            var changes = ChangeSet()
            var writer = RowWriter()
            for (number, step) in steps.enumerated() {
                if step == "-" {
                    try table.delete(key, in: tx, changes: &changes)
                } else {
                    writer.begin(table.layout)
                    writer.set(0, "\(steps) \(number)")
                    try table.put(&writer, key: key, in: tx, changes: &changes)
                }
            }
            return changes.changes.map(\.kind)
        }
        for (steps, old, new) in [
            ("-", [.delete], []), ("-+", [.update], [.insert]), ("-+-", [.delete], []), ("+-", [.delete], []),
            ("+-+", [.update], [.insert]), ("+-+-", [.delete], []), ("+-++", [.update], [.insert]),
            ("--", [.delete], []),
        ] as [(String, [ChangeKind], [ChangeKind])] {
            let tx = try fixture.store.beginWrite()
            #expect(try edit(steps, kept, tx) == old, "\(steps) of a row that was there")
            #expect(try edit(steps, .rowID(77), tx) == new, "\(steps) of one that was not")
            tx.rollback()
        }
    }

    @Test func aRowOfAnotherVersionIsRefused() throws {
        var fixture = try Fixture(Self.person)
        let old = try fixture.table("Person").layout
        var wider = Self.person
        wider.columns.append(ColumnSchema("more", .bool, default: .bool(true)))
        try fixture.migrate(wider)
        let table = try fixture.table("Person")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var writer = RowWriter()
            writer.begin(old)
            writer.set(0, "a")
            #expect(throws: RecordError.self) { try table.insert(&writer, in: tx, changes: &changes) }
        }
    }
}
