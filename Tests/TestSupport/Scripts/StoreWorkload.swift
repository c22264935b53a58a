import MakoStorage

/// Random workloads of the storage engine: trees, transactions, savepoints, snapshots, checkpoints, against sorted maps.
package enum StoreWorkload: RandomWorkload {
    package static let name = "store"
    package static var empty: ModelStore { ModelStore() }

    package static func session(on disk: SimulatedDisk, from state: ModelStore, plan: RoundPlan) -> StoreSession {
        session(on: disk, from: state, plan: plan, cipher: nil)
    }

    static func session(
        on disk: SimulatedDisk, from state: ModelStore, plan: RoundPlan, cipher: Encryption.Cipher?
    ) -> StoreSession {
        var trees = state.trees.mapValues(\.kind)
        var script = Script.random(seed: plan.seed, steps: plan.steps, trees: &trees, cipher: cipher)
        script.logSegmentBytes = plan.logSegmentBytes
        script.cacheBytes = plan.cacheBytes
        script.sectorBytes = plan.sectorBytes
        let run = ScriptRun(script, on: disk, from: state, seed: plan.seed)
        run.verifies = !plan.diskFails
        return StoreSession(run, plan.log)
    }

    package static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) throws -> ModelStore? {
        try recover(on: disk, plan: plan, among: states, cipher: nil)
    }

    static func openAgain(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>, cipher: Encryption.Cipher?
    ) throws -> (store: Store, key: Int) {
        // Where there is no file yet, it gets the oldest.
        let keys = disk.exists(RoundPlan.path) ? Set(states.map(\.keyNumber)).sorted().reversed() : [0]
        var options = plan.options(disk)
        if cipher != nil { options.entropy = plan.entropyOfItsOwn() }
        let opened = try TestKeys.open(with: Array(keys), cipher, options) {
            try Store(at: RoundPlan.path, options: $0)
        }
        return (opened.result, opened.number)
    }

    static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>, cipher: Encryption.Cipher?
    ) throws -> ModelStore? {
        let (store, key) = try openAgain(on: disk, plan: plan, among: states, cipher: cipher)
        var found = try store.read { try ModelStore(reading: $0) }
        found.keyNumber = key
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
package final class StoreSession: RandomSession {
    private let run: ScriptRun

    fileprivate init(_ run: ScriptRun, _ log: StepLog) {
        self.run = run
        for step in run.script.steps { log("\(step)") }
    }

    package var history: CrashHistory<ModelStore> { run.history }
    package var operations: Int { run.script.steps.count }
    package func close() throws { try run.close() }
    package func abandon() { run.abandon() }

    package func work() throws {
        try run.run(closing: false)
        try run.checkAll()
    }

    package func shows(_ states: ArraySlice<ModelStore>) throws -> Bool {
        guard let found = try run.visible() else { return true }
        return states.contains(found)
    }
}
