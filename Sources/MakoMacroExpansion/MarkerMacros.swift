import SwiftSyntax
import SwiftSyntaxMacros

/// `@Attribute`, `@Relationship` and `@Transient`: marks that `@Entity` reads.
open class MarkerMacro: PeerMacro {
    /// Reports a mark on anything but a property; generates nothing.
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

/// `#Index`, `#Unique` and `#FullText` in an entity's body: marks that `@Entity` reads.
open class DeclarationMarkerMacro: DeclarationMacro {
    /// Generates nothing.
    public static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        []
    }
}
