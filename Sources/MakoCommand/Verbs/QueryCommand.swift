import ArgumentParser
import MakoRecords
import MakoStorage

struct QueryCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Runs a SELECT and shows its rows.",
        discussion: """
            Paths go through relationships: SELECT name, department.location.name FROM Person WHERE age > 35.

              mako query people.mako "SELECT name FROM Person WHERE age > ? ORDER BY name" --param 35
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The statement: SELECT … FROM … [JOIN …] [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT …].")
    var statement: String

    @Option(
        name: [.short, .customLong("param")],
        help: "A value for the next ? of the statement; may be repeated. A number in single quotes is text: \"'007'\".")
    var parameters: [String] = []

    @Option(name: .shortAndLong, help: "The form of the rows: table, line, csv, tsv, json or jsonl.")
    var format: RowFormat = .table

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let start = ContinuousClock.now
        let select = try SelectStatement.parse(statement)
        let result = try database.read { view, catalogue in
            try select.run(catalogue, view: view, parameters: parameters.map(ParameterText.value))
        }
        let duration = ContinuousClock.now - start
        var printer = RowPrinter(columns: result.columns, format: format, width: Terminal.width) { Terminal.write($0) }
        for row in result.rows { printer.row(row) }
        printer.finish()
        if format == .table, Terminal.isTerminal(.output) {
            Terminal.write("\n\(DisplayText.count(result.rows.count, "row")), \(DisplayText.duration(duration))\n")
        }
    }
}

/// Parameters as they are typed on a command line.
enum ParameterText {
    /// A number, `true`, `false` or `null` as such; everything else, and what stands in single quotes, is text.
    static func value(_ text: String) -> Value {
        switch NumberText(text) {
        case .integer(let number): return .integer(number)
        case .unsigned(let number): return .unsigned(number)
        case .double(let number): return .double(number)
        case nil: break
        }
        if let flag = FieldConversion.bool(text) { return .bool(flag) }
        if text.lowercased() == "null" { return .null }
        if text.count >= 2, text.hasPrefix("'"), text.hasSuffix("'") {
            return .text(String(text.dropFirst().dropLast()))
        }
        return .text(text)
    }
}
