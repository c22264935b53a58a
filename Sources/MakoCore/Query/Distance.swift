import MakoRecords

// Swift has no key paths to methods, so the distance is a subscript: `\.place[distanceTo: home] < 500`.

extension Column where V == Coordinate {
    /// The distance of the coordinate from another one in metres, on a sphere of the Earth's mean radius.
    ///
    /// ```swift
    /// let near = try Harbour.query().where(\.place[distanceTo: home] < 5_000).orderBy(\.place[distanceTo: home]).limit(10).fetch()
    /// ```
    ///
    /// With `@Attribute(.spatial)` on the property, the planner finds the rows by an index.
    public subscript(distanceTo place: Coordinate) -> Column<Double> { Column<Double>(path: path.distance(to: place)) }
}

extension Column where V == Coordinate? {
    /// The distance of an optional coordinate from another one in metres; nil for nil.
    public subscript(distanceTo place: Coordinate) -> Column<Double?> {
        Column<Double?>(path: path.distance(to: place))
    }
}

extension [PathStep] {
    fileprivate func distance(to place: Coordinate) -> [PathStep] {
        guard let composite = last?.composite, composite.member == nil else {
            return dropLast() + [PathStep(withoutParts)]
        }
        return dropLast() + [PathStep(distanceFrom: composite, to: place)]
    }
}
