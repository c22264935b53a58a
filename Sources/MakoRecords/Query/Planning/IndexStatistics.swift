import MakoStorage

/// How many different values the leading columns of indexes have, as far as a few of their entries tell.
///
/// Nothing of it is stored. Some entries at even distances are looked at when it is asked for first, and what they say is kept as long as the
/// table is of about that size: decision 41.
final class IndexStatistics: @unchecked Sendable {
    /// So many entries are looked at.
    private static let samples = 16
    /// How far a table may grow or shrink before its indexes are looked at anew.
    private static let growth = 2.0

    private struct Found {
        /// How many entries there were.
        let entries: Double
        /// By how many of the leading columns are taken together, from one on.
        let values: [Double]
        /// The share of the entries that the commonest value that was met has.
        let commonest: [Double]
    }

    private let lock = Lock()
    /// By the indexes' trees. Guarded by the lock.
    private var found: [UInt32: Found] = [:]

    /// Forgets what is known, so that it is found out anew.
    ///
    /// - Parameter table: nil: of all tables.
    func forget(_ table: TableHandle?) {
        lock.withLock {
            if let table { for index in table.indexes { found[index.tree.id] = nil } } else { found = [:] }
        }
    }

    /// By how many the entries of an index are to be divided to have those of one value of its first columns, or of one row of values; nil:
    /// that is not known.
    func values(of index: IndexHandle, prefix: Int, in view: Snapshot) -> Double? {
        found(index, view).flatMap { $0.values.indices.contains(prefix - 1) ? $0.values[prefix - 1] : nil }
    }

    /// The share of an index's entries that one value of its first columns, or one row of values, has at most, where that is a tenth or more;
    /// nil: that is not known.
    func commonest(of index: IndexHandle, prefix: Int, in view: Snapshot) -> Double? {
        found(index, view).flatMap { $0.commonest.indices.contains(prefix - 1) ? $0.commonest[prefix - 1] : nil }
    }

    private func found(_ index: IndexHandle, _ view: Snapshot) -> Found? {
        // What cannot be read is told of when it is to be read.
        guard let entries = try? Double(view.count(of: index.tree)), entries > 0 else { return nil }
        let known = lock.withLock { found[index.tree.id] }
        if let known, entries <= known.entries * IndexStatistics.growth,
            known.entries <= entries * IndexStatistics.growth
        {
            return known
        }
        guard let fresh = try? IndexStatistics.sampled(index, entries, view) else { return nil }
        lock.withLock { found[index.tree.id] = fresh }
        return fresh
    }

    /// Each entry is as likely to be met as any other, so a value is as likely as it has entries: the mean of what one entry is of its value's
    /// entries is how many values there are for an entry.
    private static func sampled(_ index: IndexHandle, _ entries: Double, _ view: Snapshot) throws -> Found {
        let parts = index.parts.prefix { !$0.descending }
        var sums = Array(repeating: 0.0, count: parts.count)
        var met = Array(repeating: 0.0, count: parts.count)
        // Samples at even distances come upon each value that has more entries than lie between two.
        var most = Array(repeating: 0.0, count: parts.count)
        var cursor = try view.cursor(in: index.tree)
        for sample in 0..<samples {
            guard try cursor.seek(share: (Double(sample) + 0.5) / Double(samples)) else { break }
            var decoder = KeyDecoder(cursor.key)
            for (place, part) in parts.enumerated() {
                // NULL equals nothing; what is cut does not tell.
                guard let value = decoder.next(part.slot.type), !value.isNull else { break }
                let range = KeyRange(prefix: Array(decoder.bytes[..<decoder.place]))
                let alike = try view.estimatedCount(from: range.lower, to: range.upper, in: index.tree)
                sums[place] += 1 / max(1, alike)
                most[place] = max(most[place], alike / entries)
                met[place] += 1
            }
        }
        // Of all entries, not of those with a value: beside NULL a value has fewer of them.
        let values = zip(sums, met).map { sum, met in met == 0 ? entries : max(1, entries * sum / met) }
        return Found(entries: entries, values: values, commonest: most)
    }
}

/// What is known of one table of a join when it is planned.
struct SourceStatistics: Sendable {
    let table: TableHandle
    let catalogue: Catalogue
    let view: Snapshot

    /// How many different values a column has; nil: no index tells.
    func values(_ ordinal: Int) -> Double? {
        for index in table.indexes where index.isPlain {
            guard let first = index.parts.first, Int(first.slot.ordinal) == ordinal else { continue }
            if let values = catalogue.statistics.values(of: index, prefix: 1, in: view) { return values }
        }
        return nil
    }

    /// The share of the table's rows for which a condition on it alone holds; nil: no index tells.
    func share(_ condition: BoundCondition, _ size: Double) -> Double? {
        let constraints = Constraint.all([condition])
        if constraints.isEmpty { return nil }
        for index in table.indexes where index.isPlain {
            let search = KeySearch(index.keyParts, constraints, limit: IndexHandle.keptBytes)
            guard !search.used.isEmpty, let rows = TableEstimates.rows(of: index, in: search.ranges, view) else {
                continue
            }
            return min(1, max(1, rows) / max(1, size))
        }
        return nil
    }
}
