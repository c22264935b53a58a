import MakoStorage

extension Plan {
    /// The same plan, which reads its rows in parts when they are many: those of a table with row ids, in their order, whose condition has no
    /// sub-queries.
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
            // The scan reports what cannot be read.
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
        case .join(let plan): copy.feed = .join(plan.divided(in: view))
        case .table, .count, .extremes: return self
        }
        return copy
    }
}

extension JoinPlan {
    /// The same, which reads the rows of the table that it walks in parts when they are many, and others are kept by a hash, or looked up, for them.
    fileprivate func divided(in view: Snapshot) -> JoinPlan {
        guard steps.count > 1 else { return self }
        let step = steps[driver]
        switch step.method {
        case .first, .walked: break
        case .kept, .key, .index, .holders, .held: return self
        }
        guard step.own.isScan, steps[(driver + 1)...].allSatisfy(\.isDivisible),
            (step.match + step.after).allSatisfy(\.subqueries.isEmpty)
        else { return self }
        return reading(step.own.divided(in: view))
    }
}

extension JoinStep {
    /// Whether its rows can be found for several rows before it at once.
    fileprivate var isDivisible: Bool {
        switch method {
        case .kept(let equalities) where !equalities.isEmpty: break
        case .key, .index: break
        case .first, .kept, .holders, .held, .walked: return false
        }
        return own.bound.subqueries.isEmpty && own.bound.matches.isEmpty
            && (match + after).allSatisfy(\.subqueries.isEmpty)
    }
}
