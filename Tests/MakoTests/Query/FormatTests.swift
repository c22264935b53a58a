import Foundation
import Mako
import Testing

@Suite struct FormatTests {
    private let db: Database

    init() throws {
        db = try makeDatabase()
        try db.save([
            Person(name: "Ada", age: 36, department: Department(name: "Engines")), Person(name: "Bob%", age: 20),
            Person(name: "it's %d", age: 41),
        ])
    }

    private func names(_ format: String, _ parameters: [Any?]) throws -> [String?] {
        try db.query(Person.self).where(format, withParameters: parameters).orderBy("age").fetch().map(\.name)
    }

    @Test func specifiersTakeTheirParameters() throws {
        #expect(try names("age > %d", [30]) == ["Ada", "it's %d"])
        #expect(try names("age = %i AND name = %s", [36, "Ada"]) == ["Ada"])
        #expect(try names("age < %f OR age = %ull", [20.5, UInt64(41)]) == ["Bob%", "it's %d"])
        #expect(try names("age < %l AND age > %u AND age <> %ul", [41, UInt8(1), 20]) == ["Ada"])
        #expect(try names("name LIKE %@", ["%d%"]) == ["Ada", "it's %d"])
        #expect(try names("age IN %@", [[20, 41]]) == ["Bob%", "it's %d"])
        #expect(try names("age IN ( %@ )", [[20, 41]]) == ["Bob%", "it's %d"])
        #expect(try names("age IN (%@)", [[Int]()]) == [])
        #expect(try names("age IN (%@, %d)", [36, 20]) == ["Bob%", "Ada"])
        #expect(try names("age IN %@", [Set([36])]) == ["Ada"])
        #expect(try names("age IN %@", [[Int]()]) == [])
        #expect(try names("name = %@", ["x' OR '1' = '1"]) == [])
        let engines = try #require(try db.query(Department.self).first())
        #expect(try names("department = %@", [engines]) == ["Ada"])
        #expect(try names("department = %@", [nil]) == [])
    }

    /// Both doors know the same ones.
    @Test func whereTextsKnowTheSameSpecifiers() throws {
        for word in ["d", "i", "u", "l", "q", "ld", "li", "lu", "ul", "qi", "zd", "lld", "lli", "llu", "ull", "D", "U"]
        {
            #expect(try names("age = %\(word)", [36]) == ["Ada"], "\(word)")
            #expect(try db.query(Person.self).where(text: "age = %\(word)", 36).ids() == [1], "\(word)")
        }
        for word in ["f", "g", "lf"] {
            #expect(try names("age < %\(word)", [20.5]) == ["Bob%"])
            #expect(try db.query(Person.self).where(text: "age < %\(word)", 20.5).ids() == [2])
        }
        for word in ["s", "c", "@"] {
            #expect(try names("name = %\(word)", ["Ada"]) == ["Ada"])
            #expect(try db.query(Person.self).where(text: "name = %\(word)", "Ada").ids() == [1])
        }
        #expect(try db.query(Person.self).where(text: #"age \% 10 = %d"#, 6).ids() == [1])
        #expect(try db.query(Person.self).where("age IN %@", [20, 41]).ids() == [2, 3])
        for word in ["x", "ldd", "dl", "k"] {
            #expect(throws: MakoError.self) { try db.query(Person.self).where(text: "age = %\(word)", 36).ids() }
            #expect(throws: MakoError.self) { try names("age = %\(word)", [36]) }
        }
    }

    @Test func percentSignsThatAreNoSpecifiers() throws {
        #expect(try names(#"age \% 10 = %d"#, [6]) == ["Ada"])
        #expect(try names("age % 10 = 0", []) == ["Bob%"])
        #expect(try names("name = 'it''s %d'", []) == ["it's %d"])
        #expect(try names("name LIKE '%b\\%%' ESCAPE '\\'", []) == ["Bob%"])
    }

    @Test func faultsAreSaid() throws {
        for (format, parameters) in [
            ("age = %d", ["36"]), ("name = %s", [36]), ("age = %f", ["x"]), ("age = %d", [1.5]), ("age = %d", []),
            ("age = 1", [2]), ("age = %@", [FormatTests.self]), ("age IN %@", [[FormatTests.self]]),
        ] as [(String, [Any?])] {
            #expect(throws: MakoError.self, "\(format)") { try names(format, parameters) }
        }
        do throws(MakoError) {
            _ = try db.query(Person.self).where("age = %d", withParameters: ["36"]).fetch()
        } catch {
            #expect("\(error)".contains("takes a whole number as its parameter 1, not a String"))
        }
    }
}

@Suite struct DropTests {
    @Test func aTableGoesWithItsObjects() throws {
        let db = try makeDatabase([Owner.self, Pet.self, House.self])
        let owner = Owner(name: "Ada")
        try db.save([Pet(name: "Rex", owner: owner), Pet(name: "Stray")])
        try db.drop(Owner.self)
        #expect(!db.tables.contains { $0.name == "Owner" })
        // Its delete rules apply: her pets were deleted with her.
        #expect(try db.query(Pet.self).fetch().map(\.name) == ["Stray"])
        // The next use makes a new table, also that of a type that refers to it.
        #expect(try db.query(Pet.self).where("owner.name = 'Ada'").count() == 0)
        try db.save(Pet(name: "Tom", owner: Owner(name: "Bob")))
        #expect(try db.query(Owner.self).fetch().map(\.name) == ["Bob"])
        #expect(try db.query(Pet.self).where("owner.name = 'Bob'").count() == 1)
    }

    @Test func whatIsRefusedDropsNothing() throws {
        let db = try makeDatabase([Owner.self, Pet.self, House.self])
        let owner = Owner(name: "Ada")
        try db.save(House(owner: owner))
        #expect(throws: MakoError.self) { try db.drop(Owner.self) }
        #expect(try db.query(Owner.self).count() == 1)
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                try db.drop(House.self)
                #expect(try db.query(House.self).count() == 0)
                try transaction.rollback()
            }
        }
        #expect(try db.query(House.self).count() == 1 && db.exists(owner))
    }
}

@Suite struct NamedDatabaseTests {
    @Test func aNameLeadsToTheDataDirectory() throws {
        let name = "mako-test-\(UUID().uuidString)"
        let db = try Database(named: name, entities: [Person.self])
        #expect(db.path.hasSuffix("/\(name).mako"))
        try db.save(Person(name: "Ada"))
        try db.close()
        let again = try Database(named: name, entities: [Person.self])
        #expect(try again.query(Person.self).count() == 1)
        try again.close()
        for name in ["", "a/b", "../x", ".hidden"] {
            #expect(throws: MakoError.self) { try Database(named: name) }
        }
        let directory = URL(fileURLWithPath: db.path).deletingLastPathComponent()
        for file in try FileManager.default.contentsOfDirectory(atPath: directory.path) where file.hasPrefix(name) {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(file))
        }
    }
}
