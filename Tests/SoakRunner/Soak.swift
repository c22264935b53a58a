import Foundation
import MakoStorage
import MakoTestSupport

/// Random runs of all layers on every core, until the time is up or the seeds are through, and what came of them.
final class Soak: @unchecked Sendable {
    private struct Failure {
        let unit: Unit
        let message: String
    }

    private static let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
    /// A worker without output for so long hangs.
    private static let patience = 300.0

    private let first: UInt64
    private let end: UInt64
    private let deadline: Date?
    private let start = Date()
    private let lock = Lock()
    // Guarded by `lock`.
    private var totals: [Layer: RandomTotals] = [:]
    private var failures: [Failure] = []
    private var notified = Date()

    /// - Parameters:
    ///   - limit: how many seeds; nil: until the time is up.
    ///   - seconds: for how long; nil: until the seeds are through.
    init(first: UInt64, limit: UInt64?, seconds: Double?) {
        self.first = first
        end = limit.map { $0 * 3 } ?? .max / 2
        deadline = seconds.map { Date().addingTimeInterval($0) }
    }

    /// Answers whether all went well.
    func run() throws -> Bool {
        print("seeds from \(first), on \(cores) cores")
        DispatchQueue.concurrentPerform(iterations: cores) { core in
            var next: UInt64? = UInt64(core)
            while let unit = next, unit < end, !isOver { next = supervise(from: unit) }
        }
        report()
        return failures.isEmpty
    }

    private var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    private var isOver: Bool { deadline.map { $0 <= Date() } ?? false }

    /// Follows one worker to its end. Answers the unit with which another one goes on, when it did not end by itself.
    private func supervise(from unit: UInt64) -> UInt64? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Soak.program)
        process.arguments = ["work", "\(first)", "\(unit)", "\(cores)", "\(end)"]
        let pipe = Pipe()
        process.standardOutput = pipe
        do { try process.run() } catch {
            fail(Unit(number: unit), "no process can be started: \(error)")
            return nil
        }
        let watch = Watch(process, patience: Soak.patience)
        var running = Unit(number: unit)
        var hasEnded = false
        var rest = Data()
        while !hasEnded {
            let data = pipe.fileHandleForReading.availableData
            if data.isEmpty { break }
            watch.note()
            rest += data
            while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<newline], as: UTF8.self)
                rest = rest[rest.index(after: newline)...]
                hasEnded = take(line, &running) || hasEnded
            }
            if isOver { hasEnded = true }
        }
        watch.end()
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
        if hasEnded { return nil }
        fail(running, watch.hasGivenUp ? "it hangs" : "the process died, status \(process.terminationStatus)")
        return running.number + UInt64(cores)
    }

    /// Takes a line of a worker; true at its end.
    private func take(_ line: String, _ running: inout Unit) -> Bool {
        let content = line.dropFirst(2)
        switch line.first {
        case ">": running = Unit(number: UInt64(content) ?? running.number)
        case "=":
            let layer = running.layer
            if let found = RandomTotals(line: content) {
                lock.withLock { totals[layer, default: RandomTotals()].add(found) }
            }
            printProgress()
        case "!": fail(running, String(content))
        case ".": return true
        default: break
        }
        return false
    }

    private func fail(_ unit: Unit, _ message: String) {
        lock.withLock { failures.append(Failure(unit: unit, message: message)) }
        print("FAILED \(message)\n    \(command(unit))")
    }

    private func command(_ unit: Unit) -> String { "\(Soak.program) repeat \(unit.layer) \(unit.seed(first))" }

    private var seconds: Int { Int(Date().timeIntervalSince(start)) }

    private func printProgress() {
        lock.withLock {
            guard Date().timeIntervalSince(notified) >= 10 else { return }
            notified = Date()
            let seeds = Layer.allCases.map { "\($0) \(totals[$0]?.seeds ?? 0)" }.joined(separator: ", ")
            print("\(seconds) s: \(seeds) seeds, \(failures.count) failures")
            // Shows the progress at once in a run that takes an hour.
            fflush(nil)
        }
    }

    private func report() {
        print("after \(seconds) seconds, from seed \(first):")
        for layer in Layer.allCases { print("    \(layer): \(totals[layer] ?? RandomTotals())") }
        if failures.isEmpty { return print("no failure") }
        print("\(failures.count) failures:")
        for failure in failures { print("    \(failure.message.prefix(300))\n        \(command(failure.unit))") }
    }
}

/// Ends a process that has been silent for too long.
private final class Watch: @unchecked Sendable {
    private let process: Process
    private let patience: Double
    private let lock = Lock()
    // Guarded by `lock`.
    private var last = Date()
    private var isOver = false
    private var gaveUp = false

    init(_ process: Process, patience: Double) {
        self.process = process
        self.patience = patience
        Foundation.Thread.detachNewThread { [weak self] in
            while let self, self.isPatient() { Foundation.Thread.sleep(forTimeInterval: 1) }
        }
    }

    func note() { lock.withLock { last = Date() } }
    func end() { lock.withLock { isOver = true } }
    var hasGivenUp: Bool { lock.withLock { gaveUp } }

    private func isPatient() -> Bool {
        lock.withLock {
            if isOver { return false }
            if Date().timeIntervalSince(last) < patience { return true }
            gaveUp = true
            process.terminate()
            return false
        }
    }
}
