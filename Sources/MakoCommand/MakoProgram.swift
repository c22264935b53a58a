import ArgumentParser

/// The program `mako`.
public struct MakoProgram: ParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "mako",
        abstract: "Looks into Mako database files and works on them.",
        discussion: """
            Works on any database file, without the Swift types it was written with. Begin with

              mako import people.csv people.mako
              mako shell people.mako

            Exit status: 0 all went well, 1 there is damage, 64 wrong usage, 65 wrong input or query,
            66 no such file, 70 any other failure, 74 reading or writing failed, 75 the file is in use elsewhere.
            """,
        version: "0.1.0",
        subcommands: [
            InfoCommand.self, CheckCommand.self, QueryCommand.self, ExplainCommand.self, ShellCommand.self,
            ImportCommand.self, ExportCommand.self, DumpCommand.self, BackupCommand.self, CompactCommand.self,
            SalvageCommand.self, RestoreCommand.self, PageCommand.self, LogCommand.self, KeyCommand.self,
        ])

    public init() {}
}

/// A verb of the program. Whatever it throws is told on standard error and becomes the exit status.
protocol Verb: ParsableCommand {
    func perform() throws
}

extension Verb {
    func run() throws {
        do {
            try perform()
        } catch let code as ExitCode {
            throw code
        } catch {
            let failure = Failure(error)
            Terminal.write("mako: \(failure.message)\n", to: .error)
            throw ExitCode(failure.status.rawValue)
        }
    }
}
