import Foundation

/// The tour on a file of the user's. There is no Swift class for it, so the program `mako` shows its content.
enum OwnFile {
    static func tour(_ source: String, keeping path: String?) throws {
        guard FileManager.default.isReadableFile(atPath: source) else {
            throw DemoError("\(source) is not there or cannot be read")
        }
        let folder = try Folder(keeping: path)
        defer { folder.removeUnlessKept() }
        let mako = try MakoProgram(folder: folder.root)
        let file = URL(fileURLWithPath: source).path
        let database = "own.mako"
        Stage.title("Your own file: \(source)")
        Stage.say(
            """
            There is no Swift class for it, so this is what the program 'mako' does with any table. It looks at every \
            row to find the types of the columns, then stores all rows in one transaction. Had a line been wrong, it \
            would be named, and nothing stored.
            """)
        try mako.show("import", file, database, "--table", "data")
        try mako.show("info", database, "data")
        try mako.show("query", database, "SELECT * FROM data LIMIT 5")
        let columns = try columns(in: database, mako)
        if let name = try columnToGroupBy(columns, in: database, mako) {
            let statement = "SELECT \(name), count(*) FROM data GROUP BY \(name) ORDER BY count(*) DESC LIMIT 8"
            try mako.show("query", database, statement)
        }
        if let name = columns.first(where: { ["integer", "double"].contains($0.type) && !$0.isKey })?.name {
            try mako.show(
                "query", database, "SELECT count(\(name)), min(\(name)), avg(\(name)), max(\(name)) FROM data")
            try mako.show("explain", database, "SELECT * FROM data WHERE \(name) > 0 ORDER BY \(name) LIMIT 5")
        }
        try mako.show("check", database)
        if let path {
            Stage.say(
                "The database is \(path)/\(database). Ask it anything:\n\n    swift run mako-cli shell \(path)/\(database)"
            )
        } else {
            Stage.say(
                """
                To keep such a database and ask it anything:

                    swift run mako-cli import \(source) my.mako
                    swift run mako-cli shell my.mako
                """)
        }
    }

    private struct Column {
        var name: String
        var type: String
        var isKey: Bool
    }

    private static func columns(in database: String, _ mako: MakoProgram) throws -> [Column] {
        try mako.rows("info", database, "data", "--format", "tsv").compactMap { fields in
            fields.count >= 6 ? Column(name: fields[0], type: fields[1], isKey: fields[5] == "key") : nil
        }
    }

    /// Among the first columns of text, the one with the fewest different values; `nil` if all of them are names.
    private static func columnToGroupBy(_ columns: [Column], in database: String, _ mako: MakoProgram) throws -> String?
    {
        var best: (name: String, groups: Int)?
        for column in columns.prefix(12) where ["text", "bool"].contains(column.type) && !column.isKey {
            let statement = "SELECT \(column.name), count(*) FROM data GROUP BY \(column.name) LIMIT 200"
            let groups = try mako.rows("query", database, statement, "--format", "tsv").count
            if (3..<200).contains(groups), groups < best?.groups ?? .max { best = (column.name, groups) }
        }
        return best?.name
    }
}

/// The program `mako` in the folder of this one.
private struct MakoProgram {
    private let program: URL
    private let folder: String

    init(folder: String) throws {
        let own = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        program = own.deletingLastPathComponent().appendingPathComponent("mako-cli")
        self.folder = folder
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw DemoError("the program mako is not built yet; do so with: swift build --product mako-cli")
        }
    }

    /// Runs it with the output of this process.
    func show(_ arguments: String...) throws {
        let words = arguments.map { $0.contains(" ") || $0.contains("*") ? "\"\($0)\"" : $0 }
        Stage.heading("mako " + words.joined(separator: " "))
        print()
        fflush(nil)
        let process = process(arguments)
        try process.run()
        process.waitUntilExit()
        print()
        guard process.terminationStatus == 0 else { throw DemoError("mako \(arguments[0]) did not succeed") }
    }

    /// Runs it and returns the fields of its output lines, without the header.
    func rows(_ arguments: String...) throws -> [[String]] {
        let process = process(arguments)
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").dropFirst().map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }

    private func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        return process
    }
}
