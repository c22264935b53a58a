import MakoRecords
import MakoStorage

/// What goes on in the shell: takes lines, answers with text.
final class ShellSession {
    /// Statements that failed so far.
    private(set) var failures = 0

    private let database: DatabaseFile
    private var format: RowFormat
    private let width: () -> Int?
    private let showsTime: Bool
    private let output: (String) -> Void
    private let complaint: (String) -> Void
    private var pending = ""

    init(
        database: DatabaseFile, format: RowFormat = .table, width: @escaping () -> Int? = { nil },
        showsTime: Bool = false,
        output: @escaping (String) -> Void, complaint: @escaping (String) -> Void
    ) {
        self.database = database
        self.format = format
        self.width = width
        self.showsTime = showsTime
        self.output = output
        self.complaint = complaint
    }

    /// Words that Tab completes beside the names of tables and columns.
    static let words = [
        ".help", ".tables", ".schema", ".mode", ".quit", "SELECT", "FROM", "WHERE", "ORDER", "GROUP", "LIMIT", "OFFSET",
        "AND", "NOT", "LIKE", "BETWEEN", "count", "EXPLAIN", "DESC",
    ]

    private static let help = """
        SELECT … FROM … [WHERE …] [GROUP BY …] [ORDER BY …] [LIMIT …]
                        shows rows; a statement over several lines ends with ; or an empty line
        EXPLAIN SELECT … shows how the rows would be found
        .tables         the tables and how many rows they have
        .schema [TABLE] the columns and indexes
        .mode FORM      how rows are shown: table, line, csv, tsv, json, jsonl
        .help           this
        .quit           leaves, as does Ctrl-D

        """

    var prompt: String { pending.isEmpty ? "mako> " : " ...> " }

    /// Takes one line; false when the session is over.
    func take(_ line: String) -> Bool {
        let text = line.trimmed
        if pending.isEmpty, text.hasPrefix(".") { return command(text) }
        if pending.isEmpty, text.isEmpty || text.hasPrefix("--") { return true }
        if pending.isEmpty, ["exit", "quit", "help"].contains(text.lowercased()) {
            return command("." + text.lowercased())
        }
        // A statement on one line needs no semicolon; one that went on to a second line ends with one.
        let isFirst = pending.isEmpty
        pending += isFirst ? text : "\n" + line
        let (statements, rest) = Self.split(pending)
        for statement in statements { run(statement) }
        pending = statements.isEmpty ? pending : rest.trimmed
        if text.isEmpty || (isFirst && !isUnfinished(pending)) { runPending() }
        return true
    }

    /// Runs what is left when the input ends.
    func end() {
        if !pending.isEmpty { runPending() }
    }

    private func command(_ text: String) -> Bool {
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case ".quit", ".exit": return false
        case ".help": output(Self.help)
        case ".tables": attempt { try showTables() }
        case ".schema": attempt { try showSchema(words.dropFirst().first) }
        case ".mode": setMode(words.dropFirst().first)
        default: complain("there is no command \(words.first ?? text); .help lists them")
        }
        return true
    }

    private func showTables() throws {
        try database.read { view, catalogue in
            var printer = RowPrinter(columns: ["table", "rows"], format: format, width: width(), output: output)
            for handle in catalogue.handles {
                printer.row([.text(handle.schema.name), .integer(Int64(try handle.count(in: view)))])
            }
            printer.finish()
        }
    }

    private func showSchema(_ table: String?) throws {
        try database.read { _, catalogue in
            let schemas = try table.map { name in [try catalogue.requireTable(name).schema] } ?? catalogue.tables
            for schema in schemas { output(SchemaText.statements(schema)) }
        }
    }

    private func setMode(_ name: String?) {
        if let mode = name.flatMap({ RowFormat(rawValue: $0.lowercased()) }) {
            format = mode
        } else {
            complain(
                ".mode takes one of \(RowFormat.allCases.map(\.rawValue).joined(separator: ", ")); now \(format.rawValue)"
            )
        }
    }

    /// The statements that end with a semicolon, and what follows them. A semicolon in quotes ends nothing.
    private static func split(_ text: String) -> (statements: [String], rest: String) {
        var statements: [String] = []
        var current = ""
        var quote: Character?
        for character in text {
            current.append(character)
            if let open = quote {
                // A doubled quote closes and opens again.
                if character == open { quote = nil }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == ";" {
                statements.append(current)
                current = ""
            }
        }
        return (statements, current)
    }

    /// Whether the parser reached the end of the text and wanted more.
    private func isUnfinished(_ text: String) -> Bool {
        let statement = Statement(text).text
        do {
            _ = try SelectStatement.parse(statement)
            return false
        } catch .syntax(let error) {
            return error.offset >= statement.trimmed.utf8.count
        } catch {
            return false
        }
    }

    private func runPending() {
        let text = pending
        pending = ""
        run(text)
    }

    private func run(_ typed: String) {
        let statement = Statement(typed)
        if statement.text.isEmpty { return }
        attempt { try statement.isExplain ? explain(statement.text) : select(statement.text) }
    }

    private func select(_ text: String) throws {
        let start = ContinuousClock.now
        let result = try database.read { view, catalogue in
            try SelectStatement.parse(text).run(catalogue, view: view)
        }
        let duration = ContinuousClock.now - start
        var printer = RowPrinter(columns: result.columns, format: format, width: width(), output: output)
        for row in result.rows { printer.row(row) }
        printer.finish()
        if showsTime { output("\(DisplayText.count(result.rows.count, "row")), \(DisplayText.duration(duration))\n") }
    }

    private func explain(_ text: String) throws {
        let plan = try database.read { view, catalogue in
            try SelectStatement.parse(text).explanation(catalogue, view: view)
        }
        output(plan + "\n")
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { complain(Failure(error).message) }
    }

    private func complain(_ message: String) {
        failures += 1
        complaint(message + "\n")
    }

    /// A statement as typed, without the semicolon and the word EXPLAIN.
    private struct Statement {
        var text: String
        var isExplain = false

        init(_ typed: String) {
            text = typed.trimmed
            while text.hasSuffix(";") { text = String(text.dropLast()).trimmed }
            let word = "explain"
            if text.lowercased().hasPrefix(word), text.dropFirst(word.count).first?.isWhitespace ?? true {
                isExplain = true
                text = String(text.dropFirst(word.count)).trimmed
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
