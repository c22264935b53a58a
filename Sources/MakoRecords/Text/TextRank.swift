import CPlatform
import MakoStorage

/// Ranks rows by BM25, as defined by Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with k1 =
/// 1.2 and b = 0.75. A term that n of N rows have weighs ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative; a
/// row's length is that of all columns of the index.
struct TextRank {
    private static let k1 = 1.2
    private static let b = 0.75

    private let rows: [UInt64]
    private(set) var scores: [Double]
    /// The length term of each row in the denominator.
    private var norms: [Double]
    private let total: Double

    /// - Parameter rows: the rows, ascending.
    init(_ index: FullTextIndex, _ rows: [UInt64], _ view: Snapshot) throws(RecordError) {
        self.rows = rows
        scores = Array(repeating: 0, count: rows.count)
        norms = []
        let totals = try TextTotals(index, in: view)
        total = Double(totals.rows)
        let words = totals.words.reduce(0.0) { $0 + Double($1) }
        norms.reserveCapacity(rows.count)
        try readLengths(index, view, average: max(words, 1) / max(total, 1))
    }

    private mutating func readLengths(
        _ index: FullTextIndex, _ view: Snapshot, average: Double
    ) throws(RecordError) {
        let columns = index.slots.count
        let slope = TextRank.k1 * TextRank.b / average
        try recorded {
            var cursor = try view.cursor(in: index.tree)
            var key = KeyBuffer()
            var next = 0
            var stands = false
            while next < rows.count {
                let block = FullTextIndex.block(of: rows[next])
                FullTextIndex.lengthKey(block, into: &key)
                // Most rows are in the block of the previous one, or in the next.
                if stands { stands = try cursor.next() && cursor.withKey { KeyOrder.compareRaw($0, key.raw) == 0 } }
                if !stands { stands = try cursor.seek(key.bytes) && cursor.key == key.bytes }
                guard stands else { throw index.damaged("the length of a row is missing") }
                try cursor.withValue { bytes in
                    var numbers = NumberReader(bytes)
                    while next < rows.count, FullTextIndex.block(of: rows[next]) == block {
                        let place = FullTextIndex.place(of: rows[next])
                        var length: UInt64 = 0
                        var isThere = false
                        while !isThere {
                            guard !numbers.isAtEnd else { throw index.damaged("the length of a row is missing") }
                            isThere = bytes[numbers.place] == place
                            numbers.skip(1)
                            length = 0
                            for _ in 0..<columns { length &+= numbers.next() ?? 0 }
                        }
                        norms.append(TextRank.k1 * (1 - TextRank.b) + slope * Double(length))
                        next += 1
                    }
                }
            }
        }
    }

    /// Adds the scores of a term's rows.
    mutating func add(_ found: TermRows) {
        let count = Double(found.rows.count)
        let weight = log(1 + (max(total, count) - count + 0.5) / (count + 0.5)) * (TextRank.k1 + 1)
        var place = 0
        for (number, row) in found.rows.enumerated() {
            while place < rows.count, rows[place] < row { place += 1 }
            guard place < rows.count else { return }
            guard rows[place] == row else { continue }
            let often = Double(found.counts[number])
            scores[place] += weight * often / (often + norms[place])
        }
    }

    /// Returns the rows from the best to the worst; equal ones in ascending order.
    ///
    /// - Parameter wanted: the number of rows needed; `nil` for all.
    static func best(_ rows: [UInt64], _ scores: [Double], _ wanted: Int?) -> [UInt64] {
        func isBetter(_ a: Int, _ b: Int) -> Bool { scores[a] == scores[b] ? a < b : scores[a] > scores[b] }
        guard let wanted, wanted < rows.count / 2 else {
            return rows.indices.sorted(by: isBetter).prefix(wanted ?? .max).map { rows[$0] }
        }
        // A binary heap with the worst of the best rows on top.
        var heap: [Int] = []
        func sink(_ start: Int) {
            var parent = start
            while true {
                var worst = parent
                for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                    if isBetter(heap[worst], heap[child]) { worst = child }
                }
                if worst == parent { return }
                heap.swapAt(parent, worst)
                parent = worst
            }
        }
        for place in rows.indices {
            if heap.count < wanted {
                heap.append(place)
                if heap.count == wanted { for start in stride(from: wanted / 2, through: 0, by: -1) { sink(start) } }
            } else if let worst = heap.first, isBetter(place, worst) {
                heap[0] = place
                sink(0)
            }
        }
        return heap.sorted(by: isBetter).map { rows[$0] }
    }
}
