import Foundation

/// A published design with several steps on one database: each repetition of an engine runs all of them once, one after the other, and
/// each step is a case. The first requested case runs them all; the others print the figures of that run.
final class StepCases {
    struct Step {
        let name: String
        let operations: Int
        var unit = Unit.nanoseconds
    }

    /// The records of one run.
    final class Passage {
        private let clock: Stopwatch
        fileprivate var samples: [String: Sample] = [:]

        fileprivate init(clock: Stopwatch) { self.clock = clock }

        /// Runs a step, and returns its result; the checksum, which must agree between engines, is computed afterwards.
        @discardableResult
        func step<R>(_ name: String, checksum: (R) throws -> UInt64, _ body: () throws -> R) throws -> R {
            let start = clock.now()
            let result = try body()
            let time = clock.now() - start
            samples[name] = Sample(nanoseconds: time, checksum: try checksum(result))
            return result
        }

        func step(_ name: String, _ body: () throws -> UInt64) throws {
            try step(name, checksum: { $0 }, body)
        }

        func note(_ name: String, bytes: UInt64) { samples[name] = Sample(bytes: bytes, checksum: nil) }
    }

    struct Engine {
        let name: String
        /// All steps, in a new directory.
        let run: (_ directory: String, _ passage: Passage) throws -> Void
    }

    private let design: String
    private let records: Int
    private let durability: SyncMode
    private let steps: [Step]
    private let engines: [Engine]
    private let options: Options
    private let workspace: Workspace
    private var passages: [String: [Int: Passage]] = [:]

    init(
        _ design: String, records: Int, durability: SyncMode = .full, options: Options, workspace: Workspace,
        steps: [Step], engines: [Engine]
    ) {
        self.design = design
        self.records = records
        self.durability = durability
        self.options = options
        self.workspace = workspace
        self.steps = steps
        self.engines = engines
    }

    func make(_ name: String) -> BenchmarkCase? {
        guard let step = steps.first(where: { "\(design)-\($0.name)" == name }) else { return nil }
        let contenders = engines.map { engine in
            Contender(engine: engine.name) { repetition in
                guard let sample = try self.passage(of: engine, repetition).samples[step.name] else {
                    throw BenchmarkError("there is no step \(step.name)")
                }
                return sample
            }
        }
        return BenchmarkCase(
            name: name, durability: durability, records: records, operations: step.operations, unit: step.unit,
            warmsUp: false, contenders: contenders)
    }

    private func passage(of engine: Engine, _ repetition: Int) throws -> Passage {
        if let known = passages[engine.name]?[repetition] { return known }
        let passage = Passage(clock: options.clock)
        let directory = try workspace.make("\(design)-\(engine.name)")
        try engine.run(directory, passage)
        try workspace.remove(directory)
        passages[engine.name, default: [:]][repetition] = passage
        return passage
    }
}
