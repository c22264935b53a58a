import SwiftDiagnostics
import SwiftSyntax

// What a class declares beside its properties.
extension EntityCheck {
    /// Superclasses of other libraries.
    private static let foreignSuperclasses: Set<String> = [
        "NSObject", "NSManagedObject", "Object", "RLMObject", "SRKObject",
    ]

    /// Findings that concern the inheritance clause of a class without an entity as superclass.
    static func inheritanceFindings(in source: EntitySource) -> [Finding] {
        var found: [Finding] = []
        if let first = source.inherited.first, foreignSuperclasses.contains(source.firstInheritedName) {
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

    /// Objects are hashed by identity, unless the class says otherwise.
    static func checkEquality(of source: EntitySource, _ found: inout [Finding]) {
        guard let equality = source.equality, !source.hasHash else { return }
        found.append(
            Finding(
                id: "equality",
                message: "'\(source.name)' has its own '==', and equal objects would have different hashes; write "
                    + "'hash(into:)' beside it", node: equality))
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
        if function.name.text == "==", parameters.count == 2, isOfType { equality = Syntax(function.name) }
    }
}
