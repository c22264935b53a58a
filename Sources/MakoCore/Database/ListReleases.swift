import MakoRecords
import MakoStorage

/// Keys of removed rows that columns of many keys are still to lose. They are gathered, so that a long list is written once, however many
/// of its members go.
struct ListReleases {
    /// A row and the column of it that holds keys.
    private struct Holder: Hashable {
        let table: UInt32
        let column: String
        let row: RowKey
    }

    /// What one column of one row is to lose.
    struct Release {
        let referrer: Binding.Referrer
        let row: RowKey
        var keys: Set<RowKey>
    }

    /// A point in time to which notes can be taken back.
    struct Mark {
        fileprivate let round: Int
        fileprivate let count: Int

        /// The beginning.
        init() { self.init(round: 0, count: 0) }

        fileprivate init(round: Int, count: Int) {
            self.round = round
            self.count = count
        }
    }

    private var notes: [(holder: Holder, referrer: Binding.Referrer, key: RowKey)] = []
    /// How often notes were taken out: marks from before do not count in what is here.
    private var round = 0
    /// The numbers of the tables whose rows hold or were held.
    private var tables: Set<UInt32> = []
    private var holders: Set<String> = []

    var isEmpty: Bool { notes.isEmpty }
    var mark: Mark { Mark(round: round, count: notes.count) }

    /// Whether anything was noted after a mark.
    func reach(beyond mark: Mark) -> Bool { notes.count > count(before: mark) }

    /// Whether a table has rows that are to lose something, or that were removed.
    func concern(_ table: TableHandle) -> Bool { tables.contains(table.number) }

    /// Whether a table has rows that are to lose something.
    func concernHolders(inTable name: String) -> Bool { holders.contains(name) }

    mutating func note(_ key: RowKey, of table: TableHandle, heldBy row: RowKey, _ referrer: Binding.Referrer) {
        notes.append((Holder(table: referrer.table.number, column: referrer.column, row: row), referrer, key))
        tables.formUnion([table.number, referrer.table.number])
        holders.insert(referrer.table.schema.name)
    }

    /// What was noted before a mark, each column of a row once, in the order of the notes.
    func releases(before mark: Mark) -> [Release] {
        var releases: [Release] = []
        var places: [Holder: Int] = [:]
        for note in notes.prefix(count(before: mark)) {
            if let place = places[note.holder] {
                releases[place].keys.insert(note.key)
            } else {
                places[note.holder] = releases.count
                releases.append(Release(referrer: note.referrer, row: note.holder.row, keys: [note.key]))
            }
        }
        return releases
    }

    /// Forgets what was noted before a mark.
    mutating func remove(before mark: Mark) {
        let count = count(before: mark)
        if count == 0 { return }
        notes.removeFirst(count)
        round += 1
        forgetTables()
    }

    /// Forgets what was noted after a mark.
    mutating func rollback(to mark: Mark) {
        notes.removeSubrange(count(before: mark)...)
        forgetTables()
    }

    mutating func removeAll() { rollback(to: Mark(round: round, count: 0)) }

    private func count(before mark: Mark) -> Int { mark.round == round ? min(mark.count, notes.count) : 0 }

    private mutating func forgetTables() {
        if notes.isEmpty { (tables, holders) = ([], []) }
    }
}

extension Transaction {
    /// Takes the keys of removed rows out of the columns that hold them.
    func writeReleases() throws(MakoError) { try writeReleases(before: releases.mark) }

    /// - Parameter mark: what was noted after it stays to be done.
    func writeReleases(before mark: ListReleases.Mark) throws(MakoError) {
        // Should one fail, they stay noted: without them nothing is committed.
        // The transaction's own writer may hold a row that is to be stored after this.
        var writer = RowWriter()
        for release in releases.releases(before: mark) {
            let rest = try keys(heldBy: release)
            writer.begin(release.referrer.layout)
            if let rest { writer.set(0, rest) } else { writer.setNull(0) }
            try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in
                    _ = try release.referrer.table.update(&writer, key: release.row, in: tx, changes: &self.changes)
                }
            }
            if sabotaged("onlyTheFirstListWritten") { break }
        }
        releases.remove(before: mark)
    }

    /// What a column of many keys is to hold when some of them go.
    private func keys(heldBy release: ListReleases.Release) throws(MakoError) -> [UInt8]? {
        try translated {
            try release.referrer.table.withRow(release.row, layout: release.referrer.layout, in: view) { reader in
                KeyTree(reader.blob(0))?.removing { $0 == 0 && release.keys.contains($1) }?.encoded
            } ?? nil
        }
    }
}
