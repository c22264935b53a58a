import Dispatch
import MakoStorage

/// The page-cache budget of a database: the budget that the caller set, lowered under memory pressure.
///
/// On Apple systems it follows the system's memory-pressure events until the database closes. The system repeats the
/// events while memory is short, but does not always report the end of a shortage: 60 seconds after the last event the
/// full budget applies again.
final class CachePressure: @unchecked Sendable {
    enum Level: Int, Sendable, Comparable {
        case normal, warning, critical
        static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    private struct State {
        var wanted: Int
        var level = Level.normal
        /// The number of pressure events, by which a delayed reset detects that a later event replaced it.
        var words = 0
        var isEnded = false
    }

    /// The smallest budget under pressure, in bytes.
    private static let least = 1 << 20
    private static let calmAfter: DispatchTimeInterval = .seconds(60)

    private let store: Store
    private let lock = Lock()
    // Guarded by `lock`.
    @exclusivity(unchecked) private var state: State
    private let queue = DispatchQueue(label: "mako.pressure", qos: .utility)
    #if canImport(Darwin)
        private var source: (any DispatchSourceMemoryPressure)?
    #endif

    init(_ store: Store) {
        self.store = store
        state = State(wanted: store.cacheBytes)
        #if canImport(Darwin)
            let source = DispatchSource.makeMemoryPressureSource(
                eventMask: [.normal, .warning, .critical], queue: queue)
            self.source = source
            source.setEventHandler { [weak self] in self?.takeWord() }
            source.activate()
        #endif
    }

    deinit { end() }

    #if canImport(Darwin)
        private func takeWord() {
            guard let event = source?.data else { return }
            note(event.contains(.critical) ? .critical : event.contains(.warning) ? .warning : .normal)
        }
    #endif

    /// The budget that the caller set, in bytes.
    var wanted: Int { lock.withLock { state.wanted } }

    /// Sets the budget. Under memory pressure a part of it applies.
    func want(_ bytes: Int) throws(StorageError) {
        try lock.withLock { () throws(StorageError) in
            try store.setCacheBytes(Self.budget(bytes, at: state.level))
            state.wanted = bytes
        }
    }

    /// The budget under pressure, in bytes: a quarter at a warning, at most 1 MiB when critical.
    static func budget(_ wanted: Int, at level: Level) -> Int {
        switch level {
        case .normal: wanted
        case .warning: min(wanted, max(least, wanted / 4))
        case .critical: min(wanted, least)
        }
    }

    /// Applies a pressure event.
    func note(_ level: Level) {
        let word: Int? = lock.withLock {
            if state.isEnded { return nil }
            state.words += 1
            set(level)
            return level == .normal ? nil : state.words
        }
        guard let word else { return }
        queue.asyncAfter(deadline: .now() + Self.calmAfter) { [weak self] in self?.calmDown(after: word) }
    }

    /// Restores the full budget unless a later event arrived.
    func calmDown(after word: Int) {
        lock.withLock {
            if state.isEnded || state.words != word { return }
            set(.normal)
        }
    }

    var words: Int { lock.withLock { state.words } }

    private func set(_ level: Level) {
        state.level = level
        // The store may be closed meanwhile; it has no cache then.
        do throws(StorageError) { try store.setCacheBytes(Self.budget(state.wanted, at: level)) } catch {}
    }

    /// Stops following the system's events.
    func end() {
        lock.withLock { state.isEnded = true }
        #if canImport(Darwin)
            source?.cancel()
        #endif
    }
}
