import Foundation
import Mako
import TestHelpers
import Testing

@Entity(database: "mode tests log") final class LogEntry {
    var text = ""
}

@Suite struct SandboxTests {
    private func names(_ path: String, mode: DatabaseMode = .normal) throws -> [String] {
        let db = try Database(at: path, mode: mode, entities: people)
        defer { try? db.close() }
        return try db.query(Person.self).orderBy(\.name).fetch().map { $0.name ?? "" }
    }

    @Test func changesNeverReachTheFile() throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: people)
            try db.save(Person(name: "Ada"))
            try db.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let trial = try Database(at: path, mode: .sandbox, entities: people)
            #expect(try trial.query(Person.self).fetch().map(\.name) == ["Ada"])
            try trial.save(Person(name: "Bob"))
            try trial.query(Person.self).where(\.name == "Ada").delete()
            #expect(try trial.query(Person.self).fetch().map(\.name) == ["Bob"])
            try trial.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            #expect(try names(path, mode: .sandbox) == ["Ada"])
            #expect(try names(path) == ["Ada"])
        }
    }

    /// An empty file becomes a database when it is opened for writing, so a sandbox of it is one of nothing.
    @Test func aSandboxOfAnEmptyFileIsEmpty() throws {
        try withTemporaryFile { path in
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            let link = path + "-link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            for place in [path, link] {
                #expect(try names(place, mode: .sandbox).isEmpty)
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
            }
            #expect(try names(path).isEmpty)
            #expect(try !Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        }
    }

    @Test func aSandboxOfNothingIsEmptyAndLeavesNothing() throws {
        try withTemporaryFile { path in
            let found = try names(path, mode: .sandbox)
            #expect(found.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func aDamagedFileIsRefusedAndNothingIsLeft() throws {
        try withTemporaryFile { path in
            // Other tests have sandboxes of their own meanwhile.
            let name = "damaged-\(UUID().uuidString)"
            let damaged = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name + ".mako")
            try Data("no database".utf8).write(to: damaged)
            #expect(throws: MakoError.self) { try Database(at: damaged.path, mode: .sandbox) }
            #expect(try sandboxes(of: name).isEmpty)
            try FileManager.default.removeItem(at: damaged)
            let sandbox = try Database(at: damaged.path, mode: .sandbox)
            #expect(try sandboxes(of: name).count == 1)
            try sandbox.close()
            #expect(try sandboxes(of: name).isEmpty)
        }
    }

    private func sandboxes(of name: String) throws -> [String] {
        let directory = FileManager.default.temporaryDirectory.path
        return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.contains(name) }
    }
}

@Suite struct SlowQueryTests {
    @Test func queriesAboveTheThresholdAreReported() throws {
        let notified = Collected<SlowQuery>()
        var options = DatabaseOptions()
        options.slowQueryThreshold = .zero
        options.onSlowQuery = { notified.append($0) }
        let db = try Database.inMemory(entities: people, options: options)
        try db.save((1...20).map { Person(name: "person \($0)") })
        _ = try db.query(Person.self).where("name = 'person 3'").fetch()
        _ = try db.query(Department.self).count()
        let slow = notified.all
        #expect(slow.map(\.entity) == ["Person", "Department"])
        #expect(slow[0].plan.contains("Person") && slow[0].duration > .zero)
    }

    @Test func fastQueriesAreNot() throws {
        let notified = Collected<SlowQuery>()
        var options = DatabaseOptions()
        options.slowQueryThreshold = .seconds(3600)
        options.onSlowQuery = { notified.append($0) }
        let db = try Database.inMemory(entities: people, options: options)
        _ = try db.query(Person.self).fetch()
        #expect(notified.all.isEmpty)
    }
}

@Suite struct OwnDatabaseTests {
    @Test func entitiesGoToTheDatabaseTheyName() throws {
        let log = try Database.inMemory()
        let other = try Database.inMemory()
        #expect(throws: MakoError.noDatabase(entity: "LogEntry, which is of the database \"mode tests log\"")) {
            try LogEntry(text: "lost").commit()
        }
        Database.register(log, as: "mode tests log")
        defer { Database.register(nil, as: "mode tests log") }
        try Database.withDefault(other) {
            try LogEntry(text: "begun").commit()
            #expect(try LogEntry.query().count() == 1)
        }
        #expect(try log.query(LogEntry.self).fetch().map(\.text) == ["begun"])
        #expect(try other.query(LogEntry.self).count() == 0)
        // An explicit database takes precedence over the default.
        try other.save(LogEntry(text: "elsewhere"))
        #expect(try other.query(LogEntry.self).count() == 1)
    }
}
