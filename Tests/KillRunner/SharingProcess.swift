import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport

/// A process with a database that locks its file for each transaction. One thread moves values between accounts, whose
/// sum stays, and counts its transactions; another one reads.
struct SharingProcess {
    let path: String
    let life: TurnLife
    private var index: Int { life.index }

    init(path: String, life: TurnLife) { (self.path, self.life) = (path, life) }

    private static let accounts = 60
    private static let start = 1000

    private static func open(_ path: String) throws -> Database {
        var options = DatabaseOptions()
        options.fileLocking = .perTransaction
        options.storage.logSegmentBytes = Workload.options().logSegmentBytes
        return try Database(at: path, options: options)
    }

    func run() throws -> Never {
        let db = try SharingProcess.open(path)
        try db.transaction {
            if db.tables.contains(where: { $0.name == "account" }) { return }
            try db.rawQuery("CREATE TABLE account (number INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
            try db.rawQuery("CREATE TABLE turn (process INTEGER PRIMARY KEY, count INTEGER NOT NULL)")
            let insert = try db.prepare("INSERT INTO account VALUES (?, ?)")
            for number in 1...SharingProcess.accounts { try insert.run(number, SharingProcess.start) }
        }
        let index = index
        Thread.detachNewThread {
            do { while true { try SharingProcess.read(db) } } catch {
                FileHandle.standardError.write(Data("process \(index) reads: \(error)\n".utf8))
                exit(1)
            }
        }
        var random = SplitMix(seed: UInt64.random(in: 0...UInt64.max))
        var last = try SharingProcess.count(db, index)
        try life.expect(UInt64(last))
        while true {
            try turn(db, &last, &random)
            FileHandle.standardOutput.write(Data("\(last)\n".utf8))
            if random.below(4) == 0 { Thread.sleep(forTimeInterval: Double(random.below(4)) / 1000) }
        }
    }

    private func turn(_ db: Database, _ last: inout Int, _ random: inout SplitMix) throws {
        let moves = (0..<(random.below(30) == 0 ? 400 : 3)).map { _ in
            (random.below(SharingProcess.accounts) + 1, random.below(SharingProcess.accounts) + 1, random.below(20))
        }
        let isBad = random.below(10) == 0
        let durability = random.pick([Durability.full, .ordered, .async(maxDelay: .seconds(1))])
        let next = last + 1
        do {
            try db.transaction(durability: durability) { _ in
                let stored = try SharingProcess.count(db, index)
                guard stored == next - 1 else {
                    throw Referee.Failure(description: "process \(index) finds \(stored) instead of \(next - 1)")
                }
                for (from, to, amount) in moves {
                    try db.rawQuery("UPDATE account SET balance = balance - \(amount) WHERE number = \(from)")
                    try db.rawQuery("UPDATE account SET balance = balance + \(amount) WHERE number = \(to)")
                }
                try db.rawQuery("INSERT OR REPLACE INTO turn VALUES (\(index), \(next))")
                if isBad { throw MakoError.rolledBack }
            }
            last = next
        } catch MakoError.rolledBack {}
    }

    private static func count(_ db: Database, _ index: Int) throws -> Int {
        try db.rawQuery("SELECT count FROM turn WHERE process = \(index)", as: Int.self).first ?? 0
    }

    /// Reads in one piece and row after row.
    private static func read(_ db: Database) throws {
        let sum = try db.rawQuery("SELECT sum(balance) FROM account", as: Int.self).first
        var total = 0
        try db.rows("SELECT balance FROM account").forEach { row in
            if case .integer(let balance) = row[0] { total += Int(balance) }
        }
        guard sum == accounts * start, total == accounts * start else {
            throw Referee.Failure(description: "the accounts have \(String(describing: sum)) and \(total)")
        }
    }

    /// The numbers of all processes, after a check of the whole file.
    static func numbers(_ path: String) throws -> [Int: UInt64] {
        let db = try open(path)
        let report = try db.verify()
        guard report.isClean else { throw Referee.Failure(description: "verify: \(report.findings)") }
        try read(db)
        let numbers = try db.rawQuery("SELECT process, count FROM turn", as: (Int, Int).self)
        try db.close()
        return Dictionary(uniqueKeysWithValues: numbers.map { ($0.0, UInt64($0.1)) })
    }
}
