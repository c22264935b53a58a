import Foundation
import MakoStorage
import MakoTestSupport

/// Processes that write one file by turns, and are killed at random moments and started again. Each has a store that it
/// suspends in between (`turn`), or a database that locks its file for each transaction (`share`).
struct TurnTrial {
    private let trial: Trial
    private let verb: String
    private var path: String { trial.folder + "/turns.mako" }
    private static let processes = 3

    init(_ trial: Trial, _ verb: String) { (self.trial, self.verb) = (trial, verb) }

    func run() throws {
        var random = SplitMix(seed: trial.seed)
        /// The last number that each process has printed.
        var acknowledged = [UInt64](repeating: 0, count: TurnTrial.processes)
        var lives = try acknowledged.indices.map { try life($0, 0) }
        defer { for life in lives { life.kill() } }
        func end(_ index: Int) {
            lives[index].kill()
            acknowledged[index] = max(acknowledged[index], lives[index].numbers.max() ?? 0)
        }
        for number in 1...max(1, trial.cycles) {
            Thread.sleep(forTimeInterval: Double(random.below(60)) / 1000)
            for life in lives where !life.isAlive {
                throw Referee.Failure(description: "cycle \(number): a process ended by itself: \(life.complaint)")
            }
            let index = random.below(lives.count)
            end(index)
            lives[index] = try life(index, acknowledged[index])
        }
        for index in lives.indices { end(index) }
        let stored = try verb == "share" ? SharingProcess.numbers(path) : TurnProcess.numbers(path)
        for (index, number) in acknowledged.enumerated() where (stored[index] ?? 0) < number {
            throw Referee.Failure(
                description: "process \(index) had committed \(number); \(stored[index] ?? 0) is there")
        }
        print("\(trial.cycles) kills, \(acknowledged.reduce(0, +)) turns, none lost")
    }

    private func life(_ index: Int, _ acknowledged: UInt64) throws -> ReaderTrial.Life {
        try ReaderTrial.Life(trial.program, verb, path, ["\(index)", "\(acknowledged)"])
    }
}

/// A process that takes turns, in one of its lives.
struct TurnLife {
    let index: Int
    /// The number that the lives before have committed and printed. A later one would hide a loss.
    let committed: UInt64

    init(_ words: [String]) {
        index = words.count > 2 ? Int(words[2]) ?? 0 : 0
        committed = words.count > 3 ? UInt64(words[3]) ?? 0 : 0
    }

    func expect(_ stored: UInt64) throws {
        guard stored < committed else { return }
        throw Referee.Failure(description: "process \(index) had committed \(committed); it finds \(stored)")
    }
}

/// One of these processes: moves values between accounts, whose sum stays, and counts its turns.
struct TurnProcess {
    let path: String
    let life: TurnLife
    private var index: Int { life.index }

    init(path: String, life: TurnLife) { (self.path, self.life) = (path, life) }

    private static let accounts: UInt64 = 300
    private static let start: UInt64 = 1000

    func run() throws -> Never {
        let store = try open()
        try store.write { transaction in
            if transaction.view.tree(named: "turns") == nil {
                _ = try transaction.createTree(named: "turns", keys: .integer)
            }
            guard transaction.view.tree(named: "accounts") == nil else { return }
            let tree = try transaction.createTree(named: "accounts", keys: .integer)
            for account in 0..<TurnProcess.accounts {
                try transaction.put(Workload.word(TurnProcess.start), for: account, in: tree)
            }
        }
        var random = SplitMix(seed: UInt64.random(in: 0...UInt64.max))
        var last = try store.read { try TurnProcess.number(of: index, in: $0) }
        try life.expect(last)
        while true {
            for _ in 0..<1 + random.below(3) {
                try turn(store, &last, &random)
            }
            try store.suspend()
            // After the suspension, because an `async` commit is durable then at the latest.
            FileHandle.standardOutput.write(Data("\(last)\n".utf8))
            Thread.sleep(forTimeInterval: Double(random.below(3)) / 1000)
            try store.resume(timeout: .seconds(30))
            let stored = try store.read { view in
                try TurnProcess.audit(view)
                return try TurnProcess.number(of: index, in: view)
            }
            guard stored == last else {
                throw Referee.Failure(description: "process \(index) finds \(stored) instead of \(last)")
            }
        }
    }

    private func turn(_ store: Store, _ last: inout UInt64, _ random: inout SplitMix) throws {
        let number = last + 1
        let isLarge = random.below(40) == 0
        var moves: [(from: UInt64, to: UInt64, amount: UInt64)] = []
        for _ in 0..<(isLarge ? 3000 : 4) {
            let from = random.next() % TurnProcess.accounts
            moves.append((from, (from + 1 + random.next() % 9) % TurnProcess.accounts, UInt64(random.below(20))))
        }
        try store.write(durability: random.pick([.full, .ordered, .async])) { transaction in
            guard let tree = transaction.view.tree(named: "accounts"), let turns = transaction.view.tree(named: "turns")
            else { throw StorageError.invalidArgument("a tree is missing") }
            for move in moves {
                let available = Workload.number(try transaction.view.get(move.from, in: tree))
                let amount = min(available, move.amount)
                try transaction.put(Workload.word(available - amount), for: move.from, in: tree)
                let balance = Workload.number(try transaction.view.get(move.to, in: tree))
                try transaction.put(Workload.word(balance + amount), for: move.to, in: tree)
            }
            try transaction.put(Workload.word(number), for: UInt64(index), in: turns)
        }
        last = number
        if random.below(10) == 0 { try store.checkpoint() }
    }

    /// Opens the file when no other process has it.
    private func open() throws -> Store {
        while true {
            do throws(StorageError) { return try Store(at: path, options: Workload.options()) } catch {
                guard case .alreadyOpen = error else { throw error }
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
    }

    /// The numbers of all processes, after a check of the whole file.
    static func numbers(_ path: String) throws -> [Int: UInt64] {
        let store = try Store(at: path, options: Workload.options())
        let report = try store.verify()
        guard report.isClean else { throw Referee.Failure(description: "verify: \(report.findings)") }
        let numbers = try store.read { view in
            try audit(view)
            return try (0..<10).map { ($0, try number(of: $0, in: view)) }
        }
        try store.close()
        return Dictionary(uniqueKeysWithValues: numbers)
    }

    static func number(of index: Int, in view: Snapshot) throws -> UInt64 {
        guard let turns = view.tree(named: "turns") else { return 0 }
        return Workload.number(try view.get(UInt64(index), in: turns))
    }

    static func audit(_ view: Snapshot) throws {
        guard let tree = view.tree(named: "accounts") else { return }
        var sum: UInt64 = 0
        for account in 0..<accounts { sum += Workload.number(try view.get(account, in: tree)) }
        guard sum == accounts * start else { throw Referee.Failure(description: "the accounts have \(sum)") }
    }
}
