import MakoRecords
import MakoStorage
import MakoTestSupport

/// Random workloads of the record layer: tables, rows, indexes, queries, migrations, against arrays of values.
package enum RecordRandomRun: RandomWorkload {
    package static let name = "records"
    package static var empty: RecordSession.State { RecordSession.State() }

    package static func session(
        on disk: SimulatedDisk, from state: RecordSession.State, plan: RoundPlan
    ) -> RecordSession {
        RecordSession(on: disk, from: state.model, plan)
    }

    package static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<RecordSession.State>
    ) throws -> RecordSession.State? {
        try RecordModel.found(on: disk, plan: plan, among: states.map(\.model)).map { RecordSession.State(model: $0) }
    }
}

extension RecordModel {
    /// Opens, reads everything, verifies and closes. Answers the model that shows what was found.
    static func found(
        on disk: SimulatedDisk, plan: RoundPlan, among models: [RecordModel]
    ) throws -> RecordModel? {
        let store = try Store(at: RoundPlan.path, options: plan.options(disk))
        let found = try store.read { try RecordState(reading: $0) }
        guard let model = RecordModel.showing(found, among: models) else {
            for model in models.suffix(2) { plan.log(found.difference(from: model.state) ?? "no difference") }
            return nil
        }
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("verify: \(report.findings)") }
        try store.close()
        return model
    }

    /// The model that shows what was found; what cannot be seen it knows only where all agree that look so.
    static func showing(_ found: RecordState, among models: [RecordModel]) -> RecordModel? {
        let matching = models.filter { $0.state == found }
        guard var model = matching.first else { return nil }
        for other in matching { model.forgetWhatDiffers(from: other) }
        return model
    }

    /// Two states that look alike: what cannot be seen is known only where they agree.
    fileprivate mutating func forgetWhatDiffers(from other: RecordModel) {
        for name in names {
            guard let theirs = other.tables[name], var table = tables[name], table != theirs else { continue }
            let largestID = min(table.largestID, theirs.largestID)
            if table.hidden != theirs.hidden { table.forgetHidden() }
            table.largestID = largestID
            tables[name] = table
        }
    }
}

extension ModelTable {
    fileprivate var hidden: [[Value]] {
        let places = columns.indices.filter { !live.contains($0) }
        return [places.map { .text(columns[$0].name) }] + rows.map { row in places.map { row.values[$0] } }
    }

    fileprivate mutating func forgetHidden() {
        let kept = live
        columns = kept.map { columns[$0] }
        live = Array(kept.indices)
        // Cannot refuse: nothing is converted.
        try? convert { values in
            let all = values
            values = kept.map { all[$0] }
        }
    }
}

extension RecordError: DiskFailure {
    package var isDiskFailure: Bool {
        if case .storage(let error) = self { error.isDiskFailure } else { false }
    }
}
