import MakoStorage

/// Holds the engine's transaction, a non-copyable value, in an object.
final class WriteLockGuard {
    // One thread uses it, and nothing ends it inside `with`.
    @exclusivity(unchecked) private var transaction: WriteTransaction?
    let view: Snapshot
    /// Whether rows of the transaction are borrowed by a closure, which must not change them.
    @exclusivity(unchecked) var hasBorrowedRows = false

    init(_ store: Store) throws(MakoError) {
        let transaction = try storage { () throws(StorageError) in try store.beginWrite() }
        view = transaction.view
        self.transaction = consume transaction
    }

    @inline(__always)
    func with<R>(_ body: (borrowing WriteTransaction) throws(MakoError) -> R) throws(MakoError) -> R {
        if hasBorrowedRows { throw WriteLockGuard.rowsAreBorrowed }
        switch transaction {
        case .some(let transaction): return try body(transaction)
        case .none: throw .transactionEnded
        }
    }

    private static let rowsAreBorrowed = MakoError.invalidArgument(
        "the closure of forEachRow reads what the transaction would change; gather the rows first, and change them behind it"
    )

    /// Commits. If that fails before other writers can start, the writer lock stays held until ``rollback()``.
    func commit(_ durability: Durability?, isShown: Bool) throws(MakoError) {
        try with { (transaction: borrowing WriteTransaction) throws(MakoError) in
            try storage { () throws(StorageError) in
                try transaction.commitKeepingLock(durability: durability, isShown: isShown)
            }
        }
        _ = transaction.take()
    }

    /// Whether the writer lock is held.
    var isHeld: Bool {
        switch transaction {
        case .some(let transaction): transaction.holdsWriterLock
        case .none: false
        }
    }

    /// Lets go of a transaction that is in the file and not confirmed.
    func letGo() { _ = transaction.take() }

    func rollback() {
        if let transaction = transaction.take() { transaction.rollback() }
    }
}
