import Mako

/// Observers of a class while it changes.
enum EventChapter {
    static func run(_ database: Database) async throws {
        Stage.title("4. Watching")
        Stage.say(
            "Changes come as an asynchronous sequence, once per object, after the commit, and never for a rolled-back one."
        )
        Stage.code(
            """
            for await change in try Country.changes(.update) {
                print(change.kind, change.object.name, change.changedProperties)
            }
            """)
        guard let turkey = try await Country.find("TR"), let ivory = try await Country.find("CI") else {
            throw DemoError("countries are missing")
        }
        let changes = try Country.changes(.update, in: database)
        let watcher = Task {
            var seen: [[String]] = []
            for await change in changes {
                seen.append([
                    "\(change.kind)", change.object?.name ?? "",
                    change.changedProperties.sorted().joined(separator: ", "),
                ])
                if seen.count == 2 { break }
            }
            return seen
        }
        turkey.name = "Türkiye"
        ivory.name = "Côte d’Ivoire"
        try await database.transaction { _ in
            try turkey.commit()
            try ivory.commit()
        }
        Stage.table(["event", "country", "changed"], await watcher.value)
    }
}
