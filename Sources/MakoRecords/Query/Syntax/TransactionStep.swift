/// `BEGIN`, `COMMIT` and `ROLLBACK` of a shell.
package enum TransactionStep: String, Sendable, Hashable {
    case begin = "BEGIN"
    case commit = "COMMIT"
    case rollback = "ROLLBACK"
}

extension SourcePosition {
    /// Returns the error of a step in the wrong state: BEGIN inside a transaction, or COMMIT and ROLLBACK outside one.
    package func isOutOfPlace(_ step: TransactionStep) -> RecordError {
        error(
            step == .begin
                ? "a transaction has begun already; COMMIT or ROLLBACK ends it"
                : "no transaction has begun; BEGIN begins one")
    }
}

extension Statement {
    /// Whether it does not change the file and does not start to.
    package var leavesFile: Bool { if case .transaction = self { false } else { isReadOnly } }
}

extension Parser {
    /// Parses `BEGIN [DEFERRED | IMMEDIATE | EXCLUSIVE] [TRANSACTION]`, `COMMIT [TRANSACTION]`, `END [TRANSACTION]`,
    /// `ROLLBACK [TRANSACTION]`.
    mutating func transactionStep() -> Statement? {
        let at = position(token)
        let step: TransactionStep
        if takeWord("BEGIN") {
            step = .begin
            // BEGIN takes the writer lock in every mode.
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
