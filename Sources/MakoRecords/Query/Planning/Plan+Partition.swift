import MakoStorage

extension Plan {
    /// Returns a plan that scans large tables in parallel: tables with row ids, in any order of ids, whose condition
    /// has no sub-queries.
    func divided(in view: Snapshot) -> Plan {
        guard isScan else { return self }
        var plan = self
        plan.partition = isDivided(in: view) ? .parts(threads: view.queryThreads) : .none
        return plan
    }

    /// Whether the access path is a scan by row id.
    fileprivate var isScan: Bool { if case .access(.rows) = accessPath { true } else { false } }

    private func isDivided(in view: Snapshot) -> Bool {
        guard case .access(.rows(let range)) = accessPath, orders.isEmpty, !isReversed, bound.limit == nil,
            bound.offset == 0,
            bound.matches.isEmpty, let rows = try? table.count(in: view), rows > view.parallelRows,
            bound.subqueries.isEmpty
        else { return false }
        if range != .min ... .max {
            // An unreadable tree is left to the scan, which reports the error.
            let keys = KeyOrder.treeKey(range.lowerBound)...KeyOrder.treeKey(range.upperBound)
            guard let some = try? view.estimatedCount(in: keys, of: table.rows), some > Double(view.parallelRows) else {
                return false
            }
        }
        return true
    }
}

extension SelectPlan {
    /// Returns a plan that scans in parallel if the tables have enough rows in this snapshot.
    func divided(in view: Snapshot) -> SelectPlan {
        var copy = self
        switch feed {
        case .table(let plan) where plan.isScan: copy.feed = .table(plan.divided(in: view))
        case .count(let plan) where plan.isScan: copy.feed = .count(plan.divided(in: view))
        case .join(let plan): copy.feed = .join(plan.divided(in: view))
        case .table, .count, .extremes: return self
        }
        return copy
    }
}

extension JoinPlan {
    /// Returns a plan that scans the driving table in parallel, if all other tables are hashed or looked up.
    fileprivate func divided(in view: Snapshot) -> JoinPlan {
        guard steps.count > 1 else { return self }
        let step = steps[driver]
        switch step.method {
        case .first, .outerHash: break
        case .kept, .key, .index, .range, .holders, .held: return self
        }
        guard step.own.isScan, steps[(driver + 1)...].allSatisfy(\.isDivisible),
            (step.match + step.after).allSatisfy(\.subqueries.isEmpty)
        else { return self }
        return reading(step.own.divided(in: view))
    }
}

extension JoinStep {
    /// Whether the join method finds rows for a batch of outer rows at once.
    fileprivate var isDivisible: Bool {
        switch method {
        case .kept(let equalities) where !equalities.isEmpty: break
        case .key, .index: break
        case .first, .kept, .range, .holders, .held, .outerHash: return false
        }
        return own.bound.subqueries.isEmpty && own.bound.matches.isEmpty
            && (match + after).allSatisfy(\.subqueries.isEmpty)
    }
}
