import Foundation
import Mako

@Entity final class Account {
    @Attribute(.unique) var owner: String = ""
    var balance: Int = 0
}

/// One transfer of money, numbered from 1.
@Entity final class Movement {
    @Attribute(.unique) var number: Int = 0
    var amount: Int = 0
    var from: Account?
    var to: Account?
}

/// The work of the process that is killed.
enum Bank {
    static let childOption = "--child-that-moves-money"
    static let total = 1_000_000

    static func open(_ path: String) throws -> Database {
        try Database(at: path, entities: [Account.self, Movement.self])
    }

    /// Moves money between the accounts, one transaction after the other, and prints each number once its commit has returned.
    static func moveMoneyForEver(_ path: String) throws {
        let database = try open(path)
        guard let ada = try database.query(Account.self).where(\.owner == "Ada").first(),
            let bob = try database.query(Account.self).where(\.owner == "Bob").first()
        else { throw DemoError("\(path) has no accounts") }
        for number in 1... {
            let amount = number * 37 % 1000 - 499
            try database.transaction { _ in
                ada.balance -= amount
                bob.balance += amount
                try database.save([ada, bob])
                try database.save(Movement(number: number, amount: amount, from: ada, to: bob))
            }
            // Printed only after the commit, so that the reader knows that the commit is on the disk.
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
        }
    }
}
