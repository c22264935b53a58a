import ArgumentParser
import Foundation
import MakoReplication

struct ReplicasCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "replicas", abstract: "Lists what can be restored from an object store.",
        discussion: """
            For each branch of a database: the commits that can be restored with their dates, those that cannot be restored by themselves (gaps), the
            bytes, how long ago the newest one was shipped, and the oldest one that retention has left. Only headers are read.

              mako replicas s3://backups/mako
              mako replicas /mnt/backup/mako
            """)

    @Argument(help: "s3://bucket/prefix, file:///folder or a folder.")
    var url: String

    @OptionGroup var options: ReplicaOptions

    @Option(help: "The identity of a database, where there are several; else all are listed.")
    var database: String?

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        let (objects, finish) = MeteredObjectStore.showing(
            "reading", try options.location(url).open(for: .reading), isForced: progress)
        let replica = try Replica(objects)
        let databases = try database.map { [$0] } ?? replica.databases()
        guard !databases.isEmpty else { throw Failure("no database was shipped to \(url)", .noInput) }
        var lines: [String] = []
        let now = Replicator.milliseconds()
        for database in databases {
            lines.append("database \(database)")
            for points in try replica.restorePoints(of: database) { lines += Self.lines(points, now: now) }
        }
        finish()
        Terminal.write(lines.joined(separator: "\n") + "\n")
    }

    /// - Parameter now: milliseconds since 1970.
    static func lines(_ points: RestorePoints, now: UInt64) -> [String] {
        var title = "  branch \(points.branch)"
        if let parent = points.parent { title += ", restored from commit \(parent.commit) of branch \(parent.branch)" }
        title += ": \(DisplayText.count(points.objects, "object")), \(DisplayText.bytes(Int(points.bytes)))"
        if let last = points.runs.last {
            title += ", newest commit shipped \(age(last.dates.upperBound, now)) ago"
        }
        var lines = [title]
        if let kept = points.keptFrom {
            let date = points.runs.first.map { ", shipped \(age($0.dates.lowerBound, now)) ago" } ?? ""
            lines.append("    kept from commit \(kept)\(date); retention has deleted what was before")
        }
        for run in points.runs {
            lines.append("    commits \(text(run.commits)), \(text(dates: run.dates))")
        }
        for gap in points.gaps { lines.append("    commits \(text(gap)) cannot be restored by themselves") }
        return lines + points.findings.map { "    damage: \($0)" }
    }

    private static func age(_ date: UInt64, _ now: UInt64) -> String {
        DisplayText.age(milliseconds: now > date ? now - date : 0)
    }

    private static func text(_ commits: ClosedRange<UInt64>) -> String {
        commits.count == 1 ? "\(commits.lowerBound)" : "\(commits.lowerBound) to \(commits.upperBound)"
    }

    private static func text(dates: ClosedRange<UInt64>) -> String {
        let (first, last) = (ReplicaMoment.text(dates.lowerBound), ReplicaMoment.text(dates.upperBound))
        return first == last ? first : "\(first) to \(last)"
    }
}
