import MakoStorage

/// Random workloads with crashes: run, cut the power somewhere, go on with what is left, several times over.
public struct RandomRun {
    /// Runs one seed; throws a `Disagreement` that names the seed, or whatever the store threw.
    public static func run(seed: UInt64, rounds: Int = 3, steps: Int = 12) throws {
        do {
            try runRounds(seed, rounds, steps)
        } catch {
            throw Disagreement("seed \(seed): \(error)")
        }
    }

    private static func runRounds(_ seed: UInt64, _ rounds: Int, _ steps: Int) throws {
        var random = SplitMix(seed: seed &* 31 &+ 7)
        var image = DiskImage()
        var model = ModelStore()
        for round in 0..<rounds {
            var trees = model.trees.mapValues(\.kind)
            let roundSeed = seed &* 1000 &+ UInt64(round)
            let script = Script.random(seed: roundSeed, steps: steps, trees: &trees)
            let disk = SimulatedDisk(image, seed: roundSeed, sectorBytes: script.sectorBytes)
            let run = ScriptRun(script, on: disk, from: model, seed: roundSeed)
            disk.startRecording()
            try run.run(closing: random.chance(30))
            let points = disk.crashPoints()
            // The end of the run is as likely as all other moments together.
            let point = random.chance(30) ? points[points.count - 1] : points[random.below(points.count)]
            run.abandon()
            let span = run.spans[point.tag]
            image = point.state.randomImage(&random)
            if random.chance(25) { image = crashInRecovery(image, script, &random) }
            (image, model) = try reopen(image, script, run.states, span, round)
        }
    }

    /// Opens on an image and loses power again on the way.
    private static func crashInRecovery(_ image: DiskImage, _ script: Script, _ random: inout SplitMix) -> DiskImage {
        let disk = SimulatedDisk(image, sectorBytes: script.sectorBytes)
        disk.startRecording()
        let store = try? Store(at: ScriptRun.path, options: ScriptRun.options(script, on: disk))
        let points = disk.crashPoints()
        disk.cutPower()
        _ = store
        return points[random.below(points.count)].state.randomImage(&random)
    }

    private static func reopen(
        _ image: DiskImage, _ script: Script, _ states: [ModelStore], _ span: ScriptRun.Span, _ round: Int
    ) throws -> (DiskImage, ModelStore) {
        let disk = SimulatedDisk(image, sectorBytes: script.sectorBytes)
        let store = try Store(at: ScriptRun.path, options: ScriptRun.options(script, on: disk))
        let found = try store.read { try ModelStore(reading: $0) }
        guard states[span.acknowledged...span.begun].contains(found) else {
            throw Disagreement(
                "round \(round): state \(states.indices.filter { states[$0] == found }) came back, not one of "
                    + "\(span.acknowledged)...\(span.begun): "
                    + (found.difference(from: states[span.acknowledged]) ?? ""))
        }
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("round \(round): verify: \(report.findings)") }
        try store.close()
        return (disk.settledImage(), found)
    }
}
