import MakoStorage
import Testing

@testable import MakoCore

/// The budget of memory that a database has, and what pressure leaves of it.
@Suite struct CachePressureTests {
    private func database() throws -> Database {
        try Database.inMemory(options: DatabaseOptions(cacheBytes: 16 << 20))
    }

    @Test func theBudgetChangesWhileTheDatabaseIsOpen() throws {
        let db = try database()
        #expect(db.cacheBytes == 16 << 20 && db.store.cacheBytes == 16 << 20)
        try db.setCacheBytes(2 << 20)
        #expect(db.cacheBytes == 2 << 20 && db.store.stats.cacheBudgetBytes == 2 << 20)
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.setCacheBytes(4 << 20) }
    }

    @Test func pressureLeavesAShareAndGivesItBack() throws {
        let db = try database()
        db.pressure.note(.warning)
        #expect(db.store.cacheBytes == 4 << 20 && db.cacheBytes == 16 << 20)
        db.pressure.note(.critical)
        #expect(db.store.cacheBytes == 1 << 20 && db.cacheBytes == 16 << 20)
        db.pressure.note(.normal)
        #expect(db.store.cacheBytes == 16 << 20)
        try db.close()
        // A closed database has nothing to give back.
        db.pressure.note(.warning)
        #expect(db.cacheBytes == 16 << 20)
    }

    /// The system does not always say that memory is there again.
    @Test func aShortageEndsByItself() throws {
        let db = try database()
        db.pressure.note(.critical)
        let first = db.pressure.words
        db.pressure.note(.warning)
        db.pressure.calmDown(after: first)
        #expect(db.store.cacheBytes == 4 << 20)
        db.pressure.calmDown(after: db.pressure.words)
        #expect(db.store.cacheBytes == 16 << 20)
        try db.close()
    }

    @Test func aBudgetThatIsSetUnderPressureHoldsAfterwards() throws {
        let db = try database()
        db.pressure.note(.warning)
        try db.setCacheBytes(64 << 20)
        #expect(db.store.cacheBytes == 16 << 20 && db.cacheBytes == 64 << 20)
        db.pressure.note(.normal)
        #expect(db.store.cacheBytes == 64 << 20)
        // A budget below the share stays as it is.
        try db.setCacheBytes(512 << 10)
        db.pressure.note(.critical)
        #expect(db.store.cacheBytes == 512 << 10)
        try db.close()
    }

    /// A word that came in does not keep the database alive.
    @Test func aWordDoesNotKeepTheDatabase() throws {
        var db: Database? = try database()
        db?.pressure.note(.warning)
        weak let gone = db
        db = nil
        #expect(gone == nil)
    }
}
