import Foundation
import MakoStorage
import MakoTestSupport

/// Readers beside a writer, killed at random moments and started again; now and then it is the writer that is killed.
struct ReaderTrial {
    private let trial: Trial
    private var path: String { trial.folder + "/bank.mako" }
    private static let readers = 3

    init(_ trial: Trial) { self.trial = trial }

    func run() throws {
        let start = ContinuousClock.now
        var random = SplitMix(seed: trial.seed)
        var writer = try life("transfer")
        var readers = try (0..<ReaderTrial.readers).map { _ in try life("audit") }
        var killed = (readers: 0, writers: 0)
        var states = 0
        // The newest commit that a reader has shown, or that was acknowledged; a writer that begins below it has lost it.
        var committed: UInt64 = 0
        func end(_ life: Life) {
            life.kill()
            committed = max(committed, life.numbers.max() ?? 0)
        }
        defer { for life in readers + [writer] { life.kill() } }
        for number in 1...max(1, trial.cycles) {
            Thread.sleep(forTimeInterval: Double(random.below(80)) / 1000)
            for life in readers + [writer] where !life.isAlive {
                throw Referee.Failure(description: "cycle \(number): \(life.verb) ended by itself: \(life.complaint)")
            }
            if random.chance(12) {
                end(writer)
                for reader in readers { committed = max(committed, reader.numbers.last ?? 0) }
                killed.writers += 1
                writer = try life("transfer", "\(committed)")
            } else {
                let index = random.below(readers.count)
                end(readers[index])
                states += readers[index].lines
                killed.readers += 1
                readers[index] = try life("audit")
            }
        }
        for life in readers + [writer] { life.kill() }
        states += readers.reduce(0) { $0 + $1.lines }
        try checkWhatIsLeft()
        let seconds = (ContinuousClock.now - start).components.seconds
        print(
            "\(killed.readers) readers and \(killed.writers) writers killed, \(states) states audited, none wrong; \(seconds) s"
        )
    }

    /// The dead hold nothing back: the next writer gets all the space there is.
    private func checkWhatIsLeft() throws {
        let store = try Store(at: path, options: Workload.options())
        if let ballast = try store.read({ $0.tree(named: "ballast") }) {
            try store.write { try $0.deleteAll(in: ballast) }
        }
        try store.shrink()
        let report = try store.verify()
        guard report.isClean else { throw Referee.Failure(description: "verify: \(report.findings)") }
        let stats = store.stats
        guard stats.filePages < UInt64(stats.livePages) * 5 / 4 + 64 else {
            throw Referee.Failure(description: "\(stats.filePages) pages for \(stats.livePages) in use")
        }
        try store.close()
    }

    private func life(_ verb: String, _ more: String...) throws -> Life {
        try Life(trial.program, verb, path, more)
    }

    /// A process and the lines that it has printed so far.
    final class Life: @unchecked Sendable {
        let verb: String
        private let process = Process()
        private let lock = Lock()
        // Guarded by `lock`.
        private var notified = Data()
        private let ended = DispatchSemaphore(value: 0)

        init(_ program: String, _ verb: String, _ path: String, _ more: [String] = []) throws {
            self.verb = verb
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [verb, path] + more
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            Thread.detachNewThread { [self] in
                while true {
                    let data = output.fileHandleForReading.availableData
                    if data.isEmpty { break }
                    lock.withLock { notified += data }
                }
                ended.signal()
            }
        }

        var isAlive: Bool { process.isRunning }
        var lines: Int { lock.withLock { notified.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } } }
        var numbers: [UInt64] { text.split(separator: "\n").compactMap { UInt64($0) } }
        var text: String { lock.withLock { String(decoding: notified, as: UTF8.self) } }

        /// How the process ended, and the last that it printed.
        var complaint: String {
            process.waitUntilExit()
            ended.wait()
            ended.signal()
            let reason = process.terminationReason == .exit ? "status" : "signal"
            return "\(reason) \(process.terminationStatus), \(text.suffix(400))"
        }

        func kill() {
            guard process.isRunning else { return }
            Foundation.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            ended.wait()
        }
    }
}
