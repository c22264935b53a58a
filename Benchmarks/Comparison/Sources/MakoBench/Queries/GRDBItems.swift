import GRDB

/// GRDB's records, coded by hand, for the queries whose results are objects found by an index.
final class GRDBItems: ItemEngine {
    static let name = "GRDB hand-written"

    struct Item: FetchableRecord {
        let id: Int64
        let name: String
        let note: String
        let number: Int
        let code: Int
        let kind: Int
        let lot: Int
        let score: Double
        let city: Int

        init(row: Row) {
            id = row[0]
            name = row[1]
            note = row[2]
            number = row[3]
            code = row[4]
            kind = row[5]
            lot = row[6]
            score = row[7]
            city = row[8]
        }
    }

    private let directory: String
    private var pool: DatabasePool?

    init(directory: String) throws { self.directory = directory }

    func fill(_ count: Int) throws {
        let filler = try SQLiteItems(directory: directory, isShared: true)
        try filler.fill(count)
        try filler.close()
        pool = try DatabasePool(directory: directory, durability: .relaxed)
    }

    func items(codes: [Int]) throws -> UInt64 {
        guard let pool else { return 0 }
        return try pool.read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT \(SQLiteItems.columns) FROM item WHERE code = ?")
            var sum: UInt64 = 0
            for code in codes {
                for item in try Item.fetchAll(statement, arguments: [code]) {
                    sum &+= UInt64(truncatingIfNeeded: item.number)
                }
            }
            return sum
        }
    }

    func close() throws { try pool?.close() }
}
