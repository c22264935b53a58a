import Mako

/// Countries and time zones: objects that refer to each other, and queries of them.
enum PlacesChapter {
    static func run(_ database: Database) throws {
        Stage.title("1. Countries and time zones")
        Stage.say(
            """
            A model is a Swift class with @Entity before it. Country and Zone know each other: zone.country is a \
            reference, loaded when it is first looked at, and country.zones is a query.
            """)
        Stage.code(
            """
            @Entity final class Zone {
                #Index<Zone>([\\.latitude])
                @Attribute(.unique) var name: String = ""
                var latitude: Double = 0
                var country: Country?
            }
            """)
        try store(database)
        try askOneTable()
        try askRelations()
        try countAndGroup()
        showAMisspeltName()
    }

    private static func store(_ database: Database) throws {
        let tables = try TimeZoneTables()
        let (_, time) = try Stage.timed {
            try database.transaction { _ in
                var countries: [String: Country] = [:]
                for (code, name) in tables.countries { countries[code] = Country(code: code, name: name) }
                try database.save(Array(countries.values))
                for line in tables.zones {
                    let zone = Zone(
                        name: line.name, region: String(line.name.prefix { $0 != "/" }), latitude: line.latitude,
                        longitude: line.longitude, comment: line.comment,
                        country: line.countryCodes.first.flatMap { countries[$0] })
                    try zone.commit()
                    for code in line.countryCodes.dropFirst() {
                        try Overlap(zone: zone, country: countries[code]).commit()
                    }
                }
            }
        }
        Stage.say(
            """
            \(try Country.query().count()) countries, \(try Zone.query().count()) zones and \
            \(try Overlap.query().count()) overlaps between them are stored, in one transaction of \(time).
            """)
    }

    private static func askOneTable() throws {
        try Stage.ask(
            "Which countries end in \"land\"?", "Country.query().where(\\.name ~= \"%land\").orderBy(\\.name)",
            Country.query().where(\.name ~= "%land").orderBy(\.name), columns: ["code", "country"]
        ) { [$0.code, $0.name] }

        try Stage.ask(
            "Four countries by their codes",
            "Country.query().where(\"code IN ('JP', 'CL', 'KE', 'IS')\").orderBy(\"name\")",
            Country.query().where("code IN ('JP', 'CL', 'KE', 'IS')").orderBy("name"), columns: ["code", "country"]
        ) { [$0.code, $0.name] }

        let margin = 3.0
        try Stage.ask(
            "Zones near the equator (an interpolated value is bound, never pasted)",
            "Zone.query().where(\"latitude BETWEEN \\(-margin) AND \\(margin)\").orderBy(\\.latitude)",
            Zone.query().where("latitude BETWEEN \(-margin) AND \(margin)").orderBy(\.latitude),
            columns: ["zone", "latitude"]
        ) { [$0.name, degrees($0.latitude)] }

        try Stage.ask(
            "The zones farthest north", "Zone.query().orderBy(\\.latitude, .descending).limit(5)",
            Zone.query().orderBy(\.latitude, .descending).limit(5), columns: ["zone", "latitude"]
        ) { [$0.name, degrees($0.latitude)] }
    }

    private static func askRelations() throws {
        try Stage.ask(
            "A path through a relationship: the zones of Brazil",
            "Zone.query().where(\\.country.name == \"Brazil\").orderBy(\\.longitude)",
            Zone.query().where(\.country.name == "Brazil").orderBy(\.longitude), columns: ["zone", "comment"]
        ) { [$0.name, $0.comment ?? ""] }

        try Stage.ask(
            "Ordered by a property of the related object: the islands of the Indian Ocean, by country",
            "Zone.query().where(\\.region == \"Indian\").orderBy(\\.country.name)",
            Zone.query().where(\.region == "Indian").orderBy(\.country.name), columns: ["zone", "country"]
        ) { [$0.name, $0.country?.name ?? ""] }

        try Stage.ask(
            "Two steps at once: who else sets the clock by a German zone?",
            "Overlap.query().where(\"zone.country.name = 'Germany'\").orderBy(\"country.name\")",
            Overlap.query().where("zone.country.name = 'Germany'").orderBy("country.name"),
            columns: ["zone", "also used in"]
        ) { [$0.zone?.name ?? "", $0.country?.name ?? ""] }

        if let mexico = try Country.find("MX") {
            try Stage.ask(
                "To many: Mexico's zones, as a property", "mexico.zones.query().orderBy(\\.longitude)",
                mexico.zones.query().orderBy(\.longitude), columns: ["zone", "longitude", "comment"]
            ) { [$0.name, degrees($0.longitude), $0.comment ?? ""] }
        }
    }

    private static func countAndGroup() throws {
        try Stage.ask(
            "How many zones lie south of the equator?", "Zone.query().where(\\.latitude < 0).count()",
            { try Zone.query().where(\.latitude < 0).count() }
        ) { Stage.say("    \($0)") }

        try Stage.ask(
            "How many zones has each region?", "Zone.query().groupCount(\\.region)",
            { try Zone.query().groupCount(\.region) }
        ) { groups in
            Stage.table(["region", "zones"], groups.map { [$0.value.plain, String($0.count)] }, limit: 12)
        }

        try Stage.ask(
            "Which countries have the most zones?", "Zone.query().groupCount(\"country.name\")",
            { try Zone.query().groupCount("country.name") }
        ) { groups in
            let largest = groups.sorted { $0.count > $1.count }.prefix(5)
            Stage.table(["country", "zones"], largest.map { [$0.value.plain, String($0.count)] })
        }
    }

    private static func showAMisspeltName() {
        Stage.heading("And when a name is wrong?")
        Stage.code("Zone.query().where(\"contry.name = 'Brazil'\").fetch()")
        do {
            _ = try Zone.query().where("contry.name = 'Brazil'").fetch()
        } catch {
            for line in "\(error)".split(separator: "\n") { print("    \(line)") }
        }
        print()
    }

    private static func degrees(_ value: Double) -> String {
        let hundredths = Int((abs(value) * 100).rounded())
        let fraction = hundredths % 100
        return (value < 0 ? "-" : "") + "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}

extension StoredValue {
    /// The value in readable form.
    var plain: String {
        switch self {
        case .text(let text): text
        case .null: "(none)"
        default: description
        }
    }
}
