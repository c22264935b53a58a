import Mako
import MakoRecords
import MakoTestSupport
import TestHelpers
import Testing

@Entity final class Tune {
    var title = ""
    var remix: Tune?
    @Relationship(inverse: \Playlist.songs) var playlists: ToMany<Playlist>
}

@Entity final class Playlist {
    var name = ""
    var songs: [Tune] = []
    var byMood: [String: Tune] = [:]
    var sides: [[Tune]] = []
    var shelves: [Int: [Tune]] = [:]
    var extras: [Tune]?
}

@Entity final class Ticket: Hashable {
    @Attribute(.primaryKey) var code = ""
    var wearers: Set<Ticket> = []

    static func == (left: Ticket, right: Ticket) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@Entity final class Basket {
    var apples: [Apple] = []
}

@Entity final class Apple {
    var basket: Basket?

    func willInsert() { basket?.apples = basket?.apples ?? [] }
}

enum Colour: String, Codable { case red, green }

@Entity final class Palette {
    /// An array of values, which a macro cannot tell from one of entities.
    var colours: [Colour] = [.red]
    var byName: [String: Colour]?
    var groups: [[Colour]] = []
}

@Suite struct CollectionTests {
    let db: Database

    init() throws {
        db = try makeDatabase([Playlist.self, Tune.self, Ticket.self, Palette.self])
    }

    private func songs(_ count: Int) -> [Tune] { (1...count).map { Tune(title: "song \($0)") } }

    @Test func arraysKeepTheirOrderAndDuplicates() throws {
        let all = songs(5)
        let list = Playlist(name: "mine", songs: [all[3], all[0], all[3], all[4]])
        try db.save(list)
        let read = try #require(try db.find(Playlist.self, 1))
        #expect(read.songs.map(\.title) == ["song 4", "song 1", "song 4", "song 5"])
        #expect(read.songs[0] === read.songs[2])
        #expect(try db.query(Tune.self).count() == 3)
        #expect(db.metrics.lazyLoads == 1)

        read.songs.remove(at: 0)
        read.songs.append(all[1])
        try db.save(read)
        let again = try #require(try db.find(Playlist.self, 1))
        #expect(again.songs.map(\.title) == ["song 1", "song 4", "song 5", "song 2"])
        #expect(try db.query(Tune.self).count() == 4)
    }

    /// Lists with duplicates, of new and of loaded objects, in any order of their keys, some deleted: beside an array of titles.
    @Test(arguments: 0..<12) func listsOfAnyOrderAreWhatTheyWere(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        try db.save(Playlist(name: "list"))
        var titles: [String] = []
        for round in 0..<25 {
            let list = try #require(try db.find(Playlist.self, 1))
            #expect(list.songs.map(\.title) == titles)
            let made = Int.random(in: 0...3, using: &random)
            list.songs += (0..<made).map { Tune(title: "\(round).\($0)") }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: list.songs.shuffle(using: &random)
            case 1: list.songs.reverse()
            case 2: if let one = list.songs.randomElement(using: &random) { list.songs.insert(one, at: 0) }
            case 3: if !list.songs.isEmpty { list.songs.removeLast() }
            default: break
            }
            try db.save(list)
            titles = list.songs.map(\.title)
            guard Int.random(in: 0..<4, using: &random) == 0, let gone = list.songs.randomElement(using: &random) else {
                continue
            }
            let title = gone.title
            try db.delete(gone)
            titles.removeAll { $0 == title }
        }
        #expect(try db.verify().findings.isEmpty)
    }

    @Test func dictionariesAndNestedCollectionsKeepTheirForm() throws {
        let all = songs(4)
        let list = Playlist(name: "forms")
        list.byMood = ["calm": all[0], "": all[1], "wild 😀": all[0]]
        list.sides = [[all[0], all[1]], [], [all[2]]]
        list.shelves = [7: [all[3]], Int.min: [], Int.max: [all[0], all[0]]]
        try db.save(list)
        let read = try #require(try db.find(Playlist.self, 1))
        #expect(read.byMood.mapValues(\.title) == ["calm": "song 1", "": "song 2", "wild 😀": "song 1"])
        #expect(read.sides.map { $0.map(\.title) } == [["song 1", "song 2"], [], ["song 3"]])
        #expect(
            read.shelves.mapValues { $0.map(\.title) }
                == [7: ["song 4"], Int.min: [], Int.max: ["song 1", "song 1"]])
        // One object for each row, whatever property it came by.
        #expect(read.byMood["calm"] === read.sides[0][0])
        #expect(read.songs.isEmpty)
    }

    @Test func nilIsNoEmptyCollection() throws {
        let list = Playlist(name: "nil")
        try db.save(list)
        #expect(try db.find(Playlist.self, 1)?.extras == nil)
        list.extras = []
        try db.save(list)
        let extras = try #require(try db.find(Playlist.self, 1)?.extras)
        #expect(extras.isEmpty)
        list.extras = songs(1)
        try db.save(list)
        #expect(try db.find(Playlist.self, 1)?.extras?.map(\.title) == ["song 1"])
        list.extras = nil
        try db.save(list)
        #expect(try db.find(Playlist.self, 1)?.extras == nil)
    }

    @Test func setsOfObjectsWithTextKeys() throws {
        let badges = ["b", "a", "c"].map { Ticket(code: $0) }
        badges[0].wearers = [badges[1], badges[2], badges[0]]
        try db.save(badges[0])
        let read = try #require(try db.find(Ticket.self, "b"))
        #expect(read.wearers.map(\.code).sorted() == ["a", "b", "c"])
        #expect(read.wearers.contains { $0 === read })
        #expect(try badges[1].referencing(Ticket.self).map(\.code) == ["b"])
    }

    @Test func aChangedMemberIsCommittedWithItsOwnerAndACleanOneIsNotWritten() throws {
        let list = Playlist(name: "deep", songs: songs(2))
        try db.save(list)
        list.songs[1].remix = Tune(title: "remix")
        let commits = Collected<String>()
        let token = db.onUpdate { commits.append($0.entity) }
        try list.commit()
        #expect(try db.query(Tune.self).where("remix.title = 'remix'").count() == 1)
        #expect(commits.all == ["Tune"])
        withExtendedLifetime(token) {}
    }

    @Test func aRemovedMemberLeavesEveryCollection() throws {
        let all = songs(3)
        let first = Playlist(name: "1", songs: [all[0], all[1], all[0], all[2]])
        let second = Playlist(name: "2", byMood: ["x": all[0], "y": all[1]])
        try db.save([first, second])
        try db.delete(all[0])
        #expect(try db.find(Playlist.self, 1)?.songs.map(\.title) == ["song 2", "song 3"])
        #expect(try db.find(Playlist.self, 2)?.byMood.mapValues(\.title) == ["y": "song 2"])
        // An object that holds it in memory does not bring it back.
        first.name = "again"
        first.songs = first.songs
        try db.save(first)
        #expect(try db.find(Playlist.self, 1)?.songs.map(\.title) == ["song 2", "song 3"])
        #expect(try db.query(Tune.self).count() == 2)
    }

    @Test func aMemberThatIsDeletedBeforeTheListIsReadMovesNoKey() throws {
        let all = songs(5)
        try db.save(Playlist(name: "list", songs: all, byMood: ["x": all[1], "y": all[2]]))
        let read = try #require(try db.find(Playlist.self, 1))
        try db.delete(try #require(try db.query(Tune.self).where(\.title == "song 2").first()))
        #expect(read.songs.map(\.title) == ["song 1", "song 3", "song 4", "song 5"])
        #expect(read.byMood.mapValues(\.title) == ["y": "song 3"])
        read.songs.append(Tune(title: "new"))
        read.byMood["z"] = read.songs[0]
        try db.save(read)
        let again = try #require(try db.find(Playlist.self, 1))
        #expect(again.songs.map(\.title) == ["song 1", "song 3", "song 4", "song 5", "new"])
        #expect(again.byMood.mapValues(\.title) == ["y": "song 3", "z": "song 1"])
    }

    @Test func theOtherSideIsAQuery() throws {
        let all = songs(2)
        try db.save([Playlist(name: "a", songs: [all[0]]), Playlist(name: "b", songs: all), Playlist(name: "c")])
        #expect(try all[0].playlists.query().orderBy(\.name).fetch().map(\.name) == ["a", "b"])
        #expect(try all[1].playlists.count == 1)
        #expect(try all[0].playlists.where(\.name > "a").fetch().map(\.name) == ["b"])
        #expect(try db.query(Playlist.self).referencing(all[1]).fetch().map(\.name) == ["b"])
        #expect(try db.query(Playlist.self).referencing(.null).fetch().map(\.name) == ["c"])
        #expect(try all[0].referencedCount() == 2)
        let lists = try db.query(Playlist.self).orderBy(\.name).fetch()
        #expect(
            try db.query(Tune.self).referenced(by: lists[1]).orderBy(\.title).fetch().map(\.title) == [
                "song 1", "song 2",
            ])
        #expect(try db.query(Tune.self).referenced(by: lists[1]).where(\.title == "song 2").count() == 1)
        #expect(try db.query(Tune.self).referenced(by: lists[2]).count() == 0)
        try db.save(Tune(title: "alone"))
        #expect(try db.query(Tune.self).referenced(by: .null).fetch().map(\.title) == ["alone"])
        #expect(try db.query(Tune.self).referenced(by: Playlist()).count() == 0)
    }

    @Test func aNestedEmptyCollectionRefersToNothing() throws {
        let list = Playlist(name: "empty parts")
        list.sides = [[], []]
        list.shelves = [7: []]
        try db.save([list, Playlist(name: "full", songs: songs(1))])
        #expect(try db.query(Playlist.self).referencing(.null).fetch().map(\.name) == ["empty parts"])
        let tune = Tune(title: "of itself")
        tune.remix = tune
        try db.save(tune)
        let alone = try db.query(Tune.self).referenced(by: .null).fetch().map(\.title)
        #expect(alone == ["of itself"])
    }

    /// A hook of a member assigns the list during its save.
    @Test func aListThatIsSetAnewMeanwhileIsStoredWhole() throws {
        let db = try makeDatabase([Basket.self, Apple.self])
        let basket = Basket()
        basket.apples = [Apple(basket: basket), Apple(basket: basket), Apple(basket: basket)]
        try db.save(basket)
        #expect(try db.find(Basket.self, 1)?.apples.count == 3)
    }

    @Test func twoObjectsOfOneRowAreOneMemberOfASet() throws {
        let ticket = Ticket(code: "a")
        try db.save(ticket)
        let twin = try #require(try db.find(Ticket.self, "a"))
        try db.save(Ticket(code: "b", wearers: [ticket, twin]))
        #expect(try db.find(Ticket.self, "b")?.wearers.count == 1)
        #expect(try db.query(Ticket.self).where("wearers.@count = 1").count() == 1)
    }

    @Test func countsAreComparedByPlainKeyPaths() throws {
        let all = songs(3)
        try db.save([
            Playlist(name: "a", songs: all, byMood: ["x": all[0]]), Playlist(name: "b", songs: [all[0]]),
            Playlist(name: "c"),
        ])
        let query = db.query(Playlist.self).orderBy(\.name)
        #expect(try query.where(\.songs.count > 1).fetch().map(\.name) == ["a"])
        #expect(try query.where(\.songs.count == 0).fetch().map(\.name) == ["c"])
        #expect(try query.where(\.songs.count != 1 && \.byMood.count == 1).fetch().map(\.name) == ["a"])
        try db.save([Palette(colours: [.green, .red]), Palette(colours: [])])
        #expect(try db.query(Palette.self).where(\.colours.count >= 2).count() == 1)
        #expect(throws: MakoError.self) { try db.query(Playlist.self).where(\.name.count == 1).fetch() }
    }

    @Test func circlesOfCollectionsAreSavedAndLoaded() throws {
        let badges = ["a", "b"].map { Ticket(code: $0) }
        badges[0].wearers = [badges[1]]
        badges[1].wearers = [badges[0]]
        try db.save(badges[0])
        let read = try #require(try db.find(Ticket.self, "a"))
        #expect(read.wearers.first?.wearers.first === read)
    }

    @Test func aRolledBackCollectionIsAsBefore() throws {
        let all = songs(3)
        let list = Playlist(name: "kept", songs: [all[0]])
        try db.save(list)
        #expect(throws: (any Error).self) {
            try db.transaction { tx in
                list.songs = [all[1], all[2]]
                try db.save(list)
                try tx.rollback()
            }
        }
        #expect(list.songs.map(\.title) == ["song 1"])
        #expect(try db.query(Tune.self).count() == 1)
        list.songs.append(all[1])
        try db.save(list)
        #expect(try db.find(Playlist.self, 1)?.songs.map(\.title) == ["song 1", "song 2"])
    }

    @Test func collectionsOfValuesAreValues() throws {
        let palette = Palette(colours: [.green, .red], byName: ["x": .green], groups: [[.red], []])
        try db.save(palette)
        let read = try #require(try db.find(Palette.self, 1))
        #expect(read.colours == [.green, .red])
        #expect(read.byName == ["x": .green])
        #expect(read.groups == [[.red], []])
        read.byName = nil
        read.colours.append(.green)
        try db.save(read)
        #expect(try db.find(Palette.self, 1)?.colours == [.green, .red, .green])
        #expect(try db.find(Palette.self, 1)?.byName == nil)
    }

    @Test func aDictionaryRoundTripsAndPrintsWhatIsLoaded() throws {
        let list = Playlist(name: "dictionary", songs: songs(2))
        try db.save(list)
        let read = try #require(try db.find(Playlist.self, 1))
        #expect("\(read)".contains("songs: not loaded"))
        let copy = try Playlist(list.asDictionary)
        copy.name = "other"
        try db.save(copy)
        #expect(try db.find(Playlist.self, 1)?.name == "other")
        #expect(try db.find(Playlist.self, 1)?.songs.count == 2)
        #expect(read.songs.count == 2)
        #expect("\(read)".contains("songs: loaded [1, 2] ([Tune])"))
        #expect(try Playlist(["songs": songs(1)]).songs.map(\.title) == ["song 1"])
        #expect(throws: MakoError.self) { try Playlist(["songs": 7]) }
    }

    @Test func clonesHoldTheSameObjects() throws {
        let list = Playlist(name: "one", songs: songs(2))
        try db.save(list)
        let read = try #require(try db.find(Playlist.self, 1))
        let clone = read.clone()
        try db.save(clone)
        #expect(clone.songs.map(\.title) == ["song 1", "song 2"])
        #expect(try db.query(Tune.self).count() == 2)
        #expect(try db.query(Playlist.self).count() == 2)
    }

    @Test func manyMembersAreReadTogether() throws {
        let list = Playlist(name: "long", songs: songs(3000))
        try db.save(list)
        let read = try #require(try db.find(Playlist.self, 1))
        let before = db.metrics.lazyLoads
        #expect(read.songs.map(\.title) == list.songs.map(\.title))
        #expect(db.metrics.lazyLoads == before + 1)
    }
}
