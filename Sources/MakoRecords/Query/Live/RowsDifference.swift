/// The difference between two states of an ordered result.
package struct RowsDifference: Sendable, Hashable {
    /// A row whose position among the remaining rows has changed.
    package struct Move: Sendable, Hashable {
        /// The index before.
        package let from: Int
        /// The index after.
        package let to: Int
    }

    /// For each row its index before, or -1 if it is new; `nil` if rows and order are unchanged.
    package internal(set) var origins: [Int]?
    /// Indexes, before, of the removed rows; ascending.
    package internal(set) var deletions: [Int] = []
    /// Indexes of the new rows; ascending.
    package internal(set) var insertions: [Int] = []
    /// Moves, ascending by their new indexes.
    package internal(set) var moves: [Move] = []
    /// Indexes of rows that were present before and have other values; ascending.
    package internal(set) var updates: [Int] = []

    /// Whether nothing has changed.
    package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

    /// Makes a difference of updates only.
    init(updates: [Int]) { self.updates = updates }

    /// - Parameters:
    ///   - origins: for each row its index before, or -1.
    ///   - before: the number of rows before.
    ///   - isUpdated: whether the row at a new index, which was present before, has other values.
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

    /// Returns a smallest set of moves: all rows but a longest ascending subsequence of old indexes.
    /// Source: C. Schensted, "Longest increasing and decreasing subsequences", 1961, with patience piles.
    private static func moves(_ origins: [Int]) -> [Move] {
        var last = -1
        let isAscending = origins.allSatisfy { origin in
            if origin < 0 { return true }
            defer { last = origin }
            return origin > last
        }
        if isAscending { return [] }
        // For each length the row at which the best subsequence of that length ends, and for each row its predecessor.
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
