import Mako

/// Atomic changes, in the file and in memory.
enum TransactionChapter {
    private struct SecondThoughts: Error {}

    static func run(_ database: Database) throws {
        Stage.title("3. A transaction that does not happen")
        Stage.say(
            """
            A transaction that throws leaves nothing behind: not in the file, and not in the objects that were changed \
            on the way.
            """)
        guard let iceland = try Country.find("IS") else { throw DemoError("Iceland is missing") }
        Stage.code(
            """
            try db.transaction { tx in
                iceland.name = "Snowland"
                try iceland.commit()
                try Zone(name: "Atlantic/Nowhere", country: iceland).commit()
                throw SecondThoughts()
            }
            """)
        var inside: [String] = []
        do {
            try database.transaction { _ in
                iceland.name = "Snowland"
                try iceland.commit()
                try Zone(name: "Atlantic/Nowhere", country: iceland).commit()
                inside = try state(of: iceland)
                throw SecondThoughts()
            }
        } catch is SecondThoughts {}
        let stored = try Country.find("IS")?.name ?? "nothing"
        Stage.table(
            ["", "name in memory", "name as a query finds it", "zones"],
            [["inside"] + inside, ["afterwards"] + (try state(of: iceland))])
        guard iceland.name == stored, try iceland.zones.count == 0 || inside != state(of: iceland) else {
            throw DemoError("the rollback was not complete")
        }
    }

    private static func state(of country: Country) throws -> [String] {
        [country.name, try Country.find("IS")?.name ?? "", String(try country.zones.count)]
    }
}
