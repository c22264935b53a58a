import Dispatch
import Foundation
import Mako
import TestHelpers
import Testing

@Entity final class Player {
    #Index<Player>([\.score])
    var name = ""
    var score = 0
    var team: Team?
}

@Entity final class Team {
    @Attribute(.primaryKey) var name: String = ""
    var city = ""
    var members: [Player] = []
}

@Entity struct Goal {
    var minute: Int
    var note = ""
}

@Suite struct LiveQueryTests {
    private func makePlayers() throws -> (Database, [Player]) {
        let db = try makeDatabase([Player.self, Team.self, Goal.self])
        let team = Team(name: "Reds", city: "Oslo")
        let players = [("Ada", 10), ("Bob", 20), ("Cem", 30)].map { Player(name: $0.0, score: $0.1, team: team) }
        try db.transaction { _ in try db.save(players) }
        return (db, players)
    }

    /// Also when the query runs anew, because the schema has changed meanwhile.
    @Test func joinedColumnsStayUpToDate() async throws {
        let (db, _) = try makePlayers()
        var live = db.query(Player.self).joinTo(\.team).orderBy(\.score).observe().makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.results[0].joinedResults["Team.city"] == .text("Oslo"))
        try await db.rawQuery("CREATE TABLE Unrelated (a INTEGER)")
        try await db.transaction { _ = try db.update(Team.self).set(\.city, to: "Rome").run() }
        let second = try #require(try await live.next())
        #expect(second.updates == [0, 1, 2])
        #expect(second.results.map { $0.joinedResults["Team.city"] } == Array(repeating: .text("Rome"), count: 3))
    }

    @Test func theFirstResultsAndThenEachCommit() async throws {
        let (db, players) = try makePlayers()
        var live = db.query(Player.self).where(\.score >= 15).orderBy(\.score).observe().makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.isInitial)
        #expect(first.insertions == [0, 1])
        #expect(first.results.map(\.name) == ["Bob", "Cem"])

        try await db.transaction { _ in
            players[0].score = 40
            try players[0].commit()
            try players[2].remove()
        }
        let second = try #require(try await live.next())
        #expect(!second.isInitial)
        #expect(second.results.map(\.name) == ["Bob", "Ada"])
        #expect(second.deletions == [1])
        #expect(second.insertions == [1])
        #expect(second.updates.isEmpty && second.moves.isEmpty)
        // An unchanged object stays the same instance, which is not the one that was committed.
        #expect(second.results[0] === first.results[0])
        #expect(second.results[1] !== players[0])

        players[1].score = 50
        try await players[1].commit()
        let third = try #require(try await live.next())
        #expect(third.results.map(\.name) == ["Ada", "Bob"])
        #expect(third.moves.count == 1)
        #expect(third.updates == [1])
        #expect(third.results[1].score == 50)
        #expect(third.results[0] === second.results[1])
    }

    @Test func onlyRelevantChangesAreSent() async throws {
        let (db, players) = try makePlayers()
        var live = db.query(Player.self).where(\.score > 15).orderBy(\.score).observe().makeAsyncIterator()
        _ = try await live.next()
        // Changes of another table, outside the condition, or rolled back send nothing.
        try await db.save(Team(name: "Blues"))
        players[0].score = 11
        try await players[0].commit()
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await db.transaction { _ in
                try db.save(Player(name: "Dee", score: 99))
                throw Stop()
            }
        }
        players[2].name = "Cemal"
        try await players[2].commit()
        let notified = try #require(try await live.next())
        #expect(notified.updates == [1])
        #expect(notified.insertions.isEmpty && notified.deletions.isEmpty)
        #expect(notified.results.map(\.name) == ["Bob", "Cemal"])
    }

    @Test func pathsAreFollowed() async throws {
        let (db, _) = try makePlayers()
        var live = db.query(Player.self).where(\.team.city == "Rome").orderBy("team.city, name").observe()
            .makeAsyncIterator()
        let first = try #require(try await live.next())
        #expect(first.results.isEmpty)
        let reds = try #require(try await db.find(Team.self, "Reds"))
        reds.city = "Rome"
        try await reds.commit()
        let notified = try #require(try await live.next())
        #expect(notified.results.map(\.name) == ["Ada", "Bob", "Cem"])
        #expect(notified.insertions == [0, 1, 2])
        try await reds.remove()
        let last = try #require(try await live.next())
        #expect(last.deletions == [0, 1, 2])
    }

    @Test func membersOfACollectionAreFollowed() async throws {
        let (db, players) = try makePlayers()
        let reds = try #require(try await db.find(Team.self, "Reds"))
        reds.members = [players[0]]
        try await reds.commit()
        var live = db.query(Player.self).referenced(by: reds).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.map(\.name) == ["Ada"])
        reds.members = [players[2], players[0]]
        try await reds.commit()
        let notified = try #require(try await live.next())
        #expect(notified.results.map(\.name) == ["Ada", "Cem"])
        #expect(notified.insertions == [1])
    }

    @Test func aSlowReaderGetsCommitsTogether() async throws {
        let (db, players) = try makePlayers()
        var live = db.query(Player.self).where(\.score > 0).orderBy(\.name).limit(2).observe().makeAsyncIterator()
        _ = try await live.next()
        for score in 1...50 {
            players[1].score = score
            try await players[1].commit()
        }
        try await players[0].remove()
        let notified = try #require(try await live.next())
        #expect(notified.results.map(\.name) == ["Bob", "Cem"])
        #expect(notified.results[0].score == 50)
        #expect(notified.deletions == [0])
        #expect(notified.insertions == [1])
        #expect(notified.updates == [0])
    }

    @Test func moreThanTheMailboxHoldsIsNotLost() async throws {
        let (db, players) = try makePlayers()
        var live = db.query(Player.self).where(\.score > 1000).orderBy(\.score).limit(3).observe().makeAsyncIterator()
        _ = try await live.next()
        try await db.transaction { _ in
            for part in 0..<7 { try db.save((0..<10_000).map { Player(name: "\(part)", score: 2000 + $0) }) }
        }
        players[0].score = 1500
        try await players[0].commit()
        var names: [String] = []
        while names.first != "Ada" { names = try #require(try await live.next()).results.map(\.name) }
        #expect(names == ["Ada", "0", "1"])
    }

    @Test func structsAndKeys() async throws {
        let (db, _) = try makePlayers()
        var live = db.query(Goal.self).orderBy(\.minute, .descending).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.isEmpty == true)
        var goal = Goal(minute: 3)
        try await db.save(&goal)
        try await db.save([Goal(minute: 80), Goal(minute: 3)])
        let notified = try #require(try await live.next())
        // Equal ones stand in the order of their keys, turned as the order is.
        #expect(notified.results.map(\.minute) == [80, 3, 3])
        #expect(notified.results.map(\.id) == [2, 3, 1])
    }

    @Test func theEnd() async throws {
        let (db, _) = try makePlayers()
        var live = db.query(Player.self).observe().makeAsyncIterator()
        _ = try await live.next()
        try await db.close()
        #expect(try await live.next() == nil)
        #expect(try await live.next() == nil)

        let (other, _) = try makePlayers()
        let task = Task {
            var count = 0
            for try await _ in other.query(Player.self).observe() { count += 1 }
            return count
        }
        while other.metrics.liveQueries == 0 { try await Task.sleep(for: .milliseconds(1)) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        #expect(try await task.value <= 1)
        while other.metrics.liveQueries != 0 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test func whatIsWrongIsThrownOnce() async throws {
        let (db, _) = try makePlayers()
        var live = db.query(Player.self).where(text: "scoer > 1").observe().makeAsyncIterator()
        await #expect { _ = try await live.next() } throws: { "\($0)".contains("score") }
        #expect(try await live.next() == nil)
        try await db.close()
        var late = db.query(Player.self).observe().makeAsyncIterator()
        await #expect(throws: MakoError.closed(path: ":memory:")) { _ = try await late.next() }
    }

    @Test func aHandlerOnAQueue() async throws {
        let (db, players) = try makePlayers()
        let queue = DispatchQueue(label: "here")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let seen = Collected<[String]>()
        let strays = Collected<String>()
        let token = db.query(Player.self).orderBy(\.name).observe(on: queue) { outcome in
            if DispatchQueue.getSpecific(key: key) != true { strays.append("another thread") }
            switch outcome {
            case .success(let difference): seen.append(difference.results.map(\.name))
            case .failure(let error): strays.append("\(error)")
            }
        }
        while seen.all.count < 1 { try await Task.sleep(for: .milliseconds(1)) }
        players[0].name = "Zoe"
        try await players[0].commit()
        while seen.all.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(seen.all == [["Ada", "Bob", "Cem"], ["Bob", "Cem", "Zoe"]])
        token.cancel()
        while db.metrics.liveQueries != 0 { try await Task.sleep(for: .milliseconds(1)) }
        try await players[0].remove()
        #expect(seen.all.count == 2)
        #expect(strays.all.isEmpty)
    }

    @Test func aCancelledHandlerIsNotCalledAnyMore() async throws {
        let (db, players) = try makePlayers()
        let queue = DispatchQueue(label: "busy")
        let seen = Collected<Int>()
        let token = db.query(Player.self).observe(on: queue) { _ in seen.append(1) }
        while seen.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        // The next call waits behind what keeps the queue busy.
        let gate = DispatchSemaphore(value: 0)
        queue.async { gate.wait() }
        players[0].score = 77
        try await players[0].commit()
        try await Task.sleep(for: .milliseconds(50))
        token.cancel()
        gate.signal()
        queue.sync {}
        #expect(seen.all.count == 1)
    }

    @Test func closingEndsWithoutAnError() async throws {
        for _ in 0..<20 {
            let (db, players) = try makePlayers()
            let task = Task {
                for try await _ in db.query(Player.self).orderBy(\.score).observe() {}
            }
            while db.metrics.liveQueries == 0 { await Task.yield() }
            players[1].score = 1
            try await players[1].commit()
            try await db.close()
            await #expect(throws: Never.self) { try await task.value }
        }
    }

    @Test func aDroppedTableEndsItAndIsNotMadeAgain() async throws {
        let db = try makeDatabase([Goal.self])
        try await db.save([Goal(minute: 1)])
        var live = db.query(Goal.self).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.count == 1)
        try await db.drop(Goal.self)
        await #expect(throws: MakoError.self) { _ = try await live.next() }
        #expect(!db.tables.contains { $0.name == "Goal" })
    }

    @Test func asyncCommitsAreSent() async throws {
        try await withTemporaryFile { path in
            let db = try Database(at: path, entities: [Player.self])
            let ada = Player(name: "Ada", score: 0)
            try await db.save(ada)
            var live = db.query(Player.self).observe().makeAsyncIterator()
            _ = try await live.next()
            for score in 1...20 {
                try await db.transaction(durability: .async(maxDelay: .milliseconds(20))) { _ in
                    ada.score = score
                    try db.save(ada)
                }
            }
            var shown = 0
            while shown < 20 { shown = try #require(try await live.next()).results[0].score }
            #expect(shown == 20)
            try await db.close()
        }
    }
}
