import Foundation
import Mako
import Synchronization
import Testing

@testable import ReadingLog

/// The program, by its arguments, output and exit status. Each command opens the file anew.
@Suite struct ReadingLogTests {
    /// The lines that a command has written so far.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Runs commands on the file of a folder of its own.
    private struct Bench: Sendable {
        let folder: URL
        var path: String { folder.appendingPathComponent("reading.mako").path }

        /// Returns the lines of a command that must succeed.
        func output(_ arguments: String...) async -> [String] {
            let output = Lines()
            let errors = Lines()
            let status = await Reading.run(arguments + ["--file", path]) { line, stream in
                stream == .output ? output.append(line) : errors.append(line)
            }
            #expect(status == 0 && errors.all.isEmpty, "\(arguments): \(status) \(errors.all)")
            return output.all
        }

        /// Returns status and message of a command that must fail and write nothing else.
        func failure(_ arguments: String..., file: String? = nil) async -> (status: Int32, message: String) {
            let output = Lines()
            let errors = Lines()
            let status = await Reading.run(arguments + ["--file", file ?? path]) { line, stream in
                stream == .output ? output.append(line) : errors.append(line)
            }
            #expect(output.all.isEmpty)
            return (status, errors.all.joined(separator: "\n"))
        }
    }

    private func withBench(_ body: (Bench) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reading-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(Bench(folder: folder))
    }

    private static let tides = "1  Tides, Ada, 200 pages, unread"
    private static let rivers = "2  Rivers, Bo, 90 pages, unread"
    private static let clouds = "3  Clouds, Ada, 300 pages, unread"

    /// Adds three books, by two authors.
    private func addBooks(_ bench: Bench) async {
        let moon = "How the moon moves the sea."
        #expect(
            await bench.output("add", "Tides", "--author", "Ada", "--pages", "200", "--notes", moon) == [Self.tides])
        #expect(await bench.output("add", "Rivers", "--author", "Bo", "--pages", "90") == [Self.rivers])
        #expect(await bench.output("add", "Clouds", "--author", "Ada", "--pages", "300") == [Self.clouds])
    }

    @Test func listFiltersSortsAndLimits() async throws {
        try await withBench { bench in
            await addBooks(bench)
            let files = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
            #expect(files == ["reading.mako"])  // the last command has closed the file: no log
            #expect(await bench.output("list") == [Self.tides, Self.rivers, Self.clouds])
            #expect(await bench.output("list", "--author", "Ada") == [Self.tides, Self.clouds])
            #expect(await bench.output("list", "--sort", "title") == [Self.clouds, Self.rivers, Self.tides])
            #expect(await bench.output("list", "--sort", "author") == [Self.clouds, Self.tides, Self.rivers])
            #expect(await bench.output("list", "--sort", "pages", "--limit", "2") == [Self.clouds, Self.tides])
        }
    }

    @Test func finishedBooksAreCountedByAuthor() async throws {
        try await withBench { bench in
            await addBooks(bench)
            #expect(await bench.output("stats") == [])
            let finished = "1  Tides, Ada, 200 pages, finished 2026-03-31"
            #expect(await bench.output("done", "1", "--on", "2026-03-31") == [finished])
            _ = await bench.output("done", "2")
            _ = await bench.output("done", "3")
            #expect(await bench.output("list", "--unread") == [])
            #expect(await bench.output("list", "--limit", "1") == [finished])
            #expect(await bench.output("stats") == ["Ada: books 2, pages 500", "Bo: books 1, pages 90"])
        }
    }

    @Test func searchFindsWordsOfTitleAndNotes() async throws {
        try await withBench { bench in
            await addBooks(bench)
            #expect(await bench.output("search", "MOON") == [Self.tides])
            #expect(await bench.output("search", "tides", "sea") == [Self.tides])  // one in the title, one in the notes
            #expect(await bench.output("search", "moon", "rivers") == [])
            #expect(await bench.output("search", "\"moon (") == [Self.tides])
        }
    }

    /// Another opening of the file writes while `watch` reads it.
    @Test(.timeLimit(.minutes(1))) func watchWritesWhatOtherCommandsChange() async throws {
        try await withBench { bench in
            _ = await bench.output("add", "Tides", "--author", "Ada", "--pages", "200")
            let lines = Lines()
            let arguments = ["watch", "--changes", "2", "--file", bench.path]
            async let status = Reading.run(arguments) { line, _ in lines.append(line) }
            while lines.all.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            _ = await bench.output("done", "1")
            _ = await bench.output("add", "Rivers", "--author", "Bo", "--pages", "90")
            #expect(await status == 0)
            #expect(lines.all == ["  \(Self.tides)", "- \(Self.tides)", "+ \(Self.rivers)"])
        }
    }

    @Test func errorsHaveAMessageAndAStatus() async throws {
        try await withBench { bench in
            let none = await bench.failure("list")
            #expect(none.status == 66 && none.message.hasPrefix("Error: no database at "), "\(none)")
            await addBooks(bench)
            let unknown = await bench.failure("done", "7")
            #expect(unknown.status == 66 && unknown.message == "Error: there is no book with key 7", "\(unknown)")
            for day in ["2026-02-30", "2026-3-1", "yesterday", "2026-03-31T10:00:00Z"] {
                let broken = await bench.failure("done", "1", "--on", day)
                #expect(broken.status == 64 && broken.message.contains("'\(day)' is invalid"), "\(broken)")
            }
            let negative = await bench.failure("add", "Clouds", "--author", "Ada", "--pages=-1")
            #expect(negative.status == 64 && negative.message.contains("no negative number of pages"), "\(negative)")
            let missing = bench.folder.appendingPathComponent("none/reading.mako").path
            let lost = await bench.failure("add", "Clouds", "--author", "Ada", file: missing)
            #expect(lost.status == 74 && lost.message.contains("its directory does not exist"), "\(lost)")
            #expect(await bench.output("list") == [Self.tides, Self.rivers, Self.clouds])
        }
    }

    /// A file that another program has open for writing can be read, and a second writer is refused.
    @Test func aFileInUseIsReadButNotWritten() async throws {
        try await withBench { bench in
            await addBooks(bench)
            let other = try Database(
                at: bench.path, entities: [Book.self], options: DatabaseOptions(cacheBytes: 3 << 20))
            #expect(await bench.output("list", "--limit", "1") == [Self.tides])
            let refused = await bench.failure("done", "1")
            #expect(refused.status == 75 && refused.message.contains("is open already"), "\(refused)")
            try await other.close()
        }
    }
}
