import Mako
import Testing

#if OrderedCollections
    import OrderedCollections
#endif

/// The examples of the article `Relationships.md`.
enum RelationshipExample {
    // EXAMPLE Relationships.md
    @Entity final class Office {
        var city = ""
        @Relationship(inverse: \Team.office, deleteRule: .deny) var teams: ToMany<Team>
    }

    @Entity final class Team {
        var name = ""
        var office: Office?
        @Relationship(inverse: \Member.team) var members: ToMany<Member>
    }

    @Entity final class Member {
        var name = ""
        var age = 0
        var team: Team?
        @Relationship(inverse: \Duty.assignee, deleteRule: .cascade) var duties: ToMany<Duty>
    }

    @Entity final class Duty {
        var title = ""
        var assignee: Member?
    }
    // EXAMPLE ends

    static func hired(_ db: Database) throws -> Member {
        // EXAMPLE Relationships.md
        let engines = Team(name: "Engines", office: Office(city: "London"))
        let ada = Member(name: "Ada", age: 36, team: engines)
        try db.save(ada)  // the team and its office, too
        ada.team?.name = "Turbines"
        try db.save(ada)  // a changed object behind it as well
        // EXAMPLE ends
        return ada
    }

    static func counted(_ team: Team) throws -> (Int, [Member], [Member]) {
        // EXAMPLE Relationships.md
        let count = try team.members.count
        for member in try team.members.load() { print(member.name) }
        let old = try team.members.query().where(\.age > 30).orderBy(\.name).fetch()
        // EXAMPLE ends
        return (count, try team.members.load().array, old.array)
    }

    static func given(_ db: Database, _ team: Team) throws -> Member {
        // EXAMPLE Relationships.md
        let bob = Member(name: "Bob")
        bob.team = team
        try team.members.append(Member(name: "Eve"))
        try db.save(team)  // stores Bob and Eve
        try team.members.remove(bob)
        try db.save(team)  // Bob has no team
        // EXAMPLE ends
        return bob
    }

    static func selected(_ db: Database, _ bob: Member) throws -> [Member] {
        // EXAMPLE Relationships.md
        var selection: Set<EntityID<Member>> = []
        if let id = bob.entityID { selection.insert(id) }
        let selected = try db.find(selection)
        // EXAMPLE ends
        return selected
    }

    // EXAMPLE Relationships.md
    @Entity final class Walk {
        var name = ""
        var stops: [Sight] = []
        var byWeather: [String: Sight] = [:]
        var days: [[Sight]] = []
    }

    @Entity final class Sight {
        var name = ""
        @Relationship(inverse: \Walk.stops) var walks: ToMany<Walk>
    }
    // EXAMPLE ends

    static func walked(_ db: Database) throws -> (Walk, [Walk]) {
        // EXAMPLE Relationships.md
        let bridge = Sight(name: "bridge")
        let tower = Sight(name: "tower")
        let walk = Walk(name: "short", stops: [bridge, tower, bridge])
        walk.byWeather["rain"] = tower
        try db.save(walk)
        walk.stops.removeLast()
        try db.save(walk)
        let walks = try tower.walks.load()
        // EXAMPLE ends
        return (walk, walks.array)
    }

    #if OrderedCollections
        // EXAMPLE Relationships.md
        @Entity final class Tour {
            var name = ""
            var halts: OrderedSet<Halt> = []
            var tags: OrderedSet<String> = []
        }

        @Entity final class Halt: Hashable {
            var name = ""

            static func == (left: Halt, right: Halt) -> Bool { left === right }
            func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        }
        // EXAMPLE ends

        static func toured(_ db: Database) throws -> [Tour] {
            // EXAMPLE Relationships.md
            let (pier, castle) = (Halt(name: "pier"), Halt(name: "castle"))
            try db.save(Tour(name: "old town", halts: [castle, pier, castle], tags: ["short", "dry"]))
            let tours = try db.query(Tour.self).where("ANY halts.name = 'pier' AND tags.@count > 1").fetch()
            // EXAMPLE ends
            return tours.array
        }
    #endif

    // EXAMPLE Relationships.md
    @Entity final class Remark {
        var text = ""
        var subject: (any ObjectEntity)?
    }
    // EXAMPLE ends

    static func remarked(_ db: Database, _ tower: Sight) throws -> [Remark] {
        // EXAMPLE Relationships.md
        let remark = Remark(text: "closed on Mondays", subject: tower)
        try db.save(remark)
        let about = try db.query(Remark.self).where(\.subject == tower).fetch()
        if let sight = about.first?.subject as? Sight { print(sight.name) }
        // EXAMPLE ends
        return about.array
    }

    // EXAMPLE Relationships.md
    @Entity final class Album {
        var name = ""
        var pages: [any ObjectEntity] = []
        var byCaption: [String: any ObjectEntity] = [:]
    }
    // EXAMPLE ends

    static func collected(_ db: Database, _ tower: Sight, _ remark: Remark) throws -> ([Sight], [Album], [Album]) {
        // EXAMPLE Relationships.md
        let album = Album(name: "harbour", pages: [tower, remark, tower], byCaption: ["cover": remark])
        try db.save(album)
        let sights = album.pages.compactMap { $0 as? Sight }
        let albums = try db.query(Album.self).where(.contains(\.pages, tower)).fetch()
        let holders = try tower.referencing(Album.self)
        // EXAMPLE ends
        return (sights, albums.array, holders)
    }

    // EXAMPLE Relationships.md
    @Entity final class Notebook {
        var name = ""
        var entries: [ObjectOrValue] = []
        var byTopic: [String: ObjectOrValue] = [:]
    }
    // EXAMPLE ends

    static func noted(_ db: Database, _ tower: Sight) throws -> ([String], [Notebook]) {
        var lines: [String] = []
        func print(_ line: some CustomStringConvertible) { lines.append("\(line)") }
        // EXAMPLE Relationships.md
        let notebook = Notebook(
            name: "trip", entries: [.object(tower), "closed at noon", 12], byTopic: ["height": 54.5])
        try db.save(notebook)
        for entry in notebook.entries {
            if let sight = entry.object as? Sight { print(sight.name) }
            if let number = entry.value(as: Int.self) { print(number) }
        }
        let notebooks = try db.query(Notebook.self).where(.contains(\.entries, 12)).fetch()
        // EXAMPLE ends
        return (lines, notebooks.array)
    }

    // EXAMPLE Relationships.md
    @Entity final class Invoice {
        var number = 0
        @Relationship(.owned) var lines: [Line] = []
        @Relationship(.weak) var lastReader: Reader?
    }

    @Entity final class Line {
        var text = ""
        var amount = 0
    }

    @Entity final class Reader {
        var name = ""
    }
    // EXAMPLE ends

    static func billed(_ db: Database) throws -> (Invoice, Int) {
        // EXAMPLE Relationships.md
        let lines = [Line(text: "rope", amount: 2), Line(text: "tar", amount: 1)]
        let invoice = Invoice(number: 1, lines: lines)
        try db.save(invoice)
        invoice.lines.removeFirst()
        try db.save(invoice)  // the rope's row is gone
        let left = try db.query(Line.self).count()  // 1
        try invoice.remove()  // and now the tar's
        // EXAMPLE ends
        return (invoice, left)
    }

    static func removed(_ db: Database, _ office: Office, _ member: Member, _ team: Team) throws -> String {
        // EXAMPLE Relationships.md
        try member.remove()  // .cascade: her duties go with her
        do {
            try office.remove()
        } catch MakoError.deniedByReference(_, let from, let property) {
            print("\(from).\(property) still leads there")  // Team.office still leads there
        }
        try team.remove()  // .nullify: its members have no team now
        // EXAMPLE ends
        return "removed"
    }

    static func referred(_ db: Database, _ team: Team, _ walk: Walk) throws -> ([Member], Int, Int, [Sight], Int) {
        // EXAMPLE Relationships.md
        let members = try team.referencing(Member.self)
        let count = try team.referencedCount()  // of any entity
        let alone = try db.query(Member.self).referencing(.null).count()
        let stops = try db.query(Sight.self).referenced(by: walk).where(\.name != "tower").fetch()
        let unused = try db.query(Sight.self).referenced(by: .null).count()
        // EXAMPLE ends
        return (members, count, alone, stops.array, unused)
    }

    static func loaded(_ db: Database, _ walks: [Walk], _ member: Member) throws -> (Team?, [String], Int) {
        var names: [String] = []
        func print(_ lines: [String]) { names += lines }
        // EXAMPLE Relationships.md
        let team = try member.load(\.team)  // throws where `member.team` would answer nil
        let before = db.metrics.lazyLoads
        for walk in walks { print(walk.stops.map(\.name)) }
        let loads = db.metrics.lazyLoads - before
        // EXAMPLE ends
        return (team, names, loads)
    }
}

@Suite struct RelationshipExampleTests {
    private typealias E = RelationshipExample
    private let db: Database

    init() throws {
        db = try Database.inMemory(entities: [
            E.Office.self, E.Team.self, E.Member.self, E.Duty.self, E.Walk.self, E.Sight.self, E.Invoice.self,
            E.Reader.self,
        ])
    }

    @Test func childrenAreSavedAlong() throws {
        let ada = try E.hired(db)
        let read = try #require(try db.find(E.Member.self, ada.id ?? 0))
        #expect(read.team?.name == "Turbines" && read.team?.office?.city == "London")
        #expect(read.team === read.team)
    }

    @Test func toManyIsAQuery() throws {
        let ada = try E.hired(db)
        try db.save(E.Member(name: "Bob", age: 20, team: ada.team))
        let team = try #require(ada.team)
        let (count, all, old) = try E.counted(team)
        #expect(count == 2 && all.map(\.name) == ["Ada", "Bob"] && old.map(\.name) == ["Ada"])
        #expect(try Database.withDefault(db) { try E.Team().members.count } == 0)
    }

    @Test func membersAreGivenFromEitherSide() throws {
        let team = E.Team(name: "Engines")
        let bob = try E.given(db, team)
        #expect(try team.members.load().map(\.name) == ["Eve"])
        let selected = try E.selected(db, bob)
        #expect(selected.map(\.name) == ["Bob"] && selected[0].team == nil)
    }

    @Test func collectionsKeepTheirForm() throws {
        let (walk, walks) = try E.walked(db)
        #expect(walks.map(\.name) == ["short"])
        let read = try #require(try db.find(E.Walk.self, walk.id ?? 0))
        #expect(read.stops.map(\.name) == ["bridge", "tower"] && read.byWeather["rain"] === read.stops[1])
        #expect(try db.query(E.Sight.self).count() == 2)
        try read.stops[1].remove()
        #expect(try db.find(E.Walk.self, 1)?.stops.map(\.name) == ["bridge"])
        #expect(try db.find(E.Walk.self, 1)?.byWeather.isEmpty == true)
    }

    #if OrderedCollections
        @Test func orderedSetsHaveEachObjectOnce() throws {
            let db = try Database.inMemory(entities: [E.Tour.self, E.Halt.self])
            let tours = try E.toured(db)
            #expect(tours.map { $0.halts.map(\.name) } == [["castle", "pier"]])
            #expect(tours.map { Array($0.tags) } == [["short", "dry"]])
        }
    #endif

    @Test func aReferenceToAnyObjectIsFoundAndLoaded() throws {
        let tower = E.Sight(name: "tower")
        let about = try E.remarked(db, tower)
        #expect(about.map(\.text) == ["closed on Mondays"])
        #expect((about.first?.subject as? E.Sight)?.id == tower.id)
        #expect(try tower.referencing(E.Remark.self).count == 1)
    }

    @Test func aCollectionHoldsObjectsOfSeveralClasses() throws {
        let tower = E.Sight(name: "tower")
        let (sights, albums, holders) = try E.collected(db, tower, E.Remark(text: "steep"))
        #expect(sights.map(\.name) == ["tower", "tower"])
        #expect(albums.map(\.name) == ["harbour"] && holders.map(\.name) == ["harbour"])
        #expect((albums.first?.pages[1] as? E.Remark)?.text == "steep")
    }

    @Test func aCollectionHoldsObjectsAndValues() throws {
        let (lines, notebooks) = try E.noted(db, E.Sight(name: "tower"))
        #expect(lines == ["tower", "12"] && notebooks.map(\.name) == ["trip"])
        #expect(notebooks.first?.byTopic == ["height": 54.5])
    }

    @Test func ownedObjectsGo() throws {
        let (_, left) = try E.billed(db)
        #expect(left == 1)
        #expect(try db.query(E.Line.self).count() == 0)
        let reader = E.Reader(name: "Eve")
        let invoice = E.Invoice(number: 2, lastReader: reader)
        try db.save(invoice)
        #expect(try db.query(E.Reader.self).count() == 0)
        try db.save(reader)
        try db.save(invoice)
        #expect(try db.find(E.Invoice.self, 2)?.lastReader?.name == "Eve")
    }

    @Test func deleteRulesHold() throws {
        let ada = try E.hired(db)
        let bob = E.Member(name: "Bob", team: ada.team)
        try db.save([E.Duty(title: "a", assignee: ada), E.Duty(title: "b", assignee: bob)])
        let team = try #require(ada.team)
        let office = try #require(team.office)
        _ = try E.removed(db, office, ada, team)
        #expect(try db.query(E.Duty.self).fetch().map(\.title) == ["b"])
        #expect(try db.exists(office))
        #expect(try db.find(E.Member.self, bob.id ?? 0)?.team == nil)
    }

    @Test func referrersAreFound() throws {
        let ada = try E.hired(db)
        let team = try #require(ada.team)
        try db.save([E.Member(name: "Bob", team: team), E.Member(name: "Eve")])
        let (walk, _) = try E.walked(db)
        try db.save(E.Sight(name: "alone"))
        let (members, count, alone, stops, unused) = try E.referred(db, team, walk)
        #expect(members.map(\.name) == ["Ada", "Bob"] && count == 2 && alone == 1)
        #expect(stops.map(\.name) == ["bridge"] && unused == 1)
    }

    @Test func loadsAreCountedAndErrorsKept() throws {
        let ada = try E.hired(db)
        _ = try E.walked(db)
        let walks = try db.query(E.Walk.self).fetch()
        let read = try #require(try db.find(E.Member.self, ada.id ?? 0))
        let (team, names, loads) = try E.loaded(db, walks.array, read)
        #expect(team?.name == "Turbines" && names == ["bridge", "tower"] && loads == 1)
        let late = try #require(try db.find(E.Member.self, ada.id ?? 0))
        try db.close()
        #expect(late.team == nil && late.loadError == .closed(path: ":memory:"))
        #expect(throws: MakoError.closed(path: ":memory:")) { try late.load(\.team) }
    }
}
