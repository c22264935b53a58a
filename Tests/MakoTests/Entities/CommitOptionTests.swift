import Foundation
import Mako
import TestHelpers
import Testing

@Suite struct CommitOptionTests {
    private let db: Database
    private let notified = Collected<String>()

    init() throws { db = try makeDatabase() }

    @Test func blocksAreCalledWhenTheTransactionIsComplete() throws {
        let ada = Person(name: "Ada")
        ada.commitOptions.postCommit = { [notified] in notified.append("committed") }
        ada.commitOptions.postRemove = { [notified] in notified.append("removed") }
        try db.save(ada)
        #expect(notified.all == ["committed"])
        try db.save(ada)
        #expect(notified.all == ["committed"])
        try db.transaction { _ in
            ada.age = 40
            try ada.commit()
            #expect(notified.all.count == 1)
        }
        #expect(notified.all == ["committed", "committed"])
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                try ada.remove()
                try transaction.rollback()
            }
        }
        #expect(notified.all.count == 2)
        try db.delete(ada)
        #expect(notified.all == ["committed", "committed", "removed"])
    }

    @Test func optionsAreResetAfterACommitThatSucceeded() throws {
        let ada = Person(name: "Ada", payrollNumber: 1)
        try db.save(Person(name: "Bob", payrollNumber: 1))
        ada.commitOptions.resetsAfterCommit = true
        ada.commitOptions.postCommit = { [notified] in notified.append("committed") }
        #expect(throws: MakoError.self) { try db.save(ada) }
        #expect(ada.commitOptions.resetsAfterCommit)
        ada.payrollNumber = 2
        try db.save(ada)
        ada.age = 1
        try db.save(ada)
        #expect(notified.all == ["committed"])
        #expect(ada.commitOptions.resetsAfterCommit == false)
    }

    @Test func childrenMayBeLeftOut() throws {
        let engines = Department(name: "Engines")
        let ada = Person(name: "Ada", department: engines)
        ada.commitOptions.commitsChildren = false
        #expect(try db.save(ada))
        #expect(engines.id == nil && ada.department === engines)
        #expect(try db.query(Person.self).where("department IS NULL").count() == 1)
        // The reference waits for its row.
        #expect(ada.isDirty)
        try db.save(engines)
        try db.save(ada)
        #expect(try db.find(Person.self, 1)?.department?.name == "Engines" && !ada.isDirty)
        engines.name = "Turbines"
        ada.age = 50
        try db.save(ada)
        #expect(try db.find(Department.self, 1)?.name == "Engines")
        ada.commitOptions = CommitOptions()
        ada.age = 51
        try db.save(ada)
        #expect(try db.find(Department.self, 1)?.name == "Turbines")
    }

    @Test func aRemovedChildIsNotReferredToAgain() throws {
        try db.save(Person(name: "Ada", department: Department(name: "Engines")))
        let ada = try #require(try db.find(Person.self, 1))
        try #require(try ada.load(\.department)).remove()
        ada.commitOptions.commitsChildren = false
        for age in [50, 51] {
            ada.age = age
            try db.save(ada)
            #expect(try db.query(Person.self).where("department IS NULL").count() == 1)
        }
        // Nor one that a rollback took back.
        let bob = Person(name: "Bob", department: Department(name: "Looms"))
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                try bob.commit()
                try transaction.rollback()
            }
        }
        bob.commitOptions.commitsChildren = false
        try db.save(bob)
        #expect(try db.query(Person.self).where("name = 'Bob' AND department IS NULL").count() == 1)
    }

    @Test func singleObjectsMayBeLeftOut() throws {
        let engines = Department(name: "Engines", location: Location(name: "London"))
        let bob = Person(name: "Bob", department: engines)
        bob.commitOptions.ignoredEntities = [engines]
        try db.save(bob)
        #expect(engines.id == nil)
        let eve = Person(name: "Eve", department: engines)
        try db.save(eve)
        #expect(engines.id == 1)
    }

    @Test func anIgnoredObjectOfAnotherDatabaseIsStillRefused() throws {
        let other = try makeDatabase()
        let foreign = Department(name: "Engines")
        try other.save(foreign)
        let ada = Person(name: "Ada", department: foreign)
        ada.commitOptions.commitsChildren = false
        #expect(throws: MakoError.foreignObject(entity: "Department")) { try db.save(ada) }
    }

    @Test func errorsMayBeAnswers() throws {
        try db.save(Person(name: "Ada", payrollNumber: 1))
        let bob = Person(name: "Bob", payrollNumber: 1)
        bob.commitOptions.reportsErrors = false
        #expect(try db.save(bob) == false)
        try db.transaction { _ in
            try Person(name: "Eve").commit()
            #expect(try bob.commit() == false)
        }
        #expect(try db.query(Person.self).orderBy(\.name).fetch().map(\.name) == ["Ada", "Eve"])
        bob.commitOptions.reportsErrors = true
        #expect(throws: MakoError.self) { try db.save(bob) }
    }

    @Test func anObjectMayBeSilent() throws {
        let token = try Person.onChange(in: db) { [notified] in notified.append("\($0.kind) \($0.object?.name ?? "")") }
        let ada = Person(name: "Ada")
        ada.commitOptions.raisesEvents = false
        try db.save(ada)
        let bob = Person(name: "Bob")
        try db.save(bob)
        #expect(notified.all == ["insert Bob"])
        ada.age = 1
        bob.age = 1
        try db.save([ada, bob])
        #expect(notified.all == ["insert Bob", "update Bob"])
        // The last option in a transaction counts.
        try db.transaction { _ in
            ada.age = 2
            try ada.commit()
            ada.commitOptions.raisesEvents = true
            ada.age = 3
            try ada.commit()
        }
        #expect(notified.all == ["insert Bob", "update Bob", "update Ada"])
        // A silence that was rolled back is none.
        try db.transaction { _ in
            bob.age = 9
            try bob.commit()
            #expect(throws: MakoError.rolledBack) {
                try db.transaction { inner in
                    bob.commitOptions.raisesEvents = false
                    bob.age = 10
                    try bob.commit()
                    try inner.rollback()
                }
            }
        }
        #expect(notified.all.last == "update Bob" && notified.all.count == 4)
        ada.commitOptions.raisesEvents = false
        try db.delete(ada)
        #expect(notified.all.count == 4)
        token.cancel()
    }

    @Test func aTypeMayBeSilent() throws {
        let db = try makeDatabase([Heartbeat.self])
        let everything = db.onInsert { [notified] in notified.append($0.entity) }
        let token = try Heartbeat.onChange(in: db) { [notified] _ in notified.append("beat") }
        try db.save(Heartbeat(number: 1))
        #expect(notified.all.isEmpty)
        #expect(try db.query(Heartbeat.self).count() == 1)
        token.cancel()
        everything.cancel()
    }
}

@Entity("beats", raisesEvents: false) final class Heartbeat {
    var number = 0
}
