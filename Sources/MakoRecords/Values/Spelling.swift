/// Finds the name that was probably meant.
enum Spelling {
    /// Returns the nearest candidate within a few edits, or in another case.
    static func nearest(to name: String, in candidates: [String]) -> String? {
        let wanted = Folding.folded(name)
        var best: (name: String, distance: Int)?
        for candidate in candidates.sorted() {
            let distance = distance(wanted, Folding.folded(candidate))
            if distance <= max(1, wanted.count / 3), distance < wanted.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// Returns the edit distance of two words; a transposition is one edit.
    static func distance(_ first: String, _ second: String) -> Int {
        let a = Array(first.unicodeScalars.prefix(64))
        let b = Array(second.unicodeScalars.prefix(64))
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var before = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [Int](repeating: i, count: b.count + 1)
            for j in 1...b.count {
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
