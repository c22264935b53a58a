import Foundation
import MakoCore
import MakoRecords
import MakoStorage
import Testing

/// What is told of a database: its state, its transactions, its failures.
@Suite struct DatabaseCareTests {
    @Test func aWholeDatabaseIsCounted() throws {
        let db = try makeSailors(50)
        let report = try db.verify()
        #expect(report.isClean && report.findings.isEmpty && report.damagedCopies.isEmpty)
        #expect(report.tables == db.tables.count && report.rows == 50)
        #expect(report.pages > 0)
        try db.compact()
        #expect(try db.verify().rows == 50)
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.verify() }
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.compact() }
    }

    @Test func anIndexThatDoesNotFitIsFound() throws {
        let db = try Database.inMemory(entities: [City.self])
        try db.save([City(name: "Oslo"), City(name: "Bern")])
        // A row that goes past its indexes.
        try db.store.write { tx in
            let rows = try #require(tx.view.trees.first { $0.name.hasPrefix("mako.rows.") })
            try tx.deleteAll(in: rows)
        }
        let report = try db.verify()
        #expect(!report.isClean)
        #expect(report.findings.contains { $0.contains("City") && $0.contains("name") })
    }
}
