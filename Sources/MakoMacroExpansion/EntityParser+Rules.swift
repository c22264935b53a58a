import SwiftSyntax

/// Rules shared by the parser and the accessor macro.
extension EntityParser {
    /// The declared access; that of a setter alone, as in `private(set)`, is none.
    static func access(of modifiers: DeclModifierListSyntax) -> Access {
        for modifier in modifiers where modifier.detail == nil {
            switch modifier.name.tokenKind {
            case .keyword(.public), .keyword(.open): return .public
            case .keyword(.package): return .package
            case .keyword(.fileprivate): return .fileprivate
            case .keyword(.private): return .private
            default: continue
            }
        }
        return .internal
    }

    static func name(of attribute: AttributeSyntax) -> String {
        if let member = attribute.attributeName.as(MemberTypeSyntax.self) { return member.name.text }
        return attribute.attributeName.trimmedDescription
    }

    /// The name of a type without enclosing types.
    static func lastName(of type: TypeSyntax) -> String {
        let type = withoutAttributes(type)
        return type.as(MemberTypeSyntax.self)?.name.text ?? type.trimmedDescription
    }

    static func withoutAttributes(_ type: TypeSyntax) -> TypeSyntax {
        type.as(AttributedTypeSyntax.self)?.baseType ?? type
    }

    static func has(_ name: String, _ variable: VariableDeclSyntax) -> Bool {
        variable.attributes.contains {
            if case .attribute(let attribute) = $0 { Self.name(of: attribute) == name } else { false }
        }
    }

    static func isStatic(_ variable: VariableDeclSyntax) -> Bool {
        variable.modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
    }

    /// Without a default value, an accessor or an implicit nil, which a `let` and `Optional<T>` do not have: the generated
    /// initialisers cannot initialise it. A property wrapper may.
    static func isBare(_ variable: VariableDeclSyntax) -> Bool {
        let marks = variable.attributes.compactMap { $0.as(AttributeSyntax.self).map(name(of:)) }
        if marks.contains(where: { !["Transient", "available"].contains($0) }) { return false }
        let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
        return variable.bindings.contains { binding in
            guard binding.initializer == nil, binding.accessorBlock == nil else { return false }
            let type = binding.typeAnnotation?.type
            let isNil = type?.is(OptionalTypeSyntax.self) == true
            return isConstant || !isNil && type?.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) != true
        }
    }

    /// Whether objects have a value for it.
    static func holdsValue(_ variable: VariableDeclSyntax) -> Bool {
        !isStatic(variable) && !has("Transient", variable)
            && variable.bindings.contains { $0.accessorBlock.map(observesChanges) ?? true }
    }

    static func isIndex(_ macro: MacroExpansionDeclSyntax) -> Bool {
        ["Index", "Unique", "FullText"].contains(macro.macroName.text)
    }

    static func observesChanges(_ block: AccessorBlockSyntax) -> Bool {
        guard case .accessors(let accessors) = block.accessors else { return false }
        return accessors.contains {
            [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
        }
    }

    /// Whether the property is stored, so that the accessor macro applies to it.
    static func isStored(_ variable: VariableDeclSyntax) -> Bool {
        guard variable.bindingSpecifier.tokenKind == .keyword(.var), variable.bindings.count == 1,
            let binding = variable.bindings.first, binding.accessorBlock == nil,
            binding.pattern.is(IdentifierPatternSyntax.self), type(of: binding) != nil,
            !isStatic(variable), !has("Transient", variable),
            fault(of: binding.pattern.trimmedDescription.trimmingBackticks, type: binding.typeAnnotation?.type) == nil
        else { return false }
        return !variable.modifiers.contains {
            [.keyword(.lazy), .keyword(.weak), .keyword(.unowned)].contains($0.name.tokenKind)
        }
    }

    static func literalText(_ expression: ExprSyntax) -> String? {
        guard let literal = expression.as(StringLiteralExprSyntax.self), literal.segments.count == 1,
            literal.openingPounds == nil, literal.openingQuote.tokenKind == .stringQuote,
            case .stringSegment(let segment) = literal.segments.first
        else { return nil }
        return segment.content.text
    }
}

extension String {
    var trimmingBackticks: String {
        hasPrefix("`") && hasSuffix("`") && count > 2 ? String(dropFirst().dropLast()) : self
    }
}
