import Dispatch
import MakoCore
import MakoStorage
import MakoTestSupport
import TestHelpers
import Testing

/// Databases that lock their file for each transaction, and many threads that use them; made for the thread sanitizer.
@Suite struct FileLockingConcurrencyTests {
    /// Threads of two processes count together; nothing is lost, and every read sees whole transactions.
    @Test func threadsOfTwoProcessesTakeTurns() throws {
        let place = ReaderPlace()
        let processes = [try place.sharer(), try place.sharer()]
        try processes[0].save([Country(code: "A", people: 0), Country(code: "B", people: 1000)])
        let errors = Guarded<[String]>([])
        let threads = 3
        let rounds = 15
        DispatchQueue.concurrentPerform(iterations: processes.count * threads) { number in
            let db = processes[number % 2]
            do {
                for round in 1...rounds {
                    try db.transaction {
                        let (a, b) = try counts(db)
                        try db.save([Country(code: "A", people: a + 1), Country(code: "B", people: b - 1)])
                    }
                    let (a, b) = try db.read { try counts(db) }
                    if a + b != 1000 { throw Stop() }
                    if round % 5 == 0 { _ = try db.query(Country.self).cursor().next() }
                }
            } catch { errors.withLock { $0.append("\(number): \(error)") } }
        }
        #expect(errors.withLock { $0 } == [])
        for db in processes {
            let (a, _) = try counts(db)
            #expect(a == 2 * threads * rounds)
            #expect(try db.verify().isClean)
            try db.close()
        }
    }

    private func counts(_ db: Database) throws -> (Int, Int) {
        let rows = try db.query(Country.self).orderBy(\.code).fetch()
        guard rows.count == 2 else { throw Stop() }
        return (rows[0].people, rows[1].people)
    }

    /// A process whose turns overlap, and one that takes turn after turn, let others in between.
    @Test(arguments: [1, 3]) func aBusyProcessLetsOthersIn(threads: Int) throws {
        try withTemporaryFile { path in
            let options = OwnHandles.options
            let busy = try Database(at: path, entities: [Country.self], options: options)
            try busy.set("A", 1)
            let isDone = Guarded(false)
            let errors = Guarded<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 1 + threads) { number in
                do {
                    if number > 0 {
                        while !isDone.withLock({ $0 }) { _ = try busy.query(Country.self).fetch() }
                        return
                    }
                    defer { isDone.withLock { $0 = true } }
                    let other = try Database(at: path, entities: [Country.self], options: options)
                    for people in 1...10 { try other.set("B", people) }
                    try other.close()
                } catch { errors.withLock { $0.append("\(error)") } }
            }
            #expect(errors.withLock { $0 } == [])
            #expect(try busy.find(Country.self, "B")?.people == 10)
            try busy.close()
        }
    }

    /// The system's files, of which a process opens one several times, each with locks of its own.
    private struct OwnHandles: PassingFileSystem {
        let inner: any FileSystem = POSIXFileSystem()

        static var options: DatabaseOptions {
            var options = DatabaseOptions()
            options.fileLocking = .perTransaction
            options.storage.fileSystem = OwnHandles()
            return options
        }
    }

    /// Suspensions and resumptions beside transactions: each call works or says that the database is suspended.
    @Test func suspensionsMayComeAtAnyTime() throws {
        let place = ReaderPlace()
        let db = try place.sharer()
        let suspended = MakoError.storage(.suspended(path: db.path))
        try db.set("A", 0)
        let errors = Guarded<[String]>([])
        let done = Guarded(0)
        let threads = 3
        let acknowledged = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: threads + 1) { number in
            do {
                if number == threads {
                    while done.withLock({ $0 }) < threads {
                        try db.suspend()
                        if !db.store.isSuspended { throw Stop() }
                        try db.resume()
                    }
                    return
                }
                defer { done.withLock { $0 += 1 } }
                for _ in 1...40 {
                    do {
                        try db.transaction {
                            let people = try db.find(Country.self, "A")?.people ?? 0
                            try db.set("A", people + 1)
                        }
                        acknowledged.withLock { $0 += 1 }
                        let cursor = try db.query(Country.self).cursor()
                        while try cursor.next() != nil {}
                    } catch let error as MakoError where error == suspended {}
                }
            } catch { errors.withLock { $0.append("\(number): \(error)") } }
        }
        #expect(errors.withLock { $0 } == [])
        #expect(try db.find(Country.self, "A")?.people == acknowledged.withLock { $0 })
        #expect(db.store.isSuspended)
        try db.close()
    }

    // MARK: Observers

    /// Once a second, also after a suspension that it has met.
    @Test func aHistorySequenceLooksForTheCommitsOfOthers() async throws {
        let place = ReaderPlace()
        let (app, widget) = (try place.sharer(history: .kept()), try place.sharer())
        var events = app.changes(since: try await app.historyToken()).makeAsyncIterator()
        try widget.set("FR", 68)
        #expect(try await events.next()?.text == "insert Country 'FR'")
        try await app.suspend()
        try widget.set("IT", 59)
        let resumption = Task {
            try await Task.sleep(for: .milliseconds(1200))
            return try await app.resume()
        }
        #expect(try await events.next()?.text == "insert Country 'IT'")
        #expect(try await resumption.value)
        try await widget.close()
        try await app.close()
    }

    @Test func whatObservesWaitsForTheFile() async throws {
        let place = ReaderPlace()
        let db = try place.sharer(patience: .milliseconds(10))
        try db.set("FR", 68)
        let plain = try place.writer()
        var live = db.query(Country.self).observe().makeAsyncIterator()
        let first = Task {
            try await Task.sleep(for: .milliseconds(150))
            try await plain.close()
        }
        #expect(try await live.next()?.results.map(\.people) == [68])
        try await first.value
        try await db.close()
    }
}
