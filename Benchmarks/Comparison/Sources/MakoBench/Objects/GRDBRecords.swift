import GRDB

/// A record whose coding the compiler writes: the shortest way to use GRDB.
struct CodablePerson: Codable, GRDBPerson {
    static let engineName = "GRDB Codable"
    static let databaseTableName = "person"

    var id: Int64?
    var name: String
    var email: String
    var age: Int
    var points: Int
    var balance: Double
    var rating: Double
    var isActive: Bool
    var joined: Int

    init(_ data: PersonData) {
        name = data.name
        email = data.email
        age = data.age
        points = data.points
        balance = data.balance
        rating = data.rating
        isActive = data.isActive
        joined = data.joined
    }

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// The same as an object, to measure its memory; a struct is inline in its array.
final class PersonObject: GRDBPerson, Codable, @unchecked Sendable {
    // Unchecked: only one thread uses it.
    static let engineName = "GRDB class"
    static let databaseTableName = "person"

    var id: Int64?
    var name: String
    var email: String
    var age: Int
    var points: Int
    var balance: Double
    var rating: Double
    var isActive: Bool
    var joined: Int

    init(_ data: PersonData) {
        name = data.name
        email = data.email
        age = data.age
        points = data.points
        balance = data.balance
        rating = data.rating
        isActive = data.isActive
        joined = data.joined
    }

    func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// A record whose coding is written by hand, columns read by position: the fastest way to use GRDB's records.
struct HandwrittenPerson: GRDBPerson {
    static let engineName = "GRDB hand-written"
    static let databaseTableName = "person"

    var id: Int64?
    var name: String
    var email: String
    var age: Int
    var points: Int
    var balance: Double
    var rating: Double
    var isActive: Bool
    var joined: Int

    init(_ data: PersonData) {
        name = data.name
        email = data.email
        age = data.age
        points = data.points
        balance = data.balance
        rating = data.rating
        isActive = data.isActive
        joined = data.joined
    }

    init(row: Row) {
        id = row[0]
        name = row[1]
        email = row[2]
        age = row[3]
        points = row[4]
        balance = row[5]
        rating = row[6]
        isActive = row[7]
        joined = row[8]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["name"] = name
        container["email"] = email
        container["age"] = age
        container["points"] = points
        container["balance"] = balance
        container["rating"] = rating
        container["isActive"] = isActive
        container["joined"] = joined
    }

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}
