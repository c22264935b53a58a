import Foundation
import Mako
import Testing

@Suite struct ObjectTests {
    @Test func memberwiseInitialisersAndDefaults() {
        #expect(Person().age == 36)
        #expect(Person(name: "Ada").name == "Ada")
        #expect(Person(age: 3).age == 3)
        let ada = Person(name: "Ada", age: 36)
        #expect(ada.id == nil)
        #expect(ada.isAdult)
        #expect(ada.isDirty)
    }

    @Test func dictionaryInitialiserIgnoresCaseAndUnknownKeys() throws {
        let person = try Person(["Name": "Ada", "AGE": 40, "nonsense": 1, "department": Department(name: "Engines")])
        #expect(person.name == "Ada")
        #expect(person.age == 40)
        #expect(person.department?.name == "Engines")
        #expect(try Person(["name": NSNull()]).name == nil)
        // A name as it is written goes before one that differs by case.
        var spellings: [String: Any] = ["name": "Ada"]
        for number in 1..<16 {
            let letters = "name".enumerated().map { number >> $0 & 1 == 1 ? $1.uppercased() : String($1) }
            spellings[letters.joined()] = "Bob"
        }
        #expect(try spellings.count == 16 && Person(spellings).name == "Ada")
        #expect(try Person(["name": ("Ada" as String?) as Any, "AGE": (40 as Int?) as Any]).age == 40)
        #expect(try Person(["name": String?.none as Any]).name == nil)
    }

    @Test func dictionaryInitialiserRefusesWrongTypes() {
        let mismatch = MakoError.typeMismatch(entity: "Person", property: "age", expected: "Int", found: "text 'old'")
        #expect(throws: mismatch) { try Person(["age": "old"]) }
        #expect(throws: MakoError.self) { try Person(["age": 1.5]) }
        #expect(throws: MakoError.missingValue(entity: "Wolf", property: "name")) { try Wolf([:]) }
    }

    @Test func aRowOfJSONMakesAnObject() throws {
        let json = #"""
            {"flag": true, "int": 7, "uint8": 200, "uint64": 18446744073709551615, "float": 1.5, "double": 3, "text": "x",
             "grade": "senior", "level": 2, "optionalLevel": 1, "optionalInt": 4, "optionalFlag": null,
             "tags": ["a", "b"], "url": "https://example.org", "optionalDate": null}
            """#
        let row = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let object = try Everything(row)
        #expect(object.flag && object.int == 7 && object.uint8 == 200 && object.uint64 == .max)
        #expect(object.float == 1.5 && object.double == 3 && object.text == "x")
        #expect(object.grade == .senior && object.level == .high && object.optionalLevel == .low)
        #expect(object.optionalInt == 4 && object.optionalFlag == nil && object.tags == ["a", "b"])
        #expect(object.url?.host == "example.org")
        for (name, wrong) in [("grade", "boss"), ("level", 7), ("uint8", 256), ("int", 1.5), ("date", "today")]
            as [(String, Any)]
        {
            let json = try JSONSerialization.data(withJSONObject: [name: wrong])
            let row = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
            #expect(throws: MakoError.self, "\(name)") { try Everything(row) }
        }
    }

    @Test func aDictionaryOfAnObjectMakesItAgain() throws {
        let db = try makeDatabase([Person.self, Wolf.self, Den.self])
        let ada = Person(
            name: nil, age: 40, department: Department(name: "Engines"), grade: .senior, settings: Settings(theme: "x"),
            nicknames: ["a", "b"])
        try db.save(ada)
        let values = ada.asDictionary
        #expect(values["id"] == .integer(1) && values["age"] == .integer(40) && values["name"] == .null)
        let again = try Person(values)
        #expect(again.id == 1 && again.age == 40 && again.name == nil && again.grade == .senior)
        #expect(again.settings == Settings(theme: "x") && again.nicknames == ["a", "b"])
        #expect(Database.withDefault(db) { again.department?.name } == "Engines")
        // With its key it refers to the same row.
        again.age = 41
        try db.save(again)
        #expect(try db.find(Person.self, 1)?.age == 41 && db.query(Person.self).count() == 1)
        let den = Den(place: "hill")
        var wolf = Wolf(name: "Akela", den: ToOne(den))
        try db.save(&wolf)
        let other = try Wolf(wolf.asDictionary)
        #expect(try Database.withDefault(db) { try other.den.load()?.place } == "hill")
        #expect(throws: MakoError.self) { try Person(["department": StoredValue.text("x")]) }
    }

    @Test func commitGivesAnIdAndFindReadsItBack() throws {
        let db = try makeDatabase()
        try Database.withDefault(db) {
            let ada = Person(name: "Ada", age: 36)
            #expect(try ada.commit())
            #expect(ada.id == 1)
            #expect(!ada.isDirty)
            let found = try Person.find(1)
            #expect(found?.name == "Ada")
            #expect(found?.age == 36)
            #expect(found?.isSame(as: ada) == true)
            #expect(found !== ada)
            #expect(try Person.find(2) == nil)
            #expect(try Person.find([3, 1]).map(\.name) == ["Ada"])
        }
    }

    @Test func updateWritesChangedPropertiesOnly() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let first = try #require(try db.find(Person.self, 1))
        let second = try #require(try db.find(Person.self, 1))
        first.name = "Countess"
        second.age = 37
        try db.save(first)
        try db.save(second)
        let last = try #require(try db.find(Person.self, 1))
        #expect(last.name == "Countess")
        #expect(last.age == 37)
    }

    @Test func committingThreeTimesMakesOneRow() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        for _ in 0..<3 { try db.save(ada) }
        #expect(try db.find(Person.self, [1, 2, 3]).count == 1)
    }

    @Test func removedObjectsStayRemoved() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        #expect(try !db.delete(ada))
        try db.save(ada)
        #expect(try db.exists(ada))
        #expect(try ada.remove())
        #expect(try !ada.remove())
        #expect(throws: MakoError.deleted(entity: "Person", key: "1")) { try ada.commit() }
        #expect(try !db.exists(ada))
        #expect(try db.find(Person.self, 1) == nil)
    }

    @Test func refreshReadsAnew() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let other = try #require(try db.find(Person.self, 1))
        other.age = 99
        try db.save(other)
        ada.name = "forgotten"
        try db.refresh(ada)
        #expect(ada.age == 99)
        #expect(ada.name == "Ada")
        #expect(!ada.isDirty)
        try db.delete(other)
        #expect(throws: MakoError.self) { try db.refresh(ada) }
    }

    @Test func savingARemovedRowStoresTheWholeObject() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36)
        try db.save(ada)
        let other = try #require(try db.find(Person.self, 1))
        try db.delete(other)
        ada.age = 40
        try db.save(ada)
        let last = try #require(try db.find(Person.self, 1))
        #expect(last.name == "Ada")
        #expect(last.age == 40)
    }

    @Test func aChangedKeyMakesAnotherWholeRow() throws {
        let db = try makeDatabase([Label.self])
        let label = Label(text: "a", note: "first", uses: 3)
        try db.save(label)
        label.text = "b"
        try db.save(label)
        let other = try #require(try db.find(Label.self, "b"))
        #expect(other.note == "first" && other.uses == 3)
        #expect(try db.find(Label.self, "a")?.note == "first")
    }

    @Test func uniquePropertiesAreKept() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", payrollNumber: 7))
        let bob = Person(name: "Bob", payrollNumber: 7)
        #expect(throws: MakoError.self) { try db.save(bob) }
        #expect(bob.id == nil)
        #expect(bob.isDirty)
        bob.payrollNumber = 8
        try db.save(bob)
        // nil never conflicts
        try db.save([Person(name: "C"), Person(name: "D")])
    }

    @Test func aTakenKeyIsNamedWithItsValue() throws {
        let db = try makeDatabase()
        var rate = Rate(from: "CHF", to: "EUR", rate: 1)
        try db.insert(&rate)
        let error = #expect(throws: MakoError.self) { try db.insert(&rate) }
        #expect(error == .duplicate(entity: "Rate", properties: ["from", "to"], values: [.text("CHF"), .text("EUR")]))
        #expect("\(try #require(error))".contains("Rate with from, to = 'CHF', 'EUR'"))
    }

    @Test func objectsOfAnotherDatabaseAreRefused() throws {
        let first = try makeDatabase()
        let second = try makeDatabase()
        let ada = Person(name: "Ada")
        try first.save(ada)
        #expect(throws: MakoError.foreignObject(entity: "Person")) { try second.save(ada) }
        let department = Department(name: "Engines")
        try first.save(department)
        #expect(throws: MakoError.foreignObject(entity: "Department")) {
            try second.save(Person(name: "Bob", department: department))
        }
    }

    @Test func closedDatabasesRefuse() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada")
        try db.save(ada)
        try db.close()
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.save(ada) }
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.find(Person.self, 1) }
    }

    @Test func descriptionShowsKeyAndProperties() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 36, department: Department(name: "Engines"))
        #expect(ada.description.hasPrefix("Person unsaved {name: 'Ada' (String?), age: 36 (Int), email: '' (String), "))
        try db.save(ada)
        let found = try #require(try db.find(Person.self, 1))
        #expect("\(found)".contains("department: not loaded (Department?)"))
        _ = found.department
        #expect("\(found)".contains("department: loaded 1 (Department?)"))
        #expect(found.asDictionary["name"] == .text("Ada"))
        #expect(found.asDictionary["id"] == .integer(1))
    }

    @Test func publicTypesAreEntitiesLikeOthers() throws {
        let db = try makeDatabase()
        try db.save([Rate(from: "CHF", to: "EUR", rate: 1.05), Rate(from: "EUR", to: "CHF", rate: 0.95)])
        #expect(try db.query(Rate.self).where(\.from == "EUR").fetch().map(\.rate) == [0.95])
        let account = Account(owner: "Ada")
        try db.save(account)
        #expect("\(account)" == "account of Ada" && account.id == 1)
    }
}
