import Foundation
import Testing

// EXAMPLE
import MakoStorage

/// Counts a visit to each page, up to 255, and returns the count of the first one.
func countVisits(to pages: [String], at path: String) throws -> UInt8 {
    let store = try Store(at: path)  // opens it, or creates it
    defer { try? store.close() }
    let visits = try store.write { transaction in
        try transaction.view.tree(named: "visits") ?? transaction.createTree(named: "visits", keys: .bytes)
    }
    for page in pages {
        try store.write { transaction in  // durable when it returns, or rolled back
            let count = try transaction.view.get(Array(page.utf8), in: visits)?.first ?? 0
            try transaction.put([min(count, 254) + 1], for: Array(page.utf8), in: visits)
        }
    }
    let snapshot = try store.snapshot()  // later writes do not change it
    return try snapshot.get(Array((pages.first ?? "").utf8), in: visits)?.first ?? 0
}
// EXAMPLE ends

/// The example of README.md and of the documentation of `MakoStorage`.
@Suite struct StorageExampleTests {
    @Test func theExampleCountsAndKeeps() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mako-example-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("visits.mako").path
        #expect(try countVisits(to: ["/", "/about", "/"], at: path) == 2)
        #expect(try countVisits(to: ["/about"], at: path) == 2)
    }
}
