import MakoRecords
import MakoStorage

extension Transaction {
    /// Takes the keys of removed rows out of the columns that hold them.
    func writeReleases() throws(MakoError) { try writeReleases(before: releases.mark) }

    /// - Parameter mark: what was noted after it stays to be done.
    func writeReleases(before mark: ListReleases.Mark) throws(MakoError) {
        // Should one fail, they stay noted: without them nothing is committed.
        // The transaction's own writer may hold a row that is to be stored after this.
        var writer = RowWriter()
        for release in releases.releases(before: mark) {
            try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in
                    try release.write(&writer, in: tx, changes: &self.changes)
                }
            }
            if sabotaged("onlyTheFirstListWritten") { break }
        }
        releases.remove(before: mark)
    }
}
