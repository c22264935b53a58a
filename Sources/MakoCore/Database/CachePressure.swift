import Dispatch
import MakoStorage

/// The budget of a database's memory for pages: what the caller wants of it, and what it is while the system is short of memory.
///
/// On Apple systems it follows the system's word by itself, from opening to closing. The system says when memory is short again and again, but not
/// always when it is no longer: a minute after the last such word the budget is what was wanted.
final class CachePressure: @unchecked Sendable {
    enum Level: Int, Sendable, Comparable {
        case normal, warning, critical
        static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    private struct State {
        var wanted: Int
        var level = Level.normal
        /// How many words there were: what is due after an earlier one comes to nothing.
        var words = 0
        var isEnded = false
    }

    /// The least that pressure leaves, in bytes.
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

    /// The budget that the caller wants, in bytes.
    var wanted: Int { lock.withLock { state.wanted } }

    /// Sets the budget that the caller wants. While memory is short a share of it holds.
    func want(_ bytes: Int) throws(StorageError) {
        try lock.withLock { () throws(StorageError) in
            try store.setCacheBytes(Self.budget(bytes, at: state.level))
            state.wanted = bytes
        }
    }

    /// What is left of a budget, in bytes: a quarter when memory is short, and very little before the system ends processes.
    static func budget(_ wanted: Int, at level: Level) -> Int {
        switch level {
        case .normal: wanted
        case .warning: min(wanted, max(least, wanted / 4))
        case .critical: min(wanted, least)
        }
    }

    /// Takes the system's word.
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

    /// Ends the shortage when no other word came after one.
    func calmDown(after word: Int) {
        lock.withLock {
            if state.isEnded || state.words != word { return }
            set(.normal)
        }
    }

    var words: Int { lock.withLock { state.words } }

    private func set(_ level: Level) {
        state.level = level
        // Of a store that has been closed meanwhile there is nothing to give back.
        do throws(StorageError) { try store.setCacheBytes(Self.budget(state.wanted, at: level)) } catch {}
    }

    /// Follows the system no more.
    func end() {
        lock.withLock { state.isEnded = true }
        #if canImport(Darwin)
            source?.cancel()
        #endif
    }
}
