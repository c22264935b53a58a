import Foundation
import Mako
import MakoTestSupport
import Testing

/// An entity with a property of each type that can be stored.
enum Storable {
    enum Mood: String, Sendable { case happy, sad }
    enum Rank: Int, Codable, StorableValue { case low = -1, high = 9 }
    struct Celsius: StorableValue, Equatable {
        var degrees: Double
        static var columnType: ColumnType { .double }
        var stored: StoredValue { .double(degrees) }
        init(_ degrees: Double) { self.degrees = degrees }
        init?(stored: StoredValue) {
            guard case .double(let degrees) = stored else { return nil }
            self.degrees = degrees
        }
    }
    indirect enum Tree: Codable, Sendable, Equatable {
        case leaf(Int)
        case branch([Tree])

        init(depth: Int) { self = (0..<depth).reduce(.leaf(0)) { tree, _ in .branch([tree]) } }
    }
    struct Priced: Codable, Sendable, Equatable { var prices: [String: Decimal?] = [:] }
    struct Keyed: Codable, Sendable, Equatable {
        var byNumber: [Int: String] = [:]
        var byPlace: [Double: [Date]] = [:]
        var byRank: [Rank: Data] = [:]
        var byID: [UUID: URL] = [:]
    }

    @Entity final class Holder {
        var flag = false
        var int8: Int8 = 0
        var int64: Int64 = 0
        var uint64: UInt64 = 0
        var float: Float = 0
        var double = 0.0
        var text = ""
        var character: Character = "a"
        var date = Date(timeIntervalSinceReferenceDate: 0)
        var data = Data()
        var bytes: [UInt8] = []
        var url: URL?
        var uuid = UUID()
        var decimal: Decimal = 0
        var optionalDecimal: Decimal?
        var mood: Mood = .happy
        var optionalRank: Rank?
        var celsius: Celsius?
        var anything: StoredValue = .null
        var span: Range<Int> = 0..<0
        var days: ClosedRange<Date>?
        var names: Range<String>?
        var selection: NSRange?
        var frame: CGRect = .zero
        var place: Coordinate?
        var texts: [String] = []
        var doubles: [Double]?
        var decimals: [Decimal] = []
        var urls: [URL] = []
        var priced: Priced?
        var keyed: Keyed = Keyed()
        var tree: Tree = .leaf(0)
        var tags: Set<String> = []
        var optionals: [Int?] = []
        var moods: [Mood] = []
        var optionalMoods: [Mood]?
        var moodSet: Set<Mood> = []
        var moodByName: [String: Mood] = [:]
        var characters: [Character] = []
        var optionalCharacters: [Character]?
        var temperatures: [Celsius] = []
        var ranks: [Rank] = []
        var values: [StoredValue] = []
    }

    @Entity struct Reading {
        var moods: [Mood] = []
        var characters: [Character]?
        var temperatures: [String: Celsius] = [:]
        var decimal: Decimal = 0
    }
}

/// One property with the values that it may have.
private struct Property: Sendable {
    let name: String
    /// Gives an object one of the values; answers whether it must be refused.
    let set: @Sendable (inout SplitMix, Storable.Holder) -> Bool
    /// Each gives an object a value that must be refused.
    let refusals: [@Sendable (Storable.Holder) -> Void]
    let isSame: @Sendable (Storable.Holder, Storable.Holder) -> Bool

    init<V: Sendable>(
        _ name: String, _ keyPath: ReferenceWritableKeyPath<Storable.Holder, V> & Sendable, _ values: [V],
        refused: [V] = [], isSame: @escaping @Sendable (V, V) -> Bool
    ) {
        self.name = name
        set = { random, holder in
            let place = random.below(values.count + (refused.isEmpty || !random.chance(4) ? 0 : refused.count))
            holder[keyPath: keyPath] = place < values.count ? values[place] : refused[place - values.count]
            return place >= values.count
        }
        refusals = refused.map { value in { $0[keyPath: keyPath] = value } }
        self.isSame = { isSame($0[keyPath: keyPath], $1[keyPath: keyPath]) }
    }

    init<V: Sendable & Equatable>(
        _ name: String, _ keyPath: ReferenceWritableKeyPath<Storable.Holder, V> & Sendable, _ values: [V],
        refused: [V] = []
    ) {
        self.init(name, keyPath, values, refused: refused, isSame: ==)
    }

    static let doubles: [Double] = [
        0, -0.0, 0.1, .nan, .signalingNaN, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
        1e300,
        -.pi, 9_007_199_254_740_992,
    ]
    static let texts = [
        "", " ", "\0", "a\0b", "é", "e\u{301}", "\u{202E}right", "it's \"quoted\"\n\t\\", "\u{10FFFF}", "NaN", "null",
        "👩‍👩‍👧‍👦",
        String(repeating: "long 🦈 ", count: 9000), "\r\n", "\u{FEFF}", "Infinity", "{}",
    ]
    static let dates =
        (doubles + [-978_307_200, 63_113_904_000]).map { Date(timeIntervalSinceReferenceDate: $0) } + [
            .distantPast, .distantFuture,
        ]
    static let characters: [Character] = [
        "a", "\0", "\r\n", "👩‍👩‍👧‍👦", "🇨🇭", "e\u{301}", Character("z" + String(repeating: "\u{300}", count: 200)),
        "\u{10FFFF}", "'",
    ]
    static let decimals: [Decimal] = [
        0, -1, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .pi,
        Decimal(string: "99999999999999999999999999999999999999") ?? 0, Decimal(string: "-0.00000000000000000001") ?? 0,
        Decimal(sign: .plus, exponent: 127, significand: 3), Decimal(sign: .minus, exponent: -128, significand: 7),
    ]
    static let urls = [
        "https://example.org/a?b=c#d", "a", "#part", "?query", "file:///tmp/a%20b", "mailto:ada@example.org", "data:,x",
        "//host",
        "https://example.org/%F0%9F%A6%88", "urn:isbn:1", "https://[::1]:8080/",
        "/" + String(repeating: "p/", count: 4000),
    ].compactMap { URL(string: $0) }
    /// No text makes this URL again.
    static let emptyURLs = [URLComponents().url].compactMap { $0 }
    static let moods: [Storable.Mood] = [.sad, .happy, .sad]

    static func isSame(_ a: Double, _ b: Double) -> Bool { a.isNaN ? b.isNaN : a.bitPattern == b.bitPattern }
    static func isSame(_ a: Date, _ b: Date) -> Bool {
        isSame(a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
    }
    static func isSame(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

    static let all: [Property] = [
        Property("flag", \.flag, [true, false]), Property("int8", \.int8, [.min, .max, 0]),
        Property("int64", \.int64, [.min, .max, -1]), Property("uint64", \.uint64, [.max, 0, 1 << 63]),
        Property("float", \.float, doubles.map { Float($0) }) { isSame(Double($0), Double($1)) },
        Property("double", \.double, doubles) { isSame($0, $1) },
        Property("text", \.text, texts) { isSame($0, $1) },
        Property("character", \.character, characters) { isSame(String($0), String($1)) },
        Property("date", \.date, dates) { isSame($0, $1) },
        Property("data", \.data, [Data(), Data([0]), Data(repeating: 255, count: 100_000)]),
        Property("bytes", \.bytes, [[], [0, 255], Array(repeating: 7, count: 5000)]),
        Property("url", \.url, urls + [nil], refused: emptyURLs),
        Property("urls", \.urls, [[], urls], refused: [emptyURLs]),
        Property("uuid", \.uuid, [UUID(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))]),
        Property("decimal", \.decimal, decimals, refused: [.nan]),
        Property("optionalDecimal", \.optionalDecimal, decimals + [nil], refused: [.nan]),
        Property("mood", \.mood, moods), Property("optionalRank", \.optionalRank, [nil, .low, .high]),
        Property("celsius", \.celsius, [nil, Storable.Celsius(-0.5)]),
        Property(
            "anything", \.anything,
            [
                .null, .bool(true), .integer(.min), .unsigned(.max), .double(.nan), .text("\0"), .blob([]),
                .date(-.infinity),
                .uuid(.max, 0),
            ]),
        Property("span", \.span, [5..<5, Int.min..<Int.max, .max ..< .max, -3..<0]),
        Property("days", \.days, [nil, .distantPast ... .distantFuture, .distantPast ... .distantPast]),
        Property("names", \.names, [nil, ""..<"", "a"..<"é🙂"]),
        Property("selection", \.selection, [nil, NSRange(location: NSNotFound, length: 0)]),
        Property("frame", \.frame, [.zero, .null, .infinite, CGRect(x: -0.0, y: 1e308, width: -1, height: 0)]) {
            isSame($0.origin.x, $1.origin.x) && isSame($0.origin.y, $1.origin.y) && isSame($0.size.width, $1.size.width)
                && isSame($0.size.height, $1.size.height)
        },
        Property("place", \.place, [nil, Coordinate(latitude: 90, longitude: -180)]),
        Property("texts", \.texts, [[], texts, [""]]) { $0.elementsEqual($1) { isSame($0, $1) } },
        Property("doubles", \.doubles, [nil, [], doubles]) {
            ($0 ?? [9]).elementsEqual($1 ?? [9]) { isSame($0, $1) }
        },
        Property("decimals", \.decimals, [[], decimals], refused: [[1, .nan]]),
        Property(
            "priced", \.priced, [nil, .init(), .init(prices: ["a": 0.1, "": nil, "é": .pi])],
            refused: [.init(prices: ["a": .nan])]),
        Property(
            "keyed", \.keyed,
            [
                .init(),
                .init(
                    byNumber: [.min: "\0", .max: ""], byPlace: [.infinity: [.distantPast], -0.5: []],
                    byRank: [.low: Data([0]), .high: Data()], byID: [UUID(): urls[0]]),
            ]),
        Property(
            "tree", \.tree, [.leaf(.min), .branch([]), .branch([.leaf(1), .branch([.leaf(2)])]), .init(depth: 80)]),
        Property("tags", \.tags, [[], ["", "\0", "é"]]),
        Property("optionals", \.optionals, [[], [nil], [1, nil, .min]]), Property("moods", \.moods, [[], moods]),
        Property("optionalMoods", \.optionalMoods, [nil, [], moods]),
        Property("moodSet", \.moodSet, [[], [.sad], [.sad, .happy]]),
        Property("moodByName", \.moodByName, [[:], ["": .sad, "é": .happy]]),
        Property("characters", \.characters, [[], characters]) {
            $0.elementsEqual($1) { isSame(String($0), String($1)) }
        },
        Property("optionalCharacters", \.optionalCharacters, [nil, [], ["🇨🇭"]]),
        Property("temperatures", \.temperatures, [[], [Storable.Celsius(-.infinity), Storable.Celsius(0.1)]]),
        Property("ranks", \.ranks, [[], [.low, .high, .low]]),
        Property("values", \.values, [[], [.null, .integer(1), .text("a"), .blob([1]), .unsigned(.max)]]),
    ]
}

/// Every value that a save accepts is fetched unchanged.
@Suite struct StorableTypeTests {
    private static var seeds: Range<Int> {
        0..<(ProcessInfo.processInfo.environment["MAKO_TEST_SEEDS"].flatMap { Int($0) } ?? 40)
    }

    /// Whether an object is saved; if not, it must be for one of these properties.
    private func saved(_ holder: Storable.Holder, _ refused: Set<String>, _ db: Database) throws -> Bool {
        do throws(MakoError) { try db.save(holder) } catch {
            guard case .unstorableValue(let entity, let key, let property, let reason) = error else { throw error }
            let known = holder.id.map { "\($0)" }
            let isRight = entity == "Holder" && key == known && refused.contains(property)
            #expect(isRight, "\(property) of \(entity) \(key ?? ""): \(reason)")
            #expect(reason.contains(property.hasPrefix("url") ? "an empty URL" : "Decimal.nan"))
            return false
        }
        return true
    }

    @Test func valuesComeBackAsTheyWereStored() throws {
        let db = try Database.inMemory(entities: [Storable.Holder.self])
        for seed in Self.seeds {
            var random = SplitMix(seed: UInt64(seed))
            let holder = Storable.Holder()
            for round in 0..<3 {
                var refused: Set<String> = []
                // At first all of them, then some.
                for property in Property.all where round == 0 || random.chance(20) {
                    if property.set(&random, holder) { refused.insert(property.name) }
                }
                if try !saved(holder, refused, db) {
                    for property in Property.all where refused.contains(property.name) {
                        while property.set(&random, holder) {}
                    }
                    refused = []
                    #expect(try saved(holder, [], db), "seed \(seed)")
                }
                #expect(refused.isEmpty, "seed \(seed): \(refused) must be refused")
                let read = try #require(try db.query(Storable.Holder.self).where("id = ?", holder.id).first())
                for property in Property.all {
                    #expect(property.isSame(read, holder), "seed \(seed), round \(round): \(property.name)")
                }
            }
        }
    }

    /// The random values seldom are one of these.
    @Test func eachValueThatCannotBeReadAgainIsRefused() throws {
        let db = try Database.inMemory(entities: [Storable.Holder.self])
        var count = 0
        for property in Property.all {
            for refuse in property.refusals {
                let holder = Storable.Holder()
                refuse(holder)
                #expect(try !saved(holder, [property.name], db), "\(property.name)")
                count += 1
            }
        }
        #expect(count == 6)
        #expect(try db.query(Storable.Holder.self).count() == 0)
    }

    @Test func structsHoldListsOfSuchValues() throws {
        let db = try Database.inMemory(entities: [Storable.Reading.self])
        var reading = Storable.Reading(
            moods: [.sad], characters: ["👩‍👩‍👧‍👦", "\0"], temperatures: ["a": Storable.Celsius(1.5)])
        try db.save(&reading)
        let read = try #require(try db.find(Storable.Reading.self, 1))
        #expect(read.moods == [.sad] && read.characters == ["👩‍👩‍👧‍👦", "\0"] && read.temperatures == reading.temperatures)
        reading.decimal = .nan
        #expect(
            throws: MakoError.unstorableValue(
                entity: "Reading", key: "1", property: "decimal",
                reason: "Decimal.nan is no number; store nil in an optional property")
        ) { try db.save(&reading) }
        // As JSON that other programs read.
        let text = try db.rawQuery("SELECT moods, characters, temperatures FROM Reading")
        #expect(text.value("moods", row: 0) == .text(#"["sad"]"#))
        #expect(text.value("temperatures", row: 0) == .text(#"{"a":1.5}"#))
    }

    /// Statements give each column values of all types: those that it takes can be read, and stored in another database.
    @Test func whatStatementsStoreIsReadAndStoredAgain() throws {
        let (db, copies) = (
            try Database.inMemory(entities: [Storable.Holder.self]),
            try Database.inMemory(entities: [Storable.Holder.self])
        )
        let columns = try db.rawQuery("PRAGMA table_info(Holder)").rows.compactMap { row -> String? in
            guard case .text(let name)? = row.dropFirst().first, name != "id" else { return nil }
            return name
        }
        #expect(columns.contains("names_upperBound") && columns.contains("anything") && columns.count > 45)
        var (stored, refused) = (0, Set<String>())
        for seed in Self.seeds {
            var random = SplitMix(seed: UInt64(seed) ^ 0x5157_4C00)
            try db.save(Storable.Holder())
            for _ in 0..<25 {
                let column = columns[random.below(columns.count)]
                let value = Self.raw[random.below(Self.raw.count)]
                let isInsert = random.chance(25)
                let text = isInsert ? "INSERT INTO Holder (\(column)) VALUES (?)" : "UPDATE Holder SET \(column) = ?"
                do throws(MakoError) {
                    _ = try db.rawQuery(text: text, value)
                    stored += 1
                } catch {
                    switch error {
                    case .unstorableValue("Holder", _, let property, let reason):
                        #expect(column.hasPrefix(property) && !reason.isEmpty, "\(error)")
                        refused.insert(property)
                    case .typeMismatch, .missingValue: break
                    default: Issue.record("seed \(seed): \(text) of \(value): \(error)")
                    }
                }
            }
            for holder in try db.query(Storable.Holder.self).fetch() {
                try copies.insert(copyOf: holder)
                holder.text = "changed"
                try db.save(holder)
            }
            try db.query(Storable.Holder.self).delete()
        }
        #expect(stored > 100 && refused.isSuperset(of: ["character", "decimal", "mood", "moods"]))
    }

    /// Contents of columns, many of which are no value of one property or another.
    private static let raw: [StoredValue] = [
        .null, .bool(true), .integer(0), .integer(7), .integer(-3), .integer(300), .integer(.max), .unsigned(.max),
        .double(0.5), .double(.nan), .double(.infinity), .double(-1e300), .date(0), .date(.nan), .uuid(1, 2),
        .text(""), .text("a"), .text("ab"), .text("e\u{301}"), .text("👩‍👩‍👧‍👦"), .text("happy"), .text("NaN"),
        .text("12"), .text("1e999"), .text("[]"), .text("{}"), .text("[null]"), .text("[\"happy\"]"), .text("[1]"),
        .text("[\"\"]"), .text("{\"a\":\"sad\"}"), .text("{\"a\":1}"), .text("http://[bad"), .text("\0"),
        .text("null"), .text(String(repeating: "[", count: 600)), .text("[0.5]"), .text("2026-01-31"), .blob([]),
        .blob([0]), .blob([3]), .blob([9, 1]), .blob([255]), .blob([7, 0xFF]), .blob(Array(repeating: 1, count: 9000)),
    ]

    @Test func updatesRefuseWhatASaveRefuses() throws {
        let db = try Database.inMemory(entities: [Storable.Holder.self])
        try db.save(Storable.Holder())
        for update in [
            db.update(Storable.Holder.self).set(\.decimal, to: .nan),
            db.update(Storable.Holder.self).set(\.url, to: URLComponents().url),
            db.update(Storable.Holder.self).set(\.priced, to: .init(prices: ["a": .nan])),
        ] {
            #expect {
                try update.run()
            } throws: { error in
                guard case MakoError.unstorableValue("Holder", nil, _, _) = error else { return false }
                return true
            }
        }
        #expect(try db.query(Storable.Holder.self).first()?.priced == nil)
        let store = try db.store("settings")
        #expect(throws: MakoError.self) { try store.set(Decimal.nan, for: "price") }
        #expect(throws: MakoError.self) { try store.set([Decimal.nan], for: "price") }
        #expect(try store.value(Decimal.self, for: "price") == nil)
    }
}
