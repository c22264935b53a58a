import MakoRecords

/// What a transaction notifies of after its commit: the objects of changed rows, rows without events, and callbacks.
struct PendingEvents {
    /// The objects of changed rows whose type is watched; nil: no object has the row's current values.
    fileprivate(set) var objects: [EventHub.Identity: (any ObjectEntity)?] = [:]
    /// Whether `objects` ever had an entry, here or outside the savepoint.
    private var hadObjects = false
    /// Rows whose events are suppressed or enabled again; the last entry of a row applies.
    private var suppressed: [(row: EventHub.Identity, isSilent: Bool)] = []
    /// Post-commit callbacks of objects.
    let completions = CompletionLog()

    /// A state of what is only added to.
    struct Mark {
        fileprivate let completions: CompletionLog.Mark
        fileprivate let suppressed: Int
    }

    /// The state to which `rollback(to:)` returns.
    var mark: Mark { Mark(completions: completions.mark, suppressed: suppressed.count) }

    mutating func rollback(to mark: Mark) {
        completions.rollback(to: mark.completions)
        suppressed.removeSubrange(mark.suppressed...)
    }

    /// Whether there is neither an object nor a row with suppressed events, so that changed rows need no entry.
    var isEmpty: Bool { !hadObjects && suppressed.isEmpty }

    /// Records the object that has the current values of a changed row.
    mutating func note(_ object: any ObjectEntity, of row: EventHub.Identity) {
        objects[row] = object
        hadObjects = true
    }

    /// Records that a row is changed without an object: one that this transaction saved before does not show the
    /// change, so observers must not get it, and suppressed events apply to that save only.
    mutating func noteChanged(_ table: String, _ key: RowKey) {
        if isEmpty { return }
        let row = EventHub.Identity(table: table, key: key)
        if hadObjects { objects[row] = .some(nil) }
        if !suppressed.isEmpty { suppressed.append((row, false)) }
    }

    /// Suppresses or enables the events of a row.
    mutating func setSilent(_ isSilent: Bool, _ row: @autoclosure () -> EventHub.Identity) {
        if isSilent || !suppressed.isEmpty { suppressed.append((row(), isSilent)) }
    }

    /// The rows whose events are suppressed.
    var silentRows: Set<EventHub.Identity> {
        var rows: Set<EventHub.Identity> = []
        for (row, isSilent) in suppressed {
            if isSilent { rows.insert(row) } else { rows.remove(row) }
        }
        return rows
    }
}

extension PendingEvents {
    /// Takes the objects out, for a part of the transaction that may be rolled back.
    mutating func takeObjects() -> [EventHub.Identity: (any ObjectEntity)?] {
        defer { objects = [:] }
        return objects
    }

    /// Puts back the objects from before a part of the transaction.
    ///
    /// - Parameter keeping: whether those of the part stay: it was not rolled back.
    mutating func putBack(_ before: inout [EventHub.Identity: (any ObjectEntity)?], keeping: Bool) {
        swap(&objects, &before)
        if keeping { objects.merge(before) { _, later in later } }
    }
}
