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
    private var ignoresReferences: Bool
    private let output: (String) -> Void
    private let complaint: (String) -> Void
    private var pending = ""

    init(
        database: DatabaseFile, format: RowFormat = .table, width: @escaping () -> Int? = { nil },
        showsTime: Bool = false, ignoresReferences: Bool = false,
        output: @escaping (String) -> Void, complaint: @escaping (String) -> Void
    ) {
        self.database = database
        self.format = format
        self.width = width
        self.showsTime = showsTime
        self.ignoresReferences = ignoresReferences
        self.output = output
        self.complaint = complaint
    }

    /// Words that Tab completes beside the names of tables and columns.
    static let words = [
        ".help", ".tables", ".schema", ".mode", ".quit", "SELECT", "FROM", "WHERE", "ORDER", "GROUP", "HAVING", "LIMIT",
        "OFFSET", "JOIN", "UNION", "WITH", "AND", "NOT", "LIKE", "BETWEEN", "MATCH", "count", "EXPLAIN", "DESC",
        "CASE", "WHEN", "THEN", "ELSE", "END",
        "INSERT",
        "INTO", "VALUES", "REPLACE", "IGNORE", "UPDATE", "SET", "DELETE", "CREATE", "TABLE", "UNIQUE", "SPATIAL",
        "INDEX", "DROP", "EXISTS", "PRIMARY", "KEY", "DEFAULT", "REFERENCES", "PRAGMA", "table_info", "distance",
    ]

    private static let help = """
        [WITH x AS (SELECT …)] SELECT … FROM … [JOIN …] [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT …]
                        shows rows; a statement over several lines ends with ; or an empty line
        EXPLAIN SELECT … shows how the rows would be found, EXPLAIN ANALYZE SELECT … how they were
        INSERT INTO … VALUES … | SELECT …, UPDATE … SET …, DELETE FROM …
                        change rows; each statement is a transaction
        CREATE TABLE …, DROP TABLE …, CREATE [UNIQUE | SPATIAL] INDEX … ON … [WHERE …], DROP INDEX …
                        change tables and indexes
        PRAGMA foreign_keys = OFF | ON
                        whether statements ignore references: by themselves they store no key that leads to no row, and
                        delete rows by the delete rules of the file
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
        let statement = Self.withoutSemicolon(text)
        do {
            _ = try Statement.parse(statement)
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
        let text = Self.withoutSemicolon(typed)
        if text.isEmpty { return }
        attempt {
            let statement = try Statement.parse(text)
            switch statement {
            case .explain: try explain(statement)
            case .foreignKeys(let areEnforced, _): ignoresReferences = !areEnforced
            default: try answer(statement)
            }
        }
    }

    private func answer(_ statement: Statement) throws {
        let start = ContinuousClock.now
        let outcome: StatementOutcome
        do { outcome = try database.run(statement, ignoringReferences: ignoresReferences) } catch let error
            as RecordError
            where error.isAboutReferences
        {
            throw Failure("\(error), or say PRAGMA foreign_keys = OFF", .badInput)
        }
        let duration = ContinuousClock.now - start
        let timing = showsTime ? ", \(DisplayText.duration(duration))" : ""
        guard statement.isReadOnly else {
            if outcome.changesSchema {
                output("done\(timing)\n")
            } else {
                output("\(DisplayText.count(outcome.changed, "row")) changed\(timing)\n")
            }
            return
        }
        let rows = outcome.rows
        var printer = RowPrinter(columns: rows.columns, format: format, width: width(), output: output)
        for row in rows.rows { printer.row(row) }
        printer.finish()
        if showsTime { output("\(DisplayText.count(rows.rows.count, "row"))\(timing)\n") }
    }

    private func explain(_ statement: Statement) throws {
        if case .text(let plan)? = try database.run(statement).rows.rows.first?.first { output(plan + "\n") }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { complain(Failure(error).message) }
    }

    private func complain(_ message: String) {
        failures += 1
        complaint(message + "\n")
    }

    private static func withoutSemicolon(_ typed: String) -> String {
        var text = typed.trimmed
        while text.hasSuffix(";") { text = String(text.dropLast()).trimmed }
        return text
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
