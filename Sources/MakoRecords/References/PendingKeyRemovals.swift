import MakoStorage

/// Pending foreign-key removals: deleted keys still to be removed from columns of keys, batched, so that a long list is
/// written once for all of its deleted members.
@usableFromInline
package struct PendingKeyRemovals {
    /// A row, and its column of keys.
    @usableFromInline struct Holder: Hashable {
        let row: RowPlace
        // By bytes, because names that differ in Unicode composition are different.
        let column: [UInt8]
    }

    /// The keys to be removed from one column of one row.
    package struct Release {
        let referrer: Referrer
        let row: RowKey
        /// The keys as the column holds them.
        var elements: Set<RowKey>

        /// Removes the keys from the column.
        package func write(
            _ writer: inout RowWriter, in tx: borrowing WriteTransaction, changes: inout ChangeSet
        ) throws(RecordError) {
            let view = tx.view
            let rest = try recorded {
                try referrer.table.withRow(row, layout: referrer.layout, in: view) { reader in
                    KeyTree(reader.blob(0))?.removing { $0 == 0 && elements.contains($1) }?.encoded
                } ?? nil
            }
            writer.begin(referrer.layout)
            if let rest { writer.set(0, rest) } else { writer.setNull(0) }
            _ = try referrer.table.update(&writer, key: row, in: tx, changes: &changes)
        }
    }

    /// A position to which records can be rolled back.
    @usableFromInline
    package struct Mark {
        fileprivate let round: Int
        fileprivate let count: Int

        /// Makes the mark of the start.
        @usableFromInline
        package init() { self.init(round: 0, count: 0) }

        @usableFromInline init(round: Int, count: Int) {
            self.round = round
            self.count = count
        }
    }

    // Inlinable what is read in each call: a getter of another module is given a copy, with its references counted.
    @usableFromInline private(set) var notes: [(holder: Holder, referrer: Referrer, element: RowKey)] = []
    /// The number of times that records were removed: older marks do not refer to the present ones.
    @usableFromInline private(set) var round = 0
    /// The numbers of the tables with holding or held rows.
    private var tables: Set<UInt32> = []
    /// The numbers of the tables with holding rows.
    private var holders: Set<UInt32> = []

    /// Makes an empty set.
    package init() {}

    /// Whether nothing is pending.
    @inlinable package var isEmpty: Bool { notes.isEmpty }
    /// The mark of the present state.
    @inlinable package var mark: Mark { Mark(round: round, count: notes.count) }

    /// Returns whether anything was recorded after a mark.
    package func reach(beyond mark: Mark) -> Bool { notes.count > count(before: mark) }

    /// Returns whether a table has rows with pending removals, or removed rows.
    package func concern(_ table: TableHandle) -> Bool { tables.contains(table.number) }

    /// Returns whether a table has rows with pending removals.
    package func concernHolders(of table: TableHandle) -> Bool { holders.contains(table.number) }

    /// Records a deleted key.
    ///
    /// - Parameter row: the row that holds the key.
    package mutating func note(_ key: RowKey, heldBy row: RowKey, _ referrer: Referrer) {
        let holder = Holder(row: RowPlace(referrer.table, row), column: Array(referrer.column.utf8))
        notes.append((holder, referrer, referrer.element(key)))
        tables.formUnion([referrer.target.number, referrer.table.number])
        holders.insert(referrer.table.number)
    }

    /// Returns what was recorded before a mark, once for each column of a row, in order.
    package func releases(before mark: Mark) -> [Release] {
        var releases: [Release] = []
        var places: [Holder: Int] = [:]
        for note in notes.prefix(count(before: mark)) {
            if let place = places[note.holder] {
                releases[place].elements.insert(note.element)
            } else {
                places[note.holder] = releases.count
                releases.append(Release(referrer: note.referrer, row: note.holder.row.key, elements: [note.element]))
            }
        }
        return releases
    }

    /// Discards what was recorded before a mark.
    package mutating func remove(before mark: Mark) {
        let count = count(before: mark)
        if count == 0 { return }
        notes.removeFirst(count)
        round += 1
        forgetTables()
    }

    /// Discards what was recorded after a mark.
    package mutating func rollback(to mark: Mark) {
        notes.removeSubrange(count(before: mark)...)
        forgetTables()
    }

    /// Discards everything.
    package mutating func removeAll() { rollback(to: Mark(round: round, count: 0)) }

    private func count(before mark: Mark) -> Int { mark.round == round ? min(mark.count, notes.count) : 0 }

    private mutating func forgetTables() {
        if notes.isEmpty { (tables, holders) = ([], []) }
    }
}
