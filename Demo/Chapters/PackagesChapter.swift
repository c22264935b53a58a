import Mako

/// The machine's own package list: a graph of thousands of objects.
enum PackagesChapter {
    static func run(_ database: Database) throws {
        Stage.title("2. The packages on this machine")
        guard let list = try PackageList() else {
            Stage.say(
                "There is no \(PackageList.path) here, so this part has nothing to show; it runs on Debian and Ubuntu.")
            return
        }
        try store(list, database)
        try ask(database)
    }

    private static func store(_ list: PackageList, _ database: Database) throws {
        let (links, time) = try Stage.timed {
            try database.transaction { _ in
                var sections: [String: Section] = [:]
                var packages: [String: Package] = [:]
                for entry in list.entries {
                    let section = sections[entry.section] ?? Section(name: entry.section)
                    sections[entry.section] = section
                    let package = Package(
                        name: entry.name, version: entry.version, priority: entry.priority, summary: entry.summary,
                        installedSize: entry.installedSize, section: section)
                    // A machine may have one package for two architectures; one of them is enough for a demo.
                    guard packages.updateValue(package, forKey: entry.name) == nil else { continue }
                }
                // Saving a package saves its section, too: related objects are saved with it.
                try database.save(Array(packages.values))
                return try link(list, packages)
            }
        }
        Stage.say(
            """
            \(PackageList.path) became \(try Package.query().count()) packages in \(try Section.query().count()) sections \
            with \(links) dependencies between them: objects linked to each other, in one transaction of \(time).
            """)
    }

    private static func link(_ list: PackageList, _ packages: [String: Package]) throws -> Int {
        var links = 0
        for entry in list.entries {
            for dependency in entry.dependencies {
                guard let package = packages[entry.name], let needed = packages[dependency.name] else { continue }
                try Dependency(package: package, needs: needed, constraint: dependency.constraint).commit()
                links += 1
            }
        }
        return links
    }

    private static func ask(_ database: Database) throws {
        try Stage.ask(
            "What takes the most room?", "Package.query().orderBy(\\.installedSize, .descending).limit(6)",
            Package.query().orderBy(\.installedSize, .descending).limit(6), columns: ["package", "kB", "what it is"]
        ) { [$0.name, String($0.installedSize), $0.summary] }

        try Stage.ask(
            "Large libraries: a path and a range in one condition",
            "Package.query().where(\\.section.name == \"libs\" && \\.installedSize > 4000).orderBy(\\.installedSize, .descending)",
            Package.query().where(\.section.name == "libs" && \.installedSize > 4000).orderBy(
                \.installedSize, .descending),
            columns: ["package", "kB", "version"]
        ) { [$0.name, String($0.installedSize), $0.version] }

        if let package = try Package.query().where(\.name == "bash").first() {
            try Stage.ask(
                "What does bash need?", "bash.dependencies.query().orderBy(\\.needs.name)",
                package.dependencies.query().orderBy(\.needs.name), columns: ["package", "constraint", "section"]
            ) { [$0.needs?.name ?? "", $0.constraint ?? "", $0.needs?.section?.name ?? ""] }
        }

        try Stage.ask(
            "Which packages do the most others need?", "Dependency.query().groupCount(\"needs.name\")",
            { try Dependency.query().groupCount("needs.name") }
        ) { groups in
            let largest = groups.sorted { $0.count > $1.count }.prefix(5)
            Stage.table(["package", "needed by"], largest.map { [$0.value.plain, String($0.count)] })
        }

        try Stage.ask(
            "Three steps: which sections does \"admin\" software lean on?",
            "Dependency.query().where(\"package.section.name = 'admin'\").groupCount(\"needs.section.name\")",
            { try Dependency.query().where("package.section.name = 'admin'").groupCount("needs.section.name") }
        ) { groups in
            let largest = groups.sorted { $0.count > $1.count }.prefix(5)
            Stage.table(["section", "dependencies"], largest.map { [$0.value.plain, String($0.count)] })
        }

        try Stage.ask(
            "How much is installed, and how large is a package on average?",
            "Package.query().sum(\\.installedSize), Package.query().avg(\\.installedSize)",
            { (try Package.query().sum(\.installedSize), try Package.query().avg(\.installedSize) ?? 0) }
        ) { sum, average in
            Stage.say("    \(sum / 1000) MB in all, \(Int(average)) kB each")
        }
    }
}
