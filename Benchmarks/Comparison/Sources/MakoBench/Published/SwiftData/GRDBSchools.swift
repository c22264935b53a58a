import Foundation
import GRDB

final class GRDBUsers: UserEngine {
    static let name = "GRDB hand-written"

    private let path: String
    private let pool: DatabasePool
    private var made: [PlainUser] = []

    init(directory: String) throws {
        path = directory + "/data.sqlite"
        pool = try DatabasePool(directory: directory, schema: PlainUser.schema, durability: .full)
    }

    func instantiate(_ data: [UserData]) { made = data.map { PlainUser($0) } }

    func create() throws {
        try pool.write { database in
            for user in made { try user.insert(database) }
        }
        made = []
    }

    private static var janes: QueryInterfaceRequest<PlainUser> {
        PlainUser.filter(Column("firstName") == "Jane").order(Column("age"))
    }

    func read() throws -> UInt64 {
        try pool.read { try GRDBUsers.janes.fetchAll($0) }.reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight }
    }

    func update() throws -> Int {
        try pool.write { database in
            var found = try GRDBUsers.janes.fetchAll(database)
            for index in found.indices {
                found[index].firstName = "Wendy"
                try found[index].update(database, columns: ["firstName"])
            }
            return found.count
        }
    }

    func wendys() throws -> Int {
        try pool.read { try PlainUser.filter(Column("firstName") == "Wendy").fetchCount($0) }
    }
    func deleteAll() throws -> Int { try pool.write { try PlainUser.deleteAll($0) } }

    func fileSize() throws -> UInt64 {
        try pool.settle()
        return try size(of: path)
    }

    func close() throws { try pool.close() }
}

final class GRDBSchools: SchoolEngine {
    static let name = "GRDB hand-written"

    private let path: String
    private let pool: DatabasePool
    private var made = PlainRows([])

    init(directory: String) throws {
        path = directory + "/data.sqlite"
        pool = try DatabasePool(directory: directory, schema: SchoolTables.schema, durability: .full)
    }

    func instantiate(_ data: [StudentData]) { made = PlainRows(data) }

    func create() throws {
        try pool.write { database in
            for school in made.schools { try school.insert(database) }
            for student in made.students { try student.insert(database) }
            for grade in made.grades { try grade.insert(database) }
        }
        made = PlainRows([])
    }

    func read() throws -> UInt64 {
        let sql = "SELECT * FROM Student \(SchoolTables.withTopPhysics)"
        return try pool.read { try PlainStudent.fetchAll($0, sql: sql) }
            .reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight }
    }

    func update() throws -> Int {
        try pool.write { database in
            var count = 0
            for student in try PlainStudent.fetchAll(database, sql: "SELECT * FROM Student \(SchoolTables.cheaters)") {
                var grades = try PlainGrade.filter(Column("student") == student.id).fetchAll(database)
                for index in grades.indices where grades[index].subject == .maths {
                    grades[index].grade = .f
                    try grades[index].update(database, columns: ["grade"])
                    count += 1
                }
            }
            return count
        }
    }

    func countFailed() throws -> Int { try pool.read { try PlainGrade.filter(Column("grade") == "f").fetchCount($0) } }

    func deleteAll() throws -> Int {
        try pool.write { database in
            try PlainGrade.deleteAll(database)
            return try PlainStudent.deleteAll(database) + PlainSchool.deleteAll(database)
        }
    }

    func countGrades() throws -> Int { try pool.read { try PlainGrade.fetchCount($0) } }

    func fileSize() throws -> UInt64 {
        try pool.settle()
        return try size(of: path)
    }

    func close() throws { try pool.close() }
}
