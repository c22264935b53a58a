import Foundation
import MakoCore
import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// The history of a database's changes, as it is stored.
@Suite struct ChangeHistoryTests {
    // MARK: Events

    @Test func eachCommitIsReportedOnceWithFinalStates() throws {
        let db = try HistoryPlace().open(.kept())
        let start = try db.historyToken()
        try db.transaction { _ in
            try db.set("FR", 68)
            try db.set("IT", 59)
            try db.set("FR", 69)
            try db.set("XX", 1)
            try db.delete(Country(code: "XX"))
        }
        try db.set("FR", 70)
        try db.set("FR", 70)
        try db.transaction { _ in
            try db.delete(Country(code: "IT"))
            try db.set("DE", 84)
        }
        let expected = [
            "insert Country 'FR'; insert Country 'IT'", "update Country 'FR' (people)",
            "delete Country 'IT'; insert Country 'DE'",
        ]
        #expect(try db.notified(since: start) == expected)
        #expect(try db.notified(since: nil) == expected)
        let events = try db.history(since: nil)
        #expect(events.map(\.token) == events.map(\.token).sorted())
        #expect(try events.last?.token == db.historyToken())
        let date = try #require(events.first?.batch?.date)
        #expect(abs(date.timeIntervalSinceNow) < 3600)
        for (place, event) in events.enumerated() {
            #expect(try db.notified(since: event.token) == Array(expected[(place + 1)...]))
        }
    }

    @Test func theObjectOfAChangeIsReadAsItIsNow() throws {
        let db = try HistoryPlace().open(.kept())
        try db.set("FR", 68)
        try db.set("FR", 70)
        try db.set("IT", 59)
        try db.delete(Country(code: "IT"))
        let changes = try db.history(since: nil).compactMap(\.batch).flatMap { Array($0.changes) }
        let found = try changes.map { try db.object(of: $0, as: Country.self)?.people }
        #expect(found == [70, 70, nil, nil])
        #expect(try db.object(of: changes[0], as: City.self) == nil)
        #expect(changes[3].keyValues == [.text("IT")])
    }

    @Test func manyNewObjectsAreOneSpan() throws {
        let db = try HistoryPlace().open(.kept(), [City.self])
        try db.save((0..<5000).map { City(name: "\($0)") })
        let batch = try #require(try db.history(since: nil).first?.batch)
        #expect(batch.changes.count == 5000)
        #expect(batch.changes.map { $0.key.rowID } == (1...5000).map { Int64($0) })
        #expect(batch.changes.last?.description == "insert City 5000")
        let bytes = try db.store.read { view in
            try view.trees.first { $0.name == "mako.history" }.map { info in
                try view.get(batch.token.commit, in: info.tree)?.count ?? 0
            }
        }
        #expect(try #require(bytes) < 200)
    }

    @Test func rollbacksAreNotInTheHistory() throws {
        let db = try HistoryPlace().open(.kept())
        try db.set("FR", 68)
        let token = try db.historyToken()
        #expect(throws: Stop()) {
            try db.transaction { _ in
                try db.set("IT", 59)
                throw Stop()
            }
        }
        try db.transaction { transaction in
            do {
                try db.transaction { _ in
                    try db.set("FR", 1)
                    _ = try db.query(Country.self).delete()
                    try db.drop(Country.self)
                    throw Stop()
                }
            } catch is Stop {}
            try db.set("DE", 84)
        }
        #expect(try db.notified(since: token) == ["insert Country 'DE'"])
    }

    @Test func tablesThatWereDroppedOrMigratedAreNamed() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        var token = try db.historyToken()
        try db.close()
        db = try place.open(.asInFile, [LaterHistory.LargerCountry.self])
        #expect(try db.notified(since: token) == ["Country anew"])
        token = try db.historyToken()
        try db.transaction { _ in
            _ = try db.query(LaterHistory.LargerCountry.self).delete()
            try db.drop(LaterHistory.LargerCountry.self)
        }
        #expect(try db.notified(since: token) == ["Country anew"])
    }

    @Test func oldChangesGoByTheNameThatTheTableHasNow() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        try db.set("FR", 70)
        try db.close()
        db = try place.open(.asInFile, [LaterHistory.Nation.self])
        #expect(
            try db.notified(since: nil) == [
                "insert Nation 'FR'", "update Nation 'FR' (people)", "Country anew; Nation anew",
            ])
    }

    /// A key from before the change is not mistaken for a new one.
    @Test func aTableWithAnotherKeyIsToBeReadAnew() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept(), [Country.self, City.self])
        try db.set("FR", 68)
        try db.close()
        db = try place.open(.asInFile, [LaterHistory.CountedCountry.self])
        #expect(db.migrations.map(\.description) == ["change the key from code to people"])
        let counted = try #require(try db.find(LaterHistory.CountedCountry.self, 68))
        #expect(counted.code == "FR")
        _ = try db.save([counted])
        let events = try db.history(since: nil)
        let old = try #require(events.first?.batch?.changes.first)
        #expect(old.entity == "Country" && old.keyValues.isEmpty && old.key == RowKey(values: [.text("FR")]))
        #expect(events.last?.text == "City anew; Country anew")
        try db.close()
    }

    @Test func readsAndTransactionsSeeTheirOwnEnd() throws {
        let db = try HistoryPlace().open(.kept())
        try db.set("FR", 68)
        let token = try db.historyToken()
        try db.read {
            let before = try db.historyToken()
            #expect(before == token)
            DispatchQueue.global().sync { _ = Result { try db.set("IT", 59) } }
            #expect(try db.historyToken() == token)
            #expect(try db.notified(since: token) == [])
        }
        #expect(try db.notified(since: token) == ["insert Country 'IT'"])
    }

    // MARK: Tokens

    @Test func tokensGoOnAfterReopening() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        let stored = try JSONEncoder().encode([db.historyToken()])
        try db.set("IT", 59)
        try db.close()
        db = try place.open()
        try db.set("DE", 84)
        let token = try #require(try JSONDecoder().decode([HistoryToken].self, from: stored).first)
        #expect(try db.notified(since: token) == ["insert Country 'IT'", "insert Country 'DE'"])
        #expect(HistoryToken(token.description) == token)
        #expect(try token < db.historyToken())
        for text in ["", "1-2-3", token.description + "x", String(token.description.dropFirst())] {
            #expect(HistoryToken(text) == nil)
        }
        let wrong = Data("[\"1\"]".utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([HistoryToken].self, from: wrong) }
    }

    @Test func aTokenOfAnotherFileIsRefused() throws {
        let (db, other) = try (HistoryPlace().open(.kept()), HistoryPlace().open(.kept()))
        let token = try other.historyToken()
        let error = MakoError.foreignHistory(path: db.path)
        #expect(throws: error) { try db.history(since: token) }
        #expect(throws: error) { try db.forgetHistory(before: token) }
        #expect(try !token.isComparable(with: db.historyToken()))
    }

    @Test func aDatabaseWithoutAHistorySaysSo() throws {
        let place = HistoryPlace()
        let db = try place.open()
        try db.set("FR", 68)
        #expect(throws: MakoError.historyNotKept(path: place.path)) { try db.history(since: nil) }
        #expect(throws: MakoError.historyNotKept(path: place.path)) { try db.historyToken() }
        let trees = try db.store.read { $0.trees.map(\.name) }
        #expect(!trees.contains("mako.history"))
    }

    @Test func aBackupThatWasPutBackIsNoticed() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        let common = try db.historyToken()
        try db.backup(to: "d/backup.mako")
        try db.set("IT", 59)
        let lost = try db.historyToken()
        try db.close()
        // The commit that was lost has its number given once more.
        db = try place.open(at: "d/backup.mako")
        try db.set("DE", 84)
        #expect(try db.historyToken().commit == lost.commit)
        try db.set("ES", 48)
        #expect(try db.notified(since: common) == ["insert Country 'DE'", "insert Country 'ES'"])
        #expect(try db.notified(since: lost) == ["missed"])
        // Of a commit that is not there yet nothing is known either.
        try db.set("PT", 10)
        let ahead = try db.historyToken()
        try db.close()
        db = try place.open()
        #expect(try db.notified(since: ahead) == ["missed"])
        #expect(try db.notified(since: lost) == [])
    }

    /// The commits of the backup have the numbers of those that it cut off.
    @Test func aTokenOfCommitsThatARestoreCutOffForgetsNothing() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        let common = try db.historyToken()
        try db.backup(to: "d/backup.mako")
        for number in 0..<3 { try db.set("IT", number) }
        let lost = try db.historyToken()
        try db.close()
        db = try place.open(at: "d/backup.mako")
        for number in 0..<5 { try db.set("DE", number) }
        let kept = try db.history(since: nil).map(\.token)
        try db.forgetHistory(before: lost)
        #expect(try db.history(since: nil).map(\.token) == kept)
        #expect(try db.history(since: common).count == 5)
        try db.forgetHistory(before: kept[kept.count - 1])
        #expect(try db.history(since: nil).count == 1)
        try db.close()
    }

    @Test func aSalvagedFileBeginsANewHistory() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept(maximumTransactions: 5))
        try db.set("FR", 68)
        let token = try db.historyToken()
        try db.close()
        var options = StoreOptions()
        options.fileSystem = place.disk
        let report = try Catalogue.salvage(from: place.path, to: "d/saved.mako", options: options)
        #expect(report.isComplete)
        #expect(report.findings == ["the history of changes begins anew"])
        db = try place.open(at: "d/saved.mako")
        #expect(throws: MakoError.foreignHistory(path: "d/saved.mako")) { try db.history(since: token) }
        let start = try db.historyToken()
        try db.set("IT", 59)
        #expect(try db.notified(since: start) == ["insert Country 'IT'"])
    }

    // MARK: Retention

    @Test(arguments: [
        HistoryOption.kept(maximumTransactions: 8), .kept(maximumBytes: 900), .kept(maximumAge: .milliseconds(1)),
    ])
    func whatWasTrimmedIsMissed(_ option: HistoryOption) throws {
        let db = try HistoryPlace().open(option)
        let start = try db.historyToken()
        for number in 0..<60 {
            try db.set("FR", number)
            if case .kept(_, .some, _) = option { Thread.sleep(forTimeInterval: 0.0005) }
        }
        let kept = try db.history(since: nil)
        #expect(kept.count < 20 && kept.count > (option == .kept(maximumAge: .milliseconds(1)) ? 0 : 5))
        let oldest = try #require(kept.first?.token)
        #expect(try db.history(since: oldest).count == kept.count - 1)
        let events = try db.history(since: start)
        #expect(events.map(\.text) == ["missed"])
        let end = try db.historyToken()
        #expect(events.first?.token == end)
        try db.set("IT", 59)
        #expect(try db.notified(since: events.first?.token) == ["insert Country 'IT'"])
    }

    @Test(arguments: [HistoryOption.kept(maximumTransactions: 0), .kept(maximumBytes: 0)])
    func theNewestCommitIsAlwaysKept(_ option: HistoryOption) throws {
        let db = try HistoryPlace().open(option)
        for number in 0..<10 {
            let token = try db.historyToken()
            try db.set("FR", number)
            #expect(try db.history(since: nil).count == 1)
            // A reader that is up to date has missed nothing.
            let notified = try db.notified(since: token)
            #expect(notified.count == 1 && notified != ["missed"])
            let next = try db.historyToken()
            #expect(token < next)
            #expect(try db.notified(since: next) == [])
        }
    }

    @Test func whatEverybodyHasSeenCanBeForgotten() throws {
        let db = try HistoryPlace().open(.kept())
        let start = try db.historyToken()
        for number in 0..<10 { try db.set("FR", number) }
        let tokens = try db.history(since: start).map(\.token)
        try db.forgetHistory(before: tokens[6])
        #expect(try db.history(since: tokens[6]).map(\.token) == Array(tokens[7...]))
        #expect(try db.history(since: tokens[5]).map(\.token) == Array(tokens[6...]))
        #expect(try db.notified(since: tokens[4]) == ["missed"])
        #expect(try db.history(since: nil).map(\.token) == Array(tokens[6...]))
        #expect(throws: Stop()) {
            try db.transaction { _ in
                try db.forgetHistory(before: tokens[9])
                try db.set("IT", 59)
                throw Stop()
            }
        }
        try db.set("IT", 59)
        #expect(try db.history(since: tokens[6]).count == 4)
    }

    @Test func theFileRemembersThatAHistoryIsKept() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept(maximumTransactions: 3))
        let start = try db.historyToken()
        try db.close()
        db = try place.open()
        try db.set("FR", 68)
        #expect(try db.notified(since: start) == ["insert Country 'FR'"])
        for number in 0..<20 { try db.set("IT", number) }
        #expect(try db.history(since: nil).count == 3)
        try db.close()
        db = try place.open(.kept())
        for number in 30..<50 { try db.set("IT", number) }
        #expect(try db.history(since: nil).count == 23)
    }

    @Test func whatIsWrittenWithoutAHistoryIsMissed() throws {
        let place = HistoryPlace()
        var db = try place.open(.kept())
        try db.set("FR", 68)
        let token = try db.historyToken()
        try db.close()
        db = try place.open(.none)
        try db.set("IT", 59)
        #expect(throws: MakoError.historyNotKept(path: place.path)) { try db.history(since: token) }
        try db.close()
        db = try place.open(.kept())
        try db.set("DE", 84)
        let events = try db.history(since: token)
        #expect(events.map(\.text) == ["missed"])
        #expect(try events.first?.token == db.historyToken())
        #expect(try db.notified(since: nil) == ["insert Country 'DE'"])
    }

    @Test func whatAnImportBringsIsNamedByItsTable() throws {
        let db = try HistoryPlace().open(.kept())
        let token = try db.historyToken()
        // As the program `mako` does it, beside the object layer.
        try db.store.write { tx in
            try HistoryWriter(SystemEntropy()).append(
                ChangeSet(), rewritten: ["Country"], try Catalogue.load(view: tx.view), date: 0, in: tx)
        }
        #expect(try db.notified(since: token) == ["Country anew"])
        try db.set("FR", 68)
        #expect(try db.notified(since: token) == ["Country anew", "insert Country 'FR'"])
    }

    @Test func aFileOpenedForReadingShowsWhatAnotherProcessWrites() throws {
        let place = HistoryPlace()
        let db = try place.open(.kept())
        try db.set("FR", 68)
        let reader = try place.open(readOnly: true)
        let token = try reader.historyToken()
        #expect(try reader.notified(since: nil) == ["insert Country 'FR'"])
        try db.set("IT", 59)
        try db.save(City(name: "Rome"))
        #expect(try reader.notified(since: token) == ["insert Country 'IT'", "insert City 1"])
        #expect(throws: MakoError.self) { try reader.forgetHistory(before: token) }
        try reader.close()
    }

    @Test func damageIsNotTakenForTheEnd() throws {
        let db = try HistoryPlace().open(.kept())
        let start = try db.historyToken()
        for number in 0..<5 { try db.set("FR", number) }
        let tokens = try db.history(since: start).map(\.token)
        try db.store.write { tx in
            let tree = try #require(tx.view.tree(named: "mako.history"))
            _ = try tx.delete(tokens[2].commit, in: tree)
        }
        #expect(try db.notified(since: tokens[0]).last == "missed")
        #expect(try db.notified(since: tokens[0]).count == 2)
        #expect(try db.notified(since: tokens[1]) == ["missed"])
        #expect(try db.history(since: tokens[3]).count == 1)
        try db.store.write { tx in
            let tree = try #require(tx.view.tree(named: "mako.history"))
            try tx.put([1, 2, 3], for: tokens[3].commit, in: tree)
        }
        #expect(throws: MakoError.self) { try db.history(since: tokens[3]) }
    }
}
