import MakoStorage

/// A traversal of the rows to be deleted together: depth first along cascading references, referring rows before the
/// row to which they refer.
///
/// It has its own stack, so that chains of rows are limited by memory only. The caller performs each step: a statement
/// by writing rows, a transaction of objects also by calling their hooks. A step may start a nested removal above those
/// in progress:
///
///     let floor = walk.depth
///     walk.begin(row)
///     while let step = try walk.next(above: floor, catalogue, view) { … }
public struct RemovalTraversal {
    /// A step of the traversal, to be performed by the caller.
    public enum Step {
        /// A row will be deleted; its referrers are searched next, unless the caller calls ``skip()``.
        case reach(RowPlace)
        /// Rows refer to the row, with the rule ``ReferenceRule/deny``.
        case deny(Referrer, RowPlace)
        /// The key of the row must be removed from the column of these rows.
        case clear(Referrer, [RowKey], RowPlace)
        /// Rows refer to the row by a column without a known rule.
        case unruled(Referrer, [RowKey], RowPlace)
        /// The row must be deleted now.
        case delete(RowPlace)
    }

    private struct Level {
        let row: RowPlace
        let referrers: [Referrer]
        /// The catalogue that the referrers come from.
        let catalogue: Catalogue?
        var next = 0
        /// Rows to be deleted before this one, in reverse order.
        var waiting: [RowPlace] = []
    }

    private var frames: [Level] = []
    /// The rows of the frames: cascades may form cycles.
    private var begun: Set<RowPlace> = []
    /// The referrers of tables visited before.
    private var known: (catalogue: Catalogue, byTable: [UInt32: [Referrer]])?

    /// Makes an empty traversal.
    public init() {}

    /// The number of removals in progress.
    public var depth: Int { frames.count }

    /// Starts the removal of a row; returns `false` if it is in progress already.
    public mutating func begin(_ row: RowPlace) -> Bool {
        guard begun.insert(row).inserted else { return false }
        frames.append(Level(row: row, referrers: [], catalogue: nil))
        return true
    }

    /// Skips the last reached row and its referrers.
    public mutating func skip() {
        if let frame = frames.popLast() { begun.remove(frame.row) }
    }

    /// Abandons the removals above a depth.
    public mutating func unwind(to depth: Int) {
        while frames.count > depth { skip() }
    }

    /// Returns the next step of the removals above a depth; `nil` if they are complete.
    ///
    /// - Parameter catalogue: the catalogue of the view. After a change of the catalogue, referrers are searched again.
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
