import Foundation
import Mako
import Testing

@Entity(ignoringSuperclass: true) final class Wagon: Vehicle {
    var load = 0
}

/// Queries for the objects of a class and of its subclasses. The classes are those of ``InheritanceTests``.
@Suite struct HierarchyQueryTests {
    private let db: Database

    init() throws {
        db = try makeDatabase([
            Vehicle.self, Car.self, SportsCar.self, Wagon.self, Keeper.self, Garage.self, Part.self, Coded.self,
            CodedThing.self,
        ])
    }

    /// Every third is of each class; names repeat.
    @discardableResult
    private func fill(_ count: Int) throws -> [Vehicle] {
        let made = (0..<count).map { number -> Vehicle in
            let vehicle = number % 3 == 0 ? Vehicle() : number % 3 == 1 ? Car() : SportsCar()
            vehicle.name = "v\(number * 7 % 10)"
            vehicle.wheels = number * 11 % 17
            vehicle.plate = number % 4 == 0 ? nil : "P\(number)"
            return vehicle
        }
        try db.save(made)
        return made
    }

    @Test func objectsComeAsWhatTheyAre() throws {
        try db.save([Vehicle(name: "v")])
        try db.save([Car(doors: 3)])
        try db.save([SportsCar(power: 300)])
        let all = try db.query(Vehicle.self).includingSubclasses().fetch()
        #expect(all.map { "\(type(of: $0))" } == ["Vehicle", "Car", "SportsCar"])
        #expect((all[2] as? SportsCar)?.power == 300 && all[2].title.hasPrefix("car"))
        #expect(try db.query(Car.self).includingSubclasses().fetch().map { "\(type(of: $0))" } == ["Car", "SportsCar"])
        #expect(try db.query(SportsCar.self).includingSubclasses().count() == 1)
        #expect(try db.query(Vehicle.self).fetch().count == 1)
        all[1].name = "renamed"
        try db.save(all[1])
        #expect(try db.query(Car.self).fetch().map(\.name) == ["renamed"])
        #expect(try db.query(Vehicle.self).includingSubclasses().where(["name": "renamed"]).count() == 1)
    }

    @Test func orderLimitAndOffsetAreThoseOfAll() throws {
        let made = try fill(60)
        let query = db.query(Vehicle.self).includingSubclasses()
        /// NULL comes first, as in every order.
        func sorted(_ vehicles: [Vehicle]) -> [String] {
            vehicles.sorted { ($0.name, $1.plate ?? "") > ($1.name, $0.plate ?? "") }.map {
                "\($0.name) \($0.plate ?? "")"
            }
        }
        let expected = sorted(made)
        for (offset, limit) in [(0, 60), (0, 7), (5, 10), (55, 10), (60, 5), (3, 0)] {
            let found = try query.orderBy(\.name, .descending).orderBy(\.plate).limit(limit).offset(offset).fetch()
            #expect(found.map { "\($0.name) \($0.plate ?? "")" } == Array(expected.dropFirst(offset).prefix(limit)))
            #expect(try query.limit(limit).offset(offset).count() == max(0, min(limit, 60 - offset)))
            #expect(try query.limit(limit).offset(offset).fetch().count == max(0, min(limit, 60 - offset)))
            #expect(try query.limit(limit).offset(offset).exists() == (limit > 0 && offset < 60))
        }
        let few = made.filter { $0.wheels > 8 && $0.name != "v3" }
        let found = try query.where(\.wheels > 8).where("Vehicle.name <> ?", "v3").orderBy("name DESC, plate").fetch()
        #expect(found.map { "\($0.name) \($0.plate ?? "")" } == sorted(few))
        #expect(try query.where(text: "wheels > 8 AND name <> 'v3'").count() == few.count)
        #expect(try query.orderBy(\.wheels).first()?.wheels == 0)
        #expect(try query.where(\.plate == "P5").one() is SportsCar)
        #expect(throws: MakoError.self) { try query.one() }
    }

    /// The forms that ``Query`` has.
    @Test func severalOrdersAndAPageInOneCall() throws {
        try fill(60)
        let query = db.query(Vehicle.self).includingSubclasses()
        let all = try query.orderBy(\.name).orderBy(\.wheels).fetch().map { "\($0.name) \($0.wheels)" }
        #expect(try query.orderBy(\.name, \.wheels).fetch().map { "\($0.name) \($0.wheels)" } == all)
        let page = try query.orderBy(\.name, \.wheels).limit(7, offset: 50).fetch()
        #expect(page.map { "\($0.name) \($0.wheels)" } == Array(all[50..<57]))
        #expect(throws: MakoError.self) { try query.limit(7, offset: -1).fetch() }
        #expect(try !query.isEmpty() && query.limit(7, offset: 60).isEmpty())
        #expect(try query.where(\.name == "v99").isEmpty())
    }

    @Test func relationsAreFollowed() throws {
        let made = try fill(9)
        for vehicle in made { vehicle.owner = Keeper(name: "of \(vehicle.wheels)") }
        try db.save(made)
        let query = db.query(Vehicle.self).includingSubclasses().where(\.owner.name != "of 0").orderBy(\.wheels)
        let before = db.metrics.lazyLoads
        let found = try query.prefetch(\.owner).fetch()
        #expect(found.map(\.wheels) == made.map(\.wheels).filter { $0 != 0 }.sorted())
        #expect(found.allSatisfy { $0.owner?.name == "of \($0.wheels)" })
        #expect(db.metrics.lazyLoads == before)
        let plan = try query.limit(4).plan(analyzing: true)
        #expect(plan.operation == .merge && plan.children.count == 3 && plan.counts?.passed == 4, "\(plan)")
        #expect(try query.explain().hasPrefix("merge the classes by order\n  "))
    }

    @Test func objectsAreRemoved() throws {
        let made = try fill(30)
        let query = db.query(Vehicle.self).includingSubclasses()
        #expect(try query.where(\.wheels < 5).delete() == made.filter { $0.wheels < 5 }.count)
        let left = made.map(\.wheels).filter { $0 >= 5 }.sorted()
        #expect(try query.orderBy(\.wheels).fetch().map(\.wheels) == left)
        #expect(try query.orderBy(\.wheels).offset(1).limit(3).delete() == 3)
        #expect(try query.orderBy(\.wheels).fetch().map(\.wheels) == Array(left.prefix(1) + left.dropFirst(4)))
    }

    @Test func keysOfTheirOwn() throws {
        try db.save([Coded(code: "b")])
        let thing = CodedThing(size: 1)
        thing.code = "a"
        try db.save([thing])
        let found = try db.query(Coded.self).includingSubclasses().orderBy(\.code).fetch()
        #expect(found.map(\.code) == ["a", "b"] && found[0] is CodedThing)
    }

    @Test func unsupportedQueriesAreRefused() throws {
        try db.save([Wagon(load: 3)])
        #expect(try db.query(Vehicle.self).includingSubclasses().count() == 0)
        #expect(throws: MakoError.self) {
            try db.query(Vehicle.self).joinTo(\.owner).includingSubclasses().fetch()
        }
        #expect(throws: MakoError.self) {
            try db.query(Vehicle.self).includingSubclasses().where("doors > 3").fetch()
        }
    }

    @Test func aTransactionSeesItsOwn() throws {
        let query = db.query(Vehicle.self).includingSubclasses()
        try db.transaction { _ in
            try db.save([Car(name: "new")])
            #expect(try query.where(\.name == "new").orderBy(\.wheels).fetch().count == 1)
        }
    }

    @Test func oneMomentIsSeen() async throws {
        // Each commit adds one object of each class.
        let db = db
        let writer = Task.detached {
            for number in 0..<40 {
                try await db.transaction { _ in
                    try db.save([Vehicle(name: "w\(number)")])
                    try db.save([SportsCar(name: "w\(number)")])
                }
            }
        }
        let written = db.query(Vehicle.self).includingSubclasses().where("name LIKE 'w%'")
        for _ in 0..<40 {
            #expect(try await written.count() % 2 == 0)
            let names = try await written.orderBy(\.name).fetch().map(\.name)
            #expect(Set(names).count * 2 == names.count)
        }
        try await writer.value
        #expect(try await written.exists())
        #expect(try await written.first()?.name == "w0")
        #expect(try await written.delete() == 80)
    }
}
