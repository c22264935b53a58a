import SwiftSyntax
import SwiftSyntaxMacros

/// `@Attribute`, `@Relationship` and `@Transient` only mark a property for `@Entity` to read.
public struct MarkerMacro: PeerMacro {
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if !declaration.is(VariableDeclSyntax.self) {
            Finding(
                id: "marker", message: "@\(EntityParser.name(of: node)) belongs to a property", node: Syntax(node),
                fixIt: Repair.erasing(node)
            ).report(in: context)
        }
        return []
    }
}

/// `#Index`, `#Unique` and `#FullText` inside an entity's body: read by `@Entity`, nothing by themselves.
public struct DeclarationMarkerMacro: DeclarationMacro {
    public static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        []
    }
}
