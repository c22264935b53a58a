import ArgumentParser
import MakoRecords
import MakoStorage

struct CheckCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks every page, row and index of a database.",
        discussion:
            "Nothing is changed. The exit status is 1 when something is found to be damaged, even if nothing is lost by it."
    )

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        let database = try DatabaseFile(reading: file, access)
        let start = ContinuousClock.now
        // What opening passed over, and the fixed pages that are there twice: damage that costs nothing yet.
        let copies = database.store.stats.recovery.findings
        var reporter = ProgressReporter("checking pages", total: 100, isForced: progress)
        let report = try database.store.verify { reporter.update($0.percent) }
        reporter.finish()
        var findings = report.findings.filter { !copies.contains($0) }
        var rows = 0
        var tables = 0
        do {
            try database.read { view, catalogue in
                for handle in catalogue.handles {
                    tables += 1
                    do {
                        findings += try handle.verify(in: view)
                        rows += try handle.count(in: view)
                    } catch { findings.append("table \(handle.schema.name): \(error)") }
                }
            }
        } catch { findings.append("the tables cannot be read: \(error)") }
        for finding in copies + findings { Terminal.write("\(finding)\n") }
        let content = "\(DisplayText.count(tables, "table")), \(DisplayText.count(rows, "row"))"
        guard findings.isEmpty else {
            throw Failure(
                "\(file) is damaged: \(DisplayText.count(copies.count + findings.count, "finding")). Restore a backup, or "
                    + "save what can still be read with 'mako salvage \(file) NEW'",
                .damaged)
        }
        guard copies.isEmpty else {
            throw Failure(
                "\(file) has lost nothing (\(content)), but what it keeps twice is damaged in one place. Copy it to "
                    + "another disk; the next change to it writes the damaged part anew",
                .damaged)
        }
        Terminal.write("\(file) is whole: \(content), checked in \(DisplayText.duration(.now - start)).\n")
    }
}

extension VerifyProgress {
    fileprivate var percent: Int { total == 0 ? 100 : done * 100 / total }
}
