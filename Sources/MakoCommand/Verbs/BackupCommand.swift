import ArgumentParser
import MakoStorage

struct BackupCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies a database into a new file, and checks each page on the way.",
        discussion: """
            The copy appears under its name only when it is whole and safely on the disk. Nothing is changed in the original.

              mako backup people.mako people-monday.mako
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Argument(help: "The file to make. Nothing must be there yet.", completion: .file())
    var copy: String

    @Flag(help: "Write the copy anew in the smallest form, instead of page by page.")
    var compact = false

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        let database = try DatabaseFile(reading: file)
        var reporter = ProgressReporter("copying", total: 100, isForced: progress)
        let show = { (step: CopyProgress) in reporter.update(step.percent) }
        let report =
            try compact
            ? database.store.copy(to: copy, progress: show)
            : database.store.backup(to: copy, progress: show)
        reporter.finish()
        try database.store.close()
        Terminal.write(
            "\(copy) holds commit \(DisplayText.grouped(Int(report.commitNumber))) of \(file), "
                + "\(DisplayText.bytes(Int(report.bytes)))\n")
    }
}

extension CopyProgress {
    var percent: Int { total == 0 ? 100 : done * 100 / total }
}
