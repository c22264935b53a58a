import Testing

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
        #expect(text.contains("static let entityModel: EntityCoding.EntityModel"))
        #expect(text.contains("var id: Int?"))
        #expect(!text.contains("_isSelected"))
        #expect(!text.contains("required init"))
    }

    @Test func openClassHasOneRequiredInitialiser() {
        let (text, messages) = expand("@Entity class Person { var name = \"\" }")
        #expect(messages.isEmpty)
        #expect(text.contains("required init()"))
        #expect(text.contains("required init(row: EntityCoding.EntityRow) throws(MakoError)"))
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
        #expect(text.contains("func keyValues() -> [EntityCoding.StoredValue]"))
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
        #expect(narrow.contains("    init(x: Int)") && narrow.contains("package init(row: EntityCoding.EntityRow)"))
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
        let (value, _) = expand(
            "@Entity struct A { var x: Int; private var phase = 1; private var note: Optional<Note> }")
        #expect(value.contains("init(x: Int) {\n        self.note = nil\n        self.x = x"))
        let (chained, _) = expand("@Entity class A { var x = 1; private var phase: Phase = .idle }")
        #expect(chained.contains("init(x: Int = 1) {\n        self.init()\n        self._x.value = x\n    }"))
        // Nothing else could give it a value.
        let (constant, _) = expand("@Entity struct A { var x: Int; private let note: Note? }")
        #expect(constant.contains("private init(x: Int, note: Note? = nil) {"))
    }

    @Test(arguments: ["x: Int, phase: Phase", "x: Int"])
    func aMemberwiseInitialiserInTheBodyReplacesTheGeneratedOne(_ parameters: String) {
        let body = "public var x: Int = A.start; private var phase: Phase = .idle; init(\(parameters)) { }"
        for kind in ["struct", "final class"] {
            let (text, messages) = expand("@Entity public \(kind) A { \(body) }")
            #expect(messages.isEmpty)
            #expect(!text.contains("init(x: Int = ") && !text.contains("_$defaults"))
        }
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
        let (value, _) = expand(
            "@Entity public struct A { public var titles: [String] = [Self.blank, Self /* own */.make()] }")
        #expect(value.contains("public static var titles: [String] {\n            [A.blank, A /* own */.make()]\n"))
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
        #expect(text.contains("EntityCoding.EntityModel.index(Person.self, [\\.age, \\.name], isUnique: false)"))
        #expect(text.contains("EntityCoding.EntityModel.index(Person.self, [\\.age], isUnique: true)"))
        #expect(
            text.contains(
                "EntityCoding.EntityModel.index(Person.self, [\\.age], isUnique: false, where: \"age > 18 AND name != 'x'\")"
            ))
        #expect(text.contains("EntityCoding.EntityModel.fullText(Person.self, [\\.name])"))
        #expect(text.contains("EntityCoding.EntityModel.fullText(Person.self, [\\.name], stemming: .english)"))
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
        #expect(text.contains("private let _x = EntityCoding.ScalarField<Int>(0)"))
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
        #expect(text.contains("static func _$propertiesB<T: B>(_ type: T.Type) -> [EntityCoding.PropertyModel]"))
        #expect(text.contains("var properties: [EntityCoding.PropertyModel] = Module.A._$propertiesA(type)"))
        #expect(text.contains("EntityCoding.EntityModel.index(T.self, [\\.x], isUnique: false)"))
        #expect(text.contains("override class var entityModel: EntityCoding.EntityModel"))
        #expect(text.contains("static var _$baseB: Int {\n        Module.A._$endA"))
        #expect(text.contains("property: (B._$baseB + 0)"))
        #expect(text.contains("try super._$encode(into: &writer, properties: properties)"))
        #expect(text.contains("super._$lazyProperties | (1 << (B._$baseB + 1))"))
        #expect(text.contains("override func _$take(_ values: EntityCoding.DictionaryValues) throws(MakoError)"))
    }

    @Test func aProtocolBehindTheColonIsNoSuperclass() {
        let (text, messages) = expand("@Entity final class B: Named { var x: Int = 1 }")
        #expect(messages.isEmpty)
        #expect(text.contains("static var _$baseB: Int {\n        0"))
        #expect(text.contains("var _$state: EntityCoding.ObjectState") && !text.contains("super."))
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
        #expect(text.contains("private let _default = EntityCoding.ScalarField<Int>()"))
    }

    @Test func rawIdentifiersKeepTheirBackticks() {
        let (text, messages) = expand("@Entity final class A { var `first name` = \"\" }")
        #expect(messages.isEmpty)
        #expect(text.contains("private var `_first name`: String") && text.contains("return self.`_first name`"))
        #expect(text.contains(".column(\"first name\", \\A.`first name`"))
    }

    @Test func theConformancesHaveTheAvailabilityOfTheType() {
        let (text, messages) = expand("@available(macOS 15, *) @Entity final class A { var x = 1 }")
        #expect(messages.isEmpty && text.contains("@available(macOS 15, *)\nextension A: nonisolated ObjectEntity"))
        let (inner, _) = expand("@available(macOS 15, *) enum E { @Entity struct A { var x = 1 } }")
        #expect(inner.contains("@available(macOS 15, *)\nextension E.A: nonisolated Entity"))
        let (subclass, _) = expand("@available(macOS 15, *) @Entity class B: A { var x = 1 }", conformances: [])
        #expect(subclass.contains("@available(macOS 15, *)\nextension B: @unchecked Sendable"))
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
