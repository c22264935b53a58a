import Foundation
import Mako
import TestHelpers
import Testing

/// Entities with values that have several columns.
enum Composite {
    struct Money: CompositeValue, Codable, Equatable {
        var amount: Double
        var currency: String

        init(_ amount: Double, _ currency: String) { (self.amount, self.currency) = (amount, currency) }

        static let valueParts = [ValuePart("amount", \Money.amount), ValuePart("currency", \Money.currency)]
        init(parts: ValueParts<Money>) throws(MakoError) {
            self.init(try parts[\.amount], try parts[\.currency])
        }
    }

    @Entity final class Window: Codable {
        #Index<Window>([\.frame.origin.x, \.title])
        #Unique<Window>([\.title, \.corner])
        var title = ""
        var frame = CGRect(x: 1, y: 2, width: 3, height: 4)
        var corner: CGPoint?
        var size: CGSize?
        var opacity: CGFloat = 1
        var selection: NSRange?
        var rows: Range<Int> = 0..<0
        var open: ClosedRange<Date>?
        var names: Range<String>?
        var place: Coordinate?
        var paint: RGBAColor = RGBAColor(red: 0, green: 0, blue: 0)
        @Attribute(.indexed) var price: Money?
        @Attribute(.serialized) var drag: CGRect?
        var parent: Window?
    }

    @Entity struct Stall {
        @Attribute(.primaryKey) var name: String
        var place: Coordinate
        var area: CGSize = .zero
        var rent: Money?
    }

    @Entity("CompositeShape") class Shape {
        var frame: CGRect = .zero
    }

    @Entity final class Box: Shape {
        var depth: Range<Double>?
        var colour: RGBAColor?
    }

    @Entity(ignoringSuperclass: true) final class Ghost: Shape {
        var place: Coordinate?
    }

    @Entity("CompositeShape", partial: true) final class Outline {
        var frame: CGRect = .zero
    }

    @Entity("CompositeShape") final class Marker {
        var frame: CGRect = .zero
        var spot: CGPoint?
    }

    @Entity final class KeyedByPoint {
        @Attribute(.primaryKey) var point: CGPoint = .zero
    }

    @Entity final class Site {
        @Attribute(.identity) var place: Coordinate = Coordinate(latitude: 0, longitude: 0)
        var name = ""
    }

    enum Before {
        @Entity("CompositePlan") final class Plan {
            var name = ""
        }
    }
    enum After {
        @Entity("CompositePlan") final class Plan {
            var name = ""
            var frame: CGRect = CGRect(x: 5, y: 6, width: 7, height: 8)
            var place: Coordinate?
        }
    }
    enum Renamed {
        @Entity("CompositePlan") final class Plan {
            var name = ""
            @Attribute(.originalName("frame"), .column("box")) var bounds: CGRect = .zero
            @Attribute(.originalName("place")) var position: Coordinate?
        }
    }

    struct Spot: CompositeValue, Equatable {
        var x: Double
        var y: Double
        static let valueParts = [ValuePart("x", \Spot.x), ValuePart("y", \Spot.y)]
        init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
        init(parts: ValueParts<Spot>) throws(MakoError) { self.init(x: try parts[\.x], y: try parts[\.y]) }
    }
    struct DeepSpot: CompositeValue, Equatable {
        var x: Double
        var y: Double
        var z: Double?
        static let valueParts = [
            ValuePart("x", \DeepSpot.x), ValuePart("y", \DeepSpot.y), ValuePart("z", \DeepSpot.z),
        ]
        init(parts: ValueParts<DeepSpot>) throws(MakoError) {
            (x, y, z) = (try parts[\.x], try parts[\.y], try parts[\.z])
        }
    }
    enum Flat {
        @Entity("CompositeDive") final class Dive {
            var spot: Spot?
        }
    }
    enum Deep {
        @Entity("CompositeDive") final class Dive {
            var spot: DeepSpot?
        }
    }
}

@Suite struct CompositeValueTests {
    private typealias Window = Composite.Window
    private let db: Database

    init() throws { db = try makeDatabase([Window.self, Composite.Stall.self]) }

    private func titles(_ query: Query<Composite.Window>) throws -> [String] {
        try query.orderBy("id").fetch().map(\.title)
    }

    // MARK: - Values

    @Test func allTypesComeBackWithTheirLimits() throws {
        let huge = CGFloat.greatestFiniteMagnitude
        let window = Window(
            title: "a", frame: CGRect(x: -huge, y: .leastNonzeroMagnitude, width: .infinity, height: -0.0),
            corner: CGPoint(x: 0.1, y: -huge), size: CGSize(width: huge, height: 0), opacity: 0.3,
            selection: NSRange(location: NSNotFound, length: .max), rows: Int.min..<Int.max,
            open: Date.distantPast...Date.distantFuture, names: ""..<"é🙂",
            place: Coordinate(latitude: -90, longitude: 180),
            paint: RGBAColor(red: 1.5, green: -0.25, blue: 1e-300, alpha: 0), price: Composite.Money(.pi, ""),
            drag: CGRect(x: 1, y: 1, width: 1, height: 1))
        try db.save([window, Window(title: "empty")])
        let read = try #require(try db.find(Window.self, 1))
        #expect(read.frame.origin == window.frame.origin && read.frame.size == window.frame.size)
        #expect(read.frame.size.height.sign == .minus)
        #expect(read.corner == window.corner && read.size == window.size && read.opacity == 0.3)
        #expect(read.selection == window.selection && read.rows == window.rows && read.open == window.open)
        #expect(read.names == window.names && read.place == window.place && read.paint == window.paint)
        #expect(read.price == window.price && read.drag == window.drag && !read.isDirty)
        let empty = try #require(try db.find(Window.self, 2))
        #expect(empty.frame == CGRect(x: 1, y: 2, width: 3, height: 4) && empty.rows.isEmpty)
        #expect(empty.corner == nil && empty.selection == nil && empty.open == nil && empty.names == nil)
        #expect(empty.place == nil && empty.price == nil && empty.paint.alpha == 1 && empty.size == nil)
    }

    @Test func nilAndBack() throws {
        let window = Window(title: "a", place: Coordinate(latitude: 1, longitude: 2), price: Composite.Money(1, "NOK"))
        try db.save(window)
        (window.place, window.price) = (nil, nil)
        try db.save(window)
        #expect(try db.find(Window.self, 1)?.place == nil)
        #expect(try db.query(Window.self).where("place_longitude IS NULL AND price_currency IS NULL").count() == 1)
        window.place = Coordinate(latitude: 3, longitude: 4)
        try db.save(window)
        #expect(try db.find(Window.self, 1)?.place == Coordinate(latitude: 3, longitude: 4))
    }

    @Test func structsHaveThem() throws {
        var stall = Composite.Stall(
            name: "fish", place: Coordinate(latitude: 60.4, longitude: 5.3), rent: Composite.Money(9, "NOK"))
        try db.save(&stall)
        stall.area.width = 4
        stall.rent = nil
        try db.save(&stall)
        let read = try #require(try db.find(Composite.Stall.self, "fish"))
        #expect(read.place == stall.place && read.area == CGSize(width: 4, height: 0) && read.rent == nil)
        #expect(try db.query(Composite.Stall.self).where(\.place.latitude > 60).count() == 1)
        let made = try Composite.Stall([
            "name": "fruit", "place": ["latitude": 1, "longitude": 2.5], "area_width": 3,
            "area_height": 4,
        ])
        #expect(made.place == Coordinate(latitude: 1, longitude: 2.5) && made.area == CGSize(width: 3, height: 4))
        #expect(throws: MakoError.missingValue(entity: "Stall", property: "place")) {
            try Composite.Stall(["name": "fruit"])
        }
    }

    @Test func aRollbackRestoresThem() throws {
        let window = Window(title: "a", corner: .zero)
        try db.save(window)
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { tx in
                window.frame.origin.x = 99
                window.corner = nil
                try db.save(window)
                try tx.rollback()
            }
        }
        #expect(window.frame.origin.x == 1 && window.corner == .zero)
        #expect(try db.query(Window.self).where(\.frame.x == 1 && \.corner == CGPoint.zero).count() == 1)
    }

    // MARK: - Queries

    @Test func partsAreQueriedByPathAndByText() throws {
        let parent = Window(title: "parent", frame: CGRect(x: 50, y: 0, width: 1, height: 1))
        try db.save(
            (0..<20).map { number in
                Window(
                    title: "w\(number)", frame: CGRect(x: CGFloat(number), y: 0, width: 1, height: 1),
                    rows: number..<(number + 3),
                    price: Composite.Money(Double(number), number % 2 == 0 ? "NOK" : "SEK"),
                    parent: number == 7 ? parent : nil)
            })
        let query = db.query(Window.self)
        #expect(try query.where(\.frame.x > 10).count() == 10)
        #expect(try query.where("frame_x > 10").count() == 10)
        #expect(try query.where(\.frame.origin.x << (3...5)).count() == 3)
        #expect(try titles(query.where(\.price.currency == "NOK" && \.price.amount > 16)) == ["w18"])
        #expect(try titles(query.where("price_currency = 'NOK' AND price_amount > \(16)")) == ["w18"])
        #expect(try titles(query.where(\.price == Composite.Money(3, "SEK"))) == ["w3"])
        #expect(try titles(query.where(\.price == Composite.Money(3, "NOK"))) == [])
        #expect(try titles(query.where(\.rows == 4..<7)) == ["w4"])
        #expect(try titles(query.where(\.parent.frame.x == 50)) == ["w7"])
        #expect(try titles(query.where("parent.frame_x = 50")) == ["w7"])
        #expect(try titles(query.where(\.parent.frame == parent.frame)) == ["w7"])
        #expect(try query.orderBy(\.rows.upperBound, .descending).first()?.title == "w19")
        #expect(try query.where(\.frame.x == 3).explain().contains("index frame_x,title"))
        #expect(
            try query.where(\.price == Composite.Money(3, "SEK")).explain().contains(
                "index price_amount,price_currency"))
    }

    @Test func valuesInOneColumnHaveNoParts() throws {
        try db.save(Window(title: "a", drag: .zero))
        let query = db.query(Window.self)
        #expect { try query.where(\.drag.width == 0).count() } throws: { "\($0)".contains("one column") }
        #expect { try query.where(\.drag.origin.x == 0).count() } throws: { "\($0)".contains("one column") }
        #expect { try query.where(\.drag == CGRect.zero).count() } throws: { "\($0)".contains("one column") }
        #expect(try query.where("drag IS NOT NULL").count() == 1)
    }

    @Test func uniqueValuesAreUniqueInAllParts() throws {
        try db.save(Window(title: "a", corner: CGPoint(x: 1, y: 2)))
        try db.save([Window(title: "a", corner: CGPoint(x: 1, y: 3)), Window(title: "a"), Window(title: "a")])
        #expect(throws: MakoError.self) { try db.save(Window(title: "a", corner: CGPoint(x: 1, y: 3))) }
        #expect(try db.query(Window.self).count() == 4)
    }

    @Test func valuesIdentifyObjects() throws {
        let bergen = Coordinate(latitude: 60.4, longitude: 5.3)
        try db.save(Composite.Site(place: bergen, name: "Bergen"))
        try db.save(Composite.Site(place: Coordinate(latitude: 60.4, longitude: 5.4), name: "east of it"))
        try db.save(Composite.Site(place: bergen, name: "Bjørgvin"))
        #expect(try db.query(Composite.Site.self).orderBy("id").fetch().map(\.name) == ["Bjørgvin", "east of it"])
    }

    @Test func updatesReachParts() throws {
        try db.save([Window(title: "a", rows: 2..<5), Window(title: "b", price: Composite.Money(2, "NOK"))])
        let rect = CGRect(x: 9, y: 8, width: 7, height: 6)
        try db.update(Window.self).set(\.frame, to: rect).set(\.frame.width, to: \.frame.width * 2)
            .set(\.place, to: Coordinate(latitude: 1, longitude: 1)).where(\.title == "a").run()
        #expect(try db.find(Window.self, 1)?.frame == CGRect(x: 9, y: 8, width: 6, height: 6))
        #expect(try db.find(Window.self, 1)?.place == Coordinate(latitude: 1, longitude: 1))
        try db.update(Window.self).set(\.price.amount, to: 3).where(\.price != nil).run()
        #expect(try db.find(Window.self, 2)?.price == Composite.Money(3, "NOK"))
        #expect(throws: MakoError.self) { try db.update(Window.self).set(\.price.amount, to: 3).run() }
        #expect(throws: MakoError.self) { try db.update(Window.self).set(\.rows.upperBound, to: 1).run() }
        #expect(try db.find(Window.self, 1)?.rows == 2..<5)
    }

    // MARK: - Events

    @Test func eventsNameTheProperty() throws {
        let window = Window(title: "a")
        try db.save(window)
        let notified = Collected<[String]>()
        let token = try Window.onChange(.update, in: db) { notified.append($0.changedProperties) }
        window.frame = .zero
        window.price = Composite.Money(1, "NOK")
        try db.save(window)
        token.cancel()
        #expect(notified.all == [["frame", "price"]])
    }

    @Test func liveQueriesFollowThem() async throws {
        let window = Window(title: "a", frame: .zero)
        try await db.save(window)
        var live = db.query(Window.self).where(\.frame.x < 5).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.count == 1)
        window.frame.origin.y = 4
        try await db.save(window)
        let moved = try #require(try await live.next())
        #expect(moved.updates == [0] && moved.results[0].frame.origin.y == 4)
        window.frame.origin.x = 5
        try await db.save(window)
        #expect(try await live.next()?.deletions == [0])
    }

    // MARK: - Dictionaries and Codable

    @Test func dictionariesGoBothWays() throws {
        let window = Window(title: "a", rows: 1..<4, price: Composite.Money(2, "NOK"))
        try db.save(window)
        let dictionary = window.asDictionary
        #expect(dictionary["frame_height"] == .double(4) && dictionary["rows_upperBound"] == .integer(4))
        #expect(dictionary["place_latitude"] == .some(.null) && dictionary["frame"] == nil)
        let twin = try Window(dictionary)
        #expect(twin.asDictionary == dictionary && twin.frame == window.frame && twin.price == window.price)
        #expect(window.description.contains("price: (amount: 2.0, currency: 'NOK')"))
        let json = #"{"title": "b", "FRAME": {"x": 0, "y": 1, "Width": 2, "height": 3}, "place": null}"#
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(try Window(object).frame == CGRect(x: 0, y: 1, width: 2, height: 3))
        #expect(try Window(["frame": CGRect.zero, "place": Coordinate(latitude: 1, longitude: 2)]).frame == .zero)
        #expect(throws: MakoError.self) { try Window(["frame": 5]) }
        #expect(throws: MakoError.self) { try Window(["rows": ["lowerBound": 5, "upperBound": 4]]) }
        #expect(throws: MakoError.missingValue(entity: "Window", property: "frame_height")) {
            try Window(["frame": ["x": 0, "y": 1, "width": 2]])
        }
        #expect(window.clone().frame == window.frame)
    }

    @Test func classesAreCodedWithNestedParts() throws {
        let window = Window(title: "a", rows: 1..<4, open: Date.distantPast...Date.distantFuture)
        try db.save(window)
        let data = try JSONEncoder().encode(window)
        let tree = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect((tree["frame"] as? [String: Double]) == ["x": 1, "y": 2, "width": 3, "height": 4])
        #expect(tree["place"] is NSNull)
        let twin = try JSONDecoder().decode(Window.self, from: data)
        #expect(twin.asDictionary == window.asDictionary)
        let partly = Data(#"{"title": "b", "frame": {"x": 1, "y": 2, "width": 3}}"#.utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Window.self, from: partly) }
        let reversed = Data(#"{"rows": {"lowerBound": 2, "upperBound": 1}}"#.utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Window.self, from: reversed) }
    }

    // MARK: - Types that share rows

    @Test func subclassesPartsAndSharedTables() throws {
        typealias C = Composite
        let db = try makeDatabase([C.Shape.self, C.Box.self, C.Ghost.self, C.Marker.self])
        let box = C.Box(depth: 0.5..<1.5, colour: RGBAColor(red: 1, green: 0, blue: 0))
        box.frame = CGRect(x: 1, y: 2, width: 3, height: 4)
        let ghost = C.Ghost(place: Coordinate(latitude: 1, longitude: 2))
        ghost.frame = box.frame
        try db.save(box)
        try db.save(ghost)
        let read = try #require(try db.query(C.Box.self).where(\.frame.width == 3 && \.depth.lowerBound < 1).first())
        #expect(read.depth == 0.5..<1.5 && read.colour == box.colour && read.frame == box.frame)
        let seen = try #require(try db.query(C.Ghost.self).where(\.place.longitude == 2).first())
        #expect(seen.place == ghost.place && seen.frame == .zero)
        try db.save(C.Marker(frame: box.frame, spot: CGPoint(x: 1, y: 1)))
        let outline = try #require(try db.query(C.Outline.self).where(\.frame == box.frame).first())
        #expect(outline.frame == box.frame)
        let shape = try #require(try db.query(C.Shape.self).first())
        shape.frame.origin.x = 8
        try db.save(shape)
        let marker = try #require(try db.query(C.Marker.self).first())
        #expect(marker.frame.origin.x == 8 && marker.spot == CGPoint(x: 1, y: 1))
    }

    @Test func theyAreNoKeys() throws {
        #expect {
            try makeDatabase([Composite.KeyedByPoint.self])
        } throws: {
            "\($0)".contains("point has several columns and cannot be the key")
        }
    }

    // MARK: - Migration

    @Test func addedRenamedAndRetired() throws {
        typealias C = Composite
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [C.Before.Plan.self])
            try db.save([C.Before.Plan(name: "a"), C.Before.Plan(name: "b")])
            try db.close()
            db = try Database(at: path, entities: [C.After.Plan.self])
            let start = CGRect(x: 5, y: 6, width: 7, height: 8)
            #expect(try db.query(C.After.Plan.self).where(\.frame == start && \.place == nil).count() == 2)
            let plan = try #require(try db.find(C.After.Plan.self, 1))
            plan.frame.origin.x = 50
            plan.place = Coordinate(latitude: 1, longitude: 2)
            try db.save(plan)
            try db.close()
            db = try Database(at: path, entities: [C.Renamed.Plan.self])
            let renamed = try #require(try db.query(C.Renamed.Plan.self).where(\.bounds.x == 50).first())
            #expect(renamed.bounds == CGRect(x: 50, y: 6, width: 7, height: 8))
            #expect(renamed.position == Coordinate(latitude: 1, longitude: 2))
            #expect(try db.query(C.Renamed.Plan.self).where("box_x = 5 AND position_latitude IS NULL").count() == 1)
            #expect(renamed.asDictionary["bounds_x"] == .double(50))
            try db.close()
            // Out of sight, and back.
            db = try Database(at: path, entities: [C.Before.Plan.self])
            try db.close()
            db = try Database(at: path, entities: [C.Renamed.Plan.self])
            #expect(try db.find(C.Renamed.Plan.self, 1)?.bounds.origin.x == 50)
            try db.close()
        }
    }

    @Test func aTypeGetsAFurtherPart() throws {
        typealias C = Composite
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [C.Flat.Dive.self])
            try db.save(C.Flat.Dive(spot: C.Spot(x: 1, y: 2)))
            try db.save(C.Flat.Dive())
            try db.close()
            db = try Database(at: path, entities: [C.Deep.Dive.self])
            let dive = try #require(try db.find(C.Deep.Dive.self, 1))
            #expect(dive.spot?.y == 2 && dive.spot?.z == nil)
            #expect(try db.find(C.Deep.Dive.self, 2)?.spot == nil)
            dive.spot?.z = 30
            try db.save(dive)
            #expect(try db.query(C.Deep.Dive.self).where(\.spot.z > 20).count() == 1)
            try db.close()
        }
    }

    @Test func rowsThatMakeNoValueThrowInsteadOfTrapping() throws {
        typealias C = Composite
        // The same columns as a type without ranges sees them.
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [C.Bounds.self])
            try db.save([C.Bounds(span_lowerBound: 5, span_upperBound: 2), C.Bounds(span_lowerBound: 1)])
            try db.close()
            db = try Database(at: path, entities: [C.Spanned.self])
            for id in 1...2 {
                #expect { try db.find(C.Spanned.self, id) } throws: {
                    "\($0)".contains("span of the row with key \(id) cannot be read")
                }
            }
            try db.close()
        }
    }
}

extension Composite {
    @Entity("CompositeSpan") final class Bounds {
        var span_lowerBound: Int?
        var span_upperBound: Int?
    }
    @Entity("CompositeSpan") final class Spanned {
        var span: Range<Int>?
    }
}
