import CPlatform
import MakoRecords

/// The cancellation of the work on this thread.
enum CurrentCancellation {
    static var current: Cancellation? {
        guard let pointer = mako_get_cancellation() else { return nil }
        return Unmanaged<Cancellation>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Runs a closure without cancellation.
    static func without(_ body: () -> Void) {
        let outer = mako_get_cancellation()
        mako_set_cancellation(nil)
        defer { mako_set_cancellation(outer) }
        body()
    }

    /// Runs a closure that a cancellation can end at its next check.
    static func with<R, E: Error>(_ cancellation: Cancellation, _ body: () throws(E) -> R) throws(E) -> R {
        let outer = mako_get_cancellation()
        mako_set_cancellation(Unmanaged.passUnretained(cancellation).toOpaque())
        defer { mako_set_cancellation(outer) }
        return try withExtendedLifetime(cancellation) { () throws(E) -> R in try body() }
    }
}
