/// The difference between two consecutive results of a live query, for a list on a screen.
///
/// Deletions, and the origins of moves, are positions in the earlier results; all others are positions in ``results``.
/// Removing the deleted and moved objects from the earlier results, and then inserting the new and moved ones by
/// ascending position, gives the results.
public struct QueryDifference<T: Entity>: Sendable {
    /// An object whose position among the remaining objects changed.
    public struct Move: Sendable, Hashable {
        /// The position in the earlier results.
        public let from: Int
        /// The position in the new results.
        public let to: Int
    }

    /// The new results. Objects whose rows did not change are the same instances as before.
    public let results: Results<T>
    /// Whether these are the first results, all of which are insertions.
    public let isInitial: Bool
    /// The earlier positions of deleted objects; ascending.
    public let deletions: [Int]
    /// The positions of new objects; ascending.
    public let insertions: [Int]
    /// The moves, as few as possible, by ascending new position.
    public let moves: [Move]
    /// The positions of objects that were there before and have other values, including moved ones; ascending.
    public let updates: [Int]
}
