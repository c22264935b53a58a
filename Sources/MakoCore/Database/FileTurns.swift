import Dispatch
import MakoStorage
import Synchronization

/// What turns lock and release: a database.
protocol FileOwner: AnyObject, Sendable {
    var path: String { get }
    /// Whether this is the child of a fork, in which the locks of other threads stay locked.
    var isInherited: Bool { get }
    /// Whether the calling thread is inside a read or transaction, and so has a turn.
    var isInsideScope: Bool { get }
    /// Whether another process waits for the file.
    var isFileAwaited: Bool { get }
    func requireOpen() throws(MakoError)
    /// Locks the file; another call releases it unless this one fails.
    func takeFile(within timeout: Duration) -> TakenFile
    func releaseFile() throws(StorageError)
    /// Calls the event handler of the store, which may begin a turn.
    func deliverEvents()
}

/// The outcome of locking the file.
struct TakenFile {
    /// Whether other processes have committed since it was released.
    var hasNews = false
    /// Why it is not locked.
    var failure: MakoError?
    /// Must be called afterwards, without locks: notifies watchers, or throws the failure. Any other error is of a type
    /// that does not fit its table any more, and is thrown at its next use again.
    var announce: () throws(MakoError) -> Void = {}
}

/// The turns of a database that locks its file for each transaction (decision 112): while there is one, the file is locked
/// and the store is not suspended.
///
///     resting → changing → taken      the first turn resumes the store
///     taken → changing → resting      the last one suspends it
final class FileTurns<Owner: FileOwner>: Sendable {
    private enum Phase { case resting, changing, taken }

    private struct State {
        var phase = Phase.taken
        /// The turns that have not ended. That of opening is the first.
        var count = 1
        /// Counts the calls of `suspend()`, which end all turns.
        var era = 0
        var isStopped = false
        /// Counts the stops, so that a `resume()` does not undo a later one.
        var stops = 0
        /// Whether a release that was not possible is tried again later.
        var isRetrying = false
        /// New turns wait until those that run have ended, because another process waits.
        var isYielding = false
        /// When to look next whether another process waits.
        var nextLook = ContinuousClock.now + FileTurns.share

        mutating func rest() {
            phase = .resting
            isYielding = false
        }

        /// After an attempt to suspend the store that failed.
        mutating func stayTaken() {
            phase = .taken
            isYielding = false
        }
    }

    private enum Step {
        case stopped, lock, joined(Int), wait
    }

    /// How long turns may overlap before another process is looked for.
    private static var share: Duration { .milliseconds(50) }
    /// How long new turns wait for those that run: these may be of their own thread, or wait for it.
    private static var longestYield: Duration { .milliseconds(100) }
    /// How long turns then overlap until another process is looked for again.
    private static var pauseOfYielding: Duration { .seconds(1) }
    /// How long the file is waited for without looking whether the turns were stopped.
    private static var slice: Duration { .milliseconds(250) }

    private let state = Guarded(State())
    private let change = ConditionVariable()

    /// Whether `suspend()` was called.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    // MARK: Beginning

    /// Begins a turn, for which it waits until another process has ended its turn.
    ///
    /// - Parameter stop: the stop that ends with this turn, by its number.
    /// - Returns: the turn, and whether other processes have committed since the one before.
    /// - Throws: `MakoError.alreadyOpen` after the timeout, and as ``Database/resume(timeout:)``.
    func take(
        _ owner: Owner, timeout: Duration?, ending stop: Int? = nil
    ) throws(MakoError) -> (turn: FileTurn<Owner>, hasNews: Bool) {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        // A thread inside a read or transaction has a turn already, for whose end it would wait.
        let hasTurn = owner.isInsideScope
        var yields = true
        while true {
            try owner.requireOpen()
            switch state.withLock({ next(&$0, owner, hasTurn: hasTurn, yields: yields, ending: stop) }) {
            case .stopped: throw .storage(.suspended(path: owner.path))
            case .joined(let era): return (FileTurn(of: self, owner, era), false)
            case .lock:
                if let taken = try lock(owner, until: deadline, ending: stop) { return taken }
            case .wait:
                let isYielding = state.withLock { $0.isYielding && $0.phase == .taken }
                // The change may wait for the end of this thread's read.
                if !isYielding && Snapshot.isBorrowing {
                    throw .invalidArgument(
                        "\(owner.path) was used inside a borrowed read of a store, for whose end it would wait; "
                            + "call it afterwards")
                }
                let end = isYielding ? ContinuousClock.now + Self.longestYield : deadline
                let hasChanged = state.wait(for: change, until: end) {
                    $0.phase == .changing || isYielding && $0.isYielding
                }
                if hasChanged { continue }
                guard isYielding else { throw .alreadyOpen(path: owner.path) }
                yields = false
                state.withLock { state in
                    state.isYielding = false
                    state.nextLook = ContinuousClock.now + Self.pauseOfYielding
                }
                change.broadcast()
            }
        }
    }

    private func next(
        _ state: inout State, _ owner: Owner, hasTurn: Bool, yields: Bool, ending stop: Int?
    ) -> Step {
        // Also while `suspend()` waits for the transaction that this thread is in.
        if hasTurn && state.count > 0 {
            state.count += 1
            return .joined(state.era)
        }
        if state.isStopped && stop != state.stops { return .stopped }
        switch state.phase {
        case .changing: return .wait
        case .resting:
            state.phase = .changing
            return .lock
        case .taken:
            if yields, state.count > 0 {
                let now = ContinuousClock.now
                if !state.isYielding, state.nextLook < now {
                    state.isYielding = owner.isFileAwaited
                    state.nextLook = now + .milliseconds(10)
                }
                if state.isYielding { return .wait }
            }
            state.count += 1
            return .joined(state.era)
        }
    }

    /// Resumes the store; nil if another process has the file, and there is time left.
    private func lock(
        _ owner: Owner, until deadline: ContinuousClock.Instant?, ending stop: Int?
    ) throws(MakoError) -> (turn: FileTurn<Owner>, hasNews: Bool)? {
        let left = deadline.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
        let taken = owner.takeFile(within: min(left ?? Self.slice, Self.slice))
        let era = state.withLock { state -> Int? in
            if taken.failure != nil {
                state.rest()
                return nil
            }
            assert(state.count == 0, "turns end before the store is suspended")
            (state.phase, state.count) = (.taken, 1)
            // A later stop waits for this change, and then ends the turn.
            if stop == state.stops { state.isStopped = false }
            state.nextLook = ContinuousClock.now + Self.share
            return state.era
        }
        change.broadcast()
        guard let era else {
            do throws(MakoError) { try taken.announce() } catch {
                guard case .alreadyOpen = error, deadline.map({ ContinuousClock.now < $0 }) ?? true else { throw error }
            }
            return nil
        }
        let turn = FileTurn(of: self, owner, era)
        do throws(MakoError) { try taken.announce() } catch {}
        return (turn, taken.hasNews)
    }

    // MARK: Ending

    /// Ends a turn. The last one suspends the store.
    fileprivate func end(_ era: Int, _ owner: Owner) {
        let isLast = state.withLock { state in
            // Otherwise `suspend()` has ended it.
            guard state.era == era else { return false }
            state.count -= 1
            return Self.beginRelease(&state)
        }
        if isLast { release(owner, pause: .milliseconds(10)) }
    }

    private static func beginRelease(_ state: inout State) -> Bool {
        assert(state.count >= 0, "a turn ends once")
        guard state.count == 0, state.phase == .taken else { return false }
        state.phase = .changing
        return true
    }

    /// Suspends the store. If it cannot be now, because the turn ends inside a borrowed read or in an event handler, or by
    /// an I/O error, it keeps its lock and is tried again after a pause.
    private func release(_ owner: Owner, pause: DispatchTimeInterval) {
        do throws(StorageError) {
            try owner.releaseFile()
            state.withLock { $0.rest() }
            change.broadcast()
            owner.deliverEvents()
        } catch {
            let isFirst = state.withLock { state in
                state.stayTaken()
                defer { state.isRetrying = true }
                return !state.isRetrying
            }
            change.broadcast()
            owner.deliverEvents()
            if isFirst { retry(owner, error, pause) }
        }
    }

    private func retry(_ owner: Owner, _ error: StorageError, _ pause: DispatchTimeInterval) {
        // A store that has failed stays so until it is opened again.
        switch error {
        case .closed, .readOnly, .inherited: return
        default: break
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + pause) { [weak owner] in
            let isUnused = self.state.withLock { state in
                state.isRetrying = false
                return Self.beginRelease(&state)
            }
            if let owner, isUnused { self.release(owner, pause: .seconds(1)) }
        }
    }

    // MARK: Suspension

    /// Refuses new turns, and ends those that run by suspending the store.
    func stop(_ owner: Owner, _ suspend: () throws(MakoError) -> Void) throws(MakoError) {
        state.withLock { state in
            state.isStopped = true
            state.stops += 1
        }
        var before = Phase.changing
        while before == .changing {
            state.wait(for: change) { $0.phase == .changing }
            before = state.withLock { state in
                // Another call of `suspend()` may have failed meanwhile.
                state.isStopped = true
                defer { if state.phase == .taken { state.phase = .changing } }
                return state.phase
            }
        }
        if before == .resting { return }
        do throws(MakoError) { try suspend() } catch {
            let isUnused = state.withLock { state in
                state.isStopped = false
                state.stayTaken()
                return Self.beginRelease(&state)
            }
            change.broadcast()
            if isUnused { release(owner, pause: .milliseconds(10)) }
            throw error
        }
        state.withLock { state in
            state.rest()
            state.era += 1
            state.count = 0
        }
        change.broadcast()
    }

    /// Allows turns again, and takes one.
    ///
    /// - Returns: whether there are commits of other processes; false if the turns were not stopped.
    func start(_ owner: Owner, timeout: Duration) throws(MakoError) -> Bool {
        guard let stop = state.withLock({ $0.isStopped ? $0.stops : nil }) else { return false }
        let (turn, hasNews) = try take(owner, timeout: timeout, ending: stop)
        turn.end()
        return hasNews
    }
}

/// The right to use the file of a database that locks it for each transaction. Ends with its last reference at the latest.
final class FileTurn<Owner: FileOwner>: Sendable {
    private let turns: FileTurns<Owner>
    private let owner: Owner
    private let era: Int
    private let hasEnded = Atomic(false)

    /// - Parameter era: 0 for the turn of opening.
    init(of turns: FileTurns<Owner>, _ owner: Owner, _ era: Int = 0) {
        (self.turns, self.owner, self.era) = (turns, owner, era)
    }

    deinit { end() }

    func end() {
        if hasEnded.exchange(true, ordering: .relaxed) || owner.isInherited { return }
        turns.end(era, owner)
    }
}
