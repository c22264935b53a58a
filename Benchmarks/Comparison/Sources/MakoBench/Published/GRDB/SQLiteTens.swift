import Foundation

final class SQLiteTens: TenEngine {
    static let name = "SQLite"

    private let store: SQLiteStore

    init(directory: String, use: TenUse) throws {
        store = try SQLiteStore(directory: directory, schema: Ten.schema(use), durability: .full)
    }

    func fill(rows: Int, dates: [Date]) throws {
        // Hand-written code stores a number and parses nothing.
        try store.run("CREATE TABLE moment (date REAL NOT NULL)")
        try store.write {
            try store.insert((0..<rows).lazy.map { PlainTen($0) })
            let insertion = try store.statement("INSERT INTO moment VALUES (?1)")
            for date in dates {
                insertion.bind(date.timeIntervalSinceReferenceDate, 1)
                try insertion.run()
            }
        }
        try store.settle()
    }

    func fetch(_ form: TenForm) throws -> () -> UInt64 {
        switch form {
        case .positional: return try sum(Array(0..<10))
        case .named:
            let statement = try store.selection(PlainTen.self)
            return try sum(Ten.names.map { statement.column($0) })
        case .class:
            let objects = try store.fetch(PlainTenObject.self)
            return { objects.sum }
        case .struct, .codable, .optimized:
            let values = try store.fetch(PlainTen.self)
            return { values.sum }
        }
    }

    private func sum(_ columns: [Int32]) throws -> () -> UInt64 {
        let statement = try store.selection(PlainTen.self)
        var sum = 0
        try statement.forEach {
            for column in columns { sum &+= statement.int(column) }
        }
        return { UInt64(truncatingIfNeeded: sum) }
    }

    func insert(_ form: TenForm, rows: Int) throws {
        switch form {
        case .named:
            let names = Ten.names.map { ":" + $0 }
            let insertion = try store.statement(
                "INSERT INTO item (\(Ten.list)) VALUES (\(names.joined(separator: ", ")))")
            let places = names.map { insertion.place($0) }
            try store.write {
                for i in 0..<rows {
                    for place in places { insertion.bind(i, place) }
                    try insertion.run()
                }
            }
        case .class: try store.write { try store.insert((0..<rows).lazy.map { PlainTenObject($0) }) }
        case .positional, .struct, .codable, .optimized:
            try store.write { try store.insert((0..<rows).lazy.map { PlainTen($0) }) }
        }
    }

    func stored() throws -> UInt64 { try store.fetch(PlainTen.self).sum }

    func insertTexts(_ text: String, count: Int) throws {
        let insertion = try store.statement("INSERT INTO t (a) VALUES (?1)")
        try store.write {
            for _ in 0..<count {
                insertion.bind(text, 1)
                try insertion.run()
            }
        }
    }

    func storedTexts() throws -> Int { try store.int("SELECT count(*) FROM t") }

    func fetchDates() throws -> [Date] {
        let statement = try store.statement("SELECT date FROM moment")
        var dates: [Date] = []
        try statement.forEach { dates.append(Date(timeIntervalSinceReferenceDate: statement.double(0))) }
        return dates
    }

    func close() throws { try store.close() }
}
