import ArgumentParser
import MakoRecords
import MakoStorage

struct CheckCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks every page, row, index and reference of a database.",
        discussion:
            "Nothing is changed. The exit status is 1 when something is found to be damaged, even if nothing is lost by it, and when references lead to rows that are not there."
    )

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let start = ContinuousClock.now
        var reporter = ProgressReporter("checking pages", total: 100, isForced: progress)
        let report = try Catalogue.verify(database.store) { reporter.update($0.percent) }
        reporter.finish()
        let found = report.damagedCopies + report.findings
        for finding in found { Terminal.write("\(finding)\n") }
        let content = "\(DisplayText.count(report.tables, "table")), \(DisplayText.count(report.rows, "row"))"
        guard report.findings.isEmpty else {
            throw Failure(
                "\(file) is damaged: \(DisplayText.count(found.count, "finding")). Restore a backup, or "
                    + "save what can still be read with 'mako salvage \(file) NEW'",
                .damaged)
        }
        for references in report.danglingReferences { Terminal.write("\(references)\n") }
        guard report.damagedCopies.isEmpty else {
            throw Failure(
                "\(file) has lost nothing (\(content)), but what it keeps twice is damaged in one place. Copy it to "
                    + "another disk; the next change to it writes the damaged part anew",
                .damaged)
        }
        let dangling = report.danglingReferences.reduce(0) { $0 + $1.count }
        guard dangling == 0 else {
            throw Failure(
                "\(file) is whole (\(content)), but \(DisplayText.count(dangling, "reference")) "
                    + "\(dangling == 1 ? "leads to a row that is" : "lead to rows that are") not there. Set such a column to NULL, "
                    + "or delete its row", .damaged)
        }
        Terminal.write("\(file) is whole: \(content), checked in \(DisplayText.duration(.now - start)).\n")
    }
}

extension VerifyProgress {
    fileprivate var percent: Int { total == 0 ? 100 : done * 100 / total }
}
