import Foundation
import Mako
import TestHelpers
import Testing

protocol Named { var title: String { get } }

@Entity class Vehicle: Named {
    #Index<Vehicle>([\.name])
    #Unique<Vehicle>([\Vehicle.plate])
    var name: String = ""
    var plate: String?
    var wheels = 4
    var owner: Keeper?
    @Relationship(inverse: \Part.vehicle) var parts: ToMany<Part>

    var title: String { "vehicle \(name)" }
    func willInsert() -> Bool { name != "refused" }
}

@Entity class Car: Vehicle {
    #Index<Car>([\.doors, \.name])
    var doors = 5
    var note: String?
    var garage: Garage?
    var features: Set<String> = []

    override var title: String { "car \(name)" }
}

@Entity("sports_cars") final class SportsCar: Car {
    var power: Double = 100
    var story: String = "fast"
    func willUpdate() -> Bool { power < 1000 }
}

@Entity final class Keeper {
    var name = ""
    var favourite: Vehicle?
}

@Entity final class Garage {
    var place = ""
}

@Entity final class Part {
    var name = ""
    var vehicle: Vehicle?
}

@Entity class Coded {
    @Attribute(.primaryKey) var code: String = ""
}

@Entity final class CodedThing: Coded {
    var size = 0
}

@Suite struct InheritanceTests {
    private let db: Database

    init() throws {
        db = try makeDatabase([
            Vehicle.self, Car.self, SportsCar.self, Keeper.self, Garage.self, Part.self, Coded.self, CodedThing.self,
        ])
    }

    @Test func inheritedAndOwnPropertiesAreInTheSubclassesTable() throws {
        let car = try SportsCar(["name": "Zoom", "wheels": 3, "doors": 2, "power": 300.5, "story": "long"])
        #expect(car.wheels == 3 && car.power == 300.5)
        car.plate = "A1"
        car.features = ["abs"]
        car.owner = Keeper(name: "Ada")
        car.garage = Garage(place: "hill")
        try db.save(car)
        #expect(car.id == 1)
        let read = try #require(try db.find(SportsCar.self, 1))
        #expect(read.name == "Zoom" && read.wheels == 3 && read.doors == 2 && read.power == 300.5)
        #expect(read.story == "long" && read.plate == "A1" && read.note == nil && read.features == ["abs"])
        #expect(read.owner?.name == "Ada" && read.garage?.place == "hill")
        #expect(read.title == "car Zoom" && (read as any Named).title == "car Zoom")
        #expect(try db.query(Vehicle.self).count() == 0 && db.query(Car.self).count() == 0)
        #expect(db.tables.contains { $0.name == "sports_cars" && $0.columns.contains { $0.name == "wheels" } })
        #expect("\(read)".contains("story: 'long'") || "\(read)".contains("story: long"))
    }

    @Test func eachClassHasItsInitialisers() throws {
        #expect(Car(name: "a").doors == 5)
        #expect(Car(doors: 3).wheels == 4)
        #expect(SportsCar(power: 2, story: "x").power == 2)
        #expect(SportsCar().story == "fast" && SportsCar(name: "b").name == "b")
    }

    @Test func changesReachTheRightColumns() throws {
        let car = Car(name: "a")
        try db.save(car)
        car.wheels = 6
        car.note = "six"
        try db.save(car)
        #expect(!car.isDirty)
        let read = try #require(try db.find(Car.self, 1))
        #expect(read.wheels == 6 && read.note == "six" && read.doors == 5 && read.name == "a")
        read.doors = 2
        try db.save(read)
        #expect(try db.find(Car.self, 1)?.doors == 2)
        car.name = "lost"
        car.note = "lost"
        try db.refresh(car)
        #expect(car.name == "a" && car.note == "six" && car.doors == 2)
    }

    @Test func aVariableOfTheSuperclassKeepsTheObjectsClass() throws {
        let vehicle: Vehicle = SportsCar(power: 7, story: "long")
        vehicle.name = "hidden"
        try db.save(vehicle)
        #expect(try db.query(SportsCar.self).fetch().map(\.power) == [7])
        vehicle.name = "other"
        try db.refresh(vehicle)
        #expect(vehicle.name == "hidden" && (vehicle as? SportsCar)?.story == "long")
        let notified = Collected<String>()
        let token = try vehicle.onChange { notified.append("\($0.kind) \($0.object?.name ?? "")") }
        vehicle.name = "shown"
        try db.save(vehicle)
        try db.query(SportsCar.self).delete()
        #expect(notified.all == ["update shown", "delete "])
        token.cancel()
        (vehicle as? SportsCar)?.power = 7
        let again = vehicle.clone()
        try db.save(again)
        #expect(try db.find(type(of: again), again.id ?? 0)?.name == "shown")
        try db.delete(again)
        #expect((vehicle.clone() as? SportsCar)?.power == 7)
        #expect(try db.query(SportsCar.self).count() == 0)
    }

    @Test func conditionsOrderAndIndexesUseInheritedProperties() throws {
        try db.save(
            (0..<50).map { number in
                let car = SportsCar(power: Double(number))
                car.name = "car \(number % 10)"
                car.wheels = number
                return car
            })
        let found = try db.query(SportsCar.self).where(\.name == "car 3" && \.power > 20).orderBy(\.wheels).fetch()
        #expect(found.map(\.wheels) == [23, 33, 43])
        #expect(try db.query(SportsCar.self).where(\.name == "car 3").explain().contains("name"))
        #expect(try db.query(SportsCar.self).where("wheels BETWEEN 3 AND 5").count() == 3)
        #expect(try db.query(SportsCar.self).where(\.doors == 5).sum(\.wheels) == 1225)
    }

    @Test func uniqueConstraintsAreInheritedTableByTable() throws {
        let first = Car(name: "a")
        first.plate = "X"
        try db.save(first)
        let second = Car(name: "b")
        second.plate = "X"
        #expect(throws: MakoError.self) { try db.save(second) }
        let third = SportsCar(power: 1)
        third.plate = "X"
        try db.save(third)
    }

    @Test func hooksAreInherited() throws {
        #expect(throws: MakoError.vetoed(entity: "Car", hook: "willInsert")) { try db.save(Car(name: "refused")) }
        let car = SportsCar(name: "fine")
        try db.save(car)
        car.power = 2000
        #expect(throws: MakoError.vetoed(entity: "SportsCar", hook: "willUpdate")) { try db.save(car) }
        #expect(try db.find(SportsCar.self, 1)?.power == 100)
        #expect(try db.save(Vehicle(name: "v")))
    }

    @Test func rollbackRestoresAllProperties() throws {
        let car = SportsCar(name: "a")
        try db.save(car)
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                car.name = "b"
                car.doors = 1
                car.power = 5
                car.story = "s"
                try car.commit()
                try transaction.rollback()
            }
        }
        #expect(car.name == "a" && car.doors == 5 && car.power == 100 && car.story == "fast" && !car.isDirty)
    }

    @Test func keysAreInherited() throws {
        let thing = CodedThing(size: 3)
        try db.save(thing)
        #expect(thing.code.count == 36 && thing.id == thing.code)
        #expect(try db.find(CodedThing.self, thing.code)?.size == 3)
        #expect(try db.find(CodedThing.self, orNew: "k").code == "k")
        #expect(thing.clone().code == "")
    }

    @Test func referencesToSubclassesAreRefusedNotLost() throws {
        let keeper = Keeper(name: "Ada", favourite: Car(name: "a"))
        #expect(throws: MakoError.self) { try db.save(keeper) }
        #expect(try db.query(Keeper.self).count() == 0)
        #expect(throws: MakoError.self) { try db.save(Part(name: "p", vehicle: SportsCar(power: 1))) }
        keeper.favourite = Vehicle(name: "v")
        try db.save(keeper)
        #expect(try db.find(Keeper.self, 1)?.favourite?.name == "v")
        let part = Part(name: "p", vehicle: keeper.favourite)
        try db.save(part)
        #expect(try keeper.favourite?.parts.count == 1)
    }

    @Test func rowsOfTheSameNumberInTwoTablesAreTwo() throws {
        let vehicle = Vehicle(name: "v")
        let car = Car(name: "c")
        try db.save([vehicle])
        try db.save([car])
        try db.save(Part(name: "p", vehicle: vehicle))
        #expect(vehicle.id == car.id)
        #expect(try vehicle.parts.count == 1 && car.parts.count == 0)
        #expect(try db.query(Part.self).where(\.vehicle == vehicle).count() == 1)
        #expect(try db.query(Part.self).where(\.vehicle == car).count() == 0)
        #expect(try db.query(Part.self).where(\.vehicle != car).count() == 1)
        let hidden: Vehicle = car
        #expect(try hidden.referencedCount() == 0 && vehicle.referencedCount() == 1)
        #expect(try hidden.referencing(Part.self).isEmpty)
    }

    @Test func droppingTheClassOfAnObjectDropsItsTable() throws {
        let car: Vehicle = SportsCar(power: 1)
        try db.save([Vehicle(name: "stays")])
        try db.save(car)
        try db.drop(type(of: car))
        #expect(!db.tables.contains { $0.name == "sports_cars" })
        #expect(try db.query(Vehicle.self).count() == 1)
    }

    @Test func objectsOfSubclassesCrossThreads() async throws {
        try await db.save(SportsCar(power: 9))
        let db = db
        #expect(try await Task.detached { try await db.query(SportsCar.self).first()?.power }.value == 9)
    }
}
