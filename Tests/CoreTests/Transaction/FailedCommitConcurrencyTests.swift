import Dispatch
import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Commits that fail, or change nothing, and the writers behind them.
@Suite struct FailedCommitConcurrencyTests {
    private struct Place: Sendable {
        let disk = SimulatedDisk()

        func open(_ entities: [any Entity.Type]) throws -> Database {
            var storage = StoreOptions()
            storage.fileSystem = disk
            storage.background = .manual
            storage.logSegmentBytes = 64 << 10
            storage.diskReserveBytes = 0
            var options = DatabaseOptions(storage: storage)
            options.history = .kept()
            return try Database(at: "d/world.mako", entities: entities, options: options)
        }
    }

    /// Runs both, the second as soon as the first calls back; it waits for the writer then.
    private func behind(
        _ first: (_ begin: @escaping @Sendable () -> Void) throws -> Void,
        _ second: @escaping @Sendable () throws -> Void
    ) throws {
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let failure = Guarded<(any Error)?>(nil)
        DispatchQueue.global().async {
            begun.wait()
            do { try second() } catch { failure.withLock { $0 = error } }
            ended.signal()
        }
        let result = Result { try first { begun.signal() } }
        begun.signal()
        ended.wait()
        if let error = failure.withLock({ $0 }) { throw error }
        try result.get()
    }

    @Test func theWriterBehindAFailedFirstUseMakesTheTableAndIsInTheHistory() throws {
        for _ in 0..<20 {
            let place = Place()
            let db = try place.open([Country.self])
            try db.set("FR", 68)
            let token = try db.historyToken()
            try behind { begin in
                #expect(throws: MakoError.self) {
                    try db.transaction { _ in
                        try db.save((0..<3000).map { City(name: "a city of a name that is not short \($0)") })
                        begin()
                        Thread.sleep(forTimeInterval: 0.005)
                        place.disk.capacity = place.disk.usedBytes
                    }
                }
            } _: {
                try db.transaction { _ in
                    place.disk.capacity = nil
                    try db.save(City(name: "Rome"))
                }
            }
            #expect(try db.query(City.self).fetch().map(\.name) == ["Rome"])
            // The cities that were not stored have the numbers before.
            #expect(try db.notified(since: token) == ["insert City 3001"])
            try db.set("FR", 69)
            #expect(try db.notified(since: token) == ["insert City 3001", "update Country 'FR' (people)"])
            try db.close()
        }
    }

    @Test func aFirstUseThatChangesNothingBlocksNoTransaction() throws {
        let place = Place()
        let written = try place.open([City.self])
        try written.save(City(name: "Rome"))
        try written.close()
        for durability in [Durability.full, .ordered, .async] {
            let db = try place.open([])
            try behind { begin in
                let count = try db.transaction(durability: durability) { _ in
                    begin()
                    Thread.sleep(forTimeInterval: 0.005)
                    return try db.query(City.self).count()
                }
                #expect(count >= 1)
            } _: {
                try db.transaction(durability: durability) { _ in _ = try db.save(City(name: "\(durability)")) }
            }
            #expect(try db.query(City.self).where(\.name == "\(durability)").count() == 1)
            try db.close()
        }
    }
}
