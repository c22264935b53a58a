import Foundation
import Mako
import MakoTestSupport
import TestHelpers
import Testing

enum Faulty {
    enum Mood: String, Sendable { case happy, sad }
    struct Settings: Codable, Sendable, Equatable {
        var theme = "dark"
        var sizes: [Int] = []
    }
    /// A type that does not take back all of what it gives.
    struct Even: StorableValue {
        var number: Int
        static var columnType: ColumnType { .integer }
        var stored: StoredValue { number.stored }
        init(_ number: Int) { self.number = number }
        init?(stored: StoredValue) {
            guard let number = Int(stored: stored), number % 2 == 0 else { return nil }
            self.number = number
        }
    }
    struct Pair: CompositeValue {
        var low: Int
        var high: Int
        static let valueParts = [ValuePart("low", \Pair.low), ValuePart("high", \Pair.high)]
        init(low: Int, high: Int) { (self.low, self.high) = (low, high) }
        init(parts: ValueParts<Pair>) throws(MakoError) {
            self.init(low: try parts[\.low], high: try parts[\.high])
            if low > high { throw .invalidArgument("\(low) is above \(high)") }
        }
    }
    /// Nested as deep as it is long.
    final class Link: Codable, Sendable {
        let number: Int
        let next: Link?

        init(_ number: Int, _ next: Link?) { (self.number, self.next) = (number, next) }

        static func chain(_ length: Int) -> Link? {
            (0..<length).reduce(nil) { next, number in Link(number, next) }
        }

        /// How many there are.
        static func count(_ link: Link?) -> Int {
            var count = 0
            var next = link
            while let link = next { (count, next) = (count + 1, link.next) }
            return count
        }
    }
    /// Hides what its values throw.
    struct Hiding: Codable, Sendable {
        var price: Decimal = 0
        init() {}
        init(from decoder: any Decoder) throws {}
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try? container.encode([price])
        }
    }

    @Entity final class Diary {
        var mood: Mood = .happy
        var grade: Character = "a"
        var span: Range<Int> = 0..<1
        var settings: Settings = Settings()
        var settingsOrNone: Settings?
        var chain: Link?
        var photo: Data?
        var even: Even = Even(0)
        var pair: Pair = Pair(low: 0, high: 0)
        var hiding: Hiding = Hiding()
    }
    @Entity struct Note {
        @Attribute(.primaryKey) var name: String
        var mood: Mood = .happy
        var text = ""
    }
    @Entity final class Place {
        @Attribute(.primaryKey) var country = ""
        @Attribute(.primaryKey) var number = 0
        var mood: Mood = .happy
    }

    @Entity final class Jar {
        var name = ""
    }
    @Entity final class Shelf {
        var jars: [Decimal: Jar] = [:]
    }

    typealias Key = UUID
    typealias Code = String
    @Entity final class Keyed {
        @Attribute(.primaryKey) var key: Key?
        var name = ""
    }
    @Entity final class Coded {
        @Attribute(.primaryKey) var code: Code?
        var name = ""
    }
    @Entity struct KeyedValue {
        @Attribute(.primaryKey) var key: Key?
        var name = ""
    }
}

/// Errors of values name the entity, the key, the property and the fault in one line.
@Suite struct ValueFaultTests {
    private let db: Database

    init() throws { db = try makeDatabase([Faulty.Diary.self, Faulty.Note.self, Faulty.Place.self]) }

    private func error<R>(_ body: () throws -> R) -> MakoError? {
        do { _ = try body() } catch { return error as? MakoError }
        return nil
    }

    // MARK: - Reading

    /// Values that no object of the type can read: the assignment, the property, and a part of the reason.
    private static let faults = [
        ("mood = 'furious'", "mood", "'furious' is no Mood"), ("grade = 'ab'", "grade", "'ab' is no Character"),
        ("span_lowerBound = 9", "span", "a range cannot begin at 9 and end at 1"),
        ("settings = '{\"theme\": 3}'", "settings", "theme: "), ("settings = 'x'", "settings", "not valid JSON"),
        ("settingsOrNone = '{\"sizes\": []}'", "settingsOrNone", "theme: "), ("even = 3", "even", "3 is no Even"),
        ("pair_low = 5", "pair", "5 is above 0"),
        ("settings = '\(String(repeating: "[", count: 600))'", "settings", "more than 511 deep"),
        ("mood = '\(String(repeating: "long ", count: 100))'", "mood", "…' is no Mood"),
    ]

    /// Runs statements on a file as a program does that has no types, and opens it with the types again.
    private func afterStatements(
        _ statements: [String], on fill: (Database) throws -> Void, _ body: (Database) throws -> Void
    ) throws {
        try withTemporaryFile { path in
            let types: [any Entity.Type] = [Faulty.Diary.self, Faulty.Note.self, Faulty.Place.self]
            let first = try Database(at: path, entities: types)
            try fill(first)
            try first.close()
            let bare = try Database(at: path)
            for statement in statements { #expect(try bare.rawQuery(text: statement).changedRows == 1) }
            try bare.close()
            let again = try Database(at: path, entities: types)
            try body(again)
            try again.close()
        }
    }

    @Test(arguments: faults)
    func whatAStatementStoredWrongIsNamed(_ assignment: String, _ property: String, _ reason: String) throws {
        try afterStatements(
            ["UPDATE Diary SET \(assignment) WHERE id = 2"], on: { try $0.save([Faulty.Diary(), Faulty.Diary()]) }
        ) { db in
            try checkReading(db, assignment, property, reason)
        }
    }

    private func checkReading(
        _ db: Database, _ assignment: String, _ property: String, _ reason: String
    ) throws {
        let all = error { try db.query(Faulty.Diary.self).fetch() }
        for fault in [all, error { try db.find(Faulty.Diary.self, 2) }] {
            guard case .unreadableValue("Diary", "2", property, let found)? = fault else {
                Issue.record("\(assignment): \(String(describing: fault))")
                continue
            }
            #expect(found.contains(reason) && !found.contains("\n") && found.count < 320, "\(found)")
            let text = try #require(fault).description
            #expect(text.hasPrefix("Diary.\(property) of the row with key 2 cannot be read: "), "\(text)")
            #expect(text.hasSuffix("; store another value there, or have the property's type accept it"), "\(text)")
        }
        // The others can be read, and saving the row repairs it.
        #expect(try db.find(Faulty.Diary.self, 1) != nil)
        try db.save(Faulty.Diary())
        #expect(try db.query(Faulty.Diary.self).where("id != 2").fetch().count == 2)
    }

    @Test func keysAreNamedAsTheirUserKnowsThem() throws {
        var note = Faulty.Note(name: "it's")
        try afterStatements(
            ["UPDATE Note SET mood = 'x'", "UPDATE Place SET mood = 'x'"],
            on: { db in
                try db.save(&note)
                try db.save(Faulty.Place(country: "NO", number: 3))
            }
        ) { db in
            let first = error { try db.query(Faulty.Note.self).fetch() }
            #expect(
                first == .unreadableValue(entity: "Note", key: "'it''s'", property: "mood", reason: "'x' is no Mood"))
            let text = first.map { "\($0)" } ?? ""
            #expect(text.contains("Note.mood of the row with key 'it''s' cannot be read: 'x' is no Mood"))
            let second = error { try db.query(Faulty.Place.self).fetch() }
            #expect(
                second
                    == .unreadableValue(entity: "Place", key: "('NO', 3)", property: "mood", reason: "'x' is no Mood"))
        }
    }

    // MARK: - Statements

    @Test(arguments: faults)
    func aStatementDoesNotStoreWhatNoObjectCouldRead(
        _ assignment: String, _ property: String, _ reason: String
    ) throws {
        try db.save([Faulty.Diary(even: Faulty.Even(4)), Faulty.Diary(even: Faulty.Even(6))])
        let fault = error { try db.rawQuery(text: "UPDATE Diary SET \(assignment) WHERE id = 2") }
        guard case .unstorableValue("Diary", "2", property, let found)? = fault else {
            Issue.record("\(assignment): \(String(describing: fault))")
            return
        }
        #expect(found.contains(reason) && !found.contains("\n") && found.count < 320, "\(found)")
        // In a transaction, too, which goes on without the statement.
        try db.transaction { _ in
            #expect(error { try db.rawQuery(text: "UPDATE Diary SET \(assignment)") } != nil)
            try db.rawQuery("UPDATE Diary SET grade = 'z' WHERE id = 1")
        }
        let read = try db.query(Faulty.Diary.self).orderBy(\.id).fetch()
        #expect(read.map(\.even.number) == [4, 6] && read.map(\.grade) == ["z", "a"])
    }

    @Test func insertedRowsCanBeRead() throws {
        try db.rawQuery("INSERT INTO Note (name, mood) VALUES ('a', 'sad')")
        #expect(
            error { try db.rawQuery("INSERT INTO Note (name, mood) VALUES ('b', 'x')") }
                == .unstorableValue(entity: "Note", key: "'b'", property: "mood", reason: "'x' is no Mood"))
        #expect(
            error { try db.rawQuery("INSERT OR REPLACE INTO Note (name, mood) VALUES ('c', 'sad'), ('a', 'x')") }
                == .unstorableValue(entity: "Note", key: "'a'", property: "mood", reason: "'x' is no Mood"))
        #expect(
            error { try db.rawQuery("INSERT INTO Note (name, mood) SELECT 'd', upper(mood) FROM Note") }
                == .unstorableValue(entity: "Note", key: "'d'", property: "mood", reason: "'SAD' is no Mood"))
        #expect(try db.query(Faulty.Note.self).fetch().map(\.name) == ["a"])
        // The table gives the key, so there is none yet.
        guard
            case .unstorableValue("Diary", nil, "mood", _)? = error({
                try db.rawQuery("INSERT INTO Diary (mood) VALUES ('x')")
            })
        else {
            Issue.record("a row was inserted that no object can read")
            return
        }
        #expect(try db.query(Faulty.Diary.self).count() == 0)
    }

    /// A row that is broken already can be repaired, one property after the other.
    @Test func onlyWhatAStatementChangesIsLookedAt() throws {
        try afterStatements(
            ["UPDATE Diary SET grade = 'ab', mood = 'x', span_lowerBound = 9"], on: { try $0.save(Faulty.Diary()) }
        ) { db in
            try db.rawQuery("UPDATE Diary SET even = 2")
            try db.rawQuery("UPDATE Diary SET grade = 'b', span_upperBound = 10")
            #expect(error { try db.query(Faulty.Diary.self).fetch() } != nil)
            try db.rawQuery("UPDATE Diary SET mood = 'sad'")
            let diary = try #require(try db.query(Faulty.Diary.self).first())
            #expect(diary.grade == "b" && diary.mood == .sad && diary.span == 9..<10)
        }
    }

    // MARK: - Storing

    @Test func whatCouldNotBeReadIsNotStored() throws {
        let diary = Faulty.Diary()
        diary.even = Faulty.Even(3)
        #expect(
            error { try db.save(diary) }
                == .unstorableValue(
                    entity: "Diary", key: nil, property: "even", reason: "3, which is stored for it, is no Even"))
        diary.even = Faulty.Even(2)
        diary.pair = Faulty.Pair(low: 2, high: 1)
        #expect(
            error { try db.save(diary) }
                == .unstorableValue(entity: "Diary", key: nil, property: "pair", reason: "2 is above 1"))
        diary.pair.low = 0
        try db.save(diary)
        diary.hiding.price = .nan
        guard case .unstorableValue("Diary", "1", "hiding", _)? = error({ try db.save(diary) }) else {
            Issue.record("a value whose error is hidden was stored")
            return
        }
        #expect(diary.isDirty)
    }

    @Test func keysOfDictionariesAreReadAgain() throws {
        let db = try makeDatabase([Faulty.Shelf.self, Faulty.Jar.self])
        let shelf = Faulty.Shelf(jars: [0.5: Faulty.Jar(name: "a"), .nan: Faulty.Jar(name: "b")])
        guard case .unstorableValue("Shelf", nil, "jars", _)? = error({ try db.save(shelf) }) else {
            Issue.record("a key that is no number was stored")
            return
        }
        shelf.jars[.nan] = nil
        shelf.jars[.greatestFiniteMagnitude] = Faulty.Jar(name: "c")
        try db.save(shelf)
        let read = try #require(try db.query(Faulty.Shelf.self).first())
        #expect(read.jars.mapValues(\.name) == [0.5: "a", .greatestFiniteMagnitude: "c"])
    }

    @Test func valuesThatAreTooLargeAreNamed() throws {
        let diary = Faulty.Diary()
        diary.photo = Data(count: 64 << 20)
        try db.transaction { _ in
            guard case .unstorableValue("Diary", nil, "photo", let reason)? = error({ try db.save(diary) }) else {
                Issue.record("a value of 64 MiB was stored")
                return
            }
            #expect(reason.contains("it has \(64 << 20) bytes, and a row takes \(64 << 20)"))
            // Nothing was begun, so the transaction goes on.
            var note = Faulty.Note(name: "a")
            try db.save(&note)
        }
        #expect(try db.query(Faulty.Note.self).count() == 1)
        diary.photo = Data(count: (64 << 20) - 4096)
        try db.save(diary)
        #expect(try db.query(Faulty.Diary.self).first()?.photo?.count == (64 << 20) - 4096)
        var long = Faulty.Note(name: String(repeating: "k", count: 901))
        guard case .unstorableValue("Note", let key?, "name", let reason)? = error({ try db.save(&long) }) else {
            Issue.record("a key of 901 bytes was stored")
            return
        }
        #expect(reason.contains("at most 900") && key.count < 120)
    }

    // MARK: - Deep values

    @Test(arguments: [10, 300, 511]) func deepValuesAreStoredAndReadOnSmallStacks(_ depth: Int) async throws {
        let db = db
        try await onSmallStack {
            try db.save(Faulty.Diary(chain: Faulty.Link.chain(depth)))
            #expect(Faulty.Link.count(try db.query(Faulty.Diary.self).first()?.chain) == depth)
        }
        #expect(Faulty.Link.count(try await db.query(Faulty.Diary.self).first()?.chain) == depth)
    }

    @Test(arguments: [160, 256]) func deepValuesAreStoredBeyondTheStack(_ kilobytes: Int) async throws {
        let db = db
        try await onSmallStack(bytes: kilobytes << 10) { try db.save(Faulty.Diary(chain: Faulty.Link.chain(511))) }
        #expect(Faulty.Link.count(try await db.query(Faulty.Diary.self).first()?.chain) == 511)
    }

    @Test(arguments: [512, 900]) func valuesNestedTooDeepAreRefused(_ depth: Int) async throws {
        let db = db
        try await onSmallStack {
            let diary = Faulty.Diary(chain: Faulty.Link.chain(depth))
            #expect(
                throws: MakoError.unstorableValue(
                    entity: "Diary", key: nil, property: "chain", reason: "it is nested more than 511 deep")
            ) { try db.save(diary) }
        }
        #expect(try await db.query(Faulty.Diary.self).count() == 0)
    }

    // MARK: - Migrations

    @Test func aMigrationSaysThatItIsOne() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [First.Animal.self])
            try db.save([First.Animal(name: "Rex"), First.Animal(name: "Rex")])
            try db.close()
            guard
                case .migration("Animal", let reason)? = error({ try Database(at: path, entities: [Clash.Animal.self]) }
                )
            else {
                Issue.record("two rows of one name became unique")
                return
            }
            #expect(reason.contains("several rows have name = 'Rex'"))
        }
    }

    // MARK: - Keys

    @Test func aKeyWhoseTypeHasAnotherNameIsGiven() throws {
        let db = try makeDatabase([Faulty.Keyed.self, Faulty.Coded.self, Faulty.KeyedValue.self])
        let (keyed, coded) = (Faulty.Keyed(name: "a"), Faulty.Coded(name: "b"))
        try db.save(keyed)
        try db.save(coded)
        var value = Faulty.KeyedValue(name: "c")
        try db.save(&value)
        let (key, code) = (try #require(keyed.key), try #require(coded.code))
        #expect(try db.find(Faulty.Keyed.self, key)?.name == "a" && code.count == 36)
        #expect(try db.find(Faulty.Coded.self, code)?.name == "b" && value.key != nil)
        try db.save(keyed)
        #expect(keyed.key == key)
        #expect(try db.query(Faulty.Keyed.self).count() == 1)
    }

    @Test func keysOfAnotherTypeAreNamedInPlainWords() throws {
        let found = error { try db.find(Faulty.Diary.self, orNew: "x") }
        #expect(found == .typeMismatch(entity: "Diary", property: "id", expected: "an integer", found: "'x'"))
    }
}
