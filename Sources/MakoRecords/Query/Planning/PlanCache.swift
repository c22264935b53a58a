import MakoStorage
import Synchronization

/// What the planner keeps of a catalogue's tables: the plans of repeated queries, and statistics of indexes.
final class PlanCache: CatalogueCache, @unchecked Sendable {
    let plans = KeptPlans()
    let statistics = IndexStatistics()
}

extension Catalogue {
    /// How selections from these tables were run.
    var plans: KeptPlans { planCache.plans }
    /// Statistics of tables, from their indexes.
    var statistics: IndexStatistics { planCache.statistics }

    private var planCache: PlanCache {
        if let known = cache.load() as? PlanCache { return known }
        let made = PlanCache()
        return cache.storeIfNil(made) as? PlanCache ?? made
    }
}

/// The kept plans of a catalogue.
final class KeptPlans: @unchecked Sendable {
    /// Programs ask the same few questions; questions that differ each time must not fill the memory.
    private static let limit = 256

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
            if plans.count >= KeptPlans.limit { plans.removeAll(keepingCapacity: true) }
            plans[key] = plan
        }
    }

    var generation: Int { lock.withLock { forgotten } }

    func forget() {
        lock.withLock {
            forgotten += 1
            plans = [:]
            prepared = Array(repeating: nil, count: KeptPlans.limit)
        }
    }

    private static func place(_ key: PreparedSelection.Key) -> Int { Int(key.mixed) % limit }

    subscript(prepared key: PreparedSelection.Key) -> KeptPlan? {
        let place = KeptPlans.place(key)
        lock.lock()
        defer { lock.unlock() }
        guard let found = prepared[place], found.key == key else { return nil }
        return found.plan
    }

    func keep(_ plan: KeptPlan, for key: PreparedSelection.Key, of condition: PreparedCondition) {
        let place = KeptPlans.place(key)
        lock.withLock { prepared[place] = Prepared(key: key, condition: condition, plan: plan) }
    }
}
