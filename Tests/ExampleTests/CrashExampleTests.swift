import Testing

// EXAMPLE
import Mako
import MakoStorage
import MakoTestSupport

@Entity final class Purse {
    var owner = ""
    var balance = 0
}

/// Money goes from one purse to another, ten times. No crash may create or destroy any.
struct Transfers: CrashWorkload {
    func open(_ disk: SimulatedDisk) throws -> Database {
        var options = DatabaseOptions(cacheBytes: 1 << 20)
        options.storage.fileSystem = disk
        options.storage.background = .manual
        options.storage.entropy = SeededEntropy(seed: 1)
        options.storage.logSegmentBytes = 2 << 20
        return try Database(at: "d/bank.mako", entities: [Purse.self], options: options)
    }

    func balances(_ db: Database) throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try db.query(Purse.self).fetch().map { ($0.owner, $0.balance) })
    }

    func run(on disk: SimulatedDisk) throws -> CrashHistory<[String: Int]> {
        let db = try open(disk)
        let history = CrashHistory([String: Int](), on: disk)
        let purses = [Purse(owner: "Ada", balance: 100), Purse(owner: "Charles", balance: 0)]
        history.begin(["Ada": 100, "Charles": 0])
        try db.save(purses)
        history.acknowledge()
        for number in 1...10 {
            history.begin(["Ada": 100 - number, "Charles": number])
            try db.transaction { _ in
                purses[0].balance -= 1
                purses[1].balance += 1
                try db.save(purses)
            }
            history.acknowledge()
        }
        try db.close()
        return history
    }

    func recover(on disk: SimulatedDisk, served: () -> Void) throws -> [String: Int] {
        let db = try open(disk)
        let found = try balances(db)
        served()
        try db.close()
        return found
    }
}

@Suite struct TransferTests {
    @Test func noCrashCreatesOrDestroysMoney() throws {
        let report = try CrashRunner.run(Transfers(), effort: .standard)
        #expect(report.failures.isEmpty, "\(report)")
    }
}
// EXAMPLE ends

extension TransferTests {
    /// The same with the mistake that the example is there to find.
    @Test func twoTransactionsInsteadOfOneAreFound() throws {
        struct Careless: CrashWorkload {
            func run(on disk: SimulatedDisk) throws -> CrashHistory<[String: Int]> {
                let db = try Transfers().open(disk)
                let history = CrashHistory([String: Int](), on: disk)
                let purses = [Purse(owner: "Ada", balance: 100), Purse(owner: "Charles", balance: 0)]
                history.begin(["Ada": 100, "Charles": 0])
                for purse in purses { try db.save(purse) }
                history.acknowledge()
                try db.close()
                return history
            }

            func recover(on disk: SimulatedDisk, served: () -> Void) throws -> [String: Int] {
                try Transfers().recover(on: disk, served: served)
            }
        }
        #expect(try !CrashRunner.run(Careless(), effort: .standard).failures.isEmpty)
    }
}
