import Foundation
import Mako
import MakoRecords
import MakoStorage
import TestHelpers
import Testing

/// Structs with rows of their own in classes: saved before the object, loaded at the first access.
@Suite struct ObjectValueTests {
    private typealias Lake = Holding.Lake
    private typealias Den = Holding.Den
    private typealias Bear = Holding.Bear
    private typealias Atlas = Holding.Atlas
    private let db: Database

    init() throws {
        db = try makeDatabase([Bear.self, Holding.Cub.self, Atlas.self, Holding.Node.self, Holding.Closing.self])
    }

    /// Two bears: one with a den at a lake, one at a lake of its own.
    @discardableResult
    private func twoBears() throws -> [Bear] {
        let bears = [
            Bear(name: "Bruno", den: Den(code: "d1", lake: Lake(name: "Mjøsa", depth: 450)), tag: 1),
            Bear(name: "Ida", lake: Lake(name: "Plön", depth: 58), swims: [Lake(name: "Müritz", depth: 31)], tag: 2),
        ]
        try db.save(bears)
        return bears
    }

    @Test func whatAnObjectHoldsIsSavedFirstAndLoadedAtItsFirstAccess() throws {
        let bear = Bear(name: "Bruno")
        bear.den = Den(code: "", lake: Lake(name: "Mjøsa", depth: 450))
        bear.lake = Lake(name: "Plön")
        bear.swims = [Lake(name: "a"), Lake(name: "b")]
        try db.save(bear)
        #expect(bear.den?.lake?.id != nil && bear.lake?.id != nil && bear.den?.code.count == 36)
        #expect(bear.swims.allSatisfy { $0.id != nil })
        let loads = db.metrics.lazyLoads
        let read = try #require(try db.find(Bear.self, 1))
        #expect(db.metrics.lazyLoads == loads)
        #expect(read.lake == bear.lake && read.den?.lake?.depth == 450 && read.swims.map(\.name) == ["a", "b"])
        #expect(db.metrics.lazyLoads == loads + 3)
        #expect(read.lake?.name == "Plön" && db.metrics.lazyLoads == loads + 3)
        #expect(try db.find(Bear.self, 1)?.load(\.den)?.lake?.name == "Mjøsa")
        #expect(try db.query(Lake.self).count() == 4)
    }

    @Test func aStructIsSavedWhenItsPropertyWasSet() throws {
        let bear = try twoBears()[0]
        bear.den?.lake?.depth = 453
        try bear.commit()
        #expect(try db.query(Lake.self).where(\.name == "Mjøsa").fetch().map(\.depth) == [453])
        #expect(try db.query(Lake.self).count() == 3)
        // A copy that was not set never overwrites its row.
        try db.query(Lake.self).where(\.name == "Mjøsa").update().set(\.depth, to: 1).run()
        bear.name = "Bruno II"
        try bear.commit()
        #expect(try db.query(Lake.self).where(\.name == "Mjøsa").fetch().map(\.depth) == [1])
        #expect(bear.den?.lake?.depth == 453)
        try db.refresh(bear)
        #expect(bear.den?.lake?.depth == 1)
        bear.den = nil
        try bear.commit()
        #expect(try db.find(Bear.self, 1)?.den == nil)
        #expect(try db.query(Den.self).count() == 1)
    }

    /// With another key the whole row is written, with what was only read.
    @Test func aNewKeySavesNoStructThatWasOnlyRead() throws {
        try db.save(Atlas(name: "one", list: [Lake(name: "Plön", depth: 58)]))
        let atlas = try #require(try db.find(Atlas.self, "one"))
        #expect(atlas.list[0].depth == 58)
        try db.query(Lake.self).update().set(\.depth, to: 60).run()
        atlas.name = "two"
        try atlas.commit()
        #expect(try db.find(Atlas.self, "two")?.list.map(\.depth) == [60])
        #expect(try db.query(Lake.self).count() == 1)
    }

    @Test func everyFormComesBack() throws {
        let all = ["Arendsee", "Plön", "Stechlin"].map { Lake(name: $0) }
        let saved = try db.save(all)
        let atlas = Atlas(name: "full")
        atlas.list = [saved[2], saved[0], saved[2]]
        atlas.maybe = []
        atlas.pack = Set(saved)
        atlas.maybePack = [saved[1]]
        atlas.byPlace = ["north": saved[0], "": saved[1]]
        atlas.maybeByPlace = [-7: saved[2]]
        atlas.groups = [[saved[0]], [], [saved[1], saved[2]]]
        atlas.byYear = [298: [saved[0], saved[0]], Int.min: []]
        atlas.rounds = [["first": saved[1]], [:]]
        try db.save([atlas, Atlas(name: "empty")])
        #expect(try db.query(Lake.self).count() == 3)
        let read = try #require(try db.find(Atlas.self, "full"))
        #expect(read.list.map(\.name) == ["Stechlin", "Arendsee", "Stechlin"])
        #expect(try #require(read.maybe).isEmpty && read.pack == Set(saved) && read.maybePack == [saved[1]])
        #expect(read.byPlace == ["north": saved[0], "": saved[1]] && read.maybeByPlace == [-7: saved[2]])
        #expect(read.groups == [[saved[0]], [], [saved[1], saved[2]]])
        #expect(read.byYear == [298: [saved[0], saved[0]], Int.min: []])
        #expect(read.rounds == [["first": saved[1]], [:]])
        let none = try #require(try db.find(Atlas.self, "empty"))
        #expect(none.list.isEmpty && none.maybe == nil && none.maybePack == nil && none.maybeByPlace == nil)
        #expect(none.byPlace.isEmpty && none.groups.isEmpty && none.byYear.isEmpty && none.rounds.isEmpty)
        // New ones get their keys in every form.
        read.groups = [[Lake(name: "new")]]
        read.byYear = [1: [Lake(name: "newer")]]
        try read.commit()
        #expect(read.groups[0][0].id == 4 && read.byYear[1]?[0].id == 5)
        #expect(try db.find(Atlas.self, "full")?.groups == [[Lake]](read.groups))
    }

    @Test func theSameRowMayBeHeldByMany() throws {
        let lake = try db.save(Lake(name: "Plön"))
        // Enough to be written together.
        let bears = (1...40).map { Bear(name: "bear \($0)", den: Den(code: "d\($0 % 3)", lake: lake)) }
        try db.save(bears)
        #expect(bears.allSatisfy { $0.den?.lake?.id == 1 })
        #expect(try db.query(Lake.self).count() == 1 && db.query(Den.self).count() == 3)
        #expect(try db.find(Bear.self, [40, 1]).map { $0.den?.code } == ["d1", "d1"])
    }

    @Test func conditionsOrderAndJoinsLookInside() throws {
        let bears = try twoBears()
        func names(_ query: Query<Bear>) throws -> [String] { try query.orderBy(\.name).fetch().map(\.name) }
        let all = db.query(Bear.self)
        #expect(try names(all.where("den.lake.name = 'Mjøsa'")) == ["Bruno"])
        #expect(try names(all.where(\.den.lake.depth > 400)) == ["Bruno"])
        #expect(try names(all.where(\.lake.name == "Plön")) == ["Ida"])
        #expect(try names(all.where(\.den == bears[0].den)) == ["Bruno"])
        #expect(try names(all.where(\.lake == nil)) == ["Bruno"])
        #expect(try names(all.where(\.lake == Lake(name: "unsaved"))) == [])
        #expect(try names(all.where("lake = \(bears[1].lake)")) == ["Ida"])
        #expect(try names(all.where(#Predicate { $0.den?.lake?.name == "Mjøsa" })) == ["Bruno"])
        #expect(try names(all.where("ANY swims.depth > 30")) == ["Ida"])
        #expect(try names(all.where(.any(\.swims, \.name == "Müritz"))) == ["Ida"])
        #expect(try names(all.where(\.swims.count == 0)) == ["Bruno"])
        #expect(try all.orderBy(\.lake.depth, .descending).fetch().map(\.name) == ["Ida", "Bruno"])
        #expect(try all.joinTo(\.lake, .inner).where("Lake.name = 'Plön'").fetch().map(\.name) == ["Ida"])
        #expect(try names(all.referencing(#require(bears[1].swims.first))) == ["Ida"])
    }

    @Test func prefetchedStructsNeedNoFurtherRead() throws {
        try twoBears()
        let bears = try db.query(Bear.self).orderBy(\.name).prefetch(\.den).prefetch(\.lake).prefetch(\.swims).fetch()
        let loads = db.metrics.lazyLoads
        try db.query(Lake.self).update().set(\.depth, to: 0).run()
        #expect(bears[0].den?.lake?.depth == 450 && bears[1].lake?.depth == 58 && bears[1].swims[0].depth == 31)
        #expect(db.metrics.lazyLoads == loads)
    }

    /// Else the file could not reuse pages as long as an object is kept.
    @Test func objectsRetainNoSnapshot() throws {
        try twoBears()
        var kept: [Bear?] = []
        for round in 0..<4 {
            kept += try db.query(Bear.self).fetch().array
            kept.append(try db.find(Bear.self, 1))
            try db.save([Lake(name: "\(round)")])
        }
        #expect(db.store.stats.openSnapshots < 4 && kept.count == 12)
        withExtendedLifetime(kept) {}
    }

    @Test func aRemovedRowIsNil() throws {
        let bears = try twoBears()
        try db.delete(try #require(bears[1].lake))
        try db.query(Lake.self).where(\.name == "Müritz").delete()
        let ida = try #require(try db.find(Bear.self, 2))
        #expect(ida.lake == nil && ida.swims.isEmpty && ida.loadError == nil)
        #expect(try db.query(Bear.self).where(\.lake == nil).count() == 2)
    }

    @Test func aRollbackTakesTheKeysBack() throws {
        let bear = Bear(name: "Bruno", lake: Lake(name: "Plön"), swims: [Lake(name: "a")])
        #expect(throws: MakoError.rolledBack) {
            try db.transaction { transaction in
                try db.save(bear)
                #expect(bear.lake?.id != nil)
                try transaction.rollback()
            }
        }
        #expect(bear.lake?.id == nil && bear.swims[0].id == nil && bear.lake?.name == "Plön")
        #expect(try db.query(Lake.self).count() == 0)
        try db.save(bear)
        #expect(try db.query(Lake.self).fetch().map(\.name).sorted() == ["Plön", "a"])
        #expect(try db.query(Bear.self).fetch().map { $0.lake?.name } == ["Plön"])
    }

    @Test func nothingIsSavedWhenTheOwnerIsNot() throws {
        try twoBears()
        let bear = Bear(name: "third", lake: Lake(name: "new"), tag: 2)
        #expect(throws: MakoError.self) { try db.save(bear) }
        #expect(bear.lake?.id == nil)
        #expect(try db.query(Lake.self).count() == 3)
        bear.tag = 3
        try db.save(bear)
        #expect(try db.find(Bear.self, try #require(bear.id))?.lake?.name == "new")
        let other = try makeDatabase([Bear.self])
        let foreign = Bear(name: "from elsewhere", lake: try db.find(Lake.self, 1))
        #expect(throws: MakoError.foreignObject(entity: "Lake")) { try other.save(foreign) }
        #expect(try other.query(Bear.self).count() == 0)
    }

    @Test func aStructMayReferBackToItsHolder() throws {
        let bear = Bear(name: "Bruno")
        bear.den = Den(code: "d1", keeper: ToOne(bear))
        bear.friend = Bear(name: "Ida", den: Den(code: "d2", keeper: ToOne(bear)))
        try db.save(bear)
        let read = try #require(try db.query(Bear.self).where(\.name == "Bruno").first())
        #expect(try read.den?.keeper.load()?.name == "Bruno")
        #expect(try read.friend?.den?.keeper.load()?.name == "Bruno")
        #expect(try db.query(Bear.self).count() == 2 && db.query(Den.self).count() == 2)
        // Nothing else gives this one its key.
        let alone = Bear(name: "Ole")
        alone.den = Den(code: "d3", keeper: ToOne(alone))
        try db.save(alone)
        #expect(try db.find(Den.self, "d3")?.keeper.load()?.name == "Ole")
    }

    @Test func whatAHookAssignsIsStored() throws {
        let db = try makeDatabase([Holding.Warden.self])
        let wardens = (0..<20).map { Holding.Warden(name: "\($0)", lakes: [Lake(name: "own \($0)")]) }
        try db.save(wardens)
        #expect(wardens.allSatisfy { $0.lakes.allSatisfy { $0.id != nil } })
        #expect(try db.find(Holding.Warden.self, 7)?.lakes.map(\.name) == ["own 6", "by the hook"])
        #expect(try db.query(Lake.self).count() == 40)
    }

    /// The call that fails is undone, what preceded it in the transaction stays.
    @Test func aNestedRollbackTakesOnlyItsOwnKeysBack() throws {
        let bear = Bear(name: "Bruno", lake: Lake(name: "outer"))
        try db.transaction { _ in
            try db.save(bear)
            let outer = try #require(bear.lake?.id)
            #expect(throws: MakoError.rolledBack) {
                try db.transaction { inner in
                    bear.swims = [Lake(name: "inner")]
                    try db.save(bear)
                    try inner.rollback()
                }
            }
            #expect(bear.lake?.id == outer && bear.swims.allSatisfy { $0.id == nil })
        }
        #expect(try db.query(Lake.self).fetch().map(\.name) == ["outer"])
        #expect(try db.find(Bear.self, try #require(bear.id))?.lake?.name == "outer")
    }

    /// Texts are equal by their scalars: two forms of one name are two keys.
    @Test func keysOfTwoUnicodeFormsAreTwoRows() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try db.save([Bear(name: "a", den: Den(code: composed)), Bear(name: "b", den: Den(code: decomposed))])
        #expect(try db.query(Den.self).count() == 2)
        let codes = try db.query(Bear.self).orderBy(\.name).fetch().map { $0.den.map { Array($0.code.unicodeScalars) } }
        #expect(codes == [Array(composed.unicodeScalars), Array(decomposed.unicodeScalars)])
    }

    @Test func subclassesHoldThemToo() throws {
        let cub = Holding.Cub()
        cub.lake = Lake(name: "Plön")
        cub.toy = Lake(name: "puddle")
        try db.save(cub)
        let read = try #require(try db.query(Holding.Cub.self).first())
        #expect(read.lake?.name == "Plön" && read.toy?.name == "puddle")
        let closing = Holding.Closing()
        closing.lake = Lake(name: "Müritz")
        try db.save(closing)
        #expect(try db.query(Holding.Closing.self).first()?.lake?.name == "Müritz")
    }

    /// Saving and releasing go as deep as the chain is long.
    @Test func longChainsAreSavedAndReleased() throws {
        var head = Holding.Node()
        for _ in 0..<20_000 {
            let node = Holding.Node()
            node.next = Holding.Link(node: ToOne(head))
            head = node
        }
        try db.save(head)
        #expect(try db.query(Holding.Node.self).count() == 20_001)
    }

    @Test func anAliasThatHidesThemIsRefused() throws {
        let boat = Holding.Boat(name: "Ark")
        let error = #expect(throws: MakoError.self) { try db.save(boat) }
        #expect("\(try #require(error))".contains("written out"))
    }

    /// The look-up by the identity encodes the object before what it refers to is saved.
    @Test func whatAnObjectWithAnIdentityRefersToIsSaved() throws {
        let db = try makeDatabase([Holding.Hunter.self])
        for name in ["a", "b"] {
            try db.save(Holding.Hunter(badge: "1", lake: Lake(name: name), hut: Holding.Hut(name: name)))
        }
        #expect(try db.query(Holding.Hut.self).count() == 2)
        let hunter = try #require(try db.query(Holding.Hunter.self).fetch().array.first)
        #expect(hunter.hut?.name == "b" && hunter.lake?.name == "b")
        #expect(try db.query(Holding.Hunter.self).count() == 1)
    }

    @Test func aFailedSaveLeavesNothingForTheNext() throws {
        let db = try makeDatabase([Holding.Raft.self, Holding.Hut.self])
        try db.transaction { _ in
            let raft = Holding.Raft(lake: Lake(name: "a"))
            #expect(throws: MakoError.self) { try db.save(raft) }
            let isSaved = try db.save(Holding.Hut(name: "h"))
            #expect(isSaved)
        }
        #expect(try db.query(Holding.Hut.self).count() == 1 && db.query(Lake.self).count() == 0)
    }

    @Test func aStructThatIsWrittenOnceMovesWithTheKey() throws {
        let db = try makeDatabase([Holding.Buoy.self])
        let buoy = Holding.Buoy(code: "a", lake: Lake(name: "one"))
        try db.save(buoy)
        buoy.lake = Lake(name: "two")
        buoy.code = "b"
        try buoy.commit()
        #expect(try db.find(Holding.Buoy.self, "b")?.lake?.name == "two")
        #expect(try db.find(Holding.Buoy.self, "a")?.lake?.name == "one")
    }

    @Test func aCloneTakesNoKeysToAnotherDatabase() throws {
        let bear = Bear(name: "a", lake: Lake(name: "Plön"))
        let twin = bear.clone()
        try db.save(twin)
        let other = try makeDatabase([Bear.self])
        #expect(throws: MakoError.foreignObject(entity: "Lake")) { try other.save(bear) }
        try db.save(bear)
        #expect(try db.query(Bear.self).fetch().map { $0.lake?.name } == ["Plön", "Plön"])
        #expect(try db.query(Lake.self).count() == 1)
    }

    @Test func anObjectEndsTheLevelsOfStructs() throws {
        let db = try makeDatabase([Holding.Kennel.self])
        let kennel = Holding.Kennel(first: Holding.Pup(code: "a"))
        var pup = Holding.Pup(code: "a", siblings: [Holding.Pup(code: "b", owner: ToOne(kennel))])
        try db.save(&pup)
        #expect(try db.find(Holding.Pup.self, "a")?.siblings.map(\.code) == ["b"])
    }

    /// A collection that could not be read is not empty: a save must not delete the stored keys.
    @Test func whatCannotBeReadIsNotReplaced() throws {
        let db = try makeDatabase([Holding.Swimmer.self])
        try db.save(Holding.Swimmer(pools: [Holding.Pool(name: "a"), Holding.Pool(name: "b", water: .salt)]))
        let pools = try Catalogue.load(view: db.store.snapshot()).requireTable("Pool")
        try db.store.write { tx in
            var row = RowWriter()
            var changes = ChangeSet()
            row.begin(try pools.layout(for: ["water"]))
            row.set(0, "molten")
            _ = try pools.update(&row, key: .rowID(2), in: tx, changes: &changes)
        }
        let swimmer = try #require(try db.find(Holding.Swimmer.self, 1))
        #expect(throws: MakoError.self) { try swimmer.load(\.pools) }
        #expect(throws: MakoError.self) { try db.query(Holding.Swimmer.self).prefetch(\.pools).fetch() }
        #expect(swimmer.pools.isEmpty && swimmer.loadError != nil)
        swimmer.pools.append(Holding.Pool(name: "c"))
        #expect(throws: MakoError.self) { try swimmer.commit() }
        #expect(try db.query(Holding.Pool.self).count() == 2)
        // After a refresh it can be replaced deliberately.
        try db.refresh(swimmer)
        swimmer.pools = []
        try swimmer.commit()
        #expect(try db.find(Holding.Swimmer.self, 1)?.load(\.pools).isEmpty == true)
    }

    @Test func watchersAndUpdatesKnowThem() throws {
        let bears = try twoBears()
        let keys = Collected<[RowKey?]>()
        let token = try Bear.onChange(.update, withValues: true, in: db) { change in
            keys.append([change.oldValue(of: \.lake), change.newValue(of: \.lake)])
        }
        #expect(try db.query(Bear.self).where(\.name == "Bruno").update().set(\.lake, to: bears[1].lake).run() == 1)
        #expect(try db.find(Bear.self, 1)?.lake?.name == "Plön")
        bears[1].lake = nil
        try bears[1].commit()
        #expect(keys.all.count == 2 && keys.all[0][0] == nil && keys.all[0][1] == keys.all[1][0])
        withExtendedLifetime(token) {}
    }

    @Test func dictionariesAndDescriptionsHaveTheirKeys() throws {
        let bears = try twoBears()
        #expect(bears[0].asDictionary["den"] == .text("d1"))
        try Database.withDefault(db) {
            let copy = try Bear(bears[0].asDictionary)
            #expect(copy.den?.lake?.name == "Mjøsa" && copy.swims.isEmpty)
        }
        let made = try Bear(["name": "made", "lake": Lake(name: "given")])
        #expect(made.lake?.name == "given")
        #expect("\(bears[1])".contains("Plön") || "\(bears[1])".contains("lake: loaded"))
    }
}

private enum PacksBefore {
    @Entity struct Wolf {
        @Attribute(.primaryKey) var name: String
    }
    @Entity final class Pack {
        @Attribute(.primaryKey) var name = ""
        var wolf: Wolf?
    }
}

private enum LittersAsValues {
    @Entity struct Cub: Codable {
        var name: String
    }
    @Entity final class Litter {
        @Attribute(.serialized) var cub: Cub?
    }
}

private enum LittersAsRows {
    @Entity struct Cub: Codable {
        var name: String
    }
    @Entity final class Litter {
        var cub: Cub?
    }
}

private enum PacksAfter {
    @Entity struct Wolf {
        @Attribute(.primaryKey) var name: String
    }
    @Entity final class Pack {
        @Attribute(.primaryKey) var name = ""
        @Attribute(.originalName("wolf")) var wolves: [Wolf] = []
        var leader: Wolf?
        var byPlace: [String: Wolf]?
    }
}

extension ObjectValueTests {
    @Test func referencesAreAddedRenamedAndMadeCollections() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [PacksBefore.Pack.self])
            try db.save(PacksBefore.Pack(name: "Stark", wolf: PacksBefore.Wolf(name: "Nymeria")))
            try db.close()
            db = try Database(at: path, entities: [PacksAfter.Pack.self])
            let pack = try #require(try db.find(PacksAfter.Pack.self, "Stark"))
            #expect(pack.wolves.map(\.name) == ["Nymeria"] && pack.leader == nil && pack.byPlace == nil)
            pack.wolves.append(PacksAfter.Wolf(name: "Ghost"))
            pack.leader = pack.wolves[0]
            try pack.commit()
            #expect(try db.query(PacksAfter.Pack.self).where("ANY wolves.name = 'Ghost'").count() == 1)
            try db.close()
        }
    }

    /// What was stored as a value is no key: the file is refused as it is, and stays so.
    @Test func aValueBecomesNoReference() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [LittersAsValues.Litter.self])
            try db.save(LittersAsValues.Litter(cub: LittersAsValues.Cub(name: "Nymeria")))
            try db.close()
            #expect(throws: MakoError.self) {
                try Database(at: path, entities: [LittersAsRows.Litter.self]).close()
            }
            db = try Database(at: path, entities: [LittersAsValues.Litter.self])
            #expect(try db.find(LittersAsValues.Litter.self, 1)?.cub?.name == "Nymeria")
            try db.close()
        }
    }
}
