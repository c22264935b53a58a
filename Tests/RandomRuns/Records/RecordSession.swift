import MakoRecords
import MakoStorage
import MakoTestSupport

/// One process of a random run of the record layer.
package final class RecordSession: RandomSession {
    /// A state of the store, as its model.
    package struct State: Sendable {
        let model: RecordModel

        init(model: RecordModel = RecordModel()) { self.model = model }
    }

    private struct Kept {
        let snapshot: Snapshot
        let catalogue: Catalogue
        let model: RecordModel
    }

    /// The states after each commit.
    package let history: CrashHistory<State>
    package internal(set) var operations = 0
    let log: StepLog
    var random: SplitMix
    var model: RecordModel
    var catalogue: Catalogue?
    /// Rows of a table from which on a migration loads them in bulk: every second session loads all.
    let fewestLoaded: Int
    private let disk: SimulatedDisk
    private let plan: RoundPlan
    private var store: Store?
    private var kept: [Kept] = []
    /// The first failure of the disk.
    private var failure: (any Error)?

    init(on disk: SimulatedDisk, from model: RecordModel, _ plan: RoundPlan) {
        self.disk = disk
        self.plan = plan
        self.model = model
        fewestLoaded = plan.seed & 1 == 0 ? 1 : 10_000
        log = plan.log
        random = SplitMix(seed: plan.seed)
        history = CrashHistory(State(model: model), on: disk)
    }

    package func close() throws {
        kept = []
        let closing = store
        store = nil
        try closing?.close()
    }

    package func abandon() {
        disk.cutPower()
        kept = []
        store = nil
    }

    package func shows(_ states: ArraySlice<State>) throws -> Bool {
        guard let store else { return true }
        let found = try store.read { try RecordState(reading: $0) }
        return states.contains { $0.model.state == found }
    }

    package func work() throws {
        try open()
        try compare()
        for _ in 0..<plan.steps {
            do { try step() } catch let error as any DiskFailure where error.isDiskFailure {
                log("    failed: \(error)")
                failure = failure ?? error
                if store == nil { break }
                try settle()
            }
        }
        if let failure { throw failure }
        for kept in kept { try check(kept) }
        kept = []
        try compare()
        try verify()
    }

    // MARK: Steps

    private func opened() throws -> Store {
        guard let store else { throw Disagreement("the run goes on without a store") }
        return store
    }

    private func open() throws {
        let store = try Store(at: RoundPlan.path, options: plan.options(disk))
        self.store = store
        catalogue = try store.read { try Catalogue.load(view: $0) }
    }

    private func reopen() throws {
        log("reopen")
        try close()
        if failure == nil { history.acknowledge() }
        try open()
        // The surviving part of a failed commit is visible now, and lasts.
        if failure != nil {
            try settle()
            history.found(State(model: model))
        }
        try compare()
    }

    /// After a failure the state of the open store decides what has happened; the run continues with it.
    private func settle() throws {
        guard let store else { return }
        let found = try store.read { try RecordState(reading: $0) }
        // A sync that lies takes with it what there was every reason to acknowledge.
        let first = plan.diskLies ? 0 : history.span.acknowledged
        let models = history.states[first...history.span.begun].map(\.model)
        guard let shown = RecordModel.showing(found, among: models) else {
            throw Disagreement("after a failure the open store shows a state of its own")
        }
        model = shown
        if models.last != model { history.begin(State(model: model)) }
        let previous = catalogue
        catalogue = try store.read { try Catalogue.load(view: $0, previous: previous) }
    }

    private func step() throws {
        operations += 1
        switch random.below(100) {
        case 0..<5:
            log("checkpoint")
            try opened().checkpoint()
            history.acknowledge()
        case 5..<12:
            let count = 1 + random.below(4)
            log("step \(count)")
            for _ in 0..<count { _ = try opened().step() }
        case 12..<16: try reopen()
        case 16..<21:
            if kept.count == 3 { try check(kept.remove(at: random.below(3))) }
            log("snapshot")
            guard let catalogue else { return }
            kept.append(Kept(snapshot: try opened().snapshot(), catalogue: catalogue, model: model))
        case 21..<26:
            if !kept.isEmpty { try check(kept[random.below(kept.count)]) }
        case 26..<28: try verify()
        case 28..<36:
            guard let catalogue else { return }
            log("queries")
            let view = try opened().snapshot()
            defer { view.close() }
            try runQueries(model, catalogue, view, count: 3)
        default: try transaction()
        }
    }

    private func transaction() throws {
        let before = (model: model, catalogue: catalogue)
        let tx = try opened().beginWrite()
        do {
            var run = RecordTransactionRun()
            log("begin")
            for _ in 0..<(1 + random.below(7)) { try act(tx, &run) }
            guard random.chance(86) else {
                log("rollback")
                tx.rollback()
                (model, catalogue) = before
                return
            }
            if !run.hasMigrated { try checkChanges(run.changes.changes, from: before.model) }
            let durability: Durability? = random.pick([nil, nil, nil, nil, .ordered, .async, .full])
            log("commit \(durability.map { "\($0)" } ?? "")")
            history.begin(State(model: model))
            try tx.commit(durability: durability)
            // An empty commit promises nothing, not even for the commits before it.
            if durability == nil || durability == .full, model != before.model { history.acknowledge() }
            if durability == .ordered { history.noteWritten() }
        } catch {
            (model, catalogue) = before
            throw error
        }
    }

    // MARK: Comparing

    private func compare() throws {
        let found = try opened().read { try RecordState(reading: $0) }
        if let difference = found.difference(from: model.state) { throw Disagreement(difference) }
        try opened().read { view in
            guard let catalogue else { return }
            for name in model.names {
                guard let table = model.tables[name] else { continue }
                for index in table.schema.indexes {
                    try RecordQuery(table, of: model, inOrderOf: index, isReversed: random.chance(50))
                        .check(catalogue, view)
                }
            }
        }
    }

    private func check(_ kept: Kept) throws {
        log("look at a snapshot")
        let found = try RecordState(reading: kept.snapshot)
        if let difference = found.difference(from: kept.model.state) { throw Disagreement("a snapshot: \(difference)") }
        try runQueries(kept.model, kept.catalogue, kept.snapshot, count: 2)
    }

    private func verify() throws {
        log("verify")
        let report = try opened().verify()
        // On a failing disk a finding is an answer.
        guard report.isClean || plan.diskFails else { throw Disagreement("verify: \(report.findings)") }
    }

    func runQueries(_ model: RecordModel, _ catalogue: Catalogue, _ view: Snapshot, count: Int) throws {
        for _ in 0..<count {
            guard let name = model.names.randomElement(using: &random), let table = model.tables[name] else { return }
            operations += 1
            try RecordQuery(table, of: model, &random).check(catalogue, view)
        }
    }

    /// The changes that a transaction reports must be the difference that it made, each row once.
    private func checkChanges(_ changes: [Change], from before: RecordModel) throws {
        var notified: [String: [RowKey: Change]] = [:]
        for change in changes where notified[change.table, default: [:]].updateValue(change, forKey: change.key) != nil
        {
            throw Disagreement("row \(change.key) of \(change.table) is reported twice")
        }
        for name in model.names {
            guard let old = before.tables[name], let new = model.tables[name] else { continue }
            for key in Set(old.rows.map(\.key)).union(new.rows.map(\.key)).union((notified[name] ?? [:]).keys) {
                let change = notified[name]?[key]
                let (was, isNow) = (old.row(key).map(old.shown), new.row(key).map(new.shown))
                let isRight =
                    switch (was, isNow) {
                    case (nil, nil): change == nil
                    case (nil, _): change?.kind == .insert
                    case (_, nil): change?.kind == .delete
                    case (let was?, let isNow?):
                        change.map { change in
                            change.kind == .update
                                && zip(new.live, zip(was, isNow)).allSatisfy { place, values in
                                    values.0 == values.1
                                        || change.changedColumns.names(in: catalogue?.table(named: name)?.schema)
                                            .contains(new.columns[place].name)
                                }
                        } ?? (was == isNow)
                    }
                if !isRight {
                    throw Disagreement(
                        "row \(key) of \(name) is reported as \(change.map { "\($0.kind)" } ?? "nothing"): "
                            + "it was \(was.map { "\($0)" } ?? "absent"), is \(isNow.map { "\($0)" } ?? "absent")")
                }
            }
        }
    }
}

extension ColumnSet {
    fileprivate func names(in schema: EntitySchema?) -> [String] { schema.map { names(in: $0) } ?? [] }
}
