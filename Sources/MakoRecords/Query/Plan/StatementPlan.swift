/// How a statement is run; prints itself as an explanation.
///
/// It holds no snapshot: it may be run over any number of them, from any thread.
enum StatementPlan: Sendable, CustomStringConvertible {
    case select(SelectPlan)
    case compound(CompoundSelect<SelectPlan>)

    /// The one that says what the columns are.
    var first: SelectPlan {
        switch self {
        case .select(let plan): plan
        case .compound(let plan): plan.first
        }
    }

    var description: String {
        switch self {
        case .select(let plan): plan.description
        case .compound(let plan): plan.description
        }
    }

    /// About how many rows it gives.
    var expectedRows: Double {
        switch self {
        case .select(let plan): plan.expectedRows
        case .compound(let plan): plan.parts.reduce(0) { $0 + $1.expectedRows }
        }
    }

    /// The same, which a cancellation ends.
    func ended(by cancellation: Cancellation?) -> StatementPlan {
        switch self {
        case .select(let plan): .select(plan.ended(by: cancellation))
        case .compound(let plan): .compound(plan.map { $0.ended(by: cancellation) })
        }
    }
}

extension CompoundSelect<SelectPlan> {
    var description: String {
        var lines = [first.description]
        for (operation, plan) in rest { lines += [operation.rawValue, plan.description] }
        return (lines + endLines).joined(separator: "\n")
    }

    /// What is done with all rows in the end, in words.
    var stepText: String? { endLines.isEmpty ? nil : endLines.joined(separator: ", ") }

    private var endLines: [String] {
        var lines: [String] = []
        if !terms.isEmpty {
            let names = terms.map { first.names[$0.place] + ($0.descending ? " DESC" : "") }
            lines.append("sort by " + names.joined(separator: ", "))
        }
        if let limit { lines.append("limit \(limit)") }
        if offset > 0 { lines.append("offset \(offset)") }
        return lines
    }
}
