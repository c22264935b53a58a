import Foundation
import Mako

let people: [any Entity.Type] = [Person.self, Department.self, Location.self]

/// A database in memory with the tests' entities.
func makeDatabase(_ entities: [any Entity.Type] = people) throws -> Database {
    try Database.inMemory(entities: entities)
}
