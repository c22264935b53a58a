import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// The header of a file with delete rules has a flag for them, so that programs which do not apply them cannot write
/// it.
@Suite struct WriterFeatureTests {
    private let disk = SimulatedDisk()
    /// What a writer must know, in both copies of the header block.
    private static let words = [80..<88, 4096 + 80..<4096 + 88]

    private var options: StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        return options
    }

    private func mustWrite(_ path: String) throws -> UInt64 {
        let file = try #require(disk.contents(of: path))
        return Self.words.reduce(0) { found, word in file[word].reversed().reduce(0) { $0 << 8 | UInt64($1) } | found }
    }

    private func make(_ path: String, withRules: Bool) throws {
        let store = try Store(at: path, options: options)
        try store.write { tx in
            for text in ["CREATE TABLE A (id INTEGER PRIMARY KEY)", "CREATE TABLE B (a INTEGER REFERENCES A)"] {
                var changes = ChangeSet()
                _ = try Statement.parse(text).run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
            }
            if !withRules { return }
            var rules = ReferenceRules()
            rules.set(.init(.cascade, isOwned: true), table: "B", column: "a", target: "A")
            _ = try Catalogue.load(view: tx.view).adopting(rules, in: tx)
        }
        try store.close()
    }

    private func rule(_ path: String) throws -> String {
        let store = try Store(at: path, options: options)
        defer { try? store.close() }
        return try store.read { view in
            let catalogue = try Catalogue.load(view: view)
            return catalogue.deleteRules(of: "a", in: try catalogue.requireTable("B").schema)
        }
    }

    @Test func theBitIsSetWithTheFirstRule() throws {
        try make("d/plain.mako", withRules: false)
        #expect(try mustWrite("d/plain.mako") == 0)
        try make("d/ruled.mako", withRules: true)
        #expect(try mustWrite("d/ruled.mako") == 1)
        #expect(try rule("d/ruled.mako") == "cascade, owned")
    }

    @Test func copiesAndSalvagedFilesKeepRulesAndBit() throws {
        try make("d/a.mako", withRules: true)
        let store = try Store(at: "d/a.mako", options: options)
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/backup.mako")
        try store.close()
        try Store.compact(at: "d/a.mako", options: options)
        _ = try Catalogue.salvage(from: "d/a.mako", to: "d/salvaged.mako", options: options)
        for path in ["d/a.mako", "d/copy.mako", "d/backup.mako", "d/salvaged.mako"] {
            #expect(try mustWrite(path) == 1)
            #expect(try rule(path) == "cascade, owned")
        }
    }

    @Test func aBitThatIsNotKnownKeepsWritersAway() throws {
        try make("d/a.mako", withRules: true)
        var file = try #require(disk.contents(of: "d/a.mako"))
        for (copy, word) in Self.words.enumerated() {
            file[word.lowerBound] = 5
            var page = Array(file[copy * 4096..<(copy + 1) * 4096])
            ForgedChecksums.seal(page: &page, number: copy, header: page)
            file.replaceSubrange(copy * 4096..<(copy + 1) * 4096, with: page)
        }
        disk.setContents(of: "d/a.mako", to: file)
        #expect(throws: StorageError.unsupportedFeatures(path: "d/a.mako", bits: 4)) {
            try Store(at: "d/a.mako", options: options)
        }
        var reading = options
        reading.readOnly = true
        try Store(at: "d/a.mako", options: reading).close()
    }
}
