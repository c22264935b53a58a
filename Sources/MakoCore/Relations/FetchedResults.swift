import MakoRecords
import MakoStorage
import Synchronization

/// The results of a fetch whose references may lead to each other, without retaining them. The fetch's context takes
/// them up when a reference is loaded first, which most fetches never do.
final class FetchedResults: Sendable {
    private struct Batch {
        let type: any ObjectEntity.Type
        let objects: [KnownObject]
    }
    private let batches = Guarded<[Batch]>([])
    private let isEmpty = Atomic<Bool>(true)

    deinit {
        batches.withLock { for batch in $0 { for object in batch.objects { object.forget() } } }
    }

    func add(_ type: any ObjectEntity.Type, _ objects: [Unmanaged<AnyObject>]) {
        let known = objects.map { KnownObject($0.takeUnretainedValue()) }
        batches.withLock { batches in
            batches.append(Batch(type: type, objects: known))
            isEmpty.store(false, ordering: .releasing)
        }
    }

    /// Calls a closure with each live object and the key of its row, once over all calls. Concurrent callers wait.
    func settle(_ note: (any ObjectEntity, EntityModel, RowKey) -> Void) {
        if isEmpty.load(ordering: .acquiring) { return }
        // Released outside the lock, because the last release of an object runs its class's own code.
        var alive: [AnyObject] = []
        batches.withLock { batches in
            for batch in batches { settle(batch.type, batch.objects, &alive, note) }
            batches = []
            isEmpty.store(true, ordering: .releasing)
        }
        withExtendedLifetime(alive) {}
    }

    private func settle<T: ObjectEntity>(
        _: T.Type, _ objects: [KnownObject], _ alive: inout [AnyObject],
        _ note: (any ObjectEntity, EntityModel, RowKey) -> Void
    ) {
        let model = T.entityModel
        alive.reserveCapacity(alive.count + objects.count)
        for known in objects {
            if let object = known.object {
                alive.append(object)
                // An object whose key was changed no longer represents the row.
                if let object = object as? T,
                    let key = object.lockedState({ $0.flags.contains(.exists) ? $0.key : nil })
                {
                    note(object, model, key)
                }
            }
            known.forget()
        }
    }
}

extension FetchContext {
    /// Adds the results of the fetch, if their references may lead to one of them.
    @inlinable
    func note<T: Entity>(results: [T]) {
        // A single object is added when its references are loaded.
        guard results.count > 1 || isShared && !results.isEmpty, let type = circular(T.self) else { return }
        add(type, results.map { Unmanaged.passUnretained($0 as AnyObject) })
    }
}
