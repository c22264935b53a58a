import MakoRecords

/// The start of a query. A class, because few databases measure queries, and the size of `ContinuousClock.Instant` is
/// known only at run time, which would slow down every type that stores one.
final class QueryStart: Sendable {
    let moment = ContinuousClock.now
}

extension Database {
    /// The start of a query; nil when the options do not report slow queries.
    var queryStart: QueryStart? {
        options.slowQueryThreshold == nil || options.onSlowQuery == nil ? nil : QueryStart()
    }

    /// Reports a query that exceeded the threshold.
    func noteQuery(_ plan: Plan, _ model: EntityModel, since start: QueryStart?) {
        guard let start, let threshold = options.slowQueryThreshold, let handler = options.onSlowQuery else { return }
        let duration = start.moment.duration(to: .now)
        if duration > threshold {
            handler(SlowQuery(entity: model.name, plan: plan.description, duration: duration))
        }
    }
}
