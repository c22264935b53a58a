import MakoStorage
import Synchronization

extension Catalogue {
    /// How selections from these tables were run.
    var plans: PlanCache {
        if let known = cache.load() as? PlanCache { return known }
        let made = PlanCache()
        return cache.storeIfNil(made) as? PlanCache ?? made
    }

    /// Statistics of tables, from their indexes.
    var statistics: IndexStatistics { plans.statistics }
}

/// What the planner keeps of a catalogue's tables, for as long as that lives: the plans of repeated queries, by what these are without their values, and
/// statistics of indexes.
///
/// At most 256 plans of selections by their shapes, and 256 by prepared conditions. Joins have none.
final class PlanCache: CatalogueCache, @unchecked Sendable {
    /// Programs ask the same few questions; questions that differ each time must not fill the memory.
    private static let limit = 256

    let statistics = IndexStatistics()
    private let lock = Lock()
    /// Guarded by the lock.
    private var plans: [SelectionShape.Key: KeptPlan] = [:]
    /// How often they were forgotten. Guarded by the lock.
    private var forgotten = 0
    /// Those of prepared conditions, at places that their keys give; a later one may take the place of another. Guarded by the lock.
    @exclusivity(unchecked) private var prepared: [Prepared?] = Array(repeating: nil, count: limit)

    private struct Prepared {
        let key: PreparedSelection.Key
        /// Held, so that no other gets its identity.
        let condition: PreparedCondition
        let plan: KeptPlan
    }

    subscript(key: SelectionShape.Key) -> KeptPlan? { lock.withLock { plans[key] } }

    func keep(_ plan: KeptPlan, for key: SelectionShape.Key) {
        lock.withLock {
            if plans.count >= PlanCache.limit { plans.removeAll(keepingCapacity: true) }
            plans[key] = plan
        }
    }

    var generation: Int { lock.withLock { forgotten } }

    func forget() {
        lock.withLock {
            forgotten += 1
            plans = [:]
            prepared = Array(repeating: nil, count: PlanCache.limit)
        }
    }

    private static func place(_ key: PreparedSelection.Key) -> Int { Int(key.mixed) % limit }

    subscript(prepared key: PreparedSelection.Key) -> KeptPlan? {
        let place = PlanCache.place(key)
        lock.lock()
        defer { lock.unlock() }
        guard let found = prepared[place], found.key == key else { return nil }
        return found.plan
    }

    func keep(_ plan: KeptPlan, for key: PreparedSelection.Key, of condition: PreparedCondition) {
        let place = PlanCache.place(key)
        lock.withLock { prepared[place] = Prepared(key: key, condition: condition, plan: plan) }
    }
}
