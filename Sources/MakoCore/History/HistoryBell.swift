import Dispatch

/// Tells the reader of a history that there may be more.
final class HistoryBell: Sendable {
    private struct State {
        /// What is stored is asked for without a commit.
        var isRung = true
        /// A snapshot of a higher number shows every commit that was told.
        var base: UInt64 = 0
        var hasTold = false
        /// How many milliseconds to wait before looking again for a commit that is not shown yet.
        var patience = 1
        var isFinished = false
        var reader: CheckedContinuation<Bool, Never>?
    }
    private let state = Protected(State())

    var isFinished: Bool { state.with { $0.isFinished } }

    func ring(_ commit: CommitChanges) {
        ring { state in
            state.base = max(state.base, commit.base)
            state.hasTold = true
        }
    }

    private func ring(_ change: (inout State) -> Void) {
        let reader = state.with { state -> CheckedContinuation<Bool, Never>? in
            change(&state)
            state.isRung = state.reader == nil
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: true)
    }

    /// The reader has seen what a snapshot of a number shows of the history, or a part of it.
    func hasRead(upTo number: UInt64, isLast: Bool) {
        let patience: Int? = state.with { state in
            if !isLast { state.isRung = true }
            // A commit that waits for nothing is told before it is shown.
            if !state.hasTold || number > state.base {
                state.patience = 1
                return nil
            }
            state.patience = min(state.patience * 2, 1000)
            return state.patience
        }
        guard let patience else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(patience)) { [weak self] in
            self?.ring { _ in }
        }
    }

    func finish() {
        let reader = state.with { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: false)
    }

    /// Waits until there may be more; false: the database was closed, or the task cancelled.
    ///
    /// - Parameter poll: how long to wait at most.
    func isRung(poll: DispatchTimeInterval?) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.with { state in
                    if state.isFinished || Task.isCancelled || state.reader != nil { return false }
                    if state.isRung {
                        state.isRung = false
                        return true
                    }
                    state.reader = continuation
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                guard let poll else { return }
                DispatchQueue.global().asyncAfter(deadline: .now() + poll) { [weak self] in self?.ring { _ in } }
            }
        } onCancel: {
            let reader = state.with { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: false)
        }
    }
}
