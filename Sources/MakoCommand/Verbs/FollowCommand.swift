import ArgumentParser
import Foundation
import MakoReplication
import MakoStorage

struct FollowCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Keeps a copy of a database up to date with what is shipped.",
        discussion: """
            The first time the copy is made of the newest backup; later the same file goes on. Other programs may open it read-only at any time, and see
            each commit as soon as it is applied. Only 'mako promote' makes it a database that can be written. Without --once the command
            looks for new commits after each interval, until Ctrl-C.

              mako follow s3://backups/mako replica.mako
              mako follow /mnt/backup/mako replica.mako --once
            """)

    @Argument(help: "s3://bucket/prefix, file:///folder or a folder.")
    var url: String

    @Argument(help: "The copy: a new file, or one that followed before.", completion: .file())
    var file: String

    @OptionGroup var options: ReplicaOptions
    @OptionGroup var access: KeyOptions
    @OptionGroup var choice: FollowerChoice

    @Flag(help: "Apply what is there, and end.")
    var once = false

    @Option(help: "Seconds between two times.")
    var interval: Double = 1

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func validate() throws {
        guard interval >= 0.1, interval <= 86_400 else { throw ValidationError("--interval is 0.1 to 86400 seconds.") }
    }

    func perform() throws {
        try DatabaseFile.requireName(file)
        let stop = Stop()
        Signals.handle { signal in stop.request(signal) }
        var base: (any ObjectStore)?
        var follower: Follower?
        var delay = RetryDelay(interval: interval)
        repeat {
            do {
                let objects = try base ?? options.location(url).open(for: .reading)
                base = objects
                try step(objects, &follower)
                delay.reset()
            } catch ReplicationError.objects(.unavailable(let reason)) where !once,
                ObjectStoreError.unavailable(let reason) where !once
            {
                delay.report("\(url) is not available: \(reason)")
            } catch ReplicationError.damaged(let object, let reason) where !once {
                // A later backup may lead past it.
                delay.report("\(ReplicationError.damaged(object: object, reason: reason))")
            }
        } while !once && !stop.wait(seconds: delay.seconds)
        follower?.close()
        if let signal = stop.signal { Signals.end(by: signal) }
    }

    private func step(_ base: any ObjectStore, _ current: inout Follower?) throws {
        let (objects, finish) = MeteredObjectStore.showing("following", base, isForced: progress && current == nil)
        defer { finish() }
        let isFirst = current == nil
        let follower = try current ?? choice.open(objects, file, access)
        current = follower
        let report = try follower.follow()
        finish()
        if let text = (isFirst ? follower.firstRestart : nil)?.text ?? report.restart?.text {
            Terminal.write("\(file) is \(text)\n")
        }
        for object in report.passed {
            Terminal.write("\(object) is missing or damaged, and no commit is in it alone\n")
        }
        guard report.objects > 0 || isFirst else { return }
        Terminal.write(
            "\(file) has commit \(DisplayText.grouped(Int(report.commit))) of branch \(follower.branch): "
                + "\(DisplayText.count(report.objects, "object")), \(DisplayText.bytes(Int(report.bytes)))\n")
    }
}

struct PromoteCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "promote", abstract: "Makes a follower's file the database that continues its branch.",
        discussion: """
            Applies what was shipped, and takes the next place of the branch: the program that shipped to it until now cannot ship any more. The file is then a
            database like any other, and 'mako replicate' ships it to the same branch. Everything that the object store has is in it.

              mako promote s3://backups/mako replica.mako
            """)

    @Argument(help: "s3://bucket/prefix, file:///folder or a folder.")
    var url: String

    @Argument(help: "The file of a follower, or a new one.", completion: .file())
    var file: String

    @OptionGroup var options: ReplicaOptions
    @OptionGroup var access: KeyOptions
    @OptionGroup var choice: FollowerChoice

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        try DatabaseFile.requireName(file)
        TemporaryFiles.removeAtSignals()
        let (objects, finish) = MeteredObjectStore.showing(
            "applying", try options.location(url).open(for: .writing), isForced: progress)
        defer { finish() }
        let follower: Follower
        do { follower = try choice.open(objects, file, access) } catch StorageError.alreadyOpen {
            throw Failure("another program has \(file) open: end the 'mako follow' that writes it", .inUse)
        } catch ReplicationError.storage(.alreadyOpen) {
            throw Failure("another program has \(file) open: end the 'mako follow' that writes it", .inUse)
        }
        try follower.follow()
        let branch = follower.branch
        let start = ContinuousClock.now
        let store = try access.with { options in
            var options = options
            options.logArchiveBytes = Self.archiveBytes
            return try follower.promote(options: options)
        }
        let time = ContinuousClock.now - start
        finish()
        let commit = try store.read { $0.commitNumber }
        try store.close()
        Terminal.write(
            "\(file) continues branch \(branch) from commit \(DisplayText.grouped(Int(commit))), after \(DisplayText.duration(time)); "
                + "what shipped to it before is fenced\n")
    }

    private static let archiveBytes = 256 << 20
}

/// The database and the branch of a follower.
struct FollowerChoice: ParsableArguments {
    @Option(help: "The identity of the database, where there are several.")
    var database: String?

    @Option(help: "The branch; else that of the file or, for a new file, the newest one with a backup.")
    var branch: UInt64?

    func open(_ objects: any ObjectStore, _ file: String, _ access: KeyOptions) throws -> Follower {
        do {
            return try access.with { store in
                var options = Follower.Options()
                options.database = database
                options.branch = branch
                options.store = store
                do { return try Follower(objects, at: file, options: options) } catch ReplicationError.storage(
                    StorageError.notEncrypted(let path))
                {
                    // A passphrase in the environment is ignored for a plain file.
                    throw StorageError.notEncrypted(path: path)
                }
            }
        } catch ReplicationError.noRestorePoint {
            throw Failure("nothing was shipped there yet", .noInput)
        }
    }
}

extension Follower.Restart {
    /// What became of the file.
    fileprivate var text: String {
        switch self {
        case .newFile: "made of the newest backup"
        case .backup: "made anew of a backup, which has commits that are in no log"
        case .gone(let object): "made anew of the newest backup, because \(object) is gone"
        case .damaged(let object, let reason):
            "made anew of the newest backup, because \(object) cannot be used: \(reason)"
        }
    }
}
