import Foundation
import MakoCore
import MakoRecords
import MakoStorage
import Testing

/// What a database reports: its state, its transactions, its failures.
@Suite struct DatabaseCareTests {
    @Test func theErrorOfDamageHasItsRemedyOnce() {
        let page = MakoError(.corrupted(page: 7, reason: "its checksum is wrong"))
        let catalogue = MakoError(RecordError.catalogueDamaged(reason: "an entry is cut off"))
        for (error, place) in [(page, "page 7 is damaged: its"), (catalogue, "the catalogue is damaged: an")] {
            #expect(error.description.hasPrefix(place))
            #expect(error.description.components(separatedBy: "restore a backup").count == 2, "\(error)")
        }
    }

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
            for tree in tx.view.trees where tree.name.hasPrefix("mako.rows.") {
                if let rows = tx.view.tree(named: tree.name) { try tx.deleteAll(in: rows) }
            }
        }
        let report = try db.verify()
        #expect(!report.isClean)
        #expect(report.findings.contains { $0.contains("City") && $0.contains("name") })
    }

    @Test func transactionHandlersAreCalled() throws {
        let db = try Database.inMemory(entities: [City.self])
        let notified = Lines()
        let token = db.onTransaction(
            begin: { notified.add("begin") },
            end: { outcome in
                switch outcome {
                case .committed: notified.add("committed")
                case .rolledBack(let error): notified.add("rolled back: \(error)")
                }
            })
        try db.transaction { _ in
            try db.save(City(name: "Oslo"))
            try db.transaction { _ in try db.save(City(name: "Bern")) }
        }
        #expect(notified.all == ["begin", "committed"])
        try db.save(City(name: "Rome"))
        #expect(notified.all.count == 4 && notified.all.last == "committed")
        #expect(throws: Stop.self) { try db.transaction { _ in throw Stop() } }
        #expect(notified.all.last == "rolled back: Stop()")
        #expect(throws: MakoError.rolledBack) { try db.transaction { try $0.rollback() } }
        #expect(notified.all.count == 8 && notified.all.last?.hasPrefix("rolled back") == true)
        // A read is none.
        #expect(try db.query(City.self).count() == 3)
        #expect(notified.all.count == 8)
        token.cancel()
        try db.save(City(name: "Graz"))
        #expect(notified.all.count == 8)
    }

    @Test func aBeginningMayWrite() throws {
        let db = try Database.inMemory(entities: [City.self])
        let token = db.onTransaction(begin: { _ = try? db.save(City(name: "begun")) }, end: nil)
        #expect(throws: Stop.self) { try db.transaction { _ in throw Stop() } }
        #expect(try db.query(City.self).count() == 0)
        #expect(try db.transaction { _ in try db.query(City.self).count() } == 1)
        #expect(try db.query(City.self).count() == 1)
        token.cancel()
    }
}

private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []
    func add(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}
