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

/// Keeps two boats, and returns the names of those in the north that are longer than ten metres.
func longBoats(at path: String) throws -> [String] {
    let db = try Database(at: path, entities: [Harbour.self, Boat.self])  // opened, or made when it is not there
    let north = Harbour(name: "North")
    try db.save([Boat(name: "Nereid", length: 12.5, harbour: north), Boat(name: "Wren", length: 6, harbour: north)])
    let found = try db.query(Boat.self).where(\.length > 10 && \.harbour.name == "North").orderBy(\.name).fetch()
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
