import ArgumentParser
import MakoRecords
import MakoTestSupport

/// Runs the same random work in Mako and in another database, and compares.
@main
struct Differential: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mako-differential", abstract: "Random work, put to Mako and to SQLite or LMDB.",
        subcommands: [RandomQueryCommand.self, StoreCommand.self], defaultSubcommand: RandomQueryCommand.self)
}

/// Runs the same random queries on the same random data in Mako and in SQLite. The seed repeats a run.
struct RandomQueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sqlite", abstract: "Random schemas, data and questions, put to Mako and to SQLite.")

    @Option(help: "How many schema/data/question triples.")
    var triples = 200_000
    @Option(help: "Where the random numbers begin.")
    var seed: UInt64 = 1
    @Option(help: "Disagreements to show before giving up.")
    var show = 10

    mutating func run() throws {
        var compared = 0
        var answers = 0
        var found = 0
        var number = seed
        while compared < triples {
            var random = SplitMix(seed: number)
            let world = World(&random)
            let sqlite = try SQLiteSide(world)
            let mako = try MakoSide(world)
            for _ in 0..<20 {
                let query = RandomQuery.make(world, &random)
                let expected = try sqlite.run(query.sqlite, query.parameters)
                let outcome = Result { try mako.run(query) }
                compared += 1
                if case .success(let rows) = outcome, Answer.agree(rows, expected) {
                    if !expected.isEmpty { answers += 1 }
                    continue
                }
                found += 1
                print("seed \(number)\n  \(query.mako)\n  parameters \(query.parameters)")
                print("  SQLite \(expected.prefix(12))\n  Mako   \(outcome.map { $0.prefix(12) })")
                if found >= show { throw ExitCode.failure }
            }
            number += 1
            if number % 1000 == 0 { print("\(compared) triples, \(found) disagreements") }
        }
        print(
            "\(compared) triples, \(answers) of them with rows to answer, seeds \(seed)..<\(number): \(found) disagreements"
        )
        if found > 0 { throw ExitCode.failure }
    }
}

/// Whether two answers are one.
enum Answer {
    static func agree(_ mako: [[Value]], _ sqlite: [[Value]]) -> Bool {
        mako.count == sqlite.count
            && zip(mako, sqlite).allSatisfy { $0.count == $1.count && zip($0, $1).allSatisfy(same) }
    }

    private static func same(_ mako: Value, _ sqlite: Value) -> Bool {
        switch (mako, sqlite) {
        case (.null, .null): true
        case (.bool(let flag), .integer(let number)): number == (flag ? 1 : 0)
        case (.integer(let a), .integer(let b)): a == b
        // Sums may be taken in another order.
        case (.double(let a), .double(let b)), (.date(let a), .double(let b)):
            a == b || abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))
        case (.text(let a), .text(let b)): Array(a.utf8) == Array(b.utf8)
        case (.blob(let a), .blob(let b)): a == b
        default: false
        }
    }
}
