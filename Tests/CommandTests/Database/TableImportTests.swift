import Foundation
import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

@Suite struct TableImportTests {
    private let store: Store

    init() throws { store = try Store.inMemory() }

    /// Imports text under the name `source.<format>` and gives the report.
    @discardableResult
    private func add(
        _ text: String, _ format: InputFormat = .csv, to table: String = "T", key: [String]? = nil,
        indexes: [String] = [],
        replaces: Bool = false
    ) throws -> TableImport.Report {
        let path = try temporaryPath("source.\(format.rawValue)")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let options = TableImport.Options(format: format, key: key, indexes: indexes, replaces: replaces)
        let work = TableImport(path: path, table: table, options: options)
        return try work.run(columns: work.inspect().columns, in: store)
    }

    private func rows(_ table: String = "T") throws -> [[Value]] {
        try DatabaseFile(path: "memory", store: store).read { view, catalogue in
            let handle = try catalogue.requireTable(table)
            var rows: [[Value]] = []
            try handle.scan(in: view) { key, row in
                rows.append(handle.values(of: key, row))
                return true
            }
            return rows
        }
    }

    private func schema(_ table: String = "T") throws -> EntitySchema {
        try DatabaseFile(path: "memory", store: store).read { _, catalogue in try catalogue.requireTable(table).schema }
    }

    private func message(_ text: String, _ format: InputFormat = .csv, key: [String]? = nil) -> String {
        do {
            try add(text, format, key: key)
            return "no error"
        } catch { return Failure(error).message }
    }

    @Test func rowsGetTheTypesOfTheirColumns() throws {
        let report = try add("name,age,weight,ok,born\nAda,36,1.5,true,2001-01-02\nBob,,2,false,\n")
        #expect(report.rows == 2 && report.isNew)
        #expect(
            try rows() == [
                [.integer(1), .text("Ada"), .integer(36), .double(1.5), .bool(true), .date(86_400)],
                [.integer(2), .text("Bob"), .null, .double(2), .bool(false), .null],
            ])
        #expect(try schema().columns.map(\.isOptional) == [false, true, false, false, true])
    }

    @Test func anIntegerColumnCalledIDIsTheKey() throws {
        try add("ID,name\n7,Ada\n3,Bob\n")
        #expect(try schema().key == .rowID(column: "ID"))
        #expect(try rows() == [[.integer(3), .text("Bob")], [.integer(7), .text("Ada")]])
    }

    @Test func aTextColumnCalledIDIsAColumnLikeAnyOther() throws {
        try add("id,n\nx,1\nx,2\n")
        #expect(try schema().key == .rowID(column: "rowid"))
        #expect(try rows().count == 2)
    }

    @Test func theRowNumberHasAFreeName() throws {
        for (index, (header, name)) in [("id,ROWID", "_id"), ("Id,rowid,_ID", "id_2"), ("id,rowid,_id,id_2", "id_3")]
            .enumerated()
        {
            let fields = header.split(separator: ",").map { _ in "x" }.joined(separator: ",")
            try add("\(header)\n\(fields)\n", to: "T\(index)")
            #expect(try schema("T\(index)").key == .rowID(column: name))
        }
    }

    /// Both imports give the fields the same columns, and each column one field.
    @Test func fieldsKeepTheirColumnsInALaterImport() throws {
        for (index, text) in ["\"a b\",a_b,A,a\n1,2,3,4\n", "x-y,x y\n1,2\n", "id,\"i d\",ID\n1,2,3\n"].enumerated() {
            try add(text, to: "T\(index)", key: [])
            try add(text, to: "T\(index)")
            let found = try rows("T\(index)").map { Array($0.dropFirst()) }
            #expect(found.count == 2 && found.first == found.last, "\(text)")
        }
        #expect(try schema("T0").columns.map(\.name) == ["a_b_2", "a_b", "A", "a_2"])
        try add("id,n\n1,1\n")
        #expect(message("id,n,N\n2,2,3\n").contains("has two columns for column n of table T, 'n' and 'N'"))
        #expect(message("ID,id,n\n2,3,2\n").contains("has two columns for column id of table T, 'id' and 'ID'"))
        #expect(try rows() == [[.integer(1), .integer(1)]])
    }

    @Test func keysOfOneOrSeveralColumns() throws {
        try add("code,n\nb,1\na,2\n", key: ["code"])
        #expect(try rows() == [[.text("a"), .integer(2)], [.text("b"), .integer(1)]])
        try add("x,y\n1,2\n1,1\n", to: "U", key: ["x", "y"])
        #expect(try rows("U") == [[.integer(1), .integer(1)], [.integer(1), .integer(2)]])
        try add("id,n\n1,1\n1,2\n", to: "V", key: [])
        #expect(try rows("V").count == 2)
    }

    @Test func aLineThatIsWrongIsNamedAndNothingIsImported() throws {
        try add("id,n\n1,1\n")
        #expect(
            message("id,n\n2,2\n3,x\n").contains("source.csv, line 3: 'x' does not fit column n, which holds integer"))
        #expect(message("id,n\n2,2\n3\n").contains("source.csv, line 3: expected 2 fields"))
        #expect(message("id,n\n2,2\n\n1,3\n").contains("source.csv, line 4: "))
        #expect(message("id,n\n2,2\n3,\n").contains("source.csv, line 3: column n must not be empty"))
        #expect(message("{\"id\": 2, \"n\": 2}\n{\"id\": 3, \"n\": }\n", .jsonl).contains("source.jsonl, line 2: "))
        #expect(try rows() == [[.integer(1), .integer(1)]])
    }

    @Test func aNewTableIsNotLeftBehindWhenALineIsWrong() throws {
        #expect(message("id,n\n1,1\n1,2\n").contains("line 3: "))
        #expect(throws: RecordError.self) { try rows() }
    }

    @Test func aTableIsAddedToByTheNamesOfItsColumns() throws {
        try add("a,b\n1,x\n")
        #expect(try !add("{\"B\": \"y\", \"A\": 2}", .jsonl).isNew)
        #expect(try rows() == [[.integer(1), .integer(1), .text("x")], [.integer(2), .integer(2), .text("y")]])
        #expect(message("a,b,c\n1,x,2\n").contains("has no column c"))
        #expect(message("a\n1\n").contains("has no column b, which table T needs"))
    }

    @Test func anImportReplacesATableWithTheOption() throws {
        try add("a\n1\n")
        try add("b\nx\n", replaces: true)
        #expect(try rows() == [[.integer(1), .text("x")]])
    }

    /// The case of a name is forgiven, as in statements: no second table comes to be.
    @Test func aTableIsFoundByItsNameInAnotherCase() throws {
        try add("a\n1\n", to: "Town")
        let report = try add("a\n2\n", to: "town")
        #expect(report.table == "Town" && !report.isNew)
        #expect(try rows("Town").count == 2)
        #expect(try add("b\nx\n", to: "TOWN", replaces: true).table == "Town")
        #expect(try store.read { try Catalogue.load(view: $0).tables.map(\.name) } == ["Town"])
        #expect(try rows("Town") == [[.integer(1), .text("x")]])
    }

    /// Of two that are built for one place, the one that is there first stays.
    @Test func aNewDatabaseReplacesNoOther() throws {
        let place = try temporaryPath("new.mako")
        let (first, second) = (try NewDatabase(at: place), try NewDatabase(at: place))
        defer {
            first.remove()
            second.remove()
        }
        for (new, content) in [(first, "first"), (second, "second")] {
            try content.write(toFile: new.path, atomically: true, encoding: .utf8)
        }
        #expect(try first.publish())
        #expect(try !second.publish())
        #expect(try String(contentsOfFile: place, encoding: .utf8) == "first")
    }

    /// Errors do not name the temporary place in which a new database is built.
    @Test func errorsOfANewDatabaseNameItsPlace() throws {
        let place = try temporaryPath("new.mako")
        let new = try NewDatabase(at: place)
        defer { new.remove() }
        let error = #expect(throws: Failure.self) {
            try new.naming { throw StorageError.diskFull(path: new.path + "-wal-1") }
        }
        #expect(error?.message.contains(place + "-wal-1") == true && error?.status == .inputOutput)
        #expect(error?.message.contains("/.mako-") == false)
    }

    @Test func indexesAreBuilt() throws {
        try add("a,b c\n2,x\n1,y\n", indexes: ["a", "b c"])
        #expect(try schema().indexes.map(\.name) == ["T_a", "T_b_c"])
        let handle = try DatabaseFile(path: "", store: store).read { view, catalogue in
            try catalogue.requireTable("T").verify(in: view)
        }
        #expect(handle.isEmpty)
        #expect(throws: Failure.self) { try add("a\n1\n", to: "U", indexes: ["z"]) }
    }

    @Test func aColumnIsNamedByAnOptionOnce() throws {
        try add("a b,c\n2,x\n1,y\n", key: ["c", "c"], indexes: ["a b", "a_b", "a b"])
        #expect(try schema().indexes.map(\.name) == ["T_a_b"] && schema().key == .columns(["c"]))
        try add("a,b\n2,x\n1,y\n", to: "U", key: ["a", "a"])
        #expect(try schema("U").key == .rowID(column: "a"))
        for (text, key) in [("a,b\n1,2\n", ["a"]), ("id,a\n1,2\n", nil)] {
            let index = key?.first ?? "id"
            let error = #expect(throws: Failure.self) { try add(text, to: "V", key: key, indexes: [index]) }
            #expect(error?.status == .usage && error?.message.contains("column \(index) is the key") == true)
        }
    }

    @Test func columnNamesCanBeWrittenInAQuery() {
        let names = ColumnNames(["First name", "first-name", "größe", "2026", "%", "a_b", "order"])
        #expect(names.names == ["First_name", "first_name_2", "größe", "_2026", "column", "a_b", "order"])
        #expect(names.renamed.map(\.from) == ["First name", "first-name", "2026", "%"])
    }

    @Test func whatIsExportedImportsTheSame() throws {
        try add("id,name,age,born\n5,\"A, \"\"a\"\"\",36,2001-01-02\n9,,,\n")
        let before = try rows()
        for format in InputFormat.allCases {
            var text = ""
            let columns = try schema().shownColumns
            var printer = RowPrinter(columns: columns, format: try #require(RowFormat(rawValue: format.rawValue))) {
                text += $0
            }
            for row in before { printer.row(row) }
            printer.finish()
            try add(text, format, to: "Copy_\(format.rawValue)")
            #expect(try rows("Copy_\(format.rawValue)") == before)
        }
    }

    @Test func progressReportsBothPasses() throws {
        let path = try temporaryPath("a.csv")
        try "a\n1\n2\n".write(toFile: path, atomically: true, encoding: .utf8)
        nonisolated(unsafe) var calls: [String] = []
        let work = TableImport(path: path, table: "T", options: .init(format: .csv)) { pass, bytes, rows in
            calls.append("\(pass) \(bytes) \(rows)")
        }
        _ = try work.run(columns: work.inspect().columns, in: store)
        #expect(calls == ["reading 4 1", "reading 6 2", "storing 4 1", "storing 6 2"])
    }

    @Test func theHistoryReportsAReplacedTable() throws {
        try add("name\nAda\n")
        let trees = try store.read { $0.trees.map(\.name) }
        #expect(!trees.contains("mako.history"))
        try store.write { tx in try HistoryWriter(SystemEntropy()).begin(HistoryLimits(), date: 0, in: tx) }
        let start = try #require(try store.read { try StoredHistory.end(in: $0) })
        try add("name\nBob\nCleo\n")
        try add("code\nx\n", to: "U", key: ["code"])
        #expect(throws: InputError.self) { try add("name,age\nDan\n") }
        try add("name\nEve\n", replaces: true)
        let page = try #require(try store.read { try HistoryPage(after: start, limit: 10, in: $0) })
        #expect(!page.isMissed && page.records.map { $0.tables.map(\.name) } == [["T"], ["U"], ["T"]])
        for record in page.records {
            #expect(record.tables.allSatisfy { $0.isRewritten && $0.number > 0 } && record.spans.isEmpty)
            #expect(record.date > 0)
        }
    }
}
