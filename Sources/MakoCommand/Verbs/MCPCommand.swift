import ArgumentParser
import Foundation

struct MCPCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mcp", abstract: "Answers tools that speak the Model Context Protocol.",
        discussion: """
            Reads requests from standard input and writes answers to standard output, one JSON object on each line, until the input ends. The
            database is opened for reading: no request can change it.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    func perform() throws {
        let database = try StudioDatabase(opening: file, access, isWritable: false)
        let session = ToolSession(database)
        while let line = readLine(strippingNewline: true) {
            if line.isEmpty { continue }
            if let answer = session.answer(line) { Terminal.write(answer + "\n") }
        }
        database.close()
    }
}
