// The example of README.md. A test checks that the two are equal, so that the first code that users read compiles and runs.
// README
import Mako

@Entity final class Department {
    var name: String = ""
    @Relationship(inverse: \Person.department) var people: ToMany<Person>
}

@Entity final class Person {
    #Index<Person>([\.age])
    var name: String = ""
    var age: Int = 0
    var department: Department?
}

// README pauses
enum ReadmeExample {
    static func run() throws {
        // README goes on
        let db = try Database(at: "people.mako", entities: [Person.self, Department.self])
        Database.default = db

        let engines = Department(name: "Engines")
        try db.transaction { _ in
            try Person(name: "Ada", age: 36, department: engines).commit()  // saves the department, too
            try Person(name: "Charles", age: 44, department: engines).commit()
        }

        let adults = try Person.query()
            .where(\.age > 35 && \.department.name == "Engines")
            .orderBy(\.name)
            .fetch()
        for person in adults { print(person.name, person.department?.name ?? "") }
        print(try engines.people.count)  // 2

        adults[0].age += 1
        try adults[0].commit()
        // README ends
        try db.close()
    }
}
