import MakoStorage
import Synchronization

/// The next row id of a table, for as long as the database is open.
///
/// The next id is one above the largest the table ever held; behind a row with the largest id of all, free ids are drawn. It is read once
/// from the last row and from the tree of ids, and kept here from then on; only the deletion of the last row must write it down, because
/// the row itself no longer tells. Ids that a rolled-back transaction took are not given again in the session. Only the transaction that
/// holds the writer's turn calls this.
final class RowIDSequence: Sendable {
    static let treeName = "mako.ids"

    /// 0: not read yet.
    private let next = Atomic<Int64>(0)

    /// Takes the next id.
    func take(_ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let id = try peek(table, tx)
        if id == .max { return try free(table, tx) }
        next.store(id + 1, ordering: .relaxed)
        return id
    }

    /// A free id below the largest one, which has been in use. Ids are drawn at random: one that a deleted row had comes back with a
    /// probability that is next to none.
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

    /// A double holds it exactly, as languages whose numbers are doubles need it.
    private static let largestDrawn: Int64 = 1 << 53

    /// Reads the next id anew when it is wanted.
    func forget() { next.store(0, ordering: .relaxed) }

    /// Notes an id that was given by hand.
    func note(_ id: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let known = try peek(table, tx)
        if id >= known { next.store(id == .max ? .max : id + 1, ordering: .relaxed) }
    }

    /// Writes the next id down when the row that told it goes.
    func willDelete(_ id: Int64, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let known = try peek(table, tx)
        if id < known - 1, try isFollowed(id, upTo: known, table, tx) { return }
        try write(known, table, tx)
    }

    /// Whether a row with a larger id is there. Mostly the last id that was given has one; where its row was refused or rolled
    /// back, the rows must be asked.
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

    /// What is stored of a table's next id; nil where it is no number.
    static func number(_ bytes: [UInt8]) -> Int64? {
        bytes.count == 8 ? bytes.reversed().reduce(0) { $0 << 8 | Int64($1) } : nil
    }

    /// The next id without taking it.
    func peek(_ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let known = next.load(ordering: .relaxed)
        if known != 0 { return known }
        let view = tx.view
        let stored = try engine { () throws(StorageError) in try view.get(UInt64(table.id), in: table.idTree) }
        var number: Int64 = 1
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
