import Foundation
import MakoCore
import TestHelpers
import Testing

/// Paths of database files.
@Suite struct DatabasePathTests {
    /// The system ends a path at a zero byte, and would open another file.
    @Test func pathsWithAZeroByteAreRefused() throws {
        let refused = MakoError.invalidArgument(
            "the path of a database file has a zero byte; give a path without it")
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [City.self])
            for mode in [DatabaseMode.normal, .sandbox] {
                #expect(throws: refused) { _ = try Database(at: path + "\0.old", mode: mode) }
            }
            #expect(throws: refused) { try db.backup(to: path + "-copy\0.old") }
            #expect(throws: MakoError.self) { _ = try Database(named: "people\0old") }
            try db.close()
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["test.mako"])
        }
    }
}
