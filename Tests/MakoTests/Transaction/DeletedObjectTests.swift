import Mako
import Testing

/// Saves of objects that were deleted before: each one throws and names the object (decision 71).
@Suite struct DeletedObjectTests {
    private let db: Database

    init() throws { db = try makeDatabase(people + graphClasses) }

    /// A deleted object with a change that no row has.
    private func deleted() throws -> (ada: Person, error: MakoError) {
        let ada = Person(name: "Ada")
        try db.save(ada)
        try db.delete(ada)
        ada.age = 40
        return (ada, .deleted(entity: "Person", key: "1"))
    }

    @Test func everySaveOfADeletedObjectNamesIt() throws {
        let (ada, error) = try deleted()
        #expect(throws: error) { try db.save(ada) }
        #expect(throws: error) { try ada.commit() }
        #expect(throws: error) { try db.insert(ada) }
        #expect(throws: error) { try db.transaction { tx in _ = try tx.save(ada) } }
        #expect(throws: error) {
            var same = ada
            try db.save(&same)
        }
        #expect(try db.query(Person.self).count() == 0)
        #expect(error.description.contains("this Person with key 1 was deleted"))
        // The remedy that the error names.
        #expect(error.description.contains("clone()"))
        try db.save(ada.clone())
        #expect(try db.query(Person.self).fetch().map(\.age) == [40])
    }

    /// The key is the one that the row had, also for an object that refers to no others.
    @Test func aKeyOfPropertiesIsNamed() throws {
        let label = Label(text: "red")
        try db.save(label)
        try db.delete(label)
        #expect(throws: MakoError.deleted(entity: "Label", key: "'red'")) { try db.save(label) }
        #expect(try db.query(Label.self).count() == 0)
    }

    @Test func nothingIsSavedTogetherWithADeletedObject() throws {
        let (ada, error) = try deleted()
        for count in [1, 40] {
            let others = (0..<count).map { Person(name: "p\($0)") }
            #expect(throws: error) { try db.save(others + [ada]) }
            #expect(others.allSatisfy { $0.id == nil && $0.isDirty })
        }
        let (work, bob) = (Workspace(db), Person(name: "Bob"))
        work.add(bob)
        work.add(ada)
        #expect(throws: error) { try work.commit() }
        #expect(work.contains(ada) && work.contains(bob) && bob.id == nil)
        #expect(try db.query(Person.self).count() == 0)
    }

    /// The call fails alone; a rollback makes the object one that can be saved.
    @Test func anObjectDeletedInTheSameTransactionIsNotSaved() throws {
        struct Stop: Error {}
        let ada = Person(name: "Ada")
        try db.save(ada)
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                try db.delete(ada)
                #expect(throws: MakoError.deleted(entity: "Person", key: "1")) { try db.save(ada) }
                throw Stop()
            }
        }
        ada.age = 41
        try db.save(ada)
        try db.transaction { _ in
            try db.delete(ada)
            #expect(throws: MakoError.deleted(entity: "Person", key: "1")) { try db.save(ada) }
            try db.save(Person(name: "Bob"))
        }
        #expect(try db.query(Person.self).fetch().map(\.name) == ["Bob"])
    }

    @Test func anObjectWithoutErrorsAnswersFalse() throws {
        let (ada, _) = try deleted()
        ada.commitOptions.reportsErrors = false
        #expect(try db.save(ada) == false)
    }

    /// An object that was given to an owner is saved with it, unless it was deleted since.
    @Test func anOwnerIsSavedWithoutItsDeletedMember() throws {
        let (engines, ada) = (Department(name: "Engines"), Person(name: "Ada"))
        try db.save(engines)
        try db.save(ada)
        ada.department = engines
        try db.delete(ada)
        engines.name = "Motors"
        #expect(try db.save(engines))
        #expect(try db.query(Department.self).first()?.name == "Motors")
        #expect(try db.query(Person.self).count() == 0)
    }
}
