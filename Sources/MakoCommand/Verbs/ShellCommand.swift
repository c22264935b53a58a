import ArgumentParser

struct ShellCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Asks and changes a database line by line.",
        discussion: """
            Type a SELECT, an INSERT, UPDATE or DELETE, a CREATE or DROP, or .help for the commands. A database that another
            program writes, or --read-only, can be asked only. Lines can be edited, the history is kept in ~/.mako_history
            ($MAKO_HISTORY names another file), and statements can also come through a pipe.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Option(name: .shortAndLong, help: "The form of the rows: table, line, csv, tsv, json or jsonl.")
    var format: RowFormat = .table

    @Flag(help: "Only asks: nothing can be changed, and others may write meanwhile.")
    var readOnly = false

    @Flag(help: "Writes keys that lead to no row, and deletes rows whatever refers to them.")
    var ignoreReferences = false

    func perform() throws {
        let database =
            readOnly
            ? try DatabaseFile(reading: file, access) : try DatabaseFile(writingWherePossible: file, access)
        let isInteractive = Terminal.isTerminal(.input) && Terminal.isTerminal(.output)
        let names = try database.read { _, catalogue in
            catalogue.tables.flatMap { [$0.name] + $0.shownColumns }
        }
        let words = Array(Set(names + ShellSession.words)).sorted()
        let reader = LineReader(
            history: History(path: database.store.isEncrypted ? nil : History.defaultPath), isInteractive: isInteractive
        ) { word in
            word.isEmpty ? [] : words.filter { $0.lowercased().hasPrefix(word.lowercased()) }
        }
        let session = ShellSession(
            database: database, format: format, width: { Terminal.width }, showsTime: isInteractive,
            ignoresReferences: ignoreReferences, output: { Terminal.write($0) },
            complaint: { Terminal.write($0, to: .error) })
        if isInteractive { Terminal.write("Mako, \(file). Type .help for help, .quit or Ctrl-D to leave.\n") }
        while let line = reader.read(prompt: session.prompt), session.take(line) {}
        session.end()
        if session.failures > 0, !isInteractive { throw ExitCode(Failure.Status.badInput.rawValue) }
    }
}
