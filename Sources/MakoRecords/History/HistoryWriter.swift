import MakoStorage

/// Writes a database's change history; one for each opening.
package final class HistoryWriter: @unchecked Sendable {
    // Unchecked: used by the holder of the writer lock only.

    /// The oldest record.
    private struct Oldest {
        var number: UInt64
        var position: UInt64
        var date: Double
    }

    /// The state of the history when it was read last, updated by each commit since.
    private struct Known {
        /// The commit after which this state is valid.
        var commit: UInt64
        var isKept: Bool
        var limits: HistoryLimits
        var last = HistoryPoint(number: 0, mark: 0)
        /// The total size of all records that there have ever been.
        var end: UInt64 = 0
        var count: UInt64 = 0
        var oldest: Oldest?
    }

    /// The largest number of records that one commit trims.
    private static let trimLimit: UInt64 = 256

    private let entropy: any Entropy
    private let rowBytes: Int
    private var mark: UInt64?
    private var known: Known?

    /// Makes a writer.
    ///
    /// - Parameter rowBytes: the largest size of a record's rows; `nil` for the format's limit.
    package init(_ entropy: any Entropy, rowBytes: Int? = nil) {
        self.entropy = entropy
        self.rowBytes = rowBytes ?? HistoryRecord.rowBytes
    }

    /// Discards the cached state, after a transaction that changed the history was rolled back.
    package func invalidate() { known = nil }

    /// Records the changes of the transaction; must be its last step before the commit. Does nothing in a file without
    /// a history.
    ///
    /// - Parameters:
    ///   - rewritten: tables that must be read again.
    ///   - before: the tables at the start of the transaction, to recognize renamed ones.
    ///   - date: seconds since 2001-01-01 00:00:00 UTC.
    package func append(
        _ changes: ChangeSet, rewritten: [String] = [], _ catalogue: Catalogue, before: Catalogue? = nil, date: Double,
        in tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let view = tx.view
        guard let tree = view.tree(named: StoredHistory.treeName) else { return }
        let number = view.commitNumber &+ 1
        if known?.commit != view.commitNumber { known = try look(tree, view) }
        guard var now = known, now.isKept else { return }
        known = nil
        var record = HistoryRecord(
            number: number, mark: takeMark(), previous: now.last, position: now.end, date: date)
        record.note(changes, rewritten: rewritten, catalogue, before: before)
        record.limitRows(to: rowBytes)
        let bytes = record.encoded()
        try engine { () throws(StorageError) in try tx.put(bytes, for: number, in: tree) }
        now.last = record.point
        now.end &+= UInt64(bytes.count)
        now.count &+= 1
        if now.oldest == nil { now.oldest = Oldest(number: number, position: record.position, date: date) }
        try trim(&now, date, tree, tx)
        now.commit = number
        known = now
    }

    private func takeMark() -> UInt64 {
        if let mark { return mark }
        let drawn = entropy.next()
        mark = drawn
        return drawn
    }

    private func look(_ tree: Tree, _ view: Snapshot) throws(RecordError) -> Known? {
        guard let head = try StoredHistory.head(tree, view) else { return nil }
        var known = Known(commit: view.commitNumber, isKept: head.isKept, limits: head.limits)
        guard head.isKept, var last = try StoredHistory.last(tree, view) else { return known }
        known.count = try engine { () throws(StorageError) in try view.count(of: tree) } &- 1
        if last.record.number > view.commitNumber {
            // The history starts in this transaction: its changes are part of the first record.
            last.end = last.record.position
            known.count &-= 1
        } else {
            known.last = last.record.point
            if let first = try StoredHistory.first(from: 1, tree, view) {
                known.oldest = Oldest(number: first.number, position: first.position, date: first.date)
            }
        }
        known.end = last.end
        return known
    }

    // MARK: Start and end

    /// Starts a history, or changes the limits of the existing one.
    package func begin(_ limits: HistoryLimits, date: Double, in tx: borrowing WriteTransaction) throws(RecordError) {
        known = nil
        let view = tx.view
        let tree = try engine { () throws(StorageError) in
            if let tree = view.tree(named: StoredHistory.treeName) { return tree }
            return try tx.createTree(named: StoredHistory.treeName, keys: .integer)
        }
        let stored = try StoredHistory.head(tree, view)
        var head = stored ?? StoredHistory.Head(high: entropy.next(), low: entropy.next(), limits: limits)
        let isNew = stored?.isKept != true
        head.isKept = true
        head.limits = limits
        let bytes = head.encoded
        try engine { () throws(StorageError) in try tx.put(bytes, for: 0, in: tree) }
        if !isNew { return }
        // Readers need a position also in an empty history.
        let number = view.commitNumber &+ 1
        let first = HistoryRecord(
            number: number, mark: takeMark(), previous: HistoryPoint(number: 0, mark: 0), position: 0, date: date
        ).encoded()
        try engine { () throws(StorageError) in try tx.put(first, for: number, in: tree) }
    }

    /// Ends the history and removes its records.
    package func end(in tx: borrowing WriteTransaction) throws(RecordError) {
        known = nil
        let view = tx.view
        guard let tree = view.tree(named: StoredHistory.treeName), var head = try StoredHistory.head(tree, view)
        else { return }
        head.isKept = false
        let bytes = head.encoded
        try engine { () throws(StorageError) in
            try tx.deleteAll(in: tree)
            try tx.put(bytes, for: 0, in: tree)
        }
    }

    /// Starts a new history in place of an incomplete one.
    ///
    /// - Returns: whether there was one.
    func beginAnew(in tx: borrowing WriteTransaction) throws(RecordError) -> Bool {
        guard let tree = tx.view.tree(named: StoredHistory.treeName) else { return false }
        var head: StoredHistory.Head?
        do throws(RecordError) { head = try StoredHistory.head(tree, tx.view) } catch {
            if case .storage = error { throw error }
        }
        try engine { () throws(StorageError) in try tx.dropTree(tree) }
        if head?.isKept != false { try begin(head?.limits ?? HistoryLimits(), date: 0, in: tx) }
        return true
    }

    // MARK: Trimming

    /// Removes the records of the commits before a position of the history; the newest record stays.
    ///
    /// Does nothing for a position that the history does not have: that of a commit that a restored backup does not
    /// have, whose number another commit has now.
    package func forget(before point: HistoryPoint, in tx: borrowing WriteTransaction) throws(RecordError) {
        guard let tree = tx.view.tree(named: StoredHistory.treeName),
            try HistoryPage.isKept(point, tree, tx.view)
        else { return }
        try forget(before: point.number, in: tx)
    }

    /// Removes the records of the commits before a number; the newest record stays.
    package func forget(before number: UInt64, in tx: borrowing WriteTransaction) throws(RecordError) {
        known = nil
        let view = tx.view
        guard let tree = view.tree(named: StoredHistory.treeName), let last = try StoredHistory.last(tree, view)
        else { return }
        let bound = min(number, last.record.number)
        if bound < 2 { return }
        _ = try engine { () throws(StorageError) in try tx.deleteRange(1...(bound - 1), in: tree) }
    }

    private func trim(
        _ known: inout Known, _ date: Double, _ tree: Tree, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        // Most commits do not trim.
        guard var oldest = known.oldest, HistoryWriter.exceeds(known, oldest, date, slack: 8) else { return }
        let view = tx.view
        var left = known
        let fewest = max(1, known.count - min(known.count, HistoryWriter.trimLimit))
        while left.count > fewest, HistoryWriter.exceeds(left, oldest, date, slack: nil) {
            left.count -= 1
            guard let next = try StoredHistory.first(from: oldest.number &+ 1, tree, view) else {
                oldest.number &+= 1
                break
            }
            oldest = Oldest(number: next.number, position: next.position, date: next.date)
        }
        if left.count == known.count || oldest.number < 2 { return }
        let end = oldest.number - 1
        _ = try engine { () throws(StorageError) in try tx.deleteRange(1...end, in: tree) }
        known.count = left.count
        known.oldest = oldest
    }

    /// Returns whether the history exceeds its limits, or its limits by a fraction.
    private static func exceeds(_ known: Known, _ oldest: Oldest, _ date: Double, slack: UInt64?) -> Bool {
        func exceeds(_ amount: UInt64, _ limit: UInt64?) -> Bool {
            guard let limit else { return false }
            let (bound, isBeyond) = limit.addingReportingOverflow(slack.map { limit / $0 } ?? 0)
            return !isBeyond && amount > bound
        }
        let age = (date - oldest.date) * 1000
        return exceeds(known.count, known.limits.transactions)
            || exceeds(known.end &- oldest.position, known.limits.bytes)
            || exceeds(age >= 0 && age < 0x1p63 ? UInt64(age) : 0, known.limits.milliseconds)
    }
}
