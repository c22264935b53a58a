import Mako
import TestHelpers
import Testing

/// The scenarios of SharkORM's transaction tests that no other test shows by their names.
@Suite struct SharkORMTransactionTests {
    private func names(_ db: Database) throws -> [String?] {
        try db.query(Person.self).orderBy(\.name).fetch().map(\.name)
    }

    @Test func twoRollbacksInARowRestoreTheLatestBase() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 100)
        try db.save(ada)
        try db.transaction { _ in
            ada.age = 101
            try db.save(ada)
        }
        for age in [102, 103] {
            #expect(throws: Refused()) {
                try db.transaction { _ in
                    ada.age = age
                    try db.save(ada)
                    throw Refused()
                }
            }
            #expect(ada.age == 101 && !ada.isDirty)
            #expect(try db.find(Person.self, 1)?.age == 101)
        }
        ada.age += 1
        try db.save(ada)
        #expect(try db.find(Person.self, 1)?.age == 102)
    }

    @Test func theFirstPassesAndTheSecondFails() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        try db.transaction { _ in try db.save(ada) }
        let bob = Person(name: "Bob")
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                ada.name = "Eve"
                try db.save([ada, bob])
                try tx.rollback()
            }
        }
        #expect(ada.name == "Ada" && bob.id == nil)
        #expect(try names(db) == ["Ada"])
    }

    @Test func aChangedRelationGoesBackToTheSameInstance() throws {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        let ada = Person(name: "Ada", department: engines)
        try db.save(ada)
        let turbines = Department(name: "Turbines")
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.department = turbines
                try db.save(ada)
                #expect(turbines.id == 2)
                throw Refused()
            }
        }
        #expect(ada.department === engines)
        #expect(turbines.id == nil)
        #expect(try db.query(Department.self).fetch().map(\.name) == ["Engines"])
        #expect(try db.find(Person.self, 1)?.department?.name == "Engines")
    }

    @Test func objectsInsideGoBackWithTheirOwner() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", department: Department(name: "Engines", location: Location(name: "London")))
        try db.save(ada)
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.department?.location?.name = "Paris"
                ada.department?.name = "Turbines"
                ada.name = "Eve"
                try db.save(ada)
                throw Refused()
            }
        }
        #expect(ada.name == "Ada" && ada.department?.name == "Engines" && ada.department?.location?.name == "London")
        #expect(try db.find(Location.self, 1)?.name == "London")
    }

    @Test func aBadQueryRestoresFileAndMemory() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let bob = Person(name: "Bob")
        #expect(throws: MakoError.self) {
            try db.transaction { _ in
                ada.age = 40
                try db.save([ada, bob])
                _ = try db.query(Person.self).where(text: "nonsense = 1").fetch()
            }
        }
        #expect(ada.age == 36 && bob.id == nil)
        #expect(try names(db) == ["Ada"])
        #expect(throws: MakoError.self) {
            try db.transaction { _ in
                try db.save(bob)
                try db.rawQuery("SELEKT 1")
            }
        }
        #expect(bob.id == nil)
        #expect(try names(db) == ["Ada"])
    }

    @Test func assignmentsThatWereNotCommittedGoBackToo() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        #expect(throws: Refused()) {
            try db.transaction { _ in
                ada.age = 40
                throw Refused()
            }
        }
        #expect(ada.age == 36)
    }
}

/// The visibility of a transaction in progress, and concurrent transactions.
@Suite struct SharkORMTransactionConcurrencyTests {
    /// The counts of another thread during a transaction, and after it.
    private func counts(_ db: Database, during body: @escaping @Sendable () throws -> Void) throws -> Set<Int> {
        let seen = Collected<Int>()
        let isDone = Collected<Bool>()
        let writer = ThreadRun {
            do { try db.transaction { _ in try body() } } catch { Issue.record(error) }
            isDone.append(true)
        }
        while isDone.all.isEmpty { seen.append(try db.query(Person.self).count()) }
        writer.wait()
        seen.append(try db.query(Person.self).count())
        return Set(seen.all)
    }

    private func insert(_ count: Int, _ db: Database) throws {
        for number in 0..<count { try db.save(Person(name: "\(number)")) }
    }

    @Test func othersSeeNoneOrAllOfAThousand() throws {
        let db = try makeDatabase()
        let seen = try counts(db) { try insert(1000, db) }
        #expect(seen.isSubset(of: [0, 1000]) && seen.contains(1000))
    }

    @Test func whatIsInsertedAndRemovedIsNeverSeen() throws {
        let db = try makeDatabase()
        let seen = try counts(db) {
            try insert(500, db)
            try db.query(Person.self).fetch().removeAll()
        }
        #expect(seen == [0])
    }

    @Test func aRemovalIsSeenWhole() throws {
        let db = try makeDatabase()
        try db.save((0..<1000).map { Person(name: "\($0)") })
        let seen = try counts(db) { try db.query(Person.self).fetch().removeAll() }
        #expect(seen.isSubset(of: [1000, 0]) && seen.contains(0))
    }

    @Test func aRemovalThatIsRolledBackIsNeverSeen() throws {
        let db = try makeDatabase()
        try db.save((0..<1000).map { Person(name: "\($0)") })
        let seen = try counts(db) {
            do {
                try db.transaction { _ in
                    try db.query(Person.self).fetch().removeAll()
                    throw Refused()
                }
            } catch is Refused {}
        }
        #expect(seen == [1000])
    }

    @Test func twoAtATimeMakeTwoThousand() throws {
        let db = try makeDatabase()
        let runs = (0..<2).map { worker in
            ThreadRun {
                do {
                    try db.transaction { _ in
                        for number in 0..<1000 { try db.save(Person(name: "\(worker) \(number)")) }
                    }
                } catch { Issue.record(error) }
            }
        }
        for run in runs { run.wait() }
        #expect(try db.query(Person.self).count() == 2000)
        #expect(try db.query(Person.self).distinct(\.name).count == 2000)
    }
}
