import SwiftSyntax

extension EntityParser {
    /// Names that a key path cannot have as its first component: Swift takes them for something else.
    private static let reservedNames: Set<String> = ["self", "Type", "Protocol", "ID"]

    /// Why a property of this name or type cannot be stored, seen by its spelling; nil: nothing speaks against it.
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
        switch type.flatMap(unstorable) {
        case .closure?:
            return ("closure", "@Entity: '\(name)' holds a closure, which no column can; mark it @Transient")
        case .tuple?:
            return (
                "tuple",
                "@Entity: '\(name)' holds a tuple, which no column can; make it a Codable struct, or mark it @Transient"
            )
        case nil: return nil
        }
    }

    private enum Unstorable { case closure, tuple }

    /// A closure or a tuple, also an optional one or one in an array or a dictionary.
    private static func unstorable(_ type: TypeSyntax) -> Unstorable? {
        if type.is(FunctionTypeSyntax.self) { return .closure }
        if let tuple = type.as(TupleTypeSyntax.self) {
            guard tuple.elements.count == 1, let only = tuple.elements.first else { return .tuple }
            return unstorable(only.type)
        }
        if let inner = type.as(OptionalTypeSyntax.self)?.wrappedType { return unstorable(inner) }
        if let inner = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self)?.wrappedType { return unstorable(inner) }
        if let inner = type.as(AttributedTypeSyntax.self)?.baseType { return unstorable(inner) }
        if let inner = type.as(ArrayTypeSyntax.self)?.element { return unstorable(inner) }
        if let inner = type.as(DictionaryTypeSyntax.self) { return unstorable(inner.key) ?? unstorable(inner.value) }
        return nil
    }
}
