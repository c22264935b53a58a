import Foundation
import Mako

/// A process that is killed while it commits, and the content of its file afterwards.
enum CrashChapter {
    static func run(_ folder: Folder) throws {
        Stage.title("6. Killed in the middle")
        Stage.say(
            """
            Ada and Bob own \(Bank.total) together. A second process now moves money between them, one transaction after \
            the other; each changes two accounts and stores a movement. It reports a movement once its commit has \
            returned. In the middle of that it is killed (SIGKILL: no warning, no cleaning up).
            """)
        let path = folder.path("bank.mako")
        let database = try Bank.open(path)
        try database.save([
            Account(owner: "Ada", balance: Bank.total / 2), Account(owner: "Bob", balance: Bank.total / 2),
        ])
        try database.close()

        let child = try Child(path)
        let acknowledged = try child.killAfter(movements: 250, atMost: .seconds(3))
        Stage.note("killed", "process \(child.identifier), after it had acknowledged \(acknowledged) transactions")
        try report(path, acknowledged)
    }

    private static func report(_ path: String, _ acknowledged: Int) throws {
        let (database, opening) = try Stage.timed { try Bank.open(path) }
        Stage.note("opened", "in \(opening), what the log held brought in")
        let findings = try database.store.verify().findings
        Stage.note("verify", findings.isEmpty ? "every page is whole" : "\(findings)")
        print()

        let numbers = try database.query(Movement.self).orderBy(\.number).fetch().map(\.number)
        let accounts = try database.query(Account.self).orderBy(\.owner).fetch()
        let balances = accounts.map(\.balance)
        let moved = try database.query(Movement.self).sum(\.amount)
        let expected = [Bank.total / 2 - moved, Bank.total / 2 + moved]
        let unacknowledged = numbers.count - acknowledged
        Stage.table(
            ["", "promised", "found"],
            [
                ["acknowledged transactions", String(acknowledged), String(min(acknowledged, numbers.count))],
                ["one on its way when the process died", "0 or 1", String(unacknowledged)],
                ["movements without a gap", "1…\(numbers.count)", "1…\(numbers.last ?? 0)"],
                ["Ada's balance, from the movements", String(expected[0]), String(balances.first ?? 0)],
                ["Bob's balance, from the movements", String(expected[1]), String(balances.last ?? 0)],
                ["money in all", String(Bank.total), String(balances.reduce(0, +))],
            ])
        try database.close()
        guard findings.isEmpty, (0...1).contains(unacknowledged), numbers == Array(1...max(1, numbers.count)),
            balances == expected
        else { throw DemoError("the file does not hold what was promised") }
        Stage.say("Nothing acknowledged was lost, and nothing is half done.")
    }
}

/// Runs this program again, as a process of its own.
private struct Child {
    private let process = Process()
    private let pipe = Pipe()

    var identifier: Int32 { process.processIdentifier }

    init(_ path: String) throws {
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [Bank.childOption, path]
        process.standardOutput = pipe
        try process.run()
    }

    /// Reads the numbers that the child acknowledges, kills it, reads on to the end, and returns the last number.
    func killAfter(movements wanted: Int, atMost limit: Duration) throws -> Int {
        let start = ContinuousClock.now
        var text = ""
        var lines = 0
        var isKilled = false
        while true {
            let piece = pipe.fileHandleForReading.availableData
            if piece.isEmpty { break }
            text += String(decoding: piece, as: UTF8.self)
            lines += piece.count { $0 == UInt8(ascii: "\n") }
            if !isKilled, lines >= wanted || ContinuousClock.now - start > limit {
                // The child continues meanwhile, so that the kill hits any point of a commit.
                usleep(.random(in: 0...3000))
                kill(process.processIdentifier, SIGKILL)
                isKilled = true
            }
        }
        process.waitUntilExit()
        guard isKilled, process.terminationReason == .uncaughtSignal else {
            throw DemoError("the second process ended by itself, with status \(process.terminationStatus)")
        }
        // A last line without a line break is incomplete and does not count.
        let whole = text.lastIndex(of: "\n").map { text[..<$0] } ?? ""
        return whole.split(separator: "\n").last.flatMap { Int($0) } ?? 0
    }
}
