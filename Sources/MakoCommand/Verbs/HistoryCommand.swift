import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct HistoryCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Shows, starts or ends the change history of a database.",
        discussion: """
            The change history records which rows and columns each commit changed; Mako Studio and 'mako mcp' show it. A program
            that opens the database with its own history options changes the limits, or ends the history.

              mako history people.mako --keep 10000
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Option(help: "Start a history, or change its limit: the number of commits it keeps.")
    var keep: UInt64?

    @Flag(help: "End the history and remove its records.")
    var end = false

    func validate() throws {
        if keep != nil && end { throw ValidationError("--keep and --end exclude each other.") }
        if keep == 0 { throw ValidationError("--keep is at least 1; --end ends a history.") }
    }

    func perform() throws {
        guard FileManager.default.fileExists(atPath: file) else { throw Failure("there is no file \(file)", .noInput) }
        if keep != nil || end {
            let database = try DatabaseFile(writing: file, access)
            try database.closing { try change(database.store) }
        }
        let database = try DatabaseFile(reading: file, access)
        try database.closing { Terminal.write(try state(database) + "\n") }
    }

    private func change(_ store: Store) throws {
        let transaction = try store.beginWrite()
        do {
            let writer = HistoryWriter(SystemEntropy())
            if let keep {
                try writer.begin(
                    HistoryLimits(transactions: keep), date: Date().timeIntervalSinceReferenceDate, in: transaction)
            } else {
                try writer.end(in: transaction)
            }
        } catch {
            transaction.rollback()
            throw error
        }
        try transaction.commit()
    }

    private func state(_ database: DatabaseFile) throws -> String {
        try database.read { view, catalogue in
            let history = try StudioHistory(view, catalogue)
            guard history.isKept, let head = try StoredHistory.head(in: view) else {
                return "\(file) keeps no history; --keep starts one"
            }
            let limit = head.limits.transactions.map { "at most \(DisplayText.count(Int(clamping: $0), "commit"))" }
            let limits = [limit, head.limits.milliseconds.map { "\($0) ms" }, head.limits.bytes.map { "\($0) bytes" }]
            let shown = limits.compactMap(\.self).joined(separator: ", ")
            return "\(file) keeps a history: \(shown.isEmpty ? "without limit" : shown)"
        }
    }
}
