import MakoStorage

/// Estimates the number of distinct values in the leading columns of indexes from a sample of their entries.
///
/// Nothing is stored in the file. The first request samples entries at even distances; the result is cached until the
/// size of the table has changed by a factor of ``growth`` (decision 41).
final class IndexStatistics: @unchecked Sendable {
    /// Entries per sample.
    private static let samples = 16
    /// The factor by which a table may grow or shrink before its indexes are sampled again.
    private static let growth = 2.0

    private struct Found {
        /// The number of entries when the index was sampled.
        let entries: Double
        /// Distinct values of the first column, of the first two columns, and so on.
        let values: [Double]
        /// The share of the entries that the commonest sampled value has, by the number of columns.
        let commonest: [Double]
    }

    private let lock = Lock()
    /// By tree id. Guarded by the lock.
    private var found: [UInt32: Found] = [:]

    /// Drops cached statistics, so that the next request samples again.
    ///
    /// - Parameter table: the table, or `nil` for all tables.
    func forget(_ table: TableHandle?) {
        lock.withLock {
            if let table { for index in table.indexes { found[index.tree.id] = nil } } else { found = [:] }
        }
    }

    /// Returns the number of distinct values of the first `prefix` columns of an index; `nil` if unknown.
    func values(of index: IndexHandle, prefix: Int, in view: Snapshot) -> Double? {
        found(index, view).flatMap { $0.values.indices.contains(prefix - 1) ? $0.values[prefix - 1] : nil }
    }

    /// Returns the share of the entries that the commonest sampled value of the first `prefix` columns has; `nil` if
    /// unknown. The samples may miss a value whose share is below a tenth.
    func commonest(of index: IndexHandle, prefix: Int, in view: Snapshot) -> Double? {
        found(index, view).flatMap { $0.commonest.indices.contains(prefix - 1) ? $0.commonest[prefix - 1] : nil }
    }

    private func found(_ index: IndexHandle, _ view: Snapshot) -> Found? {
        // A tree that cannot be read has no statistics; the executor reports the error when it reads the rows.
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

    /// A value is sampled in proportion to its entries, so that the mean over the samples of 1 / (entries of the value)
    /// estimates distinct values per entry.
    private static func sampled(_ index: IndexHandle, _ entries: Double, _ view: Snapshot) throws -> Found {
        let parts = index.parts.prefix { !$0.descending }
        var sums = Array(repeating: 0.0, count: parts.count)
        var met = Array(repeating: 0.0, count: parts.count)
        // Samples at even distances meet every value that has more entries than lie between two samples.
        var most = Array(repeating: 0.0, count: parts.count)
        var cursor = try view.cursor(in: index.tree)
        for sample in 0..<samples {
            guard try cursor.seek(share: (Double(sample) + 0.5) / Double(samples)) else { break }
            var decoder = KeyDecoder(cursor.key)
            for (place, part) in parts.enumerated() {
                // NULL equals nothing, and a truncated key does not identify its value.
                guard let value = decoder.next(part.slot.type), !value.isNull else { break }
                let range = KeyRange(prefix: Array(decoder.bytes[..<decoder.place]))
                let alike = try view.estimatedCount(from: range.lower, to: range.upper, in: index.tree)
                sums[place] += 1 / max(1, alike)
                most[place] = max(most[place], alike / entries)
                met[place] += 1
            }
        }
        // Scaled to all entries, not to those with a value: beside NULL, a value has fewer of them.
        let values = zip(sums, met).map { sum, met in met == 0 ? entries : max(1, entries * sum / met) }
        return Found(entries: entries, values: values, commonest: most)
    }
}

/// The statistics of one table of a join.
struct SourceStatistics: Sendable {
    let table: TableHandle
    let catalogue: Catalogue
    let view: Snapshot

    /// Returns the number of distinct values of a column; `nil` if no index starts with it.
    func values(_ ordinal: Int) -> Double? {
        for index in table.indexes where index.isPlain {
            guard let first = index.parts.first, Int(first.slot.ordinal) == ordinal else { continue }
            if let values = catalogue.statistics.values(of: index, prefix: 1, in: view) { return values }
        }
        return nil
    }

    /// Returns the share of the table's rows for which a condition on it alone holds; `nil` if no index can estimate
    /// it.
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
