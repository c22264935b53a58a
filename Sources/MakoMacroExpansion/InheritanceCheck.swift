import SwiftDiagnostics
import SwiftSyntax

// What a class declares beside its properties.
extension EntityCheck {
    /// Superclasses of other libraries.
    private static let foreignSuperclasses: Set<String> = [
        "NSObject", "NSManagedObject", "RLMObject", "SRKObject",
    ]

    /// A bare `Object` may be a protocol of the user's.
    private static func isForeign(_ source: EntitySource) -> Bool {
        foreignSuperclasses.contains(source.firstInheritedName) || source.firstInherited == "RealmSwift.Object"
    }

    /// Findings that concern the inheritance clause of a class without an entity as superclass.
    static func inheritanceFindings(in source: EntitySource) -> [Finding] {
        var found: [Finding] = []
        if let first = source.inherited.first, isForeign(source) {
            found.append(
                Finding(
                    id: "superclass",
                    message: "the superclass of an entity must be an entity; remove '\(first.type.trimmedDescription)'",
                    node: Syntax(first.type), fixIt: Repair.removing(first)))
        }
        let sendable = source.inherited.first {
            EntityParser.lastName(of: $0.type) == "Sendable" && !$0.type.trimmedDescription.hasPrefix("@unchecked")
        }
        if let sendable {
            found.append(
                Finding(
                    id: "sendable", message: "@Entity makes '\(source.name)' Sendable; remove 'Sendable'",
                    node: Syntax(sendable.type), fixIt: Repair.removing(sendable)))
        }
        return found
    }

    /// Objects are hashed by identity, unless the class says otherwise: here, or in an extension, which a macro does not
    /// see. The `==` of a subclass is not the one that `Hashable` uses.
    static func checkEquality(of source: EntitySource, _ found: inout [Finding]) {
        guard let equality = source.equality, !source.hasHash else { return }
        found.append(
            Finding(
                id: "equality",
                message: "'\(source.name)' has its own '==', and equal objects need equal hashes; write 'hash(into:)' "
                    + "beside it, because one in an extension is not seen here", node: equality, isWarning: true))
    }
}

extension EntitySource {
    /// Notes whether a method of a class is its equality, or its hash.
    mutating func noteEquality(_ function: FunctionDeclSyntax) {
        guard isClass else { return }
        let parameters = function.signature.parameterClause.parameters
        if function.name.text == "hash", parameters.count == 1, parameters.first?.firstName.text == "into" {
            hasHash = true
        }
        let isOfType = parameters.allSatisfy { ["Self", name].contains(EntityParser.lastName(of: $0.type)) }
        if function.name.text == "==", parameters.count == 2, isOfType, !Self.comparesIdentity(function) {
            equality = Syntax(function.name)
        }
    }

    /// Whether a method's only operator is `===`.
    private static func comparesIdentity(_ function: FunctionDeclSyntax) -> Bool {
        let tokens = function.body?.tokens(viewMode: .sourceAccurate).map(\.tokenKind) ?? []
        let operators = tokens.compactMap { if case .binaryOperator(let text) = $0 { text } else { nil } }
        return operators == ["==="]
    }
}
