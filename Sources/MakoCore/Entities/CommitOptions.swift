/// How one object is committed and removed; a property of the object, not of its row.
///
/// ```swift
/// ada.commitOptions.postCommit = { print("Ada is stored") }
/// ada.commitOptions.commitsChildren = false
/// try ada.commit()
/// ```
public struct CommitOptions: Sendable {
    /// Called on the committing thread when a commit of the object is complete: in a transaction, after its end, and never after a rollback.
    public var postCommit: (@Sendable () -> Void)?
    /// The same after a removal.
    public var postRemove: (@Sendable () -> Void)?
    /// Objects that are never committed along with this one, whatever refers to them.
    public var ignoredEntities: [any ObjectEntity] = []
    /// Whether new and changed objects that this one refers to are committed with it. A reference to one that is left out and has no row
    /// yet is stored as nil, and the object stays dirty, so that a later commit stores it.
    public var commitsChildren = true
    /// Whether the options are the default ones again after the next commit.
    public var resetsAfterCommit = false
    /// Whether `commit()` and `remove()` throw. If not they answer false, and a running transaction goes on as if they had not been called.
    public var reportsErrors = true
    /// Whether watchers are told of the object's commits and removals.
    public var raisesEvents = true

    public init() {}

    func ignores(_ object: any ObjectEntity) -> Bool {
        !commitsChildren || ignoredEntities.contains { $0 === object }
    }
}

extension ObjectEntity {
    /// How this object is committed and removed.
    public var commitOptions: CommitOptions {
        get { lockedState { $0.extra?.options } ?? CommitOptions() }
        set {
            // What the old options held is released outside the lock: that may run anybody's code.
            let before = lockedState { state in
                defer { state.setOptions(newValue) }
                return state.extra
            }
            withExtendedLifetime(before) {}
        }
    }
}
