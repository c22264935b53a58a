import Foundation
import MakoStorage
import MakoTestSupport

/// `kill CYCLES [SEED]`: a writer is killed so many times. `power CYCLES [SEED]`: its file system is stopped as in a power
/// cut. `readers CYCLES [SEED]`: readers beside a writer are killed so many times, and now and then the writer. `write PATH`, `read PATH`,
/// `processes SECONDS [SEED]`: two and three processes at the same files are stopped before each call. `fork FOLDER`: a child is forked off a process
/// with an open store, `fork-database FOLDER`: with an open database. `transfer PATH`, `audit PATH` and `step -` are the processes that these start.
/// `turns CYCLES [SEED]`, `sharing CYCLES [SEED]`: processes that write one file by turns (`turn PATH NUMBER
/// COMMITTED`, `share PATH NUMBER COMMITTED`) are killed so many times.
/// `commit PATH` commits what it reads, for `make kill-mirror`.
let words = Array(CommandLine.arguments.dropFirst())
let folder = NSTemporaryDirectory() + "mako-kill-\(ProcessInfo.processInfo.processIdentifier)"
guard words.count >= 2 else {
    print("usage: KillRunner kill|power|readers|turns|sharing|processes CYCLES [SEED]")
    exit(2)
}
do {
    switch words[0] {
    case "write": try WriterProcess(path: words[1]).run()
    case "read":
        let store = try Store(at: words[1], options: Workload.options(readOnly: true))
        guard try store.verify().isClean else { throw Referee.Failure(description: "verify is not clean") }
        print(Digest.of(try store.read { try ModelStore(reading: $0) }))
    case "transfer": try Bank(path: words[1]).transfer(after: words.count > 2 ? UInt64(words[2]) ?? 0 : 0)
    case "audit": try Bank(path: words[1]).audit()
    case "turn": try TurnProcess(path: words[1], life: TurnLife(words)).run()
    case "share": try SharingProcess(path: words[1], life: TurnLife(words)).run()
    case "step": try SteppedProcess().run()
    case "commit": try CommitProcess(path: words[1]).run()
    case "fork": try ForkTrial(folder: words[1]).run()
    case "fork-database": try DatabaseForkTrial(folder: words[1]).run()
    case "kill", "power", "readers", "turns", "sharing", "processes":
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let seed = words.count > 2 ? UInt64(words[2]) ?? 1 : UInt64.random(in: 1...999_999)
        let trial = Trial(
            program: Bundle.main.executablePath ?? CommandLine.arguments[0], cycles: Int(words[1]) ?? 20, seed: seed,
            folder: folder)
        switch words[0] {
        case "kill": try trial.killProcesses()
        case "power": try trial.cutPower()
        case "turns": try TurnTrial(trial, "turn").run()
        case "sharing": try TurnTrial(trial, "share").run()
        case "processes":
            try ProcessTrial(program: trial.program, folder: folder, seconds: trial.cycles, seed: seed).run()
        default: try ReaderTrial(trial).run()
        }
    default: throw Referee.Failure(description: "what is '\(words[0])'?")
    }
} catch let skipped as PowerCut.NotPermitted {
    print("skipped: \(skipped)")
} catch {
    print("failed: \(error)")
    exit(1)
}
