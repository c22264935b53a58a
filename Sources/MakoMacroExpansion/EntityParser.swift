import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Step one: parses syntax to an `EntitySource`. Everything it cannot represent becomes a finding.
struct EntityParser {
    private(set) var findings: [Finding] = []

    mutating func parse(_ declaration: some DeclGroupSyntax, attribute: AttributeSyntax) -> EntitySource? {
        var source: EntitySource
        if let type = declaration.as(ClassDeclSyntax.self) {
            let isFinal = type.modifiers.contains { $0.name.tokenKind == .keyword(.final) }
            source = EntitySource(
                kind: .classType(isFinal: isFinal), name: type.name.text,
                declaredAccess: Self.access(of: type.modifiers), node: Syntax(type.name))
            source.isOpen = type.modifiers.contains { $0.name.tokenKind == .keyword(.open) }
            source.inherited = type.inheritanceClause.map { Array($0.inheritedTypes) } ?? []
            let inherited = source.inherited.map(\.type)
            source.firstInherited = inherited.first.map { Self.withoutAttributes($0).trimmedDescription }
            source.firstInheritedName = inherited.first.map { Self.lastName(of: $0) } ?? ""
            source.saysSendable = inherited.contains { Self.lastName(of: $0) == "Sendable" }
            if let generics = type.genericParameterClause { complainAboutGenerics(Syntax(generics)) }
        } else if let type = declaration.as(StructDeclSyntax.self) {
            source = EntitySource(
                kind: .structType, name: type.name.text, declaredAccess: Self.access(of: type.modifiers),
                node: Syntax(type.name))
            if let generics = type.genericParameterClause { complainAboutGenerics(Syntax(generics)) }
        } else {
            find("kind", "@Entity can be applied to a class or a struct only", Syntax(attribute))
            return nil
        }
        parseOptions(attribute, into: &source)
        for element in declaration.attributes {
            if case .attribute(let other) = element, Self.name(of: other) == "MainActor" {
                find(
                    "mainActor",
                    "@MainActor cannot stand beside @Entity: objects are read and saved on any thread; remove it, and put "
                        + "@MainActor on what uses the objects, or on single methods", Syntax(other),
                    Self.without(other, declaration.attributes))
            }
            if case .attribute(let other) = element, Self.name(of: other) == "Observable" {
                findings.append(
                    Finding(
                        id: "observable",
                        message: "@Observable cannot stand beside @Entity: both rewrite the same properties; write "
                            + "@Entity(observable: true)",
                        node: Syntax(other), fixIt: Self.observableEntity(declaration.attributes, without: other)))
            }
        }
        for member in declaration.memberBlock.members { parse(member.decl, into: &source) }
        if source.hasStamps {
            for stamp in PropertySource.stamps(at: Syntax(attribute)) {
                if source.memberNames.contains(stamp.name) {
                    find(
                        "stampName", "'stamps: true' declares '\(stamp.name)' itself; remove the property of this name",
                        Syntax(attribute))
                }
                source.properties.append(stamp)
            }
        }
        return source
    }

    mutating func find(_ id: String, _ message: String, _ node: Syntax, _ fixIt: FixIt? = nil) {
        findings.append(Finding(id: id, message: message, node: node, fixIt: fixIt))
    }

    /// Removes one attribute.
    private static func without(_ other: AttributeSyntax, _ attributes: AttributeListSyntax) -> FixIt {
        let kept = attributes.filter { element in
            if case .attribute(let attribute) = element { attribute.id != other.id } else { true }
        }
        return FixIt(
            message: MacroRepair(message: "remove '\(other.trimmedDescription)'", id: "removeAttribute"),
            changes: [.replace(oldNode: Syntax(attributes), newNode: Syntax(AttributeListSyntax(Array(kept))))])
    }

    /// Replaces both attributes with `@Entity(observable: true)`.
    private static func observableEntity(_ attributes: AttributeListSyntax, without other: AttributeSyntax) -> FixIt? {
        var kept: [AttributeListSyntax.Element] = []
        for element in attributes {
            guard case .attribute(let attribute) = element else {
                kept.append(element)
                continue
            }
            if attribute.id == other.id { continue }
            guard name(of: attribute) == "Entity" else {
                kept.append(element)
                continue
            }
            let arguments = attribute.arguments.map { "\($0.trimmedDescription), " } ?? ""
            var observable = AttributeSyntax(stringLiteral: "@Entity(\(arguments)observable: true)")
            observable.leadingTrivia = attribute.leadingTrivia
            observable.trailingTrivia = [attribute, other].map(\.trailingTrivia).max { $0.count < $1.count } ?? .space
            kept.append(.attribute(observable))
        }
        return FixIt(
            message: MacroRepair(message: "write '@Entity(observable: true)' instead", id: "observable"),
            changes: [.replace(oldNode: Syntax(attributes), newNode: Syntax(AttributeListSyntax(kept)))])
    }

    private mutating func complainAboutGenerics(_ node: Syntax) {
        find("generic", "a generic type cannot be an entity: its table would have no single shape", node)
    }

    private mutating func parseOptions(_ attribute: AttributeSyntax, into source: inout EntitySource) {
        guard case .argumentList(let arguments) = attribute.arguments else { return }
        for argument in arguments {
            if let label = argument.label?.text { source.options[label] = argument }
            if argument.label == nil, let text = Self.literalText(argument.expression) {
                source.table = text
            } else if let label = argument.label?.text, let switched = Self.switches[label] {
                guard let value = argument.expression.as(BooleanLiteralExprSyntax.self) else {
                    find(label, "'\(label)' must be written as true or false", Syntax(argument))
                    continue
                }
                source[keyPath: switched] = value.literal.tokenKind == .keyword(.true)
                if label == "observable" && !source.isObservable {
                    find(
                        label, "entities are not observable by themselves; remove 'observable:'", Syntax(argument),
                        Repair.removing(option: Syntax(argument)))
                }
            } else if argument.label?.text == "database" {
                source.database = Self.literalText(argument.expression)
                if source.database == nil {
                    find("database", "'database' must be written as a string literal", Syntax(argument))
                }
            } else {
                find(
                    "entityOption",
                    "@Entity takes the table's name as a string literal; the option "
                        + "'\(argument.label?.text ?? argument.expression.trimmedDescription)' is not supported",
                    Syntax(argument),
                    argument.label.flatMap { label in
                        nearest(to: label.text, of: Self.switches.keys + ["database"]).map {
                            Repair.rewriting(label, as: $0, "write '\($0):'", "renameOption")
                        }
                    })
            }
        }
    }

    /// The Boolean options.
    private static var switches: [String: WritableKeyPath<EntitySource, Bool>] {
        [
            "raisesEvents": \.raisesEvents, "stamps": \.hasStamps, "partial": \.isPartial,
            "ignoringSuperclass": \.ignoresSuperclass, "observable": \.isObservable,
        ]
    }

    /// A method with a hook's name and another signature would never be called.
    private mutating func checkHook(_ function: FunctionDeclSyntax, in source: EntitySource) {
        let name = function.name.text
        guard EntityCheck.hooks.contains(name), function.signature.parameterClause.parameters.isEmpty else { return }
        guard source.isClass else {
            find("structHook", "hooks belong to classes: '\(name)' of a struct is never called", Syntax(function.name))
            return
        }
        for case .attribute(let attribute) in function.attributes where Self.name(of: attribute).hasSuffix("Actor") {
            find(
                "hookActor",
                "'\(name)' is a hook, which the thread that saves calls; remove '\(attribute.trimmedDescription)'",
                Syntax(attribute), Repair.removing(attribute, from: function))
        }
        let result = function.signature.returnClause?.type.trimmedDescription ?? "Void"
        let answers = ["Void", "()"] + (name.hasPrefix("will") ? ["Bool"] : [])
        let isStatic = function.modifiers.contains {
            [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind)
        }
        if function.signature.effectSpecifiers == nil, answers.contains(result), !isStatic { return }
        find(
            "hook",
            "'\(name)' is a hook; write it as 'func \(name)()\(name.hasPrefix("will") ? " -> Bool" : "")', "
                + "neither static, throwing nor async", Syntax(function.name),
            Repair.hook(function, mayAnswer: name.hasPrefix("will")))
    }

    private mutating func parse(_ member: DeclSyntax, into source: inout EntitySource) {
        if let variable = member.as(VariableDeclSyntax.self) {
            parse(variable, into: &source)
        } else if let initializer = member.as(InitializerDeclSyntax.self) {
            let labels = initializer.signature.parameterClause.parameters.map { $0.firstName.text }
            let isConvenience =
                initializer.modifiers.contains { $0.name.tokenKind == .keyword(.convenience) }
                || (!source.isClass
                    && initializer.body?.statements.contains { statement in
                        statement.item.trimmedDescription.hasPrefix("self.init(")
                    } ?? false)
            source.initializers.append(InitializerSource(labels: labels, isConvenience: isConvenience))
        } else if member.is(DeinitializerDeclSyntax.self) {
            source.hasDeinitializer = true
        } else if let macro = member.as(MacroExpansionDeclSyntax.self) {
            parse(macro, into: &source)
        } else if let function = member.as(FunctionDeclSyntax.self) {
            source.memberNames.insert(function.name.text)
            source.noteEquality(function)
            checkHook(function, in: source)
        } else if let conditional = member.as(IfConfigDeclSyntax.self) {
            checkConditional(conditional, into: &source)
        }
    }

    /// Macros do not know which branch is compiled.
    private mutating func checkConditional(_ conditional: IfConfigDeclSyntax, into source: inout EntitySource) {
        for case .decls(let members)? in conditional.clauses.map(\.elements) {
            for member in members {
                if let inner = member.decl.as(IfConfigDeclSyntax.self) { checkConditional(inner, into: &source) }
                if member.decl.is(DeinitializerDeclSyntax.self) { source.hasDeinitializer = true }
                if let function = member.decl.as(FunctionDeclSyntax.self) { source.noteEquality(function) }
                if let macro = member.decl.as(MacroExpansionDeclSyntax.self), Self.isIndex(macro) {
                    find(
                        "conditionalIndex", "@Entity: #\(macro.macroName.text) inside '#if' has no effect; move it out",
                        Syntax(macro))
                }
                guard let variable = member.decl.as(VariableDeclSyntax.self), Self.holdsValue(variable) else {
                    continue
                }
                find(
                    "conditional",
                    "@Entity: a property inside '#if' cannot be stored; move it out or mark it @Transient",
                    Syntax(variable), Repair.transient(variable))
            }
        }
    }

    private mutating func parse(_ macro: MacroExpansionDeclSyntax, into source: inout EntitySource) {
        guard Self.isIndex(macro) else { return }
        let name = macro.macroName.text
        var groups: [String] = []
        var condition: String?
        var stemming: String?
        for argument in macro.arguments {
            if name == "FullText", argument.label?.text == "stemming" {
                stemming = argument.expression.trimmedDescription
                continue
            }
            if name != "FullText", argument.label?.text == "where" {
                if argument.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue == nil {
                    find(
                        "indexCondition", "#\(name): 'where' takes a text without interpolation, such as \"age > 18\"",
                        Syntax(argument.expression))
                }
                condition = argument.expression.trimmedDescription
                continue
            }
            if argument.label != nil {
                find(
                    "indexOption", "#\(name): '\(argument.label?.text ?? "")' is not supported; remove it",
                    Syntax(argument))
                continue
            }
            guard let array = argument.expression.as(ArrayExprSyntax.self) else {
                find(
                    "indexKeys", "#\(name) takes array literals of key paths, such as [\\.name, \\.age]",
                    Syntax(argument.expression))
                continue
            }
            if array.elements.isEmpty {
                find("indexEmpty", "#\(name): an index needs at least one key path", Syntax(array))
                continue
            }
            groups.append(array.trimmedDescription)
        }
        if groups.isEmpty && macro.arguments.isEmpty {
            find("indexEmpty", "#\(name) needs at least one array of key paths, such as [\\.name]", Syntax(macro))
        }
        source.indexes.append(
            IndexSource(
                isUnique: name == "Unique", isFullText: name == "FullText", stemming: stemming, groups: groups,
                condition: condition, node: Syntax(macro)))
    }

    private mutating func parse(_ variable: VariableDeclSyntax, into source: inout EntitySource) {
        guard let binding = variable.bindings.first else { return }
        for each in variable.bindings {
            if let name = each.pattern.as(IdentifierPatternSyntax.self)?.identifier.text.trimmingBackticks {
                source.memberNames.insert(name)
                if !Self.isStatic(variable) { source.variableNames.insert(name) }
            }
        }
        if Self.has("Transient", variable) || Self.isStatic(variable) {
            if Self.has("Transient", variable), !Self.isStatic(variable), Self.isBare(variable) {
                let isVariable = variable.bindingSpecifier.tokenKind == .keyword(.var)
                let isOptional = PropertySource.isOptional(Self.type(of: binding) ?? "")
                find(
                    "transient",
                    "a @Transient property needs a default value, because no row has one", Syntax(variable),
                    variable.bindings.count == 1 && isVariable && !isOptional ? Repair.optional(binding) : nil)
            }
            complainAboutOptions(of: variable, "is not stored")
            return
        }
        if variable.bindings.count > 1 {
            find(
                "severalNames", "@Entity: declare one property per 'var', or mark the declaration @Transient",
                Syntax(variable), Repair.splitting(variable))
            return
        }
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
            find(
                "pattern", "@Entity: a stored property needs a plain name", Syntax(binding.pattern),
                Repair.transient(variable))
            return
        }
        if let block = binding.accessorBlock {
            guard Self.observesChanges(block) else {
                complainAboutOptions(of: variable, "is computed")
                return
            }
            find(
                "observers",
                "@Entity: 'willSet' and 'didSet' are not supported on stored properties; "
                    + "use onChange, or mark the property @Transient", Syntax(block), Repair.transient(variable))
            return
        }
        for modifier in variable.modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.lazy):
                find(
                    "lazy", "@Entity: a 'lazy' property cannot be stored; mark it @Transient", Syntax(modifier),
                    Repair.transient(variable))
                return
            case .keyword(.weak):
                find(
                    "weak",
                    "@Entity: 'weak' is not supported on stored properties; write @Relationship(.weak), or mark it "
                        + "@Transient", Syntax(modifier), Repair.weakRelationship(variable))
                return
            case .keyword(.unowned):
                find(
                    "weak", "@Entity: 'unowned' is not supported on stored properties; mark it @Transient",
                    Syntax(modifier), Repair.transient(variable))
                return
            default: break
            }
        }
        if let reason = Self.faultOfConstant(variable, binding, isClass: source.isClass) {
            findConstant(variable, reason)
            return
        }
        let name = pattern.identifier.text.trimmingBackticks
        guard let type = Self.type(of: binding) else {
            find(
                "type", "@Entity: '\(name)' needs a type annotation, such as 'var \(name): String'",
                Syntax(binding), Repair.typed(binding))
            return
        }
        if let fault = Self.fault(of: name, type: binding.typeAnnotation?.type) {
            find(fault.id, fault.message, Syntax(pattern), Repair.transient(variable))
            return
        }
        var property = PropertySource(
            name: name, codeName: pattern.identifier.text, type: type,
            defaultValue: binding.initializer?.value.trimmedDescription, node: Syntax(pattern))
        property.isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
        property.access = Self.access(of: variable.modifiers)
        property.hasPlainDefault = binding.initializer.map { Self.isPlain($0.value) } ?? false
        parseAttributes(of: variable, into: &property)
        if let reason = Self.fault(ofConstant: property) { findConstant(variable, reason) }
        source.properties.append(property)
    }

    /// Reports options on properties without a column, which have no effect.
    private mutating func complainAboutOptions(of variable: VariableDeclSyntax, _ reason: String) {
        let names = variable.bindings.map { "'\($0.pattern.trimmedDescription)'" }.joined(separator: ", ")
        for case .attribute(let attribute) in variable.attributes
        where ["Attribute", "Relationship"].contains(Self.name(of: attribute)) {
            find(
                "ignoredOptions",
                "\(names) \(reason), so that @\(Self.name(of: attribute)) says nothing about it; remove it",
                Syntax(attribute), Repair.removing(attribute, from: variable))
        }
    }

    private mutating func parseAttributes(of variable: VariableDeclSyntax, into property: inout PropertySource) {
        for element in variable.attributes {
            guard case .attribute(let attribute) = element else { continue }
            switch Self.name(of: attribute) {
            case "Attribute":
                property.hasAttribute = true
                property.attributes += Self.options(of: attribute)
            case "Relationship":
                property.relationship = options(of: attribute, labelled: &property)
            case "_Stored", "available": break
            default:
                find(
                    "wrapper",
                    "@Entity: '\(attribute.trimmedDescription)' cannot be combined with a stored property; "
                        + "mark the property @Transient", Syntax(attribute), Repair.transient(variable))
            }
        }
    }

    static func options(of attribute: AttributeSyntax) -> [OptionSource] {
        guard case .argumentList(let arguments) = attribute.arguments else { return [] }
        return arguments.map { option($0.expression) }
    }

    private mutating func options(of attribute: AttributeSyntax, labelled property: inout PropertySource)
        -> [OptionSource]
    {
        guard case .argumentList(let arguments) = attribute.arguments else { return [] }
        var result: [OptionSource] = []
        for argument in arguments {
            switch argument.label?.text {
            case "inverse": property.inverse = argument.expression.trimmedDescription
            case "deleteRule": property.deleteRule = argument.expression.trimmedDescription
            default: result.append(Self.option(argument.expression))
            }
        }
        return result
    }

    private static func option(_ expression: ExprSyntax) -> OptionSource {
        if let call = expression.as(FunctionCallExprSyntax.self) {
            let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
            let argument = call.arguments.first?.expression
            return OptionSource(
                name: name ?? call.calledExpression.trimmedDescription, argument: argument?.trimmedDescription,
                literal: argument.flatMap(literalText), node: Syntax(expression))
        }
        let name = expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        return OptionSource(name: name ?? expression.trimmedDescription, argument: nil, node: Syntax(expression))
    }
}
