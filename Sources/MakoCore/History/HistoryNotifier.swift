import Dispatch
import MakoStorage

/// Notifies a history reader that there may be new commits.
final class HistoryNotifier: Sendable {
    private struct State {
        /// True at the start, because stored commits are read before the first notification.
        var isRung = true
        /// A snapshot with a higher number includes every announced commit.
        var base: UInt64 = 0
        var hasNotified = false
        /// The delay, in milliseconds, before the next attempt to see an announced commit.
        var patience = 1
        var isFinished = false
        var reader: CheckedContinuation<Bool, Never>?
    }
    private let state = Guarded(State())

    func ring(_ commit: CommitChanges) {
        ring { state in
            state.base = max(state.base, commit.base)
            state.hasNotified = true
        }
    }

    private func ring(_ change: (inout State) -> Void) {
        let reader = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            change(&state)
            state.isRung = state.reader == nil
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: true)
    }

    /// Records that the reader has processed a snapshot's history, or a part of it.
    func hasRead(upTo number: UInt64, isLast: Bool) {
        let patience: Int? = state.withLock { state in
            if !isLast { state.isRung = true }
            // A commit with async durability notifies before it is visible to snapshots.
            if !state.hasNotified || number > state.base {
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
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: false)
    }

    /// Waits for a notification. False when the database was closed or the task cancelled.
    ///
    /// - Parameter poll: the maximum wait; nil: without limit.
    func isRung(poll: DispatchTimeInterval?) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
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
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: false)
        }
    }
}
