import MakoReplication
import MakoStorage
import ReplicationTestSupport

/// An object store that runs a block before one of its calls, and may have names of its own for missing objects.
final class InterposedObjectStore: ObjectStore, @unchecked Sendable {
    private let base: SimulatedObjectStore
    private let ownName: (String) -> String
    private let lock = Lock()
    // Guarded by `lock`.
    private var calls = 0
    private var injected: (call: Int, body: () -> Void)?
    private var isDone = false

    /// Whether the block has run.
    var hasRun: Bool { lock.withLock { isDone } }

    /// - Parameter ownName: the name in the error for an object that is not there.
    init(_ base: SimulatedObjectStore, ownName: @escaping (String) -> String = { $0 }) {
        (self.base, self.ownName) = (base, ownName)
    }

    /// - Parameter index: counted from the next call.
    func inject(atCall index: Int, _ body: @escaping () -> Void) {
        lock.withLock { injected = (calls + index, body) }
    }

    private func count() {
        let body: (() -> Void)? = lock.withLock {
            defer { calls += 1 }
            guard let injected, injected.call == calls else { return nil }
            isDone = true
            return injected.body
        }
        body?()
    }

    func put(_ name: String, _ content: ObjectContent, _ condition: PutCondition) throws(ObjectStoreError) -> ObjectTag
    {
        count()
        return try base.put(name, content, condition)
    }

    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        count()
        do throws(ObjectStoreError) { return try base.get(name, range) } catch {
            if case .notFound(let name) = error { throw .notFound(name: ownName(name)) }
            throw error
        }
    }

    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        count()
        return try base.list(prefix, after: name, limit: limit)
    }

    func delete(_ name: String) throws(ObjectStoreError) {
        count()
        try base.delete(name)
    }
}
