import Mako
import MakoUI

@Entity final class Dog {
    var name = ""
    var age = 0
}

@Entity struct Kennel {
    @Attribute(.primaryKey) var name: String
    var places: Int = 0
}

/// A database in memory with dogs of these names, of the ages 1, 2, 3….
func makeDogs(_ names: String...) throws -> (Database, [Dog]) {
    let db = try Database.inMemory(entities: [Dog.self, Kennel.self])
    let dogs = names.enumerated().map { Dog(name: $0.element, age: $0.offset + 1) }
    try db.save(dogs)
    return (db, dogs)
}

/// Waits until a condition holds; false after 20 seconds without it.
@MainActor func reaches(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(20)
    while !condition() {
        if ContinuousClock.now > end { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}
