/// Finds the rows nearest to a place: in rings around it, each twice as wide as the one before, until there are enough of them.
struct NearestSearch: Sendable {
    let index: IndexHandle
    let latitude: Double
    let longitude: Double
    let distance: BoundExpr
    /// How many rows are asked for, those that are skipped among them.
    let wanted: Int
    /// Whether rows without a place are asked for by nobody. Their distance is NULL, which comes first.
    let isSomewhere: Bool
    /// Nothing farther away is asked for; infinite where nothing says so.
    let farthest: Double
}
