import Foundation
import Mako
import Testing

/// Rows of the small SQL as Swift's own types.
@Suite struct TypedRowTests {
    private let db: Database

    init() throws {
        db = try makeDatabase()
        try db.save([
            Person(name: "Ada", age: 36, department: Department(name: "Engines")), Person(name: "Bob", age: 20),
            Person(name: nil, age: 20),
        ])
    }

    private func fault(_ body: () throws(MakoError) -> Void) -> MakoError? {
        do {
            try body()
            return nil
        } catch { return error }
    }

    @Test func tuples() throws {
        let found = try db.rawQuery("SELECT name, age FROM Person ORDER BY id", as: (String?, Int).self)
        #expect(found.map(\.0) == ["Ada", "Bob", nil] && found.map(\.1) == [36, 20, 20])
        let least = 30
        let three = try db.rawQuery(
            "SELECT name, age, department.name FROM Person WHERE age > \(least)", as: (String, Double, String?).self)
        #expect(three.count == 1 && three[0] == ("Ada", 36, "Engines"))
        let named = try db.rawQuery(
            "SELECT id, name FROM Person WHERE age = :age AND name IS NOT NULL", named: ["age": 20],
            as: (Int, String).self)
        #expect(named.map(\.1) == ["Bob"])
        #expect(try db.rawQuery("SELECT name, age FROM Person WHERE age = ?", 99, as: (String, Int).self).isEmpty)
    }

    @Test func singleValues() throws {
        #expect(try db.rawQuery("SELECT count(*) FROM Person", as: Int.self) == [3])
        #expect(try db.rawQuery("SELECT name FROM Person ORDER BY id", as: String?.self) == ["Ada", "Bob", nil])
    }

    /// The names that a type's properties and `value(_:row:)` take are those of the columns, without the table.
    @Test func namesOfQualifiedColumns() throws {
        struct Line: Decodable, Equatable {
            let name: String?
            let age: Int
        }
        let lines = try db.rawQuery("SELECT p.name, p.age FROM Person p WHERE p.age > 30", as: Line.self)
        #expect(lines == [Line(name: "Ada", age: 36)])
        let rows = try db.rawQuery("SELECT p.name, p.age FROM Person p WHERE p.age > 30")
        #expect(rows.value("age", row: 0) == .integer(36) && rows.value("years", row: 0) == nil)
        #expect(try db.rows("SELECT p.name, p.age FROM Person p ORDER BY p.id").next()?["name"] == .text("Ada"))
        let both = try db.rawQuery("SELECT p.name, p.department.name FROM Person p WHERE p.age > 30")
        #expect(both.value("p.name", row: 0) == .text("Ada"))
        #expect(both.value("p.department.name", row: 0) == .text("Engines"))
    }

    /// A condition gives 1, 0 or NULL.
    @Test func conditions() throws {
        #expect(try db.rawQuery("SELECT age > 30 FROM Person ORDER BY id", as: Bool.self) == [true, false, false])
        #expect(try db.rawQuery("SELECT name = 'Ada' FROM Person ORDER BY id", as: Bool?.self) == [true, false, nil])
        #expect(try db.rawQuery("SELECT sum(age = 20), sum(age > 99) FROM Person", as: (Int, Int).self)[0] == (2, 0))
        struct Line: Decodable { let old: Bool }
        #expect(try db.rawQuery("SELECT age > 30 AS old FROM Person", as: Line.self).filter(\.old).count == 1)
        let error = fault { () throws(MakoError) in _ = try db.rawQuery("SELECT age FROM Person", as: Bool.self) }
        #expect(error == .columnMismatch(column: "age", row: 0, expected: "Bool", found: "integer 36"))
    }

    @Test func typesThatDecode() throws {
        enum Rank: Int, Decodable { case junior = 20, senior = 36 }
        struct Line: Decodable, Equatable {
            let name: String?
            let rank: Rank
            let place: String?

            enum CodingKeys: String, CodingKey {
                case name, place
                case rank = "age"
            }
        }
        let lines = try db.rawQuery(
            "SELECT name, age, department.name AS place, id FROM Person ORDER BY id", as: Line.self)
        #expect(
            lines == [
                Line(name: "Ada", rank: .senior, place: "Engines"), Line(name: "Bob", rank: .junior, place: nil),
                Line(name: nil, rank: .junior, place: nil),
            ])
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT name, id AS age, name AS place FROM Person WHERE id = 1", as: Line.self)
            } == .columnMismatch(column: "age", row: 0, expected: "Rank", found: "integer 1"))
    }

    @Test func jsonColumnsAndDatesAreDecoded() throws {
        struct Parts: Decodable {
            let words: [String]
            let size: [String: Int]
            let day: Date
        }
        let found = try db.rawQuery(
            "SELECT '[\"a\", \"b\"]' AS words, '{\"x\": 3}' AS size, date('2001-01-01') AS day FROM Person LIMIT 1",
            as: Parts.self)
        #expect(found.first?.words == ["a", "b"] && found.first?.size == ["x": 3])
        #expect(found.first?.day == Date(timeIntervalSinceReferenceDate: 0))
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery(
                    "SELECT 'no list' AS words, '{}' AS size, date('2001-01-01') AS day FROM Person", as: Parts.self)
            }
                == .columnMismatch(
                    column: "words", row: 0, expected: "Array<String> as JSON", found: "text 'no list'"))
    }

    @Test func faultsNameColumnAndTypes() throws {
        struct Line: Decodable {
            let name: String
            let age: Int?
        }
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT age, name FROM Person ORDER BY id", as: (Int, String).self)
            } == .columnMismatch(column: "name", row: 2, expected: "String", found: "NULL"))
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT id, name FROM Person ORDER BY id", as: (Int, Int?).self)
            } == .columnMismatch(column: "name", row: 0, expected: "Int?", found: "text 'Ada'"))
        #expect(
            fault { () throws(MakoError) in _ = try db.rawQuery("SELECT name, age FROM Person", as: Line.self) }
                == .columnMismatch(column: "name", row: 2, expected: "String", found: "NULL"))
        // An optional needs its column as well: a name that is written wrongly must not be nil for ever.
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT 'x' AS name, age AS years FROM Person", as: Line.self)
            } == .columnMissing(column: "age", expected: "Int", columns: ["name", "years"]))
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT name FROM Person", as: (String, Int).self)
            } == .columnMissing(column: nil, expected: "(String, Int)", columns: ["name"]))
        for error in [
            MakoError.columnMismatch(column: "name", row: 2, expected: "String", found: "NULL"),
            .columnMissing(column: "age", expected: "Int", columns: ["name", "years"]),
            .columnMissing(column: nil, expected: "(String, Int)", columns: ["name"]),
        ] {
            #expect("\(error)".contains("name"))
        }
        #expect("\(MakoError.columnMismatch(column: "a", row: 0, expected: "Int", found: "NULL"))".contains("Int?"))
    }

    /// A statement run for its rows must not write.
    @Test func statementsThatWriteAreRefused() throws {
        #expect(throws: MakoError.self) {
            try db.rawQuery("DELETE FROM Person WHERE age = 20", as: (String, Int).self)
        }
        #expect(try db.query(Person.self).count() == 3)
    }

    /// Every type that a decoder requests directly, with and without a value.
    @Test func plainTypesOfAllSizes() throws {
        struct Sizes: Decodable, Equatable {
            var a: Int8, b: Int16, c: Int32, d: Int64, e: UInt, f: UInt8, g: UInt16, h: UInt32, i: UInt64
            var j: Float, k: Double, l: Bool, m: String, n: Int
        }
        struct Perhaps: Decodable, Equatable {
            var a: Int8?, b: Int16?, c: Int32?, d: Int64?, e: UInt?, f: UInt8?, g: UInt16?, h: UInt32?, i: UInt64?
            var j: Float?, k: Double?, l: Bool?, m: String?, n: Int?, o: Date?
        }
        let names = Array("abcdefghi").map { "1 AS \($0)" }.joined(separator: ", ")
        let text = "SELECT \(names), 0.5 AS j, 2.5 AS k, TRUE AS l, 'x' AS m, -1 AS n, NULL AS o FROM Person LIMIT 1"
        #expect(
            try db.rawQuery(text: text).rows(as: Sizes.self) == [
                Sizes(a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 0.5, k: 2.5, l: true, m: "x", n: -1)
            ])
        #expect(
            try db.rawQuery(text: text).rows(as: Perhaps.self) == [
                Perhaps(
                    a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 0.5, k: 2.5, l: true, m: "x", n: -1, o: nil
                )
            ])
        // Out of range, not cut.
        #expect(
            fault { () throws(MakoError) in
                _ = try db.rawQuery("SELECT 300 FROM Person", as: UInt8.self)
            } == .columnMismatch(column: "300", row: 0, expected: "UInt8", found: "integer 300"))
    }

    @Test func enumerationsOfAllRawTypes() throws {
        enum A: Int8, Decodable { case one = 1 }
        enum B: Int16, Decodable { case one = 1 }
        enum C: Int32, Decodable { case one = 1 }
        enum D: Int64, Decodable { case one = 1 }
        enum E: UInt, Decodable { case one = 1 }
        enum F: UInt8, Decodable { case one = 1 }
        enum G: UInt16, Decodable { case one = 1 }
        enum H: UInt32, Decodable { case one = 1 }
        enum I: UInt64, Decodable { case one = 1 }
        enum J: Float, Decodable { case one = 1 }
        enum K: Double, Decodable { case one = 1 }
        enum M: String, Decodable { case one = "x" }
        struct Cases: Decodable {
            let a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H, i: I, j: J, k: K, m: M
        }
        let names = Array("abcdefghijk").map { "1 AS \($0)" }.joined(separator: ", ")
        let found = try db.rawQuery(text: "SELECT \(names), 'x' AS m FROM Person LIMIT 1").rows(as: Cases.self)
        #expect(found.count == 1 && found.first?.m == .one && found.first?.k == .one)
        // A type that is one value takes the only column.
        #expect(try db.rawQuery("SELECT 'x' FROM Person LIMIT 1", as: M.self) == [.one])
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT 'x', 'y' FROM Person", as: M.self) }
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT 'y' FROM Person", as: M.self) }
    }

    /// Decoding that is written by hand: what a row has not is refused by name.
    @Test func handWrittenDecoding() throws {
        struct Own: Decodable {
            enum Key: String, CodingKey { case name, size, gone }
            let names: [String]
            let isThere: [Bool]
            let isNull: Bool
            let refused: Int

            init(from decoder: any Decoder) throws {
                let row = try decoder.container(keyedBy: Key.self)
                names = row.allKeys.map(\.rawValue)
                isThere = [row.contains(.name), row.contains(.gone)]
                isNull = try row.decodeNil(forKey: .size)
                var refused = 0
                do { _ = try row.nestedContainer(keyedBy: Key.self, forKey: .name) } catch is MakoError { refused += 1 }
                do { _ = try row.nestedUnkeyedContainer(forKey: .name) } catch is MakoError { refused += 1 }
                do { _ = try decoder.unkeyedContainer() } catch is MakoError { refused += 1 }
                do {
                    _ = try row.superDecoder(forKey: .name).unkeyedContainer()
                    _ = try row.superDecoder().unkeyedContainer()
                } catch is MakoError { refused += 1 }
                self.refused = refused
                if decoder.userInfo.isEmpty && decoder.codingPath.isEmpty && row.codingPath.isEmpty { return }
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no"))
            }
        }
        let own = try #require(try db.rawQuery("SELECT name, NULL AS SIZE FROM Person LIMIT 1", as: Own.self).first)
        // Columns are found in any case, and listed as they are called.
        #expect(own.names == ["name"] && own.isThere == [true, false] && own.isNull && own.refused == 4)

        struct Never: Decodable {
            enum Key: String, CodingKey { case name }
            init(from decoder: any Decoder) throws {
                throw DecodingError.keyNotFound(Key.name, .init(codingPath: [], debugDescription: "not today"))
            }
        }
        #expect(
            fault { () throws(MakoError) in _ = try db.rawQuery("SELECT name FROM Person", as: Never.self) }
                == .columnMismatch(column: "name", row: 0, expected: "Never", found: "a row (not today)"))
    }

    /// A type that refuses a value by an error of its own: the query is right, and the error names the column, as far as
    /// it is known.
    @Test func anErrorOfTheTypeIsNoneOfTheQuery() throws {
        struct Refusal: Error, CustomStringConvertible { let description = "too young" }
        struct Adult: Decodable { init(from decoder: any Decoder) throws { throw Refusal() } }
        struct Holder: Decodable { let age: Adult }
        #expect(
            fault { () throws(MakoError) in _ = try db.rawQuery("SELECT age, name FROM Person", as: Adult.self) }
                == .columnMismatch(column: "a column", row: 0, expected: "Adult", found: "a row (too young)"))
        let error = fault { () throws(MakoError) in _ = try db.rawQuery("SELECT age FROM Person", as: Holder.self) }
        guard case .columnMismatch("age", 0, "Adult", let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.hasSuffix("(too young)"))
    }

    @Test func asyncForms() async throws {
        let pairs = try await db.rawQuery("SELECT name, age FROM Person WHERE id = 1", as: (String, Int).self)
        #expect(pairs.count == 1 && pairs[0] == ("Ada", 36))
        #expect(try await db.rawQuery("SELECT count(*) FROM Person", as: Int.self) == [3])
        let groups = try await db.query(Person.self).group(by: \.age).select("count(*) AS n").fetch()
        #expect(try groups.rows(as: (Int, Int).self).map(\.1) == [2, 1])
    }
}
