import MakoReplication
import MakoStorage

/// An object store in memory with injected faults.
package final class SimulatedObjectStore: ObjectStore, @unchecked Sendable {
    package enum Fault: Sendable, Hashable {
        /// The store is busy, and does nothing.
        case unavailable
        /// The call takes effect, and the answer is lost.
        case answerLost
        /// The call takes effect twice, as if a client repeats it; the second answer counts.
        case doubled
        /// The process ends before or after the call. Later calls fail until `restart()`.
        case endBefore
        case endAfter
    }

    private struct State {
        var objects: [String: [UInt8]] = [:]
        var calls = 0
        var puts = 0
        var faults: [Int: Fault] = [:]
        var hasEnded = false
        /// The number of newest names that listings omit.
        var late = 0
        var order: [String] = []
        /// Whether every call is answered with a 503.
        var isDown = false
    }

    private let lock = Lock()
    // Guarded by `lock`.
    private var state = State()
    /// Called at the end of the process.
    private let onEnd: @Sendable () -> Void

    package init(onEnd: @escaping @Sendable () -> Void = {}) { self.onEnd = onEnd }

    package var calls: Int { lock.withLock { state.calls } }
    package var puts: Int { lock.withLock { state.puts } }
    package var hasEnded: Bool { lock.withLock { state.hasEnded } }
    package var names: [String] { lock.withLock { state.objects.keys.sorted() } }

    package var objects: [String: [UInt8]] {
        get { lock.withLock { state.objects } }
        set { lock.withLock { state.objects = newValue } }
    }

    package var isDown: Bool {
        get { lock.withLock { state.isDown } }
        set { lock.withLock { state.isDown = newValue } }
    }

    /// The number of newest names that listings omit.
    package var lateNames: Int {
        get { lock.withLock { state.late } }
        set { lock.withLock { state.late = newValue } }
    }

    /// Fails at the call with this index, counted from 0.
    package func inject(_ fault: Fault, atCall index: Int) { lock.withLock { state.faults[index] = fault } }

    package func clearFaults() { lock.withLock { state.faults = [:] } }

    /// Simulates a new process.
    package func restart() { lock.withLock { state.hasEnded = false } }

    // MARK: Calls

    private func call<R>(
        _ body: (inout State) throws(ObjectStoreError) -> R
    ) throws(ObjectStoreError) -> R {
        var ends = false
        let outcome = lock.withLock { () -> Result<R, ObjectStoreError> in
            let fault = state.faults[state.calls]
            state.calls += 1
            if state.hasEnded { return .failure(.unavailable(reason: "the process has ended")) }
            if state.isDown || fault == .unavailable { return .failure(.unavailable(reason: "503")) }
            if fault == .endBefore {
                (state.hasEnded, ends) = (true, true)
                return .failure(.unavailable(reason: "the process ends"))
            }
            var result = attempt(&state, body)
            switch fault {
            case .doubled: result = attempt(&state, body)
            case .answerLost: return .failure(.unavailable(reason: "no answer"))
            case .endAfter:
                (state.hasEnded, ends) = (true, true)
                return .failure(.unavailable(reason: "the process ends"))
            case .unavailable, .endBefore, nil: break
            }
            return result
        }
        if ends { onEnd() }
        return try outcome.get()
    }

    private func attempt<R>(
        _ state: inout State, _ body: (inout State) throws(ObjectStoreError) -> R
    ) -> Result<R, ObjectStoreError> {
        do throws(ObjectStoreError) { return .success(try body(&state)) } catch { return .failure(error) }
    }

    package func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        var bytes: [UInt8] = []
        try content.forEachPiece { piece throws(ObjectStoreError) in bytes += piece }
        return try call { state throws(ObjectStoreError) in
            switch condition {
            case .ifAbsent: if state.objects[name] != nil { throw .exists(name: name) }
            case .ifMatch(let tag):
                guard let old = state.objects[name] else { throw .notFound(name: name) }
                guard Self.tag(old) == tag else { throw .changed(name: name) }
            }
            state.objects[name] = bytes
            state.order.append(name)
            state.puts += 1
            return Self.tag(bytes)
        }
    }

    package func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        try call { state throws(ObjectStoreError) in
            guard let bytes = state.objects[name] else { throw .notFound(name: name) }
            let lower = min(range.map { Int($0.lowerBound) } ?? 0, bytes.count)
            let upper = min(range.map { Int($0.upperBound) } ?? bytes.count, bytes.count)
            return ObjectBytes(bytes: Array(bytes[lower..<upper]), tag: Self.tag(bytes), total: UInt64(bytes.count))
        }
    }

    package func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        try call { state throws(ObjectStoreError) in
            let hidden = Set(state.order.suffix(state.late))
            let found = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > (name ?? "") && !hidden.contains($0) }
            return Array(found.sorted().prefix(limit))
        }
    }

    package func delete(_ name: String) throws(ObjectStoreError) {
        try call { state throws(ObjectStoreError) in state.objects[name] = nil }
    }

    private static func tag(_ bytes: [UInt8]) -> ObjectTag {
        ObjectTag("\(bytes.count)-\(bytes.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) })")
    }
}
