import ArgumentParser
import MakoStorage

struct CompactCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Rewrites a database in the smallest form.",
        discussion: """
            Needs room for the new file beside the old one, and the database for itself. An end in the middle, of whatever kind, leaves \
            the database as it was or as it will be.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        TemporaryFiles.removeAtSignals()
        let before = DatabaseFile.files(of: file).reduce(0) { $0 + $1.bytes }
        var reporter = ProgressReporter("compacting", total: 100, isForced: progress)
        let report = try access.with { options in
            try Store.compact(at: file, options: options) { reporter.update($0.percent) }
        }
        reporter.finish()
        Terminal.write(
            "\(file): \(DisplayText.bytes(before)) before, \(DisplayText.bytes(Int(report.bytes))) now\n")
    }
}
