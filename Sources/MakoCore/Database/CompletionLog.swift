/// What objects are told when the transaction that saved or removed them is complete.
final class CompletionLog {
    private struct Entry {
        let object: any ObjectEntity
        let kind: ChangeKind
        /// The block of the object's commit options.
        let block: (@Sendable () -> Void)?
    }
    /// A reference to an object that was removed, for which nothing was stored.
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

    /// A place to come back to.
    var mark: Mark { Mark(entries: entries.count, removed: removed.count) }

    func rollback(to mark: Mark) {
        removed.removeSubrange(mark.removed...)
        entries.removeSubrange(mark.entries...)
    }

    /// Notes that an object was saved that refers to one which was removed: it lets go of that when the transaction is complete, as its row has
    /// done.
    func note(_ owner: any ObjectEntity, refersIn property: Int, toRemoved object: any ObjectEntity) {
        removed.append(Reference(owner: owner, property: property, object: object))
    }

    /// Notes that an object was written or removed, if it wants to be told.
    func note(_ object: any ObjectEntity, _ kind: ChangeKind, _ hooks: ObjectHooks, _ options: CommitOptions?) {
        let block = kind == .delete ? options?.postRemove : options?.postCommit
        if block == nil && hooks.isDisjoint(with: .afterCommit) && (kind != .delete || entries.isEmpty) { return }
        entries.append(Entry(object: object, kind: kind, block: block))
    }

    /// Tells each object once, by what became of it, in the order in which they were first written.
    func run() {
        if !removed.isEmpty { letGoOfRemoved() }
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
            // A removal is told as one; a commit without a block of its own leaves that of the commit before it.
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

    private func letGoOfRemoved() {
        let references = removed
        removed = []
        for (place, each) in references.enumerated() {
            let isLast = place + 1 == references.count || !references[place + 1].isOfSameProperty(as: each)
            CompletionLog.letGo(each.owner, each.property, each.object, isLast)
        }
    }

    private static func letGo<T: ObjectEntity>(
        _ owner: T, _ property: Int, _ object: any ObjectEntity, _ isLast: Bool
    ) {
        ObjectLock(owner).locked {
            owner.resolveReference(property, to: object, key: isLast ? .lastRemoved : .removed)
        }
        if isLast { owner.tellObservers(1 << UInt64(property)) }
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
