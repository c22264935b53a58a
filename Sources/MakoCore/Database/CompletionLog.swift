/// What objects are told when the transaction that saved or removed them is complete.
final class CompletionLog {
    private struct Entry {
        let object: any ObjectEntity
        let kind: ChangeKind
        /// The block of the object's commit options.
        let block: (@Sendable () -> Void)?
    }
    @exclusivity(unchecked) private var entries: [Entry] = []

    /// A place to come back to.
    var mark: Int { entries.count }

    func rollback(to mark: Int) {
        if !sabotaged("undoneCommitsCompleted") { entries.removeSubrange(mark...) }
    }

    /// Notes that an object was written or removed, if it wants to be told.
    func note(_ object: any ObjectEntity, _ kind: ChangeKind, _ hooks: ObjectHooks, _ options: CommitOptions?) {
        let block = kind == .delete ? options?.postRemove : options?.postCommit
        if block == nil && hooks.isDisjoint(with: .afterCommit) && (kind != .delete || entries.isEmpty) { return }
        entries.append(Entry(object: object, kind: kind, block: block))
    }

    /// Tells each object once, by what became of it, in the order in which they were first written.
    func run() {
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

    private static func hooks(after kind: ChangeKind) -> [ObjectHooks] {
        switch kind {
        case .insert: [.didInsert, .didSave]
        case .update: [.didUpdate, .didSave]
        case .delete: [.didDelete]
        case .missed: []
        }
    }
}
