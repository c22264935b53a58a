import Foundation

/// Runs cases: in each repetition every engine takes its turn, in an order of its own, so that a disturbance or a warm processor does not
/// fall on one engine alone.
struct Runner {
    let options: Options

    func run(_ benchmark: BenchmarkCase) throws -> [Result] {
        let contenders = benchmark.contenders.filter { options.wants(engine: $0.engine) }
        guard !contenders.isEmpty else { return [] }
        var values = [[Double]](repeating: [], count: contenders.count)
        let first = benchmark.warmsUp ? -1 : 0
        for repetition in first..<options.repetitions {
            // Created for each repetition: a database that the repetitions fill differs from one to the next.
            var checksum: (engine: String, value: UInt64)?
            for turn in contenders.indices {
                let index = Runner.order(turn, repetition: max(repetition, 0), of: contenders.count)
                let contender = contenders[index]
                // Writes the engine's data in the system's cache to the disk now, so that the next engine does not wait for it.
                if benchmark.durability != .none { sync() }
                WarmMemory.touch(bytes: options.warmMemory)
                let sample: Sample
                do {
                    sample = try contender.measure(repetition)
                } catch {
                    throw BenchmarkError("\(benchmark.name), \(contender.engine): \(error)")
                }
                if repetition >= 0 {
                    values[index].append(Double(sample.amount) / Double(benchmark.operations))
                }
                guard let value = sample.checksum else { continue }
                if let known = checksum, known.value != value {
                    throw BenchmarkError(
                        "\(benchmark.name): \(contender.engine) and \(known.engine) did not see the same data")
                }
                checksum = (contender.engine, value)
            }
        }
        return contenders.indices.map { index in
            Result(benchmark: benchmark, engine: contenders[index].engine, values: values[index].sorted())
        }
    }

    /// The order of turns. Over as many repetitions as there are engines each follows each other one equally often (for an even number of
    /// engines; nearly so for an odd one), because the next engine reuses what one leaves, freed memory above all.
    ///
    /// Source: E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949.
    private static func order(_ turn: Int, repetition: Int, of count: Int) -> Int {
        let step = turn % 2 == 1 ? (turn + 1) / 2 : count - turn / 2
        return (step + repetition) % count
    }
}
