import MakoCore
import Testing

@Suite struct HandWrittenTests {
    @Test func aClassWorksWithoutMacros() throws {
        let db = try Database.inMemory(entities: [City.self])
        let paris = City(name: "Paris")
        let rome = City(name: "Rome")
        paris.twin = rome
        rome.twin = paris
        try db.save(paris)
        let read = try #require(try db.query(City.self).where(\.name == "Paris").first())
        #expect(read.twin?.name == "Rome")
        #expect(read.twin?.twin === read)
        #expect(try db.query(City.self).where(\.twin.name == "Paris").fetch().map(\.name) == ["Rome"])
        #expect(throws: Stop()) {
            try db.transaction { _ in
                paris.name = "Lutetia"
                paris.twin = nil
                try db.save(paris)
                throw Stop()
            }
        }
        #expect(paris.name == "Paris")
        #expect(paris.twin === rome)
        rome.twin = nil
        read.twin?.twin = nil
    }

    @Test func aStructWorksWithoutMacros() throws {
        let db = try Database.inMemory()
        try db.save([Country(code: "FR", people: 68), Country(code: "IT", people: 59)])
        #expect(try db.find(Country.self, "FR")?.people == 68)
        #expect(try db.query(Country.self).where(\.people > 60).fetch().map(\.code) == ["FR"])
        #expect(try db.query(Country.self).where(\.id == "IT").count() == 1)
        #expect(try db.query(Country.self).orderBy("code").keys().count == 2)
        #expect(throws: MakoError.self) { try db.query(Country.self).ids() }
    }

    /// A value of a reference would be nil after reading, and stored as nil by the next save.
    @Test func aReferenceIsNoValue() throws {
        let db = try Database.inMemory(entities: [City.self, Depot.self])
        let refusal = "outside a slot"
        for depot in [Depot(city: City(name: "Oslo")), Depot(other: City(name: "Oslo"))] {
            let error = #expect(throws: MakoError.self) { try db.save([depot]) }
            #expect(error?.description.contains(refusal) == true)
        }
        try db.save([Depot()])
        let error = #expect(throws: MakoError.self) { try db.find(Depot.self, 1) }
        #expect(error?.description.contains(refusal) == true)
        #expect(try db.query(City.self).count() == 0)
    }

    @Test func schemasComeFromTheModel() throws {
        let db = try Database.inMemory(entities: [City.self, Country.self])
        let city = try #require(db.tables.first { $0.name == "City" })
        #expect(city.columns.map(\.name) == ["name", "twin"])
        #expect(city.columns[1].target == "City")
        #expect(city.indexes.map(\.name).sorted() == ["name", "twin"])
        let country = try #require(db.tables.first { $0.name == "Country" })
        #expect(country.key == .columns(["code"]))
    }

    @Test func metricsCountCommits() throws {
        let db = try Database.inMemory(entities: [City.self])
        let before = db.metrics.commits
        try db.save(City(name: "Oslo"))
        try db.transaction { _ in
            try db.save(City(name: "Bern"))
            try db.save(City(name: "Graz"))
        }
        #expect(db.metrics.commits == before + 2)
    }

    @Test func errorsSayWhatToDo() {
        #expect(MakoError.noDatabase(entity: "City").description.contains("Database.default"))
        #expect(
            MakoError.unknownProperty(entity: "City", name: "nme", nearest: "name").description.contains(
                "did you mean name?"))
        #expect(
            MakoError.duplicate(entity: "City", properties: ["name"], values: [.text("Rome")]).description.contains(
                "'Rome'"))
        #expect(MakoError.foreignObject(entity: "City").errorDescription?.contains("another database") == true)
    }
}
