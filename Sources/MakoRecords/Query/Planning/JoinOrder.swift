/// Chooses the order of a join's tables.
///
/// Orders are built table by table. Of the orders of one set of tables, only those that can still become the best are
/// kept, so that for few tables the search is exhaustive; for many tables it is a beam search of fixed width. A partial
/// order is a few numbers and the index of its prefix.
struct JoinOrder {
    /// The largest number of tables for which the search is exhaustive.
    static let exhaustiveLimit = 8
    /// The beam width beyond that.
    private static let width = 16
    private static let exhaustiveWidth = 1024

    private struct OrderPath {
        let source: Int
        let placed: SourceSet
        /// The index of the order without its last table.
        let parent: Int
        /// The rows of the prefix that the last table is joined to.
        let outer: Double
        var rows: Double
        /// The cost that a limit reduces.
        var running: Double
        /// The fixed cost, independent of the limit.
        var once: Double
        /// Whether the rows come in the wanted order.
        let isOrdered: Bool

        var cost: Double { running + once }
        /// The cost by which orders of different tables are compared.
        var rank: Double { cost + CostModel.joinRow * rows }
    }

    private let planner: JoinPlanner
    private let graph: JoinGraph
    private let wanted: Double?

    init(_ planner: JoinPlanner) {
        self.planner = planner
        graph = planner.graph
        wanted = planner.input.wanted.map(Double.init)
    }

    /// The order found.
    struct FoundOrder {
        /// The tables, each with the expected number of outer rows.
        var order: [(source: Int, outer: Double)]
        var rows: Double
        var cost: Double
        /// The number of orders and prefixes that were costed.
        var weighed = 0
    }

    func best() -> FoundOrder {
        let count = graph.tables.count
        let width = count <= JoinOrder.exhaustiveLimit ? JoinOrder.exhaustiveWidth : JoinOrder.width
        var paths = starts()
        var weighed = paths.count
        var level = 0..<paths.count
        for _ in 1..<max(1, count) {
            var longer: [OrderPath] = []
            for place in level {
                for next in 0..<count where mayFollow(next, paths[place].placed) {
                    longer.append(extended(paths[place], place, next))
                }
            }
            weighed += longer.count
            level = paths.count..<paths.count
            paths += kept(longer, width)
            level = level.lowerBound..<paths.count
        }
        let best = level.min { finished(paths[$0]) < finished(paths[$1]) }
        guard let best else {
            let typical = JoinEstimate.typicalRows
            return FoundOrder(order: planner.sources.indices.map { ($0, typical) }, rows: typical, cost: typical)
        }
        return FoundOrder(
            order: order(best, paths), rows: paths[best].rows, cost: finished(paths[best]), weighed: weighed)
    }

    /// Returns the cost of an order; `nil` if left joins rule it out.
    func cost(of order: [Int]) -> Double? {
        guard let first = order.first, var path = starts().first(where: { $0.source == first }) else { return nil }
        for next in order.dropFirst() {
            guard mayFollow(next, path.placed) else { return nil }
            path = extended(path, 0, next)
        }
        return finished(path)
    }

    private func order(_ last: Int, _ paths: [OrderPath]) -> [(source: Int, outer: Double)] {
        var order: [(source: Int, outer: Double)] = []
        var place = last
        while place >= 0 {
            order.append((paths[place].source, paths[place].outer))
            place = paths[place].parent
        }
        return order.reversed()
    }

    private func mayFollow(_ next: Int, _ placed: SourceSet) -> Bool {
        placed & (1 << SourceSet(next)) == 0 && graph.tables[next].needs & ~placed == 0
    }

    private func starts() -> [OrderPath] {
        let isSorted = planner.input.orders.isEmpty
        return graph.tables.indices.filter { !graph.tables[$0].isLeft }.map { source in
            let table = graph.tables[source]
            var path = OrderPath(
                source: source, placed: 1 << SourceSet(source), parent: -1, outer: 1, rows: max(1, table.rows),
                running: table.cost, once: 0, isOrdered: isSorted || planner.ordered[source] != nil)
            guard !isSorted, let ordered = planner.ordered[source] else { return path }
            if ordered.orders.isEmpty {
                path.running = path.rows * (CostModel.indexRow + CostModel.joinRow)
            } else {
                (path.running, path.once) = (0, table.cost + CostModel.scatteredSort * path.rows)
            }
            return path
        }
    }

    private func extended(_ path: OrderPath, _ place: Int, _ next: Int) -> OrderPath {
        let outer = path.isOrdered ? min(path.rows, wanted ?? path.rows) : path.rows
        let step = graph.step(next, after: path.placed, rows: outer)
        var rows = path.rows * step.fan
        if graph.tables[next].isLeft {
            rows = max(rows, path.rows)
        } else {
            rows *= graph.filterShare(next, after: path.placed)
        }
        return OrderPath(
            source: next, placed: path.placed | 1 << SourceSet(next), parent: place, outer: outer,
            rows: max(rows, 0.01), running: path.running + path.rows * step.each + CostModel.joinRow * rows,
            once: path.once + step.once, isOrdered: path.isOrdered)
    }

    /// Returns the cheapest orders of one length, without those dominated by another order of the same tables.
    private func kept(_ paths: [OrderPath], _ width: Int) -> [OrderPath] {
        var kept: [OrderPath] = []
        let ranked = paths.indices.sorted { left, right in
            (paths[left].rank, left) < (paths[right].rank, right)
        }
        for place in ranked where !kept.contains(where: { isAsGood($0, paths[place]) }) {
            kept.append(paths[place])
            if kept.count == width { break }
        }
        return kept
    }

    /// Returns whether every continuation of the other order is at least as cheap after this one.
    private func isAsGood(_ path: OrderPath, _ other: OrderPath) -> Bool {
        guard path.placed == other.placed, path.isOrdered == other.isOrdered else { return false }
        if wanted == nil { return path.cost <= other.cost && path.rows <= other.rows * (1 + 1e-9) }
        // The share of the rows that a limit leaves depends on their number.
        return path.running <= other.running && path.once <= other.once
            && abs(path.rows - other.rows) <= 1e-9 * path.rows
    }

    /// Returns the total cost, with the sort, and what a limit saves.
    private func finished(_ path: OrderPath) -> Double {
        guard path.isOrdered else {
            return path.cost + path.rows * (wanted == nil ? CostModel.scatteredSort : CostModel.heap)
        }
        return path.running * (wanted.map { min(1, $0 / max(1, path.rows)) } ?? 1) + path.once
    }
}
