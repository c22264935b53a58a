import Foundation

/// The signals that end the program from outside: SIGINT, SIGTERM and SIGHUP.
enum Signals {
    /// Whether the program owns its process. Tests run its verbs inside a process of theirs, whose signals stay as they are.
    nonisolated(unsafe) static var ownsProcess = false

    /// Runs the handler, on a thread of its own, for each of these signals from now on. A signal that the process ignores since its start, as
    /// under `nohup`, stays ignored.
    ///
    /// Must come before other threads begin, because they inherit that the signals are blocked.
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

    /// Ends the process by a signal, so that its parent sees what ended it.
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
