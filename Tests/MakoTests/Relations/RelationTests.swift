import Mako
import Testing

@Entity final class Node {
    var label = ""
    var next: Node?
    var twin: Twin?
}

@Entity final class Twin {
    @Attribute(.primaryKey) var code = ""
    var node: Node?
}

@Entity final class Owner {
    var name = ""
    @Relationship(inverse: \Pet.owner, deleteRule: .cascade) var pets: ToMany<Pet>
    @Relationship(inverse: \House.owner, deleteRule: .deny) var houses: ToMany<House>
}

@Entity final class Pet {
    var name = ""
    var owner: Owner?
}

@Entity final class House {
    var owner: Owner?
}

@Entity final class Ring {
    var name = ""
    var next: Ring?
    @Relationship(inverse: \Ring.next, deleteRule: .cascade) var before: ToMany<Ring>
}

@Entity final class Student {
    var name = ""
    @Relationship(inverse: \Enrolment.student, deleteRule: .cascade) var enrolments: ToMany<Enrolment>
}

@Entity final class Course {
    var title = ""
    @Relationship(inverse: \Enrolment.course, deleteRule: .cascade) var enrolments: ToMany<Enrolment>
}

@Entity final class Enrolment {
    #Unique<Enrolment>([\.student, \.course])
    var student: Student?
    var course: Course?
}

@Suite struct RelationTests {
    @Test func relatedObjectsAreSavedWithTheirParent() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", department: Department(name: "Engines", location: Location(name: "London")))
        try db.save(ada)
        let read = try #require(try db.find(Person.self, 1))
        #expect(read.department?.location?.name == "London")
        #expect(read.department === read.department)
        // A changed child is saved with its parent, though the parent is clean.
        read.department?.name = "Turbines"
        try db.save(read)
        #expect(try db.find(Department.self, 1)?.name == "Turbines")
    }

    @Test func circlesAreSavedAndLoaded() throws {
        let db = try makeDatabase([Node.self])
        let a = Node(label: "a")
        let b = Node(label: "b")
        let c = Node(label: "c")
        (a.next, b.next, c.next) = (b, c, a)
        c.twin = Twin(code: "t")
        c.twin?.node = a
        try db.save(a)
        #expect(Set([a.id, b.id, c.id]).count == 3)
        let first = try #require(try db.find(Node.self, a.id ?? 0))
        #expect(first.next?.next?.label == "c")
        #expect(first.next?.next?.next === first)
        #expect(first.next?.next?.twin?.node === first)
        (a.next, b.next, c.next) = (nil, nil, nil)
        c.twin = nil
        first.next?.next?.next = nil
        first.next?.next?.twin?.node = nil
    }

    /// However many objects were followed, the numbers of whose rows fall together in the table that finds them.
    @Test func manyReferencesLeadToOneObjectEach() throws {
        let db = try makeDatabase()
        let departments = (0..<300).map { Department(name: "\($0)") }
        try db.save(departments)
        let people = (0..<900).map { Person(name: "\($0)", department: departments[$0 % 300]) }
        try db.save(people)
        let fetched = try db.query(Person.self).fetch().array
        var found: [Int: Department] = [:]
        for person in fetched {
            let department = try #require(person.department)
            let id = try #require(department.id)
            if let known = found[id] { #expect(known === department) } else { found[id] = department }
            #expect(person.department === department)
        }
        #expect(found.count == 300)
        #expect(db.metrics.lazyLoads == 300)
        // An object that has been released is read again, in its former place of the related-row cache.
        let forgotten = try db.query(Person.self).fetch().array
        for _ in 0..<2 {
            for person in forgotten.prefix(300) { #expect(person.department?.name == person.name) }
            for person in forgotten.prefix(300) { try db.refresh(person) }
        }
    }

    @Test func anObjectMayReferToItself() throws {
        let db = try makeDatabase([Node.self])
        let a = Node(label: "a")
        a.next = a
        try db.save(a)
        let read = try #require(try db.find(Node.self, 1))
        #expect(read.next === read)
        read.next = nil
        try db.save(read)
        #expect(try db.find(Node.self, 1)?.next == nil)
        a.next = nil
    }

    @Test func referencesToTextKeys() throws {
        let db = try makeDatabase([Node.self])
        let node = Node(label: "a", twin: Twin())
        try db.save(node)
        #expect(node.twin?.code.count == 36)
        #expect(try db.find(Node.self, 1)?.twin?.code == node.twin?.code)
    }

    @Test func removalNullifiesReferences() throws {
        let db = try makeDatabase()
        let department = Department(name: "Engines")
        try db.save([Person(name: "Ada", department: department), Person(name: "Bob", department: department)])
        try db.delete(department)
        #expect(try db.find(Person.self, 1)?.department == nil)
        #expect(try db.find(Person.self, 2)?.department == nil)
        #expect(try db.query(Person.self).where("department IS NULL").count() == 2)
    }

    @Test func cascadeAndDeny() throws {
        let db = try makeDatabase([Owner.self])
        let owner = Owner(name: "Ada")
        try db.save([Pet(name: "Rex", owner: owner), Pet(name: "Tom", owner: owner), Pet(name: "Stray")])
        let house = House(owner: owner)
        try db.save(house)
        #expect(throws: MakoError.deniedByReference(entity: "Owner", from: "House", property: "owner")) {
            try db.delete(owner)
        }
        #expect(try db.exists(owner))
        #expect(try db.query(Pet.self).count() == 3)
        try db.delete(house)
        try db.delete(owner)
        #expect(try db.query(Pet.self).fetch().map(\.name) == ["Stray"])
    }

    @Test func toManyIsAQuery() throws {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        let other = Department(name: "Other")
        #expect(try Database.withDefault(db) { try engines.people.count } == 0)
        try db.save([
            Person(name: "Ada", age: 36, department: engines), Person(name: "Bob", age: 20, department: engines),
            Person(name: "Eve", age: 50, department: other),
        ])
        #expect(try engines.people.count == 2)
        #expect(try engines.people.query().orderBy(\.age).fetch().map(\.name) == ["Bob", "Ada"])
        #expect(try engines.people.where(\.age > 30).fetch().map(\.name) == ["Ada"])
    }

    @Test func cascadesInACircleEnd() throws {
        let db = try makeDatabase([Ring.self])
        let (a, b, c) = (Ring(name: "a"), Ring(name: "b"), Ring(name: "c"))
        (a.next, b.next, c.next) = (b, c, a)
        try db.save(a)
        #expect(try db.query(Ring.self).count() == 3)
        try db.delete(b)
        #expect(try db.query(Ring.self).count() == 0)
        (a.next, b.next, c.next) = (nil, nil, nil)
    }

    @Test func manyToManyByAnEntityOfTwoReferences() throws {
        let db = try makeDatabase([Student.self, Course.self, Enrolment.self])
        let ada = Student(name: "Ada")
        let bob = Student(name: "Bob")
        let maths = Course(title: "Maths")
        let logic = Course(title: "Logic")
        try db.save([
            Enrolment(student: ada, course: maths), Enrolment(student: ada, course: logic),
            Enrolment(student: bob, course: logic),
        ])
        #expect(throws: MakoError.self) { try db.save(Enrolment(student: bob, course: logic)) }
        #expect(try ada.enrolments.load().compactMap { $0.course?.title } == ["Maths", "Logic"])
        #expect(
            try logic.enrolments.query().orderBy("student.name").fetch().map { $0.student?.name } == ["Ada", "Bob"])
        try db.delete(ada)
        #expect(try logic.enrolments.count == 1 && maths.enrolments.count == 0)
        #expect(try db.query(Course.self).count() == 2)
    }

    @Test func lazyLoadsAreCountedAndFailuresKept() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", department: Department(name: "Engines")))
        let before = db.metrics.lazyLoads
        let read = try #require(try db.find(Person.self, 1))
        _ = read.department
        _ = read.department
        #expect(db.metrics.lazyLoads == before + 1)
        #expect(try read.load(\.department)?.name == "Engines")

        let late = try #require(try db.find(Person.self, 1))
        try db.close()
        #expect(late.department == nil)
        #expect(late.loadError == .closed(path: ":memory:"))
        #expect(throws: MakoError.closed(path: ":memory:")) { try late.load(\.department) }
    }
}
