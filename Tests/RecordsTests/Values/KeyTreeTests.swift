import Testing

@testable import MakoRecords

@Suite struct KeyTreeTests {
    private let trees: [KeyTree] = [
        .list([]), .named([]), .key(.rowID(0)), .key(.rowID(.min)), .key(.rowID(.max)), .key(.rowID(-1)),
        .key(.bytes([])),
        .foreign(table: .max, .bytes(Array(repeating: 7, count: 300))),
        .list([.key(.rowID(7)), .list([.key(.rowID(64)), .key(.rowID(-65))]), .foreign(table: 3, .rowID(9))]),
        .named([
            .init(name: .text("a"), tree: .key(.rowID(1))), .init(name: .unsignedInteger(.max), tree: .list([])),
            .init(name: .null, tree: .key(.rowID(2))), .init(name: .uuid(1, 2), tree: .named([])),
            .init(name: .double(-0.5), tree: .key(.rowID(3))), .init(name: .blob([0, 1]), tree: .key(.rowID(4))),
            .init(name: .bool(true), tree: .key(.rowID(5))), .init(name: .date(7), tree: .key(.rowID(6))),
        ]),
    ]

    @Test func treesComeBackFromTheirBytes() {
        for tree in trees { #expect(KeyTree(tree.encoded) == tree, "\(tree)") }
    }

    @Test func bytesThatEndEarlyOrLateAreNoTree() {
        for tree in trees {
            let bytes = tree.encoded
            for count in 0..<bytes.count { #expect(KeyTree(Array(bytes[..<count])) == nil, "\(tree), \(count) bytes") }
            #expect(KeyTree(bytes + [1]) == nil)
        }
    }

    @Test func noBytesTrap() {
        var random = Seeded(1)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                random.pick([0, 1, 2, 3, 4, 5, 6, 127, 128, 255] as [UInt8])
            }
            guard let tree = KeyTree(bytes) else { continue }
            #expect(KeyTree(tree.encoded) == tree)
        }
        // Nested lists without an end, and counts of missing elements.
        #expect(KeyTree(Array(repeating: [4, 1], count: 1000).flatMap { $0 }) == nil)
        #expect(KeyTree([4, 255, 255, 255, 255, 15]) == nil)
        #expect(KeyTree([1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]) == nil)
    }

    @Test func keysAreVisitedInOrder() {
        var visited: [String] = []
        trees[8].forEachKey { visited.append("\($0):\($1)") }
        #expect(visited == ["0:7", "0:64", "0:-65", "3:9"])
    }

    @Test func listsCloseUpOverWhatIsRemoved() {
        let tree = KeyTree.list([
            .key(.rowID(1)), .list([.key(.rowID(1)), .key(.rowID(2))]), .foreign(table: 4, .rowID(1)), .key(.rowID(1)),
        ])
        #expect(
            tree.removing { $0 == 0 && $1 == .rowID(1) }
                == .list([.list([.key(.rowID(2))]), .foreign(table: 4, .rowID(1))]))
        #expect(KeyTree.key(.rowID(1)).removing { _, _ in true } == nil)
        let named = KeyTree.named([
            .init(name: .text("a"), tree: .key(.rowID(1))), .init(name: .text("b"), tree: .list([])),
        ])
        #expect(named.removing { _, _ in true } == .named([.init(name: .text("b"), tree: .list([]))]))
    }

    /// Scanning the keys without building a tree finds those of the tree, and ends at invalid bytes.
    @Test func keysAreReadAsTheTreeHasThem() throws {
        func read(_ bytes: [UInt8], _ limit: Int = .max) throws -> [String] {
            var found: [String] = []
            try bytes.withUnsafeBytes { buffer in
                try HeldKeys.forEach(in: buffer) { table, key in
                    found.append("\(table):\(key)")
                    return found.count < limit
                }
            }
            return found
        }
        func inTree(_ tree: KeyTree) -> [String] {
            var found: [String] = []
            tree.forEachKey { found.append("\($0):\($1)") }
            return found
        }
        for tree in trees {
            let bytes = tree.encoded
            let whole = inTree(tree)
            #expect(try read(bytes) == whole)
            #expect(try read(bytes, 1) == Array(whole.prefix(1)))
            for end in 0..<bytes.count {
                let some = try read(Array(bytes[..<end]))
                #expect(some == Array(whole.prefix(some.count)) && some.count <= whole.count, "\(tree), \(end)")
            }
            for place in bytes.indices {
                for byte in [0, 1, 2, 3, 4, 5, 9, 127, 128, 255] as [UInt8] {
                    var damaged = bytes
                    damaged[place] = byte
                    let some = try read(damaged)
                    if let other = KeyTree(damaged) { #expect(some == inTree(other)) }
                }
            }
        }
        let bad: [[UInt8]] = [
            [], [9], [1], [1, 128], [1] + [UInt8](repeating: 128, count: 11), [2, 3, 1], [3, 1, 0], [3, 1, 0, 0, 0],
            [3, 1, 0, 0, 0, 4, 0], [3, 1, 0, 0, 0, 1], [4, 9], [4], [5, 1, 7], [5, 1], [5],
            Array(repeating: [4, 1], count: 1000).flatMap { $0 },
        ]
        for bytes in bad {
            #expect(try read(bytes) == [], "\(bytes)")
            #expect(try bytes.withUnsafeBytes { try HeldKeys.count(in: $0) } == 0)
        }
    }
}
