/// Runs cases: in each repetition every engine takes its turn, and the order moves on by one each time, so that a disturbance
/// or a warm processor does not fall on one engine alone.
struct Runner {
    let options: Options

    func run(_ benchmark: BenchmarkCase) throws -> [Result] {
        let contenders = benchmark.contenders.filter { options.wants(engine: $0.engine) }
        guard !contenders.isEmpty else { return [] }
        var values = [[Double]](repeating: [], count: contenders.count)
        let first = benchmark.warmsUp ? -1 : 0
        for repetition in first..<options.repetitions {
            // Anew each time: a database that the repetitions fill differs from one to the next.
            var checksum: (engine: String, value: UInt64)?
            for turn in contenders.indices {
                let index = (turn + max(repetition, 0)) % contenders.count
                let contender = contenders[index]
                let sample: Sample
                do {
                    sample = try contender.measure(repetition)
                } catch {
                    throw BenchmarkError("\(benchmark.name), \(contender.engine): \(error)")
                }
                if repetition >= 0 {
                    values[index].append(Double(sample.nanoseconds) / Double(benchmark.operations))
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
}
