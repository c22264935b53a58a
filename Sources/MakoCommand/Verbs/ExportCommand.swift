import ArgumentParser
import MakoRecords
import MakoStorage

struct ExportCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes a table, or some of its rows, as CSV, TSV, JSON or JSON lines.",
        discussion: """
            'mako import' reads the result back. NULL is an empty field in CSV, \\N in TSV, null in JSON. The output file appears under its
            name when it is whole.

              mako export people.mako Person --output adults.csv --where "age >= 18" --order "name, age DESC"
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The table.")
    var table: String

    @Option(name: .shortAndLong, help: "The file to write; its extension gives the format. Standard output by default.")
    var output: String?

    @Flag(help: "Replace an output file that exists.")
    var overwrite = false

    @Option(name: .shortAndLong, help: "csv, tsv, json or jsonl.")
    var format: InputFormat?

    @Option(help: "Which rows, as a condition.")
    var `where`: String?

    @Option(help: "The order of the rows.")
    var order: String?

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        if let output, DatabaseFile.files(of: file).contains(where: { OpenFile.isSame(output, $0.path) }) {
            throw Failure("\(output) is the database itself, or its log; name another file to write", .usage)
        }
        TemporaryFiles.removeAtSignals()
        let database = try DatabaseFile(reading: file, access)
        let format = format ?? output.flatMap { InputFormat(path: $0) } ?? .csv
        let rows = try database.read { view, catalogue in
            let (handle, plan) = try plan(catalogue)
            // Created late, so that an error in the table name or the condition leaves an existing file unchanged.
            let target = try output.map { try OutputFile(path: $0, replaces: overwrite) }
            let rows = try write(format, handle, plan, view) { text in
                if let target { try target.write(text) } else { Terminal.write(text) }
            }
            try target?.finish()
            return rows
        }
        if let output { Terminal.writeError("\(DisplayText.count(rows, "row")) written to \(output)\n") }
    }

    private func plan(_ catalogue: Catalogue) throws -> (TableHandle, Plan) {
        let handle = try catalogue.requireTable(table)
        let plan = try Selection(
            table: handle.schema.name, condition: `where`.map { text throws(RecordError) in try Condition.parse(text) },
            orderBy: order.map { text throws(RecordError) in try Order.parse(text) } ?? []
        ).plan(catalogue)
        return (handle, plan)
    }

    private func write(
        _ format: InputFormat, _ handle: TableHandle, _ plan: Plan, _ view: Snapshot,
        to output: (String) throws -> Void
    ) throws -> Int {
        var text = ""
        let rowFormat = RowFormat(rawValue: format.rawValue) ?? .csv
        let total = `where` == nil ? try handle.count(in: view) : nil
        var reporter = ProgressReporter("exporting \(table)", total: total, isForced: progress)
        var printer = RowPrinter(columns: handle.schema.shownColumns, format: rowFormat) { text += $0 }
        try plan.forEachRow(layout: handle.layout, in: view) { key, row in
            printer.row(handle.values(of: key, row))
            if !text.isEmpty {
                try output(text)
                text = ""
            }
            reporter.update(printer.rows, note: DisplayText.count(printer.rows, "row"))
            return !Terminal.hasFailed
        }
        printer.finish()
        try output(text)
        reporter.finish()
        return printer.rows
    }
}
