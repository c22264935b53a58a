// Access paths of spatial indexes: places within a distance or a box, and the nearest ones.
extension Planner {
    /// Returns the access path to rows within a radius or a box or, ordered by distance with a limit, to the nearest
    /// ones.
    static func byPlace(_ index: IndexHandle, _ input: Input) -> Candidate? {
        let area = area(index, input.conjuncts, input.constraints)
        if let search = nearest(index, input.bound, input.conjuncts, input.orders) {
            // The last ring has up to four times the area that is needed, the ones before it a third of that.
            let wanted = Double(search.wanted) * 4 * (input.leavesResidual([]) ? 10 : 1) + 100
            let rows = min(wanted, input.estimates.rows)
            return Candidate(
                access: .index(index, [KeyRange(lower: [], upper: nil)]), isReversed: false, isOrdered: false,
                answered: [], used: [],
                cost: input.searchCost(
                    rows: rows, perRow: input.estimates.indexCost, isOrdered: false, answered: []),
                rows: rows, nearest: search)
        }
        guard let area else { return nil }
        let ranges = SpaceCurve.ranges(area.boxes).map { KeyRange(cells: $0) }
        let isOrdered = input.orders.isEmpty
        let rows = max(1, input.estimates.rows * max(0.0005, area.boxes.reduce(0) { $0 + $1.share }))
        return Candidate(
            access: ranges.isEmpty ? .nothing : .index(index, ranges), isReversed: false, isOrdered: isOrdered,
            answered: [], used: area.used,
            cost: input.searchCost(
                rows: rows, perRow: input.estimates.indexCost, isOrdered: isOrdered, answered: []),
            rows: rows)
    }

    /// The area that conjuncts restrict a row's place to.
    private struct Area {
        let boxes: [GeoBox]
        let used: [Int]
    }

    private static func area(
        _ index: IndexHandle, _ conjuncts: [BoundCondition], _ constraints: [Constraint]
    ) -> Area? {
        var best: Area?
        var share = Double.infinity
        func note(_ area: Area) {
            let mine = area.boxes.reduce(0) { $0 + $1.share }
            if mine < share { (best, share) = (area, mine) }
        }
        for (place, conjunct) in conjuncts.enumerated() {
            guard case .comparison(let operation, let side, .constant(let value)) = conjunct,
                [.less, .lessOrEqual, .equal].contains(operation), let centre = DistanceCall(side, index),
                let radius = value.number
            else { continue }
            let boxes = Sphere.boxes(around: centre.latitude, centre.longitude, within: radius)
            note(Area(boxes: boxes, used: [place]))
        }
        if let box = box(index, constraints) { note(Area(boxes: [box.box], used: box.used)) }
        return best
    }

    /// Returns the box that ranges of both columns give.
    private static func box(_ index: IndexHandle, _ constraints: [Constraint]) -> (box: GeoBox, used: [Int])? {
        var used: [Int] = []
        func bounds(_ part: IndexHandle.Part) -> (low: Double, high: Double)? {
            var low: Double?
            var high: Double?
            for constraint in constraints
            where constraint.term == Constraint.Term(ordinal: Int(part.slot.ordinal), noCase: false) {
                switch constraint.test {
                case .equal(let value): (low, high) = (value.number, value.number)
                case .lower(let value, _): low = value.number.map { max($0, low ?? $0) }
                case .upper(let value, _): high = value.number.map { min($0, high ?? $0) }
                default: continue
                }
                used.append(constraint.conjunct)
            }
            guard let low, let high else { return nil }
            return (low, high)
        }
        // Outside these limits a number is not a coordinate, or denotes the place of another number.
        guard let north = bounds(index.parts[0]), north.low >= -90, north.high <= 90,
            let east = bounds(index.parts[1]), east.low >= -180, east.high <= 180
        else { return nil }
        return (GeoBox(south: north.low, north: north.high, west: east.low, east: east.high), used)
    }

    private static func nearest(
        _ index: IndexHandle, _ bound: BoundSelection, _ conjuncts: [BoundCondition], _ orders: [BoundOrder]
    ) -> NearestSearch? {
        guard let limit = bound.limit, let first = orders.first, !first.descending, !first.reversesNulls,
            let centre = DistanceCall(first.expr, index), Sphere.isPlace(centre.latitude, centre.longitude)
        else { return nil }
        let (wanted, overflow) = limit.addingReportingOverflow(bound.offset)
        if overflow || wanted > 100_000 { return nil }
        var farthest = Double.infinity
        for conjunct in conjuncts {
            guard case .comparison(let operation, let side, .constant(let value)) = conjunct,
                [.less, .lessOrEqual, .equal].contains(operation), PredicateImplication.isSame(side, first.expr),
                let radius = value.number
            else { continue }
            farthest = min(farthest, radius)
        }
        // A latitude alone does not make a place: the longitude may be NULL, and 500 is none.
        let isSomewhere = conjuncts.contains { conjunct in
            switch conjunct {
            case .comparison(_, let side, .constant(let value)):
                !value.isNull && PredicateImplication.isSame(side, first.expr)
            case .not(.isNull(let side)): PredicateImplication.isSame(side, first.expr)
            default: false
            }
        }
        return NearestSearch(
            index: index, latitude: centre.latitude, longitude: centre.longitude, distance: first.expr, wanted: wanted,
            isSomewhere: isSomewhere, farthest: farthest)
    }
}

/// `distance(latitude, longitude, …)` between a row's place and a constant one, in either order.
private struct DistanceCall {
    let latitude: Double
    let longitude: Double

    init?(_ expr: BoundExpr, _ index: IndexHandle) {
        guard case .function(.distance, let arguments) = expr, arguments.count == 4 else { return nil }
        for (columns, values) in [(arguments[..<2], arguments[2...]), (arguments[2...], arguments[..<2])] {
            let ordinals = columns.map { side -> Int? in
                guard case .column(let column) = side, column.node < 0 else { return nil }
                return column.ordinal
            }
            let numbers = values.compactMap { $0.constant?.number }
            if numbers.count == 2, ordinals == index.parts.map({ Int($0.slot.ordinal) }) {
                (latitude, longitude) = (numbers[0], numbers[1])
                return
            }
        }
        return nil
    }
}

extension Value {
    /// The number as a double, rounded if necessary.
    fileprivate var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
