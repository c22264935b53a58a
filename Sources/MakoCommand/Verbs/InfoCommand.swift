import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct InfoCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Shows what a database holds: sizes, tables, columns.")

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "A table, whose columns and indexes are shown.")
    var table: String?

    @Option(name: .shortAndLong, help: "The form of the list: table, line, csv, tsv, json or jsonl.")
    var format: RowFormat = .table

    @Flag(help: "Show numbers about the file and its memory instead.")
    var stats = false

    @Flag(help: "With --stats: as JSON.")
    var json = false

    func validate() throws {
        if json && !stats { throw ValidationError("--json belongs to --stats; tables are JSON with --format json.") }
        if stats && table != nil { throw ValidationError("--stats is of the whole file, not of a table.") }
    }

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        if stats { return try showStats(database.store.stats) }
        try database.read { view, catalogue in
            if let table {
                try showColumns(of: catalogue.requireTable(table), catalogue, view)
            } else {
                if format == .table { Terminal.write(summary(view)) }
                try showTables(catalogue, view)
            }
        }
    }

    private func summary(_ view: Snapshot) -> String {
        let files = DatabaseFile.files(of: file)
        let data = files.first?.bytes ?? 0
        let logs = files.dropFirst().reduce(0) { $0 + $1.bytes }
        let log = logs > 0 ? ", and \(DisplayText.bytes(logs)) of log" : ""
        return """
            \(file)
              size    \(DisplayText.bytes(data))\(log)
              commit  \(DisplayText.grouped(Int(view.commitNumber)))


            """
    }

    private func showStats(_ stats: StoreStats) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let encoded = try encoder.encode(stats)
        if json {
            Terminal.write(String(decoding: encoded, as: UTF8.self) + "\n")
            return
        }
        let numbers = try JSONDecoder().decode([String: Number].self, from: encoded).compactMapValues(\.value)
        let width = numbers.keys.map(\.count).max() ?? 0
        for (name, value) in numbers.sorted(by: { $0.key < $1.key }) {
            let space = String(repeating: " ", count: width - name.count + 2)
            Terminal.write("\(name)\(space)\(DisplayText.grouped(value))\n")
        }
        for (name, text) in [
            ("checkpointError", stats.checkpointError?.description), ("readOnlyReason", stats.readOnlyReason),
        ] {
            if let text { Terminal.write("\(name): \(text)\n") }
        }
    }

    /// A number, or nil for other values.
    private struct Number: Decodable {
        var value: Int?

        init(from decoder: any Decoder) throws { value = try? decoder.singleValueContainer().decode(Int.self) }
    }

    private func showTables(_ catalogue: Catalogue, _ view: Snapshot) throws {
        var printer = printer(["table", "rows", "key", "columns", "indexes"])
        for handle in catalogue.handles {
            let schema = handle.schema
            printer.row([
                .text(schema.name), .integer(Int64(try handle.count(in: view))),
                .text(schema.keyColumns.joined(separator: ", ")), .integer(Int64(schema.liveColumns.count)),
                .integer(Int64(schema.indexes.count)),
            ])
        }
        printer.finish()
        if catalogue.handles.isEmpty, format == .table {
            Terminal.write("\nThere are no tables yet; 'mako import' brings some in.\n")
        }
    }

    private func showColumns(of handle: TableHandle, _ catalogue: Catalogue, _ view: Snapshot) throws {
        let schema = handle.schema
        if format == .table {
            Terminal.write("\(schema.name), \(DisplayText.count(try handle.count(in: view), "row"))\n\n")
        }
        // NULL would look like a declared default.
        let none: Value = format == .table ? .text("") : .null
        var printer = printer(["column", "type", "optional", "default", "refers to", "delete rule", "indexes"])
        if case .rowID(let column) = schema.key {
            printer.row([.text(column), .text("integer"), .bool(false), none, none, none, .text("key")])
        }
        for column in schema.liveColumns {
            printer.row([
                .text(column.name), .text(column.type.name), .bool(column.isOptional),
                column.defaultValue.isNull ? none : .text(SchemaText.literal(column.defaultValue)),
                column.target.map(Value.text) ?? none,
                column.target == nil ? none : .text(catalogue.deleteRules(of: column.name, in: schema)),
                .text(uses(of: column.name, in: schema)),
            ])
        }
        printer.finish()
    }

    private func uses(of column: String, in schema: EntitySchema) -> String {
        var uses = schema.keyColumns.contains(column) ? ["key"] : []
        uses += schema.indexes.filter { $0.columns.contains { $0.name == column } }
            .map { $0.isUnique ? "\($0.name) (unique)" : $0.fullText != nil ? "\($0.name) (full text)" : $0.name }
        return uses.joined(separator: ", ")
    }

    private func printer(_ columns: [String]) -> RowPrinter {
        RowPrinter(columns: columns, format: format, width: Terminal.width) { Terminal.write($0) }
    }
}
