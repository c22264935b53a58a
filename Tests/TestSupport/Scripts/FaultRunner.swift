import MakoStorage

/// Runs a script again and again, each time with a fault at another call, and looks whether the store keeps its
/// word: a typed error, what was acknowledged still there, in the open store and after opening it again.
package struct FaultRunner {
    /// The result of the runs.
    package struct Report: Sendable, CustomStringConvertible {
        /// Runs of the script.
        package var runs = 0
        /// Runs in which an error reached the caller.
        package var surfaced = 0
        /// The broken promises, each with its place in the script.
        package var failures: [String] = []

        package var description: String { "\(runs) runs, \(surfaced) with an error, \(failures.count) failures" }
    }

    private let script: Script
    private let seed: UInt64
    private var image = DiskImage()
    private var model = ModelStore()
    private var triesOneEnd = false
    private var report = Report()

    /// - Parameter limit: at most so many runs, spread evenly over the calls.
    package static func run(
        _ script: Script, faults: [Fault], limit: Int = .max, seed: UInt64 = 1
    ) throws -> Report {
        var runner = FaultRunner(script: script, seed: seed)
        let disk = SimulatedDisk(seed: seed, sectorBytes: script.sectorBytes)
        let healthy = ScriptRun(script, on: disk, seed: seed)
        healthy.verifies = false
        try healthy.run()
        var plan: [(Int, CallKind, Fault)] = []
        for (call, kind) in disk.callLog.enumerated() {
            for fault in faults where fault.concerns(kind) { plan.append((call, kind, fault)) }
        }
        for index in 0..<min(limit, plan.count) {
            let (call, kind, fault) = plan[plan.count <= limit ? index : index * plan.count / limit]
            runner.runOnce([call: fault], place: "\(fault) at call \(call), \(kind)")
            if runner.report.failures.count >= 5 { break }
        }
        return runner.report
    }

    /// Runs a script once, with faults at some calls or none, and ends it in one of the ways it can end, which the seed chooses.
    ///
    /// - Parameters:
    ///   - image: what the disk holds before.
    ///   - model: what the store on it holds.
    package static func runOnce(
        _ script: Script, faults: [Int: Fault], on image: DiskImage = DiskImage(),
        from model: ModelStore = ModelStore(),
        seed: UInt64
    ) -> Report {
        var runner = FaultRunner(script: script, seed: seed)
        runner.image = image
        runner.model = model
        runner.triesOneEnd = true
        runner.runOnce(faults, place: "faults \(faults)")
        return runner.report
    }

    private init(script: Script, seed: UInt64) {
        self.script = script
        self.seed = seed
    }

    private mutating func runOnce(_ faults: [Int: Fault], place: String) {
        report.runs += 1
        let disk = SimulatedDisk(image, seed: seed, sectorBytes: script.sectorBytes)
        for (call, fault) in faults { disk.inject(fault, atCall: call) }
        let run = ScriptRun(script, on: disk, from: model, seed: seed)
        // The result is verified when it is opened again.
        run.verifies = false
        let isClosing = !triesOneEnd || seed & 128 == 0
        do {
            try run.run(closing: isClosing)
        } catch let error as StorageError {
            report.surfaced += 1
            if !error.isDiskFailure { report.failures.append("\(place): thrown as \(error)") }
        } catch {
            report.failures.append("\(place): \(error)")
        }
        // A sync that lies and confesses later takes with it what the store had every reason to acknowledge.
        let isLie = faults.values.contains(.syncFails(.reportsLate))
        let allowed = run.states[(isLie ? 0 : run.span.acknowledged)...run.span.begun]
        checkLive(run, allowed, place)
        disk.clearFaults()
        // A change of key that failed leaves the old one or the new.
        let keys = Set(allowed.map(\.keyNumber))
        func withKeys(_ states: [ModelStore]) -> [ModelStore] {
            states.flatMap { state in
                keys.map { key in
                    var state = state
                    state.keyNumber = key
                    return state
                }
            }
        }
        let (probed, isAcknowledged) = probe(run, place)
        // What a device has written wrongly, or not at all, no store can know.
        let isHonest = !isLie && faults.values.allSatisfy(\.isReported)
        let states = isAcknowledged && isHonest ? withKeys(probed) : Array(allowed) + withKeys(probed)
        let span = isHonest ? run.span.ofEndedProcess : run.span
        let written = Array(isLie ? allowed : run.states[span.acknowledged...span.begun])
        let crash = disk.crashState()
        let settled = disk.settledImage()
        var random = SplitMix(seed: seed &+ UInt64(faults.keys.max() ?? 0))
        var ends: [(String, [ModelStore], () -> DiskImage)] = [("a power cut", states, { crash.image([]) })]
        if !isLie { ends.append(("a power cut", states, { crash.randomImage(&random) })) }
        // The process ends and the machine goes on. After a failed sync its cache is not what the disk holds.
        if !faults.values.contains(where: \.isSyncFailure) {
            let states = isAcknowledged && isHonest ? states : written + withKeys(probed)
            ends.append(("the end of the process", states, { settled }))
        }
        do {
            try run.close()
        } catch let error as StorageError {
            if !error.isDiskFailure { report.failures.append("\(place): closing, \(error)") }
        } catch {
            report.failures.append("\(place): closing, \(error)")
        }
        ends.append(("closing", states, { disk.crashState().image([]) }))
        if triesOneEnd { ends = [ends[Int(seed % UInt64(ends.count))]] }
        for (end, states, image) in ends { reopen(image(), states, "\(place), then \(end)", isLie) }
    }

    /// The open store must show a complete state.
    private mutating func checkLive(_ run: ScriptRun, _ allowed: ArraySlice<ModelStore>, _ place: String) {
        do {
            guard let visible = try run.visible() else { return }
            if !allowed.contains(visible) {
                report.failures.append("\(place): the open store shows a state of its own")
            }
        } catch let error as StorageError {
            if !error.isDiskFailure { report.failures.append("\(place): reading on, \(error)") }
        } catch {
            report.failures.append("\(place): reading on, \(error)")
        }
    }

    /// Makes one more commit, without faults: it either succeeds or the store is read-only. Returns the states that it
    /// leads to, and whether the commit is durable.
    private mutating func probe(_ run: ScriptRun, _ place: String) -> (states: [ModelStore], isAcknowledged: Bool) {
        guard let store = run.openStore, let before = try? run.visible() else { return ([], false) }
        var after = before
        after.createTree("probe", .integer)
        do {
            try store.write(durability: .full) { _ = try $0.createTree(named: "probe", keys: .integer) }
            if let visible = try run.visible(), visible != after {
                report.failures.append("\(place): a commit after the fault is not to be seen")
            }
            return ([after], true)
        } catch StorageError.readOnly {
            // This commit's sync reports a failure that another handle caused before: the commit may be in the log, or
            // not.
            return ([after], false)
        } catch let error as StorageError {
            if !error.isDiskFailure { report.failures.append("\(place): writing on, \(error)") }
        } catch {
            report.failures.append("\(place): writing on, \(error)")
        }
        return ([after], false)
    }

    /// - Parameter isLie: a disk that lied about a sync may leave anything: to say so is right, to trap would not be.
    private mutating func reopen(_ image: DiskImage, _ allowed: [ModelStore], _ place: String, _ isLie: Bool) {
        let disk = SimulatedDisk(image, sectorBytes: script.sectorBytes)
        let keys = Set(allowed.map(\.keyNumber)).sorted().reversed()
        do {
            let options = ScriptRun.options(script, on: disk, seed: seed)
            let (store, key) = try TestKeys.open(with: Array(keys), script.cipher, options) {
                try Store(at: ScriptRun.path, options: $0)
            }
            var found = try store.read { try ModelStore(reading: $0) }
            found.keyNumber = key
            let verified = try store.verify()
            try store.close()
            if !verified.isClean { report.failures.append("\(place): verify after reopening: \(verified.findings)") }
            if !isLie, !allowed.contains(found) {
                let difference = allowed.first.flatMap { found.difference(from: $0) } ?? ""
                report.failures.append("\(place): the state after reopening is none of those allowed; \(difference)")
            }
        } catch {
            if !isLie { report.failures.append("\(place): reopening, \(error)") }
        }
    }
}

extension Fault {
    /// Whether the call says that it has failed, or has its whole effect.
    fileprivate var isReported: Bool {
        switch self {
        case .loseWrite, .misdirectWrite, .staleRead, .flipBit, .syncLies: false
        default: true
        }
    }

    /// Whether the fault means something at such a call.
    fileprivate func concerns(_ kind: CallKind) -> Bool {
        switch self {
        case .error(let code), .persistentError(let code):
            FileError(operation: "", path: "", code: code).isNoSpace ? kind.needsSpace : true
        case .syncFails(.reportsLate), .syncLies: kind == .sync
        case .short: kind == .read || kind == .write
        case .interrupted: true
        case .refused: kind == .read || kind == .write || kind == .resize || kind == .sync
        case .syncFails: kind.isSync
        case .loseWrite, .misdirectWrite: kind == .write
        case .staleRead: kind == .read
        case .flipBit: kind == .read || kind == .write
        case .crashBefore, .crashAfter: true
        }
    }
}
