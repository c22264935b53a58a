import MakoStorage

/// Keys of removed rows that columns of many keys are still to lose. They are gathered, so that a long list is written once, however many
/// of its members go.
public struct ListReleases {
    /// A row and the column of it that holds keys.
    private struct Holder: Hashable {
        let row: RowPlace
        // By its bytes, because names that differ in their Unicode composition are two names.
        let column: [UInt8]
    }

    /// What one column of one row is to lose.
    public struct Release {
        let referrer: Referrer
        let row: RowKey
        var keys: Set<RowKey>

        /// Takes the keys out of the column.
        public func write(
            _ writer: inout RowWriter, in tx: borrowing WriteTransaction, changes: inout ChangeSet
        ) throws(RecordError) {
            let view = tx.view
            let rest = try recorded {
                try referrer.table.withRow(row, layout: referrer.layout, in: view) { reader in
                    KeyTree(reader.blob(0))?.removing { $0 == 0 && keys.contains($1) }?.encoded
                } ?? nil
            }
            writer.begin(referrer.layout)
            if let rest { writer.set(0, rest) } else { writer.setNull(0) }
            _ = try referrer.table.update(&writer, key: row, in: tx, changes: &changes)
        }
    }

    /// A point in time to which notes can be taken back.
    public struct Mark {
        fileprivate let round: Int
        fileprivate let count: Int

        /// The beginning.
        public init() { self.init(round: 0, count: 0) }

        fileprivate init(round: Int, count: Int) {
            self.round = round
            self.count = count
        }
    }

    private var notes: [(holder: Holder, referrer: Referrer, key: RowKey)] = []
    /// How often notes were taken out: marks from before do not count in what is here.
    private var round = 0
    /// The numbers of the tables whose rows hold or were held.
    private var tables: Set<UInt32> = []
    /// The numbers of the tables whose rows hold.
    private var holders: Set<UInt32> = []

    public init() {}

    public var isEmpty: Bool { notes.isEmpty }
    public var mark: Mark { Mark(round: round, count: notes.count) }

    /// Whether anything was noted after a mark.
    public func reach(beyond mark: Mark) -> Bool { notes.count > count(before: mark) }

    /// Whether a table has rows that are to lose something, or that were removed.
    public func concern(_ table: TableHandle) -> Bool { tables.contains(table.number) }

    /// Whether a table has rows that are to lose something.
    public func concernHolders(of table: TableHandle) -> Bool { holders.contains(table.number) }

    /// - Parameter row: the row that holds the key of one that goes.
    public mutating func note(_ key: RowKey, heldBy row: RowKey, _ referrer: Referrer) {
        let holder = Holder(row: RowPlace(referrer.table, row), column: Array(referrer.column.utf8))
        notes.append((holder, referrer, key))
        tables.formUnion([referrer.target.number, referrer.table.number])
        holders.insert(referrer.table.number)
    }

    /// What was noted before a mark, each column of a row once, in the order of the notes.
    public func releases(before mark: Mark) -> [Release] {
        var releases: [Release] = []
        var places: [Holder: Int] = [:]
        for note in notes.prefix(count(before: mark)) {
            if let place = places[note.holder] {
                releases[place].keys.insert(note.key)
            } else {
                places[note.holder] = releases.count
                releases.append(Release(referrer: note.referrer, row: note.holder.row.key, keys: [note.key]))
            }
        }
        return releases
    }

    /// Forgets what was noted before a mark.
    public mutating func remove(before mark: Mark) {
        let count = count(before: mark)
        if count == 0 { return }
        notes.removeFirst(count)
        round += 1
        forgetTables()
    }

    /// Forgets what was noted after a mark.
    public mutating func rollback(to mark: Mark) {
        notes.removeSubrange(count(before: mark)...)
        forgetTables()
    }

    public mutating func removeAll() { rollback(to: Mark(round: round, count: 0)) }

    private func count(before mark: Mark) -> Int { mark.round == round ? min(mark.count, notes.count) : 0 }

    private mutating func forgetTables() {
        if notes.isEmpty { (tables, holders) = ([], []) }
    }
}
