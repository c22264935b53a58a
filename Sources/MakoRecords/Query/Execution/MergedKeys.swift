import MakoStorage

/// Merges the rows of several plans in the order that all of them have.
///
///     var merged = MergedKeys()
///     for plan in plans { try merged.add(plan, in: view) }
///     let firstTen = merged.rows(offset: 0, limit: 10)
package struct MergedKeys {
    private var entries: [(order: [UInt8], plan: Int, key: RowKey)] = []
    private var plans = 0

    /// Makes an empty merge.
    package init() {}

    /// Adds the rows of a plan. Plans are numbered from 0, in the order in which they are added.
    package mutating func add(_ plan: Plan, in view: Snapshot) throws(RecordError) {
        let coding = OrderCoding(plan.bound.orders, plan.bound, view)
        try recorded {
            try plan.forEachRow(in: view) { key, row in
                var order = KeyBuffer()
                try coding.append(row, key, to: &order)
                entries.append((order.bytes, plans, key))
                return true
            }
        }
        plans += 1
    }

    /// Returns the rows; of equal rows, those of earlier plans come first.
    ///
    /// - Complexity: O(n log n)
    package func rows(offset: Int, limit: Int?) -> [(plan: Int, key: RowKey)] {
        // Equal rows of one plan keep its order, so that the sort must be stable.
        let sorted = entries.enumerated().sorted { left, right in
            let order = KeyOrder.compareKeys(left.element.order, right.element.order)
            return order != 0 ? order < 0 : left.offset < right.offset
        }
        let rows = sorted.dropFirst(offset).prefix(limit ?? .max)
        return rows.map { (plan: $0.element.plan, key: $0.element.key) }
    }
}

extension PlanNode {
    /// Makes the operator for the rows of several classes: merged in one order, or one class after the other.
    package init(classes plans: [PlanNode], isMerged: Bool, limit: Int?, offset: Int) {
        let cut = PlanNode.limitText(limit, offset).map { ", \($0)" } ?? ""
        var counts: Counts?
        if plans.contains(where: { $0.counts != nil }) {
            let rows = plans.reduce(0) { $0 + ($1.counts?.passed ?? 0) }
            counts = Counts(runs: 1, rows: rows, passed: min(max(0, rows - offset), limit ?? .max))
        }
        self.init(
            isMerged ? .merge : .append, (isMerged ? "merge the classes by order" : "append the classes") + cut, plans,
            counts)
    }
}

extension Plan {
    /// Returns a plan for the rows with these keys, in this order.
    package func fetching(_ keys: [RowKey]) -> Plan {
        let count = keys.count
        var plan = Plan(
            bound.alone([]), access: .keys(keys), note: PlanNote(conditions: "\(count) rows"))
        plan.cancellation = cancellation
        return plan
    }
}
