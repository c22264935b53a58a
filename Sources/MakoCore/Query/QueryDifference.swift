/// How the results of a live query differ from those before: what a list on a screen needs to follow.
///
/// Deletions, and where moves begin, are places in the results before; everything else is a place in ``results``. Who takes out what is
/// deleted or moves, and then puts in what is new or moved in ascending order of places, has the results.
public struct QueryDifference<T: Entity>: Sendable {
    /// An object that stands elsewhere among those that stayed.
    public struct Move: Sendable, Hashable {
        /// The place before.
        public let from: Int
        /// The place in the results now.
        public let to: Int
    }

    /// The objects now. Those whose rows are as they were are the same instances as before.
    public let results: Results<T>
    /// Whether these are the first results, every one of them an insertion.
    public let isInitial: Bool
    /// Places, before, of the objects that are gone; ascending.
    public let deletions: [Int]
    /// Places of new objects; ascending.
    public let insertions: [Int]
    /// As few as possible, by their new places.
    public let moves: [Move]
    /// Places of objects that were there before and have other values, moved ones among them; ascending.
    public let updates: [Int]
}
