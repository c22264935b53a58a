import Foundation
import Testing

@testable import MakoCommand

/// What pages of Mako Studio remember for the next start.
@Suite struct StudioMemoryTests {
    private func withFile(_ body: (String) throws -> Void) rethrows {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func nothingOfAnEncryptedDatabaseIsKept() {
        withFile { path in
            let memory = StudioMemory(of: "/data/secret.mako", isKept: false, path: path)
            memory.keep("tabs", .string("SELECT name FROM Patient"))
            #expect(memory.values == .object([]))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func theFiftyDatabasesWrittenLastAreKept() {
        withFile { path in
            for number in 0..<60 {
                StudioMemory(of: "/data/\(number).mako", isKept: true, path: path).keep("tab", .integer(Int64(number)))
            }
            let kept = (0..<60).filter { number in
                StudioMemory(of: "/data/\(number).mako", isKept: true, path: path).values != .object([])
            }
            #expect(kept == Array(10..<60))
        }
    }

    @Test func theThemeIsThatOfAllDatabases() {
        withFile { path in
            StudioMemory(of: "/data/a.mako", isKept: true, path: path).keep("theme", .string("dark"))
            for number in 0..<60 {
                StudioMemory(of: "/data/\(number).mako", isKept: true, path: path).keep("tab", .integer(Int64(number)))
            }
            let other = StudioMemory(of: "/data/b.mako", isKept: true, path: path)
            #expect(other.values == .object([("theme", .string("dark"))]))
        }
    }

    @Test func aFileOfAnotherKindIsLeftAlone() throws {
        try withFile { path in
            let content = Data("mako database\n".utf8)
            try content.write(to: URL(fileURLWithPath: path))
            let memory = StudioMemory(of: "/data/a.mako", isKept: true, path: path)
            memory.keep("theme", .string("dark"))
            #expect(memory.values == .object([]))
            #expect(FileManager.default.contents(atPath: path) == content)
        }
    }

    @Test func aSymbolicLinkStaysOne() throws {
        try withFile { path in
            let link = path + "-link"
            defer { try? FileManager.default.removeItem(atPath: link) }
            // It leads nowhere at first.
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            for number in 1...2 as ClosedRange<Int64> {
                StudioMemory(of: "/data/a.mako", isKept: true, path: link).keep("tab", .integer(number))
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
                let kept = StudioMemory(of: "/data/a.mako", isKept: true, path: path).values
                #expect(kept == .object([("tab", .integer(number))]))
            }
        }
    }

    @Test func filesThatDifferByCanonicalEquivalenceAreTwo() {
        withFile { path in
            StudioMemory(of: "/data/caf\u{E9}.mako", isKept: true, path: path).keep("tab", .integer(1))
            let other = StudioMemory(of: "/data/cafe\u{301}.mako", isKept: true, path: path)
            #expect(other.values == .object([]))
        }
    }

    @Test func oneFileHasOneNameHoweverItIsWritten() {
        withFile { path in
            StudioMemory(of: "/data/./a.mako", isKept: true, path: path).keep("tab", .integer(2))
            let same = StudioMemory(of: "/data/x/../a.mako", isKept: true, path: path)
            #expect(same.values == .object([("tab", .integer(2))]))
        }
    }
}
