import Foundation
import RandomRuns

/// Runs the scripts of a folder, reports the results and compares the refused statements with a list.
struct LogicCommand {
    let scripts: String
    /// The list; nil: refused statements are shown and are no failure.
    let refusals: String?

    /// Returns whether all results were right and no statement was refused that is not in the list.
    func run() throws -> Bool {
        let report = try LogicReport(scriptsIn: URL(filePath: scripts)) { print("    \($0)") }
        for fault in report.faults.prefix(40) { print("WRONG \(fault)") }
        let refused = report.refusals.values.reduce(0, +)
        print(
            "\(report.statements) statements and \(report.queries) queries: \(report.faults.count) wrong, \(refused) refused, "
                + "\(report.passedOver) passed over")
        print(report.refusalList, terminator: "")
        guard let refusals else { return report.faults.isEmpty }
        let list = try String(contentsOf: URL(filePath: refusals), encoding: .utf8)
        let excess = report.excess(over: LogicReport.allowed(list))
        for line in excess { print("NEW \(line)") }
        return report.faults.isEmpty && excess.isEmpty
    }
}
