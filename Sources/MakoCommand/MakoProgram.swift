import ArgumentParser
import Foundation
import MakoStorage

/// The program `mako`.
public struct MakoProgram: ParsableCommand {
    /// The name, the description and the subcommands.
    public static let configuration = CommandConfiguration(
        commandName: "mako",
        abstract: "Looks into Mako database files and works on them.",
        discussion: """
            Works on any database file, without the Swift types it was written with. Begin with

              mako import people.csv people.mako
              mako people.mako

            The name of a file alone opens the shell on it.

            Exit status: 0 all went well, 1 there is damage, 64 wrong usage, 65 wrong input or query,
            66 no such file, 70 any other failure, 74 reading or writing failed, 75 the file is in use elsewhere.
            """,
        version: MakoVersion.current,
        subcommands: [
            InfoCommand.self, CheckCommand.self, QueryCommand.self, ExplainCommand.self, ShellCommand.self,
            ImportCommand.self, ExportCommand.self, DumpCommand.self, BackupCommand.self, CompactCommand.self,
            SalvageCommand.self, RestoreCommand.self, ReplicateCommand.self, ReplicasCommand.self, FollowCommand.self,
            PromoteCommand.self, MirrorCommand.self, PageCommand.self,
            LogCommand.self, KeyCommand.self, HistoryCommand.self, StudioCommand.self, MCPCommand.self,
        ])

    /// Creates the command, for the argument parser.
    public init() {}

    /// Runs the program on the arguments of its process and handles the process's signals.
    public static func start() {
        Signals.ownsProcess = true
        openStandardStreams()
        // Writing to a closed pipe or beyond the file size limit returns an error, so that databases are closed.
        for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_IGN) }
        do {
            var command = try parseAsRoot(try arguments(Array(CommandLine.arguments.dropFirst())))
            try command.run()
        } catch let failure as Failure {
            end(failure)
        } catch {
            end(with: error)
        }
    }

    private static func end(_ failure: Failure) -> Never {
        Terminal.writeError("mako: \(failure.message)\n")
        Foundation.exit(failure.status.rawValue)
    }

    /// Exits with the argument parser's message: help and version on standard output, errors on standard error.
    private static func end(with error: any Error) -> Never {
        let (code, text) = (exitCode(for: error), fullMessage(for: error))
        if !text.isEmpty {
            if code == .success { Terminal.write(text + "\n") } else { Terminal.writeError(text + "\n") }
        }
        // A failed subcommand has reported its error already, which may concern standard output.
        if code == .success { do { try Terminal.checkOutput() } catch { end(Failure(error)) } }
        Foundation.exit(code.rawValue)
    }

    /// Occupies the descriptors of closed standard streams. Otherwise a database could get one, and output would be
    /// written into it.
    private static func openStandardStreams() {
        for (stream, flag) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] where fcntl(stream, F_GETFD) < 0 {
            // Reads and writes fail, as on a closed stream.
            _ = open("/dev/null", flag)
        }
    }

    /// Inserts the subcommand `shell` before a lone file name.
    ///
    /// - Throws: when the first argument is neither a subcommand nor a file.
    static func arguments(_ given: [String]) throws -> [String] {
        let verbs = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let first = given.first, !first.hasPrefix("-"), !(verbs + ["help"]).contains(first) else { return given }
        let isFile = first.contains("/") || first.contains(".") || FileManager.default.fileExists(atPath: first)
        if isFile { return ["shell"] + given }
        throw Failure(
            "\(first) is neither a command nor a file; the commands are \(verbs.sorted().joined(separator: ", ")), and 'mako help' explains them",
            .usage)
    }
}
