import CSQLite

/// One prepared statement for each step.
final class SQLiteStaff: StaffEngine {
    static let name = "SQLite"

    private final class Location {
        let id: Int
        let name: String
        let floors: Int
        init(_ row: OpaquePointer) {
            id = Int(sqlite3_column_int64(row, 0))
            name = SQLiteObjects.text(row, 1)
            floors = Int(sqlite3_column_int64(row, 2))
        }
    }

    private final class Department {
        let id: Int
        let name: String
        let location: Int
        init(_ row: OpaquePointer) {
            id = Int(sqlite3_column_int64(row, 0))
            name = SQLiteObjects.text(row, 1)
            location = Int(sqlite3_column_int64(row, 2))
        }
    }

    private final class Person {
        let id: Int
        let name: String
        let age: Int
        let department: Int
        init(_ row: OpaquePointer) {
            id = Int(sqlite3_column_int64(row, 0))
            name = SQLiteObjects.text(row, 1)
            age = Int(sqlite3_column_int64(row, 2))
            department = Int(sqlite3_column_int64(row, 3))
        }
    }

    private let connection: SQLiteConnection
    private let people: OpaquePointer
    private let departmentByID: OpaquePointer
    private let locationByID: OpaquePointer
    private var held: [Person] = []

    init(directory: String, isShared: Bool) throws {
        connection = try SQLiteConnection(directory: directory, durability: .relaxed, isShared: isShared)
        for statement in Staff.schema { try connection.run(statement) }
        people = try connection.statement("SELECT id, name, age, department FROM staff LIMIT ?1")
        departmentByID = try connection.statement("SELECT id, name, location FROM department WHERE id = ?1")
        locationByID = try connection.statement("SELECT id, name, floors FROM location WHERE id = ?1")
    }

    convenience init(directory: String) throws { try self.init(directory: directory, isShared: false) }

    func fill(_ count: Int) throws {
        try connection.run("BEGIN IMMEDIATE")
        let (departments, locations) = (Staff.departments(count), Staff.locations(count))
        for id in 1...locations { try connection.run("INSERT INTO location VALUES (\(id), 'place \(id)', \(id % 40))") }
        for id in 1...departments {
            try connection.run("INSERT INTO department VALUES (\(id), 'section \(id)', \(1 + id % locations))")
        }
        for id in 1...count {
            let department = Staff.department(of: id, among: departments)
            try connection.run("INSERT INTO staff VALUES (\(id), 'person number \(id)', \(id % 70), \(department))")
        }
        try connection.run("COMMIT")
        try connection.run("ANALYZE")
        try connection.checkpoint()
    }

    func hold(_ count: Int) throws {
        held = []
        sqlite3_bind_int64(people, 1, Int64(count))
        while sqlite3_step(people) == SQLITE_ROW { held.append(Person(people)) }
        sqlite3_reset(people)
    }

    private func one<T>(_ statement: OpaquePointer, _ id: Int, _ make: (OpaquePointer) -> T) throws -> T {
        sqlite3_bind_int64(statement, 1, Int64(id))
        guard sqlite3_step(statement) == SQLITE_ROW else { throw missing(UInt64(id)) }
        let made = make(statement)
        sqlite3_reset(statement)
        return made
    }

    func traverseHeld() throws -> UInt64 {
        try connection.run("BEGIN")
        var sum: UInt64 = 0
        for person in held {
            let department = try one(departmentByID, person.department) { Department($0) }
            sum &+= UInt64(try one(locationByID, department.location) { Location($0) }.floors)
        }
        try connection.run("COMMIT")
        return sum
    }

    func fetchWithLocations() throws -> UInt64 { throw BenchmarkError("SQLite makes no objects of joined rows") }

    func close() throws {
        for statement in [people, departmentByID, locationByID] { sqlite3_finalize(statement) }
        try connection.close()
    }
}
