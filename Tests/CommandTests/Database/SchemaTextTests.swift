import Foundation
import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

/// Schemas as statements, which dumps consist of.
@Suite struct SchemaTextTests {
    /// Every word in capitals in the sources of the parser.
    private static func keywords() throws -> Set<String> {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let folder = root.path + "/Sources/MakoRecords/Query/Syntax"
        var words: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let source = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            words.formUnion(source.matches(of: /"([A-Z][A-Z_]+)"/).map { String($0.1) })
        }
        return words
    }

    /// Runs statements in a new database.
    private func replay(_ text: String) throws -> (file: DatabaseFile, complaints: String) {
        final class Collected { var complaints = "" }
        let collected = Collected()
        let file = DatabaseFile(path: "memory", store: try Store.inMemory())
        let session = ShellSession(
            database: file, mode: .scriptThatGoesOn, output: { _ in }, complaint: { collected.complaints += $0 })
        for line in text.split(separator: "\n") { _ = session.take(String(line)) }
        session.end()
        return (file, collected.complaints)
    }

    /// No statement has a default of NaN, and replaying a dump ends at the first error.
    @Test func aDefaultOfNaNIsLeftOut() throws {
        let schema = EntitySchema(
            name: "Number",
            columns: [
                ColumnSchema("nothing", .double, default: .double(.nan)),
                ColumnSchema("most", .double, default: .double(.infinity)),
                ColumnSchema("least", .double, default: .double(-.infinity)),
            ])
        let text = SchemaText.statements(schema)
        #expect(try replay(text).complaints.isEmpty)
        #expect(text.contains("nothing REAL NOT NULL,"), "\(text)")
        #expect(text.contains("most REAL NOT NULL DEFAULT 9e999,"), "\(text)")
        #expect(text.contains("least REAL NOT NULL DEFAULT -9e999\n"), "\(text)")
    }

    @Test func everyKeywordIsANameInADump() throws {
        let words = try Self.keywords()
        #expect(words.isSuperset(of: ["CHECK", "CONSTRAINT", "CURRENT_TIME", "FOREIGN", "IF", "SELECT"]))
        for word in words.sorted() {
            let (quoted, name) = ("\"\(word)\"", SchemaText.name(word))
            let written = try replay(
                """
                CREATE TABLE \(quoted) (\(quoted) TEXT PRIMARY KEY, n INTEGER);
                CREATE INDEX \(quoted) ON \(quoted) (\(quoted), n);
                CREATE TABLE other ("the id" INTEGER PRIMARY KEY, \(quoted) TEXT REFERENCES \(quoted));
                """)
            #expect(written.complaints.isEmpty)
            let tables = try written.file.read { _, catalogue in catalogue.tables }
            let dumped = tables.map { SchemaText.statements($0) }.joined()
            let read = try replay(
                dumped + SchemaText.insert([.text("x"), .integer(1)], into: name)
                    + "UPDATE \(name) SET n = 2 WHERE \(name) = 'x';\n"
                    + "UPDATE other SET \(name) = 'x';\n"
                    + "DELETE FROM \(name) WHERE \(name) = 'y' OR \(name) IS NULL;\n")
            #expect(read.complaints.isEmpty, "\(word)")
            let query = try Statement.parse("SELECT \(name), n FROM \(name) WHERE \(name) > 'a' ORDER BY \(name)")
            let rows = try read.file.read { view, catalogue in
                #expect(catalogue.tables.map { SchemaText.statements($0) }.joined() == dumped)
                return try query.read(catalogue, view: view).rows
            }
            #expect(rows == [[.text("x"), .integer(2)]], "\(word)")
        }
    }
}
