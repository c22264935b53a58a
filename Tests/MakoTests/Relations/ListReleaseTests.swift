import Mako
import TestHelpers
import Testing

/// References in lists to removed objects are dropped from the file at once, visible to each reader, and written once.
@Suite struct ListReleaseTests {
    let db: Database

    init() throws { db = try makeDatabase([Playlist.self, Tune.self, Ticket.self, Mixtape.self, Groove.self]) }

    private func filled(_ count: Int) throws -> (list: Playlist, songs: [Tune]) {
        let songs = (1...count).map { Tune(title: "song \($0)") }
        let list = Playlist(name: "mine", songs: songs)
        try db.save(list)
        return (list, songs)
    }

    private func stored() throws -> [Int] { try #require(try db.find(Playlist.self, 1)).songs.compactMap(\.id) }

    /// How many bytes go into the log meanwhile.
    private func logged(_ body: () throws -> Void) throws -> UInt64 {
        let before = db.store.stats.logBytes
        try body()
        return db.store.stats.logBytes - before
    }

    @Test func aLongListIsWrittenOnceHoweverManyGo() throws {
        let (_, songs) = try filled(2000)
        let one = try logged { try db.delete(songs[0]) }
        // The list takes most of that: a few bytes for each song.
        #expect(one > 4000)
        let query = try logged { try db.query(Tune.self).where(\.id <= 201).delete() }
        #expect(query < 4 * one, "\(query) bytes for 200 songs, \(one) for one")
        let singly = try logged {
            try db.transaction { _ in for song in songs[300..<500] { try db.delete(song) } }
        }
        #expect(singly < 4 * one, "\(singly) bytes for 200 songs, \(one) for one")
        let array = try logged { try db.delete(Array(songs[500..<700])) }
        #expect(array < 4 * one, "\(array) bytes for 200 songs, \(one) for one")
        #expect(try stored() == Array(202...300) + Array(701...2000))
        #expect(try db.verify().isClean)
    }

    @Test func hooksOfTheMembersDoNotHaveItWrittenEachTime() throws {
        let tracks = (1...1000).map { Groove(number: $0) }
        try db.save(Mixtape(tracks: tracks))
        let one = try logged { try db.delete(tracks[0]) }
        let query = try logged { try db.query(Groove.self).where(\.number <= 200).delete() }
        #expect(query < 6 * one, "\(query) bytes for 199 tracks, \(one) for one")
        #expect(try db.find(Mixtape.self, 1)?.tracks.count == 800)
    }

    @Test func theTransactionReadsTheListWithoutThem() throws {
        let (_, songs) = try filled(5)
        try db.transaction { _ in
            try db.delete(songs[1])
            #expect(try stored() == [1, 3, 4, 5])
            try db.delete(songs[2])
            try db.delete(songs[3])
            #expect(try db.query(Playlist.self).where("songs.@count = 2").count() == 1)
            try db.delete(songs[0])
        }
        #expect(try stored() == [5])
    }

    @Test func whatIsRolledBackStaysInTheList() throws {
        let (list, songs) = try filled(6)
        try db.transaction { _ in
            try db.delete(songs[0])
            try? db.transaction { _ in
                try db.delete(songs[1])
                throw Refused()
            }
            try? db.transaction { _ in
                try db.delete(songs[2])
                _ = try db.query(Tune.self).count()
                throw Refused()
            }
            try db.transaction { _ in try db.delete(songs[3]) }
        }
        #expect(try stored() == [2, 3, 5, 6])
        #expect(throws: Refused()) {
            try db.transaction { _ in
                try db.delete(songs[1])
                throw Refused()
            }
        }
        #expect(try stored() == [2, 3, 5, 6])
        #expect(list.songs.count == 6)
        #expect(try db.verify().isClean)
    }

    @Test func aCallThatFailsTakesNothingOutOfTheList() throws {
        let tracks = (1...4).map { Groove(number: $0) }
        tracks[2].isKept = true
        try db.save(Mixtape(tracks: tracks))
        func numbers() throws -> [Int] { try #require(try db.find(Mixtape.self, 1)).tracks.map(\.number) }
        // The third removal is refused: those of the same call are undone, and earlier ones stay.
        try? db.transaction { _ in
            try db.delete(tracks[3])
            #expect(throws: MakoError.self) { try db.delete([tracks[0], tracks[1], tracks[2]]) }
            #expect(try numbers() == [1, 2, 3])
            throw Refused()
        }
        #expect(try numbers() == [1, 2, 3, 4])
    }

    @Test func aKeyThatComesAgainMayBeHeldAgain() throws {
        let (first, second) = (Ticket(code: "a"), Ticket(code: "b"))
        first.wearers = [second]
        try db.save(first)
        try db.transaction { _ in
            try db.delete(second)
            let again = Ticket(code: "b")
            try db.save(again)
            first.wearers = [again]
            try db.save(first)
        }
        #expect(try db.find(Ticket.self, "a")?.wearers.map(\.code) == ["b"])
    }

    @Test func aListMayGoWithItsMembers() throws {
        let (list, songs) = try filled(3)
        let other = Playlist(name: "other", songs: [songs[0], songs[1]])
        other.byMood = ["calm": songs[2], "wild": songs[1]]
        try db.save(other)
        try db.transaction { _ in
            try db.delete(songs[0])
            try db.delete(songs[2])
            try db.delete(list)
        }
        let read = try #require(try db.find(Playlist.self, 2))
        #expect(read.songs.map(\.id) == [2])
        #expect(read.byMood.keys.sorted() == ["wild"])
        #expect(try db.query(Playlist.self).count() == 1)
        #expect(try db.verify().isClean)
    }

    /// A list omits removed members when it is read; conditions count the stored ones.
    @Test func everyListLosesRemovedMembers() throws {
        let (_, songs) = try filled(4)
        for name in ["second", "third"] { try db.save(Playlist(name: name, songs: Array(songs[..<3]))) }
        try db.transaction { _ in
            try db.delete(songs[0])
            try db.delete(songs[3])
        }
        #expect(try db.query(Playlist.self).where("songs.@count = 2").count() == 3)
        #expect(try db.verify().isClean)
    }

    @Test func theListIsNotifiedOnce() throws {
        let (_, songs) = try filled(10)
        let seen = Collected<ObjectChange<Playlist>>()
        let token = try Playlist.onChange(withValues: true, in: db) { seen.append($0) }
        defer { token.cancel() }
        try db.query(Tune.self).where(\.id > 7).delete()
        #expect(seen.all.map(\.changedProperties) == [["songs"]])
        #expect(seen.all.first?.oldKeys(of: \.songs)?.count == 10)
        #expect(seen.all.first?.newKeys(of: \.songs) == (1...7).map { .rowID($0) })
        #expect(songs.count == 10)
    }
}

@Entity final class Mixtape {
    var tracks: [Groove] = []
}

@Entity final class Groove {
    var number = 0
    var isKept = false

    func willDelete() -> Bool { !isKept }
}
