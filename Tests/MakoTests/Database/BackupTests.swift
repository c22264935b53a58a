import Foundation
import Mako
import TestHelpers
import Testing

/// Backups of a database with objects in it, and its compaction.
@Suite struct BackupTests {
    private func fill(_ path: String) throws -> Database {
        let db = try Database(at: path, entities: people)
        let lab = Department()
        lab.name = "Lab"
        try db.save(lab)
        for number in 0..<300 {
            let person = Person()
            person.name = "Person \(number)"
            person.age = number
            person.department = lab
            try db.save(person)
        }
        try db.query(Person.self).where("age < 200").fetch().removeAll()
        return db
    }

    private func names(_ path: String) throws -> [String?] {
        let db = try Database(at: path, entities: people)
        let found = try db.query(Person.self).where("department.name = 'Lab'").orderBy("age").fetch().map(\.name)
        try db.close()
        return found
    }

    @Test(arguments: [false, true]) func aBackupHoldsTheObjectsOfItsMoment(compacting: Bool) throws {
        try withTemporaryFile { path in
            let db = try fill(path)
            let report = try db.backup(to: path + "-copy", compacting: compacting)
            try db.query(Person.self).fetch().removeAll()
            #expect(try names(path + "-copy") == (200..<300).map { "Person \($0)" })
            #expect(report.bytes > 0)
            #expect(throws: MakoError.self) { try db.backup(to: path + "-copy") }
            try db.close()
            #expect(throws: MakoError.closed(path: path)) { try db.backup(to: path + "-late") }
        }
    }

    @Test(arguments: [false, true]) func aDatabaseInMemoryGetsAFile(compacting: Bool) throws {
        try withTemporaryFile { path in
            let db = try makeDatabase()
            try db.save(Person(name: "Ada", department: Department(name: "Lab")))
            try db.backup(to: path, compacting: compacting)
            try db.save(Person(name: "Bob"))
            #expect(try names(path) == ["Ada"])
            #expect(throws: MakoError.self) { try db.backup(to: path, compacting: compacting) }
            #expect(try db.verify().isClean && db.query(Person.self).count() == 2)
        }
    }

    @Test func compactingNeedsTheFileForItself() throws {
        try withTemporaryFile { path in
            let db = try fill(path)
            #expect(throws: MakoError.self) { try Database.compact(at: path) }
            try db.close()
            try Database.compact(at: path)
            #expect(try names(path) == (200..<300).map { "Person \($0)" })
        }
    }
}
