/// The values in one column of a row: those of a list, or the keys of other rows.
package final class BoundGathered: Sendable, Hashable {
    /// The column that holds them.
    let column: BoundExpr
    /// Whether they are keys of rows.
    let holdsKeys: Bool
    /// The aggregate over them; `nil` for a condition that one of them must fulfil.
    let function: AggregateFunction?
    let condition: BoundCondition?

    init(_ column: BoundExpr, holdsKeys: Bool, function: AggregateFunction? = nil, condition: BoundCondition? = nil) {
        self.column = column
        self.holdsKeys = holdsKeys
        self.function = function
        self.condition = condition
    }

    var kind: ValueKind {
        switch function {
        case .count?: .whole
        case .average?, .total?: .real
        // The kind depends on the values of each row.
        case .sum?, .minimum?, .maximum?, nil: .null
        }
    }

    package static func == (left: BoundGathered, right: BoundGathered) -> Bool {
        left.column == right.column && left.holdsKeys == right.holdsKeys && left.function == right.function
            && left.condition == right.condition
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(column)
        hasher.combine(function)
    }
}

extension BoundGathered: CustomStringConvertible {
    package var description: String {
        if let function { return "\(column).@\(function.rawValue)" }
        return "ANY \(column) (\(condition.map { "\($0)" } ?? "TRUE"))"
    }
}
