import Foundation
import Mako

// The design's models as a user of Mako writes them.

@Entity("User") final class MakoUser {
    @Attribute(.primaryKey) var id: UUID?
    var firstName = ""
    var surname = ""
    var age = 0
}

extension MakoUser {
    convenience init(_ data: UserData) {
        self.init(id: data.id, firstName: data.firstName, surname: data.surname, age: data.age)
    }
}

@Entity("School") final class MakoSchool {
    var name = ""
    var location = ""
    var type: SchoolType = .comprehensive
    @Relationship(inverse: \MakoStudent.school) var students: ToMany<MakoStudent>
}

@Entity("Student") final class MakoStudent {
    @Attribute(.primaryKey) var id: UUID?
    var firstName = ""
    var surname = ""
    var age = 0
    var school: MakoSchool?
    @Relationship(inverse: \MakoGrade.student, deleteRule: .cascade) var grades: ToMany<MakoGrade>
}

@Entity("Grade") final class MakoGrade {
    @Attribute(.primaryKey) var id: UUID?
    var subject: Subject = .maths
    var grade: Grade = .u
    var examBoard: ExamBoard = .aqa
    var student: MakoStudent?
}

final class MakoUsers: UserEngine {
    static let name = "Mako"

    private let path: String
    private let database: Database
    private var made: [MakoUser] = []

    init(directory: String) throws {
        path = directory + "/data.mako"
        database = try Database(directory: directory, entities: [MakoUser.self], durability: .full)
    }

    func instantiate(_ data: [UserData]) { made = data.map { MakoUser($0) } }

    func create() throws {
        try database.save(made)
        made = []
    }

    private func janes() throws -> Results<MakoUser> {
        try database.query(MakoUser.self).where(\.firstName == "Jane").orderBy(\.age).fetch()
    }

    func read() throws -> UInt64 { try janes().reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight } }

    func update() throws -> Int {
        let found = try janes().array
        for jane in found { jane.firstName = "Wendy" }
        try database.save(found)
        return found.count
    }

    func wendys() throws -> Int { try database.query(MakoUser.self).where(\.firstName == "Wendy").count() }
    func deleteAll() throws -> Int { try database.query(MakoUser.self).delete() }

    func fileSize() throws -> UInt64 {
        try database.settle()
        return try size(of: path)
    }

    func close() throws { try database.close() }
}

final class MakoSchools: SchoolEngine {
    static let name = "Mako"

    private let path: String
    private let database: Database
    private var made: [MakoGrade] = []

    init(directory: String) throws {
        path = directory + "/data.mako"
        database = try Database(
            directory: directory, entities: [MakoStudent.self, MakoSchool.self, MakoGrade.self], durability: .full)
    }

    func instantiate(_ data: [StudentData]) {
        let schools = (0..<SchoolData.schools).map {
            MakoSchool(name: SchoolData.name($0), location: SchoolData.location($0), type: SchoolData.type($0))
        }
        made = data.flatMap { student in
            let user = student.user
            let object = MakoStudent(
                id: user.id, firstName: user.firstName, surname: user.surname, age: user.age,
                school: schools[student.school])
            return student.grades.map {
                MakoGrade(id: $0.id, subject: $0.subject, grade: $0.grade, examBoard: $0.examBoard, student: object)
            }
        }
    }

    /// The grades with their students and these with their schools.
    func create() throws {
        try database.save(made)
        made = []
    }

    func read() throws -> UInt64 {
        let students = try database.query(MakoStudent.self)
            .where(.any(\.grades, \.subject == .physics && \.grade == .aStar)).fetch()
        return students.reduce(0) { $0 &+ UInt64($1.age) &+ $1.surname.weight }
    }

    func update() throws -> Int {
        try database.transaction { _ in
            let students = try self.database.query(MakoStudent.self)
                .where(\.school.name == SchoolData.cheaters && .any(\.grades, \.subject == .maths)).fetch()
            var failed: [MakoGrade] = []
            for student in students {
                for grade in try student.grades.load() where grade.subject == .maths {
                    grade.grade = .f
                    failed.append(grade)
                }
            }
            try self.database.save(failed)
            return failed.count
        }
    }

    func countFailed() throws -> Int { try database.query(MakoGrade.self).where(\.grade == .f).count() }

    func deleteAll() throws -> Int {
        try database.transaction { _ in
            let count = try self.database.query(MakoStudent.self).delete()
            return try count + self.database.query(MakoSchool.self).delete()
        }
    }

    func countGrades() throws -> Int { try database.query(MakoGrade.self).count() }

    func fileSize() throws -> UInt64 {
        try database.settle()
        return try size(of: path)
    }

    func close() throws { try database.close() }
}
