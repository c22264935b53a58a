import Foundation
import MakoTestSupport
import RandomRuns

// `seconds N [FIRST]` runs for so long, `seeds N [FIRST]` runs so many seeds of each layer; `repeat LAYER SEED` runs
// one with a line per step. `sqllogic SCRIPTS [REFUSALS]` runs scripts of sqllogictest and compares refused statements
// with a list; `metamorphic SECONDS [FIRST]` runs queries in several forms that must agree. `scale ENTRIES CACHE_MIB
// KIND [VALUE_BYTES]` measures file and memory of one transaction that is larger than the cache, and `groups GROUPS
// LIMIT_MIB` those of a query with more groups than the query memory holds; `parallel ROWS THREADS` measures how much
// faster several threads are than one. The first two start `work …` as a process for each core, and `scale` starts
// `scale-prepare …`, which creates the database, and `scale-verify …`.

let words = Array(CommandLine.arguments.dropFirst())
let numbers = words.dropFirst().compactMap { UInt64($0) }
switch (words.first, numbers.count) {
case ("seconds", 1...2):
    // Random, so that a run does not repeat the seeds of the last one.
    let first = numbers.count > 1 ? numbers[1] : UInt64.random(in: 1...999_999) * 1_000_000
    exit(try Soak(first: first, limit: nil, seconds: Double(numbers[0])).run() ? 0 : 1)
case ("seeds", 1...2):
    exit(try Soak(first: numbers.count > 1 ? numbers[1] : 0, limit: numbers[0], seconds: nil).run() ? 0 : 1)
case ("repeat", 1):
    guard let layer = words.dropFirst().first.flatMap(Layer.init) else { fallthrough }
    do { print(try layer.run(numbers[0], .printed)) } catch {
        print(error)
        exit(1)
    }
case ("sqllogic", _):
    guard words.count == 2 || words.count == 3 else { fallthrough }
    exit(try LogicCommand(scripts: words[1], refusals: words.dropFirst(2).first).run() ? 0 : 1)
case ("metamorphic", 1...2):
    exit(try MetamorphicCommand(seconds: Double(numbers[0]), first: numbers.dropFirst().first).run() ? 0 : 1)
case ("scale", _):
    guard let command = ScaleCommand(Array(words.dropFirst())) else { fallthrough }
    exit(try command.run() ? 0 : 1)
case ("groups", _):
    guard let command = GroupsCommand(Array(words.dropFirst())) else { fallthrough }
    exit(try command.run() ? 0 : 1)
case ("parallel", _):
    guard let command = ParallelCommand(Array(words.dropFirst())) else { fallthrough }
    exit(try command.run() ? 0 : 1)
case ("scale-prepare", _):
    guard words.count == 6, let command = ScaleCommand(Array(words[1..<5])) else { fallthrough }
    try command.prepare(words[5])
case ("scale-verify", _):
    guard words.count == 6, let command = ScaleCommand(Array(words[1..<5])) else { fallthrough }
    exit(try command.verify(words[5]))
case ("work", 4): Worker(first: numbers[0], unit: numbers[1], stride: numbers[2], end: numbers[3]).run()
default:
    print("usage: SoakRunner seconds N [FIRST] | seeds N [FIRST] | repeat store|records|objects SEED")
    print("       SoakRunner sqllogic SCRIPTS [REFUSALS] | metamorphic SECONDS [FIRST]")
    print(
        "       SoakRunner scale ENTRIES CACHE_MIB \(ScaleCommand.Kind.allCases.map(\.rawValue).joined(separator: "|")) [VALUE_BYTES]"
    )
    print("       SoakRunner groups GROUPS LIMIT_MIB | parallel ROWS THREADS")
    exit(2)
}
