import Foundation
import MakoStorage

/// A request to end, by a signal. A second signal ends the process at once.
final class Stop: Sendable {
    private let state = Guarded<Int32?>(nil)
    private let wakes = DispatchSemaphore(value: 0)

    var signal: Int32? { state.withLock { $0 } }

    func request(_ signal: Int32) {
        let isSecond = state.withLock { state in
            defer { state = signal }
            return state != nil
        }
        if isSecond {
            UnfinishedFiles.removeAtEnd()
            Signals.end(by: signal)
        }
        wakes.signal()
    }

    /// Returns whether there was a signal.
    func wait(seconds: Double) -> Bool {
        if signal != nil { return true }
        return wakes.wait(timeout: .now() + seconds) == .success
    }
}
