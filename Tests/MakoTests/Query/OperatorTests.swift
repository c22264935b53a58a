import Mako
import Testing

/// The conditions that operators with key paths build.
@Suite struct OperatorTests {
    private func people() throws -> Database {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        let letters = Department(name: "Letters")
        try db.save([
            Person(name: "Ada", age: 36, payrollNumber: 1, department: engines),
            Person(name: "Bob", age: 20, department: engines),
            Person(name: "Cleo", age: 50, payrollNumber: 3, department: letters),
            Person(name: "Dan", age: 36, department: letters), Person(name: "Eve", age: 17),
            Person(name: nil, age: 80),
        ])
        return db
    }

    @Test func propertiesAreComparedWithProperties() throws {
        let db = try people()
        func found(_ condition: Condition<Person>) throws -> [Int] {
            try db.query(Person.self).where(condition).orderBy(\.id).ids()
        }
        #expect(try found(\.id <= \.age) == [1, 2, 3, 4, 5, 6])
        #expect(try found(\.payrollNumber >= \.id) == [1, 3])
        #expect(try found(\.payrollNumber < \.age) == [1, 3])
        #expect(try found(\.age > \.payrollNumber) == [1, 3])
        #expect(try found(\.payrollNumber <= \.payrollNumber) == [1, 3])
        #expect(try found(!(\.payrollNumber > \.age)) == [1, 3])
        // Nil equals nil, and is unlike any value.
        #expect(try found(\.payrollNumber == \.payrollNumber).count == 6)
        #expect(try found(\.payrollNumber != \.payrollNumber).isEmpty)
        #expect(try found(\.name == \.department.name) == [6])
        #expect(try found(\.name != \.department.name) == [1, 2, 3, 4, 5])
    }

    @Test func rangesOfAllKinds() throws {
        let db = try people()
        func found(_ condition: Condition<Person>) throws -> [Int] {
            try db.query(Person.self).where(condition).orderBy(\.id).ids()
        }
        #expect(try found(\.age << (50...)) == [3, 6])
        #expect(try found(\.age << (..<20)) == [5])
        #expect(try found(\.age << (...20)) == [2, 5])
        #expect(try found(\.age !<< (20...36)) == [3, 5, 6])
        #expect(try found(\.age !<< (20..<36)) == [1, 3, 4, 5, 6])
        #expect(try found(\.age !<< (..<80)) == [6])
        // Nil is in no range, and outside none.
        #expect(try found(\.payrollNumber << (1...)) == [1, 3])
        #expect(try found(\.payrollNumber !<< (2...)) == [1])
        #expect(try found(\.payrollNumber << (1..<3)) == [1])
        #expect(try found(\.name << ("B"..."D")) == [2, 3])
        #expect(try found(\.department.name << ("F"...)) == [3, 4])
    }

    @Test func booleanPropertiesAreConditions() throws {
        let db = try makeDatabase([Everything.self])
        try db.save([Everything(flag: true, int: 1), Everything(flag: false, int: 2), Everything(flag: true, int: 3)])
        func found(_ condition: Condition<Everything>) throws -> [Int] {
            try db.query(Everything.self).where(condition).orderBy(\.id).ids()
        }
        #expect(try found(!\.flag) == [2])
        #expect(try found(\.flag || \.int == 2) == [1, 2, 3])
        #expect(try found(\.int == 2 || \.flag) == [1, 2, 3])
        #expect(try found(\.int > 1 && \.flag) == [3])
        #expect(try found(\.int > 1 && !\.flag) == [2])
        #expect(try found(!\.flag || \.int == 1) == [1, 2])
        #expect(try found(\.flag && \.flag) == [1, 3])
        #expect(try found(\.flag || \.flag) == [1, 3])
        #expect(try db.query(Everything.self).where(!\.flag && !\.flag).count() == 1)
    }
}
