import Testing

@testable import MakoMacroExpansion

@Suite struct EntityExpansionTests {
    @Test func finalClass() {
        let (text, messages) = expand(
            """
            @Entity final class Person {
                var name: String = ""
                var boss: Boss?
                @Transient var isSelected = false
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("extension Person: nonisolated ObjectEntity, nonisolated Entity,"))
        #expect(text.contains("@unchecked Sendable"))
        #expect(text.contains("private var _name: String\n"))
        #expect(text.contains("private var _boss = EntityCoding.codec((Boss?).self).emptySlot"))
        #expect(text.contains("init(name: String = \"\", boss: Boss? = nil)"))
        #expect(text.contains("convenience init(_ dictionary: [String: Any]) throws(MakoError)"))
        #expect(text.contains("static let entityModel: EntityModel"))
        #expect(text.contains("var id: Int?"))
        #expect(!text.contains("_isSelected"))
        #expect(!text.contains("required init"))
    }

    @Test func openClassHasOneRequiredInitialiser() {
        let (text, messages) = expand("@Entity class Person { var name = \"\" }")
        #expect(messages.isEmpty)
        #expect(text.contains("required init()"))
        #expect(text.contains("required init(row: EntityRow) throws(MakoError)"))
        #expect(text.contains("convenience init(name: String = \"\")"))
    }

    @Test func structKeepsItsStoredProperties() {
        let (text, messages) = expand(
            """
            @Entity struct Wolf {
                @Attribute(.primaryKey) var name: String
                var weight: Double = 0
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("extension Wolf: nonisolated Entity"))
        #expect(text.contains("var id: String {"))
        #expect(text.contains("init(name: String, weight: Double = 0)"))
        #expect(text.contains("func keyValues() -> [StoredValue]"))
        #expect(!text.contains("private var _name"))
        #expect(!text.contains("init() {"))
    }

    @Test func constantsOfAStructAreSetByInitialisersOnly() {
        let (text, messages) = expand(
            """
            @Entity struct Wolf {
                @Attribute(.primaryKey) let name: String
                let note: String?
                var weight: Double = 0
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("init(name: String, note: String? = nil, weight: Double = 0)"))
        #expect(text.contains("self.name = try EntityCoding.codec((String).self).read(row, 0)"))
        #expect(!text.contains("assignKey(&self.name)"))
        let (defaulted, _) = expand("@Entity struct A { let note: String? }")
        #expect(defaulted.contains("self.note = nil"))
        let (long, _) = expand("@Entity struct A { var note: Optional<String>; var other: ToOne<B> }")
        #expect(long.contains("init() {\n        self.note = nil\n        self.other = .init()"))
    }

    @Test func aClassIsHashableUnlessItSaysSo() {
        let (text, _) = expand("@Entity final class A { var x = 1 }")
        #expect(text.contains("nonisolated Entity, nonisolated Hashable,"))
        let own = allConformances.filter { $0 != "Hashable" }
        #expect(!expand("@Entity final class A: Hashable { var x = 1 }", conformances: own).text.contains("Hashable, "))
        #expect(!expand("@Entity struct B { var x = 1 }").text.contains("Hashable"))
    }

    @Test func settingAReferenceGivesTheObjectToItsOwner() {
        let (text, _) = expand("@Entity final class A { var x = 1; var boss: Boss? }")
        #expect(text.contains("EntityCoding.noteReference(to: boss, of: self, property: 1)"))
        #expect(text.contains("EntityCoding.noteReference(to: newValue, of: self, property: 1)"))
    }

    @Test func publicTypesGetPublicMembers() {
        let (text, _) = expand("@Entity public final class A { public var x: Int = 0 }")
        #expect(text.contains("public init(x: Int = 0)"))
        #expect(text.contains("public static let entityModel"))
        #expect(text.contains("public var id: Int?"))
        let (narrow, _) = expand("@Entity public final class A { var x: Int = 0 }")
        #expect(narrow.contains("    init(x: Int = 0)"))
        #expect(!narrow.contains("public init(x: Int = 0)"))
    }

    @Test func theMemberwiseInitialiserHasTheNarrowestAccessOfItsParameters() {
        let (constant, _) = expand("@Entity public struct A { let x: Int; public var y = 1 }")
        #expect(constant.contains("    init(x: Int, y: Int = 1)") && !constant.contains("public init(x"))
        let (package, _) = expand("@Entity public struct A { package var x: Int; public var y = 1 }")
        #expect(package.contains("package init(x: Int, y: Int = 1)"))
        let (narrow, _) = expand("@Entity package struct A { var x: Int }")
        #expect(narrow.contains("    init(x: Int)") && narrow.contains("package init(row: EntityRow)"))
        let (hidden, _) = expand("@Entity struct A { fileprivate var x: Int; private let y: Phase }")
        #expect(hidden.contains("private init(x: Int, y: Phase)") && !hidden.contains("fileprivate init"))
        let (setter, _) = expand("@Entity public struct A { public private(set) var x: Int }")
        #expect(setter.contains("public init(x: Int)"))
    }

    @Test func aPrivatePropertyWithAValueIsNoParameter() {
        let (object, messages) = expand(
            "@Entity final class A { var x = 1; private var phase: Phase = .idle; fileprivate var note: String? }")
        #expect(messages.isEmpty)
        #expect(object.contains("init(x: Int = 1) {"))
        #expect(object.contains("self._phase = .idle") && object.contains("self._note = nil"))
        #expect(object.contains("try values.value(\"phase\""))
        let (value, _) = expand("@Entity struct A { var x: Int; private var phase = 1; private let note: Note? }")
        #expect(value.contains("init(x: Int) {\n        self.note = nil\n        self.x = x"))
        let (chained, _) = expand("@Entity class A { var x = 1; private var phase: Phase = .idle }")
        #expect(chained.contains("init(x: Int = 1) {\n        self.init()\n        self._x.value = x\n    }"))
    }

    @Test func defaultsOfAPublicInitialiserMayUseWhatIsNotPublic() {
        let (text, messages) = expand(
            """
            @Entity public final class A {
                public var title: String = A.blank
                public var x = -1
                public var on = Date()
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("public init(title: String = A._$defaultsA.title, x: Int = -1, on: Date = Date())"))
        #expect(text.contains("public nonisolated enum _$defaultsA {"))
        #expect(text.contains("public static var title: String {"))
        #expect(!expand("@Entity final class A { var title: String = A.blank }").text.contains("_$defaults"))
        let own = expand(
            "@Entity public final class A { public var title: String = A.blank; public init(title: String) { } }")
        #expect(!own.text.contains("_$defaults"))
    }

    @Test func publicStructsAreSendableByName() {
        // The compiler infers it for narrower structs only.
        let (text, messages) = expand("@Entity public struct Rate { public var value: Double }")
        #expect(messages.isEmpty)
        #expect(text.contains("extension Rate: nonisolated Entity, "))
        #expect(text.contains("Sendable"))
        #expect(!text.contains("@unchecked"))
    }

    @Test func conformancesThatATypeHasAreNotRepeated() {
        let (text, _) = expand(
            "@Entity final class A: CustomStringConvertible { var x = 1; var description: String { \"a\" } }",
            conformances: allConformances.filter { $0 != "CustomStringConvertible" })
        #expect(
            text.contains("nonisolated Identifiable, @unchecked Sendable")
                && !text.contains("nonisolated CustomStringConvertible"))
        let (other, _) = expand(
            "@Entity struct B: Sendable { var x = 1 }", conformances: allConformances.filter { $0 != "Sendable" })
        #expect(other.contains("extension B: nonisolated Entity,") && !other.contains(", Sendable"))
    }

    @Test func optionsReachTheModel() {
        let (text, messages) = expand(
            """
            @Entity("persons") final class Person {
                #Index<Person>([\\.name], [\\.age, \\.name])
                #Unique<Person>([\\.age])
                #FullText<Person>([\\.name])
                #FullText<Person>([\\.name], stemming: .english)
                #Index<Person>([\\.age], where: "age > 18 AND name != 'x'")
                @Attribute(.unique, .column("n")) var name: String = ""
                @Mako.Attribute(.originalName("years")) var age = 3
                @Relationship(inverse: \\Pet.owner, deleteRule: .cascade) var pets: ToMany<Pet>
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("table: \"persons\""))
        #expect(text.contains("column: \"n\", default: \"\", options: [.unique]"))
        #expect(text.contains("options: [.originalName(\"years\")]"))
        #expect(text.contains("EntityModel.index(Person.self, [\\.age, \\.name], isUnique: false)"))
        #expect(text.contains("EntityModel.index(Person.self, [\\.age], isUnique: true)"))
        #expect(
            text.contains(
                "EntityModel.index(Person.self, [\\.age], isUnique: false, where: \"age > 18 AND name != 'x'\")"))
        #expect(text.contains("EntityModel.fullText(Person.self, [\\.name])"))
        #expect(text.contains("EntityModel.fullText(Person.self, [\\.name], stemming: .english)"))
        #expect(text.contains(".many(\"pets\", \\Person.pets, Pet.self, inverse: \\Pet.owner, deleteRule: .cascade)"))
        #expect(text.contains("ToMany<Pet>(owner: self, inverse: \\Pet.owner)"))
    }

    @Test func integerKeysAreTheRowNumber() {
        let (text, messages) = expand(
            "@Entity final class A { @Attribute(.primaryKey) var number: Int = 0; var x = 1 }")
        #expect(messages.isEmpty)
        #expect(text.contains(".rowNumber(\"number\""))
        #expect(!text.contains("private var _number"))
        #expect(text.contains("var id: Int {"))
        let (value, _) = expand("@Entity struct A { var id: Int16?; var rowNumber = 1 }")
        #expect(value.contains("var _$rowNumber: Int64") && !value.contains("var rowNumber: Int64"))
        #expect(value.contains("self.id = try EntityCoding.key(row, as: (Int16?).self)"))
        let (object, _) = expand("@Entity final class A { var id: Int16?; var x = 1 }")
        #expect(object.contains("try EntityCoding.key(row, as: (Int16?).self)"))
    }

    @Test func handWrittenInitialisersAreKept() {
        let (text, messages) = expand(
            """
            @Entity final class A {
                var x: Int = 0
                init(y: Int) { self.x = y }
            }
            """)
        #expect(messages.isEmpty)
        #expect(text.contains("private let _x = ScalarField<Int>(0)"))
        #expect(text.contains("convenience init(x: Int = 0)"))
    }

    @Test func subclassesAddToTheirSuperclass() {
        let (text, messages) = expand(
            """
            @Entity class B: Module.A {
                #Index<B>([\\B.x])
                var x: Int = 1
                var note: String = ""
            }
            """, conformances: [])
        #expect(messages.isEmpty)
        #expect(text.contains("extension B: @unchecked Sendable {"))
        #expect(!text.contains("var _$state"))
        #expect(text.contains("static func _$propertiesB<T: B>(_ type: T.Type) -> [PropertyModel]"))
        #expect(text.contains("var properties: [PropertyModel] = Module.A._$propertiesA(type)"))
        #expect(text.contains("EntityModel.index(T.self, [\\.x], isUnique: false)"))
        #expect(text.contains("override class var entityModel: EntityModel"))
        #expect(text.contains("static var _$baseB: Int {\n        Module.A._$endA"))
        #expect(text.contains("property: (B._$baseB + 0)"))
        #expect(text.contains("try super._$encode(into: &writer, properties: properties)"))
        #expect(text.contains("super._$lazyProperties | (1 << (B._$baseB + 1))"))
        #expect(text.contains("override func _$take(_ values: DictionaryValues) throws(MakoError)"))
    }

    @Test func aProtocolBehindTheColonIsNoSuperclass() {
        let (text, messages) = expand("@Entity final class B: Named { var x: Int = 1 }")
        #expect(messages.isEmpty)
        #expect(text.contains("static var _$baseB: Int {\n        0"))
        #expect(text.contains("var _$state: ObjectState") && !text.contains("super."))
    }

    @Test func typesOfInitialisersThatAlwaysReturnAValueAreKnown() {
        for (value, type) in [
            ("UUID()", "UUID"), ("Date(timeIntervalSinceReferenceDate: 0)", "Date"), ("Int(-5)", "Int"),
            ("URL(fileURLWithPath: \"/\")", "URL"), ("Data(text.utf8)", "Data"), ("Decimal(price)", "Decimal"),
            ("String(repeating: \"a\", count: 3)", "String"), ("Character(\"a\")", "Character"),
            ("Int64(truncatingIfNeeded: x)", "Int64"), ("Coordinate(latitude: 0, longitude: 0)", "Coordinate"),
        ] {
            let (text, messages) = expand("@Entity struct A { var x = \(value) }")
            #expect(messages.isEmpty && text.contains("init(x: \(type) = \(value))"), "\(messages)")
        }
    }

    @Test func anEntityMayHaveTheNameOfAStandardType() {
        let (text, messages) = expand("@Entity final class A { var hero: Character?; var born: Date? }")
        #expect(messages.isEmpty)
        #expect(text.contains("private var _hero = EntityCoding.codec((Character?).self).emptySlot"))
        // Where it cannot be one, the compiler says so.
        #expect(text.contains("EntityCoding.valueCodec((Date?).self)"))
    }

    @Test func hooksAreLeftToTheCompiler() {
        let (text, messages) = expand(
            "@Entity(\"a\", raisesEvents: false) class A { func willInsert() -> Bool { true }; func didSave(_ x: Int) {} }"
        )
        #expect(messages.isEmpty)
        // Methods of extensions and superclasses are hooks too, and a macro sees none of them.
        #expect(text.contains("if EntityCoding.implements(A.didSave) {"))
        #expect(text.contains("return EntityCoding.agrees(self.willInsert())"))
        #expect(text.contains("raisesEvents: false"))
    }

    @Test func keysCanBeGivenAndTakenBack() {
        let (text, messages) = expand("@Entity final class A { @Attribute(.primaryKey) var code: UUID?; var x = 1 }")
        #expect(messages.isEmpty)
        #expect(text.contains("func forgetKey() {\n        self._code = nil"))
        #expect(text.contains("let value0 = EntityCoding.valueCodec((UUID?).self).value(values[0])"))
    }

    @Test func stampsAreDeclaredAndFilledIn() {
        let (text, messages) = expand("@Entity(stamps: true) public final class A { public var x = 1 }")
        #expect(messages.isEmpty)
        #expect(text.contains("public private(set) var createdAt: EntityCoding.Stamp?"))
        #expect(text.contains("options: [.writeOnce]") && text.contains("hasStamps: true"))
        #expect(text.contains("public func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)"))
        #expect(text.contains("public init(x: Int = 1)"))
    }

    @Test func aSubclassMayLeaveItsSuperclassOut() {
        let (text, messages) = expand(
            "@Entity(ignoringSuperclass: true) class B: A { var x = 1; var note: String = \"\" }", conformances: [])
        #expect(messages.isEmpty)
        #expect(text.contains("EntityCoding.absent(A._$propertiesA(type))"))
        #expect(!text.contains("super.init(row: row)") && !text.contains("super.encode"))
        #expect(!text.contains("super._$lazyProperties") && !text.contains("super.visitReferences"))
        #expect(text.contains("A._$endA"))
    }

    @Test func whereNoObjectCanBeHeldTheCompilerRefusesOne() {
        let (text, messages) = expand("@Entity struct A { var den: Den?; var dens: [Den] = []; var other: Alias }")
        #expect(messages.isEmpty)
        #expect(text.contains("try EntityCoding.valueCodec((Den?).self).write(self.den"))
        #expect(text.contains("try EntityCoding.valueCodec(([Den]).self).read(row, 1)"))
        #expect(text.contains("EntityCoding.valueCodec((Alias).self)"))
        let (aliased, _) = expand("@Entity final class A { var den: Alias = nil; var box: Swift.Optional<Den> }")
        #expect(aliased.contains("EntityCoding.valueCodec((Alias).self)"))
        #expect(aliased.contains("EntityCoding.codec((Swift.Optional<Den>).self).emptySlot"))
    }

    @Test func reservedWordsKeepTheirBackticks() {
        let (text, messages) = expand("@Entity final class A { var `default`: Int = 0 }")
        #expect(messages.isEmpty)
        #expect(text.contains("\\A.`default`"))
        #expect(text.contains("private let _default = ScalarField<Int>()"))
    }
}

@Suite struct EntityIdentityExpansionTests {
    @Test func aComputedIDIsNotTakenForTheKey() {
        let computed = expand(
            "@Entity final class A { @Attribute(.primaryKey) var code = \"\"; var id: String { code } }")
        #expect(computed.messages.isEmpty && computed.text.contains("table: \"A\", properties:"))
        let stored = expand("@Entity struct A { @Attribute(.primaryKey) var code: String; var id: Int }")
        #expect(stored.messages.isEmpty && stored.text.contains("table: \"A\", id: \\A.id, properties:"))
        let given = expand("@Entity class A { @Attribute(.primaryKey) var code = \"\" }")
        #expect(given.messages.isEmpty && given.text.contains("table: \"A\", id: \\A.id, properties:"))
    }

    @Test func aTableThatIsNamedIsDeclared() {
        #expect(expand("@Entity(\"A\") final class A { var x = 1 }").text.contains(", declaresTable: true)"))
        #expect(!expand("@Entity final class A { var x = 1 }").text.contains("declaresTable"))
        #expect(
            expand("@Entity(\"B\") class A: B { var x = 1 }", conformances: []).text.contains(
                "entityModel, declaresTable: true)"))
    }

    @Test func parenthesesAndGenericsAreStored() {
        for type in ["(Int)", "(any ObjectEntity)?", "Array<Int>", "[String: [Int]]", "Result"] {
            #expect(
                !expand("@Entity final class A { var x: \(type)? }").messages.contains { $0.contains("holds a") },
                "\(type)")
        }
    }
}

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
        #expect(text.contains("private var _next = SlotField(EntityCoding.codec((A?).self).emptySlot)"))
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

    @Test func computedAndStaticPropertiesAreLeftAlone() {
        let (text, messages) = expand(
            "@Entity final class A { var x = 1; static let y = 2; var z: Int { x + 1 }; static var w: Int = 3 }")
        #expect(messages.isEmpty)
        #expect(!text.contains("_z") && !text.contains("_w") && !text.contains("_y"))
    }
}
