import Foundation
import MakoCommand
import MakoRecords
import MakoStorage
import Testing

/// The shell as a process: scripts, signals, terminals.
@Suite struct ShellProgramTests {
    private let program: BuiltProgram

    init() throws { program = try BuiltProgram() }

    private func shell(_ input: String, _ arguments: String...) throws -> BuiltProgram.Outcome {
        try program.run(["shell", "a.mako", "--format", "csv"] + arguments, input: input)
    }

    private func count(_ table: String = "t") throws -> String {
        try program.run(["query", "a.mako", "SELECT count(*) FROM \(table)", "-f", "csv"]).output
    }

    @Test func scriptsMakeADatabaseAndCloseIt() throws {
        let made = try shell("CREATE TABLE t (a TEXT);\nINSERT INTO t (a)\nVALUES ('x;'), ('é\r\n');\n")
        #expect(made.status == 0 && made.errors == "a.mako did not exist; it is a new, empty database\n")
        #expect(try program.files == ["a.mako"])
        #expect(try shell("SELECT a FROM t").output == "a\nx;\n\"é\r\n\"\n")
        #expect(try program.run(["a.mako", "-f", "csv"], input: "SELECT count(*) FROM t").output == "count(*)\n2\n")
        #expect(try program.run(["shell", "b.mako", "--read-only"], input: "").status == 66)
        #expect(try program.files == ["a.mako"])
    }

    @Test func aScriptStopsAtTheFirstFailure() throws {
        let script = "CREATE TABLE t (a TEXT);\nINSERT INTO t (a) VALUES ('x');\nDELETE FROM tt;\nDELETE\nFROM t;\n"
        let stopped = try shell(script)
        #expect(stopped.status == 65 && stopped.errors.contains("mako: line 3: there is no table tt"))
        #expect(try count() == "count(*)\n1\n")
        #expect(try program.files == ["a.mako"])
        let gone = try shell("DELETE FROM tt;\nDELETE\nFROM t;\n", "--keep-going")
        #expect(gone.status == 65 && gone.output == "1 row changed\n")
        #expect(try shell("SELECT 1 FROM t;\n.nothing\n").status == 65)
    }

    /// A shell that can only read says why, as `query` does.
    @Test func aRefusedStatementSaysWhy() throws {
        _ = try shell("CREATE TABLE t (a TEXT);")
        for statement in ["INSERT INTO t (a) VALUES ('x');", "BEGIN;"] {
            let reading = try shell(statement, "--read-only")
            #expect(reading.status == 64 && reading.errors.contains("leave --read-only out"), "\(reading)")
        }
        let store = try Store(at: program.folder + "a.mako")
        defer { try? store.close() }
        for statement in ["INSERT INTO t (a) VALUES ('x');", "BEGIN;"] {
            let used = try shell("SELECT count(*) FROM t;\n" + statement)
            #expect(used.status == 75 && used.output == "count(*)\n0\n", "\(used)")
            #expect(used.errors.hasPrefix("mako: line 2: "), "\(used)")
            #expect(used.errors.contains("a.mako is in use elsewhere"), "\(used)")
        }
    }

    /// Other programs mark UTF-8 by a byte order mark, which is no part of the first statement.
    @Test func aScriptMayBeginWithAByteOrderMark() throws {
        let made = try shell("\u{FEFF}CREATE TABLE t (a TEXT);\nINSERT INTO t (a) VALUES ('x');\n")
        #expect(made.status == 0 && made.output == "done\n1 row changed\n", "\(made)")
        let read = try shell("\u{FEFF}.mode csv\nSELECT a FROM t;")
        #expect(read.output == "a\nx\n", "\(read)")
    }

    @Test func aScriptMustBeUTF8() throws {
        try Data([UInt8(ascii: "-"), 0xFF, 10]).write(to: URL(fileURLWithPath: program.folder + "latin.sql"))
        let process = try program.process(["shell", "a.mako"])
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: program.folder + "latin.sql"))
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 65 && text.contains("standard input, line 1: is not UTF-8 text"))
    }

    @Test func aDumpIsAScript() throws {
        _ = try shell(
            "CREATE TABLE \"a;\n'b\" (x TEXT NOT NULL, \"/*\" REAL, d DATE, u UUID, b BLOB, f BOOLEAN);\nCREATE INDEX i ON \"a;\n'b\" (x DESC);"
                + "INSERT INTO \"a;\n'b\" (rowid, x, \"/*\", d, u, b, f) VALUES (1, ';--\n''', -0.0, '2001-01-01 00:00:00.5', NULL, x'00ff', TRUE), (-5, '', 9e999, NULL, NULL, NULL, FALSE), (2, 'NaN', 9e999 - 9e999, NULL, NULL, NULL, NULL);"
        )
        let dump = try program.run(["dump", "a.mako"]).output
        #expect(dump.contains("VALUES (2, 'NaN', (9e999 - 9e999), NULL"), "\(dump)")
        let copied = try program.run(["shell", "b.mako"], input: dump)
        #expect(copied.status == 0 && copied.errors.hasPrefix("b.mako did not exist"), "\(copied)")
        #expect(
            try program.run(["dump", "b.mako"]).output.split(separator: "\n").dropFirst()
                == dump.split(separator: "\n").dropFirst())
        let read = try program.run(
            ["shell", "b.mako"], input: ".mode csv\nSELECT \"/*\" AS n FROM \"a;\n'b\" WHERE x = 'NaN';")
        #expect(read.output == "n\nNaN\n", "\(read)")
    }

    /// SIGTERM ends a script; what it has done is there, and the database is closed.
    @Test func aSignalClosesTheDatabase() throws {
        let process = try program.process(["shell", "a.mako"])
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("CREATE TABLE t (a TEXT);\nDELETE FROM t".utf8))
        #expect(output.fileHandleForReading.availableData == Data("done\n".utf8))
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGTERM)
        #expect(try program.files == ["a.mako"])
        #expect(try program.run(["check", "a.mako"]).status == 0)
    }

    @Test func aReaderThatGoesAwayEndsTheProgram() throws {
        let rows = (0..<3000).map { "('row \($0)')" }.joined(separator: ", ")
        let doubled = "INSERT INTO t (a) SELECT a FROM t;\n"
        _ = try shell("CREATE TABLE t (a TEXT);\nINSERT INTO t (a) VALUES \(rows);\n\(doubled)\(doubled)\(doubled)")
        try program.write(String(repeating: "SELECT a FROM t;\n", count: 3), to: "script.sql")
        for arguments in [["export", "a.mako", "t"], ["dump", "a.mako"], ["shell", "a.mako"]] {
            let process = try program.process(arguments)
            let output = Pipe()
            process.standardInput = try FileHandle(
                forReadingFrom: URL(fileURLWithPath: program.folder + "script.sql"))
            process.standardOutput = output
            try process.run()
            try output.fileHandleForReading.close()
            process.waitUntilExit()
            #expect(
                process.terminationStatus == SIGPIPE && process.terminationReason == .uncaughtSignal, "\(arguments)")
        }
        #expect(try program.files == ["a.mako", "script.sql"])
    }

    #if os(Linux)
        @Test func outputThatIsLostIsAFailure() throws {
            _ = try shell("CREATE TABLE t (a TEXT);\nINSERT INTO t (a) VALUES ('x');")
            for arguments in [
                ["query", "a.mako", "SELECT a FROM t"], ["export", "a.mako", "t"], ["dump", "a.mako"],
                ["info", "a.mako"],
                ["check", "a.mako"], ["export", "a.mako", "t", "-o", "/dev/full"],
            ] {
                let outcome = try program.run(arguments, outputPath: "/dev/full")
                #expect(outcome.status == 74 && outcome.errors.contains("No space left"), "\(arguments): \(outcome)")
                #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
            }
        }

        // MARK: On a terminal

        /// A process whose standard streams are a terminal.
        private final class Session {
            let process: Process
            private let main: FileHandle
            private var shown = ""
            private(set) var transcript = ""

            init(_ program: BuiltProgram, _ arguments: [String]) throws {
                let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
                // Unlocks the terminal and gets its number: TIOCSPTLCK and TIOCGPTN of Linux.
                var (lock, number) = (Int32(0), Int32(0))
                let isOpen =
                    descriptor >= 0 && ioctl(descriptor, 0x4004_5431, &lock) == 0
                    && ioctl(descriptor, 0x8004_5430, &number) == 0
                try #require(isOpen)
                let name = "/dev/pts/\(number)"
                main = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                let terminal = try #require(FileHandle(forUpdatingAtPath: name))
                process = try program.process(arguments)
                process.standardInput = terminal
                process.standardOutput = terminal
                process.standardError = terminal
                try process.run()
                // The program alone keeps it open from here on.
                try terminal.close()
            }

            func type(_ text: String) throws { try main.write(contentsOf: Data(text.utf8)) }

            /// Reads until the text is shown behind what was waited for before; false at the end of the output.
            func wait(for text: String) -> Bool {
                while true {
                    if let range = shown.range(of: text) {
                        shown = String(shown[range.upperBound...])
                        return true
                    }
                    // Reads what is there, without filling the buffer: the end of a terminal is an error.
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    let count = read(main.fileDescriptor, &bytes, bytes.count)
                    guard count > 0 else { return false }
                    shown += String(decoding: bytes[..<count], as: UTF8.self)
                    transcript += String(decoding: bytes[..<count], as: UTF8.self)
                }
            }
        }

        @Test func controlCharactersAreShownOnATerminal() throws {
            _ = try shell("CREATE TABLE t (a TEXT);\nINSERT INTO t (a) VALUES ('\u{1B}]0;title\u{7}');")
            for arguments in [
                ["export", "a.mako", "t"], ["export", "a.mako", "t", "-f", "jsonl"], ["dump", "a.mako"],
                ["query", "a.mako", "SELECT a FROM t"],
                ["explain", "a.mako", "SELECT a FROM t WHERE a = '\u{1B}]0;title\u{7}'"],
                ["query", "a.mako", "SELECT '\u{1B}]0;title\u{7}' FROM tt"],
            ] {
                let session = try Session(program, arguments)
                // To the end of the output.
                _ = session.wait(for: "\u{0}")
                session.process.waitUntilExit()
                #expect(session.transcript.contains("]0;title") || arguments[0] == "explain", "\(arguments)")
                #expect(
                    !session.transcript.contains("\u{7}") && !session.transcript.contains("\u{1B}]"), "\(arguments)")
            }
            #expect(try program.run(["export", "a.mako", "t"]).output.contains("\u{1B}]0;title\u{7}"))
            let message = try program.run(["query", "a.mako", "SELECT '\u{1B}]0;title\u{7}' FROM tt"]).errors
            #expect(!message.contains("\u{1B}") && message.contains("\\x1b]0;title\\x07"))
        }

        /// Errors for arguments repeat them.
        @Test func controlCharactersOfArgumentsAreShown() throws {
            let title = "\u{1B}]0;title\u{7}"
            for arguments in [
                ["info", "a.mako", "--\(title)"], ["info", "a.mako", "--format", title], ["page", "a.mako", title],
                ["info", "a.mako", "t", title], [title], ["--\(title)"], ["help", title],
            ] {
                let outcome = try program.run(arguments)
                let shown = outcome.errors + outcome.output
                #expect(!shown.contains("\u{1B}") && !shown.contains("\u{7}"), "\(outcome)")
                #expect(outcome.status == 64 || arguments[0] == "help", "\(arguments): \(outcome)")
            }
            let refused = try program.run(["info", "a.mako", "--\(title)"])
            #expect(refused.errors.hasPrefix("Error: Unknown option '--\\x1b]0;title\\x07'\nUsage: "), "\(refused)")
            let help = try program.run(["help", "import"])
            #expect(help.status == 0 && help.errors.isEmpty && help.output.contains("USAGE: mako import"))
            #expect(try program.run(["--version"]).output == MakoVersion.current + "\n")
            #expect(try program.run(["help"], outputPath: "/dev/full").status == 74)
        }

        @Test func aSignalCancelsTheStatementAndKeepsThePrompt() throws {
            _ = try shell("CREATE TABLE t (a TEXT);")
            let rows = (0..<3000).map { "('\($0)')" }.joined(separator: ", ")
            _ = try shell("INSERT INTO t (a) VALUES \(rows);")
            let session = try Session(program, ["shell", "a.mako"])
            #expect(session.wait(for: "mako> "))
            try session.type("SELECT count(*) FROM t x, t y, t z WHERE x.a || y.a || z.a = 'no';\r")
            #expect(session.wait(for: "\r\n"))
            Thread.sleep(forTimeInterval: 0.3)
            kill(session.process.processIdentifier, SIGINT)
            #expect(session.wait(for: "the query was cancelled"))
            #expect(session.wait(for: "mako> "))
            // Ctrl-C discards the lines of an unfinished statement, and Ctrl-D does not run it.
            try session.type("DELETE FROM t\r")
            #expect(session.wait(for: " ...> "))
            try session.type("\u{3}")
            #expect(session.wait(for: "mako> "))
            try session.type("DELETE FROM t\r")
            #expect(session.wait(for: " ...> "))
            try session.type("\u{4}")
            session.process.waitUntilExit()
            #expect(session.process.terminationStatus == 0)
            #expect(try count() == "count(*)\n3000\n")
            #expect(try program.files == [".mako_history", "a.mako"] && program.mode(of: ".mako_history") == 0o600)
        }
    #endif
}
