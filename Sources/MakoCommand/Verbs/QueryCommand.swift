import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct QueryCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Runs a statement and shows its rows, or how many it changed.",
        discussion: """
            Paths go through relationships: SELECT name, department.location.name FROM Person WHERE age > 35.

              mako query people.mako "SELECT name FROM Person WHERE age > ? ORDER BY name" --param 35
              mako query people.mako "SELECT name FROM Person WHERE age > :least LIMIT :n" --param least=35 --param n=5
              mako query people.mako "UPDATE Person SET age = age + 1 WHERE name = ?" --param Ada

            A statement that changes something is one transaction. Those that only ask leave the file to others.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The statement: SELECT … FROM …, INSERT, UPDATE, DELETE, CREATE, DROP, or PRAGMA table_info(…).")
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
        let parsed = try Statement.parse(statement)
        let given = ParameterText(parameters, names: try ParameterPlaces.ofStatement(statement).names)
        let database = try parsed.isReadOnly ? DatabaseFile(reading: file, access) : changed()
        let start = ContinuousClock.now
        let outcome: StatementOutcome
        do {
            outcome = try database.closing {
                try database.run(
                    parsed, parameters: given.positions, named: given.named, ignoringReferences: ignoreReferences)
            }
        } catch let error as RecordError where error.isAboutReferences {
            throw Failure("\(error), or pass --ignore-references", .badInput)
        }
        let duration = ContinuousClock.now - start
        guard parsed.isReadOnly else {
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

    /// A statement makes no file, lest a misspelt name does.
    private func changed() throws -> DatabaseFile {
        guard FileManager.default.fileExists(atPath: file) else { return try DatabaseFile(reading: file, access) }
        return try DatabaseFile(writing: file, access)
    }
}

extension RecordError {
    /// Whether a statement failed by a reference, which it can be had to ignore.
    var isAboutReferences: Bool {
        switch self {
        case .referenced, .danglingReference: true
        default: false
        }
    }
}

/// Parameters as they are typed on a command line.
struct ParameterText {
    private(set) var positions: [Value] = []
    private(set) var named: [String: Value] = [:]

    /// - Parameter names: those that the statement has; a text that begins with one of them and `=` gives its value.
    init(_ texts: [String], names: Set<String>) {
        for text in texts {
            if let mark = text.firstIndex(of: "="), names.contains(String(text[..<mark])) {
                named[String(text[..<mark])] = ParameterText.value(String(text[text.index(after: mark)...]))
            } else {
                positions.append(ParameterText.value(text))
            }
        }
    }

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
