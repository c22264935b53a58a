import MakoCore
import MakoReplication

/// Options for opening a database by ``/MakoCore/Database/init(replicaOf:prefix:at:entities:options:)``.
public struct ReplicaOptions: Sendable {
    /// The options of the database. It is open for reading only, whatever they say; the follower uses the same file system,
    /// memory and encryption.
    public var database = DatabaseOptions()
    /// The branch, and the size after which the follower writes a checkpoint. Its `store` is not used.
    public var follower = Follower.Options()
    /// The time between two looks at the object store; nil to look only when ``/MakoCore/Database/follow()`` is called.
    public var interval: Duration? = .seconds(1)
    /// Called on the follower's thread after each step that applied something, behind the handlers of its changes, and
    /// after each that failed. The follower tries again after twice the time, at most a minute.
    public var onStep: @Sendable (Result<Follower.Report, any Error>) -> Void = { _ in }

    /// Creates options with the default values.
    public init() {}
}
