import MakoCore
import MakoReplication

/// The follower of an open replica. The database ends it.
final class DatabaseReplica: DatabaseAttachment, @unchecked Sendable {
    // Unchecked for the weak reference, which is set once.
    private weak var database: Database?
    let follower: Follower
    private let options: ReplicaOptions

    init(_ database: Database, _ follower: Follower, _ options: ReplicaOptions) {
        self.database = database
        self.follower = follower
        self.options = options
    }

    /// Follows in a thread, if the options have an interval.
    func start() throws(ReplicationError) {
        guard let interval = options.interval else { return }
        let onStep = options.onStep
        try follower.keepFollowing(interval: interval) { [weak self] result in
            do {
                let report = try result.get()
                try self?.database?.refresh()
                onStep(.success(report))
                return true
            } catch {
                onStep(.failure(error))
                // The next step refreshes again, also where nothing was shipped meanwhile.
                return false
            }
        }
    }

    func end() { follower.close() }
}
