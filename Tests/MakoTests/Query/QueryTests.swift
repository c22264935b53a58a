import Foundation
import Mako
import Testing

@Suite struct QueryTests {
    /// Six people in two departments in two places.
    private func makePeople() throws -> Database {
        let db = try makeDatabase()
        let london = Location(name: "London")
        let paris = Location(name: "Paris")
        let engines = Department(name: "Engines", location: london)
        let letters = Department(name: "Letters", location: paris)
        try db.save([
            Person(name: "Ada", age: 36, email: "ada@x.org", payrollNumber: 1, department: engines, grade: .senior),
            Person(name: "Bob", age: 20, department: engines, grade: .junior),
            Person(name: "Cleo", age: 50, payrollNumber: 3, department: letters),
            Person(name: "Dan", age: 36, department: letters, grade: .senior), Person(name: "Eve", age: 17),
            Person(name: nil, age: 80),
        ])
        return db
    }

    private func names(_ query: Query<Person>) throws -> [String] { try query.fetch().map { $0.name ?? "-" } }

    @Test func textConditionsBindWhatIsInterpolated() throws {
        let db = try makePeople()
        let city = "London"
        let query = db.query(Person.self).where("age >= \(30) AND department.location.name = \(city)")
        #expect(try names(query) == ["Ada"])
        let evil = "x' OR 1 = 1 --"
        #expect(try db.query(Person.self).where("name = \(evil)").count() == 0)
        #expect(try names(db.query(Person.self).where("age IN \([17, 80])").orderBy("age")) == ["Eve", "-"])
        let nothing: String? = nil
        #expect(try db.query(Person.self).where("name = \(nothing)").count() == 0)
        #expect(try db.query(Person.self).where("grade = \(Grade.senior)").count() == 2)
    }

    @Test func dictionariesAreValuesOfProperties() throws {
        let db = try makePeople()
        let people = db.query(Person.self)
        #expect(try names(people.where(["name": "Ada", "age": 36])) == ["Ada"])
        #expect(try names(people.where(["name": "Ada", "age": 37])) == [])
        #expect(try names(people.where(["age": 36, "department.location.name": "Paris"])) == ["Dan"])
        #expect(try names(people.where(["name": nil])) == ["-"])
        #expect(try names(people.where(["name": ["Bob", "Cleo"]]).orderBy("name")) == ["Bob", "Cleo"])
        #expect(try people.where([:]).count() == 6)
        let asked: [String: (any ConditionValue)?] = ["grade": Grade.senior.rawValue, "payrollNumber": nil]
        #expect(try names(people.where(asked)) == ["Dan"])
        #expect(try people.where(["age": 36]).where(["name": "Dan"]).delete() == 1)
        // A name is a name, whatever is in it.
        for name in ["nam", "age = 36 OR 1", "a\"", "", "department..name", "department."] {
            #expect(throws: MakoError.self, "\(name)") { try people.where([name: 36]).count() }
        }
        #expect(try people.count() == 5)
    }

    @Test func parametersFollowTheText() throws {
        let db = try makePeople()
        #expect(try names(db.query(Person.self).where("age = ? AND name = ?", 36, "Ada")) == ["Ada"])
        #expect(
            try names(db.query(Person.self).where(text: "age > ? AND name LIKE ?", 30, "%d%").orderBy("name")) == [
                "Ada", "Dan",
            ])
        let engines = try #require(try db.query(Department.self).where(\.name == "Engines").first())
        #expect(try names(db.query(Person.self).where("department = ?", engines).orderBy("name")) == ["Ada", "Bob"])
        #expect(throws: MakoError.self) { try db.query(Person.self).where("age = ? AND name = ?", 36).fetch() }
    }

    @Test func severalConditionsMustAllHold() throws {
        let db = try makePeople()
        let query = db.query(Person.self).where("age > \(18)").where("age < ?", 40).where(\.name != "Bob")
        #expect(try names(query.orderBy(\.name)) == ["Ada", "Dan"])
    }

    @Test func typedConditions() throws {
        let db = try makePeople()
        func found(_ condition: Condition<Person>) throws -> [String] {
            try names(db.query(Person.self).where(condition).orderBy(\.id))
        }
        #expect(try found(\.age > 35 && \.department.name == "Engines") == ["Ada"])
        #expect(try found(\.age < 18 || \.age >= 80) == ["Eve", "-"])
        #expect(try found(!(\.age <= 36)) == ["Cleo", "-"])
        #expect(try found(\.name == nil) == ["-"])
        #expect(try found(\.name != nil && \.age == 36) == ["Ada", "Dan"])
        #expect(try found(\.payrollNumber > 1) == ["Cleo"])
        #expect(try found(\.payrollNumber == 1) == ["Ada"])
        #expect(try found(\.payrollNumber != 1).count == 5)
        #expect(try found(\.grade == .senior) == ["Ada", "Dan"])
        #expect(try found(\.grade == nil) == ["Cleo", "Eve", "-"])
        #expect(try found(\.department == nil) == ["Eve", "-"])
        #expect(try found(\.department.location.name == "Paris") == ["Cleo", "Dan"])
        #expect(try found(\.name ~= "%E%") == ["Cleo", "Eve"])
        #expect(try found(\.email ~= "ADA%") == ["Ada"])
        #expect(try found(\.name !~ "%e%") == ["Ada", "Bob", "Dan"])
        #expect(try found(\.age << [17, 20]) == ["Bob", "Eve"])
        #expect(try found(\.age << []).isEmpty)
        #expect(try found(\.age << (20...36)) == ["Ada", "Bob", "Dan"])
        #expect(try found(\.age << (20..<36)) == ["Bob"])
        #expect(try found(\.age !<< [36, 50, 80]) == ["Bob", "Eve"])
        #expect(try found(\.id == 2) == ["Bob"])
        let engines = try #require(try db.query(Department.self).where(\.name == "Engines").first())
        #expect(try found(\.department == engines) == ["Ada", "Bob"])
        #expect(try found(\.department != engines).count == 4)
        #expect(try found(\.department == Department(name: "unsaved")).isEmpty)
    }

    @Test func expressionsAreWorkedOut() throws {
        let db = try makePeople()
        let all = db.query(Person.self)
        #expect(try all.total(\.age) == 239 && all.total("age / 2.0") == 119.5)
        #expect(try all.where("age > 100").total(\.age) == 0)
        let least: Int? = try all.min("age * 2")
        let most: Double? = try all.max("age / 4.0")
        #expect(least == 34 && most == 20)
        #expect(try all.where("age > 100").min("age * 2") == Int?.none)
        let initials: [String] = try all.distinct("substr(name, 1, 1)")
        #expect(initials == ["A", "B", "C", "D", "E"])
        let decades: [Int] = try all.distinct("age / 10", .descending)
        #expect(decades == [8, 5, 3, 2, 1])
        let sum: Int = try all.sum("age * 1000000000000000")
        #expect(sum == 239_000_000_000_000_000)
        let odd: Int = try all.where("name = 'Eve'").sum("age * 529830131237599 + 10")
        #expect(odd == 17 * 529_830_131_237_599 + 10)
        #expect(try all.sum("age / 2.0") == 119.5)
        // A result that does not fit the requested type is an error.
        #expect(throws: MakoError.self) { let _: Int = try all.sum("age / 2.0") }
        #expect(throws: MakoError.self) { let _: Int? = try all.max("name") }
        #expect(throws: MakoError.self) { let _: [Int] = try all.distinct("name") }
    }

    @Test func expressionsAreWorkedOutElsewhere() async throws {
        let all = try makePeople().query(Person.self)
        let twice: Int = try await all.sum("age * 2")
        let greatest: String? = try await all.max("lower(name)")
        let smallest: Int? = try await all.min("age + 1")
        let names: [String] = try await all.where("age = 36").distinct("name")
        #expect(twice == 478 && greatest == "eve" && smallest == 18 && names == ["Ada", "Dan"])
        #expect(try await all.total(\.age) == 239)
        #expect(try await all.total("age * 2") == 478)
    }

    @Test func aSumThatDoesNotFitIsRefused() throws {
        let db = try makeDatabase([Everything.self])
        try db.save([Everything(int: .max, uint8: 200), Everything(int: 1, uint8: 100)])
        let all = db.query(Everything.self)
        #expect(throws: MakoError.typeMismatch(entity: "Everything", property: "sum", expected: "UInt8", found: "300"))
        {
            try all.sum(\.uint8)
        }
        #expect(throws: MakoError.self) { try all.sum(\.int) }
        #expect(try all.total(\.int) == 0x1p63)
        #expect(try all.where("id = 2").sum(\.int) == 1)
    }

    @Test func orderLimitOffset() throws {
        let db = try makePeople()
        let all = db.query(Person.self)
        #expect(
            try names(all.where(\.name != nil).orderBy(\.age, .descending).orderBy("name")) == [
                "Cleo", "Ada", "Dan", "Bob", "Eve",
            ])
        #expect(try names(all.orderBy("age DESC, name").limit(2)) == ["-", "Cleo"])
        #expect(try names(all.orderBy("age").limit(2).offset(1)) == ["Bob", "Ada"])
        #expect(
            try names(all.where(\.department != nil).orderBy(\.department.name, .descending).orderBy(\.name)) == [
                "Cleo", "Dan", "Ada", "Bob",
            ])
        #expect(try all.limit(0).fetch().isEmpty)
        #expect(try all.offset(10).fetch().isEmpty)
    }

    @Test func idsOfAnEntityWithAnotherKeyNameTheCallForKeys() throws {
        let db = try makeDatabase([Label.self])
        try db.save(Label(text: "a"))
        let expected = MakoError.invalidArgument("Label has the key text and no row numbers; keys() returns the keys")
        #expect(throws: expected) { try db.query(Label.self).ids() }
        #expect(throws: expected) { try db.query(Label.self).joinTo(Label.self, left: "text", target: "text").ids() }
        #expect(try db.query(Label.self).keys().count == 1)
    }

    @Test func terminals() throws {
        let db = try makePeople()
        let all = db.query(Person.self)
        #expect(try all.count() == 6)
        #expect(try all.where(\.age > 35).count() == 4)
        #expect(try all.where(\.age > 100).exists() == false)
        #expect(try all.exists())
        #expect(try all.where(\.age == 36).orderBy(\.name).ids() == [1, 4])
        #expect(try all.orderBy(\.age).first()?.name == "Eve")
        #expect(try all.where(\.age > 100).first() == nil)
        #expect(try all.where(\.age == 50).one()?.name == "Cleo")
        #expect(throws: MakoError.self) { try all.where(\.age == 36).one() }
        #expect(try all.sum(\.age) == 239)
        #expect(try all.sum(\.payrollNumber) == 4)
        #expect(try all.where(\.age > 100).sum(\.age) == 0)
        #expect(try all.sum("age * 2") == 478)
        #expect(try all.where(\.department != nil).avg(\.age) == 35.5)
        #expect(try all.min(\.age) == 17)
        #expect(try all.max(\.name) == "Eve")
        #expect(try all.where(\.age > 100).max(\.age) == nil)
        let groups = try all.groupBy(\.age)
        #expect(groups[36]?.count == 2)
        let counts = try all.where(\.department != nil).groupCount("department.name")
        #expect(counts.map(\.value) == [.text("Engines"), .text("Letters")])
        #expect(counts.map(\.count) == [2, 2])
        #expect(try all.groupCount(\.age).first?.value == .integer(17))
        #expect(try all.where("age = 36").explain().contains("index"))
    }

    @Test func measuredExplanations() throws {
        let db = try makePeople()
        let query = db.query(Person.self).where("age > 0").orderBy("name")
        let explanation = try query.explanation(analyzing: true)
        let analysis = try #require(explanation.analysis)
        #expect(try analysis.rows == query.count() && analysis.steps.last?.passed == analysis.rows)
        #expect(explanation.description.contains(" examined, ") && explanation.plan == analysis.plan)
        #expect(try query.explanation().analysis == nil)
        #expect(explanation.usesIndex("age,name") == explanation.chosen.text.contains("using index age,name"))
        #expect(try db.query(Person.self).where(\.age == 36).explanation().usesIndex("age,name"))
        #expect(try query.explain(analyzing: true).contains("\(analysis.rows) rows in "))
        let groups = db.query(Person.self).group(by: \.age).select("count(*) AS n")
        #expect(try groups.explain(analyzing: true).contains("group by age in order ("))
        #expect(
            try groups.plan().operation == .sortedAggregate
                && groups.plan(analyzing: true).counts?.passed == groups.fetch().rows.count)
        let joined = db.query(Person.self).joinTo(Department.self, left: "department", target: "id")
        #expect(try joined.explanation(analyzing: true).analysis?.rows == joined.count())
        let encoded = try JSONEncoder().encode(explanation)
        let read = try JSONSerialization.jsonObject(with: encoded) as? [String: Any]
        let top = read?["plan"] as? [String: Any]
        #expect(top?["operator"] as? String == explanation.plan.operation.rawValue && top?["inputs"] != nil)
        #expect((top?["counts"] as? [String: Any])?["passed"] as? Int == analysis.rows)
    }

    @Test func measuredExplanationsAwaited() async throws {
        let query = try makePeople().query(Person.self).where("age > 0")
        #expect(try await query.explain(analyzing: true).contains(" examined, "))
    }

    @Test func aPageOfGroupsIsALimitWithAnOffset() throws {
        let db = try makeDatabase()
        try db.save([3, 1, 2, 3, 1].map { Person(name: nil, age: $0) })
        let groups = db.query(Person.self).group(by: \.age).select(.count)
        #expect(try groups.limit(2, offset: 1).fetch().rows == Array(groups.fetch().rows[1...2]))
        #expect(throws: MakoError.self) { try groups.limit(-1, offset: 1).fetch() }
    }

    @Test func distinctValues() throws {
        let db = try makeDatabase()
        try db.save([3, 1, 2, 3, 1].map { Person(name: $0 == 2 ? nil : "n\($0)", age: $0) })
        #expect(try db.query(Person.self).distinct(\.age) == [1, 2, 3])
        #expect(try db.query(Person.self).distinct(\.name, .descending) == ["n3", "n1", nil])
        #expect(try db.query(Person.self).where(\.age > 5).distinct(\.age).isEmpty)
    }

    @Test func faultsPointIntoTheText() throws {
        let db = try makePeople()
        func message(_ query: Query<Person>) -> String {
            do throws(MakoError) {
                _ = try query.fetch()
                return "no error"
            } catch {
                return error.description
            }
        }
        let misspelt = message(db.query(Person.self).where("nmae = 'Ada'"))
        #expect(misspelt.contains("name"))
        #expect(misspelt.contains("^"))
        #expect(message(db.query(Person.self).where("age >")).contains("^"))
        #expect(message(db.query(Person.self).where("age = 'old'")).contains("age"))
        #expect(message(db.query(Person.self).where(\.isSelected == true)).contains("stored"))
        #expect(message(db.query(Person.self).orderBy("agee")).contains("age"))
        #expect(message(db.query(Person.self).where("age > ? AND name = ?", 3)).contains("1 value was given"))
        // A value without a parameter is an error, too.
        #expect(message(db.query(Person.self).where("age > ?", 3, 4)).contains("1 parameter, but 2 values"))
        #expect(message(db.query(Person.self).where(text: "age > 3", 4)).contains("no parameters"))
    }

    @Test func firstWithAValue() throws {
        let db = try makePeople()
        try Database.withDefault(db) { () throws in
            #expect(try Person.first(\.name, equals: "Cleo")?.age == 50)
            #expect(try Person.first(\.age, equals: 1000) == nil)
        }
    }

    @Test func deleteAndRemoveAll() throws {
        let db = try makePeople()
        #expect(try db.query(Person.self).where(\.age < 30).delete() == 2)
        #expect(try db.query(Person.self).count() == 4)
        #expect(try db.query(Person.self).where(\.age == 36).fetch().removeAll() == 2)
        #expect(try db.query(Person.self).count() == 2)
        #expect(try db.query(Department.self).delete() == 2)
        #expect(try db.query(Person.self).where(\.department != nil).count() == 0)
    }

    @Test func asyncForms() async throws {
        let db = try makePeople()
        #expect(try await db.query(Person.self).count() == 6)
        #expect(try await db.query(Person.self).where(\.age == 50).first()?.name == "Cleo")
        #expect(try await db.query(Person.self).where("age = \(36)").fetch().count == 2)
        let person = Person(name: "Fay")
        try await db.save(person)
        #expect(try await db.query(Person.self).where(\.name == "Fay").exists())
        try await Database.withDefault(db) {
            #expect(try await Person.find(1)?.name == "Ada")
            #expect(try await Person.query().ids().count == 7)
            person.age = 9
            try await person.commit()
        }
        let ages = try await db.transaction { _ in try Person.query().sum(\.age) }
        #expect(ages == 248)
        #expect(try await db.read { try Person.query().count() } == 7)
        try await person.remove()
        #expect(try await db.query(Person.self).where(\.age == 9).delete() == 0)
        try await db.close()
    }
}
