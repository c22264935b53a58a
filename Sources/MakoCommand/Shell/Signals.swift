import Foundation

/// The signals that end the program: SIGINT, SIGTERM and SIGHUP.
enum Signals {
    /// Whether the program owns its process. Tests run subcommands in their own process, whose signals stay unchanged.
    nonisolated(unsafe) static var ownsProcess = false

    /// Runs the handler, on a thread of its own, for each of these signals. Signals ignored at the start of the
    /// process, as under `nohup`, stay ignored.
    ///
    /// Must be called before other threads start, because they inherit the mask that blocks the signals.
    static func handle(_ handler: @escaping @Sendable (_ signal: Int32) -> Void) {
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { !isIgnored($0) }
        guard ownsProcess, !signals.isEmpty else { return }
        var blocked = set(of: signals)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        Thread.detachNewThread {
            var awaited = set(of: signals)
            var signal: Int32 = 0
            while sigwait(&awaited, &signal) == 0 { handler(signal) }
        }
    }

    /// Ends the process by a signal, so that its parent sees the cause.
    static func end(by number: Int32) -> Never {
        _ = signal(number, SIG_DFL)
        var unblocked = set(of: [number])
        pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
        raise(number)
        exit(128 + number)
    }

    private static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return true }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
