import MakoStorage

/// The order in which rows are deleted together with what refers to them: depth first along the columns whose rule is cascade, rows that refer
/// before the row that they refer to.
///
/// The traversal has a stack of its own, so that a chain of rows may be as long as memory allows. Its user does what each step says: a statement
/// by writing rows, a transaction of objects with their hooks as well. A step may lead to another removal, which begins above those that run:
///
///     let floor = walk.depth
///     walk.begin(row)
///     while let step = try walk.next(above: floor, catalogue, view) { … }
public struct RemovalWalk {
    public enum Step {
        /// A row is about to be deleted; what refers to it is looked for next, unless ``skip()`` leaves it where it is.
        case reach(RowPlace)
        /// Rows refer to the row, and their rule is ``ReferenceRule/deny``.
        case deny(Referrer, RowPlace)
        /// The column of these rows is to lose the key of the row.
        case clear(Referrer, [RowKey], RowPlace)
        /// Rows refer to the row by a column without a known rule.
        case unruled(Referrer, [RowKey], RowPlace)
        /// Nothing is left to be done before the row is deleted.
        case delete(RowPlace)
    }

    private struct Level {
        let row: RowPlace
        let referrers: [Referrer]
        /// What the referrers were taken from.
        let catalogue: Catalogue?
        var next = 0
        /// Rows that go before this one, the last one first.
        var waiting: [RowPlace] = []
    }

    private var frames: [Level] = []
    /// The rows of the frames: rows may refer to each other in a circle of cascades.
    private var begun: Set<RowPlace> = []
    /// What refers to the rows of tables that were met.
    private var known: (catalogue: Catalogue, byTable: [UInt32: [Referrer]])?

    public init() {}

    /// How many removals have begun that are not done yet.
    public var depth: Int { frames.count }

    /// Begins the removal of a row; false: it has begun already.
    public mutating func begin(_ row: RowPlace) -> Bool {
        guard begun.insert(row).inserted else { return false }
        frames.append(Level(row: row, referrers: [], catalogue: nil))
        return true
    }

    /// Leaves the row where it is that was reached last, and what refers to it.
    public mutating func skip() {
        if let frame = frames.popLast() { begun.remove(frame.row) }
    }

    /// Forgets the removals that began above a depth.
    public mutating func unwind(to depth: Int) {
        while frames.count > depth { skip() }
    }

    /// The next step of the removals above a depth; nil: they are done.
    ///
    /// - Parameter catalogue: of the view. With another one than before, what refers to a row is looked for again.
    public mutating func next(
        above floor: Int, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> Step? {
        while frames.count > floor {
            let top = frames.count - 1
            if let row = frames[top].waiting.popLast() {
                if begin(row) { return .reach(row) }
                continue
            }
            let row = frames[top].row
            if frames[top].catalogue !== catalogue {
                let found = try referrers(of: row, catalogue)
                frames[top] = Level(row: row, referrers: found, catalogue: catalogue)
            }
            if frames[top].next == frames[top].referrers.count {
                skip()
                return .delete(row)
            }
            let referrer = frames[top].referrers[frames[top].next]
            frames[top].next += 1
            var keys = try referrer.rows(referringTo: row.key, catalogue, view)
            if referrer.table.number == row.table { keys.removeAll { $0 == row.key } }
            if keys.isEmpty { continue }
            switch referrer.rule {
            case .deny: return .deny(referrer, row)
            case .nullify: return .clear(referrer, keys, row)
            case nil: return .unruled(referrer, keys, row)
            case .cascade:
                frames[top].waiting = keys.reversed().map { RowPlace(referrer.table, $0) }
            }
        }
        return nil
    }

    private mutating func referrers(of row: RowPlace, _ catalogue: Catalogue) throws(RecordError) -> [Referrer] {
        if known?.catalogue !== catalogue { known = (catalogue, [:]) }
        if let referrers = known?.byTable[row.table] { return referrers }
        guard let table = catalogue.table(numbered: row.table) else { return [] }
        let referrers = try catalogue.referrers(of: table)
        known?.byTable[row.table] = referrers
        return referrers
    }
}
