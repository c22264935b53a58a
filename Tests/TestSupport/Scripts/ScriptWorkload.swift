import MakoStorage

/// A script of the storage engine, for `CrashRunner`.
package struct ScriptWorkload: CrashWorkload {
    /// The script that is run.
    package let script: Script
    private let seed: UInt64

    package init(_ script: Script, seed: UInt64 = 1) {
        self.script = script
        self.seed = seed
    }

    package var sectorBytes: Int { script.sectorBytes }

    package func run(on disk: SimulatedDisk) throws -> CrashHistory<ModelStore> {
        let run = ScriptRun(script, on: disk, seed: seed)
        try run.run()
        return run.history
    }

    /// Opens the store, reads everything, verifies and closes.
    package func recover(on disk: SimulatedDisk, served: () -> Void) throws -> ModelStore {
        let (store, key) = try TestKeys.open(
            with: disk.exists(ScriptRun.path) ? keys : [0], script.cipher,
            ScriptRun.options(script, on: disk, seed: seed &+ 77)
        ) { try Store(at: ScriptRun.path, options: $0) }
        var found = try store.read { try ModelStore(reading: $0) }
        found.keyNumber = key
        served()
        let report = try store.verify()
        guard report.isClean else { throw Disagreement("verify: \(report.findings)") }
        try store.close()
        try checkCopies(on: disk)
        return found
    }

    /// The possible keys of the store, the newest first.
    private var keys: [Int] { (0...script.steps.filter { $0 == .changeKey }.count).reversed() }

    /// A copy that has its name is whole, whenever the power went.
    private func checkCopies(on disk: SimulatedDisk) throws {
        for name in try disk.list(directory: "d") where name.hasSuffix(".mako") {
            let path = "d/" + name
            guard path != ScriptRun.path else { continue }
            var options = ScriptRun.options(script, on: disk, seed: seed)
            options.readOnly = true
            let (copy, _) = try TestKeys.open(with: keys, script.cipher, options) { try Store(at: path, options: $0) }
            let findings = try copy.verify().findings
            try copy.close()
            guard findings.isEmpty else { throw Disagreement("\(path): verify: \(findings)") }
        }
    }

    package func difference(_ found: ModelStore, _ expected: ModelStore) -> String {
        found.difference(from: expected) ?? "it opens with key \(found.keyNumber), not \(expected.keyNumber)"
    }
}

extension CrashRunner {
    /// Runs a script of the storage engine.
    package static func run(_ script: Script, seed: UInt64 = 1, effort: Effort) throws -> CrashReport {
        try run(ScriptWorkload(script, seed: seed), seed: seed, effort: effort)
    }
}
