import MakoMacroExpansion
import SwiftSyntax
import SwiftSyntaxMacros

#if TOOLCHAIN_SYNTAX
    @_spi(PluginMessage) import SwiftCompilerPluginMessageHandling

    /// Resolves macro types by name, because the toolchain's copy of swift-syntax has no `CompilerPlugin.main`.
    struct MakoPluginProvider: PluginProvider {
        struct UnknownMacro: Error, CustomStringConvertible {
            let name: String
            var description: String { "Mako has no macro implementation named \(name)" }
        }

        func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
            guard let macro = allMacros[typeName] else { throw UnknownMacro(name: typeName) }
            return macro
        }
    }

    @main
    enum MakoPlugin {
        static func main() throws {
            let connection = try StandardIOMessageConnection()
            try CompilerPluginMessageListener(connection: connection, provider: MakoPluginProvider()).main()
        }
    }
#else
    import SwiftCompilerPlugin

    @main
    struct MakoPlugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = Array(allMacros.values)
    }
#endif

/// Computed, because metatypes of macros are not `Sendable`.
var allMacros: [String: any Macro.Type] {
    [
        "EntityMacro": EntityMacro.self,
        "StoredPropertyMacro": StoredPropertyMacro.self,
        "MarkerMacro": MarkerMacro.self,
        "DeclarationMarkerMacro": DeclarationMarkerMacro.self,
    ]
}

// The compiler finds macros by the name of this module.
final class EntityMacro: MakoMacroExpansion.EntityMacro {}
final class StoredPropertyMacro: MakoMacroExpansion.StoredPropertyMacro {}
final class MarkerMacro: MakoMacroExpansion.MarkerMacro {}
final class DeclarationMarkerMacro: MakoMacroExpansion.DeclarationMarkerMacro {}
