import ArgumentParser
import MakoStorage

struct RestoreCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Makes a database of a backup and the incremental ones after it.",
        discussion: """
            The new file appears under its name when it is whole, verified and safely on the disk. The backups are only read.

              mako restore people-sunday.mako people-monday.part people-tuesday.part --to people.mako
            """)

    @Argument(help: "The backup, then the incremental ones in the order in which they were made.", completion: .file())
    var backups: [String]

    @OptionGroup var access: KeyOptions

    @Option(help: "The file to make. Nothing must be there yet.", completion: .file())
    var to: String

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        TemporaryFiles.removeAtSignals()
        guard let base = backups.first else { return }
        var reporter = ProgressReporter("restoring", total: 100, isForced: progress)
        let report = try access.with { options in
            try Store.restore(base, applying: Array(backups.dropFirst()), to: to, options: options) {
                reporter.update($0.percent)
            }
        }
        reporter.finish()
        Terminal.write(
            "\(to) holds commit \(DisplayText.grouped(Int(report.commitNumber))), "
                + "\(DisplayText.bytes(Int(report.bytes)))\n")
    }
}
