import TestHelpers
import Testing

// EXAMPLE Mako.md
import Mako

@Entity final class Harbour {
    var name = ""
    @Relationship(inverse: \Boat.harbour) var boats: ToMany<Boat>
}

@Entity final class Boat {
    var name = ""
    var length = 0.0
    var harbour: Harbour?
}

/// Stores two boats, and returns the names of those in the north longer than 10 m.
func longBoats(at path: String) throws -> [String] {
    // Opens the file, or creates it.
    let db = try Database(at: path, entities: [Harbour.self, Boat.self])
    let north = Harbour(name: "North")
    let nereid = Boat(name: "Nereid", length: 12.5, harbour: north)
    let wren = Boat(name: "Wren", length: 6, harbour: north)
    try db.save([nereid, wren])  // saves the harbour, too
    let found = try db.query(Boat.self)
        .where(\.length > 10 && \.harbour.name == "North")
        .orderBy(\.name)
        .fetch()
    return found.map(\.name)
}
// EXAMPLE ends

/// The first example of the documentation of `Mako`.
@Suite struct FirstExampleTests {
    @Test func theExampleKeepsAndFinds() throws {
        try withTemporaryFile { path in
            #expect(try longBoats(at: path) == ["Nereid"])
            #expect(try longBoats(at: path) == ["Nereid", "Nereid"])
            let db = try Database(at: path)
            #expect(try db.query(Harbour.self).first()?.boats.count == 2)
        }
    }
}
