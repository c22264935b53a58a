/// Options for committing and removing one object. They belong to the object, not to its row.
///
/// ```swift
/// ada.commitOptions.postCommit = { print("Ada is stored") }
/// ada.commitOptions.commitsChildren = false
/// try ada.commit()
/// ```
public struct CommitOptions: Sendable {
    /// Called on the committing thread when a commit of the object is complete; in a transaction after its end. Never
    /// called after a rollback.
    public var postCommit: (@Sendable () -> Void)?
    /// Called on the committing thread when a removal of the object is complete.
    public var postRemove: (@Sendable () -> Void)?
    /// Objects that are never committed together with this one.
    public var ignoredEntities: [any ObjectEntity] = []
    /// Whether new and changed objects that this one refers to are committed with it. A reference to an excluded object
    /// without a row is stored as nil; the property stays dirty, so that a later commit stores it.
    public var commitsChildren = true
    /// Whether the next commit resets the options to the defaults.
    public var resetsAfterCommit = false
    /// Whether `commit()` and `remove()` throw. If false they return false instead, and a running transaction continues
    /// as if they had not been called.
    public var reportsErrors = true
    /// Whether watchers are notified of the object's commits and removals.
    public var raisesEvents = true

    /// Creates the default options.
    public init() {}

    func ignores(_ object: any ObjectEntity) -> Bool {
        !commitsChildren || ignoredEntities.contains { $0 === object }
    }
}

extension ObjectEntity {
    /// The options for committing and removing this object.
    public var commitOptions: CommitOptions {
        get { lockedState { $0.extra?.options } ?? CommitOptions() }
        set {
            // The old options are released outside the lock, because that may run user code.
            let before = lockedState { state in
                defer { state.setOptions(newValue) }
                return state.extra
            }
            withExtendedLifetime(before) {}
        }
    }
}
