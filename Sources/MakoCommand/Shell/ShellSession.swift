import MakoRecords
import MakoStorage

/// A shell session: executes lines and writes results.
final class ShellSession {
    /// The source of the lines.
    enum Mode { case interactive, script, scriptThatGoesOn }

    /// The number of failed statements and commands.
    private(set) var failures = 0
    /// The status of the first failure.
    private(set) var status: Failure.Status?

    private let database: DatabaseFile
    private var format: RowFormat
    private let mode: Mode
    private let width: () -> Int?
    private let running: RunningStatement
    private var ignoresReferences: Bool
    private let output: (String) -> Void
    private let complaint: (String) -> Void
    private var reader = StatementReader()
    /// The transaction that BEGIN opened.
    private var transaction = SessionTransaction()

    /// - Parameter mode: a script stops at the first failure, and failures name their lines.
    init(
        database: DatabaseFile, format: RowFormat = .table, mode: Mode = .interactive,
        width: @escaping () -> Int? = { nil }, running: RunningStatement = RunningStatement(),
        ignoresReferences: Bool = false,
        output: @escaping (String) -> Void, complaint: @escaping (String) -> Void
    ) {
        self.database = database
        self.format = format
        self.mode = mode
        self.width = width
        self.running = running
        self.ignoresReferences = ignoresReferences
        self.output = output
        self.complaint = complaint
    }

    var prompt: String { reader.isBetweenStatements ? "mako> " : " ...> " }

    /// Executes one line; false when the session has ended.
    func take(_ line: String) -> Bool {
        if reader.isBetweenStatements {
            let text = line.trimmed
            if text.hasPrefix(".") {
                reader.skipLine()
                return command(text) && !isStopped
            }
            if ["exit", "quit", "help"].contains(text.lowercased()) {
                reader.skipLine()
                return command("." + text.lowercased())
            }
        }
        for statement in reader.take(line) {
            run(statement)
            if isStopped { return false }
        }
        return true
    }

    /// Executes a last statement without a semicolon at the end of a script.
    func end() {
        if let statement = reader.takeRest() { run(statement) }
    }

    /// Rolls back an open transaction, before the database is closed.
    func leave() {
        if transaction.open == nil { return }
        transaction.leave()
        running.isInTransaction = false
        complain("the transaction that BEGIN opened is rolled back; COMMIT would have kept it")
    }

    /// Discards an incomplete statement.
    func cancelInput() { _ = reader.takeRest() }

    private var isStopped: Bool { mode == .script && failures > 0 }

    private func command(_ text: String) -> Bool {
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case ".quit", ".exit": return false
        case ".help": output(ShellHelp.text)
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
            if let name = table, let view = catalogue.findView(name) { return output(SchemaText.statement(view)) }
            let schemas = try table.map { name in [try catalogue.requireTable(name).schema] } ?? catalogue.tables
            for schema in schemas { output(SchemaText.statements(schema)) }
            if table == nil { for view in catalogue.views { output(SchemaText.statement(view)) } }
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

    private func run(_ typed: StatementReader.Statement) {
        attempt(line: typed.line) {
            let statement = try Statement.parse(typed.text)
            try running.run { cancellation in
                switch statement {
                case .explain: try explain(statement, cancellation)
                case .foreignKeys(let areEnforced, _): ignoresReferences = !areEnforced
                case .transaction(let step, let at):
                    defer { running.isInTransaction = transaction.open != nil }
                    try transaction.take(step, at, database)
                    output("done\n")
                default: try answer(statement, cancellation)
                }
            }
        }
    }

    private func answer(_ statement: Statement, _ cancellation: Cancellation) throws {
        if case .select = statement, transaction.open == nil { return try stream(statement, cancellation) }
        let start = ContinuousClock.now
        let outcome: StatementOutcome
        do {
            outcome = try database.run(
                statement, in: transaction.open, cancellation: cancellation, ignoringReferences: ignoresReferences)
        } catch let error as RecordError where error.isAboutReferences {
            throw Failure("\(error), or say PRAGMA foreign_keys = OFF", .badInput)
        }
        let duration = ContinuousClock.now - start
        let showsTime = mode == .interactive
        let timing = showsTime ? ", \(DisplayText.duration(duration))" : ""
        guard statement.givesRows else {
            if outcome.changesSchema {
                output("done\(timing)\n")
            } else {
                output("\(DisplayText.count(outcome.changed, "row")) changed\(timing)\n")
            }
            return
        }
        let rows = outcome.rows
        var printer = RowPrinter(columns: rows.columns, format: format, width: width(), output: output)
        try printer.write(rows.rows, cancellation)
        if showsTime { output("\(DisplayText.count(rows.rows.count, "row"))\(timing)\n") }
    }

    /// Writes the rows of a query as they are found, so that a large result is not held in memory.
    private func stream(_ statement: Statement, _ cancellation: Cancellation) throws {
        let start = ContinuousClock.now
        try database.read { view, catalogue in
            let query = try statement.planned(catalogue, view: view)
            let count = try RowPrinter.write(
                query, in: view, format: format, width: width(), cancellation: cancellation, output: output)
            let timing = ", \(DisplayText.duration(ContinuousClock.now - start))\n"
            if mode == .interactive { output(DisplayText.count(count, "row") + timing) }
        }
    }

    private func explain(_ statement: Statement, _ cancellation: Cancellation) throws {
        let rows = try database.run(statement, in: transaction.open, cancellation: cancellation).rows.rows
        if case .text(let plan)? = rows.first?.first { output(plan + "\n") }
    }

    private func attempt(line: Int? = nil, _ body: () throws -> Void) {
        do { try body() } catch {
            let failure = Failure(error)
            complain(failure.message, line: line, failure.status)
        }
    }

    private func complain(_ message: String, line: Int? = nil, _ failed: Failure.Status = .badInput) {
        failures += 1
        status = status ?? failed
        let place = mode == .interactive ? "" : "mako: line \(line ?? reader.line): "
        complaint("\(place)\(message)\n")
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
