import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `Modelling.md`.
enum ModellingExample {
    // EXAMPLE Modelling.md
    enum Rank: String { case sailor, mate, captain }

    struct Licence: Codable, Equatable {
        var number = 0
        var countries: [String] = []
    }

    @Entity final class Sailor {
        var name = ""
        var born: Date?
        var rank: Rank = .sailor
        var licence: Licence?
        var languages: Set<String> = []
        @Transient var isOnWatch = false
        var isOfficer: Bool { rank != .sailor }  // computed: not stored
    }
    // EXAMPLE ends

    static func made(_ db: Database) throws -> (Sailor, Sailor) {
        // EXAMPLE Modelling.md
        let ada = Sailor(name: "Ada", rank: .mate, languages: ["en", "fr"])
        let bob = try Sailor(["Name": "Bob", "born": NSNull(), "shoe size": 43])
        try db.save([ada, bob])
        print(ada)  // Sailor 1 {name: 'Ada' (String), born: NULL (Date?), rank: 'mate' (Rank), …}
        // EXAMPLE ends
        return (ada, bob)
    }

    // EXAMPLE Modelling.md
    enum Hazard: Int, StorableValue { case safe, flammable, toxic }

    @Entity final class Cargo {
        var name = ""
        var hazard: Hazard = .safe
    }
    // EXAMPLE ends

    static func loaded(_ db: Database) throws -> (safe: Int, harmful: Int) {
        // EXAMPLE Modelling.md
        try db.save([Cargo(name: "oil", hazard: .flammable), Cargo(name: "grain")])
        let insert = try db.prepare("INSERT INTO Cargo (name, hazard) VALUES (?, ?)")
        try insert.run("chlorine", Hazard.toxic)
        let safe = try db.query(Cargo.self).where("hazard = ?", Hazard.safe).count()
        let harmful = try db.query(Cargo.self).where(\.hazard << [.flammable, .toxic]).count()
        // EXAMPLE ends
        return (safe, harmful)
    }

    // EXAMPLE Modelling.md
    struct Celsius: StorableValue, Comparable {
        var degrees: Double
        init(_ degrees: Double) { self.degrees = degrees }

        static var columnType: ColumnType { .double }
        var stored: StoredValue { .double(degrees) }
        init?(stored: StoredValue) {
            guard case .double(let degrees) = stored else { return nil }
            self.degrees = degrees
        }
        static func < (left: Celsius, right: Celsius) -> Bool { left.degrees < right.degrees }
    }

    @Entity final class Sample {
        var water: Celsius = Celsius(0)
    }
    // EXAMPLE ends

    static func warm(_ db: Database) throws -> Int {
        // EXAMPLE Modelling.md
        try db.save([Sample(water: Celsius(4.5)), Sample(water: Celsius(11))])
        let warm = try db.query(Sample.self).where(\.water > Celsius(10)).count()
        // EXAMPLE ends
        return warm
    }

    // EXAMPLE Modelling.md
    struct Money: CompositeValue {
        var amount: Double
        var currency: String

        static let valueParts = [
            ValuePart("amount", \Money.amount), ValuePart("currency", \Money.currency),
        ]
        init(_ amount: Double, _ currency: String) {
            self.amount = amount
            self.currency = currency
        }
        init(parts: ValueParts<Money>) throws(MakoError) {
            self.init(try parts[\.amount], try parts[\.currency])
        }
    }

    @Entity final class Berth {
        #Index<Berth>([\.place])
        var outline: CGRect = .zero  // outline_x, outline_y, outline_width, outline_height
        var place: Coordinate?  // place_latitude, place_longitude; both NULL when it is nil
        var season: Range<Int>?  // season_lowerBound, season_upperBound
        var paint: RGBAColor = RGBAColor(red: 1, green: 1, blue: 1)
        var fee: Money?  // fee_amount, fee_currency
    }
    // EXAMPLE ends

    static func moored(_ db: Database) throws -> (long: [Berth], same: [Berth]) {
        // EXAMPLE Modelling.md
        let bergen = Coordinate(latitude: 60.4, longitude: 5.3)
        let outline = CGRect(x: 10, y: 0, width: 4, height: 12)
        try db.save(Berth(outline: outline, place: bergen, season: 4..<10, fee: Money(80, "NOK")))
        let long = try db.query(Berth.self)
            .where(\.outline.height > 10 && \.fee.currency == "NOK")
            .fetch()
        let same = try db.query(Berth.self)
            .where(\.place == bergen).where("outline_width < 5")
            .orderBy(\.fee.amount)
            .fetch()
        try db.update(Berth.self).set(\.outline.x, to: \.outline.x + 5).set(\.season, to: nil).run()
        // EXAMPLE ends
        return (long.array, same.array)
    }

    // EXAMPLE Modelling.md
    @Entity final class Port {
        @Attribute(.primaryKey) var code = ""  // a UUID's text, when it is still empty at the commit
        var name = ""
    }

    @Entity final class Parcel {
        @Attribute(.primaryKey) var tag: UUID?  // given at the commit
        var weight = 0.0
    }

    @Entity struct Fare {
        @Attribute(.primaryKey) var from: String
        @Attribute(.primaryKey) var to: String
        var price: Decimal
    }
    // EXAMPLE ends

    static func found(_ db: Database) throws -> (Port?, Fare?) {
        // EXAMPLE Modelling.md
        try db.save(Port(code: "BRG", name: "Bergen"))
        try db.save([Fare(from: "BRG", to: "AMS", price: 80)])
        let port = try db.find(Port.self, "BRG")
        let fare = try db.find(Fare.self, CompositeKey([.text("BRG"), .text("AMS")]))
        // EXAMPLE ends
        return (port, fare)
    }

    static func savedTwice(_ db: Database) throws -> MakoError? {
        // EXAMPLE Modelling.md
        try db.save(Port(code: "AMS", name: "Amsterdam"))
        try db.save(Port(code: "AMS", name: "Amsterdam Harbour"))  // the same row
        do {
            try db.insert(Port(code: "AMS"))
        } catch MakoError.duplicate(let entity, let properties, let values) {
            print("\(entity) with \(properties) = \(values) is there already")
        }
        // EXAMPLE ends
        do throws(MakoError) { try db.insert(Port(code: "AMS")) } catch { return error }
        return nil
    }

    // EXAMPLE Modelling.md
    @Entity final class Visit {
        #Index<Visit>([\.port, \.day])
        #Index<Visit>([.ascending(\.ship), .descending(\.day), .ignoringCase(\.port)])
        #Unique<Visit>([\.ship, \.day])
        @Attribute(.indexed) var ship = ""
        var port = ""
        @Attribute(.column("day_number")) var day = 0
        @Attribute(.unique) var receipt: Int?  // nil never conflicts
        @Attribute(.writeOnce) var firstSeen = 0
        @Attribute(.keepWhenNil) var pilot: String?
    }

    @Entity final class Tide {
        @Attribute(.identity) var port = ""
        @Attribute(.identity) var hour = 0
        var height = 0.0
    }
    // EXAMPLE ends

    static func tides(_ db: Database) throws -> [Tide] {
        // EXAMPLE Modelling.md
        try db.save(Tide(port: "BRG", hour: 6, height: 1.2))
        try db.save(Tide(port: "BRG", hour: 6, height: 1.4))  // changes the first one
        let tides = try db.query(Tide.self).fetch()
        // EXAMPLE ends
        return tides.array
    }

    // EXAMPLE Modelling.md
    @Entity final class Patient {
        var name = ""
        @Attribute(.encrypted) var diagnosis: String?
    }
    // EXAMPLE ends

    static func treated(_ path: String, _ keyBytes: [UInt8]) throws -> (Database, Int) {
        // EXAMPLE Modelling.md
        var options = DatabaseOptions()
        options.propertyKey = .key(keyBytes)  // 32 random bytes, out of the system's key store
        let db = try Database(at: path, entities: [Patient.self], options: options)
        try db.save(Patient(name: "Ada", diagnosis: "influenza"))
        let ill = try db.query(Patient.self).where(\.diagnosis != nil).count()
        // EXAMPLE ends
        return (db, ill)
    }

    // EXAMPLE Modelling.md
    @Entity class Vessel {
        #Index<Vessel>([\.name])
        var name = ""
        var length = 0.0
    }

    @Entity final class Tug: Vessel {
        var power = 0
    }
    // EXAMPLE ends

    // EXAMPLE Modelling.md
    @Entity final class Mooring {
        var number = 0
        @Relationship(.subclasses) var guest: Vessel?
    }
    // EXAMPLE ends

    static func longVessels(_ db: Database) throws -> Results<Vessel> {
        // EXAMPLE Modelling.md
        let long = try db.query(Vessel.self).includingSubclasses()
            .where(\.length > 20).orderBy(\.name)
            .fetch()
        for case let tug as Tug in long { print(tug.power) }
        // EXAMPLE ends
        return long
    }

    // EXAMPLE Modelling.md
    @Entity struct Wreck {
        @Attribute(.primaryKey) var name: String
        var depth: Double = 0
        var finder: ToOne<Sailor>
        var site: Site?
    }

    @Entity struct Site {
        var name: String
        var isProtected = false
    }
    // EXAMPLE ends

    static func dived(_ db: Database, _ ada: Sailor) throws -> (Wreck, Sailor?) {
        // EXAMPLE Modelling.md
        var wreck = Wreck(name: "Vestris", depth: 30, finder: ToOne(ada))
        try db.save(&wreck)
        wreck.depth = 32
        try db.save(&wreck)
        let finder = try wreck.finder.load()
        wreck.site = Site(name: "Outer Banks", isProtected: true)
        try db.save(&wreck)  // the site first
        let wrecks = try db.query(Wreck.self).where(\.site.isProtected).fetch()
        // EXAMPLE ends
        return (wrecks.first ?? wreck, finder)
    }

    // EXAMPLE Modelling.md
    @Entity struct Expedition {
        var name: String
        var wrecks: [Wreck] = []
        var sites: [String: Site] = [:]
    }
    // EXAMPLE ends

    static func explored(_ db: Database, _ wreck: Wreck) throws -> [[Expedition]] {
        // EXAMPLE Modelling.md
        var dive = Expedition(name: "Lambert 2006", wrecks: [wreck])
        try db.save(&dive)  // the wrecks first
        let deep = try db.query(Expedition.self).where(.any(\.wrecks, \.depth > 30)).fetch()
        let holding = try db.query(Expedition.self).referencing(wreck).fetch()
        // EXAMPLE ends
        return [deep.array, holding.array]
    }

    // EXAMPLE Modelling.md
    @Entity final class Dive {
        var title = ""
        var wreck: Wreck?
        var sites: [Site] = []
    }
    // EXAMPLE ends

    static func logged(_ db: Database, _ wreck: Wreck) throws -> ([Dive], Int) {
        // EXAMPLE Modelling.md
        let first = Dive(title: "first", wreck: wreck, sites: [Site(name: "north")])
        try db.save(first)  // the wreck and the site first
        first.wreck?.depth = 33  // sets the property
        try db.save(first)
        let deep = try db.query(Dive.self).where(\.wreck.depth > 32).prefetch(\.wreck).fetch()
        let north = try db.query(Dive.self).where(.any(\.sites, \.name == "north")).count()
        // EXAMPLE ends
        return (deep.array, north)
    }

    // EXAMPLE Modelling.md
    @Entity final class Voyage {
        var title = ""
        var days = 0

        func willInsert() -> Bool { days > 0 }
        func didSave() { print("\(title) is stored") }
    }
    // EXAMPLE ends

    static func refused(_ db: Database) throws {
        // EXAMPLE Modelling.md
        do {
            try db.save(Voyage(title: "nowhere"))
        } catch MakoError.vetoed(let entity, let hook) {
            print("\(entity): \(hook) refused")  // Voyage: willInsert refused
        }
        // EXAMPLE ends
    }

    enum Before {
        // EXAMPLE Modelling.md
        @Entity final class Ferry {
            var name = ""
            var seats = 0
            var colour = ""
        }
        // EXAMPLE ends
    }

    enum After {
        // EXAMPLE Modelling.md
        @Entity final class Ferry {
            @Attribute(.originalName("name")) var title = ""
            var seats = 0.0  // converted
            var isElectric = true  // added: the rows that were there have the default
        }
        // EXAMPLE ends

        static func tried(_ path: String) throws -> [String] {
            var steps: [String] = []
            func print(_ entity: String, _ description: String) { steps.append("\(entity): \(description)") }
            // EXAMPLE Modelling.md
            let trial = try Database(at: path, mode: .sandbox, entities: [Ferry.self])
            for step in trial.migrations { print(step.entity, step.description) }
            try trial.close()
            // EXAMPLE ends
            return steps
        }
    }
}

@Suite struct ModellingExampleTests {
    private typealias E = ModellingExample
    private let db: Database

    init() throws { db = try Database.inMemory(entities: [E.Sailor.self, E.Port.self, E.Fare.self, E.Wreck.self]) }

    @Test func objectsAreMadeAndPrinted() throws {
        let (ada, bob) = try E.made(db)
        #expect(ada.id == 1 && ada.isOfficer && ada.languages == ["en", "fr"])
        #expect(bob.name == "Bob" && bob.born == nil && bob.rank == .sailor)
        #expect("\(ada)".hasPrefix("Sailor 1 {name: 'Ada' (String), born: NULL (Date?), rank: 'mate' (Rank), "))
        ada.licence = E.Licence(number: 7, countries: ["NO"])
        ada.isOnWatch = true
        try db.save(ada)
        let read = try #require(try db.find(E.Sailor.self, 1))
        #expect(read.licence == E.Licence(number: 7, countries: ["NO"]) && !read.isOnWatch)
        #expect(throws: MakoError.self) { try E.Sailor(["name": 5]) }
    }

    @Test func enumerationsAreParameters() throws {
        let counts = try E.loaded(db)
        #expect(counts.safe == 1 && counts.harmful == 2)
    }

    @Test func keysOfOnesOwn() throws {
        let (port, fare) = try E.found(db)
        #expect(port?.name == "Bergen" && fare?.price == 80)
        let nameless = E.Port(name: "somewhere")
        try db.save(nameless)
        #expect(nameless.code.count == 36)
        let parcel = E.Parcel(weight: 2)
        try db.save(parcel)
        let tag = try #require(parcel.tag)
        #expect(try db.find(E.Parcel.self, tag)?.weight == 2)
        let error = try #require(try E.savedTwice(db))
        #expect(error == .duplicate(entity: "Port", properties: ["code"], values: [.text("AMS")]))
        #expect(try db.find(E.Port.self, "AMS")?.name == "Amsterdam Harbour")
    }

    @Test func optionsOfProperties() throws {
        let tides = try E.tides(db)
        #expect(tides.map(\.height) == [1.4])
        let visit = E.Visit(ship: "Ada", port: "BRG", day: 3, firstSeen: 3, pilot: "Eve")
        try db.save(visit)
        visit.firstSeen = 9
        visit.pilot = nil
        try db.save(visit)
        let read = try #require(try db.find(E.Visit.self, 1))
        #expect(read.firstSeen == 3 && read.pilot == "Eve")
        #expect(try db.query(E.Visit.self).where("day_number = 3").count() == 1)
        #expect(try db.query(E.Visit.self).where(\.day == 3).count() == 1)
        #expect(throws: MakoError.self) { try db.save(E.Visit(ship: "Ada", day: 3)) }
        try db.save(E.Visit(ship: "Ada", day: 4))
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func propertiesAreEncrypted() throws {
        try withTemporaryFile { path in
            let (hospital, ill) = try E.treated(path, [UInt8](repeating: 7, count: 32))
            #expect(ill == 1)
            #expect(try hospital.find(E.Patient.self, 1)?.diagnosis == "influenza")
            try hospital.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(bytes.range(of: Data("influenza".utf8)) == nil)
        }
    }

    @Test func subclassesHaveTablesOfTheirOwn() throws {
        let tug = E.Tug(power: 900)
        tug.name = "Strong"
        try db.save(tug)
        #expect(try db.query(E.Tug.self).where(\.name == "Strong" && \.power > 500).count() == 1)
        #expect(try db.query(E.Vessel.self).count() == 0)
        tug.length = 30
        try db.save(tug)
        try db.save([E.Vessel(name: "Long", length: 200)])
        #expect(try E.longVessels(db).map(\.name) == ["Long", "Strong"])
        try db.save(E.Mooring(number: 1, guest: tug))
        #expect((try db.find(E.Mooring.self, 1)?.guest as? E.Tug)?.power == 900)
    }

    @Test func structsAndValues() throws {
        let (ada, _) = try E.made(db)
        let (wreck, finder) = try E.dived(db, ada)
        #expect(finder === ada)
        #expect(wreck.site?.name == "Outer Banks" && wreck.site?.id == 1)
        #expect(try db.find(E.Wreck.self, wreck.name)?.finder.load()?.name == "Ada")
        #expect(try db.find(E.Wreck.self, "Vestris")?.depth == 32)
        let dives = try E.explored(db, wreck)
        #expect(dives.map(\.count) == [1, 1] && dives[0][0].wrecks.map(\.name) == ["Vestris"])
        let (deep, north) = try E.logged(db, wreck)
        #expect(deep.map(\.title) == ["first"] && deep[0].sites.map(\.name) == ["north"] && north == 1)
        #expect(try db.find(E.Wreck.self, "Vestris")?.depth == 33)
        #expect(try E.warm(db) == 1)
    }

    @Test func valuesWithSeveralColumns() throws {
        let (long, same) = try E.moored(db)
        #expect(long.map(\.outline.width) == [4] && same.map(\.fee?.amount) == [80])
        let read = try #require(try db.query(E.Berth.self).first())
        #expect(read.outline == CGRect(x: 15, y: 0, width: 4, height: 12) && read.season == nil)
    }

    @Test func aHookRefuses() throws {
        try E.refused(db)
        #expect(throws: MakoError.vetoed(entity: "Voyage", hook: "willInsert")) { try db.save(E.Voyage(title: "a")) }
        #expect(try db.query(E.Voyage.self).isEmpty())
        #expect(try db.save(E.Voyage(title: "round", days: 3)))
    }

    @Test func aModelChanges() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [E.Before.Ferry.self])
            try db.save(E.Before.Ferry(name: "Ada", seats: 120, colour: "red"))
            try db.close()
            let tried = try E.After.tried(path)
            #expect(tried.count > 2 && tried.allSatisfy { $0.hasPrefix("Ferry: ") })
            db = try Database(at: path, entities: [E.After.Ferry.self])
            #expect(db.migrations.count == tried.count)
            let ferry = try #require(try db.find(E.After.Ferry.self, 1))
            #expect(ferry.title == "Ada" && ferry.seats == 120 && ferry.isElectric)
            try db.close()
            // What left the type is out of sight and not lost.
            db = try Database(at: path, entities: [E.Before.Ferry.self])
            #expect(try db.find(E.Before.Ferry.self, 1)?.colour == "red")
            try db.close()
            var options = DatabaseOptions()
            options.dropsRetired = true
            db = try Database(at: path, entities: [E.After.Ferry.self], options: options)
            try db.close()
            db = try Database(at: path, entities: [E.Before.Ferry.self])
            #expect(try db.find(E.Before.Ferry.self, 1)?.colour == "")
        }
    }
}
