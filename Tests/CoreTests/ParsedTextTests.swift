import MakoCore
import Testing

/// Texts that were read before are not read again.
@Suite struct ParsedTextTests {
    private func countries() throws -> Database {
        let db = try Database.inMemory(entities: [Country.self, City.self])
        _ = try db.save([Country(code: "CH", people: 9), Country(code: "NO", people: 5), Country(code: "IS")])
        return db
    }

    @Test func aTextAskedAgainTakesTheNewValues() throws {
        let db = try countries()
        for (least, count) in [(9, 1), (5, 2), (0, 3), (10, 0)] {
            #expect(try db.query(Country.self).where("people >= ?", least).count() == count)
            #expect(try db.query(Country.self).where("people >= \(least)").count() == count)
            let raw = try db.rawQuery("SELECT count(*) FROM Country WHERE people >= \(least)")
            #expect(raw.rows == [[.integer(Int64(count))]])
        }
    }

    @Test func moreValuesThanPlacesAreRefusedEachTime() throws {
        let db = try countries()
        for _ in 0..<2 {
            #expect(try db.query(Country.self).where("people > ?", 4).count() == 2)
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people > ?", 4, 5).count() }
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people >").count() }
        }
    }

    @Test func aTextMeansWhatItsTableSays() throws {
        let db = try countries()
        try db.save(City(name: "Bern"))
        for _ in 0..<2 {
            #expect(try db.query(City.self).where("name = 'Bern'").count() == 1)
            #expect(throws: MakoError.self) { try db.query(Country.self).where("name = 'Bern'").count() }
            #expect(try db.rawQuery("SELECT count(*) FROM City").rows == [[.integer(1)]])
            #expect(try countries().rawQuery("SELECT count(*) FROM City").rows == [[.integer(0)]])
        }
    }

    @Test func moreTextsThanAreKept() throws {
        let db = try countries()
        let people = [9, 5, 0]
        for round in 0..<600 {
            let least = round % 300
            let count = try db.query(Country.self).where(text: "people >= \(least)").count()
            #expect(count == people.count { $0 >= least })
        }
    }
}
