import SwiftSyntax

/// Access levels, from the narrowest on.
enum Access: String, Comparable, Sendable {
    case `private`, `fileprivate`, `internal`, package, `public`

    /// The modifier in generated code.
    var modifier: String { self == .internal ? "" : rawValue + " " }

    private var rank: Int { [.private, .fileprivate, .internal, .package].firstIndex(of: self) ?? 4 }
    static func < (left: Access, right: Access) -> Bool { left.rank < right.rank }
}

/// The parsed `@Entity` type. Syntax nodes serve only as locations of errors.
struct EntitySource: Sendable {
    enum Kind: Sendable { case classType(isFinal: Bool), structType }

    var kind: Kind
    var name: String
    var declaredAccess: Access
    var table: String?
    /// The first type in a class's inheritance clause, as written: its superclass, or a protocol.
    var firstInherited: String?
    /// That type's name without enclosing types.
    var firstInheritedName = ""
    /// The inheritance clause of a class.
    var inherited: [InheritedTypeSyntax] = []
    /// Whether the class itself declares `Sendable`.
    var saysSendable = false
    /// Whether the superclass is an entity. Known only in the member role.
    var isSubclass = false
    var isOpen = false
    /// Whether the type's objects raise events.
    var raisesEvents = true
    /// The name of the objects' database.
    var database: String?
    /// Whether it has the timestamp properties of creation and last save.
    var hasStamps = false
    /// Whether it shows a part of another entity's properties.
    var isPartial = false
    /// Whether its properties are observable.
    var isObservable = false
    /// Whether its table omits the superclass's properties.
    var ignoresSuperclass = false
    var properties: [PropertySource] = []
    var indexes: [IndexSource] = []
    /// The initialisers in the body.
    var initializers: [InitializerSource] = []
    var memberNames: Set<String> = []
    /// The properties of an instance, stored and computed.
    var variableNames: Set<String> = []
    /// The `==` that the body of a class has for it.
    var equality: Syntax?
    /// Whether the body has `hash(into:)`.
    var hasHash = false
    /// Whether the body has a `deinit`.
    var hasDeinitializer = false
    /// The options of @Entity, by label.
    var options: [String: LabeledExprSyntax] = [:]
    var node: Syntax

    /// The modifier of generated members: those of a private type need none.
    var access: String { max(declaredAccess, .internal).modifier }
    var isClass: Bool { if case .classType = kind { true } else { false } }
    var isFinalClass: Bool { if case .classType(true) = kind { true } else { false } }
    var hasDesignatedInitializer: Bool { initializers.contains { !$0.isConvenience } }
    /// In generated code, the position of the class's first own column, after those of the superclass.
    var base: String? { isClass && firstInherited != nil ? "\(name)._$base\(name)" : nil }
    /// Whether generated members are overridden in subclasses, or override some.
    var isInHierarchy: Bool { isClass && (!isFinalClass || isSubclass) }

    func option(_ label: String) -> Syntax? { options[label].map { Syntax($0) } }

    /// The key properties: those marked `.primaryKey`, otherwise the one named `id`.
    var keyProperties: [PropertySource] {
        let marked = properties.filter { $0.isMarkedKey }
        return marked.isEmpty ? properties.filter { $0.name == "id" && !$0.isMany } : marked
    }
    /// A single key property of a signed integer type, which is the row number and has no column.
    var rowNumberKey: PropertySource? {
        let keys = keyProperties
        guard keys.count == 1, let key = keys.first, key.isSignedInteger else { return nil }
        return key
    }
    /// The properties with a column, in the order of the row's fields.
    var columns: [PropertySource] {
        let rowKey = rowNumberKey?.name
        return properties.filter { !$0.isMany && $0.name != rowKey }
    }
    /// The properties that initialisers set.
    var parameters: [PropertySource] { properties.filter { !$0.isMany && !$0.isStamp } }
    /// The parameters of the memberwise initialiser. As in Swift's own, a private property with a value of its own is
    /// none: its type may be private, too. A `let` without a value has it from nowhere else.
    var memberwiseParameters: [PropertySource] {
        parameters.filter { $0.access >= .internal || !$0.hasInitialValue || $0.isConstant }
    }
    /// The access of the memberwise initialiser: its parameters have the types of the properties.
    var memberwiseAccess: Access {
        memberwiseParameters.map(\.access).reduce(max(declaredAccess, .internal), min)
    }
    /// The columns that an object leaves in its row until first access, with their positions.
    var lazyColumns: [(offset: Int, element: PropertySource)] {
        columns.enumerated().filter { isLazy($0.element, at: $0.offset) }
    }

    /// Whether an object leaves a column in its row until first access.
    ///
    /// One word has the bits of an object's columns in the row. Its last bit is the 64th column and all behind it, which
    /// are decoded together; but not where a superclass or a subclass has columns, too, because each class decodes its
    /// own. There the columns behind the 64th are decoded at once.
    func isLazy(_ property: PropertySource, at column: Int) -> Bool {
        property.isLazy && (column < 64 || isFinalClass && base == nil)
    }
    /// Whether one word has a bit for each of its columns.
    var isNarrow: Bool { columns.count <= 64 && !isInHierarchy }
}

struct InitializerSource {
    var labels: [String]
    var isConvenience: Bool
}

struct OptionSource {
    var name: String
    var argument: String?
    /// The argument, when it is a string literal.
    var literal: String? = nil
    var node: Syntax
}

struct PropertySource {
    var name: String
    /// The name in code: in backticks where it is a keyword.
    var codeName: String
    var type: String
    var defaultValue: String?
    /// Whether the default value uses no declarations but those of the standard library.
    var hasPlainDefault = false
    var attributes: [OptionSource] = []
    var hasAttribute = false
    var relationship: [OptionSource]?
    var inverse: String?
    var deleteRule: String?
    var access = Access.internal
    /// Whether it is a `let`, of a struct.
    var isConstant = false
    /// Whether the macro declares it, with a type spelling that needs no import in the user's file.
    var isStamp = false
    var node: Syntax

    static func stamps(at node: Syntax) -> [PropertySource] {
        ["createdAt", "updatedAt"].map { name in
            PropertySource(
                name: name, codeName: name, type: "EntityCoding.Stamp?",
                attributes: name == "createdAt" ? [OptionSource(name: "writeOnce", argument: nil, node: node)] : [],
                isStamp: true, node: node)
        }
    }

    /// Whether it is stored as JSON, whatever its type.
    var isSerialized: Bool { attributes.contains { $0.name == "serialized" } }
    /// Whether its column is encrypted.
    var isEncrypted: Bool { attributes.contains { $0.name == "encrypted" } }
    /// Whether it is nil until the object is refreshed.
    var isDeferred: Bool { attributes.contains { $0.name == "loadOnRefresh" } }
    var isOptional: Bool { Self.isOptional(type) }
    /// Whether an object has a value for it without an argument.
    var hasInitialValue: Bool { defaultValue != nil || isOptional || isToOne }
    var baseType: String {
        if type.hasSuffix("?") { return String(type.dropLast()) }
        guard type.hasSuffix(">"), let name = Self.optionalNames.first(where: { type.hasPrefix($0) }) else {
            return type
        }
        return String(type.dropFirst(name.count).dropLast())
    }
    /// Whether the spelling of its type is sufficient.
    var isKnown: Bool { isMany || isToOne || isStamp || Self.valueTypes.contains(baseType) }

    static func isOptional(_ type: String) -> Bool {
        type.hasSuffix("?") || optionalNames.contains { type.hasPrefix($0) }
    }
    private static let optionalNames = ["Optional<", "Swift.Optional<"]

    var isMany: Bool {
        type.hasPrefix("ToMany<") || type.hasPrefix("Mako.ToMany<") || type.hasPrefix("MakoCore.ToMany<")
    }
    var isToOne: Bool { type.hasPrefix("ToOne<") || type.hasPrefix("Mako.ToOne<") || type.hasPrefix("MakoCore.ToOne<") }
    var manyTarget: String {
        guard let open = type.firstIndex(of: "<"), type.hasSuffix(">") else { return type }
        return String(type[type.index(after: open)...].dropLast())
    }
    var isMarkedKey: Bool { attributes.contains { $0.name == "primaryKey" } }
    var isSignedInteger: Bool { ["Int", "Int64", "Int32", "Int16", "Int8"].contains(baseType) }

    /// Whether the type may be another entity. The property is then stored in a slot, whose type overload resolution
    /// selects, because a macro sees only the spelling of a type.
    var needsSlot: Bool {
        !isSerialized && !isEncrypted && !isStamp
            && (isCollection || isAnyObject
                || isOptional && !isMany && !Self.valueTypes.contains(baseType) && !baseType.contains("<")
                    && !baseType.hasPrefix("[") && !baseType.hasPrefix("(") && !baseType.hasSuffix("?"))
    }
    /// Whether it is a reference that takes objects of subclasses.
    var takesSubclasses: Bool { relationship?.contains { $0.name == "subclasses" } == true }
    /// Whether it is a reference to one object that it does not retain.
    var isWeak: Bool {
        relationship?.contains { $0.name == "weak" } == true && needsSlot && !isCollection
    }
    /// Whether it may be a reference to one object of a class.
    var mayReferToObject: Bool { needsSlot && !isCollection && !isAnyObject }
    /// Whether it refers to an object of any entity: `(any ObjectEntity)?`.
    var isAnyObject: Bool { Self.isAnyObject(baseType) }

    private static func isAnyObject(_ type: String) -> Bool {
        var spelling = type
        if spelling.hasPrefix("("), spelling.hasSuffix(")") { spelling = String(spelling.dropFirst().dropLast()) }
        return ["any ObjectEntity", "any Mako.ObjectEntity", "any MakoCore.ObjectEntity"].contains(spelling)
    }

    /// Whether it is an array, set, ordered set or dictionary of something that may be an entity.
    var isCollection: Bool {
        guard let element = innermost, !isSerialized, !isEncrypted else { return false }
        return Self.isAnyObject(element)
            || !Self.valueTypes.contains(element) && !element.hasSuffix("?") && !element.contains("<")
                && !element.hasPrefix("(") && !element.hasPrefix("any ")
    }
    /// Whether it is a collection of objects of any entity, or of such objects and values: `[any ObjectEntity]`,
    /// `[ObjectOrValue]`.
    var isAnyCollection: Bool {
        guard isCollection, let element = innermost else { return false }
        return Self.isAnyObject(element)
            || ["ObjectOrValue", "Mako.ObjectOrValue", "MakoCore.ObjectOrValue"].contains(element)
    }

    /// The type inside all arrays, sets, ordered sets and dictionaries; nil for a type that is none of these.
    private var innermost: String? {
        var found: String?
        var type = baseType
        while let inner = Self.element(of: type) {
            type = inner
            found = inner
        }
        return found
    }

    /// The element type of an array, a set, an ordered set or a dictionary; nil for other types.
    private static func element(of type: String) -> String? {
        let isBracketed = type.hasPrefix("[") && type.hasSuffix("]")
        let name = collectionNames.first { type.hasPrefix($0 + "<") && type.hasSuffix(">") }
        guard isBracketed || name != nil else { return nil }
        let content = type.dropFirst(name.map { $0.count + 1 } ?? 1).dropLast()
        guard let separator = topLevel(isBracketed ? ":" : ",", in: content) else {
            return String(content).trimmingSpaces
        }
        return String(content[content.index(after: separator)...]).trimmingSpaces
    }

    private static let collectionNames = [
        "Array", "Set", "Dictionary", "OrderedSet", "OrderedCollections.OrderedSet", "Collections.OrderedSet",
    ]

    private static func topLevel(_ mark: Character, in text: Substring) -> Substring.Index? {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "[", "<", "(": depth += 1
            case "]", ">", ")": depth -= 1
            case mark where depth == 0: return index
            default: continue
            }
        }
        return nil
    }

    /// Whether a class stores it in a word that is read without a lock.
    var isScalar: Bool { Self.scalarTypes.contains(type) }
    /// Whether a class leaves it in its row until first access.
    var isLazy: Bool {
        ["String", "Data", "[UInt8]"].contains(baseType) && !isSerialized && !isDeferred && !isEncrypted
    }
    /// How a class stores it, as a case of `StoredPropertyKind`.
    var storage: String {
        if isMany { return "many" }
        if needsSlot { return "slot" }
        return isScalar ? "scalar" : isLazy ? "lazy" : "value"
    }
    /// Whether its slot releases its objects itself, because the owner has its own `deinit`.
    var letsGo = false
    /// The name of its backing property.
    var backingName: String { Self.identifier("_" + name) }
    /// A name as generated code writes it: in backticks where it has other characters than identifiers have.
    static func identifier(_ name: String) -> String {
        name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } ? name : "`\(name)`"
    }
    var backing: String { letsGo && needsSlot ? backingName + ".slot" : backingName }
    /// The backing value of a class's property, for code that holds the lock.
    var content: String { isScalar ? backing + ".value" : backing }

    static let scalarTypes: Set<String> = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float",
        "Double", "Date",
    ]
    /// Types that are taken for values by their names. `Character` is not among them: entities have this name, too.
    static let valueTypes: Set<String> = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float",
        "Double", "String", "Date", "Data", "URL", "UUID", "Decimal", "Substring", "CGFloat", "CGPoint", "CGSize",
        "CGRect", "NSRange",
    ]
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

struct IndexSource {
    var isUnique: Bool
    /// Whether it is a full-text index.
    var isFullText = false
    /// The stemming, as written.
    var stemming: String?
    /// The source text of each array of key paths or index keys.
    var groups: [String]
    /// The source text of a partial index's condition.
    var condition: String?
    var node: Syntax
}
