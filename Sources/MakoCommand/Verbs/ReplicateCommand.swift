import ArgumentParser
import Foundation
import MakoReplication
import MakoStorage

struct ReplicateCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "replicate",
        abstract: "Ships a database to an object store, from where any shipped commit can be restored.",
        discussion: """
            The first time a full backup, then the commits since. The file is opened for writing while it is shipped, so that no other program may
            have it open then: a program that is running ships its own log by the library MakoReplication. Without --once the command ships again
            after each interval, until Ctrl-C, and leaves the file to other programs between; these should open it with a log archive, or their
            commits become incremental backups, and may need --new-branch. While the object store does not answer, the interval doubles, to a minute.

              mako replicate people.mako s3://backups/mako --once
              mako replicate people.mako /mnt/backup/mako --interval 60
              mako replicate people.mako s3://backups/mako --keep 30d

            With --keep every moment of that time can be restored, and objects that only earlier commits need are deleted, an hour after they are no
            longer kept. Without it nothing is deleted.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Argument(help: "s3://bucket/prefix, file:///folder or a folder.")
    var url: String

    @OptionGroup var options: ReplicaOptions
    @OptionGroup var access: KeyOptions

    @Flag(help: "Ship once, and end.")
    var once = false

    @Option(help: "Seconds between two times.")
    var interval: Double = 10

    @Option(help: "Delete what only commits before this time need, such as 12h, 30d or 8w.")
    var keep: String?

    @Option(help: "Log to keep for the next time, in MiB.")
    var archive = 256

    @Flag(
        help: "Begin a branch with a full backup, for a database whose log is gone or whose branch another one extends."
    )
    var newBranch = false

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func validate() throws {
        guard interval >= 0.1, interval <= 86_400 else { throw ValidationError("--interval is 0.1 to 86400 seconds.") }
        if let keep, Self.duration(keep) == nil {
            throw ValidationError("--keep is a whole number of hours, days or weeks, such as 12h, 30d or 8w.")
        }
        guard (1...1 << 20).contains(archive) else { throw ValidationError("--archive is 1 to 1048576 MiB.") }
    }

    func perform() throws {
        try DatabaseFile.requireName(file)
        guard FileManager.default.fileExists(atPath: file) else { throw Failure("there is no file \(file)", .noInput) }
        let stop = Stop()
        Signals.handle { signal in stop.request(signal) }
        var base: (any ObjectStore)?
        var branch: Replicator.Branch = newBranch ? .new : .continued
        var delay = RetryDelay(interval: interval)
        var undeleted: ReplicationError?
        // Once, because its clock notices one that jumps ahead between two times.
        var settings = Replicator.Options()
        settings.retention = keep.flatMap { Self.duration($0) }.map { Retention(age: $0) }
        repeat {
            do {
                let objects = try base ?? options.location(url).open(for: .writing)
                base = objects
                try ship(objects, settings, &branch, &undeleted)
                delay.reset()
            } catch ReplicationError.logGone(let number, let commit) {
                throw Failure(
                    "\(ReplicationError.logGone(branch: number, commit: commit)): --new-branch begins one", .badInput)
            } catch ReplicationError.fenced(let number, let reason) {
                throw Failure(
                    "\(ReplicationError.fenced(branch: number, reason: reason)): --new-branch begins one", .badInput)
            } catch ReplicationError.objects(.unavailable(let reason)) where !once,
                ObjectStoreError.unavailable(let reason) where !once
            {
                delay.report("\(url) is not available: \(reason)")
            } catch StorageError.alreadyOpen where !once {
                delay.reset()
                Terminal.writeError("mako: another program has \(file) open; it is shipped after that\n")
            }
        } while !once && !stop.wait(seconds: delay.seconds)
        if let signal = stop.signal { Signals.end(by: signal) }
    }

    /// Opens the file, ships what is new, and closes it.
    ///
    /// - Parameters:
    ///   - settings: the same ones each time.
    ///   - branch: becomes the continued one as soon as there is one.
    ///   - undeleted: why nothing was deleted the last time, which is reported when it changes.
    private func ship(
        _ base: any ObjectStore, _ settings: Replicator.Options, _ branch: inout Replicator.Branch,
        _ undeleted: inout ReplicationError?
    ) throws {
        let (objects, finish) = MeteredObjectStore.showing("shipping", base, isForced: progress)
        defer { finish() }
        let database = try open()
        let (report, number, failure) = try database.closing {
            let replicator = try Replicator(database.store, to: objects, branch: branch, options: settings)
            branch = .continued
            return (try replicator.ship(), replicator.branch, replicator.retentionFailure)
        }
        finish()
        if let failure, failure != undeleted {
            Terminal.writeError("mako: all is shipped, but what --keep no longer keeps was not deleted: \(failure)\n")
        }
        undeleted = failure
        guard report.objects > 0 || once else { return }
        Terminal.write(
            "commit \(DisplayText.grouped(Int(report.commit))) of \(file) is on branch \(number): "
                + "\(DisplayText.count(report.objects, "object")), \(DisplayText.bytes(Int(report.bytes)))\n")
    }

    /// The duration of a text such as `30d`.
    static func duration(_ text: String) -> Duration? {
        let hours: [Character: Int64] = ["h": 1, "d": 24, "w": 168]
        guard let unit = text.last.flatMap({ hours[$0] }), let count = Int64(text.dropLast()),
            (1...100_000).contains(count)
        else { return nil }
        return .seconds(count * unit * 3600)
    }

    private func open() throws -> DatabaseFile {
        do {
            return try access.with { options in
                var options = options
                options.logArchiveBytes = archive << 20
                return DatabaseFile(path: file, store: try Store(at: file, options: options))
            }
        } catch StorageError.alreadyOpen where once {
            throw Failure(
                "another program has \(file) open, and only it can ship its log: by a Replicator of the library MakoReplication. "
                    + "Close it, or run this without --once to ship when it does", .inUse)
        }
    }
}
