import Foundation
import GRDB

// The design's models as structs, coded by hand for SQLite's C interface and for GRDB.

/// The sixteen bytes of an identifier, which is how GRDB stores it, too.
extension UUID {
    var array: [UInt8] { withUnsafeBytes(of: uuid) { [UInt8]($0) } }

    init(array: [UInt8]) {
        var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: array.prefix(16)) }
        self.init(uuid: bytes)
    }
}

struct PlainUser: SQLiteRecord, FetchableRecord, PersistableRecord {
    static let table = "User"
    static let columns = ["id", "firstName", "surname", "age"]
    static let databaseTableName = table
    static let schema = [
        """
        CREATE TABLE User (id BLOB NOT NULL PRIMARY KEY, firstName TEXT NOT NULL, surname TEXT NOT NULL,
            age INTEGER NOT NULL) WITHOUT ROWID
        """
    ]

    let id: UUID
    var firstName: String
    let surname: String
    let age: Int

    init(_ data: UserData) {
        id = data.id
        firstName = data.firstName
        surname = data.surname
        age = data.age
    }

    init(_ row: SQLiteStatement) {
        id = UUID(array: row.bytes(0))
        firstName = row.text(1)
        surname = row.text(2)
        age = row.int(3)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id.array, 1)
        statement.bind(firstName, 2)
        statement.bind(surname, 3)
        statement.bind(age, 4)
    }

    init(row: Row) {
        id = row[0]
        firstName = row[1]
        surname = row[2]
        age = row[3]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["firstName"] = firstName
        container["surname"] = surname
        container["age"] = age
    }
}

struct PlainSchool: SQLiteRecord, PersistableRecord {
    static let table = "School"
    static let columns = ["id", "name", "location", "type"]
    static let databaseTableName = table

    let id: Int
    let name: String
    let location: String
    let type: SchoolType

    init(number: Int) {
        id = number + 1
        name = SchoolData.name(number)
        location = SchoolData.location(number)
        type = SchoolData.type(number)
    }

    init(_ row: SQLiteStatement) {
        id = row.int(0)
        name = row.text(1)
        location = row.text(2)
        type = SchoolType(rawValue: row.text(3)) ?? .comprehensive
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id, 1)
        statement.bind(name, 2)
        statement.bind(location, 3)
        statement.bind(type.rawValue, 4)
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["name"] = name
        container["location"] = location
        container["type"] = type.rawValue
    }
}

struct PlainStudent: SQLiteRecord, FetchableRecord, PersistableRecord {
    static let table = "Student"
    static let columns = ["id", "firstName", "surname", "age", "school"]
    static let databaseTableName = table

    let id: UUID
    let firstName: String
    let surname: String
    let age: Int
    let school: Int

    init(_ data: StudentData) {
        id = data.user.id
        firstName = data.user.firstName
        surname = data.user.surname
        age = data.user.age
        school = data.school + 1
    }

    init(_ row: SQLiteStatement) {
        id = UUID(array: row.bytes(0))
        firstName = row.text(1)
        surname = row.text(2)
        age = row.int(3)
        school = row.int(4)
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id.array, 1)
        statement.bind(firstName, 2)
        statement.bind(surname, 3)
        statement.bind(age, 4)
        statement.bind(school, 5)
    }

    init(row: Row) {
        id = row[0]
        firstName = row[1]
        surname = row[2]
        age = row[3]
        school = row[4]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["firstName"] = firstName
        container["surname"] = surname
        container["age"] = age
        container["school"] = school
    }
}

struct PlainGrade: SQLiteRecord, FetchableRecord, PersistableRecord {
    static let table = "Grade"
    static let columns = ["id", "subject", "grade", "examBoard", "student"]
    static let databaseTableName = table

    let id: UUID
    let subject: Subject
    var grade: Grade
    let examBoard: ExamBoard
    let student: UUID

    init(_ data: GradeData, student: UUID) {
        id = data.id
        subject = data.subject
        grade = data.grade
        examBoard = data.examBoard
        self.student = student
    }

    init(_ row: SQLiteStatement) {
        id = UUID(array: row.bytes(0))
        subject = Subject(rawValue: row.text(1)) ?? .maths
        grade = Grade(rawValue: row.text(2)) ?? .u
        examBoard = ExamBoard(rawValue: row.text(3)) ?? .aqa
        student = UUID(array: row.bytes(4))
    }

    func bind(to statement: SQLiteStatement) {
        statement.bind(id.array, 1)
        statement.bind(subject.rawValue, 2)
        statement.bind(grade.rawValue, 3)
        statement.bind(examBoard.rawValue, 4)
        statement.bind(student.array, 5)
    }

    init(row: Row) {
        id = row[0]
        subject = Subject(rawValue: row[1]) ?? .maths
        grade = Grade(rawValue: row[2]) ?? .u
        examBoard = ExamBoard(rawValue: row[3]) ?? .aqa
        student = row[4]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["subject"] = subject.rawValue
        container["grade"] = grade.rawValue
        container["examBoard"] = examBoard.rawValue
        container["student"] = student
    }
}

/// All rows of a design in memory, before they are stored.
struct PlainRows {
    let schools: [PlainSchool]
    let students: [PlainStudent]
    let grades: [PlainGrade]

    init(_ data: [StudentData]) {
        schools = (0..<SchoolData.schools).map { PlainSchool(number: $0) }
        students = data.map { PlainStudent($0) }
        grades = data.flatMap { student in student.grades.map { PlainGrade($0, student: student.user.id) } }
    }
}

enum SchoolTables {
    static let schema = [
        "CREATE TABLE School (id INTEGER PRIMARY KEY, name TEXT NOT NULL, location TEXT NOT NULL, type TEXT NOT NULL)",
        """
        CREATE TABLE Student (id BLOB NOT NULL PRIMARY KEY, firstName TEXT NOT NULL, surname TEXT NOT NULL,
            age INTEGER NOT NULL, school INTEGER NOT NULL REFERENCES School(id)) WITHOUT ROWID
        """,
        """
        CREATE TABLE Grade (id BLOB NOT NULL PRIMARY KEY, subject TEXT NOT NULL, grade TEXT NOT NULL,
            examBoard TEXT NOT NULL, student BLOB NOT NULL REFERENCES Student(id)) WITHOUT ROWID
        """,
        "CREATE INDEX student_school ON Student (school)",
        "CREATE INDEX grade_student ON Grade (student)",
    ]
    static let withTopPhysics = """
        WHERE EXISTS (SELECT 1 FROM Grade g WHERE g.student = Student.id AND g.subject = 'physics' AND g.grade = 'aStar')
        """
    static let cheaters = """
        WHERE school IN (SELECT id FROM School WHERE name = '\(SchoolData.cheaters)')
            AND EXISTS (SELECT 1 FROM Grade g WHERE g.student = Student.id AND g.subject = 'maths')
        """
}
