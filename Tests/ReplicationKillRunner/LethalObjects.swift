import Foundation
import MakoReplication
import MakoStorage

/// A folder of objects at one of whose calls the process kills itself.
struct LethalObjects: ObjectStore {
    private final class Countdown: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var calls: Int
        init(_ calls: Int) { self.calls = calls }
        /// Whether this is the call.
        func isDue() -> Bool {
            lock.withLock {
                calls -= 1
                return calls == 0
            }
        }
    }

    private let folder: FolderObjectStore
    private let countdown: Countdown
    /// Whether the call takes effect.
    private let isAfter: Bool

    /// - Parameter death: the number of the call, counted from 1; 0 for none.
    init(_ folder: FolderObjectStore, death: Int) {
        self.folder = folder
        countdown = Countdown(death)
        isAfter = death % 2 == 0
    }

    private func call<R>(_ body: () throws(ObjectStoreError) -> R) throws(ObjectStoreError) -> R {
        let isDue = countdown.isDue()
        if isDue && !isAfter { LethalObjects.die() }
        defer { if isDue { LethalObjects.die() } }
        return try body()
    }

    private static func die() { kill(getpid(), SIGKILL) }

    func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        try call { () throws(ObjectStoreError) in try folder.put(name, content, condition) }
    }

    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        try call { () throws(ObjectStoreError) in try folder.get(name, range) }
    }

    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        try call { () throws(ObjectStoreError) in try folder.list(prefix, after: name, limit: limit) }
    }

    func delete(_ name: String) throws(ObjectStoreError) {
        try call { () throws(ObjectStoreError) in try folder.delete(name) }
    }
}
