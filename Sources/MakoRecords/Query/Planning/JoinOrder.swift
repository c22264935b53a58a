/// The order of a join's tables: every order is tried where there are few, else always the table that is cheapest next.
struct JoinOrder {
    private static let exhaustiveLimit = 6

    private struct Path {
        var sources: [Int]
        /// How many rows stand before each.
        var outer: [Double]
        var cost: Double
        /// What of it is paid once, however few rows are wanted.
        var build: Double
        var rows: Double
    }

    private let planner: JoinPlanner

    init(_ planner: JoinPlanner) { self.planner = planner }

    /// The tables, each with how many rows are expected before it, and what is expected of all.
    func best() -> (order: [(source: Int, outer: Double)], rows: Double, cost: Double) {
        var best: Path?
        for first in planner.sources.indices where planner.sources[first].left == nil {
            let rows = max(1, JoinEstimate.ownRows(first, planner))
            let cost = JoinEstimate.ownCost(first, planner)
            let start = Path(sources: [first], outer: [1], cost: cost, build: 0, rows: rows)
            let isSmall = planner.sources.count <= JoinOrder.exhaustiveLimit
            guard let path = isSmall ? exhaustive(start) : greedy(start) else { continue }
            if let known = best, known.cost <= path.cost { continue }
            best = path
        }
        guard let best else {
            let typical = JoinEstimate.typicalRows
            return (planner.sources.indices.map { ($0, typical) }, typical, typical)
        }
        return (Array(zip(best.sources, best.outer)), best.rows, best.cost)
    }

    /// The paths through sets of tables, from small sets to large ones; of those through the same tables the cheapest.
    private func exhaustive(_ start: Path) -> Path? {
        let count = planner.sources.count
        let whole = (1 << count) - 1
        var paths: [Path?] = Array(repeating: nil, count: whole + 1)
        paths[1 << start.sources[0]] = start
        for placed in 1...whole {
            guard let path = paths[placed], placed != whole else { continue }
            for next in 0..<count where mayFollow(next, SourceSet(placed)) {
                let longer = extended(path, next, SourceSet(placed))
                let place = placed | 1 << next
                if let known = paths[place], known.cost <= longer.cost { continue }
                paths[place] = longer
            }
        }
        return paths[whole].map(finished)
    }

    private func greedy(_ start: Path) -> Path? {
        var path = start
        var placed: SourceSet = 1 << SourceSet(start.sources[0])
        while path.sources.count < planner.sources.count {
            var best: Path?
            for next in planner.sources.indices where mayFollow(next, placed) {
                let longer = extended(path, next, placed)
                if let known = best, known.cost + known.rows <= longer.cost + longer.rows { continue }
                best = longer
            }
            guard let best, let last = best.sources.last else { return nil }
            path = best
            placed |= 1 << SourceSet(last)
        }
        return finished(path)
    }

    private func mayFollow(_ next: Int, _ placed: SourceSet) -> Bool {
        placed & (1 << SourceSet(next)) == 0 && planner.leftNeeds[next] & ~placed == 0
    }

    private func extended(_ path: Path, _ next: Int, _ placed: SourceSet) -> Path {
        let outer = visited(path)
        let way = JoinWay.best(next, placed, planner, outer)
        var rows = path.rows * way.fan
        if planner.sources[next].left != nil {
            rows = max(rows, path.rows)
        } else {
            rows *= JoinEstimate.shareOfTheRest(next, placed, planner)
        }
        return Path(
            sources: path.sources + [next], outer: path.outer + [outer],
            cost: path.cost + way.cost(path.rows) + rows, build: path.build + way.build, rows: max(rows, 0.01))
    }

    /// The rows of a path that are looked at, where a limit may end the loops before all are.
    private func visited(_ path: Path) -> Double {
        guard let wanted = planner.question.wanted else { return path.rows }
        let isEnded = planner.question.orders.isEmpty || planner.ordered[path.sources[0]] != nil
        return isEnded ? min(path.rows, Double(wanted)) : path.rows
    }

    /// With what sorting costs, and what a limit spares.
    private func finished(_ path: Path) -> Path {
        var path = path
        let first = path.sources[0]
        let start = JoinEstimate.ownCost(first, planner)
        let rows = JoinEstimate.ownRows(first, planner)
        var share = 1.0
        if let wanted = planner.question.wanted { share = min(1, Double(wanted) / max(1, path.rows)) }
        let loops = path.cost - start - path.build
        if planner.question.orders.isEmpty {
            path.cost = (start + loops) * share + path.build
        } else if let ordered = planner.ordered[first] {
            let reading = ordered.orders.isEmpty ? max(1, rows * share) * 2.5 : start + 2 * rows
            path.cost = reading + loops * share + path.build
        } else {
            path.cost += path.rows * (planner.question.wanted == nil ? 2 : 0.3)
        }
        return path
    }
}
