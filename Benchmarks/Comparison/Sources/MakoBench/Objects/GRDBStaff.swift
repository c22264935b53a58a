import GRDB

final class GRDBStaff: StaffEngine {
    static let name = "GRDB Codable"

    struct Location: Codable, FetchableRecord, TableRecord {
        static let databaseTableName = "location"
        let id: Int64
        let name: String
        let floors: Int
    }

    struct Department: Codable, FetchableRecord, TableRecord, EncodableRecord {
        static let databaseTableName = "department"
        static let place = belongsTo(GRDBStaff.Location.self, key: "place")
        let id: Int64
        let name: String
        let location: Int64
    }

    struct Person: Codable, FetchableRecord, TableRecord, EncodableRecord {
        static let databaseTableName = "staff"
        static let section = belongsTo(GRDBStaff.Department.self, key: "section")
        let id: Int64
        let name: String
        let age: Int
        let department: Int64
    }

    private let directory: String
    private var pool: DatabasePool?
    private var held: [Person] = []

    init(directory: String) throws { self.directory = directory }

    func fill(_ count: Int) throws {
        let filler = try SQLiteStaff(directory: directory, isShared: true)
        try filler.fill(count)
        try filler.close()
        pool = try DatabasePool(directory: directory, durability: .relaxed)
    }

    private func read<R>(_ body: (Database) throws -> R) throws -> R {
        guard let pool else { throw BenchmarkError("GRDB: not open") }
        return try pool.read(body)
    }

    func hold(_ count: Int) throws {
        held = try read { database in try Person.limit(count).fetchAll(database) }
    }

    func traverseHeld() throws -> UInt64 {
        try read { database in
            var sum: UInt64 = 0
            for person in held {
                guard let department = try person.request(for: Person.section).fetchOne(database),
                    let location = try department.request(for: Department.place).fetchOne(database)
                else { throw missing(UInt64(person.id)) }
                sum &+= UInt64(location.floors)
            }
            return sum
        }
    }

    func fetchWithLocations() throws -> UInt64 {
        try read { database in
            let request = Person.including(required: Person.section.including(required: Department.place))
                .asRequest(of: JoinedPerson.self)
            var sum: UInt64 = 0
            for person in try request.fetchAll(database) { sum &+= UInt64(person.section.place.floors) }
            return sum
        }
    }

    func close() throws { try pool?.close() }
}

/// GRDB's record for a row of the join, by Codable as its documentation has it.
private struct JoinedPerson: Decodable, FetchableRecord {
    struct Section: Decodable {
        let id: Int64
        let name: String
        let place: GRDBStaff.Location
    }
    let id: Int64
    let name: String
    let age: Int
    let section: Section
}
