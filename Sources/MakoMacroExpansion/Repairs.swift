import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The fix-its.
enum Repair {
    static func replacing(
        _ old: some SyntaxProtocol, with new: some SyntaxProtocol, _ message: String, _ id: String
    ) -> FixIt {
        FixIt(
            message: MacroRepair(message: message, id: id),
            changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }

    /// Replaces a node with text and keeps the trivia around it.
    static func rewriting(_ old: some SyntaxProtocol, as text: String, _ message: String, _ id: String) -> FixIt {
        var token = TokenSyntax.identifier(text)
        token.leadingTrivia = old.leadingTrivia
        token.trailingTrivia = old.trailingTrivia
        return replacing(old, with: token, message, id)
    }

    /// Removes a node and its trailing trivia.
    static func erasing(_ old: some SyntaxProtocol) -> FixIt {
        let nothing = TokenSyntax.identifier("", leadingTrivia: old.leadingTrivia)
        return replacing(old, with: nothing, "remove '\(old.trimmedDescription)'", "erase")
    }

    // MARK: Attributes

    /// Adds an attribute to a property, and removes others.
    static func marking(_ variable: VariableDeclSyntax, _ text: String, without names: [String] = []) -> FixIt {
        var new = unmarked(variable) { names.contains(EntityParser.name(of: $0)) }
        let start = new.leadingTrivia
        new.leadingTrivia = []
        var attribute = AttributeSyntax(stringLiteral: text)
        attribute.leadingTrivia = start
        attribute.trailingTrivia = .space
        new.attributes = [.attribute(attribute)] + new.attributes
        return replacing(variable, with: new, "write '\(text)'", "mark")
    }

    static func transient(_ variable: VariableDeclSyntax) -> FixIt {
        marking(variable, "@Transient", without: ["Attribute", "Relationship"])
    }

    static func removing(_ attribute: AttributeSyntax, from declaration: VariableDeclSyntax) -> FixIt {
        replacing(
            declaration, with: unmarked(declaration) { $0.id == attribute.id },
            "remove '\(attribute.trimmedDescription)'", "unmark")
    }

    private static func unmarked(
        _ declaration: VariableDeclSyntax, _ isUnwanted: (AttributeSyntax) -> Bool
    ) -> VariableDeclSyntax {
        let kept = declaration.attributes.filter { element in
            if case .attribute(let attribute) = element { !isUnwanted(attribute) } else { true }
        }
        if kept.count == declaration.attributes.count { return declaration }
        var new = declaration
        new.attributes = kept
        new.leadingTrivia = declaration.leadingTrivia
        return new
    }

    static func removing(_ attribute: AttributeSyntax, from function: FunctionDeclSyntax) -> FixIt {
        var new = function
        new.attributes = function.attributes.filter { $0.id != attribute.id }
        new.leadingTrivia = function.leadingTrivia
        return replacing(function, with: new, "remove '\(attribute.trimmedDescription)'", "unmark")
    }

    /// Removes a type from an inheritance clause, and the clause with its last one.
    static func removing(_ type: InheritedTypeSyntax) -> FixIt? {
        guard let clause = type.parent?.parent?.as(InheritanceClauseSyntax.self) else { return nil }
        let message = "remove '\(type.type.trimmedDescription)'"
        var kept = clause.inheritedTypes.filter { $0.id != type.id }
        guard let last = kept.indices.last else {
            let nothing = TokenSyntax.identifier("", trailingTrivia: clause.trailingTrivia)
            return replacing(clause, with: nothing, message, "removeInherited")
        }
        kept[last].trailingComma = nil
        kept[last].trailingTrivia = clause.trailingTrivia
        return replacing(clause, with: clause.with(\.inheritedTypes, kept), message, "removeInherited")
    }

    /// Removes an argument of an attribute, or the attribute when it has no other argument.
    static func removing(option: Syntax) -> FixIt? {
        guard let argument = option.as(LabeledExprSyntax.self) ?? option.parent?.as(LabeledExprSyntax.self),
            let list = argument.parent?.as(LabeledExprListSyntax.self),
            let attribute = list.parent?.as(AttributeSyntax.self)
        else { return nil }
        let message = "remove '\(argument.with(\.trailingComma, nil).trimmedDescription)'"
        guard list.count > 1 else {
            guard EntityParser.name(of: attribute) != "Entity",
                let variable = attribute.parent?.parent?.as(VariableDeclSyntax.self)
            else {
                var bare = AttributeSyntax(attributeName: attribute.attributeName.trimmed)
                bare.leadingTrivia = attribute.leadingTrivia
                bare.trailingTrivia = attribute.trailingTrivia
                return replacing(attribute, with: bare, message, "removeOption")
            }
            return replacing(
                variable, with: unmarked(variable) { $0.id == attribute.id }, message, "removeOption")
        }
        var kept = list.filter { $0.id != argument.id }
        if let last = kept.indices.last {
            kept[last].trailingComma = nil
            kept[last].trailingTrivia = []
        }
        return replacing(list, with: kept, message, "removeOption")
    }

    /// Renames an option.
    static func renaming(option: Syntax, to name: String) -> FixIt? {
        let called = option.as(FunctionCallExprSyntax.self)?.calledExpression
        guard let member = (called ?? ExprSyntax(option))?.as(MemberAccessExprSyntax.self) else { return nil }
        return rewriting(member.declName, as: name, "write '.\(name)'", "renameOption")
    }

    // MARK: Types

    static func optional(_ binding: PatternBindingSyntax) -> FixIt? {
        guard let type = binding.typeAnnotation?.type else { return nil }
        let optional = OptionalTypeSyntax(wrappedType: type.trimmed, trailingTrivia: type.trailingTrivia)
        return replacing(
            type, with: optional, "make '\(binding.pattern.trimmedDescription)' optional", "makeOptional")
    }

    static func typed(_ binding: PatternBindingSyntax) -> FixIt {
        var new = binding
        new.pattern.trailingTrivia = []
        new.typeAnnotation = TypeAnnotationSyntax(
            colon: .colonToken(trailingTrivia: .space), type: TypeSyntax(stringLiteral: "<#type#>"),
            trailingTrivia: binding.pattern.trailingTrivia)
        return replacing(binding, with: new, "write the type", "writeType")
    }

    // MARK: Declarations

    /// Splits a declaration into one per name: each comma is replaced by the start of a declaration.
    static func splitting(_ variable: VariableDeclSyntax) -> FixIt {
        let start = variable.with(\.bindings, []).trimmedDescription + " "
        let indentation = variable.leadingTrivia.description.split(separator: "\n", omittingEmptySubsequences: false)
        let line = "\n" + (indentation.last ?? "")
        let bindings = Array(variable.bindings)
        let changes: [FixIt.Change] = bindings.enumerated().compactMap { place, binding in
            guard let comma = binding.trailingComma else { return nil }
            // `var a, b: Int` declares one type for both.
            let bare = binding.typeAnnotation == nil && binding.initializer == nil
            let type = bare ? bindings[place...].lazy.compactMap(\.typeAnnotation).first?.trimmedDescription : nil
            return .replace(
                oldNode: Syntax(comma), newNode: Syntax(TokenSyntax.identifier((type ?? "") + line + start)))
        }
        return FixIt(
            message: MacroRepair(message: "declare each by itself", id: "split"), changes: changes)
    }

    /// Replaces `weak var` with the relationship option.
    static func weakRelationship(_ variable: VariableDeclSyntax) -> FixIt {
        var bare = variable
        bare.modifiers = variable.modifiers.filter { $0.name.tokenKind != .keyword(.weak) }
        bare.leadingTrivia = variable.leadingTrivia
        let text = "@Relationship(.weak)"
        guard case .replace(_, let marked)? = marking(bare, text).changes.first else { return transient(variable) }
        return replacing(variable, with: marked, "write '\(text)'", "weak")
    }

    /// Gives a method the signature of a hook.
    static func hook(_ function: FunctionDeclSyntax, mayAnswer: Bool) -> FixIt {
        var new = function
        let unwanted: [TokenKind] = [.keyword(.static), .keyword(.class)]
        new.modifiers = function.modifiers.filter { !unwanted.contains($0.name.tokenKind) }
        new.leadingTrivia = function.leadingTrivia
        new.signature.effectSpecifiers = nil
        let result = function.signature.returnClause?.type.trimmedDescription ?? "Void"
        if ["Void", "()"].contains(result) || !mayAnswer {
            new.signature.returnClause = nil
        } else {
            new.signature.returnClause = ReturnClauseSyntax(
                arrow: .arrowToken(trailingTrivia: .space), type: TypeSyntax("Bool"))
        }
        new.signature.parameterClause.trailingTrivia = .space
        new.signature.trailingTrivia = .space
        let text = "func \(function.name.text)()" + (new.signature.returnClause == nil ? "" : " -> Bool")
        return replacing(function, with: new, "write '\(text)'", "hook")
    }
}

/// The known name nearest to a misspelt one, if one is near.
func nearest(to name: String, of known: some Sequence<String>) -> String? {
    let near = known.map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
        .filter { $0.distance <= max(1, min(name.count, $0.name.count) / 3) }
    return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
}

/// The edit distance: insertions, deletions and substitutions.
private func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (place, letter) in left.enumerated() {
        var diagonal = row[0]
        row[0] = place + 1
        for (column, other) in right.enumerated() {
            let changed = diagonal + (letter == other ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
        }
    }
    return row[right.count]
}
