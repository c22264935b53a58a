import ArgumentParser
import MakoStorage

struct BackupCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies a database into a new file, and checks each page on the way.",
        discussion: """
            The copy appears under its name only when it is whole and safely on the disk. Nothing is changed in the original.

              mako backup people.mako people-sunday.mako

            A backup may also hold only what an earlier one lacks; 'mako restore' puts them together.

              mako backup people.mako people-monday.part --since people-sunday.mako
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The file to make. Nothing must be there yet.", completion: .file())
    var copy: String

    @Flag(help: "Write the copy anew in the smallest form, instead of page by page.")
    var compact = false

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    @Option(help: "An earlier backup, unchanged: write only what it lacks.", completion: .file())
    var since: String?

    @Flag(help: "Share the file's blocks where the file system can; no page is checked then.")
    var reflink = false

    func validate() throws {
        if [compact, since != nil, reflink].filter(\.self).count > 1 {
            throw ValidationError("--compact, --since and --reflink exclude each other.")
        }
    }

    func perform() throws {
        TemporaryFiles.removeAtSignals()
        let database = try DatabaseFile(reading: file, access)
        var reporter = ProgressReporter("copying", total: 100, isForced: progress)
        let show = { (step: CopyProgress) in reporter.update(step.percent) }
        let report: CopyReport
        if let since {
            let point = try access.with { try BackupPoint(of: since, encryption: $0.encryption) }
            report = try database.store.backup(to: copy, since: point, progress: show)
        } else if compact {
            report = try database.store.copy(to: copy, progress: show)
        } else {
            report = try database.store.backup(to: copy, sharesBlocks: reflink, progress: show)
        }
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
