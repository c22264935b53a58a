import MakoStorage
import Synchronization

/// The next row id of a table, while the database is open.
///
/// The next id is one above the largest that the table has ever had; after the largest possible id, free ids are drawn
/// at random. The counter is read once, from the last row and the tree of ids, and then held in memory; only the
/// deletion of the last row must store it, because no row shows it any more. Ids taken by a rolled-back transaction are
/// not reused in the session. Only the holder of the writer lock may call it.
final class RowIDSequence: Sendable {
    static let treeName = "mako.ids"

    /// 0 if not read yet.
    private let next = Atomic<Int64>(0)
    /// The lowest id to take, whatever the table holds.
    private let lowest = Atomic<Int64>(1)

    /// Takes the next id.
    func take(_ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let id = try peek(table, tx)
        if id == .max { return try free(table, tx) }
        next.store(id + 1, ordering: .relaxed)
        return id
    }

    /// Returns a free id below the largest one, drawn at random: the probability that it is the id of a deleted row is
    /// negligible.
    private func free(_ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let view = tx.view
        for _ in 0..<RowIDSequence.draws {
            let id = Int64.random(in: 1...RowIDSequence.largestDrawn)
            let isTaken = try recorded {
                try view.withValue(of: KeyOrder.treeKey(id), in: table.rows, { _ in true }) == true
            }
            if !isTaken { return id }
        }
        throw .idsExhausted(table: table.schema.name)
    }

    private static let draws = 100

    /// Ids up to this one are exact in doubles, as languages whose numbers are doubles need.
    private static let largestDrawn: Int64 = 1 << 53

    /// The next id, if the session has assigned or looked for one; otherwise the lowest one to take.
    var known: Int64 { max(next.load(ordering: .relaxed), lowest.load(ordering: .relaxed)) }

    /// Skips ids that were assigned to rows of another table of this name, whose creation was rolled back.
    func skip(below id: Int64) {
        lowest.store(max(id, lowest.load(ordering: .relaxed)), ordering: .relaxed)
        forget()
    }

    /// Discards the counter, so that it is read again.
    func forget() { next.store(0, ordering: .relaxed) }

    /// Records an id that the caller has chosen.
    func note(_ id: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let known = try peek(table, tx)
        if id >= known { next.store(id == .max ? .max : id + 1, ordering: .relaxed) }
    }

    /// Stores the next id before the row that shows it is deleted.
    func willDelete(_ id: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let known = try peek(table, tx)
        if id < known - 1, try isFollowed(id, upTo: known, table, tx) { return }
        try write(known, table, tx)
    }

    /// Returns whether a row with a larger id exists. Mostly the last assigned id has one; if that row was refused or
    /// rolled back, the tree is searched.
    private func isFollowed(
        _ id: Int64, upTo known: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> Bool {
        let view = tx.view
        return try recorded {
            if try view.withValue(of: KeyOrder.treeKey(known - 1), in: table.rows, { _ in true }) == true {
                return true
            }
            var cursor = try view.cursor(in: table.rows)
            return try cursor.last() && KeyOrder.rowID(cursor.integerKey) > id
        }
    }

    func write(_ number: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let bytes = withUnsafeBytes(of: number.littleEndian) { Array($0) }
        try engine { () throws(StorageError) in try tx.put(bytes, for: UInt64(table.id), in: table.idTree) }
    }

    /// Decodes a stored next id; `nil` for invalid bytes.
    static func number(_ bytes: [UInt8]) -> Int64? {
        bytes.count == 8 ? bytes.reversed().reduce(0) { $0 << 8 | Int64($1) } : nil
    }

    /// Returns the next id without taking it.
    func peek(_ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let known = next.load(ordering: .relaxed)
        if known != 0 { return known }
        let view = tx.view
        let stored = try engine { () throws(StorageError) in try view.get(UInt64(table.id), in: table.idTree) }
        var number = lowest.load(ordering: .relaxed)
        if let stored {
            guard let stored = RowIDSequence.number(stored) else {
                throw .catalogueDamaged(reason: "the next id of \(table.schema.name) is not a number")
            }
            number = max(number, stored)
        }
        var cursor = try engine { () throws(StorageError) in try view.cursor(in: table.rows) }
        do {
            if try cursor.last() {
                let last = KeyOrder.rowID(cursor.integerKey)
                number = max(number, last == .max ? .max : last + 1)
            }
        } catch { throw .storage(error) }
        next.store(number, ordering: .relaxed)
        return number
    }
}
