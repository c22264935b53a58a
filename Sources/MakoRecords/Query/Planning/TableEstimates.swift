import MakoStorage

/// What is known of sizes when a query is planned.
///
/// Without a view a table is taken to have a million short rows. With one, its rows are counted, which costs nothing, and few entries of an
/// index are counted by going to them; where an index leads to more, where its ranges begin and end in the tree tells how many, and a few
/// rows how long they are.
/// Tables of fewer than a thousand rows count as that, so that small ones are planned as large ones will be.
struct TableEstimates {
    static let unknown = TableEstimates()

    /// So many entries of an index are counted.
    static let counted = 64.0
    static let smallest = 1000.0
    /// Of more ranges than these some are looked at.
    static let looked = 4

    let rows: Double
    /// Whether more entries than are counted are told by their places in the tree.
    private var looksFar = false
    /// How long a row is; 0: that was not looked at.
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

    /// Without a view, and where the table cannot be counted, nothing is known: the latter is told of when rows are to be read.
    static func known(_ table: TableHandle, _ view: Snapshot?) -> TableEstimates {
        view.flatMap { try? TableEstimates(table, $0) } ?? .unknown
    }

    var isKnown: Bool { view != nil }

    /// What is known of another table.
    func of(_ other: TableHandle) -> TableEstimates {
        view.flatMap { try? TableEstimates(other, $0) } ?? .unknown
    }

    /// How many entries an index has, in all or behind some beginnings; nil: that is not known.
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

    /// How many rows of another table there are, when a share of it is expected.
    func rows(of other: TableHandle, share: Double) -> Double {
        guard let view, let count = try? other.count(in: view) else { return 1_000_000 * share }
        return max(1, Double(count) * share)
    }

    /// Whether the entries of indexes are counted, so that the values that are asked for decide.
    var countsEntries: Bool {
        guard view != nil, let table else { return false }
        return rows > TableEstimates.smallest && !table.indexes.isEmpty
    }

    mutating func lookFar() {
        guard !looksFar, let view, let table else { return }
        looksFar = true
        rowBytes = TableEstimates.rowBytes(table, view)
    }

    /// The share of an index's entries that the commonest value of its first columns has, as far as is known.
    func commonest(_ index: IndexHandle, prefix: Int, _ catalogue: Catalogue) -> Double? {
        view.flatMap { catalogue.statistics.commonest(of: index, prefix: prefix, in: $0) }
    }

    /// Whether the entries of an index in some ranges are more than a share of the rows.
    func areMore(_ index: IndexHandle, _ ranges: [KeyRange], than share: Double) -> Bool {
        guard let view, let found = TableEstimates.rows(of: index, in: ranges, view) else { return true }
        return found > rows * share
    }

    /// How many rows the entries of an index in some ranges name, of which a share of the table is expected.
    func entries(of index: IndexHandle, in ranges: [KeyRange], share: Double) -> Double {
        let expected = max(1, rows * share)
        guard countsEntries, let view, let table else { return expected }
        if looksFar, let found = TableEstimates.rows(of: index, in: ranges, view), found >= TableEstimates.counted {
            return found
        }
        if ranges.count > TableEstimates.looked { return expected }
        var count = 0.0
        let walk = IndexWalk(index, table, view, false)
        // What cannot be read is told of when it is to be read.
        try? walk.run(ranges) { _ in
            count += 1
            return count < TableEstimates.counted
        }
        return count < TableEstimates.counted ? max(1, count) : max(count, expected)
    }

    /// So many rows are looked at for their lengths.
    private static let weighed = 8
    /// Or rows of so many bytes.
    private static let mostWeighed = 1 << 16
    /// What stands beside the bytes of a row, and is read as well.
    private static let besides = 16.0
    /// The length of a row that a scan passes over as fast as any shorter one.
    private static let short = 136.0
    /// Longer rows lie mostly in pages of their own.
    private static let mostShort = 8.0
    /// What a processor keeps near of all that it reads.
    private static let near = 32_000_000.0

    /// What it takes to pass over a row in a scan, in units of a short one.
    var scanCost: Double { min(TableEstimates.mostShort, max(1, rowBytes / TableEstimates.short)) }

    /// What it takes to look up a row that an entry names.
    var indexCost: Double {
        rows * rowBytes > TableEstimates.near ? CostModel.farIndexRow : CostModel.indexRow
    }

    private static func rowBytes(_ table: TableHandle, _ view: Snapshot) -> Double {
        var bytes = Mean()
        // What cannot be read is told of when it is to be read.
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

        /// Answers whether more are wanted.
        mutating func add(_ bytes: Int) -> Bool {
            sum += bytes
            count += 1
            return count < TableEstimates.weighed && sum < TableEstimates.mostWeighed
        }
    }

    /// About how many rows the entries of an index in some ranges name; nil where that cannot be read. Of many ranges some stand for all.
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
