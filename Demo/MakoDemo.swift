import Foundation
import Mako

/// A tour of Mako on real data: `swift run MakoDemo`.
@main
struct MakoDemo {
    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst())
            if let path = arguments.childPath { return try Bank.moveMoneyForEver(path) }
            if arguments.runsReadmeExample { return try ReadmeExample.run() }
            if let data = arguments.dataPath { return try OwnFile.tour(data, keeping: arguments.keepPath) }
            try await tour(keeping: arguments.keepPath)
        } catch {
            Stage.warn("The demo stopped: \(error)")
            exit(1)
        }
    }

    private static func tour(keeping path: String?) async throws {
        let folder = try Folder(keeping: path)
        defer { folder.removeUnlessKept() }
        Stage.title("Mako: Swift objects, stored as they are")
        Stage.say(
            """
            What follows runs on real data: the countries and time zones of the IANA database, and the packages \
            installed on this machine. Each query is shown as it stands in the source (Demo/Chapters), with what it \
            found, how it was found, and how long it took.
            """)
        #if DEBUG
            Stage.say("This is a debug build, and so are the times; 'make demo CONFIGURATION=release' shows real ones.")
        #endif
        let database = try Database(
            at: folder.path("demo.mako"),
            entities: [Country.self, Zone.self, Overlap.self, Package.self, Section.self, Dependency.self])
        Database.default = database
        try PlacesChapter.run(database)
        try PackagesChapter.run(database)
        try TransactionChapter.run(database)
        try await EventChapter.run(database)
        try await database.close()
        try MigrationChapter.run(folder)
        try CrashChapter.run(folder)
        Stage.title("That was it")
        if let kept = folder.keptPath {
            Stage.say("The files are in \(kept). Look into them with\n\n    swift run mako-cli shell \(kept)/demo.mako")
        } else {
            Stage.say(
                """
                Next: 'make demo KEEP=demo-files' keeps the files, and 'swift run mako-cli shell \
                demo-files/demo.mako' asks them anything; 'make demo DATA=file.csv' does the same with a table of your \
                own; README.md shows the thirty lines that a program of your own begins with.
                """)
        }
    }
}

/// The options of the command line.
struct Arguments {
    var dataPath: String?
    var keepPath: String?
    /// Set in the process that the crash chapter starts and kills.
    var childPath: String?
    /// Set by the test of the README.
    var runsReadmeExample = false

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments)[...]
        while let option = rest.popFirst() {
            switch option {
            case "--data": dataPath = try Self.value(of: option, &rest)
            case "--keep": keepPath = try Self.value(of: option, &rest)
            case "--readme-example": runsReadmeExample = true
            case Bank.childOption: childPath = try Self.value(of: option, &rest)
            default: throw DemoError("unknown option \(option); there are --data FILE and --keep FOLDER")
            }
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst(), !value.isEmpty else { throw DemoError("\(option) needs a path") }
        return value
    }
}

struct DemoError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The folder of the demo's files, which is removed at the end unless the user named it.
struct Folder {
    let keptPath: String?
    let root: String

    init(keeping path: String?) throws {
        keptPath = path
        root = path ?? NSTemporaryDirectory() + "mako-demo-\(ProcessInfo.processInfo.processIdentifier)"
        // A second tour starts with new files, but deletes only those of an earlier tour.
        for name in ["demo.mako", "notes.mako", "bank.mako", "own.mako"] {
            for file in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            where file == name || file.hasPrefix(name + "-") {
                try FileManager.default.removeItem(atPath: root + "/" + file)
            }
        }
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { root + "/" + name }

    func removeUnlessKept() {
        if keptPath == nil { try? FileManager.default.removeItem(atPath: root) }
    }
}
