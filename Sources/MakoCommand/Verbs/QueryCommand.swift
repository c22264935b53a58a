import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct QueryCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Runs statements and shows their rows, or how many they changed.",
        discussion: """
            Paths go through relationships: SELECT name, department.location.name FROM Person WHERE age > 35.

              mako query people.mako "SELECT name FROM Person WHERE age > ? ORDER BY name" --param 35
              mako query people.mako "SELECT name FROM Person WHERE age > :least LIMIT :n" --param least=35 --param n=5
              mako query people.mako "UPDATE Person SET age = age + 1 WHERE name = ?" --param Ada

            A statement that changes something is one transaction. Statements that only read leave the file to others. Several statements follow one
            another with ; between them, and BEGIN and COMMIT make one transaction of those between them.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(
        help: "The statements: SELECT …, INSERT, UPDATE, DELETE, CREATE, DROP, BEGIN, COMMIT, or PRAGMA table_info(…).")
    var statement: String

    @Option(
        name: [.short, .customLong("param")],
        help:
            "A value for the next ? of the statement, or name=value for its :name; may be repeated. A number in single quotes is text: \"'007'\"."
    )
    var parameters: [String] = []

    @Option(name: .shortAndLong, help: "The form of the rows: table, line, csv, tsv, json or jsonl.")
    var format: RowFormat = .table

    @Flag(help: "Writes keys that lead to no row, and deletes rows whatever refers to them.")
    var ignoreReferences = false

    func perform() throws {
        var reader = StatementReader()
        var texts: [String] = []
        for line in statement.split(separator: "\n", omittingEmptySubsequences: false) {
            texts += reader.take(String(line)).map(\.text)
        }
        if let rest = reader.takeRest() { texts.append(rest.text) }
        // Text without a statement must report its syntax error too.
        if texts.isEmpty { texts = [statement] }
        var statements: [Statement] = []
        var names: Set<String> = []
        for text in texts {
            statements.append(try Statement.parse(text))
            names.formUnion(try ParameterPlaces.ofStatement(text).names)
        }
        let given = ParameterText(parameters, names: names)
        let database = try statements.allSatisfy(\.leavesFile) ? DatabaseFile(reading: file, access) : changed()
        try database.closing { try run(statements, given, database) }
    }

    /// Runs the statements in order. Each consumes as many values as it has parameters; the last one takes all that
    /// remain.
    private func run(_ statements: [Statement], _ given: ParameterText, _ database: DatabaseFile) throws {
        var transaction = SessionTransaction()
        defer { transaction.leave() }
        var values = given.positions[...]
        for (place, statement) in statements.enumerated() {
            if case .transaction(let step, let at) = statement {
                try transaction.take(step, at, database)
                continue
            }
            let own = place == statements.count - 1 ? values : values.prefix(statement.parameterCount)
            values = values.dropFirst(own.count)
            try answer(statement, Array(own), given.named, database, transaction.open)
        }
        if transaction.open != nil {
            throw Failure("the transaction that BEGIN opened is rolled back; COMMIT ends it", .badInput)
        }
    }

    private func answer(
        _ statement: Statement, _ values: [Value], _ named: [String: Value], _ database: DatabaseFile,
        _ transaction: StatementTransaction?
    ) throws {
        if case .select = statement, transaction == nil { return try stream(statement, values, named, database) }
        let start = ContinuousClock.now
        let outcome: StatementOutcome
        do {
            outcome = try database.run(
                statement, in: transaction, parameters: values, named: named, ignoringReferences: ignoreReferences)
        } catch let error as RecordError where error.isAboutReferences {
            throw Failure("\(error), or pass --ignore-references", .badInput)
        }
        let duration = ContinuousClock.now - start
        guard statement.givesRows else {
            Terminal.write(outcome.changesSchema ? "done\n" : "\(DisplayText.count(outcome.changed, "row")) changed\n")
            return
        }
        let result = outcome.rows
        var printer = RowPrinter(columns: result.columns, format: format, width: Terminal.width) { Terminal.write($0) }
        for row in result.rows { printer.row(row) }
        printer.finish()
        if format == .table, Terminal.isTerminal(.output) {
            Terminal.write("\n\(DisplayText.count(result.rows.count, "row")), \(DisplayText.duration(duration))\n")
        }
    }

    /// Writes the rows of a query as they are found.
    private func stream(
        _ statement: Statement, _ values: [Value], _ named: [String: Value], _ database: DatabaseFile
    ) throws {
        let start = ContinuousClock.now
        try database.read { view, catalogue in
            let query = try statement.planned(catalogue, view: view, parameters: values, named: named)
            let count = try RowPrinter.write(query, in: view, format: format, width: Terminal.width) {
                Terminal.write($0)
            }
            if format == .table, Terminal.isTerminal(.output) {
                let duration = ContinuousClock.now - start
                Terminal.write("\n\(DisplayText.count(count, "row")), \(DisplayText.duration(duration))\n")
            }
        }
    }

    /// A statement does not create a file, because the name may be misspelt.
    private func changed() throws -> DatabaseFile {
        guard FileManager.default.fileExists(atPath: file) else { return try DatabaseFile(reading: file, access) }
        return try DatabaseFile(writing: file, access)
    }
}

extension RecordError {
    /// Whether a statement failed because of a reference, which an option ignores.
    var isAboutReferences: Bool {
        switch self {
        case .referenced, .danglingReference: true
        default: false
        }
    }
}

/// Parameters from a command line.
struct ParameterText {
    private(set) var positions: [Value] = []
    private(set) var named: [String: Value] = [:]

    /// - Parameter names: the statement's parameter names. An argument `name=value` with one of them sets it.
    init(_ texts: [String], names: Set<String>) {
        for text in texts {
            if let mark = text.firstIndex(of: "="), names.contains(String(text[..<mark])) {
                named[String(text[..<mark])] = ParameterText.value(String(text[text.index(after: mark)...]))
            } else {
                positions.append(ParameterText.value(text))
            }
        }
    }

    /// A number, `true`, `false` or `null`; everything else, and text in single quotes, is text.
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
