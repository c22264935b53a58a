import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Databases that lock their file for each transaction and read.
@Suite struct FileLockingTests {
    private let path = "d/world.mako"

    private func people(_ db: Database) throws -> [String] {
        try db.query(Country.self).orderBy(\.code).fetch().map { "\($0.code) \($0.people)" }
    }

    /// Whether another process that locks the file from opening to closing can open it.
    private func isFree(_ place: ReaderPlace) throws -> Bool {
        let file = try place.disk.open(path, .readWrite)
        defer { file.close() }
        return try file.lock(exclusive: true)
    }

    /// Waits until it is free.
    private func becomesFree(_ place: ReaderPlace) throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while try !isFree(place) {
            if ContinuousClock.now > end { return false }
            Thread.sleep(forTimeInterval: 0.005)
        }
        return true
    }

    // MARK: When the file is locked

    @Test func theFileIsFreeBetweenCalls() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        #expect(try isFree(place))
        let insert = try db.prepare("INSERT INTO City (name) VALUES (?)")
        let calls: [(String, () throws -> Void)] = [
            ("save", { try db.set("FR", 68) }),
            ("save an object", { try db.save(City(name: "Oslo")) }),
            ("statement", { try insert.run("Rome") }),
            ("find", { _ = try db.find(Country.self, "FR") }),
            ("fetch", { _ = try db.query(City.self).fetch() }),
            ("count", { _ = try db.query(City.self).count() }),
            ("explain", { _ = try db.query(City.self).where("name = 'Oslo'").explain() }),
            ("select", { _ = try db.rawQuery("SELECT name, count(*) FROM City GROUP BY name") }),
            ("rows", { try db.rows("SELECT name FROM City").forEach { _ in } }),
            ("each row", { try db.forEachRow("SELECT name FROM City") { _ in } }),
            ("cursor", { _ = try db.query(City.self).cursor().next() }),
            ("batch", { _ = try db.query(City.self).batch(1).object(at: 0) }),
            ("read", { try db.read { _ = try db.query(City.self).fetch() } }),
            ("transaction", { try db.transaction { try db.set("IT", 59) } }),
            (
                "rolled back",
                { #expect(throws: MakoError.rolledBack) { try db.transaction { tx in try tx.rollback() } } }
            ),
            ("key-value store", { try db.store("notes").set(1, for: "a") }),
            ("verify", { _ = try db.verify() }),
            ("compact", { try db.compact() }),
            ("backup", { try db.backup(to: "d/copy.mako") }),
            ("refresh", { _ = try db.refresh() }),
            ("drop", { try db.drop(City.self) }),
        ]
        for (name, call) in calls {
            try call()
            let isFree = try isFree(place)
            #expect(isFree, "\(name)")
        }
        try db.read {
            #expect(try !isFree(place))
            try db.set("DE", 84)
            #expect(try !isFree(place))
        }
        #expect(try isFree(place))
        try db.close()
        #expect(try people(place.writer()) == ["DE 84", "FR 68", "IT 59"])
    }

    /// Whatever the durability of its commits, a power failure between two turns loses none.
    @Test func whatIsCommittedIsDurable() throws {
        let durabilities: [Durability] = [.full, .ordered, .async(maxDelay: .seconds(1))]
        for durability in durabilities {
            let place = ReaderPlace()
            let db = try place.sharer()
            try db.transaction(durability: durability) { try db.set("FR", 68) }
            for image in place.disk.crashImages() {
                let other = try Database(
                    at: path, entities: [Country.self], options: DatabaseOptions(storage: options(on: image)))
                #expect(try people(other) == ["FR 68"], "\(durability)")
                try other.close()
            }
            try db.close()
            #expect(try place.disk.list(directory: "d") == ["world.mako"])
        }
    }

    /// No thread would write an `async` commit while another turn of the process keeps the file.
    @Test func whatIsCommittedSurvivesTheProcess() throws {
        let durabilities: [Durability] = [.full, .ordered, .async, .async(maxDelay: .seconds(1))]
        for durability in durabilities {
            let place = ReaderPlace()
            let db = try place.sharer()
            let rows = try db.rows("SELECT name FROM City")
            try db.transaction(durability: durability) { try db.set("FR", 68) }
            let image = SimulatedDisk(place.disk.settledImage())
            rows.close()
            try db.close()
            let other = try Database(
                at: path, entities: [Country.self], options: DatabaseOptions(storage: options(on: image)))
            #expect(other.store.recovery.replayedCommits > 0, "the file was kept during the commit")
            #expect(try people(other) == ["FR 68"], "\(durability)")
            try other.close()
        }
    }

    private func options(on disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        return options
    }

    @Test func whatReadsPieceByPieceKeepsTheFile() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        let other = try place.sharer(patience: .milliseconds(20))
        try db.save([City(name: "Oslo"), City(name: "Rome")])
        let busy = MakoError.writerTimeout(seconds: 0.02)
        var cursor: QueryCursor<City>? = try db.query(City.self).cursor()
        #expect(throws: busy) { try other.query(City.self).count() }
        #expect(throws: busy) { try other.set("FR", 68) }
        // The cursor shows its snapshot, and this process goes on.
        try db.save(City(name: "Lima"))
        #expect(try cursor?.next()?.name == "Oslo")
        cursor = nil
        #expect(try other.query(City.self).count() == 3)
        let rows = try db.rows("SELECT name FROM City")
        #expect(throws: busy) { try other.query(City.self).count() }
        rows.close()
        #expect(try other.query(City.self).count() == 3)
        let batch = try db.query(City.self).batch(1)
        #expect(throws: busy) { try other.query(City.self).count() }
        #expect(try batch.object(at: 2).name == "Lima")
        try other.close()
        try db.close()
    }

    // MARK: Several processes

    @Test func eachProcessSeesTheCommitsOfTheOthers() throws {
        let place = ReaderPlace()
        let (app, widget) = (try place.sharer(), try place.sharer())
        for round in 1...5 {
            try app.set("FR", round * 2 - 1)
            #expect(try people(widget) == ["FR \(round * 2 - 1)"])
            try widget.set("FR", round * 2)
            #expect(try people(app) == ["FR \(round * 2)"])
        }
        let (oslo, rome) = (City(name: "Oslo"), City(name: "Rome"))
        try app.save(oslo)
        try widget.save(rome)
        #expect(oslo.id != rome.id)
        try app.rawQuery("UPDATE City SET name = 'Bergen' WHERE name = 'Rome'")
        #expect(try widget.query(City.self).orderBy(\.name).fetch().map(\.name) == ["Bergen", "Oslo"])
        #expect(try app.verify().isClean)
        try widget.close()
        try app.close()
    }

    @Test func aProcessWithoutTheOptionKeepsTheOthersWaiting() throws {
        let place = ReaderPlace()
        let db = try place.sharer(patience: .milliseconds(20))
        let plain = try place.writer()
        try plain.set("FR", 68)
        #expect(throws: MakoError.writerTimeout(seconds: 0.02)) { try people(db) }
        #expect(throws: MakoError.alreadyOpen(path: path)) { try place.sharer(patience: .milliseconds(20)) }
        try plain.close()
        #expect(try people(db) == ["FR 68"])
        try db.close()
    }

    @Test func tablesOfTheOtherProcessAreTakenOver() throws {
        let place = ReaderPlace()
        let first = try place.sharer([Country.self])
        try first.set("FR", 68)
        let second = try place.sharer([LaterHistory.LargerCountry.self, City.self])
        try second.save(City(name: "Oslo"))
        #expect(try second.query(LaterHistory.LargerCountry.self).fetch().map(\.area) == [7])
        #expect(try people(first) == ["FR 68"])
        #expect(try first.query(City.self).fetch().map(\.name) == ["Oslo"])
        try first.set("IT", 59)
        #expect(try second.query(LaterHistory.LargerCountry.self).orderBy(\.area).fetch().map(\.area) == [7, 7])
        #expect(try second.verify().isClean)
        try second.close()
        try first.close()
    }

    @Test func liveQueriesAndHandlersLearnOfTheOthers() async throws {
        let place = ReaderPlace()
        let (app, widget) = (try place.sharer(), try place.sharer())
        try app.set("FR", 68)
        let notes = Notes()
        let token = try Country.onChange(in: app) {
            notes.add("\($0.kind)")
            // A handler may read and write.
            if $0.kind == .missed { do { try app.save(City(name: "Oslo")) } catch { notes.add("\(error)") } }
        }
        var live = app.query(Country.self).orderBy(\.code).observe().makeAsyncIterator()
        #expect(try await live.next()?.results.map(\.people) == [68])
        try widget.set("FR", 69)
        #expect(try await app.refresh())
        #expect(notes.take() == ["missed"])
        #expect(try await live.next()?.results.map(\.people) == [69])
        #expect(try await !app.refresh())
        #expect(try await widget.query(City.self).count() == 1)
        try app.set("FR", 70)
        #expect(notes.take() == ["update"])
        #expect(try await live.next()?.results.map(\.people) == [70])
        #expect(try isFree(place))
        token.cancel()
        try await widget.close()
        try await app.close()
        #expect(try await live.next() == nil)
    }

    @Test func aReaderLocksNothingBetweenItsReads() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        try db.set("FR", 68)
        let reader = try place.sharer(readOnly: true)
        #expect(try people(reader) == ["FR 68"])
        #expect(try place.disk.open(path, .readOnly).pins() == [])
        try db.set("FR", 69)
        try reader.read {
            #expect(try people(reader) == ["FR 69"])
            #expect(try place.disk.open(path, .readOnly).pins() != [])
            // Readers do not wait for a writer, nor it for them.
            try db.set("FR", 70)
            #expect(try people(reader) == ["FR 69"])
        }
        #expect(try reader.refresh())
        #expect(try !reader.refresh())
        #expect(try people(reader) == ["FR 70"])
        try reader.close()
        try db.close()
    }

    // MARK: Suspension

    @Test func suspensionEndsWhatRunsAndRefusesTheRest() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        let suspended = MakoError.storage(.suspended(path: path))
        try db.save([City(name: "Oslo"), City(name: "Rome")])
        let cursor = try db.query(City.self).cursor()
        #expect(!db.isSuspended)
        try db.suspend()
        #expect(db.isSuspended)
        #expect(try isFree(place))
        #expect(throws: suspended) { try people(db) }
        #expect(throws: suspended) { try db.set("FR", 68) }
        #expect(throws: suspended) { try db.refresh() }
        #expect(throws: suspended) { try cursor.next() }
        try db.suspend()
        let other = try place.sharer()
        try other.set("IT", 59)
        #expect(try db.resume())
        #expect(try !db.resume())
        #expect(!db.isSuspended)
        #expect(try people(db) == ["IT 59"])
        // The cursor of before has no part in the turns of now.
        withExtendedLifetime(cursor) {}
        #expect(throws: suspended) { try cursor.next() }
        #expect(try isFree(place))
        try other.close()
        try db.suspend()
        try db.close()
        #expect(throws: MakoError.closed(path: path)) { try people(db) }
    }

    @Test func resumingWaitsForTheOtherProcess() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        try db.suspend()
        let plain = try place.writer()
        #expect(throws: MakoError.alreadyOpen(path: path)) { try db.resume(timeout: .milliseconds(5)) }
        #expect(db.isSuspended)
        try plain.close()
        #expect(try !db.resume())
        #expect(!db.isSuspended)
        try db.close()
    }

    // MARK: Errors

    /// The end of a turn that is not possible now is tried again.
    @Test func aTurnThatCannotEndKeepsTheFileAWhile() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        try db.set("FR", 68)
        // A transaction of the store's own is not a turn.
        try db.store.resume()
        let own = try db.store.beginWrite()
        #expect(try people(db) == ["FR 68"])
        #expect(try !isFree(place))
        own.rollback()
        #expect(try becomesFree(place))
        // Inside a borrowed read, for whose end the suspension would wait.
        let other = try Store.inMemory()
        let tree = try other.write { transaction in
            let tree = try transaction.createTree(named: "t", keys: .integer)
            try transaction.put([1], for: 1, in: tree)
            return tree
        }
        var cursor: QueryCursor<Country>? = try db.query(Country.self).cursor()
        try other.read { view in
            try view.withValue(of: 1, in: tree) { _ in cursor = nil }
        }
        #expect(cursor == nil)
        #expect(try becomesFree(place))
        try db.close()
    }

    /// After a failure of the device in the middle of a write nothing is written until the file is opened again.
    @Test func aStoreThatHasFailedKeepsTheFileUntilItIsClosed() throws {
        var failed = 0
        for call in 0..<60 {
            let place = ReaderPlace()
            let db = try place.sharer()
            try db.set("FR", 68)
            place.disk.inject(.persistentError(EIO), atCall: place.disk.callCount + call)
            #expect(throws: (any Error).self) { for people in 69...99 { try db.set("FR", people) } }
            place.disk.clearFaults()
            do {
                try db.set("IT", 1)
                #expect(try isFree(place), "call \(call)")
            } catch {
                failed += 1
                #expect(try !isFree(place), "call \(call): \(error)")
            }
            try? db.close()
            #expect(try isFree(place), "call \(call)")
            #expect(try !people(place.writer()).isEmpty, "call \(call)")
        }
        #expect(failed > 0)
    }

    /// The handler of the store runs at the end of a turn as well, when the file is free.
    @Test func theEventHandlerOfTheStoreMayUseTheDatabase() throws {
        let place = ReaderPlace()
        let notes = Notes()
        let known = Guarded<Database?>(nil)
        var options = options(on: place.disk).perTransaction
        options.storage.eventHandler = { event in
            guard let db = known.withLock({ $0 }), case .checkpointed = event else { return }
            do {
                notes.add("\(try db.query(Country.self).count())")
                if try db.query(City.self).count() == 0 { try db.save(City(name: "Oslo")) }
            } catch { notes.add("\(error)") }
        }
        let db = try Database(at: path, entities: [Country.self, City.self], options: options)
        known.withLock { $0 = db }
        try db.set("FR", 68)
        // A long log does not stay.
        var random = SplitMix(seed: 1)
        let values = try db.store("notes")
        for key in 0..<40 {
            try values.set(Data((0..<40_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }), for: "\(key)")
        }
        known.withLock { $0 = nil }
        #expect(Set(notes.take()) == ["1"])
        #expect(try db.query(City.self).count() == 1)
        #expect(try isFree(place))
        try db.close()
    }

    @Test func replicationNeedsTheFile() throws {
        let place = ReaderPlace()
        var options = options(on: place.disk).perTransaction
        options.storage.logArchiveBytes = 1 << 20
        do throws(MakoError) {
            _ = try Database(at: path, options: options)
            Issue.record("it was opened")
        } catch {
            guard case .invalidArgument = error else { throw error }
        }
        #expect(!place.disk.exists(path))
    }

    @Test func inMemoryItHasNoEffect() throws {
        var options = DatabaseOptions()
        options.fileLocking = .perTransaction
        let db = try Database.inMemory(entities: [Country.self], options: options)
        try db.set("FR", 68)
        #expect(!db.store.isSuspended)
        try db.close()
    }
}

extension StoreOptions {
    /// Options of a database that locks its file for each transaction.
    fileprivate var perTransaction: DatabaseOptions {
        var options = DatabaseOptions(storage: self)
        options.fileLocking = .perTransaction
        return options
    }
}
