import MakoCore
import Testing

@Suite struct JoinedQueryTests {
    /// Paris and Oslo have twins, the others have none.
    private func cities() throws -> Database {
        let db = try Database.inMemory(entities: [City.self])
        let rome = City(name: "Rome")
        let paris = City(name: "Paris")
        paris.twin = rome
        let oslo = City(name: "Oslo")
        oslo.twin = paris
        try db.save([rome, paris, oslo, City(name: "de")])
        return db
    }

    private func twins(_ db: Database) -> Query<City> {
        db.query(City.self).joinTo(City.self, left: "twin", target: "id", as: "Twin")
    }

    @Test func joinedPropertiesComeWithTheObjects() throws {
        let found = try twins(cities()).orderBy("name").fetch()
        try #require(found.map(\.name) == ["Oslo", "Paris", "Rome", "de"])
        #expect(found.map { $0.joinedResults["Twin.name"] } == [.text("Paris"), .text("Rome"), .null, .null])
        #expect(found[0].joinedResults["Twin.id"] == found[1].id.map { .integer(Int64($0)) })
        #expect(Set(found[2].joinedResults.keys) == ["Twin.id", "Twin.name", "Twin.twin"])
        #expect("\(found[1])".hasSuffix(", Twin.id: 1, Twin.name: 'Rome', Twin.twin: NULL}"))
        #expect(try cities().query(City.self).fetch()[0].joinedResults.isEmpty)
    }

    @Test func conditionsAndOrdersNameThem() throws {
        let db = try cities()
        #expect(try twins(db).where("Twin.name = 'Rome'").fetch().map(\.name) == ["Paris"])
        #expect(try twins(db).where("Twin.id IS NULL").orderBy("name").fetch().map(\.name) == ["Rome", "de"])
        #expect(try twins(db).where("Twin.name IS NOT NULL").count() == 2)
        #expect(try twins(db).orderBy("Twin.name DESC, name").ids() == [2, 3, 1, 4])
        #expect(try twins(db).where("Twin.name = ? AND twin.name = Twin.name", "Paris").exists())
        #expect(try twins(db).groupCount("Twin.name").map(\.value) == [.null, .text("Paris"), .text("Rome")])
        #expect(try twins(db).sum("Twin.id") == 3)
    }

    @Test func innerJoinsLeaveObjectsOut() throws {
        let db = try cities()
        let inner = db.query(City.self).joinTo(\.twin, .inner, as: "Twin")
        #expect(try inner.orderBy("name").fetch().map(\.name) == ["Oslo", "Paris"])
        #expect(try inner.count() == 2)
        #expect(try inner.where("name = 'Rome'").exists() == false)
    }

    @Test func joinsGoOnFromJoins() throws {
        let far = try twins(cities()).joinTo(City.self, left: "Twin.twin", target: "id", as: "Far")
        let found = try far.orderBy("Far.name DESC").orderBy("Twin.name").orderBy("name").fetch()
        #expect(found.map(\.name) == ["Oslo", "Rome", "de", "Paris"])
        #expect(found.map { $0.joinedResults["Far.name"] } == [.text("Rome"), .null, .null, .null])
        #expect(try far.joinTo(City.self, left: "Far.twin", .inner, as: "Further").count() == 0)
    }

    /// A table that has not been used yet, with a text as its key.
    @Test func tablesAreMadeAtFirstUse() throws {
        let db = try cities()
        let joined = db.query(City.self).joinTo(Country.self, left: \.name, target: \.code)
        #expect(try joined.where("Country.people > 3").count() == 0)
        try db.save([Country(code: "de", people: 80)])
        #expect(try joined.where("Country.people > 3").fetch().map(\.name) == ["de"])
        #expect(try joined.orderBy("Country.people DESC").first()?.joinedResults["Country.people"] == .integer(80))
    }

    @Test func whateverReadsObjectsReadsThem() throws {
        let db = try cities()
        let query = twins(db).orderBy("Twin.name DESC").orderBy("name")
        let names = ["Paris", "Oslo", "Rome", "de"]
        let batched = try query.batch(3)
        #expect(try (0..<batched.count).map { try batched.object(at: $0).name } == names)
        #expect(try batched.object(at: 1).joinedResults["Twin.name"] == .text("Paris"))
        var seen: [String] = []
        try query.forEach { seen.append("\($0.name) \($0.joinedResults["Twin.name"] ?? .null)") }
        #expect(seen == ["Paris 'Rome'", "Oslo 'Paris'", "Rome NULL", "de NULL"])
        #expect(try query.fetchLightweight().map(\.name) == names)
        try db.transaction { _ in
            let rome = try #require(try db.query(City.self).where("name = 'Rome'").first())
            rome.name = "Roma"
            try rome.commit()
            #expect(try query.first()?.joinedResults["Twin.name"] == .text("Roma"))
        }
    }

    /// Two cities are called Rome.
    private func namesakes() throws -> (Database, Query<City>) {
        let db = try cities()
        try db.save([City(name: "Rome")])
        return (db, db.query(City.self).joinTo(City.self, left: "name", target: "name", as: "Same"))
    }

    @Test func joinsByOtherPropertiesRepeatObjects() throws {
        let (db, same) = try namesakes()
        let found = try same.orderBy("id").orderBy("Same.id").fetch()
        #expect(found.map(\.id) == [1, 1, 2, 3, 4, 5, 5])
        #expect(found.compactMap { $0.joinedResults["Same.id"] } == [1, 5, 2, 3, 4, 1, 5].map { .integer($0) })
        #expect(found[0] !== found[1] && found[2].twin?.name == "Rome")
        #expect(Set(found[0].joinedResults.keys) == ["Same.id", "Same.name", "Same.twin"])
        let other = same.where("Same.id > id")
        #expect(try other.first()?.joinedResults["Same.id"] == .integer(5))
        #expect(try other.one()?.id == 1)
        #expect(try same.orderBy("id").orderBy("Same.id").offset(1).limit(2).ids() == [1, 2])
        #expect(try same.count() == 7 && same.limit(3).count() == 3 && other.count() == 1)
        #expect(try same.keys().count == 7 && other.exists() && !same.where("Same.id > 9").exists())
        #expect(try same.sum("Same.id") == 21 && same.max(\.id) == 5)
        #expect(
            try same.group(by: "name").select("count(*)").having("count(*) > 1").fetch().rows == [
                [.text("Rome"), .integer(4)]
            ])
        #expect(try same.explain().contains("Same"))
        #expect(try same.where("Same.id <> id").delete() == 2)
        #expect(try db.query(City.self).orderBy("name").fetch().map(\.name) == ["Oslo", "Paris", "de"])
    }

    /// Also where nothing is joined, over a key that is a text, and on from a join.
    @Test func repeatedJoinsAreLeftOrInner() throws {
        let (db, same) = try namesakes()
        try db.save([Country(code: "Rome", people: 3), Country(code: "No", people: 5)])
        let countries = db.query(Country.self)
        let left = try countries.joinTo(City.self, left: \.code, target: \.name).orderBy("code DESC").fetch()
        #expect(left.map(\.code) == ["Rome", "Rome", "No"])
        #expect(try countries.joinTo(City.self, left: "code", target: "name").where("City.id IS NULL").count() == 1)
        #expect(try countries.joinTo(City.self, left: "code", target: "name", .inner).keys().count == 2)
        let far = try same.joinTo(City.self, left: "Same.twin", target: "id", as: "Far").orderBy("Far.name DESC")
            .fetch()
        #expect(
            far.prefix(2).map { $0.joinedResults["Far.name"] } == [.text("Rome"), .text("Paris")] && far.count == 7)
    }

    @Test func whatNeedsEachObjectOnceRefusesThem() throws {
        let (_, same) = try namesakes()
        let attempts: [() throws -> Void] = [
            { _ = try same.batch(3) }, { try same.forEach { _ in } }, { _ = try same.fetchLightweight() },
            { _ = try same.update().set(\.name, to: "x").run() }, { _ = try same.distinct(\.name) },
        ]
        for attempt in attempts {
            let error = #expect(throws: MakoError.self) { try attempt() }
            #expect("\(try #require(error))".contains("is not the key of City"))
        }
    }

    @Test func faultsAreReportedBeforeAnythingIsRead() throws {
        let db = try cities()
        let city = db.query(City.self)
        let wrong: [(Query<City>, String)] = [
            (city.joinTo(City.self, left: "twin"), "City is the query's own table"),
            (twins(db).joinTo(City.self, left: "twin", as: "Twin"), "two joins are called Twin"),
            (city.joinTo(City.self, left: "twn", as: "Twin"), "did you mean twin?"),
            (city.joinTo(City.self, left: "name", as: "Twin"), "does not hold the key of City"),
            (city.joinTo(City.self, left: "twin", target: "name", as: "Twin"), "cannot be compared"),
            (city.joinTo(City.self, left: "name", target: "twin.name", as: "Twin"), "a column of City itself"),
            (city.joinTo(City.self, left: "name", target: "nmae", as: "Twin"), "did you mean name?"),
            (city.joinTo(City.self, left: "name", target: "name"), "City is the query's own table"),
            (city.joinTo(City.self, left: "twin =", as: "Twin"), "is expected"),
            (twins(db).where("Twin.nmae = 'x'"), "did you mean name?"),
        ]
        for (query, message) in wrong {
            let error = #expect(throws: MakoError.self) { try query.fetch() }
            #expect("\(try #require(error))".contains(message))
        }
    }

    @Test func groupsAwayFromTheCaller() async throws {
        let grouped = try cities().query(City.self).group(by: "tvin").select(.count)
        await #expect(throws: MakoError.self) { try await grouped.fetch() }
        let named = try cities().query(City.self).group(by: \.name).select(.count).limit(1)
        #expect(try await named.fetch().rows == [[.text("Oslo"), .integer(1)]])
    }

    @Test func groupsAreRows() throws {
        let db = try cities()
        try db.save([City(name: "Rome"), City(name: "Rome")])
        let named = try db.query(City.self).group(by: \.name).select(.count.named("n"), .min(\.id)).having(.count > 2)
            .fetch()
        #expect(named.columns == ["name", "n", "min(id)"])
        #expect(named.rows == [[.text("Rome"), .integer(3), .integer(1)]])
        let byTwin = try twins(db).group(by: "Twin.name").select("count(*) AS n", "max(name)").having("n < ?", 4)
            .orderBy("n DESC, max(name)").fetch()
        #expect(
            byTwin.rows
                == [[.text("Rome"), .integer(1), .text("Paris")], [.text("Paris"), .integer(1), .text("Oslo")]]
                .reversed())
        #expect(
            try db.query(City.self).where("id > 1").group(by: "length(name)").select(.countDistinct(\.name)).orderBy(
                "1 DESC"
            )
            .limit(1).offset(1).fetch().rows == [[.integer(4), .integer(2)]])
        #expect(try db.query(City.self).group(by: \.name).explain().hasPrefix("group by name"))
        #expect(throws: MakoError.self) { try db.query(City.self).group(by: \.name).select("sum(name)").fetch() }
        #expect(throws: MakoError.self) { try db.query(City.self).group(by: \.name).having(.sum(\.name) > 1).fetch() }
    }
}
