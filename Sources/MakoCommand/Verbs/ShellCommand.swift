import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct ShellCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Queries and changes a database statement by statement.",
        discussion: """
            Type a SELECT, an INSERT, UPDATE or DELETE, a CREATE or DROP, or .help for the commands. A statement ends with ; and may go over
            several lines. A file that does not exist is created, empty. A database that another program writes, or --read-only, can be
            queried only. Lines can be edited, and the history is kept in ~/.mako_history ($MAKO_HISTORY names another file).

            Statements can also come through a pipe. A script stops at the first one that fails, whose line the message names, and the
            changes of those before it stay.

              mako dump old.mako | mako shell new.mako
            """)

    @Argument(help: "The database file; created when it does not exist.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Option(name: .shortAndLong, help: "The form of the rows: table, line, csv, tsv, json or jsonl.")
    var format: RowFormat = .table

    @Flag(help: "Only queries: nothing can be changed, and others may write meanwhile.")
    var readOnly = false

    @Flag(help: "Writes keys that lead to no row, and deletes rows whatever refers to them.")
    var ignoreReferences = false

    @Flag(help: "A script goes on after a statement that fails.")
    var keepGoing = false

    func perform() throws {
        let isScript = !Terminal.isTerminal(.input)
        let isInteractive = !isScript && Terminal.isTerminal(.output)
        let running = RunningStatement()
        let opened = OpenedStore()
        Signals.handle { signal in
            if signal == SIGINT, isInteractive { return running.cancel() }
            if running.finish(within: .seconds(5)), !running.isInTransaction { opened.close() }
            Terminal.restore()
            Signals.end(by: signal)
        }
        let database = try open()
        opened.store = database.store
        let session = ShellSession(
            database: database, format: format,
            mode: !isScript ? .interactive : keepGoing ? .scriptThatGoesOn : .script, width: { Terminal.width },
            running: running, ignoresReferences: ignoreReferences, output: { Terminal.write($0) },
            complaint: { Terminal.writeError($0) })
        try database.closing {
            try talk(with: session, database, isScript: isScript, isInteractive: isInteractive)
        }
        if isScript, let status = session.status { throw ExitCode(status.rawValue) }
    }

    private func open() throws -> DatabaseFile {
        if readOnly {
            let refusal = Failure("\(file) is open for queries only; leave --read-only out to change it", .usage)
            return try DatabaseFile(reading: file, access, refusal: refusal)
        }
        if FileManager.default.fileExists(atPath: file) {
            return try DatabaseFile(writingWherePossible: file, access)
        }
        let database = try DatabaseFile(writing: file, access)
        Terminal.writeError("\(file) did not exist; it is a new, empty database\n")
        return database
    }

    private func talk(
        with session: ShellSession, _ database: DatabaseFile, isScript: Bool, isInteractive: Bool
    ) throws {
        let names = try database.read { _, catalogue in
            catalogue.tables.flatMap { [$0.name] + $0.shownColumns } + catalogue.views.map(\.name)
        }
        let words = Array(Set(names + ShellHelp.words)).sorted()
        let reader = LineReader(
            history: History(path: database.store.isEncrypted ? nil : History.defaultPath), isInteractive: isInteractive
        ) { word in
            word.isEmpty ? [] : words.filter { $0.lowercased().hasPrefix(word.lowercased()) }
        }
        if isInteractive {
            Terminal.write("Mako, \(file). A statement ends with ; and .help shows help, .quit or Ctrl-D leaves.\n")
        }
        defer { session.leave() }
        while !Terminal.hasFailed {
            switch try reader.read(prompt: session.prompt) {
            case .line(let line): if !session.take(line) { return }
            case .cancelled: session.cancelInput()
            case .end:
                if isScript { session.end() }
                return
            }
        }
    }
}

/// The shell's open store, for signal handlers.
private final class OpenedStore: @unchecked Sendable {
    private let lock = Lock()
    private var opened: Store?

    var store: Store? {
        get { lock.withLock { opened } }
        set { lock.withLock { opened = newValue } }
    }

    func close() { try? store?.close() }
}
