import MakoStorage

/// Runs a random workload in rounds: work on a disk, end it in some way, check the result, continue with that.
///
/// A round ends with a power cut at any of its moments, often with another one in the recovery after it; or the disk
/// fails at some call, after which the open database must show a consistent state, and the process or the machine ends;
/// or it just closes.
package enum RandomRounds<Workload: RandomWorkload> {
    typealias State = Workload.Session.State

    private struct Unusable: Error {}

    /// Runs one seed. A failure is a `Disagreement` that names the seed.
    @discardableResult
    package static func run(
        seed: UInt64, rounds: Int = 3, steps: Int = 12, log: StepLog = .silent
    ) throws -> RandomTotals {
        var totals = RandomTotals(seeds: 1)
        do {
            var random = SplitMix(seed: seed &* 31 &+ 7)
            var image = DiskImage()
            var state = Workload.empty
            for round in 0..<rounds {
                log("round \(round)")
                let plan = RoundPlan(seed: seed &* 1000 &+ UInt64(round), steps: steps, log: log)
                do {
                    (image, state) = try self.round(image, state, plan, &random, &totals)
                } catch is Unusable {
                    log("the file says that it cannot be used")
                    break
                } catch { throw Disagreement("round \(round): \(error)") }
            }
        } catch { throw Disagreement("\(Workload.name), seed \(seed): \(error)") }
        return totals
    }

    private static func round(
        _ image: DiskImage, _ state: State, _ plan: RoundPlan, _ random: inout SplitMix, _ totals: inout RandomTotals
    ) throws -> (DiskImage, State) {
        totals.rounds += 1
        let disk = SimulatedDisk(image, seed: plan.seed, sectorBytes: plan.sectorBytes)
        var plan = plan
        let fault = random.chance(30) ? random.pick(Fault.ofRounds) : nil
        plan.diskFails = fault != nil
        plan.diskLies = fault == .syncFails(.reportsLate)
        let session = Workload.session(on: disk, from: state, plan: plan)
        defer { totals.operations += session.operations }
        if let fault {
            let (image, span) = try fail(fault, session, disk, plan, &random, &totals)
            return try recover(image, session, span, plan, &random, &totals)
        }
        disk.startRecording()
        try session.work()
        if random.chance(30) { try session.close() }
        let points = disk.crashPoints()
        // The end of the run is as likely as all other moments together.
        let point = random.chance(30) ? points[points.count - 1] : points[random.below(points.count)]
        session.abandon()
        totals.crashes += 1
        plan.log("the power goes before call \(point.call) of \(points[points.count - 1].call)")
        let left = point.state.randomImage(&random)
        return try recover(left, session, session.history.spans[point.tag], plan, &random, &totals)
    }

    // MARK: Failing calls

    /// Works on a disk that fails at one call, and answers what it leaves.
    private static func fail(
        _ fault: Fault, _ session: Workload.Session, _ disk: SimulatedDisk, _ plan: RoundPlan, _ random: inout SplitMix,
        _ totals: inout RandomTotals
    ) throws -> (DiskImage, CrashSpan) {
        let call = random.below(12 << random.below(6))
        plan.log("\(fault) at call \(call)")
        disk.inject(fault, atCall: call)
        var hasFailed = false
        try surviving(&hasFailed) { try session.work() }
        totals.faults += disk.callCount > call ? 1 : 0
        totals.surfaced += hasFailed ? 1 : 0
        // A sync that lies and confesses later takes with it what there was every reason to acknowledge.
        var span = session.history.span
        if plan.diskLies { span.acknowledged = 0 }
        try surviving(&hasFailed) {
            if try !session.shows(session.history.states[span.acknowledged...span.begun]) {
                throw Disagreement("after \(fault) at call \(call) the open database shows a state of its own")
            }
        }
        disk.clearFaults()
        let state = disk.crashState()
        var image: DiskImage
        switch random.below(3) {
        case 0: image = state.randomImage(&random)
        // The process ends and the machine goes on. After a failed sync its cache is not what the disk holds.
        case 1 where !fault.isSyncFailure:
            image = disk.settledImage()
            span = span.ofEndedProcess
        default:
            try surviving(&hasFailed) { try session.close() }
            image = disk.crashState().image([])
        }
        session.abandon()
        return (image, span)
    }

    /// Runs a body that the disk may have fail.
    private static func surviving(_ hasFailed: inout Bool, _ body: () throws -> Void) throws {
        do { try body() } catch  where isFault(error) { hasFailed = true }
    }

    private static func isFault(_ error: any Error) -> Bool { (error as? any DiskFailure)?.isDiskFailure ?? false }

    // MARK: Results

    private static func recover(
        _ image: DiskImage, _ session: Workload.Session, _ span: CrashSpan, _ plan: RoundPlan,
        _ random: inout SplitMix, _ totals: inout RandomTotals
    ) throws -> (DiskImage, State) {
        var image = image
        if random.chance(25) {
            totals.recoveryCrashes += 1
            image = crashInRecovery(
                image, plan, session.history.states[span.acknowledged...span.begun], &random)
        }
        let disk = SimulatedDisk(image, sectorBytes: plan.sectorBytes)
        let allowed = session.history.states[span.acknowledged...span.begun]
        let found: State?
        do { found = try Workload.recover(on: disk, plan: plan, among: allowed) } catch {
            // After a lie that is an answer.
            if plan.diskLies, !(error is Disagreement) { throw Unusable() }
            throw error
        }
        guard let found else {
            throw Disagreement("what came back is none of the states \(span.acknowledged)...\(span.begun)")
        }
        return (disk.settledImage(), found)
    }

    /// Opens an image and loses power again during the recovery.
    private static func crashInRecovery(
        _ image: DiskImage, _ plan: RoundPlan, _ states: ArraySlice<State>, _ random: inout SplitMix
    ) -> DiskImage {
        let disk = SimulatedDisk(image, sectorBytes: plan.sectorBytes)
        disk.startRecording()
        let store = Workload.openAgain(on: disk, plan: plan, among: states)
        let points = disk.crashPoints()
        disk.cutPower()
        _ = store
        return points[random.below(points.count)].state.randomImage(&random)
    }
}

extension RoundPlan {
    /// The database of every workload.
    package static let path = "d/store.mako"
}

/// An error that can say whether it names what a failing disk did, or that the store took no more writes after it.
package protocol DiskFailure: Error {
    var isDiskFailure: Bool { get }
}

extension StorageError: DiskFailure {
    package var isDiskFailure: Bool {
        switch self {
        case .io, .diskFull, .readOnly: true
        default: false
        }
    }
}

extension Fault {
    /// What happens to a disk in the rounds in which it fails.
    fileprivate static let ofRounds: [Fault] = [
        .inputOutput, .inputOutput, .noSpace, .persistentError(noSpaceCode), .persistentError(inputOutputCode),
        .syncFails(.keepsNewContent), .syncFails(.restoresOldContent), .syncFails(.reportsLate), .short(700),
        .interrupted,
    ]
}
