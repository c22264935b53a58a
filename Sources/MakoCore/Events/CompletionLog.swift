/// The post-commit callbacks of objects that a transaction saved or removed.
final class CompletionLog {
    private struct Entry {
        let object: any ObjectEntity
        let kind: ChangeKind
        /// The callback of the object's commit options.
        let block: (@Sendable () -> Void)?
    }
    /// A reference to a removed object, stored as NULL.
    private struct Reference {
        let owner: any ObjectEntity
        let property: Int
        let object: any ObjectEntity

        func isOfSameProperty(as other: Reference) -> Bool { owner === other.owner && property == other.property }
    }
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var removed: [Reference] = []

    struct Mark {
        fileprivate let entries: Int
        fileprivate let removed: Int
    }

    /// The state to which `rollback(to:)` returns.
    var mark: Mark { Mark(entries: entries.count, removed: removed.count) }

    func rollback(to mark: Mark) {
        removed.removeSubrange(mark.removed...)
        entries.removeSubrange(mark.entries...)
    }

    /// Records that a saved object refers to a removed one. Its property becomes nil after the commit, because its row
    /// holds NULL.
    func note(_ owner: any ObjectEntity, refersIn property: Int, toRemoved object: any ObjectEntity) {
        removed.append(Reference(owner: owner, property: property, object: object))
    }

    /// Records that an object was written or removed, if it has a callback or a hook for that.
    func note(_ object: any ObjectEntity, _ kind: ChangeKind, _ hooks: ObjectHooks, _ options: CommitOptions?) {
        let block = kind == .delete ? options?.postRemove : options?.postCommit
        if block == nil && hooks.isDisjoint(with: .afterCommit) && (kind != .delete || entries.isEmpty) { return }
        entries.append(Entry(object: object, kind: kind, block: block))
    }

    /// Calls each object's callbacks once, for its final outcome, in the order of the first writes.
    func run() {
        if !removed.isEmpty { releaseRemoved() }
        if entries.isEmpty { return }
        var outcomes: [Entry] = []
        var places: [ObjectIdentifier: Int] = [:]
        for entry in entries {
            guard let place = places[ObjectIdentifier(entry.object)] else {
                places[ObjectIdentifier(entry.object)] = outcomes.count
                outcomes.append(entry)
                continue
            }
            let earlier = outcomes[place]
            let staysInsert = entry.kind == .update && earlier.kind == .insert
            // A removal runs only its own callback; an update without a callback keeps that of the earlier write.
            let block = entry.kind == .delete ? entry.block : entry.block ?? earlier.block
            outcomes[place] = Entry(object: entry.object, kind: staysInsert ? .insert : entry.kind, block: block)
        }
        entries = []
        for outcome in outcomes {
            outcome.block?()
            let hooks = type(of: outcome.object)._$hooks
            for hook in CompletionLog.hooks(after: outcome.kind) where hooks.contains(hook) {
                _ = outcome.object._$call(hook)
            }
        }
    }

    private func releaseRemoved() {
        let references = removed
        removed = []
        for (place, each) in references.enumerated() {
            let isLast = place + 1 == references.count || !references[place + 1].isOfSameProperty(as: each)
            CompletionLog.release(each.owner, each.property, each.object, isLast)
        }
    }

    private static func release<T: ObjectEntity>(
        _ owner: T, _ property: Int, _ object: any ObjectEntity, _ isLast: Bool
    ) {
        ObjectLock(owner).locked {
            owner.resolveReference(property, to: object, key: isLast ? .lastRemoved : .removed)
        }
        if isLast { owner.notifyObservers(PropertySet(property)) }
    }

    private static func hooks(after kind: ChangeKind) -> [ObjectHooks] {
        switch kind {
        case .insert: [.didInsert, .didSave]
        case .update: [.didUpdate, .didSave]
        case .delete: [.didDelete]
        case .missed: []
        }
    }
}
