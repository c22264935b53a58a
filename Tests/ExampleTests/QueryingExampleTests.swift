import Foundation
import Mako
import TestHelpers
import Testing

/// The examples of the article `Querying.md`.
enum QueryingExample {
    // EXAMPLE Querying.md
    @Entity final class City {
        #Index<City>([\.population])
        var name = ""
        var country = ""
        var population = 0
        var area: Double?
        var isCapital = false
        var river: River?
        @Attribute(.fullText) var history = ""
    }

    @Entity final class River {
        var name = ""
        var length = 0
        @Relationship(inverse: \City.river) var cities: ToMany<City>
    }
    // EXAMPLE ends

    static func chained(_ db: Database) throws -> ([City], [City]) {
        // EXAMPLE Querying.md
        let swiss = db.query(City.self).where(\.country == "CH")  // a value: nothing is read yet
        let page = try swiss.where("population > 100000")
            .orderBy(\.river.name).orderBy(\.population, .descending)
            .limit(2).offset(1)
            .fetch()
        let byName = try swiss.orderBy("river.name DESC, name").fetch()
        // EXAMPLE ends
        return (page.array, byName.array)
    }

    static func typed(_ db: Database, _ rhine: River) throws -> [[City]] {
        // EXAMPLE Querying.md
        let large = try db.query(City.self).where(\.population > 1_000_000 && \.isCapital).fetch()
        let onTheRhine = try db.query(City.self)
            .where(\.river == rhine || \.river.name ~= "aare%")
            .fetch()
        let middling = try db.query(City.self).where(\.population << (100_000..<500_000)).fetch()
        let some = try db.query(City.self).where(\.country << ["CH", "AT"] && \.area != nil).fetch()
        let none = try db.query(City.self).where(!(\.population > 10)).fetch()
        // EXAMPLE ends
        return [large.array, onTheRhine.array, middling.array, some.array, none.array]
    }

    static func built(_ db: Database) throws -> [[City]] {
        // EXAMPLE Querying.md
        let big = try db.query(City.self)
            .where { $0.population > 1_000_000 && $0.name.hasPrefix("V") }
            .fetch()
        let near = try db.query(City.self)
            .where { ["AT", "DE"].contains($0.country) || $0.isCapital }
            .fetch()
        let sorted = try db.query(City.self)
            .where { (100_000..<500_000).contains($0.population) }
            .orderBy(\.country, \.name)
            .limit(2, offset: 1)
            .fetch()
        // EXAMPLE ends
        return [big.array, near.array, sorted.array]
    }

    static func textual(_ db: Database, _ rhine: River, _ typed: String) throws -> [[City]] {
        // EXAMPLE Querying.md
        let country = "CH"
        let first = try db.query(City.self)
            .where("country = \(country) AND population >= \(100_000)")
            .fetch()
        let second = try db.query(City.self).where("name LIKE ? OR river = ?", "%ern", rhine).fetch()
        let third = try db.query(City.self).where("river.length > 500 AND area IS NOT NULL").fetch()
        let fourth = try db.query(City.self).where("country IN \(["CH", "AT"])").fetch()
        let fifth = try db.query(City.self).where(text: typed, 100_000).fetch()  // text of a user
        // EXAMPLE ends
        return [first.array, second.array, third.array, fourth.array, fifth.array]
    }

    static func misspelt(_ db: Database) -> String {
        var notified = ""
        func print(_ error: MakoError) { notified = "\(error)" }
        // EXAMPLE Querying.md
        do throws(MakoError) {
            _ = try db.query(City.self).where("popluation > 5").fetch()
        } catch {
            print(error)  // shows the text, a caret below the word, and the property that may be meant
        }
        // EXAMPLE ends
        return notified
    }

    static func predicates(_ db: Database) throws -> [[City]] {
        // EXAMPLE Querying.md
        let wanted = ["CH", "AT"]
        let large = try db.query(City.self)
            .where(#Predicate { wanted.contains($0.country) && $0.population > 150_000 })
            .fetch()
        let onTheAare = try db.query(City.self).where(#Predicate { $0.river?.name == "Aare" }).fetch()
        let dense = try db.query(City.self).where(
            #Predicate { city in
                if let area = city.area { area < 60 } else { city.name.starts(with: "V") }
            }
        ).fetch()
        // EXAMPLE ends
        return [large.array, onTheAare.array, dense.array]
    }

    static func formatted(_ db: Database) throws -> [City] {
        // EXAMPLE Querying.md
        let found = try db.query(City.self)
            .where("country IN %@ AND population > %d", withParameters: [["CH", "AT"], 100_000])
            .fetch()
        // EXAMPLE ends
        return found.array
    }

    static func many(_ db: Database) throws -> [[River]] {
        // EXAMPLE Querying.md
        let large = try db.query(River.self)
            .where("cities.@count > 0 AND ANY cities.population > \(150_000)")
            .fetch()
        let same = try db.query(River.self)
            .where(.any(\.cities, \.population > 150_000))
            .orderBy(\.cities.count)
            .fetch()
        let capitals = try db.query(River.self).where(.all(\.cities, \.isCapital == true)).fetch()
        // EXAMPLE ends
        return [large.array, same.array, capitals.array]
    }

    static func nested(_ db: Database) throws -> ([City], [City], [River]) {
        // EXAMPLE Querying.md
        let above = try db.query(City.self)
            .where("population > (SELECT avg(population) FROM City)")
            .fetch()
        let along = try db.query(City.self)
            .where("river IN (SELECT id FROM River WHERE length > \(1000))")
            .fetch()
        let without = try db.query(River.self)
            .where("NOT EXISTS (SELECT 1 FROM City WHERE river = River.id)")
            .fetch()
        // EXAMPLE ends
        return (above.array, along.array, without.array)
    }

    static func terminals(_ db: Database) throws -> (
        City?, City?, Int, Bool, [Int], [String], GroupedObjects<String, City>, Int
    ) {
        // EXAMPLE Querying.md
        let cities = db.query(City.self)
        let largest = try cities.orderBy(\.population, .descending).first()
        let bern = try cities.where(\.name == "Bern").one()  // throws when there are several
        let count = try cities.count()
        let isThere = try cities.where(\.population > 10_000_000).exists()
        let ids = try cities.where(\.country == "CH").ids()
        let countries = try cities.distinct(\.country)
        let byCountry = try cities.groupBy(\.country)
        let removed = try cities.where(\.population < 1000).delete()
        // EXAMPLE ends
        return (largest, bern, count, isThere, ids, countries, byCountry, removed)
    }

    static func found() throws -> (City?, [City], City?) {
        // EXAMPLE Querying.md
        let one = try City.find(1)
        let several = try City.find([1, 2, 3])  // read together
        let named = try City.first(\.name, equals: "Bern")
        // EXAMPLE ends
        return (one, several, named)
    }

    static func away(_ db: Database) async throws -> (Int, [City]) {
        // EXAMPLE Querying.md
        let count = try await db.query(City.self).count()
        let capitals = try await db.query(City.self).where(\.isCapital).fetch()
        // EXAMPLE ends
        return (count, capitals.array)
    }

    static func large(_ db: Database) throws -> (City, [String]) {
        // EXAMPLE Querying.md
        let pages = try db.query(City.self).orderBy(\.name).batch(100)
        let last = try pages.object(at: pages.count - 1)
        let cities = try db.query(City.self).prefetch(\.river).fetch()
        let rivers = cities.map { $0.river?.name ?? "none" }
        // EXAMPLE ends
        return (last, rivers)
    }

    static func live(_ db: Database) async throws -> [String] {
        var names: [String] = []
        // EXAMPLE Querying.md
        let towns = db.query(City.self).where(\.population > 100_000).orderBy(\.name)
        for try await difference in towns.observe() {
            names = difference.results.map(\.name)
            print(difference.deletions, difference.insertions, difference.moves, difference.updates)
            if names.count > 4 { break }
        }
        // EXAMPLE ends
        return names
    }

    static func handled(_ db: Database, _ show: @escaping @Sendable (Results<City>) -> Void) -> LiveToken {
        // EXAMPLE Querying.md
        let token = db.query(City.self).orderBy(\.name).observe(on: .main) { outcome in
            if case .success(let difference) = outcome { show(difference.results) }
        }
        // EXAMPLE ends
        return token
    }

    static func shared(_ db: Database) throws -> (ObjectDomain, Results<City>) {
        // EXAMPLE Querying.md
        let screen = ObjectDomain(db)
        let shown = try db.query(City.self).domain(screen).fetch()
        // EXAMPLE ends
        return (screen, shown)
    }

    static func aggregated(_ db: Database) throws -> (Int, Double, Double?, Int?, Double?, [String]) {
        var lines: [String] = []
        func print(_ value: StoredValue, _ count: Int) { lines.append("\(value) \(count)") }
        // EXAMPLE Querying.md
        let swiss = db.query(City.self).where(\.country == "CH")
        let people = try swiss.sum(\.population)
        let density = try swiss.sum("population / area")
        let mean = try swiss.avg(\.population)
        let most = try swiss.max(\.population)
        let least = try swiss.where(\.population > 1_000_000_000).avg("area * 2")  // nil: there is none
        for (country, count) in try db.query(City.self).groupCount(\.country) { print(country, count) }
        // EXAMPLE ends
        return (people, density, mean, most, least, lines)
    }

    static func grouped(_ db: Database) throws -> [String] {
        var lines: [String] = []
        func print(_ values: StoredValue...) { lines.append(values.map(\.description).joined(separator: " ")) }
        // EXAMPLE Querying.md
        let countries = try db.query(City.self)
            .where(\.population > 1000)
            .group(by: \.country)
            .select(.count.named("cities"), .sum(\.population))
            .having(.count > 1)
            .orderBy("cities DESC")
            .fetch()
        for row in countries.rows { print(row[0], row[1], row[2]) }
        // EXAMPLE ends
        return lines
    }

    static func joined(_ db: Database) throws -> [StoredValue?] {
        // EXAMPLE Querying.md
        let joined = try db.query(City.self)
            .joinTo(River.self, left: "river", target: "id")
            .where("River.length > 200").orderBy("River.name")
            .fetch()
        let rivers = joined.map { $0.joinedResults["River.name"] }
        // EXAMPLE ends
        return rivers
    }

    static func joinedWithMany(_ db: Database) throws -> [String] {
        // EXAMPLE Querying.md
        let alongRivers = try db.query(River.self)
            .joinTo(City.self, left: "id", target: "river", .inner)
            .where("City.population > 1000").orderBy("name").orderBy("City.name")
            .fetch()
        let pairs = alongRivers.map { "\($0.name): \($0.joinedResults["City.name"] ?? .null)" }
        // EXAMPLE ends
        return pairs
    }

    static func selected(_ db: Database) throws -> (RawResults, RawResults, StoredValue?) {
        // EXAMPLE Querying.md
        let shared = try db.rawQuery(
            """
            SELECT r.name, count(c.id) AS cities, sum(c.population) / count(c.id) FROM River r
            LEFT JOIN City c ON c.river = r.id AND c.population > \(1000)
            GROUP BY r.id, r.name HAVING r.name <> 'Aare'
            """)
        let found = try db.rawQuery(
            """
            SELECT country, count(*) AS cities, sum(population) FROM City
            WHERE river.length > \(100) GROUP BY country ORDER BY country
            """)
        let first = found.value("cities", row: 0)
        // EXAMPLE ends
        return (shared, found, first)
    }

    static func typed(_ db: Database, _ print: (String, Double) -> Void) throws -> ([String], [(Int, Int?)]) {
        // EXAMPLE Querying.md
        let largest = try db.rawQuery(
            "SELECT name, area FROM City ORDER BY population DESC LIMIT \(3)", as: (String, Double?).self)
        for (name, area) in largest { print(name, area ?? 0) }
        let countries = try db.rawQuery(
            "SELECT DISTINCT country FROM City ORDER BY country", as: String.self)

        struct Head: Decodable {
            let country: String
            let cities: Int
            let largest: Int?
        }
        let heads = try db.rawQuery(
            "SELECT country, count(*) AS cities, max(population) AS largest FROM City GROUP BY country",
            as: Head.self)
        // EXAMPLE ends
        return (countries, heads.map { ($0.cities, $0.largest) })
    }

    static func written(_ db: Database) throws -> Int {
        // EXAMPLE Querying.md
        let grown = try db.rawQuery("UPDATE City SET area = area * 2 WHERE country = ?", "CH").changedRows
        try db.rawQuery("INSERT INTO River (name, length) VALUES (\("Limmat"), \(36))")
        // EXAMPLE ends
        return grown
    }

    static func returned(_ db: Database) throws -> ([[StoredValue]], RawResults, RawResults) {
        // EXAMPLE Querying.md
        let stored = try db.rawQuery(
            "INSERT INTO River (name, length) VALUES ('Sihl', 73) RETURNING id, name"
        ).rows
        let doubled = try db.rawQuery(
            "UPDATE River SET length = length * 2 WHERE name = 'Sihl' RETURNING length")
        let week = try db.rawQuery(
            """
            SELECT date('now', '-7 days') AS since, count(*) FILTER (WHERE length > 50) AS long
            FROM River
            """)
        // EXAMPLE ends
        return (stored, doubled, week)
    }

    static func prepared(_ db: Database, _ found: [(String, Int)]) throws -> [String] {
        // EXAMPLE Querying.md
        let insert = try db.prepare("INSERT INTO River (name, length) VALUES (?, ?)")
        try insert.run("Reuss", 164)
        try db.transaction { _ in
            try insert.run("Thur", 131)
            try insert.run("Saane", 128)
        }
        try insert.run(rows: found.map { [$0.0, $0.1] })
        let named = try db.prepare("INSERT INTO River (name, length) VALUES (:name, :length)")
        try named.run(named: ["name": "Doubs", "length": 453])
        let longer = try db.prepare("SELECT name FROM River WHERE length > ? ORDER BY length")
        let names = try longer.run(130).rows(as: String.self)
        // EXAMPLE ends
        return names
    }

    static func streamed(_ db: Database) throws -> [String] {
        var lines: [String] = []
        func print(_ name: StoredValue, _ number: Int) { lines.append("\(name) \(number)") }
        // EXAMPLE Querying.md
        let rivers = try db.rows("SELECT name, length FROM River WHERE length > \(100) ORDER BY length")
        var sum = 0
        while let river = try rivers.next() {
            sum += try river.value("length", as: Int.self)
            print(river["name"] ?? .null, sum)
        }
        try db.forEachRow("SELECT country, count(*) FROM City GROUP BY country") { row in
            let (country, cities) = try row.values(as: (String, Int).self)
            print(.text(country), cities)
        }
        // EXAMPLE ends
        return lines
    }

    static func streamedAsync(_ db: Database) async throws -> [StoredValue] {
        var sent: [StoredValue] = []
        func send(_ value: StoredValue) async { sent.append(value) }
        // EXAMPLE Querying.md
        for try await row in try db.rows("SELECT name FROM City ORDER BY name") {
            guard let name = row[0] else { continue }
            await send(name)
        }
        // EXAMPLE ends
        return sent
    }

    static func sought(_ db: Database) throws -> ([City], [City], [(object: City, text: String?)]) {
        // EXAMPLE Querying.md
        let harbours = try db.query(City.self).where("history MATCH 'harb* NOT ship'").fetch()
        let best = try db.query(City.self)
            .where(.match(\.history, "\"old town\" OR castle") && \.country == "CH")
            .orderBy(.rank).limit(20)
            .fetch()
        let shown = try db.query(City.self).where("history MATCH ?", "castle")
            .excerpts(\.history, ExcerptStyle(before: "[", behind: "]", words: 8))
        // EXAMPLE ends
        return (harbours.array, best.array, shown)
    }

    static func patterns(_ db: Database, _ typed: String) throws -> [[City]] {
        // EXAMPLE Querying.md
        let all = try db.query(City.self)
            .where(.match(\.history, MatchPattern(allTokens: typed)))
            .orderBy(.rank)
            .fetch()
        let any = try db.query(City.self)
            .where("history MATCH \(MatchPattern(anyToken: typed))")
            .fetch()
        let exact = try db.query(City.self)
            .where("history MATCH ?", MatchPattern(phrase: typed))
            .fetch()
        let asTyped = try db.query(City.self)
            .where(.match(\.history, MatchPattern(prefix: typed)))
            .limit(10)
            .fetch()
        // EXAMPLE ends
        return [all.array, any.array, exact.array, asTyped.array]
    }

    // EXAMPLE Querying.md
    @Entity final class Harbour {
        var name = ""
        @Attribute(.spatial) var place = Coordinate(latitude: 0, longitude: 0)
    }
    // EXAMPLE ends

    static func near(_ db: Database) throws -> [[Harbour]] {
        // EXAMPLE Querying.md
        let home = Coordinate(latitude: 60.39, longitude: 5.32)
        let near = try db.query(Harbour.self).where(\.place[distanceTo: home] < 50_000).fetch()
        let nearest = try db.query(Harbour.self)
            .orderBy(\.place[distanceTo: home]).limit(2)
            .fetch()
        let southern = try db.query(Harbour.self)
            .where("distance(place, -33.9, 18.4) < ?", 1_000_000)
            .fetch()
        // EXAMPLE ends
        return [near.array, nearest.array, southern.array]
    }

    static func explained(_ db: Database) throws -> String {
        // EXAMPLE Querying.md
        let plan = try db.query(City.self)
            .where("population > 100000 AND name LIKE 'B%'").orderBy("name")
            .explain()
        // EXAMPLE ends
        return plan
    }

    static func measured(_ db: Database, _ print: (String, Int, Int, Duration) -> Void) throws -> PlanExplanation {
        // EXAMPLE Querying.md
        let measured = try db.query(City.self)
            .where("population > 100000").orderBy("name")
            .explanation(analyzing: true)
        for step in measured.analysis?.steps ?? [] {
            print(step.text, step.examinedRows, step.passed, step.time)
        }
        // EXAMPLE ends
        return measured
    }

    static func paged(_ db: Database, _ print: ([String]) -> Void) throws -> ([City], [City]) {
        // EXAMPLE Querying.md
        let pages = db.query(City.self).orderBy(\.name).orderBy(\.id).limit(2)
        let first = try pages.fetch()
        if let last = first.last {
            let next = pages.where("name > ? OR name = ? AND id > ?", last.name, last.name, last.id)
            print(try next.fetch().map(\.name))
        }
        let third = try pages.offset(4).fetch()  // by number: scans the first four
        // EXAMPLE ends
        return (first.array, third.array)
    }

    static func watched(_ print: @escaping @Sendable (String) -> Void) throws -> Database {
        // EXAMPLE Querying.md
        var options = DatabaseOptions()
        options.slowQueryThreshold = .milliseconds(50)
        options.onSlowQuery = { query in print("\(query.entity) took \(query.duration): \(query.plan)") }
        let db = try Database.inMemory(entities: [City.self], options: options)
        // EXAMPLE ends
        return db
    }
}

@Suite struct QueryingExampleTests {
    private typealias E = QueryingExample
    private let db: Database
    private let rhine = E.River(name: "Rhine", length: 1230)

    init() throws {
        db = try Database.inMemory(entities: [E.City.self])
        let aare = E.River(name: "Aare", length: 288)
        try db.save([
            E.City(name: "Basel", country: "CH", population: 170_000, area: 24, river: rhine),
            E.City(name: "Bern", country: "CH", population: 130_000, area: 52, isCapital: true, river: aare),
            E.City(name: "Vienna", country: "AT", population: 1_900_000, area: 415, isCapital: true),
            E.City(name: "Zurich", country: "CH", population: 420_000), E.City(name: "Nowhere", country: "XX"),
        ])
    }

    private func names(_ cities: [E.City]) -> [String] { cities.map(\.name) }

    @Test func conditionsInThreeForms() throws {
        #expect(
            try E.typed(db, rhine).map { names($0).sorted() } == [
                ["Vienna"], ["Basel", "Bern"], ["Basel", "Bern", "Zurich"], ["Basel", "Bern", "Vienna"], ["Nowhere"],
            ])
        #expect(try E.built(db).map(names) == [["Vienna"], ["Bern", "Vienna"], ["Bern", "Zurich"]])
        #expect(
            try E.textual(db, rhine, "population < ? AND population > 0").map { names($0).sorted() } == [
                ["Basel", "Bern", "Zurich"], ["Basel", "Bern"], ["Basel"], ["Basel", "Bern", "Vienna", "Zurich"], [],
            ])
        #expect(names(try E.formatted(db)).sorted() == ["Basel", "Bern", "Vienna", "Zurich"])
        let (page, byName) = try E.chained(db)
        #expect(names(page) == ["Bern", "Basel"])
        #expect(names(byName) == ["Basel", "Bern", "Zurich"])
    }

    @Test func predicates() throws {
        let found = try E.predicates(db).map { names($0).sorted() }
        #expect(found == [["Basel", "Vienna", "Zurich"], ["Bern"], ["Basel", "Bern"]])
    }

    @Test func conditionsReadOtherRows() throws {
        #expect(try E.many(db).map { $0.map(\.name) } == [["Rhine"], ["Rhine"], ["Aare"]])
        let (above, along, without) = try E.nested(db)
        #expect(names(above) == ["Vienna"] && names(along) == ["Basel"] && without.isEmpty)
    }

    @Test func answers() throws {
        let (largest, bern, count, isThere, ids, countries, byCountry, removed) = try E.terminals(db)
        #expect(largest?.name == "Vienna" && bern?.population == 130_000 && count == 5 && !isThere)
        #expect(ids.sorted() == [1, 2, 4] && countries == ["AT", "CH", "XX"])
        #expect(byCountry["CH"]?.count == 3 && removed == 1)
        let (one, several, named) = try Database.withDefault(db) { try E.found() }
        #expect(one?.name == "Basel" && names(several) == ["Basel", "Bern", "Vienna"] && named?.id == 2)
        #expect(throws: MakoError.self) { try db.query(E.City.self).where(\.country == "CH").one() }
    }

    @Test func liveAndLarge() async throws {
        let before = db.metrics.lazyLoads
        let (last, rivers) = try E.large(db)
        let all = try await db.query(E.City.self).orderBy(\.name).fetch()
        #expect(last.id == all.last?.id && rivers.contains("none") && rivers.contains { $0 != "none" })
        #expect(db.metrics.lazyLoads == before)
        async let names = E.live(db)
        let added = E.City(name: "Geneva", country: "CH", population: 200_000)
        try await db.save(added)
        #expect(try await names.contains("Geneva"))
        let (screen, shown) = try E.shared(db)
        added.population = 201_000
        try await db.save(added)
        #expect(shown.contains { $0.population == 201_000 })
        E.handled(db) { _ in }.cancel()
        withExtendedLifetime(screen) {}
    }

    @Test func aggregates() throws {
        let (people, density, mean, most, least, lines) = try E.aggregated(db)
        #expect(people == 720_000 && most == 420_000 && mean == 240_000 && least == nil)
        #expect(abs(density - (170_000 / 24.0 + 130_000 / 52.0)) < 0.001)
        #expect(lines == ["'AT' 1", "'CH' 3", "'XX' 1"])
        #expect(try E.grouped(db) == ["'CH' 3 720000"])
        #expect(try E.joined(db) == [.text("Aare"), .text("Rhine")])
        #expect(try E.joinedWithMany(db) == ["Aare: 'Bern'", "Rhine: 'Basel'"])
        let (shared, rows, first) = try E.selected(db)
        #expect(shared.rows == [[.text("Rhine"), .integer(1), .integer(170_000)]])
        #expect(rows.columns == ["country", "cities", "sum(population)"] && rows.rowCount == 1)
        #expect(first == .integer(2))
    }

    @Test func wordsAreSought() throws {
        try db.save([
            E.City(name: "Lucerne", country: "CH", history: "An old town with a castle; the castle is gone."),
            E.City(name: "Thun", country: "CH", history: "The castle above the town."),
            E.City(name: "Trieste", country: "IT", history: "A harbour, and the castle Miramare."),
        ])
        let (harbours, best, shown) = try E.sought(db)
        #expect(harbours.map(\.name) == ["Trieste"])
        #expect(best.map(\.name) == ["Lucerne", "Thun"])
        #expect(shown.map(\.text).contains("The [castle] above the town."))
        let typed = try E.patterns(db, "the \"castle (AND")
        #expect(typed.map { names($0).sorted() } == [["Trieste"], ["Lucerne", "Thun", "Trieste"], [], ["Trieste"]])
    }

    @Test func statementsThatWrite() throws {
        var names: [String] = []
        let (countries, heads) = try E.typed(db) { name, _ in names.append(name) }
        #expect(names == ["Vienna", "Zurich", "Basel"] && countries == ["AT", "CH", "XX"])
        #expect(heads.map(\.0) == [1, 3, 1] && heads[1].1 == 420_000)
        #expect(try E.written(db) == 3)
        #expect(try db.query(E.City.self).where(\.country == "CH").sum("area") == 152)
        #expect(try db.query(E.River.self).where(\.name == "Limmat").first()?.length == 36)
        #expect(try E.prepared(db, [("Emme", 82), ("Inn", 517)]).contains("Inn"))
        let (stored, doubled, week) = try E.returned(db)
        #expect(stored.count == 1 && stored[0][1] == .text("Sihl") && doubled.value("length", row: 0) == .integer(146))
        #expect(week.rowCount == 1 && week.columns == ["since", "long"])
    }

    @Test func harbours() throws {
        try db.save([
            E.Harbour(name: "Bergen", place: Coordinate(latitude: 60.4, longitude: 5.3)),
            E.Harbour(name: "Cape Town", place: Coordinate(latitude: -33.9, longitude: 18.43)),
            E.Harbour(name: "Stavanger", place: Coordinate(latitude: 58.97, longitude: 5.73)),
        ])
        #expect(try E.near(db).map { $0.map(\.name) } == [["Bergen"], ["Bergen", "Stavanger"], ["Cape Town"]])
    }

    @Test func pagesFollowOneAnother() throws {
        var next: [String] = []
        let (first, third) = try E.paged(db) { next = $0 }
        #expect(names(first) == ["Basel", "Bern"] && next == ["Nowhere", "Vienna"] && names(third) == ["Zurich"])
    }

    @Test func plansAndFaults() throws {
        var passed: [Int] = []
        let measured = try E.measured(db) { _, _, count, _ in passed.append(count) }
        #expect(passed == [5, 4, 4] && measured.analysis?.rows == 4 && measured.analysis?.steps[0].examinedRows == 5)
        let plan = try E.explained(db)
        #expect(plan.contains("index") && plan.contains("name"), "\(plan)")
        let notified = E.misspelt(db)
        #expect(notified.contains("did you mean population?") && notified.contains("^"))
    }

    @Test func away() async throws {
        let (count, capitals) = try await E.away(db)
        #expect(count == 5 && names(capitals) == ["Bern", "Vienna"])
    }

    @Test func slowQueriesAreReported() throws {
        let notified = Collected<String>()
        let db = try E.watched { notified.append($0) }
        #expect(try db.query(E.City.self).count() == 0)
        #expect(db.options.slowQueryThreshold == .milliseconds(50))
    }
}
