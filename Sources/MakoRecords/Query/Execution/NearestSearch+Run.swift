import MakoStorage

extension NearestSearch {
    /// The radius of the first ring, in metres.
    private static let firstRadius = 500.0

    func keys(
        _ plan: Plan, _ view: Snapshot, _ measure: PlanMeasure?, _ sort: OperatorMeasure?
    ) throws(RecordError) -> [RowKey] {
        var radius = NearestSearch.firstRadius
        while true {
            let isWhole = radius >= Sphere.farthest
            let (sorter, found) = try ring(radius, isWhole, plan, view, measure)
            measure?.access.operation = .nearest
            sort?.hold(sorter.peakBytes)
            if isWhole || found >= wanted || radius >= farthest {
                return try sorter.sorted(offset: plan.bound.offset, limit: plan.bound.limit)
            }
            // While nothing is near, larger steps find the first rows sooner.
            radius *= found == 0 ? 4 : 2
        }
    }

    /// Adds all rows within a distance; every other row is farther away.
    private func ring(
        _ radius: Double, _ isWhole: Bool, _ plan: Plan, _ view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> (sorter: Sorter, found: Int) {
        let sorter = Sorter(plan, view)
        let scan = RowScan(Plan(plan, by: .index(index, ranges(radius, isWhole))), view)
        scan.measure = measure
        let values = ExpressionExecutor(bound: [distance], plan.table, plan.bound.joins, view)
        var found = 0
        try recorded {
            try scan.forEachRow(plan.table.layout, expecting: 1 << 20) { key, row in
                if !isWhole, case .double(let metres) = try values.operand(0, row, key), metres > radius {
                    return true
                }
                found += 1
                try sorter.add(key, row)
                return true
            }
        }
        return (sorter, found)
    }

    private func ranges(_ radius: Double, _ isWhole: Bool) -> [KeyRange] {
        if isWhole && !isSomewhere { return [KeyRange(lower: [], upper: nil)] }
        var ranges = SpaceCurve.ranges(Sphere.boxes(around: latitude, longitude, within: radius))
            .map { KeyRange(cells: $0) }
        if !isSomewhere { ranges.append(KeyRange(cells: SpaceCurve.nowhere...SpaceCurve.nowhere)) }
        return ranges
    }
}
