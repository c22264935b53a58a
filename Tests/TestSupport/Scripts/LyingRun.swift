import MakoStorage

/// Runs a script on a disk that reports one sync as done though it was not, and cuts the power soon afterwards.
///
/// Acknowledged commits may be lost then. But the store must show a state that it went through, and report everything
/// else as an error.
package enum LyingRun {
    /// - Parameter limit: at most so many syncs, spread evenly.
    package static func run(_ script: Script, limit: Int = .max, seed: UInt64 = 1) throws -> FaultRunner.Report {
        let healthy = SimulatedDisk(seed: seed, sectorBytes: script.sectorBytes)
        try ScriptRun(script, on: healthy, seed: seed).run()
        let syncs = healthy.callLog.indices.filter {
            healthy.callLog[$0] == .sync || healthy.callLog[$0] == .syncDirectory
        }
        var report = FaultRunner.Report()
        for index in 0..<min(limit, syncs.count) {
            let call = syncs[syncs.count <= limit ? index : index * syncs.count / limit]
            let disk = SimulatedDisk(seed: seed, sectorBytes: script.sectorBytes)
            disk.inject(.syncLies, atCall: call)
            disk.startRecording()
            let run = ScriptRun(script, on: disk, seed: seed)
            try run.run()
            for point in disk.crashPoints().filter({ $0.call > call }).prefix(8) {
                try crash(at: point, run, "sync \(call) lied, the power went before call \(point.call)", &report)
            }
        }
        return report
    }

    /// `surfaced` counts the errors, and the states that lack what was acknowledged.
    private static func crash(
        at point: SimulatedDisk.CrashPoint, _ run: ScriptRun, _ place: String, _ report: inout FaultRunner.Report
    ) throws {
        let span = run.spans[point.tag]
        for image in point.state.images(CrashChoice(exhaustiveBits: 2, structuredUnits: 3, sampled: 2, torn: 1)) {
            report.runs += 1
            let disk = SimulatedDisk(image, sectorBytes: run.script.sectorBytes)
            do {
                let store = try Store(at: ScriptRun.path, options: ScriptRun.options(run.script, on: disk))
                let found = try store.read { try ModelStore(reading: $0) }
                try store.close()
                if !run.states[span.acknowledged...span.begun].contains(found) { report.surfaced += 1 }
                if !run.states[...span.begun].contains(found) {
                    report.failures.append("\(place): a state that never was")
                }
            } catch is StorageError {
                report.surfaced += 1
            }
        }
    }
}
