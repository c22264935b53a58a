import MakoStorage
import Testing

/// Texts as keys are compared by their bytes.
@Suite struct TextKeyTests {
    private let composed = "caf\u{e9}"
    private let decomposed = "cafe\u{301}"

    @Test func keysWithOtherBytesAreOthers() {
        #expect(composed == decomposed)
        #expect(TextKey(composed) != TextKey(decomposed))
        #expect(TextKey("a\u{323}\u{307}") != TextKey("a\u{307}\u{323}"))
        #expect(TextKey("") != TextKey("\u{0}"))
        var found: [TextKey: Int] = [TextKey(composed): 1]
        found[TextKey(decomposed)] = 2
        #expect(found[TextKey("caf\u{e9}")] == 1 && found[TextKey("cafe\u{301}")] == 2)
        #expect(Set(["a", "b", "ab", ""].map(TextKey.init)).count == 4)
    }

    @Test func filesInMemoryAreTheirOwn() throws {
        let files = MemoryFileSystem()
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        for (number, name) in [composed, decomposed].enumerated() {
            let store = try Store(at: "d/" + name, options: options)
            try store.write { tx in
                let tree = try tx.createTree(named: "t", keys: .integer)
                try tx.put([1], for: UInt64(number), in: tree)
            }
            // The log is read again.
            try store.close()
        }
        for (number, name) in [composed, decomposed].enumerated() {
            let store = try Store(at: "d/" + name, options: options)
            try store.read { view in
                let tree = try #require(view.tree(named: "t"))
                #expect(try view.count(of: tree) == 1)
                #expect(try view.get(UInt64(number), in: tree) != nil)
            }
            try store.close()
        }
    }
}
