import SwiftSyntax

/// What the parse step finds in an `@Entity` type: plain data, with the syntax nodes kept only to point errors at them.
struct EntitySource {
    enum Kind { case classType(isFinal: Bool), structType }

    var kind: Kind
    var name: String
    var access: String
    var table: String?
    /// The first type a class names behind its colon, as it is written: its superclass, or a protocol.
    var firstInherited: String?
    /// That type's name without those around it.
    var firstInheritedName = ""
    /// Whether the class itself says that it is `Sendable`.
    var saysSendable = false
    /// Whether that is an entity. Only the role that writes members is told.
    var isSubclass = false
    var isOpen = false
    /// `false` where the type's objects raise no events.
    var raisesEvents = true
    /// The name of the database that its objects belong to.
    var database: String?
    /// Whether it has the properties that say when an object was made and last saved.
    var hasStamps = false
    /// Whether it shows some of another entity's properties.
    var isPartial = false
    /// Whether whoever reads its properties can follow them.
    var isObservable = false
    /// Whether the properties of its superclass stay out of its table.
    var ignoresSuperclass = false
    var properties: [PropertySource] = []
    var indexes: [IndexSource] = []
    /// Argument labels of the initialisers written in the body.
    var initializers: [InitializerSource] = []
    var memberNames: Set<String> = []
    /// Whether it has a `deinit` written in the body.
    var hasDeinitializer = false
    /// The options of @Entity by their labels.
    var options: [String: LabeledExprSyntax] = [:]
    var node: Syntax

    var isClass: Bool { if case .classType = kind { true } else { false } }
    var isFinalClass: Bool { if case .classType(true) = kind { true } else { false } }
    var hasDesignatedInitializer: Bool { initializers.contains { !$0.isConvenience } }
    /// What stands before the positions of the class's own columns in generated code: those of its superclass, if it has one.
    var base: String? { isClass && firstInherited != nil ? "\(name)._$base\(name)" : nil }
    /// Whether generated members are overridden by those of subclasses, or override some.
    var isInHierarchy: Bool { isClass && (!isFinalClass || isSubclass) }

    func option(_ label: String) -> Syntax? { options[label].map { Syntax($0) } }

    /// The properties that are the key: those marked `.primaryKey`, else one that is called `id`.
    var keyProperties: [PropertySource] {
        let marked = properties.filter { $0.isMarkedKey }
        return marked.isEmpty ? properties.filter { $0.name == "id" && !$0.isMany } : marked
    }
    /// The single signed integer key, which is the row's number itself and no column.
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
    /// What an initialiser takes.
    var parameters: [PropertySource] { properties.filter { !$0.isMany && !$0.isStamp } }
    /// The columns that an object leaves in its row until they are asked for, with their positions.
    var lazyColumns: [(offset: Int, element: PropertySource)] { columns.enumerated().filter { $0.element.isLazy } }
}

struct InitializerSource {
    var labels: [String]
    var isConvenience: Bool
}

struct OptionSource {
    var name: String
    var argument: String?
    /// The argument when it is a text that is known here.
    var literal: String? = nil
    var node: Syntax
}

struct PropertySource {
    var name: String
    /// The name as it must be written in code: in back-ticks where it is a keyword.
    var codeName: String
    var type: String
    var defaultValue: String?
    var attributes: [OptionSource] = []
    var hasAttribute = false
    var relationship: [OptionSource]?
    var inverse: String?
    var deleteRule: String?
    /// Whether the macro declares it, and its type is spelt so that the user's file needs no import for it.
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

    /// Whether it is stored as one text, whatever its type.
    var isSerialized: Bool { attributes.contains { $0.name == "serialized" } }
    /// Whether it stands encrypted in its row.
    var isEncrypted: Bool { attributes.contains { $0.name == "encrypted" } }
    /// Whether it is nil until the object is refreshed.
    var isDeferred: Bool { attributes.contains { $0.name == "loadOnRefresh" } }
    var isOptional: Bool { Self.isOptional(type) }
    var baseType: String {
        if type.hasSuffix("?") { return String(type.dropLast()) }
        guard type.hasSuffix(">"), let name = Self.optionalNames.first(where: { type.hasPrefix($0) }) else {
            return type
        }
        return String(type.dropFirst(name.count).dropLast())
    }
    /// Whether the spelling of its type says all of it.
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

    /// Whether the type could be another entity: then the property lives in a slot whose type overload resolution picks,
    /// because a macro sees the spelling of a type and not the type.
    var needsSlot: Bool {
        !isSerialized && !isEncrypted && !isStamp
            && (isCollection || isAnyObject
                || isOptional && !isMany && !Self.valueTypes.contains(baseType) && !baseType.contains("<")
                    && !baseType.hasPrefix("[") && !baseType.hasPrefix("(") && !baseType.hasSuffix("?"))
    }
    /// Whether it is a reference in which objects of subclasses may stand.
    var takesSubclasses: Bool { relationship?.contains { $0.name == "subclasses" } == true }
    /// Whether it is a reference to one object that it does not keep alive.
    var isWeak: Bool {
        relationship?.contains { $0.name == "weak" } == true && needsSlot && !isCollection
    }
    /// Whether it refers to an object of any entity: `(any ObjectEntity)?`.
    var isAnyObject: Bool {
        var spelling = baseType
        if spelling.hasPrefix("("), spelling.hasSuffix(")") { spelling = String(spelling.dropFirst().dropLast()) }
        return ["any ObjectEntity", "any Mako.ObjectEntity", "any MakoCore.ObjectEntity"].contains(spelling)
    }
    /// Whether it is an array, set, ordered set or dictionary of something that could be an entity.
    var isCollection: Bool {
        if isSerialized || isEncrypted { return false }
        var element = baseType
        var isInside = false
        while let inner = Self.element(of: element) {
            element = inner
            isInside = true
        }
        return isInside && !Self.valueTypes.contains(element) && !element.hasSuffix("?") && !element.contains("<")
            && !element.hasPrefix("(") && !element.hasPrefix("any ")
    }

    /// The type of what stands in an array, a set, an ordered set or a dictionary; nil when the type is none of these.
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

    /// Whether a class keeps it in a word that is read without a lock.
    var isScalar: Bool { Self.scalarTypes.contains(type) }
    /// Whether a class leaves it in its row until it is asked for.
    var isLazy: Bool {
        ["String", "Data", "[UInt8]"].contains(baseType) && !isSerialized && !isDeferred && !isEncrypted
    }
    /// How a class keeps it, a case of `StoredPropertyKind`.
    var storage: String {
        if isMany { return "many" }
        if needsSlot { return "slot" }
        return isScalar ? "scalar" : isLazy ? "lazy" : "value"
    }
    /// Whether its slot lets go of its objects itself when its owner ends, because that has a `deinit` of its own.
    var letsGo = false
    /// What the property behind it is declared as.
    var backingName: String { "_" + name }
    var backing: String { letsGo && needsSlot ? backingName + ".slot" : backingName }
    /// The value behind the property of a class, as code that holds the lock reads and writes it.
    var content: String { isScalar ? backing + ".value" : backing }

    static let scalarTypes: Set<String> = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float",
        "Double", "Date",
    ]
    static let valueTypes: Set<String> = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float",
        "Double", "String", "Character", "Date", "Data", "URL", "UUID", "Decimal", "Substring", "CGFloat", "CGPoint",
        "CGSize", "CGRect", "NSRange",
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
    /// Whether it is over the words of texts.
    var isFullText = false
    /// The stemming that was asked for, as it is written.
    var stemming: String?
    /// Each element is the source text of one array of key paths or index keys.
    var groups: [String]
    /// The source text of the condition of a partial index.
    var condition: String?
    var node: Syntax
}
