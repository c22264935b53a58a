import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Tables with rows whose key becomes another one.
@Suite struct KeyMigrationTests {
    /// A town with a text, a whole number and an optional one, and itself as a neighbour.
    private static func towns(_ key: KeySchema, neighbour: ColumnType, _ columns: ColumnSchema...) -> EntitySchema {
        let standard = [ColumnSchema("code", .text), ColumnSchema("number", .integer), ColumnSchema("name", .text)]
        return EntitySchema(
            name: "Town",
            columns: (columns.isEmpty ? standard : columns) + [
                ColumnSchema("neighbour", neighbour, isOptional: true, target: "Town")
            ], key: key,
            indexes: [
                IndexSchema("neighbour", [IndexColumn("neighbour")]),
                IndexSchema("name", [IndexColumn("name", noCase: true)], isUnique: true),
                IndexSchema("words", [IndexColumn("name")], fullText: FullTextOptions()),
                IndexSchema("some", [IndexColumn("name")], where: "neighbour IS NOT NULL"),
            ])
    }

    /// The references to towns: single ones, in lists, and to any table.
    private static func holder(_ type: ColumnType, table: String = "Holder") -> EntitySchema {
        EntitySchema(
            name: table,
            columns: [
                ColumnSchema("town", type, isOptional: true, target: "Town"),
                ColumnSchema("list", .keys, isOptional: true, target: "Town"),
                ColumnSchema("any", .text, isOptional: true, target: AnyReference.anyTable),
                ColumnSchema("mixed", .keys, isOptional: true, target: table),
            ],
            indexes: [
                IndexSchema("town", [IndexColumn("town")], isUnique: true),
                IndexSchema("list", [IndexColumn("list")]), IndexSchema("mixed", [IndexColumn("mixed")]),
                IndexSchema("any", [IndexColumn("any")]),
            ])
    }

    private static let rows: [[Value]] = [
        [.text("c"), .integer(70), .text("Ceva"), .null], [.text("a"), .integer(50), .text("Asti"), .null],
        [.text("b"), .integer(60), .text("Bra"), .null],
    ]

    private static func reference(to key: RowKey, _ schema: EntitySchema) throws -> Value {
        try #require(try key.values(in: schema).first)
    }

    /// Three towns, each the neighbour of the one before, and the first of the last.
    private func fixture(_ key: KeySchema = .rowID(column: "id")) throws -> Fixture {
        let neighbour: ColumnType =
            key == .columns(["code"]) ? .text : key == .columns(["number"]) ? .integer : .reference
        let fixture = try Fixture(Self.towns(key, neighbour: neighbour), Self.holder(neighbour))
        let keys = try fixture.insertAll("Town", Self.rows)
        let table = try fixture.table("Town")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            for (place, key) in keys.enumerated() {
                var row = RowWriter()
                row.begin(table.layout)
                for (position, value) in Self.rows[place].enumerated() { row.set(position, value) }
                row.set(3, try Self.reference(to: keys[(place + 1) % 3], table.schema))
                _ = try table.update(&row, key: key, in: tx, changes: &changes)
            }
        }
        func values(_ place: Int, _ lost: RowKey) throws -> [Value] {
            [
                try Self.reference(to: keys[place], table.schema),
                .blob(KeyTree.list([.key(keys[0]), .key(lost), .key(keys[place])]).encoded),
                AnyReference(table: "Town", key: keys[place]).stored,
                .blob(
                    KeyTree.named([
                        .init(name: .text("x"), tree: .foreign(table: table.number, keys[2])),
                        .init(name: .text("y"), tree: .foreign(table: table.number, lost)),
                    ]).encoded),
            ]
        }
        let lost =
            keys[0].rowID != nil ? RowKey.rowID(99) : RowKey(values: [neighbour == .text ? .text("z") : .integer(99)])
        try fixture.insertAll("Holder", [values(0, lost), values(1, lost), [.null, .null, .null, .null]])
        let dangling = try Self.reference(to: lost, table.schema)
        try fixture.insert(
            "Holder", [dangling, .null, AnyReference(table: "Town", key: lost).stored, .null])
        return fixture
    }

    private func values(_ fixture: Fixture, _ name: String) throws -> [[Value]] {
        let view = try fixture.store.snapshot()
        let table = try Catalogue.load(view: view).requireTable(name)
        #expect(try table.verify(in: view) == [])
        var rows: [[Value]] = []
        try table.scan(in: view) { _, row in
            rows.append((0..<table.layout.count).map { row.value($0) })
            return true
        }
        return rows
    }

    /// Expects the three towns under their keys, those of c, a and b, and the references to them.
    private func expectWhole(
        _ fixture: Fixture, _ keys: [RowKey], single: [Value]?, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let view = try fixture.store.snapshot()
        let catalogue = try Catalogue.load(view: view)
        let towns = try catalogue.requireTable("Town")
        #expect(try towns.count(in: view) == 3, sourceLocation: sourceLocation)
        let name = try #require(towns.layout.position(of: "name"))
        let neighbour = towns.layout.position(of: "neighbour")
        for (place, key) in keys.enumerated() {
            let row = try towns.withRow(key, in: view) { ($0.value(name), neighbour.map($0.value)) }
            #expect(row?.0 == Self.rows[place][2], sourceLocation: sourceLocation)
            if let single { #expect(row?.1 == single[(place + 1) % 3], sourceLocation: sourceLocation) }
        }
        #expect(towns.schema.indexes.count == 4, sourceLocation: sourceLocation)
        let number = towns.number
        func list(_ place: Int) -> Value { .blob(KeyTree.list([.key(keys[0]), .key(keys[place])]).encoded) }
        let mixed = Value.blob(
            KeyTree.named([.init(name: .text("x"), tree: .foreign(table: number, keys[2]))]).encoded)
        let held = try values(fixture, "Holder").map { Array($0.suffix(3)) }
        #expect(
            held == [
                [list(0), AnyReference(table: "Town", key: keys[0]).stored, mixed],
                [list(1), AnyReference(table: "Town", key: keys[1]).stored, mixed],
                [.null, .null, .null], [.null, .null, .null],
            ], sourceLocation: sourceLocation)
        if let single {
            let towns = try values(fixture, "Holder").map { $0[0] }
            #expect(towns == [single[0], single[1], .null, .null], sourceLocation: sourceLocation)
            let holder = try catalogue.requireTable("Holder").schema.column(named: "town")
            #expect(holder?.target == "Town", sourceLocation: sourceLocation)
        }
        #expect(
            try catalogue.requireTable("Holder").keys(holding: keys[0], in: "list", view: view).count == 2,
            sourceLocation: sourceLocation)
        for table in catalogue.handles {
            #expect(try table.verify(in: view) == [], sourceLocation: sourceLocation)
        }
        // No tree of the table's former number is left.
        let trees = catalogue.handles.map { "mako.rows.\($0.number)" }
        #expect(
            (1..<number).filter { view.tree(named: "mako.rows.\($0)") != nil }.map { "mako.rows.\($0)" }
                == trees.filter { $0 != "mako.rows.\(number)" }.sorted(), sourceLocation: sourceLocation)
    }

    private static func bytes(_ values: Value...) -> RowKey { RowKey(values: values) }
    private static let codes = ["c", "a", "b"].map { RowKey(values: [.text($0)]) }

    // MARK: All changes from one key to another

    @Test func idsBecomeColumns() throws {
        var fixture = try fixture()
        let wanted = Self.towns(.columns(["code"]), neighbour: .text)
        let plan = try Catalogue.plan(to: wanted, view: try fixture.store.snapshot())
        let report = try fixture.migrate(wanted)
        #expect(plan == report)
        #expect(
            "\(report)"
                == "Town (3 rows): have column neighbour refer to the new keys of Town, change the key from id to code")
        #expect(report.changesRows && report.changesKey)
        try expectWhole(fixture, Self.codes, single: [.text("c"), .text("a"), .text("b")])
        #expect(try Catalogue.plan(to: wanted, view: fixture.store.snapshot()).isEmpty)
        #expect(try Catalogue.plan(to: Self.holder(.text), view: fixture.store.snapshot()).isEmpty)
        // References to a missing row have its last key.
        let table = try fixture.table("Town")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try table.delete(Self.codes[0], in: tx, changes: &changes)
        }
    }

    @Test func columnsBecomeIdsInTheirOrder() throws {
        var fixture = try fixture(.columns(["code"]))
        try fixture.migrate(Self.towns(.rowID(column: "id"), neighbour: .reference))
        try expectWhole(
            fixture, [.rowID(3), .rowID(1), .rowID(2)], single: [.integer(3), .integer(1), .integer(2)])
        #expect(try fixture.insert("Town", [.text("d"), .integer(1), .text("Dego"), .null]) == .rowID(4))
    }

    @Test func wholeNumbersStayAsIds() throws {
        for isLast in [false, true] {
            var fixture = try fixture(.columns(["number"]))
            if isLast { try fixture.insert("Town", [.text("z"), .integer(.max), .text("Zubiena"), .null]) }
            try fixture.migrate(Self.towns(.rowID(column: "id"), neighbour: .reference))
            if isLast {
                // There would be no id for the next row.
                #expect(try fixture.values("Town", .rowID(4))?[0] == .text("z"))
                continue
            }
            try expectWhole(
                fixture, [.rowID(70), .rowID(50), .rowID(60)], single: [.integer(70), .integer(50), .integer(60)])
            #expect(try fixture.insert("Town", [.text("d"), .integer(1), .text("Dego"), .null]) == .rowID(71))
        }
    }

    @Test func otherColumnsAreTheKey() throws {
        var fixture = try fixture(.columns(["number"]))
        // The number goes.
        let wanted = Self.towns(
            .columns(["code"]), neighbour: .text, ColumnSchema("name", .text), ColumnSchema("code", .text))
        try fixture.migrate(wanted)
        try expectWhole(fixture, Self.codes, single: [.text("c"), .text("a"), .text("b")])
        #expect(try fixture.table("Town").schema.retiredColumns.map(\.name) == ["number"])
    }

    /// References may change places, which a unique index must bear.
    @Test func keysChangePlaces() throws {
        var fixture = try fixture(.columns(["number"]))
        let table = try fixture.table("Town")
        var swapped = table.schema
        swapped.columns.insert(ColumnSchema("other", .integer, default: .integer(0)), at: 0)
        try fixture.migrate(swapped)
        let own = try fixture.table("Town")
        let other = try own.layout(for: ["other"])
        try fixture.store.write { tx in
            var changes = ChangeSet()
            for (old, new) in [(70, 50), (50, 70), (60, 60)] as [(Int64, Int64)] {
                var row = RowWriter()
                row.begin(other)
                row.set(0, new)
                _ = try own.update(&row, key: Self.bytes(.integer(old)), in: tx, changes: &changes)
            }
        }
        swapped.key = .columns(["other"])
        try fixture.migrate(swapped)
        try expectWhole(
            fixture, [50, 70, 60].map { Self.bytes(.integer($0)) },
            single: [.integer(50), .integer(70), .integer(60)])
    }

    @Test func aKeyOfAnotherType() throws {
        var fixture = try fixture(.columns(["number"]))
        let wanted = Self.towns(
            .columns(["number"]), neighbour: .text, ColumnSchema("number", .text), ColumnSchema("name", .text))
        #expect(
            try fixture.migrate(wanted).steps.map(\.description).contains("change the key from number to number"))
        try expectWhole(
            fixture, ["70", "50", "60"].map { Self.bytes(.text($0)) }, single: [.text("70"), .text("50"), .text("60")])
    }

    @Test func twoColumnsAndTheirOrder() throws {
        var fixture = try fixture()
        // A single column cannot hold such a key.
        let two = { (names: [String]) in
            EntitySchema(
                name: "Town", columns: Array(Self.towns(.rowID(column: "id"), neighbour: .text).columns.prefix(3)),
                key: .columns(names),
                indexes: Self.towns(.rowID(column: "id"), neighbour: .text).indexes.filter {
                    $0.condition == nil && $0.name != "neighbour"
                })
        }
        let error = Fixture.error { try fixture.migrate(two(["name", "number"])) }
        #expect("\(try #require(error))".contains("cannot hold a key of several columns"))
        try fixture.store.write { tx in
            var changes = ChangeSet()
            for (name, column) in [("Town", "neighbour"), ("Holder", "town")] {
                let table = try Catalogue.load(view: tx.view).requireTable(name)
                for key in try table.allKeys(in: tx.view) {
                    var row = RowWriter()
                    row.begin(try table.layout(for: [column]))
                    row.setNull(0)
                    _ = try table.update(&row, key: key, in: tx, changes: &changes)
                }
            }
        }
        try fixture.migrate(two(["name", "number"]))
        let keys = Self.rows.map { Self.bytes($0[2], $0[1]) }
        try expectLists(fixture, keys)
        try fixture.migrate(two(["number", "name"]))
        try expectLists(fixture, Self.rows.map { Self.bytes($0[1], $0[2]) })
        try fixture.migrate(two(["number"]))
        try expectLists(fixture, Self.rows.map { Self.bytes($0[1]) })
        var ids = two(["number"])
        ids.key = .rowID(column: "id")
        try fixture.migrate(ids)
        try expectLists(fixture, [.rowID(70), .rowID(50), .rowID(60)])
    }

    private func expectLists(
        _ fixture: Fixture, _ keys: [RowKey], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let first = try values(fixture, "Holder")[1]
        #expect(
            first[1] == .blob(KeyTree.list([.key(keys[0]), .key(keys[1])]).encoded), sourceLocation: sourceLocation)
        #expect(first[2] == AnyReference(table: "Town", key: keys[1]).stored, sourceLocation: sourceLocation)
        try fixture.expectSound()
    }

    // MARK: Ids and columns that take each other's names

    @Test func aColumnBecomesTheId() throws {
        for key in [KeySchema.rowID(column: "id"), .columns(["code"])] {
            var fixture = try fixture(key)
            let wanted = Self.towns(
                .rowID(column: "number"), neighbour: .reference, ColumnSchema("code", .text),
                ColumnSchema("name", .text))
            try fixture.migrate(wanted)
            try expectWhole(
                fixture, [.rowID(70), .rowID(50), .rowID(60)], single: [.integer(70), .integer(50), .integer(60)])
            #expect(try fixture.table("Town").schema.retiredColumns.isEmpty)
            // And back: the ids stay what they are.
            try fixture.migrate(Self.towns(.rowID(column: "id"), neighbour: .reference))
            try expectWhole(
                fixture, [.rowID(70), .rowID(50), .rowID(60)], single: [.integer(70), .integer(50), .integer(60)])
            #expect(try fixture.values("Town", .rowID(50))?[1] == .integer(50))
        }
    }

    @Test func theIdBecomesAColumn() throws {
        var fixture = try fixture()
        let wanted = Self.towns(
            .columns(["id"]), neighbour: .text, ColumnSchema("id", .text), ColumnSchema("name", .text))
        let report = try fixture.migrate(wanted)
        #expect(report.steps.map(\.description).contains("keep the ids in column id"))
        try expectWhole(
            fixture, ["1", "2", "3"].map { Self.bytes(.text($0)) }, single: [.text("1"), .text("2"), .text("3")])
        var other = try self.fixture()
        let error = Fixture.error {
            try other.migrate(
                Self.towns(.columns(["id"]), neighbour: .uuid, ColumnSchema("id", .uuid), ColumnSchema("name", .text)))
        }
        #expect(
            error
                == .conversionFailed(
                    table: "Town", column: "id", rows: [.rowID(1)],
                    reason: "it is the key, and a value such as 1 does not become a uuid"))
    }

    @Test func anEmptyTableAsWell() throws {
        var fixture = try Fixture(Self.towns(.rowID(column: "id"), neighbour: .reference), Self.holder(.reference))
        try fixture.insert("Holder", [.integer(1), .null, .null, .null])
        try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text))
        #expect(try values(fixture, "Holder") == [[.null, .null, .null, .null]])
        try fixture.insert("Town", [.text("a"), .integer(1), .text("Asti"), .null])
        try fixture.expectSound()
    }

    // MARK: What cannot be

    @Test func rowsWithoutAKeyOfTheirOwnAreNamed() throws {
        var fixture = try fixture()
        try fixture.insert("Town", [.text("a"), .integer(9), .text("Acqui"), .null])
        let before = try values(fixture, "Town")
        var error = Fixture.error { try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text)) }
        #expect(
            error
                == .duplicateKey(
                    table: "Town", key: Self.bytes(.text("a")), columns: ["code"], values: [.text("a")]))
        let optional = Self.towns(
            .rowID(column: "id"), neighbour: .reference, ColumnSchema("code", .text, isOptional: true),
            ColumnSchema("number", .integer), ColumnSchema("name", .text))
        try fixture.migrate(optional)
        try fixture.insert("Town", [.null, .integer(9), .text("Dego"), .null])
        error = Fixture.error { try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text)) }
        // The row with the value of another comes first.
        guard case .duplicateKey = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let table = try fixture.table("Town")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try table.delete(.rowID(4), in: tx, changes: &changes)
        }
        error = Fixture.error { try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text)) }
        #expect(
            error
                == .conversionFailed(
                    table: "Town", column: "code", rows: [.rowID(5)],
                    reason: "it is the key, and there is no value"))
        let after = try values(fixture, "Town")
        #expect(after.prefix(3) == before.prefix(3))
        #expect(try fixture.table("Town").schema.key == .rowID(column: "id"))
        // With a default there is one.
        try fixture.migrate(
            Self.towns(
                .columns(["code"]), neighbour: .text, ColumnSchema("code", .text, default: .text("?")),
                ColumnSchema("number", .integer), ColumnSchema("name", .text)))
        #expect(try fixture.values("Town", Self.bytes(.text("?")))?[2] == .text("Dego"))
    }

    @Test func aTextTooLongForAKeyIsNamed() throws {
        var fixture = try fixture()
        let long = String(repeating: "l", count: 900)
        try fixture.insert("Town", [.text(long), .integer(9), .text("Acqui"), .null])
        let before = try values(fixture, "Town")
        let error = Fixture.error { try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text)) }
        guard case .conversionFailed("Town", "code", [.rowID(4)], let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("900 are the most"))
        #expect(try values(fixture, "Town") == before)
    }

    /// Ids go on behind the greatest of the new ones: at 1 where there is no row, and anywhere where that is the last number.
    @Test func newIDsFollowThoseOfTheRows() throws {
        let whole = Self.towns(.columns(["number"]), neighbour: .integer)
        let ids = Self.towns(
            .rowID(column: "number"), neighbour: .reference, ColumnSchema("code", .text), ColumnSchema("name", .text))
        for (number, next) in [(nil, .rowID(1)), (Int64(6), .rowID(7)), (.max, nil)] as [(Int64?, RowKey?)] {
            var fixture = try Fixture(whole)
            if let number { try fixture.insert("Town", [.text("c"), .integer(number), .text("Ceva"), .null]) }
            try fixture.migrate(ids)
            let row: [Value] = [.text("a"), .text("Asti"), .null]
            if let next {
                #expect(try fixture.insertAll("Town", [row]) == [next])
            } else {
                #expect(try fixture.insert("Town", row).rowID.map { $0 > 0 && $0 < .max } == true)
            }
            try fixture.expectSound()
        }
    }

    @Test func aReferenceThatMustLeadSomewhereIsNamed() throws {
        let holder = EntitySchema(
            name: "Strict", columns: [ColumnSchema("town", .reference, target: "Town")],
            indexes: [IndexSchema("town", [IndexColumn("town")])])
        var fixture = try fixture()
        try fixture.migrate(holder)
        try fixture.insert("Strict", [.integer(2)])
        try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text))
        #expect(try values(fixture, "Strict") == [[.text("a")]])
        try fixture.insert("Strict", [.text("x")])
        let error = Fixture.error { try fixture.migrate(Self.towns(.rowID(column: "id"), neighbour: .reference)) }
        #expect(
            "\(try #require(error))".hasSuffix(
                "town of row 2 must refer to a row, and refers to 'x', which is not there"))
    }

    @Test func aKeyOfReferencesDoesNotFollow() throws {
        let lines = EntitySchema(
            name: "Line",
            columns: [ColumnSchema("town", .reference, target: "Town"), ColumnSchema("place", .integer)],
            key: .columns(["town", "place"]), indexes: [IndexSchema("town", [IndexColumn("town")])])
        var fixture = try fixture()
        try fixture.migrate(lines)
        try fixture.insert("Line", [.integer(1), .integer(1)])
        let error = Fixture.error { try fixture.migrate(Self.towns(.columns(["code"]), neighbour: .text)) }
        #expect("\(try #require(error))".contains("such keys do not follow"))
    }
}
