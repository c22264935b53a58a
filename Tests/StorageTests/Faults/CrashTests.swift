import MakoStorage
import MakoTestSupport
import Testing

/// Scripted workloads, the power cut before and after every call, and again inside recovery.
@Suite struct CrashTests {
    @Test(
        arguments: Script.crashWorkloads.map(\.name).filter { TestEffort.workload == nil || TestEffort.workload == $0 })
    func everyCrashLeavesTheAcknowledgedTransactions(workload: String) throws {
        let start = ContinuousClock.now
        let report = try CrashRunner.run(try script(workload), effort: TestEffort.crash)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.images > 10 && report.opened > 10, "\(report)")
        if TestEffort.isFull || TestEffort.isChatty {
            CrashTotals.shared.print(workload, report, took: ContinuousClock.now - start)
        }
    }

    @Test func theWorkloadsAreThere() { #expect(Script.crashWorkloads.count >= 70) }

    @Test func theSameSeedWritesTheSameBytes() throws {
        func image() throws -> DiskImage {
            let disk = SimulatedDisk(seed: 4)
            try ScriptRun(try script("splits"), on: disk, seed: 4).run()
            return disk.settledImage()
        }
        let first = try image()
        let second = try image()
        #expect(first.files.mapValues(\.bytes) == second.files.mapValues(\.bytes))
        #expect(!first.files.isEmpty)
    }

    private func script(_ name: String) throws -> Script {
        let workload = try #require(Script.crashWorkloads.first { $0.name == name })
        return try Script(name: name, workload.text)
    }
}

/// Scripted workloads with one failing call: a choice of them, and all in full effort.
@Suite struct FaultTests {
    static let workloads =
        TestEffort.isFull
        ? Script.crashWorkloads.map(\.name).filter { TestEffort.workload == nil || TestEffort.workload == $0 }
        : [
            "overwrites", "splits", "overflow values", "big transaction by checkpoint", "create and drop trees",
            "checkpoint in steps", "segment roll over", "reopen", "cache smaller than data", "streamed values",
            "bulk load", "shrink", "incremental backups", "compact", "delayed durability", "encrypted",
        ].filter { name in Script.crashWorkloads.contains { $0.name == name } }

    @Test(arguments: workloads) func anInputOutputErrorLosesNothing(workload: String) throws {
        try expectNothingLost(workload, [.inputOutput])
    }

    @Test(arguments: workloads) func aFullDiskLosesNothing(workload: String) throws {
        try expectNothingLost(workload, [.noSpace, .persistentError(28)])
    }

    /// A sync failure that is reported late counts as a success until then; what a power cut takes meanwhile cannot be
    /// predicted.
    @Test(arguments: workloads) func aFailedSyncLosesNothing(workload: String) throws {
        let kinds = SyncFailure.allCases.filter { $0 != .reportsLate || Self.steady.contains(workload) }
        try expectNothingLost(workload, kinds.map { .syncFails($0) })
    }

    /// At each sync of these scripts the system gives up pages that are read again later: they are in the log, and not damaged.
    @Test(arguments: ["shrink", "streamed values and savepoints"])
    func whatTheSystemGaveUpIsNoDamage(workload: String) throws {
        let text = try #require(Script.crashWorkloads.first { $0.name == workload }).text
        let report = try FaultRunner.run(
            try Script(name: workload, text), faults: [.syncFails(.restoresOldContent)])
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.surfaced > 5, "\(report)")
    }

    /// The workloads without a power cut of their own: what it takes after a late report cannot be predicted.
    static let steady = workloads.filter { name in
        guard let text = Script.crashWorkloads.first(where: { $0.name == name })?.text,
            let script = try? Script(name: name, text)
        else { return false }
        return !script.steps.contains { if case .crash = $0 { true } else { false } }
    }

    /// A drive that does not flush what it acknowledged can lose acknowledged commits; the store must then report an
    /// error, or show an older commit as a whole.
    @Test(arguments: steady) func aLyingFlushIsAnErrorOrAnOlderState(workload: String) throws {
        let text = try #require(Script.crashWorkloads.first { $0.name == workload }).text
        let report = try LyingRun.run(try Script(name: workload, text), limit: TestEffort.isFull ? .max : 8)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.runs > 5 && report.surfaced > 0, "no lie made a difference: \(report)")
    }

    /// Usual behaviour of systems: partial and interrupted calls.
    @Test(arguments: workloads) func shortAndInterruptedCallsAreMadeGood(workload: String) throws {
        let text = try #require(Script.crashWorkloads.first { $0.name == workload }).text
        let script = try Script(name: workload, text)
        let disk = SimulatedDisk(seed: 1, sectorBytes: script.sectorBytes)
        try ScriptRun(script, on: disk).run()
        let faults: [Fault] = [.short(1), .short(700), .interrupted]
        let seldom = TestEffort.isFull ? 1 : 4
        for (call, kind) in disk.callLog.enumerated() where call % seldom == 0 {
            let failing = SimulatedDisk(seed: 1, sectorBytes: script.sectorBytes)
            failing.inject(kind == .sync ? .interrupted : faults[call / seldom % faults.count], atCall: call)
            try ScriptRun(script, on: failing).run()
            // When the frames of an expired snapshot are reused depends on all reads in progress, those of other tests
            // included.
            if script.snapshotAgeLimit != nil { continue }
            #expect(failing.settledImage().fingerprint == disk.settledImage().fingerprint)
        }
    }

    private func expectNothingLost(_ workload: String, _ faults: [Fault]) throws {
        let text = try #require(Script.crashWorkloads.first { $0.name == workload }).text
        let report = try FaultRunner.run(
            try Script(name: workload, text), faults: faults, limit: TestEffort.faultLimit)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.runs > 5 && report.surfaced > 0, "\(report)")
    }
}
