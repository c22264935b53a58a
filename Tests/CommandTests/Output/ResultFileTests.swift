import Foundation
import MakoStorage
import Testing

/// Files that the program creates, replaces and removes.
@Suite struct ResultFileTests {
    private let program: BuiltProgram

    init() throws {
        program = try BuiltProgram()
        try program.write("id,name\n1,Ada\n2,Bob\n", to: "people.csv")
        try program.write("id,name\n1,Ada\n1,Bob\n", to: "twice.csv")
    }

    private func mako(_ arguments: String..., input: String = "") throws -> BuiltProgram.Outcome {
        try program.run(arguments, input: input)
    }

    @Test func aFailedImportRemovesNothingThatItDidNotCreate() throws {
        let others = ["new.mako-old", "new.mako-wal-notes.txt", "new.mako-new", "new.mako-wal-"]
        for name in others { try program.write("precious", to: name) }
        let before = try program.files
        #expect(try mako("import", "twice.csv", "new.mako").status == 65)
        #expect(try program.files == before)
        for name in others {
            #expect(try String(contentsOfFile: program.folder + name, encoding: .utf8) == "precious")
        }
    }

    @Test func anOrphanLogStaysAndIsRefused() throws {
        try program.write("precious", to: "new.mako-wal-7")
        let before = try program.files
        for source in ["people.csv", "twice.csv"] {
            let refused = try mako("import", source, "new.mako")
            #expect(refused.status == 1 && refused.errors.contains("new.mako-wal-7 is there without the database"))
            #expect(try program.files == before)
        }
    }

    @Test func aDatabaseThatExistsStaysWhenAnImportFails() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        try program.write("", to: "empty.mako")
        for name in ["a.mako", "empty.mako"] {
            #expect(try mako("import", "twice.csv", name).status == 65)
            #expect(try program.files.contains(name))
        }
        #expect(try mako("check", "a.mako").output.hasPrefix("a.mako is whole: 1 table, 2 rows"))
        #expect(try program.files == ["a.mako", "empty.mako", "people.csv", "twice.csv"])
    }

    /// A second import creates the database while the first one reads: both are in it.
    @Test func twoImportsMakeOneDatabase() throws {
        let process = try program.process(["import", "-", "new.mako", "-t", "first", "-f", "csv"])
        let input = Pipe()
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("a\n1\n".utf8))
        let second = try program.process(["import", "people.csv", "new.mako", "-t", "second"])
        second.standardOutput = FileHandle.nullDevice
        try second.run()
        try input.fileHandleForWriting.close()
        for process in [process, second] {
            process.waitUntilExit()
            #expect(process.terminationStatus == 0 || process.terminationStatus == 75)
        }
        let whole = process.terminationStatus == 0 && second.terminationStatus == 0
        #expect(try mako("check", "new.mako").output.contains(whole ? "2 tables, 3 rows" : "1 table"))
        #expect(try program.files == ["new.mako", "people.csv", "twice.csv"])
    }

    /// Interrupted while it stores, an import leaves neither a database nor a copy of its input.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func anInterruptedImportLeavesNothing(signal: Int32) throws {
        let lines = (0..<200_000).map { "{\"a\": \($0)}\n" }.joined()
        let outcome = try program.run(
            ["import", "-", "new.mako", "-t", "t", "-f", "jsonl"], input: lines,
            during: { process in
                // The directory in which the database is built shows that storing has begun.
                while process.isRunning, try !program.files.contains(where: { $0.hasPrefix(".mako-") }) { usleep(2000) }
                usleep(20_000)
                kill(process.processIdentifier, signal)
            })
        #expect(outcome.status == signal && outcome.output.isEmpty)
        #expect(try program.files == ["people.csv", "twice.csv"])
    }

    /// Interrupted while it writes, a command leaves no part of its result, and the database as it was.
    @Test func anInterruptedCopyLeavesNothing() throws {
        try program.write("id,name\n" + (0..<60_000).map { "\($0),row \($0)\n" }.joined(), to: "many.csv")
        #expect(try mako("import", "many.csv", "a.mako").status == 0)
        try program.write(String(repeating: "07", count: 32), to: "key")
        #expect(try mako("backup", "a.mako", "backup.mako").status == 0)
        let before = try program.files
        for arguments in [
            ["backup", "a.mako", "b.mako"], ["backup", "a.mako", "b.mako", "--compact"], ["compact", "a.mako"],
            ["salvage", "a.mako", "b.mako"], ["restore", "backup.mako", "--to", "b.mako"],
        ] {
            let outcome = try program.run(
                arguments,
                during: { process in
                    while process.isRunning, try !program.files.contains(where: { $0.contains("-new-") }) {
                        usleep(200)
                    }
                    if process.isRunning { kill(process.processIdentifier, SIGINT) }
                })
            #expect(outcome.status == SIGINT || outcome.status == 0, "\(arguments): \(outcome)")
            try? FileManager.default.removeItem(atPath: program.folder + "b.mako")
            #expect(try program.files == before, "\(arguments)")
            #expect(try mako("check", "a.mako").output.hasPrefix("a.mako is whole: 1 table, 60,000 rows"))
        }
    }

    /// The copy of what can be read once only has no name.
    @Test func inputThatComesOnceIsCopiedWithoutAName() throws {
        let process = try program.process(["import", "-", "new.mako", "-t", "t", "-f", "csv"])
        let input = Pipe()
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(("a\n" + String(repeating: "1\n", count: 1 << 20)).utf8))
        #expect(try program.files == ["people.csv", "twice.csv"])
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(try process.terminationStatus == 0 && program.files == ["new.mako", "people.csv", "twice.csv"])

        #expect(mkfifo(program.folder + "pipe.csv", 0o600) == 0)
        let piped = try program.process(["import", "pipe.csv", "new.mako", "-t", "piped"])
        piped.standardOutput = FileHandle.nullDevice
        try piped.run()
        try Data("a\n1\n2\n".utf8).write(to: URL(fileURLWithPath: program.folder + "pipe.csv"))
        piped.waitUntilExit()
        #expect(try mako("query", "new.mako", "SELECT count(*) FROM piped", "-f", "csv").output == "count(*)\n2\n")
    }

    @Test func aLinkStaysAndItsTargetIsWritten() throws {
        let manager = FileManager.default
        try manager.createDirectory(atPath: program.folder + "d", withIntermediateDirectories: true)
        try manager.createSymbolicLink(atPath: program.folder + "link.mako", withDestinationPath: "d/real.mako")
        #expect(try mako("import", "people.csv", "link.mako").status == 0)
        #expect(try manager.destinationOfSymbolicLink(atPath: program.folder + "link.mako") == "d/real.mako")
        #expect(try mako("check", "d/real.mako").output.contains("1 table, 2 rows"))
        try manager.createSymbolicLink(atPath: program.folder + "out.csv", withDestinationPath: "d/real.csv")
        #expect(try mako("export", "link.mako", "people", "-o", "out.csv").status == 64)
        #expect(try mako("export", "link.mako", "people", "-o", "out.csv", "--overwrite").status == 0)
        #expect(try manager.destinationOfSymbolicLink(atPath: program.folder + "out.csv") == "d/real.csv")
        #expect(try manager.contentsOfDirectory(atPath: program.folder + "d").sorted() == ["real.csv", "real.mako"])
        try manager.createSymbolicLink(atPath: program.folder + "circle.mako", withDestinationPath: "circle.mako")
        #expect(try mako("import", "people.csv", "circle.mako").errors.contains("leads round in a circle"))
    }

    /// Sizes, and what a database's files are, are those of the file that a link leads to.
    @Test func aLinkIsAsLargeAsItsTarget() throws {
        let manager = FileManager.default
        try manager.createDirectory(atPath: program.folder + "d", withIntermediateDirectories: true)
        try program.write(
            "id,name\n" + (0..<2000).map { "\($0),row \($0)\n" }.joined(), to: "d/many.csv")
        for (link, target) in [("link.mako", "d/real.mako"), ("many.csv", "d/many.csv")] {
            try manager.createSymbolicLink(atPath: program.folder + link, withDestinationPath: target)
        }
        #expect(try mako("import", "many.csv", "link.mako").status == 0)
        let size = try mako("info", "d/real.mako").output.split(separator: "\n").first { $0.contains("size") }
        #expect(try mako("info", "link.mako").output.contains(try #require(size)))
        let compacted = try mako("compact", "link.mako").output
        #expect(compacted.hasPrefix("link.mako: ") && !compacted.contains(" 0 bytes"), "\(compacted)")

        let store = try Store(at: program.folder + "d/real.mako")
        defer { try? store.close() }
        try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
        #expect(try mako("info", "link.mako").output.contains(" of log"))
        let log: String = try #require(
            try manager.contentsOfDirectory(atPath: program.folder + "d").first { $0.hasPrefix("real.mako-wal-") })
        let refused = try mako("export", "link.mako", "many", "-o", "d/" + log, "--overwrite")
        #expect(refused.status == 64 && refused.errors.contains("is the database itself, or its log"), "\(refused)")
    }

    @Test func anExportIsWholeOrNotThere() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        try program.write("precious", to: "kept.csv")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: program.folder + "kept.csv")
        #expect(try mako("export", "a.mako", "people", "-o", "kept.csv").status == 64)
        #expect(try mako("export", "a.mako", "people", "-o", "none/x.csv").status == 74)
        #expect(try mako("export", "a.mako", "people", "-o", "kept.csv", "--overwrite").status == 0)
        #expect(try String(contentsOfFile: program.folder + "kept.csv", encoding: .utf8) == "id,name\n1,Ada\n2,Bob\n")
        #expect(try program.mode(of: "kept.csv") == 0o640)
        #expect(try program.files == ["a.mako", "kept.csv", "people.csv", "twice.csv"])
        let devices = try mako("export", "a.mako", "people", "-o", "/dev/stdout", "-f", "csv")
        #expect(devices.status == 0 && devices.output.hasPrefix("id,name\n1,Ada\n2,Bob\n"))
    }

    /// `-o /dev/stdout >> FILE` appends, as without the option.
    @Test(arguments: ["/dev/stdout", "/dev/fd/1"]) func aStreamIsWrittenAtItsPosition(_ name: String) throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        try program.write("precious\n", to: "log.txt")
        let process = try program.process(["export", "a.mako", "people", "-o", name, "-f", "csv"])
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: program.folder + "log.txt"))
        try log.seekToEnd()
        process.standardOutput = log
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOfFile: program.folder + "log.txt", encoding: .utf8)
        #expect(process.terminationStatus == 0 && text == "precious\nid,name\n1,Ada\n2,Bob\n")
    }

    #if os(Linux)
        /// A file in the memory below /dev is a file like any other.
        @Test func aFileBelowDevIsNoDevice() throws {
            #expect(try mako("import", "people.csv", "a.mako").status == 0)
            let path = "/dev/shm/mako-\(UUID().uuidString).csv"
            defer { unlink(path) }
            try String(repeating: "x", count: 100).write(toFile: path, atomically: false, encoding: .utf8)
            #expect(try mako("export", "a.mako", "people", "-o", path).status == 64)
            #expect(try mako("export", "a.mako", "people", "-o", path, "--overwrite").status == 0)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "id,name\n1,Ada\n2,Bob\n")
        }
    #endif

    @Test func aStatementThatFailsLeavesNoLog() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        #expect(try mako("query", "a.mako", "UPDATE people SET none = 1").status == 65)
        #expect(try mako("query", "a.mako", "INSERT INTO people VALUES (1, 'x')").status == 65)
        #expect(try mako("import", "twice.csv", "a.mako", "--table", "people").status == 65)
        #expect(try program.files == ["a.mako", "people.csv", "twice.csv"])
    }

    /// Only log files of the database are its log.
    @Test func theDatabaseAndItsLogAreNoOutput() throws {
        let store = try Store(at: program.folder + "a.mako")
        defer { try? store.close() }
        try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
        let log: String = try #require(try program.files.first { $0.hasPrefix("a.mako-wal-") })
        for name in ["a.mako", log] {
            let refused = try mako("export", "a.mako", "t", "-o", name, "--overwrite")
            #expect(refused.status == 64 && refused.errors.contains("is the database itself, or its log"))
        }
        // A log that the database may get later.
        for name in ["a.mako-wal-7", "./a.mako-wal-18446744073709551615", program.folder + "a.mako-wal-0"] {
            let refused = try mako("export", "a.mako", "t", "-o", name)
            #expect(refused.status == 64 && refused.errors.contains("is the database itself, or its log"), "\(refused)")
        }
        try program.write(String(repeating: "x", count: 5_000_000), to: "a.mako-notes")
        #expect(try !mako("info", "a.mako").output.contains("5 MB"))
    }

    /// Only header, metas and bitmaps are left of the file: no table is found, which does not mean that there was none.
    @Test func aSalvageOfTheStartOfAFileIsNotWhole() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        #expect(truncate(program.folder + "a.mako", 9 * 4096) == 0)
        let saved = try mako("salvage", "a.mako", "b.mako")
        #expect(saved.status == 1 && saved.output.contains("tables and rows may be missing"), "\(saved)")
        #expect(!saved.output.contains("Nothing is lost"))
    }

    /// A database must not get the number of standard output.
    @Test func closedStreamsAreNoFiles() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        let location: URL = try #require(try program.process([]).executableURL)
        for (command, status) in [
            ("import people.csv a.mako --table more >&-", 74), ("query a.mako 'DELETE FROM more' >&-", 74),
            ("import - a.mako --table none --format csv <&-", 65), ("shell a.mako <&- >&-", 65),
            ("check a.mako 2>&-", 0),
        ] {
            let process = try program.process([])
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "exec '\(location.path)' \(command)"]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == Int32(status), "\(command)")
            #expect(try mako("check", "a.mako").status == 0, "\(command)")
        }
    }

    @Test func namesThatAreNone() throws {
        for path in ["", "d/"] {
            for arguments in [
                ["import", "people.csv", path], ["shell", path], ["check", path], ["query", path, "SELECT a FROM t"],
            ] {
                let refused = try program.run(arguments)
                #expect(
                    refused.status == 64 && refused.errors.contains("'\(path)' is not the name of a file"),
                    "\(arguments)")
            }
        }
        #expect(try program.files == ["people.csv", "twice.csv"])
        #expect(try mako("import", "people.csv", "a.mako", "--table", "mako_store").status == 65)
        #expect(try mako("import", "people.csv", "a.mako", "--format", "tsv", "--delimiter", ";").status == 64)
        #expect(try program.files == ["people.csv", "twice.csv"])
    }

    /// A pipe, as a device, looks like an empty file: it is neither replaced by a database nor waited for.
    @Test func aPipeIsNoDatabase() throws {
        #expect(try mako("import", "people.csv", "a.mako").status == 0)
        #expect(mkfifo(program.folder + "pipe", 0o600) == 0)
        for arguments in [
            ["import", "people.csv", "pipe"], ["shell", "pipe"], ["info", "pipe"], ["check", "pipe"],
            ["compact", "pipe"],
            ["backup", "pipe", "b.mako"], ["backup", "a.mako", "b.mako", "--since", "pipe"],
            ["salvage", "pipe", "b.mako"],
            ["restore", "pipe", "--to", "b.mako"], ["page", "pipe", "0"], ["query", "pipe", "DELETE FROM t"],
        ] {
            let refused = try program.run(arguments)
            #expect(
                refused.status == 65 && refused.errors.contains("it is a device, a pipe or a socket"),
                "\(arguments): \(refused)")
        }
        let kind = try FileManager.default.attributesOfItem(atPath: program.folder + "pipe")[.type]
        #expect(kind as? FileAttributeType != .typeRegular)
        #expect(try program.files == ["a.mako", "people.csv", "pipe", "twice.csv"])
        #expect(try mako("export", "a.mako", "people", "-o", "").errors.contains("'' is not the name of a file"))
    }

    /// The size limit of files simulates a full disk.
    @Test func anExportThatFailsLeavesNothing() throws {
        let lines = (0..<20_000).map { "\($0),row \($0)\n" }.joined()
        try program.write("id,name\n" + lines, to: "many.csv")
        #expect(try mako("import", "many.csv", "a.mako").status == 0)
        let process = try program.process([])
        let location: URL = try #require(process.executableURL)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "trap '' XFSZ; ulimit -f 8; exec '\(location.path)' export a.mako many -o out.csv 2>errors",
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 74)
        #expect(
            try String(contentsOfFile: program.folder + "errors", encoding: .utf8).contains("out.csv cannot be written")
        )
        #expect(try program.files == ["a.mako", "errors", "many.csv", "people.csv", "twice.csv"])
    }
}
