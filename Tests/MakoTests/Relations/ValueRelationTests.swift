import Foundation
import Mako
import TestHelpers
import Testing

enum Held {
    @Entity final class Ranger {
        var name = ""
    }

    @Entity struct Lake: Equatable, Codable {
        var name: String
        var depth: Double = 0
    }

    @Entity struct Den {
        @Attribute(.primaryKey) var code: String
        var lake: Lake?
        var ranger: ToOne<Ranger>
    }

    @Entity struct Bear {
        #Index<Bear>([\.name])
        var name: String
        var den: Den?
        var lake: Lake?
        @Attribute(.unique) var tag: Int?
        @Attribute(.serialized) var bottle: Lake?
    }
}

/// Relations of structs to structs: saved before, loaded with the row.
@Suite struct ValueRelationTests {
    private typealias Lake = Held.Lake
    private typealias Den = Held.Den
    private typealias Bear = Held.Bear
    private let db: Database

    init() throws { db = try makeDatabase([Bear.self]) }

    /// Two bears: one with a den at a lake, one at a lake of its own.
    private func twoBears() throws -> [Bear] {
        try db.save([
            Bear(name: "Bruno", den: Den(code: "d1", lake: Lake(name: "Mjøsa", depth: 450)), tag: 1),
            Bear(name: "Ida", lake: Lake(name: "Plön", depth: 58), tag: 2),
        ])
    }

    @Test func whatAStructHoldsIsSavedFirstAndLoadedWithIt() throws {
        var bear = Bear(name: "Bruno")
        bear.den = Den(code: "", lake: Lake(name: "Mjøsa", depth: 450), ranger: ToOne(Held.Ranger(name: "Eva")))
        bear.lake = Lake(name: "Plön")
        try db.save(&bear)
        #expect(bear.id == 1 && bear.den?.lake?.id == 1 && bear.lake?.id == 2)
        #expect(bear.den?.code.count == 36)
        let loads = db.metrics.lazyLoads
        let read = try #require(try db.find(Bear.self, 1))
        #expect(read.den?.code == bear.den?.code && read.den?.lake?.name == "Mjøsa" && read.lake?.name == "Plön")
        #expect(read.lake == bear.lake)
        #expect(db.metrics.lazyLoads == loads)
        #expect(try read.den?.ranger.load()?.name == "Eva")
        let all = try db.query(Bear.self).fetch()
        #expect(all[0].den?.lake?.depth == 450)
    }

    @Test func changesOfReferencedObjectsAreSavedAndNilReleasesThem() throws {
        var bear = try twoBears()[0]
        bear.den?.lake?.depth = 453
        try bear.commit()
        #expect(try db.query(Lake.self).where(\.name == "Mjøsa").fetch().map(\.depth) == [453])
        #expect(try db.query(Lake.self).count() == 2)
        bear.den = nil
        try db.save(&bear)
        #expect(try db.find(Bear.self, 1)?.den == nil)
        #expect(try db.query(Den.self).count() == 1)
    }

    @Test func theSameRowMayBeHeldByMany() throws {
        var lake = Lake(name: "Plön")
        try db.save(&lake)
        // Enough to be written together.
        let bears = try db.save((1...40).map { Bear(name: "bear \($0)", den: Den(code: "d\($0 % 3)", lake: lake)) })
        #expect(bears.allSatisfy { $0.den?.lake?.id == 1 })
        #expect(try db.query(Lake.self).count() == 1)
        #expect(try db.query(Den.self).count() == 3)
        let read = try db.find(Bear.self, [40, 1])
        #expect(read.map { $0.den?.code } == ["d1", "d1"])
        #expect(try db.query(Bear.self).batch(7).object(at: 39).den?.lake?.name == "Plön")
    }

    @Test func pathsLeadOverThem() throws {
        let bears = try twoBears()
        func names(_ query: Query<Bear>) throws -> [String] { try query.orderBy(\.name).fetch().map(\.name) }
        let all = db.query(Bear.self)
        #expect(try names(all.where("den.lake.name = 'Mjøsa'")) == ["Bruno"])
        #expect(try names(all.where("lake.depth < 100 OR den.code = 'd1'")) == ["Bruno", "Ida"])
        #expect(try names(all.where(\.den.lake.depth > 400)) == ["Bruno"])
        #expect(try names(all.where(\.lake.name == "Plön")) == ["Ida"])
        #expect(try names(all.where(\.den == bears[0].den)) == ["Bruno"])
        #expect(try names(all.where(\.den != bears[0].den)) == ["Ida"])
        #expect(try names(all.where(\.lake == nil)) == ["Bruno"])
        #expect(try names(all.where(\.lake == Lake(name: "unsaved"))) == [])
        #expect(try names(all.where("lake = \(bears[1].lake)")) == ["Ida"])
        #expect(try names(all.where(#Predicate { $0.den?.lake?.name == "Mjøsa" })) == ["Bruno"])
        #expect(try all.orderBy(\.lake.depth, .descending).fetch().map(\.name) == ["Ida", "Bruno"])
        #expect(try all.joinTo(\.lake, .inner).where("Lake.name = 'Plön'").fetch().map(\.name) == ["Ida"])
        #expect(try names(all.where("den.ranger.name IS NULL AND den IS NOT NULL")) == ["Bruno"])
        #expect(try names(all.where(\.den.ranger == nil && \.den != nil)) == ["Bruno"])
    }

    @Test func aRemovedRowIsNil() throws {
        let bears = try twoBears()
        try db.delete(try #require(bears[1].lake))
        #expect(try db.find(Bear.self, 2)?.lake == nil)
        #expect(try db.query(Bear.self).where(\.lake == nil).count() == 2)
        try db.query(Den.self).delete()
        #expect(try db.find(Bear.self, 1)?.den == nil)
        #expect(try db.query(Lake.self).count() == 1)
    }

    @Test func theyAreOfTheMomentOfTheirRow() throws {
        _ = try twoBears()
        let cursor = try db.query(Bear.self).orderBy(\.name).cursor()
        try db.query(Lake.self).update().set(\.name, to: "renamed").run()
        try db.query(Den.self).delete()
        #expect(try cursor.next()?.den?.lake?.name == "Mjøsa")
        #expect(try cursor.next()?.lake?.name == "Plön")
        let names = try db.read {
            let before = try db.find(Bear.self, 2)?.lake?.name
            let other = ThreadRun { [db] in _ = try? db.query(Lake.self).update().set(\.name, to: "again").run() }
            other.wait()
            let first = try db.query(Bear.self).where(\.name == "Ida").first()
            return [before, try db.find(Bear.self, 2)?.lake?.name, first?.lake?.name]
        }
        #expect(names == ["renamed", "renamed", "renamed"])
        let inside = try db.transaction { _ in
            try db.query(Lake.self).update().set(\.name, to: "inside").run()
            return try db.find(Bear.self, 2)?.lake?.name
        }
        #expect(inside == "inside")
    }

    @Test func nothingIsSavedWhenTheOwnerIsNot() throws {
        _ = try twoBears()
        var bear = Bear(name: "third", lake: Lake(name: "new"), tag: 2)
        #expect(throws: MakoError.self) { try db.save(&bear) }
        #expect(bear.id == nil && bear.lake?.id == nil)
        #expect(try db.query(Lake.self).count() == 2)
        let other = try makeDatabase([Bear.self])
        #expect(throws: MakoError.foreignObject(entity: "Lake")) {
            try other.save([Bear(name: "from elsewhere", lake: try db.find(Lake.self, 1))])
        }
        #expect(try other.query(Bear.self).count() == 0)
    }

    @Test func updatesAndWatchersKnowThem() throws {
        let bears = try twoBears()
        let keys = Collected<[RowKey?]>()
        let names = Collected<String?>()
        let token = try Bear.onChange(.update, withValues: true, in: db) { change in
            keys.append([change.oldValue(of: \.lake), change.newValue(of: \.lake)])
            names.append(change.object?.lake?.name)
        }
        #expect(try db.query(Bear.self).where(\.name == "Bruno").update().set(\.lake, to: bears[1].lake).run() == 1)
        #expect(try db.find(Bear.self, 1)?.lake?.name == "Plön")
        #expect(throws: MakoError.self) { try db.query(Bear.self).update().set(\.lake, to: Lake(name: "x")).run() }
        try db.query(Bear.self).update().set(\.lake, to: nil).run()
        #expect(try db.query(Bear.self).where(\.lake == nil).count() == 2)
        #expect(keys.all == [[nil, .rowID(2)], [.rowID(2), nil], [.rowID(2), nil]])
        #expect(names.all == ["Plön", nil, nil])
        try db.query(Lake.self).delete()
        let error = #expect(throws: MakoError.self) {
            try db.query(Bear.self).update().set(\.lake, to: bears[1].lake).run()
        }
        if case .danglingReference("Bear", "lake", _, _)? = error {
        } else {
            Issue.record("\(String(describing: error))")
        }
        withExtendedLifetime(token) {}
    }

    /// A value within a value is no relationship.
    @Test func whatIsSerializedIsNoRelationship() throws {
        var bear = Bear(name: "Bruno", bottle: Lake(name: "bottled"))
        try db.save(&bear)
        #expect(try db.find(Bear.self, 1)?.bottle?.name == "bottled")
        #expect(try db.query(Lake.self).count() == 0)
    }

    @Test func dictionariesHaveTheirKeys() throws {
        let bears = try twoBears()
        #expect(bears[0].asDictionary["den"] == .text("d1"))
        #expect("\(bears[0])".contains("den: loaded 'd1' (Den?)"))
        let copy = try Database.withDefault(db) { try Bear(bears[0].asDictionary) }
        #expect(copy.den?.lake?.name == "Mjøsa")
        let made = try Bear(["name": "made", "lake": Lake(name: "given")])
        #expect(made.lake?.name == "given")
        #expect(throws: MakoError.self) { try Bear(["name": "made", "lake": 7]) }
    }
}
