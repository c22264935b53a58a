import Foundation
import Mako

final class MakoTens: TenEngine {
    static let name = "Mako"

    private let database: Database
    private let use: TenUse

    init(directory: String, use: TenUse) throws {
        let entities: [any Entity.Type] =
            switch use {
            case .reading: [MakoTen.self, MakoTenObject.self, MakoTenMoment.self]
            case .inserting(.class): [MakoTenObject.self]
            case .inserting: [MakoTen.self]
            case .arguments: [MakoTenText.self]
            }
        database = try Database(directory: directory, entities: entities, durability: .full)
        self.use = use
    }

    func fill(rows: Int, dates: [Date]) throws {
        try database.save((0..<rows).map { MakoTen($0) })
        try database.save((0..<rows).map { MakoTenObject($0) })
        try database.save(dates.map { MakoTenMoment(date: $0) })
        try database.settle()
    }

    func fetch(_ form: TenForm) throws -> () -> UInt64 {
        switch form {
        case .positional:
            var sum: UInt64 = 0
            try database.forEachRow(WhereText(text: "SELECT \(Ten.list) FROM item")) { row in
                for place in Ten.names.indices {
                    guard case .integer(let number)? = row[place] else { throw BenchmarkError("no number") }
                    sum &+= UInt64(truncatingIfNeeded: number)
                }
            }
            return { sum }
        case .named:
            var sum: UInt64 = 0
            try database.forEachRow(WhereText(text: "SELECT \(Ten.list) FROM item")) { row in
                for name in Ten.names {
                    guard case .integer(let number)? = row[name] else { throw BenchmarkError("no number") }
                    sum &+= UInt64(truncatingIfNeeded: number)
                }
            }
            return { sum }
        case .class:
            let objects = try database.query(MakoTenObject.self).fetch()
            return { objects.sum }
        case .struct, .codable, .optimized:
            let values = try database.query(MakoTen.self).fetch()
            return { values.sum }
        }
    }

    func insert(_ form: TenForm, rows: Int) throws {
        switch form {
        case .positional:
            let insert = try database.prepare("INSERT INTO item (\(Ten.list)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            try database.transaction { _ in
                for i in 0..<rows { try insert.run(i, i, i, i, i, i, i, i, i, i) }
            }
        case .named:
            let names = Ten.names.map { ":" + $0 }.joined(separator: ", ")
            let insert = try database.prepare("INSERT INTO item (\(Ten.list)) VALUES (\(names))")
            try database.transaction { _ in
                for i in 0..<rows {
                    try insert.run(named: [
                        "i0": i, "i1": i, "i2": i, "i3": i, "i4": i, "i5": i, "i6": i, "i7": i, "i8": i, "i9": i,
                    ])
                }
            }
        case .class: try database.save((0..<rows).map { MakoTenObject($0) })
        case .struct, .codable, .optimized: try database.save((0..<rows).map { MakoTen($0) })
        }
    }

    func stored() throws -> UInt64 {
        switch use {
        case .inserting(.class): try database.query(MakoTenObject.self).fetch().sum
        default: try database.query(MakoTen.self).fetch().sum
        }
    }

    func insertTexts(_ text: String, count: Int) throws {
        let insert = try database.prepare("INSERT INTO t (a) VALUES (?)")
        try database.transaction { _ in
            for _ in 0..<count { try insert.run(text) }
        }
    }

    func storedTexts() throws -> Int { try database.query(MakoTenText.self).count() }

    func fetchDates() throws -> [Date] { try database.query(MakoTenMoment.self).fetch().map(\.date) }

    func close() throws { try database.close() }
}
