import MakoStorage

/// Holds the engine's transaction, which cannot be copied, where an object can reach it.
final class WriteTurn {
    // The turn is one thread's, and nothing ends it inside `with`.
    @exclusivity(unchecked) private var transaction: WriteTransaction?
    let view: Snapshot
    /// Rows of the transaction are lent to a closure, which must change nothing.
    @exclusivity(unchecked) var lendsRows = false

    init(_ store: Store) throws(MakoError) {
        let transaction = try storage { () throws(StorageError) in try store.beginWrite() }
        view = transaction.view
        self.transaction = consume transaction
    }

    @inline(__always)
    func with<R>(_ body: (borrowing WriteTransaction) throws(MakoError) -> R) throws(MakoError) -> R {
        if lendsRows { throw WriteTurn.isLent }
        switch transaction {
        case .some(let transaction): return try body(transaction)
        case .none: throw .transactionEnded
        }
    }

    private static let isLent = MakoError.invalidArgument(
        "the closure of forEachRow reads what the transaction would change; gather the rows first, and change them behind it"
    )

    /// Commits. Where that fails before others can write, the turn is held until ``rollback()``.
    func commit(_ durability: Durability?, isShown: Bool) throws(MakoError) {
        try with { (transaction: borrowing WriteTransaction) throws(MakoError) in
            try storage { () throws(StorageError) in
                try transaction.commitOrHold(durability: durability, isShown: isShown)
            }
        }
        _ = transaction.take()
    }

    /// Whether nobody else can write yet.
    var isHeld: Bool {
        switch transaction {
        case .some(let transaction): transaction.hasTurn
        case .none: false
        }
    }

    func rollback() {
        if let transaction = transaction.take() { transaction.rollback() }
    }
}
