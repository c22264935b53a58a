import Foundation
import MakoCore
import Testing

/// A process opens one file once; further databases of it share the store.
@Suite struct OpenDatabaseTests {
    private func withPath<R>(_ body: (String) throws -> R) throws -> R {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mako-open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try body(directory.appendingPathComponent("cities.mako").path)
    }

    @Test func theSameOptionsShareADatabase() throws {
        try withPath { path in
            let first = try Database(at: path, entities: [City.self])
            let second = try Database(at: path, entities: [Country.self])
            #expect(first === second)
            #expect(Set(second.tables.map(\.name)) == ["City", "Country"])
            try first.close()
            // The other one goes on.
            try second.save(City(name: "Oslo"))
            try second.close()
            #expect(throws: MakoError.closed(path: path)) { try first.save(City(name: "Bern")) }
            let third = try Database(at: path, options: DatabaseOptions(cacheBytes: 8 << 20))
            #expect(third !== first)
            #expect(try third.query(City.self).fetch().map(\.name) == ["Oslo"])
            try third.close()
        }
    }

    /// SQLite's name for it makes no file of that name.
    @Test func eachDatabaseInMemoryIsItsOwn() throws {
        let first = try Database(at: ":memory:", entities: [City.self])
        let second = try Database(at: ":memory:", entities: [City.self])
        try first.save(City(name: "Oslo"))
        #expect(try first.query(City.self).count() == 1)
        #expect(try second.query(City.self).count() == 0)
        #expect(!FileManager.default.fileExists(atPath: ":memory:"))
        try first.close()
        #expect(try second.query(City.self).count() == 0)
        try second.close()
    }

    @Test func otherOptionsAreRefused() throws {
        try withPath { path in
            let db = try Database(at: path)
            var notified = DatabaseOptions()
            notified.onSlowQuery = { _ in }
            var shipped = DatabaseOptions()
            shipped.storage.logArchiveBytes = 1 << 20
            for options in [
                DatabaseOptions(durability: .ordered), DatabaseOptions(cacheBytes: 8 << 20), notified, shipped,
            ] {
                #expect(throws: MakoError.alreadyOpen(path: path)) { try Database(at: path, options: options) }
            }
            try db.close()
            let other = try Database(at: path, options: notified)
            // Handlers cannot be compared.
            #expect(throws: MakoError.alreadyOpen(path: path)) { try Database(at: path, options: notified) }
            try other.close()
        }
    }

    @Test func everyPathOfAFileIsTheSameDatabase() throws {
        try withPath { path in
            let link = path + "-link"
            let directory = (path as NSString).deletingLastPathComponent
            let db = try Database(at: path)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            #expect(try Database(at: link) === db)
            #expect(try Database(at: directory + "/./cities.mako") === db)
            #expect(try Database(at: URL(fileURLWithPath: path)) === db)
            for _ in 0..<4 { try db.close() }
            #expect(throws: MakoError.closed(path: path)) { try db.query(City.self).count() }
        }
    }

    @Test func releasedDatabasesCloseTheirFile() throws {
        try withPath { path in
            for _ in 0..<3 {
                var db: Database? = try Database(at: path)
                let other = db
                #expect(try Database(at: path) === other)
                db = nil
            }
            #expect(throws: MakoError.self) { try Database(at: path + "/nowhere/x.mako") }
            #expect(throws: MakoError.self) { try Database(at: path + "/nowhere/x.mako") }
            let db = try Database(at: path, options: DatabaseOptions(durability: .ordered))
            try db.close()
        }
    }

    @Test func readersAreBesideTheWriter() throws {
        try withPath { path in
            let db = try Database(at: path, entities: [City.self])
            try db.save(City(name: "Oslo"))
            let reader = try Database(at: path, options: DatabaseOptions(readOnly: true))
            #expect(reader !== db)
            #expect(try reader.query(City.self).count() == 1)
            let sandbox = try Database(at: path, mode: .sandbox)
            #expect(sandbox !== db)
            for database in [reader, sandbox, db] { try database.close() }
        }
    }

    @Test func urlsAndNames() throws {
        let web = try #require(URL(string: "https://example.org/cities.mako"))
        #expect(throws: MakoError.self) { try Database(at: web) }
        let name = "mako-test-\(UUID().uuidString)"
        let trial = try Database(named: name, mode: .sandbox, entities: [City.self])
        try trial.save(City(name: "Oslo"))
        #expect(!FileManager.default.fileExists(atPath: trial.path))
        try trial.close()
        #expect(throws: MakoError.self) { try Database(named: "../x", mode: .sandbox) }
    }

    @Test func asyncForms() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mako-open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("cities.mako").path
        let plan = try await Database.migrationPlan(at: path, entities: [City.self])
        #expect(plan.tables.map(\.name) == ["City"])
        let db = try await Database.open(at: path, entities: [City.self])
        #expect(try await Database.open(at: URL(fileURLWithPath: path)) === db)
        #expect(try await db.migrationPlan(entities: [Country.self]).tables.map(\.name) == ["Country"])
        try await db.save(City(name: "Oslo"))
        try await db.compact()
        #expect(try await db.verify().isClean)
        try await db.close()
        try await db.close()
        #expect(try await Database.compact(at: path).bytes > 0)
        let report = try await Database.salvage(from: path, to: path + "-saved")
        #expect(report.isComplete && report.tables.map(\.rows) == [1])
        await #expect(throws: MakoError.self) { try await Database.salvage(from: path, to: path + "-saved") }
        await #expect(throws: MakoError.self) { try await Database.open(named: "a/b") }
    }
}

/// Many open one file at the same time.
@Suite struct OpenDatabaseConcurrencyTests {
    @Test func allGetTheSameOrAWholeOne() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mako-open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("cities.mako").path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<20 {
                        let db = try await Database.open(at: path, entities: [City.self])
                        try await db.save(City(name: "\(worker)-\(round)"))
                        // Some forget to close it.
                        if round % 3 != 0 { try await db.close() }
                    }
                }
            }
            // Unlike `waitForAll`, this cancels the other tasks at the first error.
            for try await _ in group {}
        }
        let db = try await Database.open(at: path)
        #expect(try await db.query(City.self).count() == 160)
    }
}
