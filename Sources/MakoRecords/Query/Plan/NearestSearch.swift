/// Finds the rows nearest to a place: searches rings around it, each twice as wide as the one before, until there are
/// enough rows.
struct NearestSearch: Sendable {
    let index: IndexHandle
    let latitude: Double
    let longitude: Double
    let distance: BoundExpr
    /// The number of rows needed, with those of the offset.
    let wanted: Int
    /// Whether the query excludes rows without a place, whose distance is NULL, which sorts first.
    let isSomewhere: Bool
    /// The largest distance that the condition accepts, or infinity.
    let farthest: Double
}
