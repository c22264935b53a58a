import Foundation
import MakoCore
import Testing

/// Values that are too large for a row.
@Suite struct KeyedStoreSizeTests {
    private func refused(_ part: String, _ call: () throws(MakoError) -> Void) -> Bool {
        do throws(MakoError) { try call() } catch {
            if case .unstorableValue("files", nil, _, let reason) = error { return reason.hasPrefix(part) }
        }
        return false
    }

    /// A value is refused before anything is written, so the transaction goes on.
    @Test func aValueThatIsTooLargeLeavesItsTransaction() throws {
        let db = try Database.inMemory()
        let store = try db.store("files")
        let large = [UInt8](repeating: 1, count: 64 << 20)
        let text = String(repeating: "k", count: 64 << 20)
        try db.transaction { _ in
            try store.set("Hello", for: "small", tags: ["t"])
            #expect(refused("the value has 67108864 bytes") { () throws(MakoError) in try store.set(large, for: "a") })
            #expect(refused("the value") { () throws(MakoError) in try store.set(large, for: "small") })
            #expect(refused("the key") { () throws(MakoError) in try store.set(1, for: text) })
            #expect(refused("a tag") { () throws(MakoError) in try store.set(1, for: "a", tags: [text]) })
            #expect(refused("a tag") { () throws(MakoError) in try store.setTags([text], for: "small") })
        }
        #expect(try store.keys() == ["small"])
        #expect(try store.value(String.self, for: "small") == "Hello")
        #expect(try store.info(for: "small")?.revision == 1)
        let fitting = [UInt8](repeating: 2, count: (64 << 20) - (4 << 10))
        try store.set(fitting, for: "a")
        #expect(try store.value([UInt8].self, for: "a")?.count == fitting.count)
    }
}
