import MakoStorage
import Testing

@testable import MakoRecords

/// Columns of keys of rows of any table.
@Suite struct AnyKeysTests {
    static let thing = EntitySchema(name: "Thing", columns: [ColumnSchema("name", .text)])
    static let other = EntitySchema(name: "Other", columns: [ColumnSchema("name", .text)])
    static let place = EntitySchema(
        name: "Place", columns: [ColumnSchema("code", .text)], key: .columns(["code"]))
    static let holder = EntitySchema(
        name: "Holder",
        columns: [
            ColumnSchema("name", .text),
            ColumnSchema("held", .keys, isOptional: true, target: AnyReference.anyTable),
        ], indexes: [IndexSchema("held", [IndexColumn("held")])])

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(Self.thing, Self.other, Self.place, Self.holder)
        try fixture.insertAll("Thing", [[.text("a")], [.text("b")]])
        try fixture.insertAll("Other", [[.text("c")]])
        try fixture.insert("Place", [.text("x")])
        return fixture
    }

    private let key = RowKey(values: [.text("x")])

    private func held(_ references: (String, RowKey)...) -> Value {
        .blob(KeyTree.list(references.map { .key(AnyReference(table: $0, key: $1).element) }).encoded)
    }

    @Test func anElementIsTheTextOfAReference() {
        let reference = AnyReference(table: "a:%b", key: .rowID(-5))
        #expect(reference.element == .bytes(Array("a%3A%25b:-5\0".utf8)))
        #expect(AnyReference(element: reference.element) == reference)
        let other = AnyReference(table: "Place", key: key)
        #expect(AnyReference(element: other.element) == other)
        #expect(AnyReference(element: .rowID(5)) == nil && AnyReference(element: .bytes([0xFF, 0x3A, 0x35, 0])) == nil)
        #expect(AnyReference(element: .bytes(Array("Place\0".utf8))) == nil)
        #expect(AnyReference(element: .bytes(Array("Place:5".utf8))) == nil && AnyReference(element: .bytes([])) == nil)
    }

    /// `Thing:1` begins the texts of rows 10 to 19.
    @Test func rowsWhoseTextsBeginOthersAreNotMistaken() throws {
        let fixture = try fixture()
        let holders = try fixture.insertAll("Holder", (1...12).map { [.text("\($0)"), held(("Thing", .rowID($0)))] })
        let view = try fixture.store.snapshot()
        let referrer = try #require(try fixture.catalogue.referrers(of: fixture.table("Thing")).first)
        #expect(try referrer.rows(referringTo: .rowID(1), fixture.catalogue, view) == [holders[0]])
        let found = try referrer.rows(referringTo: [.rowID(10), .rowID(1), .rowID(12)], fixture.catalogue, view)
        #expect(
            Dictionary(found.map { ($0.key, $0.holder) }) { _, last in last } == [
                .rowID(1): holders[0], .rowID(10): holders[9], .rowID(12): holders[11],
            ])
        #expect(found.count == 3)
        try fixture.expectSound()
    }

    /// An older program must not take the elements for keys of one table.
    @Test func theCatalogueStoresACodeBeforeTheType() throws {
        let view = try fixture().store.snapshot()
        let record = try #require(try StoredCatalogue.records(in: view).first { $0.schema.name == "Holder" })
        let bytes = record.encoded()
        #expect(try TableRecord(name: "Holder", bytes: bytes) == record)
        let place = try #require(bytes.firstRange(of: [18, ColumnType.keys.rawValue])).lowerBound
        var without = bytes
        without.remove(at: place)
        #expect(throws: RecordError.self) { try TableRecord(name: "Holder", bytes: without) }
        var elsewhere = bytes
        elsewhere[place + 1] = ColumnType.text.rawValue
        #expect(throws: RecordError.self) { try TableRecord(name: "Holder", bytes: elsewhere) }
        let plain = try #require(try StoredCatalogue.records(in: view).first { $0.schema.name == "Thing" })
        #expect(plain.encoded().firstRange(of: [18, ColumnType.keys.rawValue]) == nil)
    }

    @Test func referrersAndDanglingKeysAreFound() throws {
        let fixture = try fixture()
        let holders = try fixture.insertAll(
            "Holder",
            [
                [.text("1"), held(("Thing", .rowID(1)), ("Other", .rowID(1)), ("Thing", .rowID(1)))],
                [.text("2"), held(("Place", key), ("Thing", .rowID(2)))], [.text("3"), .null],
                [.text("4"), held(("Thing", .rowID(9)), ("Nowhere", .rowID(1)))],
            ])
        let view = try fixture.store.snapshot()
        func rows(_ table: String, _ keys: RowKey...) throws -> [ReferringRow] {
            let referrers = try fixture.catalogue.referrers(of: fixture.table(table))
            #expect(referrers.map(\.column) == ["held"])
            return try referrers[0].rows(referringTo: keys, fixture.catalogue, view)
        }
        #expect(try rows("Thing", .rowID(1)).map(\.holder) == [holders[0]])
        #expect(try rows("Other", .rowID(1)).map(\.holder) == [holders[0]])
        #expect(try rows("Place", key).map(\.holder) == [holders[1]])
        let both = try rows("Thing", .rowID(2), .rowID(1))
        #expect(Set(both.map(\.holder)) == Set(holders[..<2]) && Set(both.map(\.key)) == [.rowID(1), .rowID(2)])
        let dangling = try Catalogue.verify(fixture.store).danglingReferences
        #expect(dangling.map(\.count) == [2] && dangling.first?.row.key == holders[3])
        try fixture.expectSound()
    }

    @Test func pendingRemovalsTakeElementsFromLists() throws {
        let fixture = try fixture()
        let holder = try fixture.insert(
            "Holder", [.text("1"), held(("Thing", .rowID(1)), ("Other", .rowID(1)), ("Thing", .rowID(1)))])
        try fixture.store.write { tx in
            let referrer = try #require(try fixture.catalogue.referrers(of: fixture.table("Thing")).first)
            var pending = PendingKeyRemovals()
            pending.note(.rowID(1), heldBy: holder, referrer)
            var writer = RowWriter()
            var changes = ChangeSet()
            for release in pending.releases(before: pending.mark) {
                try release.write(&writer, in: tx, changes: &changes)
            }
        }
        #expect(try fixture.values("Holder", holder) == [.text("1"), held(("Other", .rowID(1)))])
        try fixture.expectSound()
    }

    /// Elements of merged rows get the new table and key, those without a row disappear; all others stay.
    @Test func elementsFollowMergedRows() throws {
        let fixture = try fixture()
        let holders = try fixture.insertAll(
            "Holder",
            [
                [.text("1"), held(("Other", .rowID(1)), ("Other", .rowID(7)), ("Thing", .rowID(2)), ("Place", key))],
                [.text("2"), held(("Other", .rowID(7)))], [.text("3"), held(("Thing", .rowID(9)))],
            ])
        try fixture.store.write { tx in
            let request = TableMigration(Self.thing) { $0 < 1 ? ([.merge(from: "Other", nil)], 1) : ([], $0) }
            _ = try Catalogue.migrate([request], in: tx)
        }
        let view = try fixture.store.snapshot()
        let table = try Catalogue.load(view: view).requireTable("Holder")
        #expect(try table.verify(in: view) == [])
        var found: [RowKey: Value] = [:]
        try table.scan(in: view) { key, row in
            found[key] = row.value(1)
            return true
        }
        #expect(found[holders[0]] == held(("Thing", .rowID(3)), ("Thing", .rowID(2)), ("Place", key)))
        #expect(found[holders[1]] == held() && found[holders[2]] == held(("Thing", .rowID(9))))
    }

    @Test func keysDoNotBecomeTexts() throws {
        var fixture = try fixture()
        try fixture.insert("Holder", [.text("1"), held(("Thing", .rowID(1)))])
        let single = EntitySchema(
            name: "Holder",
            columns: [
                ColumnSchema("name", .text),
                ColumnSchema("held", .text, isOptional: true, target: AnyReference.anyTable),
            ])
        let error = Fixture.error { try fixture.migrate(single) }
        guard case .conversionFailed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func anElementMayBeAValue() {
        let nan = Double(bitPattern: 0x7FF8_0000_0000_0001)
        let values: [Value] = [
            .null, .bool(true), .integer(-1), .unsigned(.max), .double(-0.0), .double(nan), .text("a\0"),
            .blob([255, 0]),
            .date(-0.5), .uuid(1, .max),
        ]
        for value in values {
            let element = RowKey(elementOf: value)
            #expect(element.elementValue == value && AnyReference(element: element) == nil)
            guard case .bytes(let bytes) = element else { continue }
            #expect(RowKey.bytes(bytes + [0]).elementValue == nil && RowKey.bytes(bytes.dropLast()).elementValue == nil)
        }
        guard case .double(let zero)? = RowKey(elementOf: .double(-0.0)).elementValue,
            case .double(let back)? = RowKey(elementOf: .double(nan)).elementValue
        else {
            Issue.record("no doubles")
            return
        }
        #expect(zero.sign == .minus && back.bitPattern == nan.bitPattern)
        #expect(AnyReference(table: "Thing", key: .rowID(1)).element.elementValue == nil)
        #expect(RowKey.rowID(255).elementValue == nil && RowKey.bytes([255]).elementValue == nil)
    }

    @Test func valuesAreNoReferences() throws {
        let fixture = try fixture()
        let thing = AnyReference(table: "Thing", key: .rowID(1)).element
        let elements = [RowKey(elementOf: .text("Thing:2")), thing, RowKey(elementOf: .integer(5)), thing]
        let holder = try fixture.insert("Holder", [.text("1"), .blob(KeyTree.list(elements.map { .key($0) }).encoded)])
        try fixture.insert("Holder", [.text("2"), .blob(KeyTree.list([.key(.bytes([0xFF, 99]))]).encoded)])
        let view = try fixture.store.snapshot()
        let referrer = try #require(try fixture.catalogue.referrers(of: fixture.table("Thing")).first)
        #expect(try referrer.rows(referringTo: .rowID(1), fixture.catalogue, view) == [holder])
        #expect(try referrer.rows(referringTo: .rowID(2), fixture.catalogue, view) == [])
        // Bytes that are neither a reference nor a value are found.
        #expect(try Catalogue.verify(fixture.store).danglingReferences.map(\.count) == [1])
        func count(_ condition: String) throws -> Int {
            let selection = Selection(table: "Holder", condition: try Condition.parse(condition))
            return try selection.plan(fixture.catalogue).keys(in: view).count
        }
        #expect(try count("ANY held = 5") == 1 && count("ANY held = 'Thing:2'") == 1 && count("held.@count = 4") == 1)
        #expect(try count("ANY held = 6") == 0 && count("ANY held = '5'") == 0)
        try fixture.expectSound()
    }

    @Test func conditionsCompareTheTexts() throws {
        let fixture = try fixture()
        try fixture.insertAll(
            "Holder",
            [
                [.text("1"), held(("Thing", .rowID(1)), ("Place", key))], [.text("2"), held(("Thing", .rowID(2)))],
                [.text("3"), .null], [.text("4"), held()],
            ])
        let view = try fixture.store.snapshot()
        func names(_ condition: String) throws -> Set<RowKey> {
            let selection = Selection(table: "Holder", condition: try Condition.parse(condition))
            return Set(try selection.plan(fixture.catalogue).keys(in: view))
        }
        #expect(try names("ANY held = 'Thing:1'") == [.rowID(1)])
        #expect(try names("ALL held LIKE 'Thing:%'") == [.rowID(2), .rowID(3), .rowID(4)])
        #expect(try names("held.@count = 0") == [.rowID(3), .rowID(4)])
        #expect(throws: RecordError.self) { try names("ANY held.name = 'a'") }
    }
}
