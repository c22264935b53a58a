import Foundation
import MakoRecords
import MakoStorage

/// Finds indexes that would replace the scans of a SELECT: for each filter above a scan of a table, those that the same
/// condition lacks as a condition of its own.
struct StudioAdvice {
    private let catalogue: Catalogue
    private let view: Snapshot

    init(_ catalogue: Catalogue, _ view: Snapshot) { (self.catalogue, self.view) = (catalogue, view) }

    func missingIndexes(of plan: PlanNode) -> [PlanExplanation.MissingIndex] {
        var found: [PlanExplanation.MissingIndex] = []
        collect(plan, &found)
        return found
    }

    private func collect(_ node: PlanNode, _ found: inout [PlanExplanation.MissingIndex]) {
        if node.operation == .filter, let scan = node.children.first, scan.operation == .scan, let table = scan.table {
            let name = scan.text.components(separatedBy: " AS ").dropFirst().last ?? table
            for index in missing(node.text, table, name: name) where !found.contains(index) { found.append(index) }
        }
        for child in node.children { collect(child, &found) }
    }

    /// - Parameter name: the name of the table in the statement.
    /// - Returns: none for a condition that holds only within the statement, such as one on an outer row.
    private func missing(_ text: String, _ table: String, name: String) -> [PlanExplanation.MissingIndex] {
        let written = text.hasPrefix("filter ") ? String(text.dropFirst("filter ".count)) : text
        for condition in [written, Self.unqualified(written, name)] {
            guard let parsed = try? Condition.parse(condition),
                let explanation = try? Selection(table: table, condition: parsed).explanation(catalogue, in: view)
            else { continue }
            return explanation.missingIndexes
        }
        return []
    }

    /// Removes the table's name before columns, outside of quotes.
    static func unqualified(_ condition: String, _ table: String) -> String {
        var result = ""
        var rest = condition[...]
        var quote: Character?
        var isWordStart = true
        while let next = rest.first {
            if quote == nil, isWordStart, rest.hasPrefix(table + ".") {
                rest = rest.dropFirst(table.count + 1)
                isWordStart = false
                continue
            }
            if next == quote { quote = nil } else if quote == nil, next == "'" || next == "\"" { quote = next }
            isWordStart = !(next.isLetter || next.isNumber || next == "_" || next == ".")
            result.append(next)
            rest = rest.dropFirst()
        }
        return result
    }
}
