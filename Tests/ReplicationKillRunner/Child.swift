import Foundation
import MakoStorage

/// A process of the trial, and what it said.
final class Child {
    enum Role: String { case write, follow, restore }

    let role: Role
    let machine: Int
    let life: Life
    private let death: Double
    private let isEarly: Bool
    private let callOfDeath: Int
    private let start = Date()
    /// When it began its work, as far as the trial has seen.
    private var beginning: Date?
    private let process = Process()
    private let output: String

    struct Start {
        var role: Role
        var machine: Int
        var life: Life
        var path: String
        /// When the trial kills it, in seconds since it began its work or, if it dies early, since it was started.
        var death: Double
        var isEarly: Bool
        /// The call of the object store at which it kills itself; 0 for none.
        var callOfDeath: Int
        var promotion: Double?
    }

    init(_ start: Start, _ program: String, objects: String) throws {
        role = start.role
        machine = start.machine
        life = start.life
        death = start.death
        isEarly = start.isEarly
        callOfDeath = start.callOfDeath
        output = "\(objects).\(life.id).out"
        guard FileManager.default.createFile(atPath: output, contents: nil) else { throw CocoaError(.fileWriteUnknown) }
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            role.rawValue, start.path, objects, "\(life.id)", "\(start.callOfDeath)",
            start.promotion.map { "\($0)" } ?? "never",
        ]
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        process.standardOutput = file
        process.standardError = file
        try process.run()
        try file.close()
    }

    func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// Whether its time has come. One that does not begin its work is waited for.
    var isDue: Bool {
        if isEarly { return Date() >= start.addingTimeInterval(death) }
        if beginning == nil {
            let hasBegun = words.contains { [.attached, .following, .restored].contains($0.word) }
            if hasBegun || !isRunning || Date() > start.addingTimeInterval(Child.patience) { beginning = Date() }
        }
        return beginning.map { Date() >= $0.addingTimeInterval(death) } ?? false
    }

    private static let patience = 3.0

    func waitForDeath() throws {
        process.waitUntilExit()
        let isFenced =
            process.terminationReason == .exit && process.terminationStatus == Word.fencedStatus
            && words.contains { $0.word == .fenced }
        let isKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
        guard isFenced || isKilled else {
            throw Failure("\(description) ended by itself with status \(process.terminationStatus): \(text)")
        }
    }

    var isRunning: Bool { process.isRunning }

    private var text: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }

    /// What it said, in order.
    var words: [(word: Word, number: UInt64)] {
        // Read once, because the process writes on, and an index of a longer text is none of a shorter one.
        let text = text
        let whole = text.last == "\n" ? Substring(text) : text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]
        return whole.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            guard let word = parts.first.flatMap({ Word(rawValue: String($0)) }) else { return nil }
            return (word, parts.count > 1 ? UInt64(parts[1]) ?? 0 : 0)
        }
    }

    func said(_ word: Word) -> Bool { words.contains { $0.word == word } }

    /// The greatest number that it said with a word.
    func greatest(_ word: Word) -> UInt64? { words.filter { $0.word == word }.map(\.number).max() }

    func forget() { try? FileManager.default.removeItem(atPath: output) }

    /// What it said since it began to write.
    var wordsAsWriter: [(word: Word, number: UInt64)] {
        role == .write ? words : Array(words.drop { $0.word != .promoted })
    }

    /// Its last words, for the report of a failure.
    var story: String {
        let last = text.split(separator: "\n").suffix(6).joined(separator: ", ")
        return "\(description), killed \(isEarly ? "early, " : "")after \(death) s or at call \(callOfDeath): …\(last)"
    }

    var description: String { "\(role.rawValue) of machine \(machine), life \(life.id) (\(life.shipping))" }
}
