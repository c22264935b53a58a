import MakoRecords

// Swift has no key paths through methods, so what is measured is a subscript: `\.place[distanceTo: home] < 500`.

extension Column where V == Coordinate {
    /// How many metres the place is from another, over a ball of the Earth's mean radius.
    ///
    /// ```swift
    /// let near = try Harbour.query().where(\.place[distanceTo: home] < 5_000).orderBy(\.place[distanceTo: home]).limit(10).fetch()
    /// ```
    ///
    /// `@Attribute(.spatial)` on the property has an index find the rows.
    public subscript(distanceTo place: Coordinate) -> Column<Double> { Column<Double>(path: path.distance(to: place)) }
}

extension Column where V == Coordinate? {
    /// How many metres the place is from another; nil for nil.
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
