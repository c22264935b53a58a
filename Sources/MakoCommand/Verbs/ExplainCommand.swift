import ArgumentParser
import MakoRecords
import MakoStorage

struct ExplainCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Shows how a SELECT would find its rows, without running it.")

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The statement.")
    var statement: String

    @Option(
        name: [.short, .customLong("param")],
        help: "A value for the next ? of the statement; may be repeated. A number in single quotes is text: \"'007'\".")
    var parameters: [String] = []

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let select = try SelectStatement.parse(statement)
        let plan = try database.read { view, catalogue in
            try select.explanation(catalogue, parameters: parameters.map(ParameterText.value), view: view)
        }
        Terminal.write(plan + "\n")
    }
}
