import Mako
import MakoStorage
import TestHelpers
import Testing

@Suite struct TransactionTests {
    @Test func throwingRollsBackFileAndObjects() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let bob = Person(name: "Bob")
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.age = 40
                ada.department = Department(name: "Engines")
                try ada.commit()
                try db.save(bob)
                ada.age = 41
                #expect(try db.query(Person.self).count() == 2)
                throw Refused()
            }
        }
        #expect(ada.age == 36)
        #expect(ada.department == nil)
        #expect(!ada.isDirty)
        #expect(bob.id == nil)
        #expect(bob.name == "Bob")
        #expect(bob.isDirty)
        #expect(try db.query(Person.self).count() == 1)
        #expect(try db.query(Department.self).count() == 0)
        #expect(try db.find(Person.self, 1)?.age == 36)
        try db.save(bob)
        #expect(try db.query(Person.self).count() == 2)
    }

    /// The struct keeps the id that it got, which must not become that of another row.
    @Test(arguments: RolledBackTable.allCases) func aStructOfARolledBackTableOverwritesNoRow(
        _ table: RolledBackTable
    ) throws {
        let db = try Database.inMemory(entities: [Person.self])
        var first = Reading(sensor: "first", value: 1)
        switch table {
        case .ofTransaction:
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.save(&first)
                    throw Refused()
                }
            }
            _ = try db.save(Reading(sensor: "second", value: 2))
        case .ofNestedTransaction:
            try db.transaction {
                #expect(throws: Refused()) {
                    try db.transaction {
                        try db.save(&first)
                        throw Refused()
                    }
                }
                _ = try db.save(Reading(sensor: "second", value: 2))
            }
        case .madeAgain:
            _ = try db.save(Reading(sensor: "second", value: 2))
            #expect(throws: Refused()) {
                try db.transaction {
                    try db.rawQuery("DELETE FROM Reading")
                    try db.drop(Reading.self)
                    for _ in 0..<3 { first = try db.save(Reading(sensor: "first", value: 1)) }
                    throw Refused()
                }
            }
            for _ in 0..<3 { _ = try db.save(Reading(sensor: "third", value: 3)) }
        }
        let others = try db.query(Reading.self).count()
        try db.save(&first)
        #expect(try db.query(Reading.self).where("sensor = 'first'").count() == 1)
        #expect(try db.query(Reading.self).count() == others + 1)
    }

    enum RolledBackTable: CaseIterable { case ofTransaction, ofNestedTransaction, madeAgain }

    @Test func rollbackOnRequest() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                try ada.commitIn(db)
                try tx.rollback()
            }
        }
        #expect(try db.query(Person.self).count() == 0)
        // Swallowing the error does not save the transaction.
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                try ada.commitIn(db)
                do { try tx.rollback() } catch {}
            }
        }
        #expect(try db.query(Person.self).count() == 0)
        #expect(ada.id == nil)
    }

    @Test func nestedTransactionsAreSavepoints() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 1)
        let bob = Person(name: "Bob", age: 1)
        try db.transaction { _ in
            try db.save(ada)
            ada.age = 2
            #expect(throws: Refused()) {
                try db.transaction { _ in
                    ada.age = 3
                    try db.save(ada)
                    try db.save(bob)
                    throw Refused()
                }
            }
            #expect(ada.age == 2)
            #expect(bob.id == nil)
            #expect(try db.query(Person.self).count() == 1)
            try db.transaction { _ in
                bob.age = 5
                try db.save(bob)
            }
            #expect(throws: MakoError.rolledBack) { try db.transaction { inner in try inner.rollback() } }
        }
        #expect(try db.query(Person.self).orderBy(\.name).fetch().map(\.age) == [1, 5])
        #expect(ada.age == 2)
        #expect(ada.isDirty)
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.transaction { _ in
                    bob.age = 6
                    try db.save(bob)
                }
                throw Refused()
            }
        }
        #expect(bob.age == 5)
        #expect(try db.find(Person.self, bob.id ?? 0)?.age == 5)
    }

    @Test func aTypeFirstUsedInARollbackIsBoundAgain() throws {
        let db = try makeDatabase()
        try db.transaction { _ in
            #expect(throws: Refused()) {
                try db.transaction { _ in
                    try db.save(Label(text: "gone"))
                    throw Refused()
                }
            }
            try db.save(Label(text: "kept"))
            #expect(try db.query(Label.self).count() == 1)
        }
        #expect(try db.find(Label.self, "kept") != nil)
        #expect(try db.find(Label.self, "gone") == nil)
    }

    @Test func removalIsRolledBackInMemory() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        try db.save(ada)
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.delete(ada)
                #expect(try !db.exists(ada))
                throw Refused()
            }
        }
        #expect(try db.exists(ada))
        ada.age = 4
        #expect(try db.save(ada))
        #expect(try db.find(Person.self, 1)?.age == 4)
    }

    @Test func aFailedSaveInsideLeavesTheRestOfTheTransaction() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", payrollNumber: 1))
        let bob = Person(name: "Bob", payrollNumber: 2)
        let twin = Person(name: "Twin", payrollNumber: 1)
        try db.transaction { _ in
            #expect(throws: MakoError.self) { try db.save([bob, twin]) }
            #expect(bob.id == nil)
            try db.save(Person(name: "Cleo"))
        }
        #expect(try db.query(Person.self).orderBy(\.name).fetch().map(\.name) == ["Ada", "Cleo"])
    }

    @Test func valueOfTheClosureComesOut() throws {
        let db = try makeDatabase()
        let count = try db.transaction { tx in
            try db.save(Person(name: "Ada"))
            return try tx.query(Person.self).count()
        }
        #expect(count == 1)
    }

    @Test func readsSeeOneSnapshot() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada"))
        try db.read {
            let before = try Person.query().count()
            #expect(before == 1)
            let other = Collected<Int>()
            let thread = ThreadRun {
                if (try? db.save(Person(name: "Bob"))) != nil {
                    other.append((try? db.query(Person.self).count()) ?? 0)
                }
            }
            thread.wait()
            #expect(other.all == [2])
            #expect(try Person.query().count() == 1)
        }
        #expect(try db.query(Person.self).count() == 2)
    }

    @Test func aTransactionOfAnotherThreadIsNotJoined() async throws {
        let db = try makeDatabase()
        try await db.transaction { _ in
            try db.save(Person(name: "Ada"))
            let seen = Collected<Int>()
            ThreadRun { seen.append((try? db.query(Person.self).count()) ?? -1) }.wait()
            #expect(seen.all == [0])
        }
        #expect(try await db.query(Person.self).count() == 1)
    }

    @Test func whatAnotherThreadWroteSinceSurvivesARollback() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 1)
        try db.save(ada)
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.age = 2
                ada.name = "Countess"
                ThreadRun { ada.age = 3 }.wait()
                throw Refused()
            }
        }
        #expect(ada.age == 3)
        #expect(ada.name == "Ada")
        // Also when the transaction wrote the property again.
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.age = 4
                ThreadRun { ada.age = 5 }.wait()
                ada.age = 6
                ada.age = 7
                throw Refused()
            }
        }
        #expect(ada.age == 5 && ada.isDirty)
        try db.save(ada)
        #expect(try db.find(Person.self, 1)?.age == 5)
    }

    @Test func defaultDatabases() throws {
        let db = try makeDatabase()
        #expect(throws: MakoError.noDatabase(entity: "Owner")) { try Owner(name: "nobody").commit() }
        Database.default = db
        defer { Database.default = nil }
        try Owner(name: "Ada").commit()
        #expect(try Owner.query().count() == 1)
        let other = try makeDatabase()
        #expect(try Database.withDefault(other) { try Owner.query().count() } == 0)
        #expect(try Owner.query().first()?.name == "Ada")
        try theDefaultIsOpenedWhenItIsNeeded()
    }

    /// Once, at the first use, and again after an error. Here, because other tests must not have a default meanwhile.
    private func theDefaultIsOpenedWhenItIsNeeded() throws {
        let attempts = Guarded(0)
        Database.default = nil
        Database.setDefault(opening: { () throws(MakoError) in
            let attempt = attempts.withLock { count in
                count += 1
                return count
            }
            if attempt == 1 { throw .invalidArgument("not yet") }
            let db = try Database.inMemory(entities: [Owner.self])
            // While it is being opened there is none.
            do throws(MakoError) { _ = try Owner.query().count() } catch {
                guard case .noDatabase = error else { throw error }
                return db
            }
            throw .invalidArgument("a default database was there")
        })
        defer { Database.setDefault(opening: nil) }
        #expect(Database.default == nil && attempts.withLock { $0 } == 0)
        #expect(throws: MakoError.invalidArgument("not yet")) { try Owner.query().count() }
        for number in 1...4 { try Owner(name: "\(number)").commit() }
        #expect(attempts.withLock { $0 } == 2)
        #expect(try Owner.query().count() == 4)
        #expect(Database.default != nil)
    }
}

extension Person {
    func commitIn(_ db: Database) throws { try db.save(self) }
}
