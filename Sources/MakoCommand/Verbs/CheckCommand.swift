import ArgumentParser
import MakoRecords
import MakoStorage

struct CheckCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks every page, row and index of a database.",
        discussion: "Nothing is changed. The exit status is 1 when something is found to be damaged.")

    @Argument(help: "The database file.", completion: .file())
    var file: String

    func perform() throws {
        let database = try DatabaseFile(reading: file)
        let start = ContinuousClock.now
        var findings = try database.store.verify().findings.map { "\($0)" }
        var rows = 0
        var tables = 0
        try database.read { view, catalogue in
            for handle in catalogue.handles {
                findings += try handle.verify(in: view)
                rows += try handle.count(in: view)
                tables += 1
            }
        }
        for finding in findings { Terminal.write("\(finding)\n") }
        guard findings.isEmpty else {
            throw Failure(
                "\(file) is damaged: \(DisplayText.count(findings.count, "finding")). Restore a backup, or save what can "
                    + "still be read with 'mako export'",
                .damaged)
        }
        Terminal.write(
            "\(file) is whole: \(DisplayText.count(tables, "table")), \(DisplayText.count(rows, "row")), checked in "
                + "\(DisplayText.duration(.now - start)).\n")
    }
}
