import Foundation
import MakoTestSupport
import RandomRuns

/// The random workloads, run in turn.
enum Layer: String, CaseIterable {
    case store, records, objects

    func run(_ seed: UInt64, _ log: StepLog) throws -> RandomTotals {
        switch self {
        case .store: try RandomRounds<StoreWorkload>.run(seed: seed, log: log)
        case .records: try RandomRounds<RecordRandomRun>.run(seed: seed, log: log)
        case .objects: try RandomRounds<ObjectRandomRun>.run(seed: seed, log: log)
        }
    }
}

/// One run: each seed is taken by every layer.
struct Unit: Hashable {
    let number: UInt64

    var layer: Layer { Layer.allCases[Int(number % 3)] }
    func seed(_ first: UInt64) -> UInt64 { first &+ number / 3 }
}

/// A process that runs every so many units and reports on its standard output: `> unit` before each, then `= figures`
/// or `! failure`. So a trap or another abrupt end is attributed to its unit.
struct Worker {
    let first: UInt64
    let unit: UInt64
    let stride: UInt64
    let end: UInt64

    func run() {
        var next = unit
        while next < end {
            let unit = Unit(number: next)
            say("> \(next)")
            do {
                say("= \(try unit.layer.run(unit.seed(first), .silent).line)")
            } catch {
                say("! " + "\(error)".split(whereSeparator: \.isNewline).joined(separator: " "))
            }
            next += stride
        }
        say(".")
    }

    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

extension RandomTotals {
    /// All figures, separated by spaces.
    var line: String {
        [seeds, rounds, operations, crashes, recoveryCrashes, faults, surfaced].map(String.init).joined(separator: " ")
    }

    init?(line: Substring) {
        let figures = line.split(separator: " ").compactMap { Int($0) }
        guard figures.count == 7 else { return nil }
        self.init(seeds: figures[0])
        rounds = figures[1]
        operations = figures[2]
        crashes = figures[3]
        recoveryCrashes = figures[4]
        faults = figures[5]
        surfaced = figures[6]
    }
}
