import ArgumentParser
import MakoRecords
import MakoStorage

struct ExplainCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Shows how a SELECT would find its rows, without running it.",
        discussion:
            "With --analyze it is run once, and each step tells what it examined, what passed, and how long that took.")

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The statement.")
    var statement: String

    @Option(
        name: [.short, .customLong("param")],
        help: "A value for the next ? of the statement; may be repeated. A number in single quotes is text: \"'007'\".")
    var parameters: [String] = []

    @Flag(help: "Runs the statement once and measures its steps.")
    var analyze = false

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let select = try SelectStatement.parse(statement)
        let values = parameters.map(ParameterText.value)
        let plan = try database.read { view, catalogue in
            analyze
                ? try select.analysis(catalogue, view: view, parameters: values).description
                : try select.explanation(catalogue, parameters: values, view: view)
        }
        Terminal.write(plan + "\n")
    }
}
