import ArgumentParser
import Foundation
import MakoRecords
import MakoStorage

struct SalvageCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "salvage", abstract: "Saves what can be read of a damaged database into a new one.",
        discussion: """
            The damaged file and its log are only read. The new file appears under its name when it is whole; its
            indexes are built anew. Reports the losses as far as they can be determined. The exit status is 1 when
            something is lost or doubtful.

              mako salvage people.mako people-2.mako
            """)

    @Argument(help: "The damaged database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The new database file.", completion: .file())
    var target: String

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func perform() throws {
        TemporaryFiles.removeAtSignals()
        guard FileManager.default.fileExists(atPath: file) else { throw Failure("there is no file \(file)", .noInput) }
        guard !FileManager.default.fileExists(atPath: target) else {
            throw Failure("\(target) is there already; a salvage writes a new file", .usage)
        }
        let start = ContinuousClock.now
        var reporter = PhaseReporter(isForced: progress)
        defer { reporter.finish() }
        let report = try access.with { options in
            try Catalogue.salvage(from: file, to: target, options: options) { reporter.update($0) }
        }
        reporter.finish()
        Terminal.write(Self.summary(report, target: target, duration: .now - start))
        guard !report.isComplete else { return }
        throw Failure("not everything of \(file) could be saved", .damaged)
    }

    // MARK: The report

    private static func summary(_ report: TableSalvageReport, target: String, duration: Duration) -> String {
        let rows = report.tables.reduce(0) { $0 + $1.rows }
        var lines = [
            "\(target) holds \(DisplayText.count(report.tables.count, "table")), \(DisplayText.count(rows, "row")), "
                + "saved in \(DisplayText.duration(duration))."
        ]
        for table in report.tables { lines += Self.lines(table) }
        for table in report.undescribed { lines.append(Self.line(table)) }
        let unnamed = report.storage.trees.filter { !$0.hasItsName && $0.records > 0 }
        for tree in unnamed {
            lines.append(
                "\(DisplayText.count(Int(tree.records), "entry", plural: "entries")) without the name of what they belong to are in '\(tree.name)'."
            )
        }
        if let reason = report.storage.logFailure { lines.append("The log was not used to its end: \(reason).") }
        if !report.storage.knowsAllTrees {
            lines.append("The list of what the file holds is damaged: tables and rows may be missing.")
        }
        if !report.storage.isCertain {
            lines.append(
                "What says which pages count is damaged too: rows may be older versions, or may have been deleted.")
        }
        lines += (report.storage.findings + report.findings).map { "  \($0)" }
        if report.isComplete { lines.append("Nothing is lost.") }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(_ table: TableSalvageReport.Table) -> [String] {
        var lines: [String] = []
        if table.lost > 0 {
            lines.append(
                "\(table.name): \(DisplayText.count(Int(table.lost), "row")) lost, \(keys(table.lostKeys, of: table.lost))."
            )
        }
        switch table.missing {
        case .some(0): break
        case .some(let missing):
            lines.append(
                "\(table.name): \(DisplayText.count(Int(missing), "row")) lost, \(ranges(table.damagedRanges)).")
        case nil: lines.append("\(table.name): the number of its rows is unknown.")
        }
        if table.doubtful > 0 {
            lines.append("\(table.name): \(DisplayText.count(Int(table.doubtful), "row")) doubtful.")
        }
        if !table.conflicts.isEmpty {
            let count = table.conflicts.count
            lines.append(
                "\(table.name): \(DisplayText.count(count, "row")) left out because others have the same unique values, "
                    + "\(keys(table.conflicts, of: UInt64(count))).")
        }
        return lines
    }

    private static func line(_ table: TableSalvageReport.Undescribed) -> String {
        switch (table.name, table.tree) {
        case (let name?, _): "The description of table \(name) is lost."
        case (nil, let tree?): "A table is nameless: its \(DisplayText.count(Int(table.rows), "row")) are in '\(tree)'."
        default: "A table is lost."
        }
    }

    /// `with keys from 12 and below 60, or from 300`.
    private static func ranges(_ ranges: [TableSalvageReport.KeyRange]) -> String {
        let shown = ranges.prefix(5).map { range in
            let parts = [range.lower.map { "from \($0)" }, range.upper.map { "below \($0)" }].compactMap(\.self)
            return parts.isEmpty ? "anywhere" : parts.joined(separator: " and ")
        }
        guard !shown.isEmpty else { return "and which ones is unknown" }
        return "with keys " + shown.joined(separator: ", or ") + (ranges.count > 5 ? ", or elsewhere" : "")
    }

    private static func keys(_ keys: [NamedKey], of count: UInt64) -> String {
        let shown = keys.prefix(10).map(\.description).joined(separator: ", ")
        return "key \(shown)" + (count > 10 ? " and others" : "")
    }
}

/// Shows the progress of a salvage, one line per phase.
private struct PhaseReporter {
    private let isForced: Bool
    private var phase: SalvageProgress.Phase?
    private var reporter: ProgressReporter?

    init(isForced: Bool) { self.isForced = isForced }

    mutating func update(_ progress: SalvageProgress) {
        if phase != progress.phase {
            reporter?.finish()
            phase = progress.phase
            reporter = ProgressReporter(
                Self.title(progress.phase), total: progress.total.map { Int(clamping: $0) }, isForced: isForced)
        }
        reporter?.update(
            Int(clamping: progress.done), note: DisplayText.count(Int(clamping: progress.records), "record"))
    }

    mutating func finish() {
        reporter?.finish()
        reporter = nil
    }

    private static func title(_ phase: SalvageProgress.Phase) -> String {
        switch phase {
        case .searching: "searching"
        case .reading: "reading"
        case .gathering: "gathering"
        case .replaying: "applying the log"
        case .indexing: "building indexes"
        }
    }
}
