import Foundation
import GRDB

final class GRDBTens: TenEngine {
    static let name = "GRDB"

    private let pool: DatabasePool

    init(directory: String, use: TenUse) throws {
        pool = try DatabasePool(directory: directory, schema: Ten.schema(use), durability: .full)
    }

    func fill(rows: Int, dates: [Date]) throws {
        try insert(.optimized, rows: rows)
        try pool.write { database in
            // GRDB's type for dates: text, which it parses.
            try database.execute(sql: "CREATE TABLE moment (date DATETIME NOT NULL)")
            let statement = try database.makeStatement(sql: "INSERT INTO moment VALUES (?)")
            for date in dates { try statement.execute(arguments: [date]) }
        }
        try pool.settle()
    }

    func fetch(_ form: TenForm) throws -> () -> UInt64 {
        try pool.read { database in
            switch form {
            case .positional: return try GRDBTens.sumByPosition(database)
            case .named: return try GRDBTens.sumByName(database)
            case .struct: return GRDBTens.sum(try GRDBTen.fetchAll(database))
            case .class: return GRDBTens.sum(try GRDBTenObject.fetchAll(database))
            case .codable: return GRDBTens.sum(try CodableTen.fetchAll(database))
            case .optimized: return GRDBTens.sum(try OptimizedTen.fetchAll(database))
            }
        }
    }

    private static func sum(_ records: [some TenColumns]) -> () -> UInt64 { { records.sum } }

    private static func sumByPosition(_ database: Database) throws -> () -> UInt64 {
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM item")
        var sum = 0
        while let row = try rows.next() {
            for column in 0..<10 { sum &+= row[column] as Int }
        }
        return { UInt64(truncatingIfNeeded: sum) }
    }

    private static func sumByName(_ database: Database) throws -> () -> UInt64 {
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM item")
        var sum = 0
        while let row = try rows.next() {
            for name in Ten.names { sum &+= row[name] as Int }
        }
        return { UInt64(truncatingIfNeeded: sum) }
    }

    func insert(_ form: TenForm, rows: Int) throws {
        try pool.write { database in
            switch form {
            case .positional, .optimized:
                let statement = try database.makeStatement(
                    sql: "INSERT INTO item (\(Ten.list)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                for i in 0..<rows { try OptimizedTen(i).insert(with: statement) }
            case .named:
                let names = Ten.names.map { ":" + $0 }.joined(separator: ", ")
                let statement = try database.makeStatement(sql: "INSERT INTO item (\(Ten.list)) VALUES (\(names))")
                for i in 0..<rows {
                    try statement.execute(arguments: [
                        "i0": i, "i1": i, "i2": i, "i3": i, "i4": i, "i5": i, "i6": i, "i7": i, "i8": i, "i9": i,
                    ])
                }
            case .struct: for i in 0..<rows { try GRDBTen(i).insert(database) }
            case .class: for i in 0..<rows { try GRDBTenObject(i).insert(database) }
            case .codable: for i in 0..<rows { try CodableTen(i).insert(database) }
            }
        }
    }

    func stored() throws -> UInt64 { try pool.read { try OptimizedTen.fetchAll($0).sum } }

    func insertTexts(_ text: String, count: Int) throws {
        try pool.write { database in
            let statement = try database.makeStatement(sql: "INSERT INTO t (a) VALUES (?)")
            let arguments: StatementArguments = [text]
            for _ in 0..<count { try statement.execute(arguments: arguments) }
        }
    }

    func storedTexts() throws -> Int { try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } ?? 0 }

    func fetchDates() throws -> [Date] { try pool.read { try Date.fetchAll($0, sql: "SELECT date FROM moment") } }

    func close() throws { try pool.close() }
}
