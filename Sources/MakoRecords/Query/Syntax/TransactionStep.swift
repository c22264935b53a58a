/// `BEGIN`, `COMMIT` and `ROLLBACK`, which enclose the statements of a shell.
public enum TransactionStep: String, Sendable, Hashable {
    case begin = "BEGIN"
    case commit = "COMMIT"
    case rollback = "ROLLBACK"
}

extension SourcePosition {
    /// The error of a step that fits no transaction: one that begins inside another, or that ends none.
    package func isOutOfPlace(_ step: TransactionStep) -> RecordError {
        error(
            step == .begin
                ? "a transaction has begun already; COMMIT or ROLLBACK ends it"
                : "no transaction has begun; BEGIN begins one")
    }
}

extension Statement {
    /// Whether it neither changes the file nor begins to.
    public var leavesFile: Bool { if case .transaction = self { false } else { isReadOnly } }
}

extension Parser {
    /// `BEGIN [DEFERRED | IMMEDIATE | EXCLUSIVE] [TRANSACTION]`, `COMMIT [TRANSACTION]`, `END [TRANSACTION]`, `ROLLBACK [TRANSACTION]`
    mutating func transactionStep() -> Statement? {
        let at = position(token)
        let step: TransactionStep
        if takeWord("BEGIN") {
            step = .begin
            // Writers wait for each other at the begin, whatever is said.
            _ = takeWord("DEFERRED") || takeWord("IMMEDIATE") || takeWord("EXCLUSIVE")
        } else if takeWord("COMMIT") || takeWord("END") {
            step = .commit
        } else if takeWord("ROLLBACK") {
            step = .rollback
        } else {
            return nil
        }
        _ = takeWord("TRANSACTION")
        return .transaction(step, at)
    }
}
