import MakoStorage

extension Plan {
    /// The same plan, which reads its rows in parts when they are many: those of a table with row ids, in their order, whose condition asks no other
    /// queries.
    func divided(in view: Snapshot) -> Plan {
        guard isScan else { return self }
        var plan = self
        plan.partition = isDivided(in: view) ? .parts(threads: view.queryThreads) : .none
        return plan
    }

    /// Whether rows are read by their ids.
    fileprivate var isScan: Bool { if case .access(.rows) = way { true } else { false } }

    private func isDivided(in view: Snapshot) -> Bool {
        guard case .access(.rows(let range)) = way, orders.isEmpty, !isReversed, bound.limit == nil, bound.offset == 0,
            bound.matches.isEmpty, let rows = try? table.count(in: view), rows > view.parallelRows,
            bound.subqueries.isEmpty
        else { return false }
        if range != .min ... .max {
            // What cannot be read is told of when it is to be read.
            let keys = KeyOrder.treeKey(range.lowerBound)...KeyOrder.treeKey(range.upperBound)
            guard let some = try? view.estimatedCount(in: keys, of: table.rows), some > Double(view.parallelRows) else {
                return false
            }
        }
        return true
    }
}

extension SelectPlan {
    /// The same for a snapshot: whether its rows are read in parts depends on how many they are there.
    func divided(in view: Snapshot) -> SelectPlan {
        var copy = self
        switch feed {
        case .table(let plan) where plan.isScan: copy.feed = .table(plan.divided(in: view))
        case .count(let plan) where plan.isScan: copy.feed = .count(plan.divided(in: view))
        case .table, .count, .join, .extremes: return self
        }
        return copy
    }
}
