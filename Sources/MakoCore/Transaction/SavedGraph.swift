import MakoRecords
import MakoStorage

/// The work list of a save: objects that wait for the keys of the objects they refer to, and objects still to visit.
/// Lists instead of recursion, because a chain of objects may be longer than the stack.
struct SavedGraph {
    /// An object whose row is written once the objects that it refers to have keys.
    struct Waiting {
        let object: any ObjectEntity
        /// The object's state before the save.
        let before: ObjectState
        var binding: Binding
        let mode: SaveMode
        let hooks: ObjectHooks
        /// The undo entry of the array that is being saved, if the object is in one.
        let array: ArrayNotes?
        var references: ResolvedReferences
        /// Whether a whole row is written: of a new object, under another key, or because the row was deleted. All
        /// references count as set then, because the deletion of their targets has not changed this row.
        var isWhole: Bool
    }

    /// Each waits for the one after it.
    fileprivate var waiting: [Waiting] = []
    /// Objects reached through unchanged ones; no row waits for their keys.
    fileprivate var unvisited: [any ObjectEntity] = []
    /// The objects whose references were followed.
    private var visited: Set<ObjectIdentifier> = []
    /// Retains the visited objects, so that no new object gets the address of a visited one.
    private var kept: [any ObjectEntity] = []
    /// Unchanged objects that others refer to, whose rows were looked for.
    private var referred: Set<ObjectIdentifier> = []
    /// The saved objects to which others were given, in the order of their saves.
    var owners: [any ObjectEntity] = []
    /// The references of one unchanged object.
    fileprivate var held: [(property: Int, object: any ObjectEntity)] = []

    /// Records an object that is saved or unchanged, for ``Transaction/saveMembers(_:)``.
    mutating func noteOwner(_ object: any ObjectEntity) {
        if type(of: object).entityModel.hasMany, object.pendingMembers != nil { owners.append(object) }
    }

    /// Records an unchanged object that another one refers to. False when it was recorded before.
    fileprivate mutating func noteReferred(_ object: any ObjectEntity) -> Bool {
        referred.insert(ObjectIdentifier(object)).inserted
    }

    /// Forgets the recorded objects, because a hook may delete their rows.
    fileprivate mutating func forgetReferred() { referred.removeAll() }

    fileprivate func hasVisited(_ object: any ObjectEntity) -> Bool { visited.contains(ObjectIdentifier(object)) }

    /// Marks an object as visited. False when it was visited before.
    fileprivate mutating func visit(_ object: any ObjectEntity) -> Bool {
        guard visited.insert(ObjectIdentifier(object)).inserted else { return false }
        kept.append(object)
        return true
    }
}

extension Transaction {
    /// Saves an object and all new and changed objects that its loaded references reach, also through unchanged
    /// objects. False when a hook of this call removed the object.
    ///
    /// - Parameters:
    ///   - array: the undo entry of the array that is being saved, if the object is in one.
    ///   - graph: the work list, shared by all objects that one call saves.
    @discardableResult
    func save<T: ObjectEntity>(
        _ object: T, _ mode: SaveMode, in array: ArrayNotes?, _ graph: inout SavedGraph
    ) throws(MakoError) -> Bool {
        do throws(MakoError) {
            var isSaved = try begin(object, mode, array, &graph)
            while let next = graph.waiting.last?.object {
                if let isWritten = try advance(next, &graph), graph.waiting.isEmpty { isSaved = isWritten }
            }
            assert(graph.unvisited.isEmpty)
            return isSaved ?? false
        } catch {
            for waiting in graph.waiting { waiting.object.lockedState { state in _ = state.flags.remove(.saving) } }
            throw error
        }
    }

    /// Begins to save an object. nil: its row waits for the objects that it refers to.
    private func begin<T: ObjectEntity>(
        _ object: T, _ mode: SaveMode, _ array: ArrayNotes?, _ graph: inout SavedGraph
    ) throws(MakoError) -> Bool? {
        let type = Swift.type(of: object)
        if type.entityModel.isPartial { return false }
        var binding = try binding(type.entityModel)
        let hooks = type._$hooks
        graph.noteOwner(object)
        if !binding.hasReferences && hooks.isDisjoint(with: .beforeWriting) {
            return try write(object, nil, binding, mode, hooks, array) ?? false
        }
        let before = object.lockedState { state in
            let before = state
            if !before.flags.contains(.removed) { state.flags.insert(.saving) }
            return before
        }
        if before.flags.contains(.removed) { throw errorOfSavingDeleted(object) }
        if before.flags.contains(.saving) { return true }
        do throws(MakoError) {
            if before.database != 0 && before.database != database.number {
                throw .foreignObject(entity: binding.model.name)
            }
            if !hooks.isDisjoint(with: .beforeWriting) {
                // It may delete rows.
                graph.forgetReferred()
                try callWriteHook(object, before, mode, hooks)
                binding = current(binding)
            }
        } catch {
            object.lockedState { state in _ = state.flags.remove(.saving) }
            throw error
        }
        _ = graph.visit(object)
        graph.waiting.append(
            SavedGraph.Waiting(
                object: object, before: before, binding: binding, mode: mode, hooks: hooks, array: array,
                references: binding.hasReferences ? ResolvedReferences(of: object) : ResolvedReferences(),
                isWhole: mode == .insert || !before.flags.contains(.exists) || hasMoved(object, before, binding)))
        return nil
    }

    /// Continues with the last waiting object, up to a referenced object that must be saved first or until the row is
    /// written.
    ///
    /// - Returns: the result of ``write``, once the row is written.
    private func advance<T: ObjectEntity>(_ object: T, _ graph: inout SavedGraph) throws(MakoError) -> Bool? {
        let place = graph.waiting.count - 1
        while let (property, child) = graph.waiting[place].references.next {
            if let key = try key(of: child, in: property, of: object, place, &graph) {
                graph.waiting[place].references.resolve(key)
            } else if graph.waiting.count > place + 1 {
                return nil
            }
        }
        // Before the first row is written, because a failing call rolls back only rows after its savepoint.
        while place == 0, let next = graph.unvisited.popLast() {
            try visit(next, for: object, &graph)
            if graph.waiting.count > 1 { return nil }
        }
        let saved = graph.waiting[place]
        let binding = current(saved.binding)
        graph.waiting[place].binding = binding
        if binding.hasReferences, saved.isWhole {
            try noteUnmatched(of: object, binding, besides: saved.references.properties)
        }
        guard let isWritten = try write(object, saved, binding, saved.mode, saved.hooks, saved.array) else {
            if !saved.isWhole, object.lockedState({ !$0.flags.contains(.exists) }) {
                graph.waiting[place].isWhole = true
                if !saved.hooks.isDisjoint(with: .beforeWriting) {
                    graph.forgetReferred()
                    try callHook(.willInsert, object, saved.hooks)
                }
            }
            graph.waiting[place].references = ResolvedReferences(of: object)
            return nil
        }
        // A later commit stores the properties that could not be stored.
        let leftOut = saved.references.leftOut
        if !leftOut.isEmpty { object.lockedState { $0.dirty.formUnion(leftOut) } }
        graph.waiting.removeLast()
        return isWritten
    }

    /// The key that a reference of the waiting object at a place stores. nil: the referenced object is being saved
    /// first.
    private func key<T: ObjectEntity>(
        of child: any ObjectEntity, in property: Int, of parent: T, _ place: Int, _ graph: inout SavedGraph
    ) throws(MakoError) -> RowKey? {
        let state = child.lockedState { $0 }
        if graph.waiting[place].references.isBegun {
            // A hook may have removed it meanwhile.
            return state.flags.contains(.removed)
                ? keyOfRemoved(child, in: property, of: parent) : state.key ?? .noRow
        }
        let binding = graph.waiting[place].binding
        try checkTarget(of: property, child, binding.model)
        // A reference to a deleted row must not store its former number.
        if state.flags.contains(.removed) { return keyOfRemoved(child, in: property, of: parent) }
        noteSaved(parent, ofOwner: child, state.extra?.members)
        let isSet = graph.waiting[place].isWhole || parent.lockedState { $0.dirty.contains(property) }
        if isLeftAlone(child, in: property, of: parent, binding.model) {
            let model = Swift.type(of: child).entityModel
            let key = try keyOfIgnored(child, state)
            if state.flags.contains(.saving) { return try keyOfSaving(child) }
            if let key, try !isReleased(key, model, isSet: isSet) { return key }
            graph.waiting[place].references.leftOut.insert(property)
            // A key from an earlier transaction, whose row is deleted or was rolled back, must not be stored.
            return .noRow
        }
        let isClean = state.flags.contains(.exists) && state.dirty.isEmpty
        if isClean && state.database == database.number, let key = state.key {
            guard try isGone(child, key, isSet: isSet, &graph) else {
                visitLater(child, &graph)
                return key
            }
            noteRowGone(child, state)
        }
        if state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: Swift.type(of: child).entityModel.name)
        }
        // The child may refer back to this object, whose key it then needs.
        try requireKey(of: parent, current(binding))
        if state.flags.contains(.saving) { return try keyOfSaving(child) }
        try willWriteFurtherRows()
        graph.waiting[place].references.isBegun = true
        _ = try begin(child, .upsert, nil, &graph)
        return nil
    }

    /// Whether a key property of a stored object was changed.
    private func hasMoved<T: ObjectEntity>(_ object: T, _ before: ObjectState, _ binding: Binding) -> Bool {
        guard binding.model.hasColumnKey, !before.dirty.isEmpty else { return false }
        return ObjectLock(object).locked { RowKey(values: object.keyValues()) } != before.extra?.key
    }

    /// Whether the row of an unchanged object that another one refers to was deleted; looked for once in a call.
    private func isGone(
        _ object: any ObjectEntity, _ key: RowKey, isSet: Bool, _ graph: inout SavedGraph
    ) throws(MakoError) -> Bool {
        let model = Swift.type(of: object).entityModel
        // An object that is not looked for here is not recorded, because a later reference to it may be set.
        let isLookedFor = (isSet || schema.isOwned(model)) && graph.noteReferred(object)
        return isLookedFor ? try isReleased(key, model, isSet: isSet) : false
    }

    /// Records that the row of an object to which a struct refers was deleted, so that the object is stored again.
    func noteIfRowGone(_ object: any ObjectEntity, _ graph: inout SavedGraph) throws(MakoError) {
        let state = object.lockedState { $0 }
        guard state.flags.contains(.exists), state.dirty.isEmpty, state.database == database.number,
            let key = state.key, try isGone(object, key, isSet: true, &graph)
        else { return }
        noteRowGone(object, state)
    }

    /// Records that the row of a stored object was deleted, so that it is stored again as a new one.
    func noteRowGone(_ object: any ObjectEntity, _ state: ObjectState) {
        undo.recordState(of: object, state)
        // The row is there again after a rollback, and has what other objects and processes store in it since.
        undo.record(object) { object.lockedState { $0.dirty = state.dirty } }
        object.lockedState { state in
            state.flags.remove(.exists)
            state.dirty = .all
        }
    }

    /// The key of an object whose row is written later. Without a key it is in a hook, which saves the other object.
    private func keyOfSaving(_ child: any ObjectEntity) throws(MakoError) -> RowKey {
        try requireKey(of: child, binding(Swift.type(of: child).entityModel))
        return child.lockedState { $0.key } ?? .noRow
    }

    /// The key of a removed object: none. The property becomes nil after the commit.
    private func keyOfRemoved<T: ObjectEntity>(
        _ child: any ObjectEntity, in property: Int, of parent: T
    ) -> RowKey {
        events.completions.note(parent, refersIn: property, toRemoved: child)
        return .noRow
    }

    /// Whether a referenced object is not saved with the object that refers to it.
    private func isLeftAlone<T: ObjectEntity>(
        _ child: any ObjectEntity, in property: Int, of parent: T, _ model: EntityModel
    ) -> Bool {
        if model.weakColumns.contains(property) { return true }
        return parent.lockedState { $0.extra?.options }?.ignores(child) == true
    }

    /// The key of a referenced object that is not saved with the other one.
    private func keyOfIgnored(_ child: any ObjectEntity, _ state: ObjectState) throws(MakoError) -> RowKey? {
        if state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: Swift.type(of: child).entityModel.name)
        }
        // In a reference cycle, an object that is being saved has its key before its row.
        return state.flags.isDisjoint(with: [.exists, .saving]) ? nil : state.key
    }

    /// Gives an object a key if it has none.
    func requireKey<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) {
        if try storedOrAssignedKey(of: object, binding) != nil { return }
        let id: Int64
        if let known = try rowOfIdentity(of: object, binding)?.rowID {
            id = known
        } else {
            id = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try binding.table.reserveRowID(in: tx) }
            }
        }
        undo.recordState(of: object, object.lockedState { $0 })
        object.lockedState { $0.rowID = id }
    }

    private func storedOrAssignedKey<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) -> RowKey? {
        if !binding.model.hasColumnKey { return object.lockedState { $0.key } }
        let lock = ObjectLock(object)
        lock.lock()
        defer { lock.unlock() }
        object.assignMissingKey()
        let key = RowKey(values: object.keyValues())
        let before = ObjectMetadata(object._$state)
        if key != before.extra?.key {
            undo.record(object, before)
            object._$state.setKey(key)
        }
        return key
    }

    // MARK: - Behind unchanged objects

    /// Queues an object to be visited before the first row is written.
    private func visitLater(_ object: any ObjectEntity, _ graph: inout SavedGraph) {
        graph.noteOwner(object)
        // Most objects reached through others have no references.
        let isLeaf = schema.binding(Swift.type(of: object).entityModel)?.hasReferences == false
        if isLeaf && object.lockedState({ $0.flags.contains(.exists) && $0.dirty.isEmpty }) { return }
        if !graph.hasVisited(object) || object.lockedState({ !$0.dirty.isEmpty }) { graph.unvisited.append(object) }
    }

    /// Saves an object that is new or changed; follows the loaded references of an unchanged one.
    ///
    /// - Parameter first: the object of the call, whose row is not written yet.
    private func visit<T: ObjectEntity, First: ObjectEntity>(
        _ object: T, for first: First, _ graph: inout SavedGraph
    ) throws(MakoError) {
        let (flags, dirty, options) = object.lockedState { ($0.flags, $0.dirty, $0.extra?.options) }
        if flags.contains(.removed) || flags.contains(.saving) { return }
        if !flags.contains(.exists) || !dirty.isEmpty {
            // The object may refer back to the first one, whose key it then needs.
            try requireKey(of: first, current(graph.waiting[0].binding))
            try willWriteFurtherRows()
            _ = try begin(object, .upsert, nil, &graph)
            return
        }
        guard graph.visit(object) else { return }
        let weak = Swift.type(of: object).entityModel.weakColumns
        ObjectLock(object).locked { object.visitReferences { graph.held.append(($0, $1)) } }
        for (property, child) in graph.held where !weak.contains(property) {
            if options?.ignores(child) != true { visitLater(child, &graph) }
        }
        graph.held.removeAll(keepingCapacity: true)
    }
}

// MARK: - Members

extension Transaction {
    /// Saves the objects that were given to saved owners, or taken from them.
    func saveMembers(_ graph: inout SavedGraph) throws(MakoError) {
        var place = 0
        while place < graph.owners.count {
            let owner = graph.owners[place]
            place += 1
            guard let members = owner.pendingMembers else { continue }
            let options = owner.lockedState { $0.extra?.options }
            for (member, hasLeft) in members.all where options?.ignores(member) != true {
                undo.record(owner) { members.add(member, hasLeft: hasLeft) }
                members.remove(member)
                // It may have been given to another owner since.
                guard hasLeft || member.refers(to: owner) else { continue }
                // Like every reference to a removed object (decision 71).
                if member.isDeletedObject { continue }
                try willWriteFurtherRows()
                _ = try save(opened: member, &graph)
            }
        }
        graph.owners.removeAll()
    }

    private func save(opened member: any ObjectEntity, _ graph: inout SavedGraph) throws(MakoError) -> Bool {
        try save(member, .upsert, in: nil, &graph)
    }

    /// Records that an object which waited for a save of its owner is saved itself.
    func noteSaved(_ member: any ObjectEntity, ofOwner owner: any ObjectEntity, _ members: PendingMembers?) {
        guard let members, members.remove(member) else { return }
        undo.record(owner) { members.add(member) }
    }
}
