import MakoStorage

/// Sizes that the planner uses.
///
/// Without a snapshot, a table is assumed to have a million short rows. With one, the number of rows is read in O(1),
/// and up to ``counted`` entries of an index are counted by a scan; for more, the positions of the range ends in the
/// tree give the range cardinality, and a sample of rows their length. A table of fewer than a thousand rows counts as
/// one of a thousand, so that small tables are planned as they will be when they have grown.
struct TableEstimates {
    static let unknown = TableEstimates()

    /// The number of index entries up to which a scan counts them.
    static let counted = 64.0
    static let smallest = 1000.0
    /// The number of ranges above which a sample of them is estimated.
    static let looked = 4

    let rows: Double
    /// Whether larger ranges are estimated from their positions in the tree.
    private var looksFar = false
    /// The average length of a row; 0 if it was not sampled.
    private var rowBytes = 0.0
    private let table: TableHandle?
    let view: Snapshot?

    private init() {
        rows = 1_000_000
        table = nil
        view = nil
    }

    init(_ table: TableHandle, _ view: Snapshot) throws(RecordError) {
        rows = max(TableEstimates.smallest, Double(try table.count(in: view)))
        self.table = table
        self.view = view
    }

    /// Returns what is known of a table: nothing without a snapshot or if the table cannot be read; the executor
    /// reports that error.
    static func known(_ table: TableHandle, _ view: Snapshot?) -> TableEstimates {
        view.flatMap { try? TableEstimates(table, $0) } ?? .unknown
    }

    var isKnown: Bool { view != nil }

    /// Returns the estimates of another table.
    func of(_ other: TableHandle) -> TableEstimates {
        view.flatMap { try? TableEstimates(other, $0) } ?? .unknown
    }

    /// Returns the number of entries of an index, in all or with some prefixes; `nil` if unknown.
    func entries(of tree: Tree, beginning prefixes: [[UInt8]]? = nil) -> Double? {
        guard let view else { return nil }
        guard let prefixes else { return (try? view.count(of: tree)).map(Double.init) }
        var entries = 0.0
        for prefix in prefixes {
            let range = KeyRange(prefix: prefix)
            guard let found = try? view.estimatedCount(from: range.lower, to: range.upper, in: tree) else { return nil }
            entries += found
        }
        return entries
    }

    /// Returns the estimated number of rows in a share of another table.
    func rows(of other: TableHandle, share: Double) -> Double {
        guard let view, let count = try? other.count(in: view) else { return 1_000_000 * share }
        return max(1, Double(count) * share)
    }

    /// Whether index entries are counted, so that the estimates depend on the values of the query.
    var countsEntries: Bool {
        guard view != nil, let table else { return false }
        return rows > TableEstimates.smallest && !table.indexes.isEmpty
    }

    mutating func lookFar() {
        guard !looksFar, let view, let table else { return }
        looksFar = true
        rowBytes = TableEstimates.rowBytes(table, view)
    }

    /// Returns the share of an index's entries that the commonest value of its first columns has, if known.
    func commonest(_ index: IndexHandle, prefix: Int, _ catalogue: Catalogue) -> Double? {
        view.flatMap { catalogue.statistics.commonest(of: index, prefix: prefix, in: $0) }
    }

    /// Returns whether an index has more entries in some ranges than this share of the rows.
    func areMore(_ index: IndexHandle, _ ranges: [KeyRange], than share: Double) -> Bool {
        guard let view, let found = TableEstimates.rows(of: index, in: ranges, view) else { return true }
        return found > rows * share
    }

    /// Returns the estimated number of entries of an index in some ranges; `share` is the default.
    func entries(of index: IndexHandle, in ranges: [KeyRange], share: Double) -> Double {
        let expected = max(1, rows * share)
        guard countsEntries, let view, let table else { return expected }
        if looksFar, let found = TableEstimates.rows(of: index, in: ranges, view), found >= TableEstimates.counted {
            return found
        }
        if ranges.count > TableEstimates.looked { return expected }
        var count = 0.0
        let scan = IndexScan(index, table, view, false)
        // Stops at what cannot be read; the executor reports the error.
        try? scan.run(ranges) { _ in
            count += 1
            return count < TableEstimates.counted
        }
        return count < TableEstimates.counted ? max(1, count) : max(count, expected)
    }

    /// The number of rows sampled for their length.
    private static let weighed = 8
    /// The number of bytes after which the sample ends.
    private static let mostWeighed = 1 << 16
    /// Bytes of the entry beside the row itself, read as well.
    private static let besides = 16.0
    /// The row length below which the cost of a scan does not depend on it.
    private static let short = 136.0
    /// The largest cost of a scanned row: longer rows are mostly in overflow pages.
    private static let mostShort = 8.0
    /// The assumed size of the processor cache.
    private static let near = 32_000_000.0

    /// The cost of a scanned row, in units of a short one.
    var scanCost: Double { min(TableEstimates.mostShort, max(1, rowBytes / TableEstimates.short)) }

    /// The cost of looking up the row of an entry.
    var indexCost: Double {
        rows * rowBytes > TableEstimates.near ? CostModel.farIndexRow : CostModel.indexRow
    }

    private static func rowBytes(_ table: TableHandle, _ view: Snapshot) -> Double {
        var bytes = Mean()
        // Stops at what cannot be read; the executor reports the error.
        if table.isRowID {
            try? view.forEach(in: table.rows) { _, row in bytes.add(row.count) }
        } else {
            try? view.forEach(in: table.rows, from: []) { key, row in bytes.add(key.count + row.count) }
        }
        return bytes.value + TableEstimates.besides
    }

    private struct Mean {
        private var sum = 0
        private var count = 0

        var value: Double { Double(sum) / Double(max(1, count)) }

        /// Returns whether the sample needs more rows.
        mutating func add(_ bytes: Int) -> Bool {
            sum += bytes
            count += 1
            return count < TableEstimates.weighed && sum < TableEstimates.mostWeighed
        }
    }

    /// Returns the estimated number of entries of an index in some ranges; `nil` if they cannot be read. Of many
    /// ranges, a sample is estimated.
    static func rows(of index: IndexHandle, in ranges: [KeyRange], _ view: Snapshot) -> Double? {
        let some = ranges.count <= looked ? ranges : (0..<looked).map { ranges[$0 * ranges.count / looked] }
        var rows = 0.0
        for range in some {
            guard let found = try? view.estimatedCount(from: range.lower, to: range.upper, in: index.tree) else {
                return nil
            }
            rows += found
        }
        return some.isEmpty ? 0 : rows * Double(ranges.count) / Double(some.count)
    }
}
