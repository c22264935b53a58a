import Foundation
import Mako
import MakoRecords
import MakoStorage
import MakoTestSupport
import TestHelpers
import Testing

/// Where the database of a test is stored while it is closed.
enum Medium: CaseIterable {
    case disk, memory

    /// Hands over how to open one and the same database with different types.
    func run(_ body: ((Types, DatabaseOptions) throws -> Database) throws -> Void) throws {
        switch self {
        case .disk:
            try withTemporaryFile { path in
                try body { types, options in try Database(at: path, entities: types, options: options) }
            }
        case .memory:
            let disk = SimulatedDisk()
            try body { types, options in
                var options = options
                options.storage.fileSystem = disk
                return try Database(at: "d/m.mako", entities: types, options: options)
            }
        }
    }

    typealias Types = [any Entity.Type]
}

/// Every index agrees with its rows.
func expectSound(_ db: Database, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let view = try db.store.snapshot()
    for table in try Catalogue.load(view: view).handles {
        #expect(try table.verify(in: view) == [], sourceLocation: sourceLocation)
    }
    #expect(try db.store.verify().isClean, sourceLocation: sourceLocation)
}

/// The message of a call that must fail.
func failure(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing failed"
    } catch { return "\(error)" }
}

@Suite struct ManualMigrationTests {
    private static let plain = DatabaseOptions()

    private func fill(_ db: Database) throws {
        try db.save([
            Before.Citizen(first: "Ada", last: "Lovelace", age: "36", secret: "analytical-engine", shoeSize: 37),
            Before.Citizen(first: "Charles", last: "Babbage", age: nil, secret: "difference-engine"),
            Before.Citizen(first: "Mary", last: "Somerville", age: "91", secret: "mechanism"),
        ])
    }

    @Test(arguments: Medium.allCases) func addRemoveRenameTransform(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([Before.Citizen.self], Self.plain)
            try fill(db)
            try db.close()

            db = try open([After.Citizen.self], Self.plain)
            let steps = db.migrations.map(\.description)
            #expect(steps.contains("rename first to name") && steps.contains("transform age"), "\(steps)")
            let people = try db.query(After.Citizen.self).orderBy("id").fetch()
            #expect(people.map(\.name) == ["Ada", "Charles", "Mary"])
            #expect(people.map(\.age) == [36, 36, 91])
            #expect(people.map(\.fullName) == ["Ada Lovelace", "Charles Babbage", "Mary Somerville"])
            #expect(people.map(\.isMember) == [true, true, true])
            #expect(people.map(\.shoeSize) == [37, nil, nil])
            #expect(try db.query(After.Citizen.self).where(\.name == "Mary").explain().contains("index"))
            #expect(try db.query(After.Citizen.self).where(\.name == "Mary").fetch().map(\.age) == [91])
            let new = After.Citizen(name: "Grace")
            try db.save(new)
            #expect(!new.isMember && new.id == 4)
            try expectSound(db)
            try db.close()

            // Once is enough.
            db = try open([After.Citizen.self], Self.plain)
            #expect(db.migrations.isEmpty)
            #expect(try db.query(After.Citizen.self).count() == 4)
            try db.close()
        }
    }

    @Test func removedValuesAreNotInTheFileAnyMore() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Before.Citizen.self])
            try fill(db)
            try db.close()
            db = try Database(at: path, entities: [After.Citizen.self])
            try db.close()
            try Database.compact(at: path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(bytes.range(of: Data("Mary Somerville".utf8)) != nil)
            #expect(bytes.range(of: Data("difference-engine".utf8)) == nil)
        }
    }

    @Test(arguments: Medium.allCases) func onlyStepsBehindTheStoredVersionAreDone(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([Before.Citizen.self], Self.plain)
            try fill(db)
            try db.close()
            db = try open([Midway.Citizen.self], Self.plain)
            #expect(try db.query(Midway.Citizen.self).where(\.name == "Ada").count() == 1)
            try db.close()
            db = try open([After.Citizen.self], Self.plain)
            let steps = db.migrations.map(\.description)
            #expect(!steps.contains("rename first to name") && steps.contains("transform age"), "\(steps)")
            #expect(try db.query(After.Citizen.self).where(\.name == "Mary").fetch().map(\.age) == [91])
            try expectSound(db)
            try db.close()
        }
    }

    @Test(arguments: Medium.allCases) func aNewTableIsAtTheLatestVersion(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([After.Citizen.self], Self.plain)
            try db.save(After.Citizen(name: "Ada", age: 20))
            try db.close()
            db = try open([After.Citizen.self], Self.plain)
            #expect(db.migrations.isEmpty)
            #expect(try db.query(After.Citizen.self).fetch().map(\.age) == [20])
            // A dropped table is created empty again.
            try db.drop(After.Citizen.self)
            try db.save(After.Citizen(name: "Bob"))
            #expect(try db.query(After.Citizen.self).fetch().map(\.isMember) == [false])
            try db.close()
        }
    }

    @Test func aFileThatIsAheadIsRefused() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [After.Citizen.self])
            try db.save(After.Citizen(name: "Ada", age: 20))
            try db.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let older = failure { _ = try Database(at: path, entities: [Wrong.Older.self]) }
            #expect(older.contains("version 3") && older.contains("1 at most"), "\(older)")
            let unaware = failure { _ = try Database(at: path, entities: [Wrong.Unaware.self]) }
            #expect(unaware.contains("version 3"), "\(unaware)")
            #expect(try Database.migrationPlan(at: path, entities: [Wrong.Older.self]).tables[0].refusal != nil)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            db = try Database(at: path, entities: [After.Citizen.self])
            #expect(try db.query(After.Citizen.self).fetch().map(\.age) == [20])
            try db.close()
        }
    }

    @Test(arguments: Medium.allCases)
    func whatCannotBeTransformedIsNamedAndNothingHasHappened(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([Before.Citizen.self, Before.House.self], Self.plain)
            try fill(db)
            try db.save(Before.Citizen(first: "Methuselah", age: "very old"))
            try db.save(Before.House(number: 1, street: "Main", city: "Oslo"))
            try db.close()
            let text = failure { _ = try open([After.House.self, After.Citizen.self], Self.plain) }
            #expect(text.contains("transform age fails at row 4") && text.contains("'very old' is no age"), "\(text)")
            db = try open([Before.Citizen.self, Before.House.self], Self.plain)
            #expect(db.migrations.isEmpty)
            #expect(db.tables.map(\.name) == ["Citizen", "House"])
            let last = try #require(try db.query(Before.Citizen.self).where(\.first == "Methuselah").first())
            #expect(last.age == "very old")
            last.age = "969"
            try db.save(last)
            try expectSound(db)
            try db.close()
            db = try open([After.Citizen.self], Self.plain)
            #expect(try db.query(After.Citizen.self).where(\.name == "Methuselah").first()?.age == 969)
            try db.close()
        }
    }

    /// A transaction that catches the error of a migration continues with the tables as they were.
    @Test func aMigrationThatFailsInsideATransactionIsRolledBack() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Before.Citizen.self])
            try fill(db)
            try db.save(Before.Citizen(first: "Methuselah", age: "very old"))
            try db.close()
            db = try Database(at: path, entities: people)
            try db.transaction { _ in
                #expect(throws: MakoError.self) { try db.query(After.Citizen.self).count() }
                try db.save(Department(name: "Engines"))
            }
            try expectSound(db)
            try db.close()
            db = try Database(at: path, entities: [Before.Citizen.self, Department.self])
            #expect(
                try db.query(Before.Citizen.self).orderBy("id").fetch().map(\.age) == ["36", nil, "91", "very old"])
            #expect(try db.query(Department.self).count() == 1)
            try db.close()
        }
    }

    @Test func stepsThatMakeNoSenseAreRefused() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [Before.Citizen.self, Before.Tag.self])
            try fill(db)
            try db.save([Before.Tag(code: "a"), Before.Tag(code: "b")])
            try db.close()
            func refusal(_ types: any Entity.Type...) -> String {
                failure { _ = try Database(at: path, entities: types) }
            }
            #expect(refusal(Wrong.Misspelt.self).contains("did you mean first?"))
            #expect(refusal(Wrong.Lazy.self).contains("leaves the version as it is"))
            #expect(refusal(Wrong.Backward.self).contains("goes back from version 0 to -1"))
            #expect(refusal(Wrong.Rekeyed.self).contains("same"))
        }
    }

    // MARK: Tables

    @Test(arguments: Medium.allCases) func renamedTablesKeepTheirRows(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([Before.Tag.self], Self.plain)
            try db.save([Before.Tag(code: "b", note: "second"), Before.Tag(code: "a", note: "first")])
            try db.close()
            db = try open([After.Label.self], Self.plain)
            #expect(db.tables.map(\.name) == ["Label2"])
            #expect(try db.query(After.Label.self).orderBy("text").fetch().map(\.note) == ["first", "second"])
            #expect(try db.find(After.Label.self, "b")?.note == "second")
            try expectSound(db)
            try db.close()
            db = try open([After.Label.self], Self.plain)
            #expect(db.migrations.isEmpty)
            try db.close()
        }
    }

    @Test func aTableCannotTakeTheNameOfAnother() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Before.Tag.self])
            try db.save([Before.Tag(code: "a")])
            try db.close()
            // The new name is in use, by a program that knows nothing of the old one.
            db = try Database(at: path, entities: [Untold.Label.self])
            try db.close()
            let text = failure { _ = try Database(at: path, entities: [After.Label.self]) }
            #expect(text.contains("both Tag and Label2"), "\(text)")
        }
    }

    private func makePets(_ open: ([any Entity.Type], DatabaseOptions) throws -> Database) throws {
        let db = try open([Before.Dog.self, Before.Cat.self, Before.Keeper.self], Self.plain)
        let rex = Before.Dog(name: "Rex", weight: 30)
        let pup = Before.Dog(name: "Pup", weight: 3, parent: rex)
        let tom = Before.Cat(title: "Tom", rival: pup)
        try db.save([rex, pup])
        try db.save([tom, Before.Cat(title: "Kit")])
        try db.save([
            Before.Keeper(name: "Ada", dog: pup, dogs: [pup, rex, pup], cat: tom),
            Before.Keeper(name: "Bob", dog: nil, dogs: [], cat: nil),
        ])
        try db.close()
    }

    @Test(arguments: Medium.allCases) func tablesAreMergedAndReferencesFollow(_ medium: Medium) throws {
        try medium.run { open in
            try makePets(open)
            var db = try open([After.Pet.self, After.Keeper.self], Self.plain)
            #expect(db.tables.map(\.name) == ["Keeper", "Pet"])
            let pets = try db.query(After.Pet.self).orderBy("id").fetch()
            #expect(pets.map(\.name) == ["Rex", "Pup", "Tom", "Kit"])
            // The transformation behind the merges was done with the rows of both.
            #expect(pets.map(\.legs) == [4, 4, 40, 40])
            #expect(pets[1].parent?.name == "Rex")
            let ada = try #require(try db.query(After.Keeper.self).where(\.name == "Ada").first())
            #expect(ada.dog?.name == "Pup")
            #expect(ada.dogs.map(\.name) == ["Pup", "Rex", "Pup"])
            #expect(ada.cat?.name == "Tom")
            #expect(try db.query(After.Keeper.self).where(text: "cat.name = 'Tom'").count() == 1)
            #expect(try db.query(After.Pet.self).where(\.name == "Kit").explain().contains("index"))
            try expectSound(db)
            // Removing one takes it out of what refers to it, by its new key.
            try db.delete(pets[1])
            try db.refresh(ada)
            #expect(ada.dog == nil && ada.dogs.map(\.name) == ["Rex"])
            let new = After.Pet(name: "New")
            try db.save(new)
            #expect(new.id == 5)
            try db.close()
            db = try open([After.Pet.self, After.Keeper.self], Self.plain)
            #expect(db.migrations.isEmpty)
            try db.close()
        }
    }

    @Test func whatCannotBeMergedRightIsRefused() throws {
        try withTemporaryFile { path in
            try makePets { types, options in try Database(at: path, entities: types, options: options) }
            func refusal(_ types: any Entity.Type...) -> String {
                failure { _ = try Database(at: path, entities: types) }
            }
            #expect(refusal(Wrong.Copied.self).contains("Dog.weight has no counterpart"))
            #expect(refusal(Wrong.Coded.self).contains("keys are of another kind"))
            let twice = refusal(Wrong.Numbered.self)
            #expect(twice.contains("several rows have number = 1"), "\(twice)")
            let db = try Database(at: path, entities: [Before.Dog.self, Before.Cat.self, Before.Keeper.self])
            #expect(db.migrations.isEmpty)
            #expect(try db.query(Before.Keeper.self).where(\.name == "Ada").first()?.dogs.count == 3)
            // The rows of a type that is in use cannot go.
            #expect(failure { _ = try db.query(After.Pet.self).count() }.contains("is in use already"))
            try expectSound(db)
            try db.close()
        }
    }

    @Test(arguments: Medium.allCases) func objectsAreSplit(_ medium: Medium) throws {
        try medium.run { open in
            var db = try open([Before.House.self], Self.plain)
            try db.save([
                Before.House(number: 1, street: "Main", city: "Oslo"), Before.House(number: 2),
                Before.House(number: 3, street: "Side", city: "Bergen"),
            ])
            try db.close()
            db = try open([After.House.self], Self.plain)
            let houses = try db.query(After.House.self).orderBy("number").fetch()
            #expect(houses.map { $0.address?.street } == ["Main", nil, "Side"])
            #expect(houses[2].address?.city == "Bergen")
            #expect(try db.query(After.Address.self).count() == 2)
            try db.save(After.Address(street: "New"))
            try expectSound(db)
            try db.close()
        }
    }

    @Test func aSubclassIsMigratedByTheStepsOfItsSuperclass() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Ancestors.Vehicle.self, Ancestors.Truck.self])
            try db.save(Ancestors.Vehicle(label: "A 1"))
            let truck = Ancestors.Truck()
            truck.label = "B 2"
            truck.load = 7
            try db.save(truck)
            try db.close()
            db = try Database(at: path, entities: [Descendants.Vehicle.self, Descendants.Truck.self])
            #expect(try db.query(Descendants.Vehicle.self).fetch().map(\.plate) == ["A 1"])
            #expect(try db.query(Descendants.Truck.self).fetch().map(\.plate) == ["B 2"])
            try db.close()
        }
    }

    @Test func progressIsReported() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Before.Citizen.self])
            try db.save((0..<9000).map { Before.Citizen(first: "\($0)", age: "\($0 % 90)") })
            try db.close()
            let notified = Collected<MigrationProgress>()
            var options = DatabaseOptions()
            options.onMigration = { notified.append($0) }
            db = try Database(at: path, entities: [After.Citizen.self], options: options)
            #expect(
                notified.all.count >= 3 && notified.all.allSatisfy { $0.entity == "Citizen" && $0.rowCount == 9000 })
            #expect(notified.all.map(\.rowsDone) == notified.all.map(\.rowsDone).sorted())
            #expect(notified.all.last?.rowsDone == 9000)
            try expectSound(db)
            try db.close()
        }
    }
}

/// A program that has come as far as the first version.
enum Midway {
    @Entity("Citizen") final class Citizen {
        var name = ""
        var last = ""
        var age: String?
        var secret = ""
        var shoeSize: Int?
    }
}
extension Midway.Citizen: Migratable {
    static func migrate(_ m: inout Migration) throws {
        if m.version < 1 {
            m.rename("first", to: "name")
            m.version = 1
        }
    }
}
enum Untold {
    @Entity("Label2") struct Label {
        @Attribute(.primaryKey) var text: String
        var note: String = ""
    }
}

@Suite struct MigrationPlanTests {
    @Test func aPlanSaysWhatWouldBeDoneAndChangesNothing() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [Before.Citizen.self, Before.House.self])
            try db.save([
                Before.Citizen(first: "Ada", age: "36", secret: "x", shoeSize: 37),
                Before.Citizen(first: "Bob", age: "old"), Before.Citizen(first: "Cid", age: "older"),
            ])
            // Planned while the database is open, and by itself.
            let plan = try Database.migrationPlan(at: path, entities: [After.Citizen.self, After.House.self])
            let tables = Dictionary(uniqueKeysWithValues: plan.tables.map { ($0.name, $0) })
            #expect(tables.keys.sorted() == ["Address", "Citizen", "House"])
            let citizen = try #require(tables["Citizen"])
            #expect(citizen.objects == 3 && citizen.oldVersion == 0 && citizen.newVersion == 3)
            let transform = try #require(citizen.steps.first { $0.change == .byHand("transform age") })
            #expect(transform.objects == 3 && transform.failures == 2)
            #expect(transform.example?.contains("'old' is no age") == true)
            #expect(!plan.canBeDone)
            #expect(plan.losses.count == 2)
            #expect(plan.losses.contains { $0.hasPrefix("Citizen: remove secret: 3 objects") }, "\(plan.losses)")
            let text = "\(plan)"
            for part in ["Citizen (3 objects, version 0 to 3)", "rename first to name", "2 of them cannot be"] {
                #expect(text.contains(part), "\(text)")
            }
            try db.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(try Database.migrationPlan(at: path, entities: [After.Citizen.self, After.House.self]) == plan)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test func propertiesThatLeaveAndTypesThatChangeAreCounted() throws {
        let db = try Database.inMemory(entities: [First.Animal.self])
        try db.save([
            First.Animal(name: "Rex", weight: 30, colour: "red"), First.Animal(name: "Tom", weight: 4, colour: "blue"),
            First.Animal(name: "Kit"),
        ])
        let second = try db.migrationPlan(entities: [Second.Animal.self])
        let steps = second.tables[0].steps
        #expect(steps.first { $0.change == .retireColumn("colour") }?.objects == 2)
        #expect(steps.contains { $0.change == .addColumn("legs") } && steps.contains { $0.change == .addIndex("name") })
        #expect(second.canBeDone && second.losses.isEmpty)
        #expect("\(second)".contains("2 objects hold a value, which goes out of sight"))
        // Names are no numbers.
        let numbers = try db.migrationPlan(entities: [Numbers.Animal.self])
        let converted = try #require(
            numbers.tables[0].steps.first { if case .changeColumn = $0.change { true } else { false } })
        #expect(converted.objects == 3 && converted.failures == 3)
        #expect(converted.example?.contains("'Rex'") == true)
        #expect(!numbers.canBeDone)
        #expect(try db.migrationPlan(entities: [First.Animal.self]).isEmpty)
        #expect("\(try db.migrationPlan(entities: [First.Animal.self]))" == "nothing to do")
        #expect(db.tables[0].liveColumns.map(\.name) == ["name", "weight", "colour"])
    }

    @Test func mergesArePlanned() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [Before.Dog.self, Before.Cat.self, Before.Keeper.self])
            try db.save([Before.Dog(name: "Rex"), Before.Dog(name: "Pup")])
            let plan = try Database.migrationPlan(at: path, entities: [After.Pet.self, After.Keeper.self])
            let pet = try #require(plan.tables.first { $0.name == "Pet" })
            #expect(pet.steps.first { $0.change == .byHand("merge the rows of Dog") }?.objects == 2)
            #expect(plan.canBeDone, "\(plan)")
            let copied = try Database.migrationPlan(at: path, entities: [Wrong.Copied.self])
            #expect(copied.tables.first?.refusal != nil && !copied.canBeDone)
            try db.close()
        }
    }

    @Test func whereThereIsNoFileAllTablesAreMade() throws {
        try withTemporaryFile { path in
            let plan = try Database.migrationPlan(at: path, entities: [After.House.self])
            #expect(plan.tables.map(\.name) == ["Address", "House"])
            #expect(
                plan.tables.flatMap(\.steps).allSatisfy { if case .createTable = $0.change { true } else { false } })
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }
}

enum Numbers {
    @Entity("Animal") final class Animal {
        var name = 0
        var weight = 0
        var colour: String?
    }
}

/// A migration that rewrites, merges and splits rows: a crash leaves it done or not begun.
struct ManualMigrations: CrashWorkload {
    private func open(_ disk: SimulatedDisk, _ types: [any Entity.Type]) throws -> Database {
        var options = DatabaseOptions(cacheBytes: 1 << 20)
        options.storage.fileSystem = disk
        options.storage.background = .manual
        options.storage.entropy = SeededEntropy(seed: 1)
        options.storage.logSegmentBytes = 2 << 20
        return try Database(at: "d/migrated.mako", entities: types, options: options)
    }

    private static let old: [any Entity.Type] = [
        Before.Citizen.self, Before.Dog.self, Before.Cat.self, Before.Keeper.self, Before.House.self,
    ]
    private static let new: [any Entity.Type] = [
        After.Citizen.self, After.Pet.self, After.Keeper.self, After.House.self,
    ]

    func run(on disk: SimulatedDisk) throws -> CrashHistory<String> {
        var db = try open(disk, Self.old)
        let history = CrashHistory("", on: disk)
        history.begin("before")
        try db.transaction { _ in
            try db.save((0..<60).map { Before.Citizen(first: "\($0)", last: "L", age: "\($0)") })
            let dogs = (0..<20).map { Before.Dog(name: "dog \($0)") }
            try db.save(dogs)
            try db.save((0..<20).map { Before.Cat(title: "cat \($0)", rival: dogs[$0]) })
            try db.save(Before.Keeper(name: "Ada", dog: dogs[3], dogs: [dogs[4]]))
            try db.save((0..<20).map { Before.House(number: $0, street: $0 == 7 ? "" : "S\($0)") })
        }
        history.acknowledge()
        try db.close()
        history.begin("after")
        db = try open(disk, Self.new)
        history.acknowledge()
        try db.close()
        return history
    }

    /// Determines from the tables how far the migration got, and checks that everything else agrees.
    func recover(on disk: SimulatedDisk, served: () -> Void) throws -> String {
        let db = try open(disk, [])
        defer { try? db.close() }
        let names = db.tables.map(\.name)
        served()
        if names.isEmpty { return "" }
        if names.contains("Pet") {
            try db.close()
            let db = try open(disk, Self.new)
            defer { try? db.close() }
            let ada = try db.query(After.Keeper.self).first()
            let isWhole =
                try db.migrations.isEmpty && !names.contains("Dog") && ada?.dog?.name == "dog 3"
                && ada?.dogs.map(\.name) == ["dog 4"] && db.query(After.Pet.self).count() == 40
                && db.query(After.Address.self).count() == 19
                && db.query(After.Citizen.self).where(text: "fullName = name || ' L' AND isMember").count() == 60
            return isWhole ? "after" : "a part of the migration is there"
        }
        try db.close()
        let again = try open(disk, Self.old)
        defer { try? again.close() }
        let count = try again.query(Before.Citizen.self).count()
        if count == 0 { return "" }
        let isWhole =
            try again.migrations.isEmpty && count == 60 && again.query(Before.House.self).count() == 20
            && again.query(Before.Keeper.self).first()?.dog?.name == "dog 3"
        return isWhole ? "before" : "a part of the old state is there"
    }
}

@Suite struct ManualMigrationCrashTests {
    @Test func theFileIsAsBeforeOrAsAfterwards() throws {
        let report = try CrashRunner.run(ManualMigrations(), effort: .small)
        #expect(report.failures.isEmpty, "\(report)")
    }
}
