import Foundation

// `list` prints the name of each case and its usual number of repetitions; `CASE N` runs a case N times. `scripts/instructions` counts the
// instructions of the same case run N times and 2N times, so that those of its preparation cancel out.

let words = Array(CommandLine.arguments.dropFirst())
switch (words.first, words.count) {
case ("list", 1):
    for each in InstructionCase.all { print(each.name, each.repetitions) }
case (let name?, 2):
    guard let found = InstructionCase.all.first(where: { $0.name == name }), let count = Int(words[1]), count > 0 else {
        fallthrough
    }
    let place = try Place()
    defer { place.remove() }
    let body = try found.prepare(place)
    for number in 1...count { try body(number) }
default:
    print("usage: InstructionCases list | CASE N")
    exit(2)
}
