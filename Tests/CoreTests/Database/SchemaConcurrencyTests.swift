import Dispatch
import MakoCore
import MakoStorage
import MakoTestSupport
import TestHelpers
import Testing

/// Readers beside a thread that changes tables: each snapshot is read with the tables of its own commit.
@Suite struct SchemaConcurrencyTests {
    @Test(arguments: [false, true]) func aReadMeetsTheTablesOfItsCommit(isScoped: Bool) throws {
        let db = try Database.inMemory(entities: [Country.self])
        try db.rawQuery("CREATE TABLE Item (k INTEGER, v INTEGER)")
        for k in 0..<40 { try db.rawQuery("INSERT INTO Item VALUES (\(k % 4), 0)") }
        try db.rawQuery("CREATE TABLE Other (a INTEGER)")
        let errors = Guarded<[String]>([])
        let isDone = Guarded(false)
        DispatchQueue.concurrentPerform(iterations: 3) { number in
            do {
                if number == 0 {
                    defer { isDone.withLock { $0 = true } }
                    for round in 0..<2000 {
                        try db.rawQuery(round.isMultiple(of: 2) ? "CREATE INDEX byK ON Item (k)" : "DROP INDEX byK")
                        try db.transaction { _ in
                            try db.rawQuery("DROP TABLE Other")
                            if round.isMultiple(of: 2) {
                                try db.rawQuery("CREATE TABLE Other (a TEXT, b INTEGER)")
                                try db.rawQuery("INSERT INTO Other (a) VALUES ('x')")
                            } else {
                                try db.rawQuery("CREATE TABLE Other (a INTEGER)")
                                try db.rawQuery("INSERT INTO Other VALUES (7)")
                            }
                        }
                    }
                }
                while !isDone.withLock({ $0 }) {
                    if isScoped { try db.read { try check(db) } } else { try check(db) }
                }
            } catch { errors.withLock { $0.append("\(number): \(error)") } }
        }
        #expect(errors.withLock { $0 } == [])
        try db.close()
    }

    /// The table of a type that a running read uses for the first time is that of the read's snapshot.
    @Test(arguments: [false, true]) func aTypeThatAReadUsesLateMeetsItsSnapshot(isThere: Bool) throws {
        try withTemporaryFile { path in
            let before = try Database(at: path, entities: isThere ? [Country.self, City.self] : [Country.self])
            try before.rawQuery("CREATE TABLE Item (k INTEGER)")
            for k in 0..<200 { try before.rawQuery("INSERT INTO Item VALUES (\(k))") }
            try before.close()
            let db = try Database(at: path, entities: [Country.self])
            let change = { @Sendable () throws -> Void in
                try db.rawQuery("CREATE INDEX byK ON Item (k)")
                try db.save(City(name: "Bern"))
            }
            try db.read { () throws -> Void in
                #expect(try db.query(Country.self).count() == 0)
                let failure = Guarded<(any Error)?>(nil)
                let done = DispatchSemaphore(value: 0)
                DispatchQueue.global().async {
                    do { try change() } catch { failure.withLock { $0 = error } }
                    done.signal()
                }
                done.wait()
                #expect(failure.withLock { $0 } == nil)
                if isThere {
                    #expect(try db.query(City.self).count() == 0)
                } else {
                    #expect(throws: MakoError.self) { try db.query(City.self).count() }
                }
                #expect(try db.rawQuery("SELECT k FROM Item WHERE k = 3").rows == [[.integer(3)]])
            }
            #expect(try db.query(City.self).count() == 1)
            try db.close()
        }
    }

    private func check(_ db: Database) throws {
        let items = try db.rawQuery("SELECT k, v FROM Item WHERE k = 3")
        if items.rowCount != 10 { throw Wrong.result("\(items.rowCount) items") }
        let others = try db.rawQuery("SELECT * FROM Other")
        if others.rowCount > 1 { throw Wrong.result("\(others.rowCount) others") }
        for row in others.rows where row != [.text("x"), .null] && row != [.integer(7)] { throw Wrong.result("\(row)") }
    }

    private enum Wrong: Error { case result(String) }
}
