import Foundation
import Mako
import Testing

/// The examples of the article `Performance.md`.
enum PerformanceExample {
    // EXAMPLE Performance.md
    @Entity final class Customer {
        var name = ""
        @Relationship(inverse: \Sale.customer) var sales: ToMany<Sale>
    }

    @Entity final class Sale {
        #Index<Sale>([\.day, \.total])
        var day = 0
        var total = 0
        var note = ""
        var customer: Customer?
    }
    // EXAMPLE ends

    static func plans(_ db: Database, _ today: Int) throws -> [String] {
        // EXAMPLE Performance.md
        let query = db.query(Sale.self).where(\.day == today).orderBy(\.total)
        let plan = try query.explain()
        let measured = try query.explain(analyzing: true)
        let missing = try db.query(Sale.self).where(\.note == "x").explanation()
        // EXAMPLE ends
        return [plan, measured, "\(missing)"]
    }

    static func saves(_ db: Database, _ sales: [Sale], _ customer: Customer) throws {
        // EXAMPLE Performance.md
        try db.save(sales)
        try db.transaction { _ in
            for sale in sales {
                sale.customer = customer
                try db.save(sale)
            }
        }
        // EXAMPLE ends
    }

    static func relaxed(_ db: Database, _ sale: Sale) throws {
        // EXAMPLE Performance.md
        try db.transaction(durability: .async(maxDelay: .milliseconds(200))) { _ in try db.save(sale) }
        // EXAMPLE ends
    }

    static func prefetched(_ db: Database, _ today: Int) throws -> ([String], Int) {
        let before = db.metrics.lazyLoads
        var names: [String] = []
        func print(_ name: String) { names.append(name) }
        // EXAMPLE Performance.md
        let sales = try db.query(Sale.self).where(\.day == today).prefetch(\.customer).fetch()
        for sale in sales { print(sale.customer?.name ?? "") }  // two queries in all
        // EXAMPLE ends
        return (names, db.metrics.lazyLoads - before)
    }

    static func joined(_ db: Database) throws -> [(String, Int)] {
        // EXAMPLE Performance.md
        let totals = try db.rawQuery(
            """
            SELECT c.name, sum(s.total) FROM Sale s JOIN Customer c ON s.customer = c.id
            GROUP BY c.id, c.name ORDER BY c.name
            """, as: (String, Int).self)
        // EXAMPLE ends
        return Array(totals)
    }

    static func little(_ db: Database, _ today: Int) throws -> (Int, Bool, [Int], [(Int, Int)]) {
        // EXAMPLE Performance.md
        let count = try db.query(Sale.self).where(\.day == today).count()  // from the index
        let isThere = try db.query(Sale.self).where(\.day == today).exists()
        let ids = try db.query(Sale.self).where(\.day == today).ids()
        let rows = try db.rawQuery("SELECT day, total FROM Sale WHERE day = \(today)", as: (Int, Int).self)
        // EXAMPLE ends
        return (count, isThere, ids, Array(rows))
    }

    static func updated(_ db: Database, _ today: Int) throws -> (Int, Int) {
        // EXAMPLE Performance.md
        try db.update(Sale.self).where(\.day == today).set(\.total, to: \.total * 2).run()
        let removed = try db.query(Sale.self).where(\.day < today).delete()
        var sum = 0
        try db.query(Sale.self).forEach { sum += $0.total }  // a few objects in memory at a time
        // EXAMPLE ends
        return (removed, sum)
    }
}

@Suite struct PerformanceExampleTests {
    @Test func theAdviceDoesWhatItSays() throws {
        let db = try Database.inMemory(entities: [PerformanceExample.Sale.self, PerformanceExample.Customer.self])
        let ada = PerformanceExample.Customer(name: "Ada")
        let sales = (1...6).map { PerformanceExample.Sale(day: $0 / 3, total: $0) }
        try PerformanceExample.saves(db, sales, ada)
        let plans = try PerformanceExample.plans(db, 1)
        #expect(plans[0].contains("day") && !plans[0].contains("sort"), "\(plans[0])")
        #expect(plans[1].contains("passed") && plans[2].contains("note"), "\(plans)")
        let (names, loads) = try PerformanceExample.prefetched(db, 1)
        #expect(names == ["Ada", "Ada", "Ada"] && loads == 0)
        #expect(try PerformanceExample.joined(db).map(\.1) == [21])
        let little = try PerformanceExample.little(db, 1)
        #expect(little.0 == 3 && little.1 && little.2.count == 3 && little.3.map(\.1).sorted() == [3, 4, 5])
        #expect(try PerformanceExample.updated(db, 1) == (2, 30))
        try PerformanceExample.relaxed(db, sales[5])
    }
}
