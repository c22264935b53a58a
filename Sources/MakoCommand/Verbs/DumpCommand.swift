import ArgumentParser
import MakoRecords
import MakoStorage

struct DumpCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "dump", abstract: "Writes tables and rows as SQL text, which people and other databases can read.")

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The tables; all when none is named.")
    var tables: [String] = []

    @Flag(help: "Only CREATE TABLE, CREATE INDEX and CREATE VIEW, no rows.")
    var schemaOnly = false

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        try database.read { view, catalogue in
            let handles =
                try tables.isEmpty ? catalogue.handles : tables.map { name in try catalogue.requireTable(name) }
            Terminal.write("-- \(DisplayText.onOneLine(file)), commit \(view.commitNumber)\n")
            // Rows may refer to rows of later tables.
            if !schemaOnly, handles.contains(where: { $0.schema.liveColumns.contains { $0.target != nil } }) {
                Terminal.write("PRAGMA foreign_keys = OFF;\n")
            }
            for handle in handles {
                Terminal.write("\n" + SchemaText.statements(handle.schema))
                if schemaOnly { continue }
                for loss in handle.schema.dumpLosses { Terminal.writeError("mako: \(loss)\n") }
                try dumpRows(of: handle, view)
            }
            // After the tables that the views read.
            guard tables.isEmpty else { return }
            for schema in SchemaText.ordered(catalogue.views) { try dump(schema, catalogue, view) }
        }
    }

    /// Writes a view as a comment when a table or column that it reads is gone, because replaying ends at the first error.
    private func dump(_ schema: ViewSchema, _ catalogue: Catalogue, _ view: Snapshot) throws {
        let statement = SchemaText.statement(schema)
        do throws(RecordError) {
            _ = try Statement.parse("SELECT * FROM \(SchemaText.name(schema.name)) LIMIT 0").read(catalogue, view: view)
            Terminal.write("\n" + statement)
        } catch {
            // The view may be whole where the file cannot be read.
            if case .storage = error { throw error }
            let reason = "\(error)".prefix { !$0.isNewline }
            let problem = DisplayText.onOneLine("The view \(schema.name) cannot be read: \(reason)")
            let lines = statement.split(whereSeparator: \.isNewline).map { "-- \($0)\n" }.joined()
            Terminal.write("\n-- \(problem)\n" + lines)
            Terminal.writeError("mako: \(problem); it is a comment in the dump\n")
        }
    }

    private func dumpRows(of handle: TableHandle, _ view: Snapshot) throws {
        var text = ""
        let target = SchemaText.target(handle.schema)
        try handle.scan(in: view) { key, row in
            text += SchemaText.insert(handle.values(of: key, row), into: target)
            if text.utf8.count > 64 << 10 {
                Terminal.write(text)
                text = ""
            }
            return !Terminal.hasFailed
        }
        Terminal.write(text)
    }
}
