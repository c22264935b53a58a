import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct ExplainCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Shows how a SELECT would find its rows, without running it.",
        discussion:
            "The operators, each above those that feed it. With --analyze the statement is run once to measure each of them."
    )

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The statement.")
    var statement: String

    @Option(
        name: [.short, .customLong("param")],
        help: "A value for the next ? of the statement; may be repeated. A number in single quotes is text: \"'007'\".")
    var parameters: [String] = []

    @Flag(help: "Runs the statement once and measures its operators.")
    var analyze = false

    @Flag(help: "The operators as JSON.")
    var json = false

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let select = try SelectStatement.parse(statement)
        let values = parameters.map(ParameterText.value)
        let text = try database.read { view, catalogue in
            if analyze {
                let analysis = try select.analysis(catalogue, view: view, parameters: values)
                return json ? try ExplainCommand.json(analysis) : analysis.description
            }
            let plan = try select.explanation(catalogue, parameters: values, view: view)
            return json ? try ExplainCommand.json(plan) : plan.description
        }
        Terminal.write(text + "\n")
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
