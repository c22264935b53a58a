import Foundation
import Mako
import Testing

@Entity final class Portrait {
    var cover: StoredImage?
    var pages: [String: StoredImage] = [:]
}

@Suite struct ValueTests {
    private func roundTrip(_ change: (Everything) -> Void) throws -> Everything {
        let db = try makeDatabase([Everything.self])
        let object = Everything()
        change(object)
        try db.save(object)
        let id = try #require(object.id)
        return try #require(try db.find(Everything.self, id))
    }

    @Test func defaultsSurvive() throws {
        let read = try roundTrip { _ in }
        #expect(read.character == "a")
        #expect(read.grade == .junior)
        #expect(read.level == .low)
        #expect(read.settings == Settings())
        #expect(read.tags.isEmpty)
        #expect(read.url == nil)
        #expect(read.optionalLevel == nil)
        #expect(read.group == "g")
        #expect(read.order == nil)
    }

    @Test func extremesSurvive() throws {
        let id = UUID()
        let url = try #require(URL(string: "https://example.org/a?b=c"))
        let read = try roundTrip { object in
            object.flag = true
            object.int = .min
            object.int8 = .min
            object.int16 = .max
            object.int32 = .min
            object.int64 = .max
            object.uint = .max
            object.uint8 = .max
            object.uint16 = .max
            object.uint32 = .max
            object.uint64 = .max
            object.float = .greatestFiniteMagnitude
            object.double = -0.1
            object.text = "naïve 🦈 \0 text"
            object.character = "🦈"
            object.date = Date(timeIntervalSinceReferenceDate: 0.1)
            object.data = Data([0, 1, 255])
            object.bytes = [9, 8]
            object.url = url
            object.uuid = id
            object.decimal = Decimal(string: "12345678901234567890.123456789") ?? 0
            object.grade = .senior
            object.level = .high
            object.optionalLevel = .high
            object.settings = Settings(theme: "light", volume: 1)
            object.tags = ["b", "a"]
            object.scores = ["x": 1]
            object.optionalInt = 0
            object.optionalFlag = false
            object.optionalDate = Date(timeIntervalSinceReferenceDate: -1e9)
            object.optionalData = Data()
            object.order = 5
        }
        #expect(read.flag)
        #expect(read.int == .min)
        #expect(read.int8 == .min)
        #expect(read.int16 == .max)
        #expect(read.int32 == .min)
        #expect(read.int64 == .max)
        #expect(read.uint == .max)
        #expect(read.uint8 == .max)
        #expect(read.uint16 == .max)
        #expect(read.uint32 == .max)
        #expect(read.int64 == .max)
        #expect(read.uint == .max)
        #expect(read.uint64 == .max)
        #expect(read.float == .greatestFiniteMagnitude)
        #expect(read.double == -0.1)
        #expect(read.text == "naïve 🦈 \0 text")
        #expect(read.character == "🦈")
        #expect(read.date == Date(timeIntervalSinceReferenceDate: 0.1))
        #expect(read.data == Data([0, 1, 255]))
        #expect(read.bytes == [9, 8])
        #expect(read.url == url)
        #expect(read.uuid == id)
        #expect(read.decimal == Decimal(string: "12345678901234567890.123456789"))
        #expect(read.grade == .senior)
        #expect(read.level == .high)
        #expect(read.optionalLevel == .high)
        #expect(read.settings == Settings(theme: "light", volume: 1))
        #expect(read.tags == ["b", "a"])
        #expect(read.scores == ["x": 1])
        #expect(read.optionalInt == 0)
        #expect(read.optionalFlag == false)
        #expect(read.optionalDate == Date(timeIntervalSinceReferenceDate: -1e9))
        #expect(read.optionalData == Data())
        #expect(read.order == 5)
    }

    @Test(arguments: [Double.infinity, -.infinity, -0.0, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude])
    func unusualNumbersSurvive(_ number: Double) throws {
        let read = try roundTrip { object in
            object.double = number
            object.float = Float(number)
        }
        // Not by ==, which neither knows NaN nor the sign of a zero.
        #expect(read.double.isNaN == number.isNaN && read.double.sign == number.sign)
        #expect(number.isNaN || read.double.bitPattern == number.bitPattern)
        #expect(number.isNaN ? read.float.isNaN : read.float.bitPattern == Float(number).bitPattern)
    }

    @Test func emptyIsNotMissing() throws {
        let read = try roundTrip { object in
            object.text = ""
            object.data = Data()
            object.bytes = []
            object.tags = []
            object.scores = [:]
            object.optionalData = Data()
        }
        #expect(read.text.isEmpty && read.data.isEmpty && read.bytes.isEmpty)
        #expect(read.tags.isEmpty && read.scores.isEmpty && read.optionalData == Data())
    }

    @Test func largeTextsAndDataSurvive() throws {
        let text = String(repeating: "naïve 🦈 ", count: 900_000)
        let data = Data((0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let read = try roundTrip { object in
            object.text = text
            object.data = data
        }
        #expect(text.utf8.count > 10_000_000 && read.text == text)
        #expect(read.data == data)
    }

    /// A missing value among values, at each position in the row.
    @Test(arguments: 0..<6) func anyOfTheOptionalsMayBeNil(_ missing: Int) throws {
        let read = try roundTrip { object in
            object.url = missing == 0 ? nil : URL(string: "https://example.org")
            object.optionalLevel = missing == 1 ? nil : .high
            object.optionalInt = missing == 2 ? nil : 7
            object.optionalFlag = missing == 3 ? nil : true
            object.optionalDate = missing == 4 ? nil : Date(timeIntervalSinceReferenceDate: 5)
            object.optionalData = missing == 5 ? nil : Data([1])
            object.order = 9
        }
        let isNil = [
            read.url == nil, read.optionalLevel == nil, read.optionalInt == nil, read.optionalFlag == nil,
            read.optionalDate == nil, read.optionalData == nil,
        ]
        #expect(isNil == (0..<6).map { $0 == missing })
        #expect(read.order == 9)
    }

    @Test func structsKeepTheirKey() throws {
        let db = try makeDatabase([Reading.self])
        var reading = Reading(sensor: "a", value: 1.5)
        #expect(reading.id == nil)
        try db.save(&reading)
        #expect(reading.id == 1)
        reading.value = 2
        try Database.withDefault(db) { try reading.commit() }
        #expect(try db.find(Reading.self, 1)?.value == 2)
        let saved = try db.save([Reading(sensor: "b", value: 1), Reading(sensor: "c", value: 2)])
        #expect(saved.map(\.id) == [2, 3])
        #expect(try db.delete(saved[0]))
        #expect(try !db.delete(saved[0]))
        #expect(try db.find(Reading.self, 2) == nil)
    }

    @Test func imagesKeepTheirBytes() throws {
        let db = try makeDatabase([Portrait.self])
        let bytes = Data((0...255).map { UInt8($0) })
        let portrait = Portrait(cover: StoredImage(data: bytes), pages: ["first": StoredImage(data: Data([1]))])
        try db.save(portrait)
        let read = try #require(try db.find(Portrait.self, 1))
        #expect(read.cover == StoredImage(data: bytes) && read.pages["first"]?.data == Data([1]))
        read.cover = nil
        try db.save(read)
        #expect(try db.query(Portrait.self).where("cover IS NULL").count() == 1)
        #expect(try Portrait(["cover": StoredImage(data: bytes)]).cover?.data == bytes)
    }

    @Test func structsWithATextKey() throws {
        let db = try makeDatabase([Wolf.self, Den.self])
        let den = Den(place: "cave")
        var akela = Wolf(name: "Akela", weight: 40, den: ToOne(den))
        try db.save(&akela)
        #expect(den.id == 1)
        #expect(akela.id == "Akela")
        let read = try #require(try db.find(Wolf.self, "Akela"))
        #expect(read.weight == 40)
        #expect(try read.den.load()?.place == "cave")
        var twin = Wolf(name: "Akela", weight: 1)
        #expect(throws: MakoError.self) { try db.insert(&twin) }
        try db.save(&twin)
        #expect(try db.find(Wolf.self, "Akela")?.weight == 1)
        #expect(try db.find(Wolf.self, "Akela")?.den.isEmpty == true)
        var nameless = Wolf(name: "")
        try db.save(&nameless)
        #expect(nameless.name.count == 36)
    }
}
