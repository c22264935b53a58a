import Testing

@testable import MakoMacroExpansion

@Suite struct EntityDiagnosticsTests {
    @Test(
        arguments: [
            ("@Entity enum E { case a }", "class or a struct"),
            ("@Entity actor A { }", "class or a struct"),
            ("@Entity final class A<T> { }", "generic"),
            ("@Entity final class A { var x: Int }", "needs a default value"),
            ("@Entity final class A { var x = compute() }", "needs a type annotation"),
            ("@Entity final class A { var x = URL(string: \"a\") }", "needs a type annotation"),
            ("@Entity struct A { var x = UUID(uuidString: \"a\") }", "needs a type annotation"),
            ("@Entity struct A { var x = Int(\"5\") }", "needs a type annotation"),
            ("@Entity struct A { var x = Int(exactly: 5.0) }", "needs a type annotation"),
            ("@Entity struct A { var x = Data(base64Encoded: \"\") }", "needs a type annotation"),
            ("@Entity struct A { var x = String(data: Data(), encoding: .utf8) }", "needs a type annotation"),
            ("@Entity struct A { var x: Int?? }", "two levels of optionals"),
            ("@Entity final class A { var x: Optional<Int?> = nil }", "write 'Int?'"),
            ("@Entity final class A { var x: (Den?)? }", "two levels of optionals"),
            ("@Entity final class A { var a = 1, b = 2 }", "one property per 'var'"),
            ("@Entity final class A { let x = 1 }", "'let' property"),
            ("@Entity struct A { let x: Int = 1 }", "its value is fixed"),
            ("@Entity struct A { let den: ToOne<Den> }", "writes the key of its object"),
            ("@Entity struct A { let id: Int }", "the first save writes it"),
            ("@Entity struct A { @Attribute(.primaryKey) let code: String? }", "the first save writes it"),
            ("@Entity final class A { lazy var x: Int = 1 }", "'lazy'"),
            ("@Entity final class A { weak var x: A? }", "'weak'"),
            ("@Entity final class A { unowned var x: A }", "'unowned'"),
            ("@Entity final class A { var (x, y) = (1, 2) }", "needs a plain name"),
            ("@Entity final class A { #if DEBUG\nvar x = 1\n#endif }", "inside '#if'"),
            ("@Entity final class A { #if DEBUG\n#if os(Linux)\nvar x = 1\n#endif\n#endif }", "inside '#if'"),
            ("@Entity final class A { var x: Int = 1 { didSet { } } }", "'didSet'"),
            ("@Entity final class A { @Transient var x: Int }", "needs a default value"),
            ("@Entity struct A { @Transient var x: Int }", "needs a default value"),
            ("@Entity struct A { @Transient let x: Int? }", "needs a default value"),
            ("@Entity final class A { @Transient var x: Optional<Int> }", "needs a default value"),
            ("@Entity final class A: Sendable { var x = 1 }", "makes 'A' Sendable"),
            ("@Entity final class A: NSObject, Codable { var x = 1 }", "remove 'NSObject'"),
            ("@Entity class A: RealmSwift.Object { var x = 1 }", "must be an entity"),
            ("@Entity final class A { @MainActor func didSave() { } }", "remove '@MainActor'"),
            ("@Entity struct A { #if DEBUG\nlet x: Int\n#endif }", "inside '#if'"),
            ("@Entity struct A { #if DEBUG\nvar x = compute(), y = 2\n#endif }", "inside '#if'"),
            ("@Entity final class A { #if DEBUG\n#Index<A>([\\.y])\n#endif\nvar y = 1 }", "#Index inside '#if'"),
            ("@Entity final class A { var total = 1; @Transient var _total = 2 }", "is stored as '_total'"),
            ("@Entity struct A { @Attribute(.primaryKey) var x: String; var keyValues = 1 }", "generates a method"),
            ("@Entity final class A { @Attribute(.column(\"ID\")) var x = 1 }", "the column 'id'"),
            ("@Entity struct A { @Attribute(.column(\"a\"), .column(\"b\")) var x = 1 }", "has one column"),
            ("@Entity final class A { var `id`: Int { 3 } }", "'id' is taken"),
            ("enum E { @Entity private struct A { var x = 1 } }", "write 'fileprivate'"),
            ("@Entity final class A { @Attribute(.fullText) var x = 1 }", "no words to search"),
            ("@Entity final class A { @Attribute(.fullText) var x: [String] = [] }", "no words to search"),
            ("@Entity final class A { @Attribute(.fullText, .encrypted) var x: String? }", "or the index"),
            ("@Entity final class A { #FullText<A>(keys) ; var x = \"\" }", "array literals"),
            ("@Entity final class A { #FullText<A>([\\.x], where: \"x\") ; var x = \"\" }", "'where' is not supported"),
            ("@Entity final class A { #Index<A>([\\.x], where: \"x > \\(1)\") ; var x = 1 }", "without interpolation"),
            ("@Entity final class A { #Index<A>([\\.x], where: text) ; var x = 1 }", "without interpolation"),
            ("@Entity final class A { @Attribute(.spatial) var x = 1.0 }", "no Coordinate"),
            ("@Entity final class A { @Attribute(.spatial) var x: [Coordinate] = [] }", "no Coordinate"),
            ("@Entity final class A { @Attribute(.spatial, .encrypted) var x: Coordinate? }", "or the index"),
            ("@Entity final class A { @Attribute(.encrypted) var x = 1 }", "must be optional"),
            ("@Entity struct A { @Attribute(.encrypted) var x: Int }", "must be optional"),
            ("@Entity final class A { @Attribute(.encrypted) var x: Int? = 1 }", "a default would stand in the file"),
            ("@Entity final class A { @Attribute(.encrypted, .primaryKey) var x: String? }", "identifies nothing"),
            ("@Entity final class A { @Attribute(.encrypted, .identity) var x: String? }", "identifies nothing"),
            ("@Entity final class A { @Attribute(.encrypted) var id: String? }", "identifies nothing"),
            ("@Entity final class A { @Attribute(.encrypted, .unique) var x: Int? }", "cannot be searched for"),
            ("@Entity final class A { @Attribute(.encrypted, .indexed) var x: Int? }", "cannot be searched for"),
            ("@Entity final class A { #Index<A>([\\.x]) ; @Attribute(.encrypted) var x: Int? }", "or the index"),
            (
                "@Entity final class A { #Unique<A>([\\.y, \\.x]) ; var y = 1; @Attribute(.encrypted) var x: Int? }",
                "or the index"
            ),
            ("@Entity struct A { @Attribute(.encrypted) var x: ToOne<B> }", "refers to objects"),
            ("@Entity final class A { @Attribute(.encrypted) @Relationship(.owned) var x: B? }", "refers to objects"),
            ("@Entity final class A { @Attribute(.shiny) var x = 1 }", "no option '.shiny'"),
            ("@Entity final class A { @Relationship(.shared) var x: [A] = [] }", "no option '.shared'"),
            ("@Entity final class A { @Relationship(.owned) var x: [Int] = [] }", "refers to no objects"),
            ("@Entity struct A { @Relationship(.owned) var x: ToOne<B> }", "belongs to classes"),
            ("@Entity final class A { @Relationship(.owned, .weak) var x: [A] = [] }", "cannot be .owned and .weak"),
            ("@Entity final class A { @Relationship(.subclasses, .owned) var x: [B] = [] }", ".owned and .subclasses"),
            (
                "@Entity final class A { @Relationship(.subclasses) var x: [any ObjectEntity] = [] }",
                "any class as it is"
            ),
            ("@Entity final class A { @Relationship(.subclasses) var x: Int? }", "refers to no objects"),
            ("@Entity final class A { @Relationship(.subclasses, .owned) var x: B? }", ".owned and .subclasses"),
            ("@Entity final class A { @Relationship(.subclasses) var x: (any ObjectEntity)? }", "any class as it is"),
            ("@Entity struct A { @Relationship(.subclasses) var x: ToOne<B> }", "belongs to classes"),
            (
                "@Entity final class A { @Relationship(.weak, inverse: \\B.a) var x: ToMany<B> }",
                "holds objects, not to a query"
            ),
            ("@Entity final class A { var x: ToMany<B> }", "@Relationship(inverse: \\B.property)"),
            ("@Entity final class A { @Relationship(inverse: \\B.a) var x: B? }", "to-many side only"),
            ("@Entity final class A { @Wrapped var x = 1 }", "cannot be combined"),
            ("@Entity @Observable final class A { var x = 1 }", "write @Entity(observable: true)"),
            ("@MainActor @Entity final class A { var x = 1 }", "put @MainActor on what uses the objects"),
            ("@Entity(observable: true) struct A { var x = 1 }", "a struct is observed by its owner"),
            ("@Entity(observable: yes) final class A { }", "'observable' must be written as true or false"),
            ("@Entity(observable: false) final class A { }", "not observable by themselves"),
            ("@Entity final class A { @Attribute(.column(\"Y\")) var x = 1; var y = 2 }", "share the column"),
            ("@Entity final class A { #Index<A>(keys) ; var x = 1 }", "array literals"),
            ("@Entity final class A { #Index<A>() ; var x = 1 }", "at least one"),
            ("@Entity(tuned: .forInserts) final class A { }", "'tuned' is not supported"),
            ("@Entity final class A { var id: Int { 3 } }", "'id' is taken"),
            ("func f() { @Entity final class A { } }", "inside a function"),
            ("struct S<T> { @Entity final class A { } }", "inside a generic type"),
            ("@Entity final class A { func willInsert() throws -> Bool { true } }", "'willInsert' is a hook"),
            ("@Entity final class A { func didSave() -> Bool { true } }", "'func didSave()'"),
            ("@Entity final class A { static func didLoad() { } }", "neither static"),
            ("@Entity struct A { func didLoad() { } }", "hooks belong to classes"),
            ("@Entity final class A { @Attribute(.keepWhenNil) var x = 1 }", "'x' is never nil"),
            ("@Entity final class A { @Attribute(.primaryKey, .writeOnce) var x = \"\" }", "a key never changes"),
            (
                "@Entity final class A { @Attribute(.primaryKey) var x = \"\"; @Attribute(.identity) var y = \"\" }",
                "make 'y' .unique"
            ),
            ("@Entity(raisesEvents: quiet) final class A { }", "true or false"),
            ("@Entity(stamps: maybe) final class A { }", "'stamps' must be written as true or false"),
            ("@Entity(stamps: true) final class A { var updatedAt = 1 }", "declares 'updatedAt' itself"),
            ("@Entity(ignoringSuperclass: true) final class A { }", "no superclass that is an entity"),
            ("@Entity(ignoringSuperclass: true) struct A { }", "no superclass that is an entity"),
            ("@Entity final class A { @Attribute(.serialized) var x: ToOne<B> }", "holds its objects itself"),
            (
                "@Entity final class A { @Attribute(.serialized) @Relationship(.owned) var x: [B] = [] }",
                "holds its objects itself"
            ),
            ("@Entity final class A { @Attribute(.serialized, .identity) var x = 1 }", "identifies nothing"),
            ("@Entity struct A { var x: (any ObjectEntity)? }", "a struct holds no objects"),
            ("@Entity struct A { var x: [any ObjectEntity] = [] }", "a struct holds no objects"),
            ("@Entity struct A { var x: [String: ObjectOrValue] = [:] }", "a struct holds no objects"),
            (
                "@Entity final class A { @Attribute(.identity) var x: [ObjectOrValue] = [] }",
                "neither a key nor a value"
            ),
            ("@Entity final class A { @Relationship(.owned) var x: [ObjectOrValue] = [] }", "only what has a class"),
            ("@Entity final class A { @Relationship(.subclasses) var x: [ObjectOrValue] = [] }", "any class as it is"),
            (
                "@Entity final class A { @Attribute(.identity) var x: [String: any ObjectEntity] = [:] }",
                "neither a key nor a value"
            ),
            (
                "@Entity final class A { @Relationship(.owned) var x: [[any Mako.ObjectEntity]] = [] }",
                "only what has a class of its own"
            ),
            ("@Entity final class A { var x: any ObjectEntity = B() }", "write '(any ObjectEntity)?'"),
            (
                "@Entity final class A { @Attribute(.primaryKey) var x: (any ObjectEntity)? }",
                "neither a key nor a value"
            ),
            (
                "@Entity final class A { @Relationship(.owned) var x: (any ObjectEntity)? }",
                "only what has a class of its own"
            ),
            ("@Entity final class A { @Attribute(.loadOnRefresh) var x = 1 }", "nil until its object is refreshed"),
            ("@Entity struct A { @Attribute(.loadOnRefresh) var x: Int? }", "a struct is not refreshed"),
            ("@Entity final class A { @Attribute(.loadOnRefresh, .identity) var x: Int? }", "must be read with it"),
            ("@Entity(database: name) final class A { }", "'database' must be written as a string literal"),
            ("@Entity struct A { @Relationship(inverse: \\B.a) var x: ToMany<B> }", "belongs to classes"),
            (
                "@Entity final class A { @Relationship(inverse: \\B.a, deleteRule: .shrug) var x: ToMany<B> }",
                "must be written as .nullify, .cascade or .deny"
            ),
            (
                "@Entity final class A { @Attribute(.unique) @Relationship(inverse: \\B.a) var x: ToMany<B> }",
                "cannot be applied to a ToMany property"
            ),
            ("@Entity final class A { @Relationship(inverse: \\B.a) var x: ToMany<B> = .init() }", "no default value"),
            (
                "@Entity final class A { @Attribute(.primaryKey) @Relationship(inverse: \\B.a) var x: ToMany<B> }",
                "cannot be the key"
            ),
            (
                "@Entity final class A { @Attribute(.primaryKey) var x = 1; @Attribute(.primaryKey) var y: String? }",
                "composite key cannot be optional"
            ),
            ("@Entity struct A { @Relationship var x: B? }", "refers to an object of a class by 'ToOne<B>'"),
            (
                "@Entity final class A { @Relationship(deleteRule: .cascade) var x: B? }",
                "go with 'x's owner is '.owned'"
            ),
            ("@Entity final class A { @Relationship(deleteRule: .deny) var x: [B] = [] }", "of the other side"),
            ("@Entity struct A { @Relationship(deleteRule: .deny) var x: ToOne<B> }", "of the other side"),
            ("@Entity final class A { @Attribute(.column(name)) var x = 1 }", "without interpolation"),
            ("@Entity final class A { @Attribute(.column(\"a\\(1)\")) var x = 1 }", "without interpolation"),
            ("@Entity final class A { @Attribute(.unique) var x: Int { 1 } }", "'x' is computed"),
            ("@Entity final class A { @Attribute(.unique) @Transient var x = 1 }", "'x' is not stored"),
            ("@Entity final class A { @Relationship(.weak) static var x: A? }", "'x' is not stored"),
            ("@Entity struct A { @Relationship static var x = 1, y = 2 }", "'x', 'y' is not stored"),
            ("@Entity final class A { var `Type`: Int = 1 }", "cannot have the name 'Type'"),
            ("@Entity struct A { var `self`: Int }", "cannot have the name 'self'"),
            ("@Entity struct A { var `Protocol`: Int? }", "cannot have the name 'Protocol'"),
            ("@Entity final class A { var ID = 0 }", "which Identifiable gives the type of 'id'"),
            ("@Entity final class A { var x: (Int, Int) = (1, 2) }", "holds a tuple"),
            ("@Entity struct A { var x: [(a: Int, b: String)] }", "holds a tuple"),
            ("@Entity struct A { var x: (Int, Int)? }", "make it a Codable struct"),
            ("@Entity final class A { var x: () -> Void = { } }", "holds a closure"),
            ("@Entity final class A { var x: (@Sendable (Int) -> Int)? }", "mark it @Transient"),
            ("@Entity struct A { var x: [String: () -> Void] }", "holds a closure"),
            ("@Entity final class A { var x: Array<(Int, Int)> = [] }", "holds a tuple"),
            ("@Entity struct A { var x: Swift.Dictionary<String, [() -> Void]> }", "holds a closure"),
            ("@Entity final class A { var x: Optional<() -> Void> }", "holds a closure"),
            ("@Entity final class A { var x: Int.Type = Int.self }", "holds a type"),
            ("@Entity struct A { var x: [AnyClass] }", "holds a type"),
            ("@Entity final class A { var x: Any? }", "holds 'Any', a value of any type"),
            ("@Entity struct A { var x: [String: Any] }", "make it a StoredValue or a Codable enum"),
            ("@Entity struct A { var x: (any Codable)? }", "holds 'any Codable'"),
        ])
    func refused(_ source: String, _ part: String) {
        let messages = complaints(source)
        #expect(messages.contains { $0.contains(part) }, "\(messages)")
        // A refused type gets no half of an expansion.
        #expect(!expand(source).text.contains("entityModel"))
    }

    @Test func slotsOfAClassWithItsOwnDeinitReleaseTheirObjects() {
        let (text, messages) = expand(
            """
            @Entity final class A {
                var next: A?
                var name = ""
                deinit { print(name) }
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("private var _next = EntityCoding.SlotField(EntityCoding.codec((A?).self).emptySlot)"))
        #expect(text.contains("if let object = self._next.slot.loadedObject"))
        #expect(!text.contains("letGo()"))
    }

    @Test func referencesWithSubclassesHaveTheirOwnCodec() {
        let (text, messages) = expand(
            """
            @Entity final class A {
                @Relationship(.subclasses) var owner: Animal?
                @Relationship(.weak, .subclasses) var last: Animal?
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("EntityCoding.subclassCodec((Animal?).self)"))
        #expect(!text.contains("EntityCoding.codec((Animal?).self)"))
        #expect(text.contains("EntityCoding.weakSubclassCodec((Animal?).self)"))
        #expect(text.contains("relation: [.weak, .subclasses])"))
    }

    @Test func collectionsOfSeveralClassesHaveSlots() {
        let (text, messages) = expand(
            """
            @Entity final class A {
                var items: [any ObjectEntity] = []
                var byName: [String: any ObjectEntity]?
                var mixed: [[String: ObjectOrValue]] = []
                @Relationship(.subclasses) var pets: [Animal] = []
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("EntityCoding.collectionCodec(([any ObjectEntity]).self)"))
        #expect(text.contains("EntityCoding.collectionCodec(([String: any ObjectEntity]?).self)"))
        #expect(text.contains("EntityCoding.collectionCodec(([[String: ObjectOrValue]]).self)"))
        #expect(text.contains("self._mixed.visitObjects"))
        #expect(text.contains("EntityCoding.subclassCodec(EntityCoding.collectionCodec(([Animal]).self))"))
        #expect(text.contains("self._items.visitObjects") && text.contains("self._pets.visitObjects"))
    }

    @Test func encryptedPropertiesHaveTheirOwnCodec() {
        let (text, messages) = expand(
            """
            @Entity final class A {
                @Attribute(.encrypted) var mood: Mood?
                @Attribute(.encrypted) var name: String? = nil
                @Attribute(.encrypted, .serialized) var list: [B]?
                @Attribute(.encrypted, .column("t")) var title: Optional<String>
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("EntityCoding.encryptedCodec((Mood?).self)"))
        #expect(text.contains("EntityCoding.encryptedSerializedCodec(([B]?).self)"))
        #expect(text.contains("column: \"t\", options: [.encrypted])"))
        // Neither a slot nor left in the row.
        #expect(text.contains("private var _mood: Mood?") && !text.contains("_$decode"))
    }

    @Test func aFixItMakesAnEncryptedPropertyOptional() {
        let fixed = repaired("@Entity final class A { @Attribute(.encrypted) var x: Int /* years */ = 1 }")
        #expect(fixed == ["make 'x' optional: Int? /* years */ "])
        #expect(repaired("@Entity final class A { @Attribute(.encrypted) var x = 1 }").isEmpty)
        #expect(
            repaired("@Entity(\"a\") @Observable final class A { var x = 1 }") == [
                "write '@Entity(observable: true)' instead: @Entity(\"a\", observable: true) "
            ])
    }

    @Test func subclassesHaveNoKeyOfTheirOwn() {
        let (text, messages) = expand(
            "@Entity final class B: A { @Attribute(.primaryKey) var x = \"\" }", conformances: [])
        #expect(messages.contains { $0.contains("has the key of its superclass") })
        #expect(!text.contains("entityModel"))
    }

    @Test func aSubclassIsFollowedWithItsSuperclass() {
        let (text, messages) = expand("@Entity(observable: true) final class B: A { var x = 1 }", conformances: [])
        #expect(messages.isEmpty && text.contains("_$notifyObservers"))
        let refused = expand(
            "@Entity(observable: true) final class B: A { var x = 1 }", conformances: ["ObservableEntity"])
        #expect(refused.messages.contains { $0.contains("write 'observable: true' there, too") })
        #expect(!refused.text.contains("entityModel"))
    }

    @Test func attributesBelongToProperties() {
        #expect(complaints("@Attribute(.unique) func f() { }") == ["@Attribute belongs to a property"])
        #expect(complaints("@Transient struct S { }") == ["@Transient belongs to a property"])
    }

    @Test func tooManyProperties() throws {
        func findings(_ count: Int) throws -> [String] {
            let properties = (0..<count).map { "    var p\($0) = 0" }.joined(separator: "\n")
            let source = try #require(parsed("@Entity final class A {\n\(properties)\n}"))
            return EntityCheck.findings(in: source).map(\.message)
        }
        #expect(try findings(1024).isEmpty)
        #expect(try findings(1025) == ["an entity can have at most 1024 stored properties; 'A' has 1025"])
    }

    /// One word has the bits of up to 64 properties; of more, each word is tested first.
    @Test func manyPropertiesAreEncodedByWords() throws {
        func text(_ kind: String, _ count: Int) throws -> String {
            let properties = (0..<count).map { "    var p\($0) = \"\"" }.joined(separator: "\n")
            let source = try #require(parsed("@Entity \(kind) A {\n\(properties)\n}"))
            return EntityRender(source).members().map(\.description).joined(separator: "\n")
        }
        #expect(try !text("final class", 64).contains("_$encode") && !text("struct", 64).contains("_$encode"))
        let wide = try text("final class", 66)
        #expect(wide.contains("let word1 = properties.word(1)") && wide.contains("if word1 & (1 << 1) != 0 {"))
        #expect(wide.contains("self._$decode(properties.pendingBits)"))
        // The texts from the 64th property on share a bit.
        #expect(wide.contains("if pending & (1 << 63) != 0 { self._p65 = EntityCoding.field(row, 65) }"))
        #expect(wide.contains("self._$state.drop(0xffffffffffffffff)") && !wide.contains("1 << 64"))
        let accessors = expand("final class A { @_Stored(65, .lazy) var p65 = \"\" }").text
        #expect(accessors.contains("self._$state.isPending(1 << 63)"))
        // A class in a hierarchy decodes its own texts alone.
        let base = try text("class", 66)
        #expect(base.contains("if properties.contains(65) {") && !base.contains("EntityCoding.field(row, 65)"))
        #expect(base.contains("self._p65 = try EntityCoding.codec((String).self).read(row, 65)"))
    }

    @Test(
        arguments: [
            "@Entity struct A { var y = 1; @Transient var x: Int!; @Transient var z: Int?; @Transient var w: Int { 1 } }",
            "@Entity final class A { var y = 1; @Transient @Wrapped var x: Int; @Transient let z: Int? = nil }",
            "@Entity final class A { @available(*, deprecated) var x = 1 }",
            """
            @Entity final class A: Hashable {
                static func == (l: A, r: A) -> Bool { true }
                func hash(into hasher: inout Hasher) { }
            }
            """,
            "@Entity final class A { static func == (l: A, r: Int) -> Bool { true } }",
            "@Entity final class A: @unchecked Sendable { var x = 1 }",
            "@Entity struct A: Sendable { static func == (l: A, r: A) -> Bool { true } }",
            "@Entity(\"B\", partial: true) struct A { @Attribute(.column(\"id\")) var x: Int? }",
            "@Entity struct A { #if DEBUG\nstatic var x = 1\nvar y: Int { 1 }\n@Transient var z = 1\n#endif }",
            "@Entity private struct A { var x = 1 }",
            "@Entity struct A { var keyValues = 1 }",
            "@Entity final class A { var x = 1; var y: Int { 1 }; func _x(_ y: Int) { } }",
            "@Entity final class A { var id: Int?; @Transient var _id = 1 }",
            "@Entity final class A { var total = 1; static var _total = 2 }",
            "@Entity final class A: Object { var x = 1 }",
            "@Entity final class A { static func == (l: A, r: A) -> Bool { l === r } }",
            """
            @Entity final class A {
                static func == (l: A, r: A) -> Bool { l.x == r.x }
                #if DEBUG
                    func hash(into hasher: inout Hasher) { }
                #endif
            }
            """,
            "@Entity final class A { var x = Double(Config.width); var y = Int(Config.max); var z = String(name) }",
            "@Entity struct A { var x = UInt8(ascii: \".\"); var y = String(cString: p); var z = Data(buffer: b) }",
        ])
    func accepted(_ source: String) {
        #expect(complaints(source).isEmpty)
    }

    @Test func anEqualityWithoutAHashIsAWarning() {
        let equality = "static func == (l: A, r: A) -> Bool { l.x == r.x }"
        let (text, messages) = expand("@Entity final class A { var x = 1; \(equality) }")
        #expect(messages.count == 1 && messages[0].contains("equal objects need equal hashes"))
        #expect(text.contains("entityModel") && text.contains("_x = EntityCoding.ScalarField<Int>"))
        #expect(expand("@Entity final class A: B { var x = 1; \(equality) }", conformances: []).messages.isEmpty)
    }

    @Test func computedAndStaticPropertiesAreLeftAlone() {
        let (text, messages) = expand(
            "@Entity final class A { var x = 1; static let y = 2; var z: Int { x + 1 }; static var w: Int = 3 }")
        #expect(messages.isEmpty)
        #expect(!text.contains("_z") && !text.contains("_w") && !text.contains("_y"))
    }
}
