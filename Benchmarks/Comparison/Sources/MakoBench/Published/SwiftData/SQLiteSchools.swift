import Foundation

final class SQLiteUsers: UserEngine {
    static let name = "SQLite"

    private let path: String
    private let store: SQLiteStore
    private var made: [PlainUser] = []

    init(directory: String) throws {
        path = directory + "/data.sqlite"
        store = try SQLiteStore(directory: directory, schema: PlainUser.schema, durability: .full)
    }

    func instantiate(_ data: [UserData]) { made = data.map { PlainUser($0) } }

    func create() throws {
        try store.write { try store.insert(made) }
        made = []
    }

    private func janes() throws -> [PlainUser] {
        try store.fetch(PlainUser.self, "WHERE firstName = 'Jane' ORDER BY age")
    }

    func read() throws -> UInt64 { try janes().reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight } }

    func update() throws -> Int {
        let update = try store.statement("UPDATE User SET firstName = 'Wendy' WHERE id = ?1")
        return try store.write {
            let found = try janes()
            for jane in found {
                update.bind(jane.id.array, 1)
                try update.run()
            }
            return found.count
        }
    }

    func wendys() throws -> Int { try store.int("SELECT count(*) FROM User WHERE firstName = 'Wendy'") }

    func deleteAll() throws -> Int {
        try store.write {
            try store.run("DELETE FROM User")
            return store.changes
        }
    }

    func fileSize() throws -> UInt64 {
        try store.settle()
        return try size(of: path)
    }

    func close() throws { try store.close() }
}

final class SQLiteSchools: SchoolEngine {
    static let name = "SQLite"

    private let path: String
    private let store: SQLiteStore
    private var made = PlainRows([])

    init(directory: String) throws {
        path = directory + "/data.sqlite"
        store = try SQLiteStore(directory: directory, schema: SchoolTables.schema, durability: .full)
    }

    func instantiate(_ data: [StudentData]) { made = PlainRows(data) }

    func create() throws {
        try store.write {
            try store.insert(made.schools)
            try store.insert(made.students)
            try store.insert(made.grades)
        }
        made = PlainRows([])
    }

    func read() throws -> UInt64 {
        try store.fetch(PlainStudent.self, SchoolTables.withTopPhysics)
            .reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight }
    }

    func update() throws -> Int {
        let update = try store.statement("UPDATE Grade SET grade = 'f' WHERE id = ?1")
        return try store.write {
            var count = 0
            for student in try store.fetch(PlainStudent.self, SchoolTables.cheaters) {
                let grades = try store.fetch(PlainGrade.self, "WHERE student = ?1") { $0.bind(student.id.array, 1) }
                for grade in grades where grade.subject == .maths {
                    update.bind(grade.id.array, 1)
                    try update.run()
                    count += 1
                }
            }
            return count
        }
    }

    func countFailed() throws -> Int { try store.int("SELECT count(*) FROM Grade WHERE grade = 'f'") }

    /// Deletes all rows of each table, which SQLite does without reading one.
    func deleteAll() throws -> Int {
        try store.write {
            try store.run("DELETE FROM Grade")
            try store.run("DELETE FROM Student")
            let students = store.changes
            try store.run("DELETE FROM School")
            return students + store.changes
        }
    }

    func countGrades() throws -> Int { try store.int("SELECT count(*) FROM Grade") }

    func fileSize() throws -> UInt64 {
        try store.settle()
        return try size(of: path)
    }

    func close() throws { try store.close() }
}
