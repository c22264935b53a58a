import ArgumentParser
import Foundation

struct StudioCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "studio", abstract: "Shows a database in the browser.",
        discussion: """
            Serves a page on this machine alone, at the link that it prints, until Ctrl-C. The database is opened for reading, also beside a program
            that writes it; the page follows what that program commits. With --write rows can be changed, and no other program can write meanwhile.
            Column widths and queries are kept in ~/.mako_studio ($MAKO_STUDIO names another file), not those of encrypted databases.

              mako studio people.mako
              mako restore s3://backups/people then.mako --at 4711 && mako studio people.mako --beside then.mako
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Flag(help: "Lets the page change rows.")
    var write = false

    @Option(
        help: "An earlier copy of the database, a backup or a restored one: rows show what differs from it.",
        completion: .file())
    var beside: String?

    @Option(help: "The port to listen at instead of a free one.")
    var port: UInt16?

    @Flag(inversion: .prefixedNo, help: "Opens the page in the browser.")
    var open = true

    func perform() throws {
        guard let serve = StudioServing.current else {
            throw Failure(
                "this program was built without Mako Studio; build it with 'swift build -c release --traits Studio --product mako-cli'",
                .usage)
        }
        let database = try StudioDatabase(opening: file, access, isWritable: write)
        if let beside { try database.compare(with: DatabaseFile(reading: beside, access)) }
        let opens = open
        Signals.handle { signal in
            database.close()
            Signals.end(by: signal)
        }
        try serve(
            StudioLaunch(database: database, port: port) { link in
                Terminal.write("Mako Studio shows \(file) at\n\n  \(link)\n\nCtrl-C ends it.\n")
                if opens { Self.show(link) }
            })
    }

    /// Opens the link with the system's program, without a shell.
    private static func show(_ link: String) {
        #if os(macOS)
            let opener = "/usr/bin/open"
        #else
            let opener = "/usr/bin/xdg-open"
        #endif
        guard FileManager.default.isExecutableFile(atPath: opener) else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: opener)
        process.arguments = [link]
        process.standardError = FileHandle.nullDevice
        try? process.run()
    }
}

extension StudioDatabase {
    /// Opens an existing file.
    convenience init(opening path: String, _ access: KeyOptions, isWritable: Bool) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw Failure("there is no file \(path)", .noInput)
        }
        let file = try isWritable ? DatabaseFile(writing: path, access) : DatabaseFile(reading: path, access)
        // A passphrase in the environment may be meant for other databases.
        let encryption = file.store.isEncrypted ? try access.encryption() : nil
        self.init(file, isWritable: isWritable, encryption: encryption)
    }
}
