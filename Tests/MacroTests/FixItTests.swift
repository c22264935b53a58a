import Testing

/// Each fix-it, applied to the text, removes its diagnostic.
@Suite struct FixItTests {
    @Test(
        arguments: [
            ("let x = 1", "var x = 1"),
            ("/* a */ let x: Int = 1", "/* a */ var x: Int = 1"),
            ("lazy var x: Int = 1", "@Transient lazy var x: Int = 1"),
            ("// why\n    lazy var x: Int = 1", "// why\n    @Transient lazy var x: Int = 1"),
            ("weak var x: A?", "@Relationship(.weak) var x: A?"),
            ("private weak var x: A?", "@Relationship(.weak) private var x: A?"),
            ("unowned var x: A = .shared", "@Transient unowned var x: A = .shared"),
            ("var x: Int = 1 { didSet { } }", "@Transient var x: Int = 1 { didSet { } }"),
            ("@Wrapped var x = 1", "@Transient @Wrapped var x = 1"),
            ("@Attribute(.unique) @Wrapped var x = 1", "@Transient @Wrapped var x = 1"),
            ("var (x, y) = (1, 2)", "@Transient var (x, y) = (1, 2)"),
            ("@Attribute(.unique) var x: Int { 1 }", "var x: Int { 1 }"),
            ("@Attribute(.unique) static var x = 1", "static var x = 1"),
            ("@Attribute(.unique) @Transient var x = 1", "@Transient var x = 1"),
            ("var x = 1, y = 2", "var x = 1\nvar y = 2"),
            ("var x: Int = 1, y = \"\", z = 3", "var x: Int = 1\nvar y = \"\"\nvar z = 3"),
            ("private var x, y: Int?", "private var x: Int?\nprivate var y: Int?"),
            (
                "\n    @Attribute(.unique) var x = 1, y = 2",
                "\n    @Attribute(.unique) var x = 1\n    @Attribute(.unique) var y = 2"
            ),
            ("#if DEBUG\nvar x = 1\n#endif", "#if DEBUG\n@Transient var x = 1\n#endif"),
            ("var x: Int", "var x: Int?"),
            ("var x: Int??", "var x: Int?"),
            ("var x: Optional<Int?> = nil", "var x: Int? = nil"),
            ("@Transient var x: Int", "@Transient var x: Int?"),
            ("@Attribute(.uniqe) var x = 1", "@Attribute(.unique) var x = 1"),
            ("@Attribute(.indexed, .colum(\"y\")) var x = 1", "@Attribute(.indexed, .column(\"y\")) var x = 1"),
            ("@Relationship(.wek) var x: A?", "@Relationship(.weak) var x: A?"),
            ("@Attribute(.keepWhenNil) var x = 1", "var x = 1"),
            ("@Attribute(.keepWhenNil, .unique) var x = 1", "@Attribute(.unique) var x = 1"),
            ("@Attribute(.unique, .keepWhenNil) var x = 1", "@Attribute(.unique) var x = 1"),
            ("@Attribute(.fullText) var x = 1", "var x = 1"),
            ("@Attribute(.spatial) var x = 1", "var x = 1"),
            ("@Attribute(.serialized, .identity) var x = 1", "@Attribute(.identity) var x = 1"),
            ("@Attribute(.loadOnRefresh) var x: Int = 1", "@Attribute(.loadOnRefresh) var x: Int? = 1"),
            ("@Attribute(.encrypted, .unique) var x: Int?", "@Attribute(.unique) var x: Int?"),
            ("@Relationship(.owned) var x: [Int] = []", "var x: [Int] = []"),
            ("@Relationship(.owned, .weak) var x: [A] = []", "@Relationship(.owned) var x: [A] = []"),
            ("@Relationship(.weak, inverse: \\B.a) var x: ToMany<B>", "@Relationship(inverse: \\B.a) var x: ToMany<B>"),
            ("@Relationship(inverse: \\B.a) var x: B?", "var x: B?"),
            ("@Relationship(deleteRule: .cascade) var x: B?", "@Relationship(.owned) var x: B?"),
            ("@Relationship(deleteRule: .cascade) var x: [B] = []", "@Relationship(.owned) var x: [B] = []"),
            ("@Relationship(deleteRule: .nullify) var x: B?", "var x: B?"),
            (
                "@Relationship(inverse: \\B.a, deleteRule: .cascades) var x: ToMany<B>",
                "@Relationship(inverse: \\B.a, deleteRule: .cascade) var x: ToMany<B>"
            ),
            (
                "@Attribute(.unique) @Relationship(inverse: \\B.a) var x: ToMany<B>",
                "@Relationship(inverse: \\B.a) var x: ToMany<B>"
            ),
            (
                "@Relationship(inverse: \\B.a) var x: ToMany<B> = .init()",
                "@Relationship(inverse: \\B.a) var x: ToMany<B>"
            ),
            ("var x: any ObjectEntity", "var x: (any ObjectEntity)?"),
            (
                "@Attribute(.primaryKey) var x = 1; @Attribute(.primaryKey) var y: Int? = 2",
                "@Attribute(.primaryKey) var x = 1; @Attribute(.primaryKey) var y: Int = 2"
            ),
            (
                "@Attribute(.primaryKey) var x = \"\"; @Attribute(.identity) var y = 1",
                "@Attribute(.primaryKey) var x = \"\"; @Attribute(.unique) var y = 1"
            ),
            ("func willInsert() -> Int { 1 }", "func willInsert() -> Bool { 1 }"),
            ("func willInsert() throws -> Bool { true }", "func willInsert() -> Bool { true }"),
            ("func willUpdate() async { }", "func willUpdate() { }"),
            ("func didSave() -> Bool { true }", "func didSave() { true }"),
            ("private static func didLoad() { }", "private func didLoad() { }"),
            ("@MainActor func didSave() { }", "func didSave() { }"),
            ("@Attribute(.column(\"a\"), .column(\"b\")) var x = 1", "@Attribute(.column(\"a\")) var x = 1"),
            ("#if DEBUG\nlazy var x = 1\n#endif", "#if DEBUG\n@Transient lazy var x = 1\n#endif"),
        ])
    func ofMembers(_ wrong: String, _ right: String) {
        let source = "@Entity final class A { \(wrong) }"
        #expect(!complaints(source).isEmpty)
        #expect(mended(source) == "@Entity final class A { \(right) }")
        #expect(complaints(mended(source)).isEmpty)
    }

    @Test(
        arguments: [
            ("@Entity(observable: false) final class A { var x = 1 }", "@Entity final class A { var x = 1 }"),
            ("@Entity(observable: true) struct A { var x = 1 }", "@Entity struct A { var x = 1 }"),
            ("@MainActor @Entity final class A { var x = 1 }", "@Entity final class A { var x = 1 }"),
            (
                "@Entity(stamps: true, ignoringSuperclass: true) final class A { }",
                "@Entity(stamps: true) final class A { }"
            ),
            ("@Entity(stamp: true) final class A { }", "@Entity(stamps: true) final class A { }"),
            ("@Entity struct A { @Relationship var x: B? }", "@Entity struct A { @Relationship var x: ToOne<B> }"),
            (
                "@Entity struct A { @Attribute(.loadOnRefresh) var x: Int? }",
                "@Entity struct A { var x: Int? }"
            ),
            ("@Entity struct A { @Relationship(.owned) var x: ToOne<B> }", "@Entity struct A { var x: ToOne<B> }"),
            ("@Attribute(.unique) func f() { }", "func f() { }"),
            ("@Entity final class A: Sendable { var x = 1 }", "@Entity final class A { var x = 1 }"),
            ("@Entity class A: NSObject, Codable { var x = 1 }", "@Entity class A: Codable { var x = 1 }"),
            (
                "enum E { @Entity private struct A { var x = 1 } }",
                "enum E { @Entity fileprivate struct A { var x = 1 } }"
            ),
        ])
    func ofTypes(_ wrong: String, _ right: String) {
        #expect(!complaints(wrong).isEmpty)
        #expect(mended(wrong) == right)
        #expect(complaints(right).isEmpty)
    }

    /// A placeholder for what only the author knows.
    @Test func aTypeIsLeftToBeWritten() {
        #expect(
            mended("@Entity final class A { var x = compute() }")
                == "@Entity final class A { var x: <#type#> = compute() }")
    }

    @Test func nothingIsGuessed() {
        #expect(repaired("@Entity final class A { @Attribute(.shiny) var x = 1 }").isEmpty)
        #expect(repaired("@Entity final class A { @Attribute(.column(name)) var x = 1 }").isEmpty)
        #expect(repaired("@Entity final class A { #Index<A>(keys) ; var x = 1 }").isEmpty)
    }
}
