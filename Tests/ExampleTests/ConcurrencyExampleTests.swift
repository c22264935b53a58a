import Foundation
import Mako
import Testing

/// The examples of the article `Concurrency.md`.
enum ConcurrencyExample {
    // EXAMPLE Concurrency.md
    @Entity final class Account {
        @Attribute(.unique) var owner = ""
        var balance = 0
    }
    // EXAMPLE ends

    static func snapshot(_ db: Database) throws -> (Int, Int) {
        // EXAMPLE Concurrency.md
        let (count, total) = try db.read {
            (try db.query(Account.self).count(), try db.query(Account.self).sum(\.balance))
        }
        // EXAMPLE ends
        return (count, total)
    }

    static func deposit(_ db: Database) throws {
        // EXAMPLE Concurrency.md
        try db.transaction { _ in
            guard let account = try db.query(Account.self).where(\.owner == "Ada").one() else { return }
            account.balance += 10  // of the newest state: no other writer is between
            try db.save(account)
        }
        // EXAMPLE ends
    }

    static func update(_ db: Database) throws {
        // EXAMPLE Concurrency.md
        try db.update(Account.self).where(\.owner == "Ada").set(\.balance, to: \.balance + 10).run()
        // EXAMPLE ends
    }

    static func tasks(_ db: Database) async throws {
        // EXAMPLE Concurrency.md
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await db.transaction { _ in
                        guard let account = try db.query(Account.self).where(\.owner == "Ada").one() else { return }
                        account.balance += 1
                        try db.save(account)
                    }
                }
            }
            try await group.waitForAll()
        }
        // EXAMPLE ends
    }

    static func options() throws -> Database {
        // EXAMPLE Concurrency.md
        var options = DatabaseOptions()
        options.writerTimeout = .seconds(5)
        let db = try Database.inMemory(entities: [Account.self], options: options)
        // EXAMPLE ends
        return db
    }

    static func fetched(_ db: Database) async throws -> Int? {
        // EXAMPLE Concurrency.md
        let accounts = try await db.query(Account.self).where(\.balance > 0).orderBy(\.owner).fetch()
        let total = try await db.read { try db.query(Account.self).sum(\.balance) }
        // EXAMPLE ends
        return accounts.isEmpty ? nil : total
    }
}

@Suite struct ConcurrencyExampleTests {
    @Test func twentyTasksLoseNoUpdate() async throws {
        let db = try ConcurrencyExample.options()
        try await db.save(ConcurrencyExample.Account(owner: "Ada", balance: 5))
        #expect(try ConcurrencyExample.snapshot(db) == (1, 5))
        try ConcurrencyExample.deposit(db)
        try ConcurrencyExample.update(db)
        try await ConcurrencyExample.tasks(db)
        #expect(try await ConcurrencyExample.fetched(db) == 45)
    }
}
