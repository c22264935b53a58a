import MakoCore
import Testing

/// Calls that wait for the running transaction are refused inside it, because the wait would never end.
@Suite struct CallsInTransactionsTests {
    private func isRefused(_ name: String, _ call: () throws(MakoError) -> Void) -> Bool {
        do throws(MakoError) { try call() } catch {
            if case .invalidArgument(let reason) = error { return reason.hasPrefix(name) }
        }
        return false
    }

    @Test func closingCompactingAndVerifyingAreRefusedInsideATransaction() throws {
        let db = try Database.inMemory(entities: [City.self])
        try db.transaction { _ in
            #expect(isRefused("close()") { () throws(MakoError) in try db.close() })
            #expect(isRefused("compact()") { () throws(MakoError) in try db.compact() })
            #expect(isRefused("verify()") { () throws(MakoError) in _ = try db.verify() })
            // Nothing has changed, so the transaction goes on.
            try db.save(City(name: "Oslo"))
        }
        #expect(try db.query(City.self).count() == 1)
        try db.compact()
        #expect(try db.verify().isClean)
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.query(City.self).count() }
    }

    @Test func aTransactionOfAnotherDatabaseIsNoHindrance() throws {
        let db = try Database.inMemory(entities: [City.self])
        let other = try Database.inMemory(entities: [City.self])
        try db.transaction { _ in
            try other.compact()
            try other.close()
            try db.save(City(name: "Oslo"))
        }
        #expect(try db.query(City.self).count() == 1)
        try db.close()
    }
}
