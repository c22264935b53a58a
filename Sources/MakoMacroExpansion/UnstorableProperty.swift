import SwiftSyntax

extension EntityParser {
    /// Names that Swift does not take as the first component of a key path.
    private static let reservedNames: Set<String> = ["self", "Type", "Protocol", "ID"]

    /// Why a property with this name or type cannot be stored, as far as the spelling shows; nil: it may be storable.
    static func fault(of name: String, type: TypeSyntax?) -> (id: String, message: String)? {
        if reservedNames.contains(name) {
            let reason =
                name == "ID"
                ? "which Identifiable gives the type of 'id'" : "which Swift does not take for a property in a key path"
            return (
                "reservedName",
                "@Entity: a stored property cannot have the name '\(name)', \(reason); give it another one, or mark it @Transient"
            )
        }
        guard let found = type.flatMap(unstorable) else { return nil }
        let remedy = found.remedy.map { "\($0), or " } ?? ""
        return (
            found.id, "@Entity: '\(name)' holds \(found.what), which no column can; \(remedy)mark it @Transient"
        )
    }

    /// Kinds of types without a codec, whatever types they contain.
    private enum Unstorable {
        case closure, tuple, metatype
        /// With its spelling.
        case existential(String)

        var id: String {
            switch self {
            case .closure: "closure"
            case .tuple: "tuple"
            case .metatype: "metatype"
            case .existential: "existential"
            }
        }

        var what: String {
            switch self {
            case .closure: "a closure"
            case .tuple: "a tuple"
            case .metatype: "a type"
            case .existential(let spelling): "'\(spelling)', a value of any type"
            }
        }

        var remedy: String? {
            switch self {
            case .closure, .metatype: nil
            case .tuple: "make it a Codable struct"
            case .existential: "make it a StoredValue or a Codable enum"
            }
        }
    }

    /// The unstorable part of a type, also inside an optional, an array, a set or a dictionary.
    private static func unstorable(_ type: TypeSyntax) -> Unstorable? {
        if type.is(FunctionTypeSyntax.self) { return .closure }
        if type.is(MetatypeTypeSyntax.self) { return .metatype }
        if let tuple = type.as(TupleTypeSyntax.self) {
            guard tuple.elements.count == 1, let only = tuple.elements.first else { return .tuple }
            return unstorable(only.type)
        }
        if let inner = type.as(OptionalTypeSyntax.self)?.wrappedType { return unstorable(inner) }
        if let inner = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self)?.wrappedType { return unstorable(inner) }
        if let inner = type.as(AttributedTypeSyntax.self)?.baseType { return unstorable(inner) }
        if let inner = type.as(ArrayTypeSyntax.self)?.element { return unstorable(inner) }
        if let inner = type.as(DictionaryTypeSyntax.self) { return unstorable(inner.key) ?? unstorable(inner.value) }
        // An object of any entity is a reference.
        if let existential = type.as(SomeOrAnyTypeSyntax.self) {
            return existential.constraint.trimmedDescription.contains("ObjectEntity")
                ? nil : .existential(existential.trimmedDescription)
        }
        return unstorableName(type)
    }

    private static let containers: Set<String> = ["Array", "ContiguousArray", "Dictionary", "Optional", "Set"]

    private static func unstorableName(_ type: TypeSyntax) -> Unstorable? {
        let plain = type.as(IdentifierTypeSyntax.self)
        let member = type.as(MemberTypeSyntax.self).flatMap { $0.baseType.trimmedDescription == "Swift" ? $0 : nil }
        guard let name = plain?.name.text ?? member?.name.text else { return nil }
        let arguments = plain?.genericArgumentClause ?? member?.genericArgumentClause
        if arguments == nil, ["Any", "AnyObject", "AnyHashable"].contains(name) { return .existential(name) }
        if name == "AnyClass" { return .metatype }
        guard containers.contains(name), let arguments else { return nil }
        for argument in arguments.arguments {
            guard case .type(let inner) = argument.argument, let found = unstorable(inner) else { continue }
            return found
        }
        return nil
    }
}
