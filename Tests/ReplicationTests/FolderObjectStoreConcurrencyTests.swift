import Foundation
import MakoReplication
import Testing

/// Writers of one folder at the same time.
@Suite final class FolderObjectStoreConcurrencyTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "mako-objects-\(UInt64.random(in: .min ... .max))"
    ).path

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    @Test func oneOfManyWritersCreatesAnObject() async throws {
        let objects = try FolderObjectStore(at: folder)
        let winners = await withTaskGroup(of: UInt8?.self) { group in
            for number in UInt8(0)..<8 {
                group.addTask {
                    let content = ObjectContent([UInt8](repeating: number, count: 100_000))
                    return (try? objects.put("seq/1", content, .ifAbsent)) == nil ? nil : number
                }
            }
            return await group.reduce(into: [UInt8]()) { found, winner in if let winner { found.append(winner) } }
        }
        #expect(winners.count == 1)
        #expect(try objects.get("seq/1", nil).bytes == [UInt8](repeating: winners.first ?? 99, count: 100_000))
    }
}
