import MakoCore
import Testing

/// Texts that were read before are not read again.
@Suite struct ParsedTextTests {
    private func countries() throws -> Database {
        let db = try Database.inMemory(entities: [Country.self, City.self])
        _ = try db.save([Country(code: "CH", people: 9), Country(code: "NO", people: 5), Country(code: "IS")])
        return db
    }

    @Test func aRepeatedTextTakesTheNewValues() throws {
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

    @Test func aRepeatedTextTakesValuesOfOtherKinds() throws {
        let db = try countries()
        for _ in 0..<4 {
            #expect(try db.query(Country.self).where("people > ?", 4).count() == 2)
            #expect(try db.query(Country.self).where("people > ?", 5).count() == 1)
            #expect(try db.query(Country.self).where("people > ?", 4.5).count() == 2)
            #expect(try db.query(Country.self).where("people > ?", 5.5).count() == 1)
            #expect(try db.query(Country.self).where("people > ?", nil).count() == 0)
            #expect(try db.query(Country.self).where("code = ?", "NO").first()?.people == 5)
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people > ?", "x").count() }
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people > ?").count() }
        }
    }

    @Test func aRepeatedTextTakesOtherLimits() throws {
        let db = try countries()
        for _ in 0..<3 {
            let some = db.query(Country.self).where("people >= ?", 0)
            #expect(try some.count() == 3)
            #expect(try some.limit(2).count() == 2)
            #expect(try some.limit(2).offset(2).count() == 1)
            #expect(try some.offset(1).count() == 2)
            #expect(try some.where("people > ?", 5).count() == 1)
            #expect(try some.orderBy("people DESC").fetch().map(\.people) == [9, 5, 0])
        }
    }

    /// As long as each other, and of the same bytes where they begin and end and in the middle.
    @Test func similarTextsAreDistinguished() throws {
        let db = try countries()
        for _ in 0..<3 {
            #expect(try db.query(Country.self).where("people >= ? AND code < 'Z'", 5).count() == 2)
            #expect(try db.query(Country.self).where("people <= ? AND code < 'Z'", 5).count() == 2)
            #expect(try db.query(Country.self).where("people <= ? AND code > 'Z'", 5).count() == 0)
            #expect(try db.query(Country.self).where("people <= ? AND code < 'Z'", 4).count() == 1)
            let wrong = db.query(Country.self).where("people >= ? AND cods < 'Z'", 5)
            #expect(throws: MakoError.self) { try wrong.count() }
        }
    }

    @Test func oneKeyPathIsComparedByEveryOperator() throws {
        let db = try countries()
        let people = \Country.people
        for _ in 0..<3 {
            #expect(try db.query(Country.self).where(people == 5).count() == 1)
            #expect(try db.query(Country.self).where(people != 5).count() == 2)
            #expect(try db.query(Country.self).where(people < 5).count() == 1)
            #expect(try db.query(Country.self).where(people <= 5).count() == 2)
            #expect(try db.query(Country.self).where(people > 9).count() == 0)
            #expect(try db.query(Country.self).where(people >= 9).count() == 1)
        }
    }

    @Test func keyPathsOfTheEntityAndOfItsRowsAreEquivalent() throws {
        let db = try countries()
        let (own, row): (KeyPath<Country, Int>, KeyPath<Row<Country>, Column<Int>>) = (\.people, \.people)
        for least in [9, 5, 0, 10] {
            let first = db.query(Country.self).where(own >= least)
            let second = db.query(Country.self).where(row >= least)
            let third = db.query(Country.self).where("people >= ?", least)
            #expect(try first.keys() == second.keys() && first.keys() == third.keys())
            #expect(try first.explain() == second.explain() && first.explain() == third.explain())
        }
        #expect(throws: MakoError.self) { try db.query(Country.self).where(\.code.count == 2).count() }
    }

    @Test func aQueryIsPreparedWithoutBeingRun() throws {
        let db = try countries()
        for _ in 0..<2 {
            try db.query(Country.self).where("people > ?", 4).prepare()
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people > ?", "x").prepare() }
            #expect(throws: MakoError.self) { try db.query(Country.self).where("peoples > ?", 4).prepare() }
            #expect(throws: MakoError.self) { try db.query(Country.self).where("people >").prepare() }
        }
    }

    @Test func aRepeatedComparisonTakesTheNewValue() throws {
        let db = try countries()
        for (least, count) in [(9, 1), (5, 2), (0, 3), (10, 0), (5, 2)] {
            #expect(try db.query(Country.self).where(\.people >= least).count() == count)
            #expect(try db.query(Country.self).where(\.people == least).count() == (count == 0 ? 0 : 1))
            #expect(try db.query(Country.self).where(!(\.people >= least)).count() == 3 - count)
            let norway = try db.query(Country.self).where(\.people >= least && \.code == "NO").count()
            #expect(norway == (least <= 5 ? 1 : 0))
        }
    }

    @Test func aRepeatedQueryFindsNewRows() throws {
        let db = try countries()
        for people in 20..<30 {
            #expect(try db.query(Country.self).where(\.people == people).count() == 0)
            _ = try db.save([Country(code: "X\(people)", people: people)])
            #expect(try db.query(Country.self).where(\.people == people).count() == 1)
            try db.transaction { _ in
                _ = try db.save([Country(code: "Y\(people)", people: people)])
                #expect(try db.query(Country.self).where("people = ?", people).keys().count == 2)
            }
        }
    }
}
