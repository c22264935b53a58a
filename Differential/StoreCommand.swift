import ArgumentParser
import MakoTestSupport

/// Puts the same random operations to a Mako store and to LMDB. The seed repeats a run.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lmdb", abstract: "Random sequences of operations, put to a Mako store and to LMDB.")

    @Option(help: "How many sequences.")
    var sequences = 200_000
    @Option(help: "Where the random numbers begin.")
    var seed: UInt64 = 1

    mutating func run() throws {
        let lmdb = try LMDBSide()
        defer { lmdb.remove() }
        var operations = 0
        var answers = 0
        for number in seed..<seed + UInt64(sequences) {
            var random = SplitMix(seed: number)
            let steps = StoreSequence.make(&random)
            let expected = try lmdb.run(steps)
            let found = try StoreSide(seed: number).run(steps)
            operations += steps.reduce(0) { $0 + $1.operations }
            answers += expected.count
            if let place = zip(expected, found).enumerated().first(where: { $1.0 != $1.1 })?.offset {
                print("seed \(number), answer \(place)\n  LMDB \(expected[place])\n  Mako \(found[place])")
                throw ExitCode.failure
            }
            guard expected.count == found.count else {
                print("seed \(number): \(expected.count) answers and \(found.count)")
                throw ExitCode.failure
            }
            if (number - seed) % 20_000 == 19_999 { print("\(number - seed + 1) sequences, no disagreement") }
        }
        print(
            "\(sequences) sequences with \(operations) operations and \(answers) answers compared, seeds from \(seed): "
                + "no disagreement")
    }
}
