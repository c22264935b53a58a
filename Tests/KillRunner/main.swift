import Foundation
import MakoStorage
import MakoTestSupport

/// `kill CYCLES [SEED]`: a writer is killed so many times. `power CYCLES [SEED]`: its file system is stopped as in a power
/// cut. `write PATH` and `read PATH` are the processes that these start.
let words = Array(CommandLine.arguments.dropFirst())
let folder = NSTemporaryDirectory() + "mako-kill-\(ProcessInfo.processInfo.processIdentifier)"
guard words.count >= 2 else {
    print("usage: KillRunner kill|power CYCLES [SEED]")
    exit(2)
}
do {
    switch words[0] {
    case "write": try WriterProcess(path: words[1]).run()
    case "read":
        let store = try Store(at: words[1], options: Workload.options(readOnly: true))
        guard try store.verify().isClean else { throw Referee.Failure(description: "verify is not clean") }
        print(Digest.of(try store.read { try ModelStore(reading: $0) }))
    case "kill", "power":
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let seed = words.count > 2 ? UInt64(words[2]) ?? 1 : UInt64.random(in: 1...999_999)
        let trial = Trial(
            program: Bundle.main.executablePath ?? CommandLine.arguments[0], cycles: Int(words[1]) ?? 20, seed: seed,
            folder: folder)
        words[0] == "kill" ? try trial.killProcesses() : try trial.cutPower()
    default: throw Referee.Failure(description: "what is '\(words[0])'?")
    }
} catch let skipped as PowerCut.NotPermitted {
    print("skipped: \(skipped)")
} catch {
    print("failed: \(error)")
    exit(1)
}
