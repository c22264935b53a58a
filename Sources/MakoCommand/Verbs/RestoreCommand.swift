import ArgumentParser
import Foundation
import MakoStorage

struct RestoreCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Makes a database of backups, or of what was shipped to an object store.",
        discussion: """
            The new file appears under its name when it is whole, verified and safely on the disk. The backups are only read.

              mako restore people-sunday.mako people-monday.part people-tuesday.part --to people.mako

            From an object store, to the newest commit or to another one, as 'mako replicas' lists them:

              mako restore s3://backups/mako people.mako --at 2026-01-31T12:30
            """)

    @Argument(
        help:
            "The backup, then the incremental ones in the order in which they were made; or a URL, or a folder of objects.",
        completion: .file())
    var backups: [String]

    @OptionGroup var access: KeyOptions
    @OptionGroup var replica: ReplicaOptions

    @Option(
        help: "The file to make. Nothing must be there yet. Behind a URL it may also be the second argument.",
        completion: .file())
    var to: String?

    @Option(help: "From an object store: the number of a commit, or a date in UTC; else the newest commit.")
    var at: String?

    @Option(help: "From an object store: the identity of the database, where there are several.")
    var database: String?

    @Option(help: "From an object store: the branch; else the newest one from which something can be restored.")
    var branch: UInt64?

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        guard let first = backups.first else { return }
        TemporaryFiles.removeAtSignals()
        if ReplicaLocation.isLocation(first) { return try restoreReplica(first) }
        guard FileManager.default.fileExists(atPath: first) else {
            throw Failure("there is no file or folder \(first)", .noInput)
        }
        for (name, isGiven) in [
            ("--at", at != nil), ("--database", database != nil), ("--branch", branch != nil),
            ("--endpoint", replica.endpoint != nil), ("--region", replica.region != nil),
        ] where isGiven {
            throw Failure("\(name) needs an object store, and '\(first)' is a backup", .usage)
        }
        guard let to else { throw Failure("--to names the file to make", .usage) }
        try restoreBackups(first, to)
    }

    private func restoreReplica(_ url: String) throws {
        let names = backups.dropFirst() + [to].compactMap(\.self)
        guard names.count == 1, let path = names.first else {
            throw Failure("one file to make follows the URL: mako restore \(url) FILE", .usage)
        }
        try DatabaseFile.requireName(path)
        let restore = ReplicaRestore(
            location: replica.location(url), path: path, database: database, branch: branch,
            moment: try at.map(ReplicaMoment.init))
        try restore.run(access, isForced: progress)
    }

    private func restoreBackups(_ base: String, _ to: String) throws {
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
