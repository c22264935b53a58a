import ArgumentParser
import Foundation
import MakoReplication

struct ReplicasCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "replicas", abstract: "Lists what can be restored from an object store.",
        discussion: """
            For each branch of a database: the commits that can be restored with their dates, those that cannot be restored by themselves (gaps), the
            bytes, and how long ago the newest one was shipped. Only headers are read.

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
        for database in databases {
            lines.append("database \(database)")
            for points in try replica.restorePoints(of: database) { lines += Self.lines(points) }
        }
        finish()
        Terminal.write(lines.joined(separator: "\n") + "\n")
    }

    private static func lines(_ points: RestorePoints) -> [String] {
        var title = "  branch \(points.branch)"
        if let parent = points.parent { title += ", restored from commit \(parent.commit) of branch \(parent.branch)" }
        title += ": \(DisplayText.count(points.objects, "object")), \(DisplayText.bytes(Int(points.bytes)))"
        if let last = points.runs.last {
            let now = UInt64(max(0, Date().timeIntervalSince1970 * 1000))
            let age = now > last.dates.upperBound ? now - last.dates.upperBound : 0
            title += ", newest commit shipped \(DisplayText.duration(.milliseconds(Int64(age)))) ago"
        }
        var lines = [title]
        for run in points.runs {
            lines.append("    commits \(text(run.commits)), \(text(dates: run.dates))")
        }
        for gap in points.gaps { lines.append("    commits \(text(gap)) cannot be restored by themselves") }
        return lines + points.findings.map { "    damage: \($0)" }
    }

    private static func text(_ commits: ClosedRange<UInt64>) -> String {
        commits.count == 1 ? "\(commits.lowerBound)" : "\(commits.lowerBound) to \(commits.upperBound)"
    }

    private static func text(dates: ClosedRange<UInt64>) -> String {
        let (first, last) = (ReplicaMoment.text(dates.lowerBound), ReplicaMoment.text(dates.upperBound))
        return first == last ? first : "\(first) to \(last)"
    }
}
