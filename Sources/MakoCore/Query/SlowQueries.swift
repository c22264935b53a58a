import MakoRecords

/// When a query began. An object, as seldom anybody wants to know: the standard library tells the size of a moment only at run time, and
/// whatever holds one pays for that.
final class QueryStart: Sendable {
    let moment = ContinuousClock.now
}

extension Database {
    /// When a query begins; nil when nobody wants to know.
    var queryStart: QueryStart? {
        options.slowQueryThreshold == nil || options.onSlowQuery == nil ? nil : QueryStart()
    }

    /// Tells of a query if it was slow.
    func noteQuery(_ plan: Plan, _ model: EntityModel, since start: QueryStart?) {
        guard let start, let threshold = options.slowQueryThreshold, let tell = options.onSlowQuery else { return }
        let duration = start.moment.duration(to: .now)
        if duration > threshold {
            tell(SlowQuery(entity: model.name, plan: plan.description, duration: duration))
        }
    }
}
