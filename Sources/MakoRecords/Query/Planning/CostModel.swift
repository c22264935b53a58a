/// Unit costs of plan steps: scans, indexes and joins.
///
/// One unit is a short row that a scan passes, measured at 3.6 ns (decisions 55 and 85).
enum CostModel {
    // MARK: Scans and indexes

    /// Row lookup from an index entry.
    static let indexRow = 10.0
    /// The same in a table larger than the processor cache.
    static let farIndexRow = 12.5
    /// Row built from a covering index entry alone.
    static let coveredRow = 5.2
    /// Counting such an entry.
    static let coveredKey = 1.3
    /// Seek to another position of an index.
    static let stretch = 100.0
    /// Row of a scan that is decoded and passed on.
    static let match = 4.0
    /// Condition on a scanned row that the pushed-down predicate does not cover.
    static let test = 6.0
    /// Condition on a row that was looked up.
    static let filter = 3.0

    // MARK: Row-id set scans

    /// Row id collected and sorted.
    static let gatheredKey = 5.0
    /// Row read in the order of the row ids.
    static let orderedRow = 7.0
    /// Fixed cost of a second scan.
    static let secondScan = 100.0
    /// Index search for one value of a sub-query.
    static let gatheredValue = 3.0

    // MARK: Sorts and groups

    /// Row kept and sorted, where the input is unordered.
    static let sort = 30.0
    /// The same for rows read in random order, and for the rows of a join.
    static let scatteredSort = 45.0
    /// Comparison of a row with the top N of a bounded heap.
    static let heap = 5.0
    /// Update of the aggregates of a row's group.
    static let group = 1.0

    // MARK: Joins

    /// Row passed to the next table of the join, beside reading it.
    static let joinRow = 17.0
    /// Row lookup by its key.
    static let joinKey = 175.0
    /// Index search for a value, and each row that its entries name.
    static let joinSearch = 200.0
    static let joinEntry = 145.0
    /// Row inserted into a hash table, and lookup in it.
    static let joinKeep = 88.0
    static let joinProbe = 55.0
}

/// Default selectivities, where no statistics are available.
enum Selectivity {
    // Selectivities for an index or the key; defaults that favour the index, see ``Planner``.

    static let equal = 0.001
    static let null = 0.05
    static let prefix = 0.01
    static let twoEnds = 0.02
    static let oneEnd = 0.05
    static let notNull = 0.9
    static let keyTwoEnds = 0.05
    static let keyOneEnd = 0.3
    /// Share of the rows that a partial index has.
    static let partialIndex = 0.1
    /// Share of the rows that passes the conditions which an index does not answer.
    static let passing = 0.1
    /// Share of the outer rows selected by a count of their sub-query rows.
    static let counted = 0.3

    // Share of a joined table's rows that passes a condition.

    static let comparison = 0.3
    /// A column between two values of another table, mostly a short window.
    static let window = 0.005
    static let unequal = 0.9
    static let equalExpression = 0.01
    static let list = 0.05
    static let pattern = 0.1
    static let other = 0.5
    /// An index column of a joined table that equals a constant.
    static let constantColumn = 0.01
}
