import MakoStorage

/// Random workloads of the storage engine: trees, transactions, savepoints, snapshots, checkpoints, against sorted maps.
public enum StoreWorkload: RandomWorkload {
    public static let name = "store"
    public static var empty: ModelStore { ModelStore() }

    public static func session(on disk: SimulatedDisk, from state: ModelStore, plan: RoundPlan) -> StoreSession {
        var trees = state.trees.mapValues(\.kind)
        var script = Script.random(seed: plan.seed, steps: plan.steps, trees: &trees)
        script.logSegmentBytes = plan.logSegmentBytes
        script.cacheBytes = plan.cacheBytes
        script.sectorBytes = plan.sectorBytes
        let run = ScriptRun(script, on: disk, from: state, seed: plan.seed)
        run.verifies = !plan.diskFails
        return StoreSession(run, plan.log)
    }

    public static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) throws -> ModelStore? {
        let store = try Store(at: RoundPlan.path, options: plan.options(disk))
        let found = try store.read { try ModelStore(reading: $0) }
        if !states.contains(found) {
            if let expected = states.first { plan.log(found.difference(from: expected) ?? "no difference") }
            return nil
        }
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("verify: \(report.findings)") }
        try store.close()
        return found
    }
}

/// One process of a random run: a script that was drawn.
public final class StoreSession: RandomSession {
    private let run: ScriptRun

    fileprivate init(_ run: ScriptRun, _ log: StepLog) {
        self.run = run
        for step in run.script.steps { log("\(step)") }
    }

    public var history: CrashHistory<ModelStore> { run.history }
    public var operations: Int { run.script.steps.count }
    public func close() throws { try run.close() }
    public func abandon() { run.abandon() }

    public func work() throws {
        try run.run(closing: false)
        try run.checkAll()
    }

    public func shows(_ states: ArraySlice<ModelStore>) throws -> Bool {
        guard let found = try run.visible() else { return true }
        return states.contains(found)
    }
}
