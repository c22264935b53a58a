import MakoStorage
import Synchronization

extension Catalogue {
    /// The cached plans of selections from these tables.
    var plans: PlanCache {
        let made = cache.loadOrMake { PlanCache() }
        assert(made is PlanCache, "the cache of a catalogue holds plans")
        return made as? PlanCache ?? PlanCache()
    }

    /// Statistics of tables, from their indexes.
    var statistics: IndexStatistics { plans.statistics }
}

/// Plans of repeated queries by their fingerprints, and statistics of indexes, for the lifetime of a catalogue.
///
/// At most 256 plans of selections, and 256 of prepared conditions. Joins are not cached.
final class PlanCache: CatalogueCache, @unchecked Sendable {
    /// Bounds the memory when all queries differ; most programs run a few queries.
    private static let limit = 256

    let statistics = IndexStatistics()
    private let lock = Lock()
    /// Guarded by the lock.
    private var plans: [QueryFingerprint.Key: CachedPlan] = [:]
    /// The number of invalidations. Guarded by the lock.
    private var forgotten = 0
    /// Plans of prepared conditions, hashed by their keys; a collision replaces the older plan. Guarded by the lock.
    @exclusivity(unchecked) private var prepared: [Prepared?] = Array(repeating: nil, count: limit)

    private struct Prepared {
        let key: PreparedSelection.Key
        /// Retained, so that its identity is not reused.
        let condition: PreparedCondition
        let plan: CachedPlan
    }

    subscript(key: QueryFingerprint.Key) -> CachedPlan? { lock.withLock { plans[key] } }

    func keep(_ plan: CachedPlan, for key: QueryFingerprint.Key) {
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

    subscript(prepared key: PreparedSelection.Key) -> CachedPlan? {
        let place = PlanCache.place(key)
        lock.lock()
        defer { lock.unlock() }
        guard let found = prepared[place], found.key == key else { return nil }
        return found.plan
    }

    func keep(_ plan: CachedPlan, for key: PreparedSelection.Key, of condition: PreparedCondition) {
        let place = PlanCache.place(key)
        lock.withLock { prepared[place] = Prepared(key: key, condition: condition, plan: plan) }
    }
}
