import ArgumentParser
import MakoPostgres
import MakoRecords
import MakoStorage

struct ExportCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes a table, or some of its rows, as CSV, TSV, JSON or JSON lines, or all tables as SQL.",
        discussion: """
            'mako import' reads the result back. NULL is an empty field in CSV, \\N in TSV, null in JSON. The output file appears under its
            name when it is whole.

              mako export people.mako Person --output adults.csv --where "age >= 18" --order "name, age DESC"

            With --sql postgres all tables, or the named one, become a script of one transaction for psql, with primary keys, and without other
            indexes, foreign keys and views. What PostgreSQL has no form for, such as texts with U+0000, is an error.

              mako export people.mako --sql postgres | psql -v ON_ERROR_STOP=1 people
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The table; with --sql all tables when none is named.")
    var table: String?

    @Option(name: .shortAndLong, help: "The file to write; its extension gives the format. Standard output by default.")
    var output: String?

    @Flag(help: "Replace an output file that exists.")
    var overwrite = false

    @Option(name: .shortAndLong, help: "csv, tsv, json or jsonl.")
    var format: InputFormat?

    @Option(help: "Write CREATE TABLE and COPY for another database: postgres.")
    var sql: SQLDialect?

    @Option(help: "Which rows, as a condition.")
    var `where`: String?

    @Option(help: "The order of the rows.")
    var order: String?

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func validate() throws {
        if sql == nil, table == nil { throw ValidationError("Missing expected argument '<table>'") }
        if sql != nil, format != nil || `where` != nil || order != nil {
            throw ValidationError("--sql writes whole tables, without --format, --where and --order.")
        }
    }

    func perform() throws {
        if let output, DatabaseFile.isPart(output, of: file) {
            throw Failure("\(output) is the database itself, or its log; name another file to write", .usage)
        }
        TemporaryFiles.removeAtSignals()
        let database = try DatabaseFile(reading: file, access)
        let format = format ?? output.flatMap { InputFormat(path: $0) } ?? .csv
        let rows = try database.read { view, catalogue in
            guard let table else { return try write(catalogue.handles, "all tables", view) }
            if sql != nil { return try write([try catalogue.requireTable(table)], table, view) }
            let (handle, plan) = try plan(catalogue, table)
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

    /// Writes tables as a script for PostgreSQL.
    private func write(_ tables: [TableHandle], _ title: String, _ view: Snapshot) throws -> Int {
        let target = try output.map { try OutputFile(path: $0, replaces: overwrite) }
        var reporter = ProgressReporter("exporting \(title)", total: nil, isForced: progress)
        var bytes = 0
        let rows = try PostgresScript.write(tables, in: view) { text in
            if let target { try target.write(text) } else { Terminal.write(text) }
            bytes += text.utf8.count
            reporter.update(bytes, note: DisplayText.bytes(bytes))
            return !Terminal.hasFailed
        }
        reporter.finish()
        try target?.finish()
        return rows
    }

    private func plan(_ catalogue: Catalogue, _ table: String) throws -> (TableHandle, Plan) {
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
        var reporter = ProgressReporter("exporting \(handle.schema.name)", total: total, isForced: progress)
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

/// The databases that `export` writes SQL for.
enum SQLDialect: String, ExpressibleByArgument, CaseIterable {
    case postgres
}
