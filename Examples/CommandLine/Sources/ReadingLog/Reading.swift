import ArgumentParser
import Foundation
import Mako

/// The program `reading`.
public struct Reading: AsyncParsableCommand {
    /// The stream that a line is for.
    public enum Stream: Sendable { case output, errors }

    /// Writes a line; the tests collect the lines.
    public typealias Writer = @Sendable (_ line: String, _ stream: Stream) -> Void

    @TaskLocal static var write: Writer = { line, _ in Swift.print(line) }

    public static let configuration = CommandConfiguration(
        commandName: "reading", abstract: "Keeps a log of books in a Mako database.",
        subcommands: [Add.self, List.self, Done.self, Search.self, Stats.self, Watch.self])

    public init() {}

    /// Runs the program and returns its exit status: 0, 64 for wrong arguments, or that of a `Failure`.
    public static func run(_ arguments: [String], write: @escaping Writer) async -> Int32 {
        await $write.withValue(write) {
            do {
                var command = try parseAsRoot(arguments)
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
                return 0
            } catch {
                if let error = error as? MakoError {
                    let failure = Failure(error)
                    write("Error: \(failure)", .errors)
                    return failure.status
                }
                let status = exitCode(for: error).rawValue  // help is an error with status 0
                write(fullMessage(for: error), status == 0 ? .output : .errors)
                return status
            }
        }
    }

    static func print(_ lines: [String]) { for line in lines { write(line, .output) } }
}

/// The option that all commands have.
struct FileOption: ParsableArguments {
    @Option(help: "The database file.")
    var file = FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent("reading.mako").path

    /// Opens the file, and closes it when the command has done its work, so that no log remains.
    func writing<R>(_ body: (Shelf) throws -> R) throws -> R { try use(Shelf(writing: file), body) }

    func reading<R>(_ body: (Shelf) throws -> R) throws -> R { try use(Shelf(reading: file), body) }

    private func use<R>(_ shelf: Shelf, _ body: (Shelf) throws -> R) throws -> R {
        let result = Result { try body(shelf) }
        try shelf.close()
        return try result.get()
    }
}
