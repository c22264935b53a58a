import MakoRecords

extension Database {
    /// When a query begins; nil when nobody wants to know.
    var queryStart: ContinuousClock.Instant? {
        options.slowQueryThreshold == nil || options.onSlowQuery == nil ? nil : .now
    }

    /// Tells of a query if it was slow.
    func noteQuery(_ plan: Plan, _ model: EntityModel, since start: ContinuousClock.Instant?) {
        guard let start, let threshold = options.slowQueryThreshold, let tell = options.onSlowQuery else { return }
        let duration = start.duration(to: .now)
        if duration > threshold {
            tell(SlowQuery(entity: model.name, plan: plan.description, duration: duration))
        }
    }
}
