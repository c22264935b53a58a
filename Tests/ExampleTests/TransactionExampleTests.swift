import Foundation
import Mako
import Observation
import TestHelpers
import Testing

/// The examples of the article `Transactions.md`.
enum TransactionExample {
    // EXAMPLE Transactions.md
    @Entity final class Till {
        var name = ""
        var balance = 0
    }

    @Entity final class Slip {
        @Attribute(.unique) var number = 0
        var amount = 0
        var till: Till?
    }
    // EXAMPLE ends

    static func moved(_ db: Database, _ first: Till, _ second: Till) throws {
        // EXAMPLE Transactions.md
        try db.transaction { _ in
            first.balance -= 50
            second.balance += 50
            try db.save([first, second])
            try Slip(number: 1, amount: 50, till: second).commit()  // joins the running transaction
        }
        // EXAMPLE ends
    }

    static func refused(_ db: Database, _ till: Till) throws -> [String] {
        var causes: [String] = []
        func print(_ text: String) { causes.append(text) }
        // EXAMPLE Transactions.md
        do {
            try db.transaction(onRollback: { print("rolled back: \($0)") }) { tx in
                till.balance -= 50
                try till.commit()
                if till.balance < 0 { try tx.rollback() }
            }
        } catch MakoError.rolledBack {
            print("balance is \(till.balance) again")
        }
        // EXAMPLE ends
        return causes
    }

    static func nested(_ db: Database, _ till: Till) throws {
        // EXAMPLE Transactions.md
        try db.transaction { _ in
            till.balance += 10
            try till.commit()
            do {
                try db.transaction { _ in
                    till.balance += 1000
                    try till.commit()
                    try Slip(number: 1).commit()  // there is a slip with this number
                }
            } catch MakoError.duplicate {
                // The inner transaction is undone, the outer one goes on: the balance is 10 more, not 1010.
            }
        }
        // EXAMPLE ends
    }

    static func exchanged(_ db: Database, _ first: Slip, _ second: Slip) throws {
        // EXAMPLE Transactions.md
        (first.number, second.number) = (second.number, first.number)
        try db.save([first, second])  // first.commit() alone would meet the number of the second
        // EXAMPLE ends
    }

    static func read(_ db: Database) throws -> (Int, Int) {
        // EXAMPLE Transactions.md
        let (count, total) = try db.read {
            (try Till.query().count(), try Till.query().sum(\.balance))
        }
        // EXAMPLE ends
        return (count, total)
    }

    static func soft(_ db: Database, _ tills: [Till]) async throws -> Int {
        // EXAMPLE Transactions.md
        try await db.transaction(durability: .async) { _ in
            for till in tills { till.balance = 0 }
            try db.save(tills)
        }
        let sum = try await db.transaction { _ in try Till.query().sum(\.balance) }
        // EXAMPLE ends
        return sum
    }

    static func worked(_ db: Database, _ old: Slip) throws -> Workspace {
        // EXAMPLE Transactions.md
        let work = Workspace(db)
        let slip = Slip(number: 7)
        work.add(slip)
        work.remove(old)
        slip.amount = 20
        try work.commit()  // both or neither
        // EXAMPLE ends
        return work
    }

    static func watched(_ db: Database, _ till: Till) throws -> [String] {
        let lines = Collected<String>()
        let print: @Sendable (String) -> Void = { lines.append($0) }
        // EXAMPLE Transactions.md
        let token = try Till.onChange(.update, in: db) { change in
            print("\(change.changedProperties) of \(change.object?.name ?? "")")
        }
        try db.transaction { _ in
            till.balance = 1
            try till.commit()
            till.balance = 2
            try till.commit()
            print("nothing was reported yet")
        }
        token.cancel()  // it would also end with its last reference
        // EXAMPLE ends
        return lines.all
    }

    static func compared(_ db: Database, _ till: Till) throws -> [String] {
        let lines = Collected<String>()
        let print: @Sendable (String) -> Void = { lines.append($0) }
        // EXAMPLE Transactions.md
        let token = try Till.onChange(.update, withValues: true, in: db) { change in
            if let before = change.oldValue(of: \.balance), let now = change.newValue(of: \.balance) {
                print("\(before) is \(now)")
            }
        }
        till.balance = 7
        try till.commit()
        token.cancel()
        // EXAMPLE ends
        return lines.all
    }

    static func listened(_ db: Database, _ till: Till) async throws -> [String] {
        let lines = Collected<String>()
        let print: @Sendable (ChangeKind) -> Void = { lines.append("\($0)") }
        // EXAMPLE Transactions.md
        let changes = try Till.changes(.insert, .delete, in: db)
        let listener = Task {
            for await change in changes { print(change.kind) }
        }
        try await db.delete(till)
        try await db.close()  // the sequence ends
        await listener.value
        // EXAMPLE ends
        return lines.all
    }

    // EXAMPLE Transactions.md
    @Entity(observable: true) final class Gauge {
        var name = ""
        var level = 0
    }
    // EXAMPLE ends

    static func observed(_ gauge: Gauge, _ show: (String) -> Void, _ renew: @escaping @Sendable () -> Void) {
        // EXAMPLE Transactions.md
        withObservationTracking {
            show("\(gauge.name): \(gauge.level)")
        } onChange: {
            renew()
        }
        gauge.level = 12
        // EXAMPLE ends
    }
}

@Suite struct TransactionExampleTests {
    @Test func anObservedObjectNotifies() {
        let notified = Collected<String>()
        E.observed(E.Gauge(name: "North"), { notified.append($0) }, { notified.append("renew") })
        #expect(notified.all == ["North: 0", "renew"])
    }

    private typealias E = TransactionExample
    private let db: Database
    private let first = E.Till(name: "first", balance: 60)
    private let second = E.Till(name: "second")

    init() throws {
        db = try Database.inMemory(entities: [E.Till.self, E.Slip.self])
        try db.save([first, second])
    }

    @Test func commitsJoin() throws {
        try E.moved(db, first, second)
        #expect(try db.query(E.Till.self).fetch().map(\.balance) == [10, 50])
        #expect(try db.query(E.Slip.self).first()?.till?.name == "second")
        #expect(db.metrics.commits == 3)  // the tables, the tills, the move
    }

    @Test func aSaveInsideAReadCommitsAndIsNotSeenThere() throws {
        let reason = CancellationError()
        #expect(throws: CancellationError.self) {
            try db.read {
                #expect(try db.query(E.Till.self).count() == 2)
                try db.save(E.Till(name: "third"))
                #expect(try db.query(E.Till.self).count() == 2)
                #expect(try db.transaction { try db.query(E.Till.self).count() } == 3)
                throw reason
            }
        }
        #expect(try db.query(E.Till.self).count() == 3)
    }

    @Test func fileAndObjectsAreAsBefore() throws {
        #expect(try E.refused(db, second).count == 2)
        #expect(second.balance == 0 && !second.isDirty)
        #expect(
            try E.refused(db, second) == [
                "rolled back: \(MakoError.rolledBack)", "balance is 0 again",
            ])
        #expect(try db.find(E.Till.self, 2)?.balance == 0)
    }

    @Test func innerTransactionsAreSavepoints() throws {
        try db.save(E.Slip(number: 1))
        try E.nested(db, first)
        #expect(first.balance == 70)
        #expect(try db.find(E.Till.self, 1)?.balance == 70)
    }

    @Test func oneCallExchangesUniqueValues() throws {
        let slips = [E.Slip(number: 1), E.Slip(number: 2)]
        try db.save(slips)
        try E.exchanged(db, slips[0], slips[1])
        #expect(try db.query(E.Slip.self).orderBy(\.id).fetch().map(\.number) == [2, 1])
        slips[0].number = 1
        #expect(throws: MakoError.self) { try slips[0].commit() }
    }

    @Test func readsAndWork() throws {
        let (count, total) = try E.read(db)
        #expect(count == 2 && total == 60)
        let old = E.Slip(number: 6)
        try db.save(old)
        #expect(try E.worked(db, old).isEmpty)
        #expect(try db.query(E.Slip.self).fetch().map(\.amount) == [20])
    }

    @Test func insertedAndDeletedRowsAreNotNotified() throws {
        let notified = Collected<ChangeKind>()
        let token = try E.Till.onChange(in: db) { notified.append($0.kind) }
        try db.transaction { _ in
            let third = E.Till(name: "third")
            try db.save(third)
            try third.remove()
            first.balance = 5
            try first.commit()
            try first.remove()
        }
        #expect(notified.all == [.delete])
        token.cancel()
    }

    @Test func eventsComeAfterTheEnd() async throws {
        #expect(try E.watched(db, first) == ["nothing was reported yet", "[\"balance\"] of first"])
        #expect(try E.compared(db, first) == ["2 is 7"])
        #expect(try await E.soft(db, [first, second]) == 0)
        #expect(try await E.listened(db, first) == ["delete"])
    }
}
