import SwiftSyntax
import SwiftSyntaxMacros
import Synchronization

/// `@Entity`: parses, checks and renders a type. Each role parses and checks again; only the member role reports the
/// findings.
open class EntityMacro {
    static func analyse(
        _ declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax, in context: some MacroExpansionContext
    ) -> (source: EntitySource?, findings: [Finding]) {
        let (source, findings) = analyse(declaration, attribute)
        return (source, findings + surroundings(of: declaration, attribute, in: context))
    }

    private static func analyse(
        _ declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax
    ) -> (source: EntitySource?, findings: [Finding]) {
        var parser = EntityParser()
        let source = parser.parse(declaration, attribute: attribute)
        return (source, parser.findings + (source.map { EntityCheck.findings(in: $0) } ?? []))
    }

    private struct Analysed {
        let text: String
        let source: EntitySource?
    }

    /// The analysis of the last declaration: each of its properties needs the same one.
    private static let last = Mutex<Analysed?>(nil)

    /// The source of a declaration without findings, for roles that do not report them.
    private static func flawless(
        _ declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax, in context: some MacroExpansionContext
    ) -> EntitySource? {
        if !surroundings(of: declaration, attribute, in: context).isEmpty { return nil }
        let text = attribute.description + declaration.description
        // By bytes: names that are canonically equivalent are different names.
        if let last = last.withLock({ $0 }), last.text.utf8.elementsEqual(text.utf8) { return last.source }
        let (source, findings) = analyse(declaration, attribute)
        let analysed = Analysed(text: text, source: findings.isEmpty ? source : nil)
        last.withLock { $0 = analysed }
        return analysed.source
    }

    /// A type inside a function or a generic type cannot have the extension with the conformances.
    /// Nor is a private type visible to it inside another type.
    private static func surroundings(
        of declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax, in context: some MacroExpansionContext
    ) -> [Finding] {
        for outer in context.lexicalContext {
            if outer.is(FunctionDeclSyntax.self) || outer.is(ClosureExprSyntax.self)
                || outer.is(AccessorDeclSyntax.self)
                || outer.is(InitializerDeclSyntax.self)
            {
                return [
                    Finding(
                        id: "local",
                        message: "@Entity cannot be applied to a type declared inside a function; move it out",
                        node: Syntax(attribute))
                ]
            }
            if let generics = outer.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause,
                !generics.parameters.isEmpty
            {
                return [
                    Finding(
                        id: "genericContext", message: "@Entity cannot be applied inside a generic type; move it out",
                        node: Syntax(attribute))
                ]
            }
        }
        // For its members, the type itself is the innermost context.
        let innermost = context.lexicalContext.first?.asProtocol((any NamedDeclSyntax).self)?.name.text
        let isItself = innermost == declaration.asProtocol((any NamedDeclSyntax).self)?.name.text
        let isPrivate = { (modifier: DeclModifierSyntax) in modifier.name.tokenKind == .keyword(.private) }
        if let word = declaration.modifiers.first(where: isPrivate), context.lexicalContext.count > (isItself ? 1 : 0) {
            return [
                Finding(
                    id: "private", message: "an entity inside another type cannot be private; write 'fileprivate'",
                    node: Syntax(word),
                    fixIt: Repair.rewriting(word.name, as: "fileprivate", "write 'fileprivate'", "fileprivate"))
            ]
        }
        return []
    }
}

extension EntityMacro {
    /// The names of protocols without their modules.
    private static func names(of protocols: [TypeSyntax]) -> Set<String> {
        Set(protocols.map { String($0.trimmedDescription.split(separator: ".").last ?? "") })
    }
}

extension EntityMacro: MemberMacro {
    /// Generates the members of an entity and reports errors.
    public static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        var (source, findings) = analyse(declaration, node, in: context)
        // The superclass has all conformances already.
        if source?.isClass == true, !Self.names(of: protocols).contains("ObjectEntity") { source?.isSubclass = true }
        if let source {
            findings += EntityCheck.observationFindings(
                in: source, superclassObservable: !Self.names(of: protocols).contains("ObservableEntity"))
            findings +=
                source.isSubclass ? EntityCheck.findings(inSubclass: source) : EntityCheck.findings(inRoot: source)
        }
        for finding in findings { finding.report(in: context) }
        guard let source, findings.allSatisfy(\.isWarning) else { return [] }
        return EntityRender(source).members()
    }
}

extension EntityMacro: MemberAttributeMacro {
    /// Adds `@_Stored` to the stored properties of a class.
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard let variable = member.as(VariableDeclSyntax.self), EntityParser.isStored(variable) else { return [] }
        guard let source = flawless(declaration, node, in: context), source.isClass,
            let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
                .trimmingBackticks,
            let property = source.properties.first(where: { $0.name == name })
        else { return [] }
        let column = source.columns.firstIndex { $0.name == name } ?? 0
        let storage = property.isLazy && !source.isLazy(property, at: column) ? "value" : property.storage
        let kind = property.name == source.rowNumberKey?.name ? "rowNumber" : storage
        let keeps = source.hasDesignatedInitializer ? ", keepsDefault: true" : ""
        // As text: the member role generates the name, and looking it up here would be circular.
        let base = source.base.map { ", base: \"\($0)\"" } ?? ""
        let observed = source.isObservable ? ", observed: true" : ""
        let letsGo = source.hasDeinitializer && kind == "slot" ? ", letsGo: true" : ""
        return ["@_Stored(\(raw: column), .\(raw: kind)\(raw: keeps)\(raw: base)\(raw: observed)\(raw: letsGo))"]
    }
}

extension EntityMacro: ExtensionMacro {
    /// Adds the conformances of an entity.
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let source = flawless(declaration, node, in: context) else { return [] }
        let missing = Self.names(of: protocols)
        let availability = availability(of: declaration, in: context)
        if source.isClass && !missing.contains("ObjectEntity") {
            // A subclass inherits its superclass's conformances. The compiler requires `Sendable` to be restated.
            if source.saysSendable { return [] }
            return [try ExtensionDeclSyntax("\(raw: availability)extension \(type.trimmed): @unchecked Sendable {}")]
        }
        if protocols.isEmpty { return [] }
        // The implied protocols are listed, so that looking up any of them finds this extension. Those that the type
        // declares itself are not in `protocols`; repeating them would not compile.
        var names = source.isClass ? ["ObjectEntity"] : []
        names += missing.contains("Entity") ? ["Entity"] : []
        let ofClass = source.isClass ? ["Hashable"] : []
        names += (ofClass + ["ConditionValue", "Identifiable", "CustomStringConvertible"]).filter(missing.contains)
        // With main-actor default isolation, conformances would otherwise be isolated.
        if source.isObservable && missing.contains("ObservableEntity") { names.append("ObservableEntity") }
        if source.isObservable && missing.contains("Observable") { names.append("EntityCoding.Observed") }
        names = names.map { "nonisolated " + $0 }
        if missing.contains("Sendable") { names.append(source.isClass ? "@unchecked Sendable" : "Sendable") }
        let conformance = names.joined(separator: ", ")
        return [try ExtensionDeclSyntax("\(raw: availability)extension \(type.trimmed): \(raw: conformance) {}")]
    }

    /// The `@available` attributes of a type and of the types around it, which its extensions do not inherit.
    private static func availability(of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext)
        -> String
    {
        let around = context.lexicalContext.compactMap { $0.asProtocol((any WithAttributesSyntax).self)?.attributes }
        let attributes = ([declaration.attributes] + around).flatMap { $0.compactMap { $0.as(AttributeSyntax.self) } }
        return attributes.filter { EntityParser.name(of: $0) == "available" }.map { $0.trimmedDescription + "\n" }
            .joined()
    }
}
