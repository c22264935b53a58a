/// How rows in an order differ from the rows that stood there before.
public struct RowsDifference: Sendable, Hashable {
    /// A row that stands elsewhere among the rows that stayed.
    public struct Move: Sendable, Hashable {
        public let from: Int
        public let to: Int
    }

    /// For each row its place before, or -1 when it is new; nil: the rows are the same, each in its place.
    public internal(set) var origins: [Int]?
    /// Places, before, of the rows that are gone; ascending.
    public internal(set) var deletions: [Int] = []
    /// Places of the new rows; ascending.
    public internal(set) var insertions: [Int] = []
    /// By their new places, ascending.
    public internal(set) var moves: [Move] = []
    /// Places of rows that were there before and whose values differ; ascending.
    public internal(set) var updates: [Int] = []

    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

    /// Rows that stayed where they are.
    init(updates: [Int]) { self.updates = updates }

    /// - Parameters:
    ///   - origins: for each row its place before, or -1.
    ///   - before: how many rows there were.
    ///   - isUpdated: whether the row at a new place, which was there before, has other values.
    init(origins: [Int], before: Int, isUpdated: (Int) -> Bool) {
        var isKept = [Bool](repeating: false, count: before)
        for (place, origin) in origins.enumerated() {
            if origin < 0 {
                insertions.append(place)
            } else {
                isKept[origin] = true
                if isUpdated(place) { updates.append(place) }
            }
        }
        deletions = isKept.indices.filter { !isKept[$0] }
        moves = RowsDifference.moves(origins)
        self.origins = insertions.isEmpty && deletions.isEmpty && moves.isEmpty ? nil : origins
    }

    /// The fewest rows that have to be taken out so that the others stand as before: all but a longest ascending subsequence.
    /// Source: C. Schensted, "Longest increasing and decreasing subsequences", 1961, with patience piles.
    private static func moves(_ origins: [Int]) -> [Move] {
        var last = -1
        let isAscending = origins.allSatisfy { origin in
            if origin < 0 { return true }
            defer { last = origin }
            return origin > last
        }
        if isAscending { return [] }
        // For each length the place whose origin ends the best run of that length, and for each place the one before it in its run.
        var ends: [Int] = []
        var previous = [Int](repeating: -1, count: origins.count)
        for (place, origin) in origins.enumerated() where origin >= 0 {
            var low = 0
            var high = ends.count
            while low < high {
                let middle = (low + high) / 2
                if origins[ends[middle]] < origin { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = ends[low - 1] }
            if low == ends.count { ends.append(place) } else { ends[low] = place }
        }
        var stays = [Bool](repeating: false, count: origins.count)
        var place = ends.last ?? -1
        while place >= 0 {
            stays[place] = true
            place = previous[place]
        }
        return origins.indices.compactMap { place in
            origins[place] >= 0 && !stays[place] ? Move(from: origins[place], to: place) : nil
        }
    }
}
