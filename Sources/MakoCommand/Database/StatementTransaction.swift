import Foundation
import MakoRecords
import MakoStorage

/// A transaction for one or several statements: one that `BEGIN` opens, or that of a single statement. The file's
/// history records it as one commit.
final class StatementTransaction {
    private var transaction: WriteTransaction?
    private let before: Catalogue
    private var catalogue: Catalogue
    private var changes = ChangeSet()
    /// The dropped tables.
    private var gone: [String] = []

    init(_ store: Store) throws {
        let transaction = try store.beginWrite()
        before = try Catalogue.load(view: transaction.view)
        catalogue = before
        self.transaction = consume transaction
    }

    /// Runs a statement. If it fails, its changes are rolled back and the transaction continues.
    func run(
        _ statement: Statement, _ parameters: [Value], _ named: [String: Value], _ cancellation: Cancellation?,
        ignoringReferences: Bool
    ) throws -> StatementOutcome {
        try with { transaction in
            var own = changes.empty
            let catalogue = catalogue
            let outcome = try statement.run(
                catalogue, in: transaction, changes: &own, parameters: parameters, named: named,
                cancellation: cancellation, ignoringReferences: ignoringReferences)
            changes.append(own)
            if outcome.changesSchema {
                if case .dropTable(let drop) = statement {
                    gone.append(try catalogue.requireTable(drop.table.name).schema.name)
                }
                self.catalogue = try Catalogue.load(view: transaction.view)
            }
            return outcome
        }
    }

    func commit() throws {
        try with { transaction in
            if changes.isEmpty && gone.isEmpty { return }
            try HistoryWriter(SystemEntropy()).append(
                changes, rewritten: gone, catalogue, before: before, date: Date().timeIntervalSinceReferenceDate,
                in: transaction)
        }
        try transaction.take()?.commit()
    }

    func rollback() { transaction.take()?.rollback() }

    private func with<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        switch transaction {
        case .some(let transaction): return try body(transaction)
        case .none: throw Failure("the transaction has ended", .badInput)
        }
    }
}

/// The transaction of a session, which `BEGIN` opens and `COMMIT` or `ROLLBACK` ends.
struct SessionTransaction {
    /// The open transaction; nil: each statement is a transaction of its own.
    private(set) var open: StatementTransaction?

    mutating func take(_ step: TransactionStep, _ at: SourcePosition, _ database: DatabaseFile) throws {
        switch (step, open) {
        case (.begin, nil): open = try database.begin()
        case (.commit, let current?):
            defer { open = nil }
            try current.commit()
        case (.rollback, .some): leave()
        default: throw at.isOutOfPlace(step)
        }
    }

    /// Rolls back, because a database with an open transaction cannot be closed.
    mutating func leave() {
        open?.rollback()
        open = nil
    }
}
