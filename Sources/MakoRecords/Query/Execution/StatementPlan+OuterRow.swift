extension StatementPlan {
    /// Returns the plan with the values of an outer row.
    func reading(_ row: [Value]) -> StatementPlan {
        switch self {
        case .select(let plan): .select(plan.reading(outer: row))
        case .compound(let plan): .compound(plan.map { $0.reading(outer: row) })
        }
    }
}

extension SelectPlan {
    fileprivate func reading(outer row: [Value]) -> SelectPlan {
        var copy = self
        switch feed {
        case .table(let plan): copy.feed = .table(plan.reading(outer: row))
        case .count(let plan): copy.feed = .count(plan.reading(outer: row))
        case .join(let plan): copy.feed = .join(plan.reading { $0.reading(outer: row) })
        case .extremes: break
        }
        return readsOuterInGroups ? copy.replacing(OuterValues(row: row)) : copy
    }
}

extension Plan {
    fileprivate func reading(outer row: [Value]) -> Plan {
        switch access {
        case .outerRow: Plan(self, by: .outerRow(row))
        case .query(let query): Plan(self, by: .query(query.reading(row)))
        default: self
        }
    }
}

/// Replaces correlated parameters by their values.
private struct OuterValues: BoundRewriting {
    let row: [Value]

    func outer(_ value: OuterValue) -> BoundExpr { .constant(row[value.index]) }
}
