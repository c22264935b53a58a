import MakoRecords
import MakoStorage
import Testing

/// The conversion of values when a column's type changes.
@Suite struct ConversionTests {
    @Test(arguments: [
        (Value.integer(-5), ColumnType.text, Value?.some(.text("-5"))),
        (.unsigned(.max), .text, .text("\(UInt64.max)")),
        (.double(1.5), .text, .text("1.5")), (.bool(true), .text, .text("true")), (.bool(false), .text, .text("false")),
        (.date(86_400), .text, .text("2001-01-02")),
        (.uuid(1, 2), .text, .text("00000000-0000-0001-0000-000000000002")),
        (.blob(Array("né".utf8)), .text, .text("né")), (.blob([0xFF]), .text, nil),
        (.text("né"), .blob, .blob(Array("né".utf8))),
        (.integer(1), .blob, nil), (.text("-5"), .integer, .integer(-5)), (.text("5x"), .integer, nil),
        (.text("7"), .reference, .integer(7)), (.text("\(UInt64.max)"), .unsigned, .unsigned(.max)),
        (.text("-1"), .unsigned, nil), (.text("1e3"), .double, .double(1000)), (.text("x"), .double, nil),
        (.text("Yes"), .bool, .bool(true)), (.text("0"), .bool, .bool(false)), (.text("maybe"), .bool, nil),
        (.text("2001-01-02"), .date, .date(86_400)), (.text("x"), .date, nil), (.text("x"), .uuid, nil),
        (.text("00000000-0000-0001-0000-000000000002"), .uuid, .uuid(1, 2)), (.bool(true), .integer, .integer(1)),
        (.bool(false), .unsigned, .integer(0)), (.bool(true), .double, .double(1)), (.integer(1), .bool, .bool(true)),
        (.integer(0), .bool, .bool(false)), (.integer(2), .bool, nil), (.integer(3), .double, .double(3)),
        (.integer(9_007_199_254_740_993), .double, nil), (.unsigned(1 << 63), .double, .double(0x1p63)),
        (.unsigned(.max), .double, nil), (.double(3), .integer, .integer(3)), (.double(3.5), .integer, nil),
        (.double(1e19), .unsigned, .unsigned(10_000_000_000_000_000_000)), (.double(-1), .unsigned, nil),
        (.integer(-1), .unsigned, nil), (.unsigned(.max), .integer, nil), (.date(5), .double, .double(5)),
        (.double(5), .date, .date(5)), (.uuid(1, 2), .integer, nil), (.date(1), .uuid, nil),
    ])
    func valuesBecomeWhatTheyMean(value: Value, type: ColumnType, converted: Value?) throws {
        // The value is there under the new type, or nothing changes.
        let old = Self.type(of: value)
        try #require(old != type)
        var fixture = try Fixture(
            EntitySchema(name: "T", columns: [ColumnSchema("c", old, isOptional: true, target: "T")]))
        try fixture.insertAll("T", [[value], [.null]])
        let wanted = EntitySchema(name: "T", columns: [ColumnSchema("c", type, isOptional: true, target: "T")])
        if let converted {
            try fixture.migrate(wanted)
            #expect(try fixture.values("T", .rowID(1)) == [converted])
            #expect(try fixture.values("T", .rowID(2)) == [.null])
        } else {
            let error = #expect(throws: RecordError.self) { try fixture.migrate(wanted) }
            guard case .conversionFailed("T", "c", [.rowID(1)], let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(["a", "an"].contains { reason.hasPrefix("\($0) \(old.name) such as \(value) ") }, "\(reason)")
            #expect(try fixture.values("T", .rowID(1)) == [value])
        }
    }

    private static func type(of value: Value) -> ColumnType {
        switch value {
        case .bool: .bool
        case .integer, .null: .integer
        case .unsigned: .unsigned
        case .double: .double
        case .text: .text
        case .blob: .blob
        case .date: .date
        case .uuid: .uuid
        }
    }

    @Test func tablesWithKeyColumnsAreConvertedToo() throws {
        var schema = EntitySchema(
            name: "K", columns: [ColumnSchema("k", .text), ColumnSchema("n", .text)], key: .columns(["k"]),
            indexes: [IndexSchema("K.n", [IndexColumn("n")])])
        var fixture = try Fixture(schema)
        try fixture.insertAll("K", [[.text("a"), .text("1")], [.text("b"), .text("2")]])
        schema.columns[1].type = .double
        #expect(try fixture.migrate(schema).steps.first == .changeColumn("n", from: .text, to: .double))
        #expect(try fixture.values("K", RowKey(values: [.text("b")])) == [.text("b"), .double(2)])
        try fixture.expectSound()
    }

    @Test func integersAndReferencesChangePlacesWithoutTouchingRows() throws {
        var schema = EntitySchema(name: "T", columns: [ColumnSchema("c", .integer)])
        var fixture = try Fixture(schema)
        try fixture.insert("T", [.integer(3)])
        schema.columns[0] = ColumnSchema("c", .reference, target: "T")
        #expect(try fixture.migrate(schema).steps == [.changeColumn("c", from: .integer, to: .reference)])
        #expect(try fixture.values("T", .rowID(1)) == [.integer(3)])
        schema.columns[0] = ColumnSchema("c", .integer)
        #expect(try fixture.migrate(schema).steps == [.changeColumn("c", from: .reference, to: .integer)])
        #expect(try fixture.values("T", .rowID(1)) == [.integer(3)])
    }

    @Test func reportsSayWhatIsDone() throws {
        var fixture = try Fixture(
            EntitySchema(
                name: "P", columns: [ColumnSchema("a", .text), ColumnSchema("b", .integer), ColumnSchema("c", .text)],
                indexes: [IndexSchema("P.a", [IndexColumn("a")])]))
        try fixture.insert("P", [.text("1"), .integer(2), .text("3")])
        var wanted = EntitySchema(
            name: "Q",
            columns: [
                ColumnSchema("n", .integer, originalName: "a"), ColumnSchema("b", .integer, isOptional: true),
                ColumnSchema("new", .double, default: .double(1)),
            ], indexes: [IndexSchema("Q.b", [IndexColumn("b")])], originalName: "P")
        #expect(
            "\(try fixture.migrate(wanted, dropsRetired: true))" == """
                Q (1 rows): rename table P to Q, rename column a to n, convert column n from text to integer, \
                change the rules of column b, add column new, retire column c, remove column c, add index Q.b, drop index P.a
                """)
        #expect("\(try fixture.migrate(wanted))" == "Q: nothing to do")
        wanted.columns.swapAt(0, 1)
        #expect("\(try fixture.migrate(wanted))" == "Q (1 rows): note the new order of columns")
        wanted.columns.removeLast()
        try fixture.migrate(wanted)
        wanted.columns.append(ColumnSchema("new", .double, default: .double(1)))
        #expect("\(try fixture.migrate(wanted))" == "Q (1 rows): restore column new")
        #expect("\(try fixture.migrate(EntitySchema(name: "R", columns: [])))" == "R (0 rows): create table R")
        try fixture.expectSound()
    }
}
