import MakoStorage

/// A traversal of the rows to be deleted together: depth first along cascading references, referring rows before the
/// rows to which they refer.
///
/// Rows of a table are visited as a set, whose referring rows are found in one pass for each column
/// (``begin(_:of:)``), or one by one if the order of the rows matters (``begin(_:)``, decision 103). It has its own
/// stack, so that chains of rows are limited by memory only. The caller performs each step: a statement by writing rows,
/// a transaction of objects also by calling their hooks. A step may start a nested removal above those in progress:
///
///     let floor = traversal.depth
///     traversal.begin(row)
///     while let step = try traversal.next(above: floor, catalogue, view) { … }
package struct RemovalTraversal {
    /// A step of the traversal, to be performed by the caller.
    package enum Step {
        /// A row will be deleted by itself; its referrers are searched next, unless the caller calls ``skip()``.
        case reach(RowPlace)
        /// Rows refer to the row, with the rule ``ReferenceRule/deny``.
        case deny(Referrer, RowPlace)
        /// The keys of rows must be removed from the column of the rows that hold them.
        case clear(Referrer, [ReferringRow])
        /// Rows refer to the rows by a column without a known rule.
        case unruled(Referrer, [ReferringRow])
        /// The rows of the table with this number must be deleted now.
        case delete(table: UInt32, [RowKey])
    }

    private struct Level {
        let table: UInt32
        let keys: [RowKey]
        /// Whether rows that cascade from it are visited as a set.
        let isSet: Bool
        var referrers: [Referrer] = []
        /// The catalogue that the referrers come from.
        var catalogue: Catalogue?
        var next = 0
        /// Rows to be deleted before this one, in reverse order.
        var waiting: [RowPlace] = []
    }

    private var frames: [Level] = []
    /// The rows of the frames of single rows: cascades may form cycles.
    private var begun: Set<RowPlace> = []
    /// The referrers of tables visited before.
    private var known: (catalogue: Catalogue, byTable: [UInt32: [Referrer]])?

    /// Makes an empty traversal.
    package init() {}

    /// The number of removals in progress.
    package var depth: Int { frames.count }

    /// Starts the removal of a row; returns `false` if it is in progress already.
    package mutating func begin(_ row: RowPlace) -> Bool {
        guard begun.insert(row).inserted else { return false }
        frames.append(Level(table: row.table, keys: [row.key], isSet: false))
        return true
    }

    /// Starts the removal of rows of a table as a set, above which no other removal may start; the caller must have
    /// checked ``Catalogue/tablesRemoved(with:_:)``.
    package mutating func begin(_ keys: [RowKey], of table: TableHandle) {
        frames.append(Level(table: table.number, keys: keys, isSet: true))
    }

    /// Skips the last reached row and its referrers.
    package mutating func skip() {
        if let frame = frames.popLast(), !frame.isSet, let key = frame.keys.first {
            begun.remove(RowPlace(table: frame.table, key: key))
        }
    }

    /// Abandons the removals above a depth.
    package mutating func unwind(to depth: Int) {
        while frames.count > depth { skip() }
    }

    /// Returns the next step of the removals above a depth; `nil` if they are complete.
    ///
    /// - Parameter catalogue: the catalogue of the view. After a change of the catalogue, referrers are searched again.
    package mutating func next(
        above floor: Int, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> Step? {
        while frames.count > floor {
            let top = frames.count - 1
            if let row = frames[top].waiting.popLast() {
                if begin(row) { return .reach(row) }
                continue
            }
            if frames[top].catalogue !== catalogue {
                frames[top].referrers = try referrers(of: frames[top].table, catalogue)
                frames[top].catalogue = catalogue
                frames[top].next = 0
            }
            if frames[top].next == frames[top].referrers.count {
                let done = frames[top]
                skip()
                return .delete(table: done.table, done.keys)
            }
            let referrer = frames[top].referrers[frames[top].next]
            frames[top].next += 1
            if let step = try visit(referrer, top, catalogue, view) { return step }
        }
        return nil
    }

    /// Searches the rows that refer to those of a level by one column.
    private mutating func visit(
        _ referrer: Referrer, _ top: Int, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> Step? {
        let (table, keys, isSet) = (frames[top].table, frames[top].keys, frames[top].isSet)
        var rows = try referrer.rows(referringTo: keys, catalogue, view)
        if referrer.table.number == table, !rows.isEmpty {
            let own = Set(keys)
            rows.removeAll { own.contains($0.holder) }
        }
        if rows.isEmpty { return nil }
        switch referrer.rule {
        case .deny:
            let referenced = Set(rows.map(\.key))
            guard let first = keys.first(where: { referenced.contains($0) }) else { return nil }
            return .deny(referrer, RowPlace(table: table, key: first))
        case .nullify: return .clear(referrer, rows)
        case nil: return .unruled(referrer, rows)
        case .cascade:
            if isSet {
                begin(RowKey.distinct(rows.map(\.holder)), of: referrer.table)
            } else {
                frames[top].waiting = rows.reversed().map { RowPlace(referrer.table, $0.holder) }
            }
            return nil
        }
    }

    private mutating func referrers(of number: UInt32, _ catalogue: Catalogue) throws(RecordError) -> [Referrer] {
        if known?.catalogue !== catalogue { known = (catalogue, [:]) }
        if let referrers = known?.byTable[number] { return referrers }
        guard let table = catalogue.table(numbered: number) else { return [] }
        let referrers = try catalogue.referrers(of: table)
        known?.byTable[number] = referrers
        return referrers
    }
}

extension Catalogue {
    /// Returns the tables that lose rows when rows of a table are deleted; `nil` if these must be deleted one by one,
    /// because the outcome depends on their order: rows of one table are reached in two ways, or a row is refused only
    /// as long as another one exists.
    package func tablesRemoved(with table: TableHandle, _ view: Snapshot) throws(RecordError) -> [TableHandle]? {
        var tables = [table]
        var others: [Referrer] = []
        var next = 0
        while next < tables.count {
            for referrer in try referrers(of: tables[next]) where try referrer.table.count(in: view) > 0 {
                if referrer.rule != .cascade {
                    others.append(referrer)
                } else if tables.contains(where: { $0.number == referrer.table.number }) {
                    return nil
                } else {
                    tables.append(referrer.table)
                }
            }
            next += 1
        }
        for referrer in others where tables.contains(where: { $0.number == referrer.table.number }) {
            if referrer.rule == .deny || !referrer.holdsMany && !referrer.isOptional { return nil }
        }
        return tables
    }
}
