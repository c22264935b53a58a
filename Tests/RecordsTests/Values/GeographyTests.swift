import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

@Suite struct GeographyTests {
    private struct Place {
        let latitude: Double?
        let longitude: Double?
    }

    /// Places all over, with crowds at the poles and at the 180th meridian.
    private static func places(_ count: Int, _ random: inout Seeded) -> [Place] {
        (0..<count).map { _ in
            func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0: return Place(latitude: number(88...90), longitude: number(-180...180))
            case 1: return Place(latitude: number(-90 ... -88), longitude: number(-180...180))
            case 2:
                return Place(
                    latitude: number(-2...2), longitude: random.chance(50) ? number(178...180) : number(-180 ... -178))
            case 3: return Place(latitude: number(47...48), longitude: number(8...9))
            case 4 where random.chance(30): return Place(latitude: nil, longitude: number(0...1))
            case 5 where random.chance(20): return Place(latitude: 500, longitude: 0)
            case 6 where random.chance(20): return Place(latitude: number(-90...90), longitude: number(180...540))
            case 7 where random.chance(20):
                return random.pick([
                    Place(latitude: 90, longitude: 0), Place(latitude: -90, longitude: 180),
                    Place(latitude: 0, longitude: 180),
                    Place(latitude: 0, longitude: -180), Place(latitude: .nan, longitude: 0),
                    Place(latitude: 0, longitude: .infinity),
                ])
            default: return Place(latitude: number(-90...90), longitude: number(-180...180))
            }
        }
    }

    private func session(_ places: [Place], isIndexed: Bool) throws -> StatementSession {
        let session = try StatementSession("CREATE TABLE P (place_latitude REAL, n INTEGER, place_longitude REAL)")
        if isIndexed { try session.run("CREATE SPATIAL INDEX near ON P (place)") }
        try session.store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var writer = RowWriter()
            var changes = ChangeSet()
            for (number, place) in places.enumerated() {
                writer.begin(table.layout)
                if let latitude = place.latitude { writer.set(0, latitude) }
                writer.set(1, Int64(number % 7))
                if let longitude = place.longitude { writer.set(2, longitude) }
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
        return session
    }

    /// Where the condition admits rows without a place, the nearest rows are not all of them.
    @Test(arguments: [
        "(n = 3 AND place_latitude > 0) OR place_latitude < -50", "(n = 3 AND place_latitude > 0) OR n = 2",
        "n > 1 AND (place_latitude IS NOT NULL OR n = 3)",
    ]) func conditionsWithPartsLeaveNoPlaceOut(condition: String) throws {
        var random = Seeded(5)
        let places = Self.places(300, &random)
        let text = "SELECT id FROM P WHERE \(condition) ORDER BY distance(place, 10, 20), id LIMIT 250"
        let found = try session(places, isIndexed: true).rows(text)
        #expect(found == (try session(places, isIndexed: false).rows(text)))
        #expect(!found.isEmpty)
    }

    /// A row of which one coordinate is valid has no place and no distance, and so comes first.
    @Test(arguments: ["place_latitude > 0", "place_latitude IS NOT NULL", "n >= 0", "distance(place, 10, 20) >= 0"])
    func theNearestRowsAreThoseWithoutAPlace(condition: String) throws {
        var random = Seeded(6)
        var places = Self.places(3000, &random)
        places[100] = Place(latitude: 500, longitude: 0)
        places[2000] = Place(latitude: 10, longitude: nil)
        places[2900] = Place(latitude: 10, longitude: .infinity)
        let text = "SELECT id FROM P WHERE \(condition) ORDER BY distance(place, 10, 20), id LIMIT 3"
        let (plain, indexed) = (try session(places, isIndexed: false), try session(places, isIndexed: true))
        #expect(try indexed.rows(text) == plain.rows(text))
    }

    @Test func distancesAreThoseOfTheBall() throws {
        let session = try session([Place(latitude: 59.9139, longitude: 10.7522)], isIndexed: false)
        func distance(_ latitude: Double, _ longitude: Double) throws -> Double {
            let rows = try session.rows("SELECT distance(place, ?, ?) FROM P", [.double(latitude), .double(longitude)])
            guard case .double(let metres)? = rows.first?.first else { return -1 }
            return metres
        }
        // Oslo to Bergen, to itself, to the other side.
        #expect(try abs(distance(60.3913, 5.3221) - 305_000) < 1500)
        #expect(try distance(59.9139, 10.7522) == 0)
        #expect(try abs(distance(-59.9139, 10.7522 - 180) - Sphere.farthest) < 1)
        #expect(try abs(distance(59.9139, 10.7522 + 360)) < 0.001)
        #expect(
            try session.rows(
                "SELECT distance(0, 0, 0, 1), distance(0, 179.5, 0, -179.5), distance(91, 0, 0, 0), distance(NULL, 0, 0, 0) FROM P"
            )[0].map { $0.description.prefix(8) } == ["111195.0", "111195.0", "NULL", "NULL"])
        for text in ["distance(place)", "distance(place, 'x', 1)", "distance(n, 1)", "distance()"] {
            #expect(throws: RecordError.self, "\(text)") { try session.rows("SELECT \(text) FROM P") }
        }
    }

    /// Radius, box and nearest rows by the index are what a look at each row finds.
    @Test(arguments: 0..<4) func theIndexFindsWhatALookAtEachRowFinds(seed: Int) throws {
        var random = Seeded(UInt64(seed))
        // With fewer rows a look at each is cheaper.
        let places = Self.places(3000, &random)
        let plain = try session(places, isIndexed: false)
        let indexed = try session(places, isIndexed: true)
        #expect(try indexed.faults() == [])
        for _ in 0..<40 {
            let centre = random.pick(Self.places(8, &random))
            let at: [Value] = [.double(centre.latitude ?? 0), .double(centre.longitude ?? 0)]
            let metres: Double = random.pick([0, 100, 5_000, 80_000, 400_000, 3_000_000, 12_000_000, 30_000_000, -1.0])
            let radius = Value.double(metres)
            try expectSame(
                "SELECT id, distance(place, ?, ?) FROM P WHERE distance(place, ?1, ?2) <= ?3 ORDER BY id",
                at + [radius], plain, indexed, uses: metres < 1_000_000 ? "using index near" : "")
            let limit = random.pick([1, 3, 20])
            let nearest =
                "SELECT distance(place, ?, ?), id FROM P WHERE n != 3 ORDER BY distance(place, ?1, ?2), id LIMIT \(limit) OFFSET \(random.pick([0, 2]))"
            try expectSame(
                nearest, at, plain, indexed,
                uses: (centre.latitude ?? 0).magnitude <= 90 && (centre.longitude ?? 0).isFinite ? "nearest in P" : "")
            try expectSame(
                "SELECT distance(place, ?, ?), id FROM P WHERE distance(?1, ?2, place_latitude, place_longitude) < ?3 AND n = 1 ORDER BY distance(place, ?1, ?2) LIMIT 4",
                at + [radius], plain, indexed, uses: "")
            let (south, west) = (
                Double.random(in: -90...80, using: &random), Double.random(in: -180...170, using: &random)
            )
            let box =
                "SELECT id FROM P WHERE place_latitude BETWEEN ? AND ? AND place_longitude > ? AND place_longitude <= ? ORDER BY id"
            try expectSame(
                box, [.double(south), .double(south + 10), .double(west), .double(west + random.pick([0.1, 10]))],
                plain, indexed,
                uses: "using index near")
        }
    }

    private func expectSame(
        _ text: String, _ values: [Value], _ plain: StatementSession, _ indexed: StatementSession, uses: String
    ) throws {
        let wanted = try plain.rows(text, values)
        #expect(try indexed.rows(text, values) == wanted, "\(text) \(values)")
        let plan = try indexed.plan(text, values)
        #expect(uses.isEmpty || plan.contains(uses) || plan.contains("nothing"), "\(plan)")
    }

    @Test func aFewStretchesCoverABox() {
        for (latitude, longitude) in [(59.9, 10.7), (0, 0), (0, 180), (90, 0), (-89.99, 33), (12, -179.999)] {
            for radius in [1.0, 1000, 50_000, 5_000_000, 30_000_000] {
                let ranges = SpaceCurve.ranges(Sphere.boxes(around: latitude, longitude, within: radius))
                #expect(!ranges.isEmpty && ranges.count <= 200, "\(latitude) \(longitude) \(radius): \(ranges.count)")
                #expect(ranges.contains { $0.contains(SpaceCurve.cell(latitude, longitude)) })
            }
        }
        // The ranges cover less than four times the box.
        let ranges = SpaceCurve.ranges(Sphere.boxes(around: 59.9, 10.7, within: 1000))
        let cells = ranges.reduce(0.0) { $0 + Double($1.upperBound - $1.lowerBound + 1) }
        let box = Sphere.boxes(around: 59.9, 10.7, within: 1000)[0]
        #expect(cells < 4 * box.share * 0x1p62)
    }

    @Test func rowsMoveInTheIndex() throws {
        let session = try session(
            [Place(latitude: 1, longitude: 1), Place(latitude: nil, longitude: nil)], isIndexed: true)
        try session.run("UPDATE P SET place_latitude = 2, place_longitude = 2")
        let near = "SELECT count(*) FROM P WHERE distance(place, 2, 2) < 10"
        #expect(try session.rows(near) == [[.integer(2)]])
        try session.run("DELETE FROM P WHERE id = 1")
        #expect(try session.rows(near) == [[.integer(1)]])
        #expect(try session.faults() == [])
    }

    @Test(arguments: [
        "CREATE SPATIAL INDEX i ON P (n)", "CREATE SPATIAL INDEX i ON P (place_latitude, n)",
        "CREATE SPATIAL INDEX i ON P (place_latitude)",
        "CREATE SPATIAL INDEX i ON P (place_latitude, place_longitude DESC)",
        "CREATE SPATIAL INDEX i ON P (place) WHERE n = 1", "CREATE UNIQUE SPATIAL INDEX i ON P (place)",
    ])
    func aSpatialIndexTakesAPlace(text: String) throws {
        let session = try session([], isIndexed: false)
        #expect(!session.refusal(text).isEmpty)
    }
}
