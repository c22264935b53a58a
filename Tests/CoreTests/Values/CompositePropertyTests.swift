import Foundation
import MakoCore
import MakoStorage
import Testing

/// Properties whose values fill several columns, without macros.
@Suite struct CompositePropertyTests {
    private let db: Database
    private static let rect = CGRect(x: 1, y: 2, width: 3, height: 4)

    init() throws { db = try Database.inMemory(entities: [Pane.self, Ship.self]) }

    private func texts(_ query: Query<Pane>) throws -> [String] { try query.orderBy("id").fetch().map(\.name) }

    @Test func eachPartHasAColumn() throws {
        let table = try #require(db.tables.first { $0.name == "Pane" })
        #expect(
            table.columns.map(\.name) == [
                "name", "frame_x", "frame_y", "frame_width", "frame_height", "place_latitude", "place_longitude",
                "span_lowerBound", "span_upperBound", "price_amount", "price_currency", "price_paid", "size_width",
                "size_height", "other_x", "other_y", "other_width", "other_height", "ship",
            ])
        #expect(table.column(named: "frame_x")?.isOptional == false)
        #expect(table.column(named: "place_longitude")?.isOptional == true)
        #expect(table.indexes.map(\.name).sorted() == ["frame_x,name", "ship", "span_lowerBound,span_upperBound"])
    }

    @Test func valuesComeBack() throws {
        let pane = Pane("a", Self.rect, place: Coordinate(latitude: -33.9, longitude: 18.4), days: 3..<9)
        pane.price = Price(12.345, "NOK", paid: Date(timeIntervalSinceReferenceDate: 1.5))
        pane.ship = Ship(name: "Argo")
        let bare = Pane("b", CGRect.null)
        bare.price = Price(0, "")
        try db.save([pane, bare])
        let read = try #require(try db.find(Pane.self, 1))
        #expect(read.frame == Self.rect && read.place == pane.place && read.days == 3..<9)
        #expect(read.price == pane.price && read.ship?.name == "Argo")
        let other = try #require(try db.find(Pane.self, 2))
        #expect(other.frame == .null && other.place == nil && other.days == nil && other.price == Price(0, ""))
        #expect(!read.isDirty)
        read.frame.origin.y = 7
        #expect(read.isDirty)
        try db.save(read)
        #expect(try db.find(Pane.self, 1)?.frame == CGRect(x: 1, y: 7, width: 3, height: 4))
    }

    @Test func nilIsNilInAllColumns() throws {
        let pane = Pane("a", days: 3..<9)
        pane.price = Price(5, "NOK", paid: .now)
        try db.save(pane)
        pane.price = nil
        pane.days = nil
        try db.save(pane)
        let columns = ["span_lowerBound", "span_upperBound", "price_amount", "price_currency", "price_paid"]
        for column in columns { #expect(try db.query(Pane.self).where(text: "\(column) IS NULL").count() == 1) }
        #expect(try db.find(Pane.self, 1)?.days == nil)
    }

    @Test func optionsConcernTheWholeProperty() throws {
        let pane = Pane("a", place: Coordinate(latitude: 1, longitude: 2), days: 1..<2)
        pane.size = CGSize(width: 5, height: 6)
        try db.save(pane)
        pane.place = nil
        pane.size = .zero
        try db.save(pane)
        let read = try #require(try db.find(Pane.self, 1))
        #expect(read.place == Coordinate(latitude: 1, longitude: 2))
        #expect(read.size == CGSize(width: 5, height: 6))
        // One bound in common is no conflict, and nil never is.
        try db.save([Pane("b", days: 1..<3), Pane("c"), Pane("d")])
        #expect(throws: MakoError.self) { try db.save(Pane("e", days: 1..<3)) }
    }

    @Test func conditionsNameParts() throws {
        try db.save(
            (0..<5).map { number in
                let x = CGFloat(number)
                return Pane(
                    "p\(number)", CGRect(x: x, y: -x, width: 10, height: 2 * x),
                    days: number == 0 ? nil : number..<10)
            })
        let query = db.query(Pane.self)
        #expect(try texts(query.where(\.frame.x > 2)) == ["p3", "p4"])
        #expect(try texts(query.where(\.frame.origin.y <= -3 && \.frame.height < 8)) == ["p3"])
        #expect(try texts(query.where("frame_x > 2 AND frame_height = \(6)")) == ["p3"])
        #expect(try texts(query.where(\.days.lowerBound >= 3)) == ["p3", "p4"])
        #expect(try texts(query.where("span_lowerBound >= 3")) == ["p3", "p4"])
        #expect(try query.orderBy(\.frame.y).limit(2).fetch().map(\.name) == ["p4", "p3"])
        #expect(try query.max(\.frame.height) == 8 && query.sum(\.frame.x) == 10)
        #expect(try query.distinct(\.frame.width) == [10])
        #expect(try query.where(\.frame.x == 3).explain().contains("frame_x"))
    }

    @Test func wholeValuesAreComparedInAllParts() throws {
        let close = CGRect(x: 1, y: 2, width: 3, height: 5)
        try db.save([Pane("a", Self.rect, days: 1..<5), Pane("b", close, days: 1..<6), Pane("c", Self.rect)])
        let query = db.query(Pane.self)
        #expect(try texts(query.where(\.frame == Self.rect)) == ["a", "c"])
        #expect(try texts(query.where(\.frame != Self.rect)) == ["b"])
        #expect(try texts(query.where(!(\.frame == Self.rect))) == ["b"])
        #expect(try texts(query.where(\.days == 1..<6)) == ["b"])
        #expect(try texts(query.where(\.days != 1..<6)) == ["a", "c"])
        #expect(try texts(query.where(\.days == nil)) == ["c"])
        #expect(try texts(query.where(\.days != nil)) == ["a", "b"])
        #expect(try texts(query.where(\.frame == \.other)) == [])
        try db.update(Pane.self).set(\.other, to: \.frame).where(\.name == "b").run()
        #expect(try texts(query.where(\.frame == \.other)) == ["b"])
        #expect(try texts(query.where(\.frame != \.other)) == ["a", "c"])
        let paid = Price(1, "NOK", paid: .distantPast)
        for (name, price) in [("a", paid), ("b", Price(1, "NOK"))] {
            try db.update(Pane.self).set(\.price, to: price).where(\.name == name).run()
        }
        #expect(try texts(query.where(\.price == paid)) == ["a"])
        #expect(try texts(query.where(\.price == Price(1, "NOK"))) == ["b"])
        #expect(try texts(query.where(\.price.paid == nil)) == ["b", "c"])
    }

    @Test func whatIsNoPartIsSaid() throws {
        func fault(_ body: () throws -> Void) -> String {
            do { try body() } catch { return "\(error)" }
            return ""
        }
        let query = db.query(Pane.self)
        #expect(fault { _ = try query.where(\.frame.midX > 2).count() }.contains("frame_x, frame_y"))
        #expect(fault { _ = try query.orderBy(\.frame).count() }.contains("name one of its parts"))
        #expect(fault { _ = try query.distinct(\.days.count) }.contains("no part of Pane.days"))
        #expect(fault { _ = try query.where("frame > 2").count() }.contains("frame"))
        #expect(fault { try db.update(Pane.self).set(\.size.width, to: 1).run() }.contains("written once"))
    }

    @Test func updatesSetWholeValuesAndParts() throws {
        try db.save([Pane("a", Self.rect, days: 1..<5), Pane("b", days: 7..<8)])
        #expect(try db.update(Pane.self).set(\.frame, to: CGRect(x: 9, y: 8, width: 7, height: 6)).run() == 2)
        #expect(try db.find(Pane.self, 2)?.frame == CGRect(x: 9, y: 8, width: 7, height: 6))
        try db.update(Pane.self).set(\.frame.x, to: \.frame.x + 10).set(\.frame.width, to: 1).where(\.name == "a").run()
        #expect(try db.find(Pane.self, 1)?.frame == CGRect(x: 19, y: 8, width: 1, height: 6))
        try db.update(Pane.self).set(\.days.upperBound, to: 6).set(\.days, to: 2..<3).where(\.name == "a").run()
        #expect(try db.find(Pane.self, 1)?.days == 2..<3)
        try db.update(Pane.self).set(\.days, to: 2..<4).set(\.days.upperBound, to: 6).where(\.name == "a").run()
        #expect(try db.find(Pane.self, 1)?.days == 2..<6)
        try db.update(Pane.self).set(\.price, to: Price(1, "NOK", paid: .distantPast)).run()
        try db.update(Pane.self).set(\.price.paid, to: nil).where(\.name == "a").run()
        #expect(try db.find(Pane.self, 1)?.price == Price(1, "NOK"))
        #expect(try db.find(Pane.self, 2)?.price?.paid == .distantPast)
        #expect(throws: MakoError.self) { try db.update(Pane.self).set(\.price.amount, to: nil).run() }
        // An update to an invalid value is refused, and changes nothing.
        #expect(throws: MakoError.self) { try db.update(Pane.self).set(\.days.upperBound, to: 1).run() }
        try db.update(Pane.self).set(\.days, to: nil).where(\.name == "b").run()
        #expect(throws: MakoError.self) { try db.update(Pane.self).set(\.days.lowerBound, to: 1).run() }
        #expect(try db.query(Pane.self).where("span_upperBound IS NULL").count() == 1)
        #expect(try db.find(Pane.self, 1)?.days == 2..<6)
    }

    @Test func changesNameTheProperty() throws {
        let pane = Pane("a", Self.rect)
        try db.save(pane)
        let notified = NotifiedProperties()
        let token = try Pane.onChange(in: db) { notified.note($0.changedProperties) }
        pane.frame.origin.x = 5
        pane.frame.size.height = 6
        pane.days = 1..<2
        try db.save(pane)
        try db.update(Pane.self).set(\.frame.y, to: 3).run()
        token.cancel()
        #expect(notified.all == [["frame", "days"], ["frame"]])
    }

    @Test func theHistoryNamesTheProperty() throws {
        var options = DatabaseOptions()
        options.history = .kept()
        let db = try Database.inMemory(entities: [Pane.self, Ship.self], options: options)
        let pane = Pane("a", Self.rect)
        try db.save(pane)
        let before = try db.historyToken()
        pane.frame = .zero
        try db.save(pane)
        let changes = try db.history(since: before).compactMap(\.batch).flatMap(\.changes)
        #expect(changes.map(\.changedProperties) == [["frame"]])
    }

    @Test func liveQueriesFollowParts() async throws {
        try await db.transaction { _ in try db.save([Pane("a", Self.rect), Pane("b")]) }
        var live = db.query(Pane.self).where(\.frame.width > 2).orderBy(\.frame.x).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.map(\.name) == ["a"])
        _ = try await db.update(Pane.self).set(\.frame, to: CGRect(x: 0, y: 0, width: 9, height: 9)).where(
            \.name == "b"
        )
        .run()
        let difference = try #require(try await live.next())
        #expect(difference.results.map(\.name) == ["b", "a"] && difference.insertions == [0])
        #expect(difference.results.first?.frame.height == 9)
    }

    @Test func lightweightObjectsReadThem() throws {
        try db.save([Pane("a", Self.rect, days: 2..<4), Pane("b")])
        let found = try db.query(Pane.self).fetchLightweight(prefetching: \.days, \.name, \.frame)
        #expect(found.map(\.frame) == [Self.rect, .zero] && found.map(\.days) == [2..<4, nil])
        #expect(found.map(\.name) == ["a", "b"])
        let part = try db.query(Pane.self).fetchLightweight(prefetching: \.frame.origin.x)
        #expect(part[0].frame == Self.rect)
        #expect(db.metrics.lazyLoads == 0)
        #expect(found[0].description.contains("frame: (x: 1.0, y: 2.0, width: 3.0, height: 4.0)"))
    }

    @Test func dictionariesHaveTheParts() throws {
        let pane = Pane("a", Self.rect)
        pane.price = Price(7, "SEK")
        try db.save(pane)
        let dictionary = pane.asDictionary
        #expect(dictionary["frame_width"] == .double(3) && dictionary["days_lowerBound"] == .some(.null))
        #expect(dictionary["price_currency"] == .text("SEK") && dictionary["frame"] == nil)
        let frame = "frame: (x: 1.0, y: 2.0, width: 3.0, height: 4.0) (CGRect)"
        #expect(pane.description.contains(frame + ", place: NULL (Coordinate?), days: NULL (Range<Int>?)"))
        let values = DictionaryValues(dictionary, entity: "Pane")
        #expect(try values.value("frame", EntityCoding.codec(CGRect.self)) == Self.rect)
        #expect(try values.value("price", EntityCoding.codec(Price?.self)) == Price(7, "SEK"))
        #expect(try values.value("days", EntityCoding.codec(Range<Int>?.self)) == .some(nil))
        #expect(try values.value("nothing", EntityCoding.codec(Range<Int>?.self)) == nil)
    }

    @Test func dictionariesTakeValuesAndNestedParts() throws {
        let json = Data(#"{"Frame": {"X": 1, "y": 2, "width": 3, "height": 4.0}, "place": null, "days": [1, 2]}"#.utf8)
        let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        let values = DictionaryValues(object, entity: "Pane")
        #expect(try values.value("frame", EntityCoding.codec(CGRect.self)) == Self.rect)
        #expect(try values.value("place", EntityCoding.codec(Coordinate?.self)) == .some(nil))
        #expect(throws: MakoError.self) { try values.value("days", EntityCoding.codec(Range<Int>?.self)) }
        let whole = DictionaryValues(["frame": Self.rect, "days": 1..<2], entity: "Pane")
        #expect(try whole.required("frame", EntityCoding.codec(CGRect.self)) == Self.rect)
        #expect(try whole.value("days", EntityCoding.codec(Range<Int>?.self)) == .some(1..<2))
        let parts = DictionaryValues(["frame_x": 1, "days_lowerBound": 5, "days_upperbound": 3], entity: "Pane")
        #expect(throws: MakoError.missingValue(entity: "Pane", property: "frame_y")) {
            try parts.value("frame", EntityCoding.codec(CGRect.self))
        }
        #expect(throws: MakoError.self) { try parts.value("days", EntityCoding.codec(Range<Int>?.self)) }
        let empty = DictionaryValues(["frame": NSNull()], entity: "Pane")
        #expect(throws: MakoError.missingValue(entity: "Pane", property: "frame")) {
            try empty.value("frame", EntityCoding.codec(CGRect.self))
        }
    }

    @Test func copiesHaveThem() throws {
        let pane = Pane("a", Self.rect, days: 1..<2)
        try db.save(pane)
        let twin = pane.clone()
        twin.days = nil
        try db.save(twin)
        #expect(try db.find(Pane.self, 2)?.frame == Self.rect)
        #expect(pane.copy().frame == Self.rect)
        pane.frame = .zero
        try db.refresh(pane)
        #expect(pane.frame == Self.rect)
    }

    @Test func keysAndUncertainValuesAreRefused() throws {
        #expect(throws: MakoError.self) { try Database.inMemory(entities: [KeyedByPlace.self]) }
        #expect(throws: MakoError.self) { try Database.inMemory(entities: [MaybeFirst.self]) }
    }
}

private final class NotifiedProperties: @unchecked Sendable {
    private let lock = Lock()
    private var lists: [[String]] = []
    func note(_ names: [String]) { lock.withLock { lists.append(names) } }
    var all: [[String]] { lock.withLock { lists } }
}

/// A key cannot have several columns.
private struct KeyedByPlace: Entity {
    var _$value = ValueState()
    static let entityModel = EntityModel(
        KeyedByPlace.self, table: "KeyedByPlace",
        properties: [.column("place", \KeyedByPlace.place, EntityCoding.codec(Coordinate.self))], keys: ["place"])
    var place: Coordinate
    var id: Coordinate { place }
    init(row: EntityRow) throws(MakoError) { place = try EntityCoding.codec(Coordinate.self).read(row, 0) }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(Coordinate.self).write(place, &writer, 0)
    }
}

/// Only a part that is never missing can show whether there is a value.
private struct MaybeFirst: Entity {
    struct Pair: CompositeValue {
        var first: Int?
        var second: Int
        static let valueParts = [ValuePart("first", \Pair.first), ValuePart("second", \Pair.second)]
        init(parts: ValueParts<Pair>) throws(MakoError) {
            first = try parts.value(0)
            second = try parts.value(1)
        }
    }

    var _$value = ValueState()
    static let entityModel = EntityModel(
        MaybeFirst.self, table: "MaybeFirst", id: \MaybeFirst.id,
        properties: [.column("pair", \MaybeFirst.pair, EntityCoding.codec(Pair?.self))])
    var pair: Pair?
    var id: Int? { _$value.id }
    init(row: EntityRow) throws(MakoError) { pair = try EntityCoding.codec(Pair?.self).read(row, 0) }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try EntityCoding.codec(Pair?.self).write(pair, &writer, 0)
    }
}
