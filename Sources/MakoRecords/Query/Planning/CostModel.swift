/// What the steps of plans cost, for scans, indexes and joins alike.
///
/// One unit is a short row that a scan passes over: 3.6 ns where it was measured, see decisions 55 and 85.
enum CostModel {
    // MARK: Scans and indexes

    /// To look up a row that an entry of an index names.
    static let indexRow = 10.0
    /// The same in a table that is larger than what a processor keeps near.
    static let farIndexRow = 12.5
    /// Row made of an index entry alone (covering index).
    static let coveredRow = 5.2
    /// To count such an entry.
    static let coveredKey = 1.3
    /// To go on elsewhere in an index.
    static let stretch = 100.0
    /// To stop at a row in a scan and hand it over.
    static let match = 4.0
    /// Condition on a scanned row that the prefilter does not cover.
    static let test = 6.0
    /// Condition on a row that was found.
    static let filter = 3.0

    // MARK: Keys that are gathered

    /// To gather a key and put it in order.
    static let gatheredKey = 5.0
    /// To read a row when rows are read in the order of keys.
    static let orderedRow = 7.0
    /// What a second scan costs beside the first, whatever it finds.
    static let secondScan = 100.0
    /// To run a sub-query's index for one of its values.
    static let gatheredValue = 3.0

    // MARK: Sorts and groups

    /// Row kept and sorted, where the input is unordered.
    static let sort = 30.0
    /// The same where they come from here and there, and of the rows of a join.
    static let scatteredSort = 45.0
    /// To hold a row against the best few that are kept.
    static let heap = 5.0
    /// To add a row to its group among all groups.
    static let group = 1.0

    // MARK: Joins

    /// To take a row into a join and on to the next table, beside reading it.
    static let joinRow = 17.0
    /// To look up a row by its key.
    static let joinKey = 175.0
    /// To look up where an index has a value, and each row that it names there.
    static let joinSearch = 200.0
    static let joinEntry = 145.0
    /// To keep a row by what it is compared by, and to look for kept rows.
    static let joinKeep = 88.0
    static let joinProbe = 55.0
}

/// The shares of rows that conditions are taken to leave where nothing is known of values.
enum Selectivity {
    // Where an index or the key is looked up: guesses on the side of the index, see ``Planner``.

    static let equal = 0.001
    static let null = 0.05
    static let prefix = 0.01
    static let twoEnds = 0.02
    static let oneEnd = 0.05
    static let notNull = 0.9
    static let keyTwoEnds = 0.05
    static let keyOneEnd = 0.3
    /// The entries of a partial index.
    static let partialIndex = 0.1
    /// What is left by the conditions that an index does not answer.
    static let passing = 0.1
    /// Rows around, by how many rows a sub-query links to them.
    static let counted = 0.3

    // Of the rows of a join's table, for how many the next ones are looked up.

    static let comparison = 0.3
    static let unequal = 0.9
    static let equalExpression = 0.01
    static let list = 0.05
    static let pattern = 0.1
    static let other = 0.5
    /// A column of a joined index that has one value.
    static let constantColumn = 0.01
}
