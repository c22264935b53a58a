import SwiftDiagnostics
import SwiftSyntax

/// The rules for one property.
struct PropertyCheck {
    let property: PropertySource
    let source: EntitySource
    private(set) var findings: [Finding] = []

    static func findings(_ property: PropertySource, of source: EntitySource) -> [Finding] {
        var check = PropertyCheck(property: property, source: source)
        check.run()
        return check.findings
    }

    private mutating func find(_ id: String, _ message: String, at node: Syntax? = nil, _ repair: FixIt? = nil) {
        findings.append(Finding(id: id, message: message, node: node ?? property.node, fixIt: repair))
    }

    private mutating func run() {
        for option in property.attributes where !EntityCheck.supportedAttributes.contains(option.name) {
            let near = nearest(to: option.name, of: EntityCheck.supportedAttributes)
            find(
                "unknownOption", "@Attribute has no option '.\(option.name)'", at: option.node,
                near.flatMap { Repair.renaming(option: option.node, to: $0) })
        }
        if property.has("keepWhenNil") && !property.isOptional {
            find(
                "keepWhenNil", "'\(property.name)' is never nil; make it optional or remove .keepWhenNil",
                removing("keepWhenNil"))
        }
        if property.has("writeOnce") && property.isMarkedKey {
            find("writeOnceKey", "a key never changes in its row; remove .writeOnce", removing("writeOnce"))
        }
        for option in property.attributes where option.name == "column" && option.literal == nil {
            find(
                "column",
                "'.column' takes the name as a text without interpolation, such as .column(\"\(property.name)\")",
                at: option.node)
        }
        if let second = property.attributes.filter({ $0.name == "column" }).dropFirst().first {
            find(
                "columnTwice", "'\(property.name)' has one column; remove the second .column", at: second.node,
                Repair.removing(option: second.node))
        }
        checkText()
        checkPlace()
        checkForm()
        checkLevels()
        checkAnyObject()
        checkRelation()
        checkDeleteRule()
        if property.isMany { checkMany() } else { checkOne() }
    }

    private mutating func checkMany() {
        if !source.isClass {
            find("manyInStruct", "ToMany belongs to classes; in a struct, query the other side")
        }
        if property.inverse == nil {
            find(
                "inverse",
                "'\(property.name)' needs the other side: @Relationship(inverse: \\\(property.manyTarget).property)")
        }
        if property.hasAttribute {
            let attribute = property.attribute(named: "Attribute")
            find(
                "manyAttribute", "@Attribute cannot be applied to a ToMany property",
                attribute.flatMap { attribute in property.variable.map { Repair.removing(attribute, from: $0) } })
        }
        if property.defaultValue != nil {
            find(
                "manyDefault", "a ToMany property is a query and takes no default value",
                property.binding.map { binding in
                    var bare = binding.with(\.initializer, nil)
                    bare.trailingTrivia = binding.trailingTrivia
                    return Repair.replacing(binding, with: bare, "remove the default value", "removeDefault")
                })
        }
    }

    private mutating func checkOne() {
        if property.inverse != nil {
            find(
                "inverseSide",
                "'inverse:' belongs to the to-many side only (on both sides Swift reports a circular reference)",
                property.argument("inverse").flatMap { Repair.removing(option: Syntax($0)) })
        }
        if source.isClass, property.defaultValue == nil, !property.isOptional, !property.isToOne {
            find(
                "default",
                "'\(property.name)' needs a default value or an optional type: an object of a class exists before it is read",
                property.binding.flatMap(Repair.optional))
        }
    }

    /// Full-text indexes need text. For types unknown to the macro, opening the database checks it.
    private mutating func checkText() {
        guard property.has("fullText") else { return }
        let isOther = PropertySource.valueTypes.subtracting(["String", "Substring"]).contains(property.baseType)
        if isOther || property.isCollection || property.isToOne || property.isAnyObject || property.isSerialized
            || property.baseType.hasPrefix("[")
        {
            find(
                "fullText", "'\(property.name)' is no String and has no words to search; remove .fullText",
                removing("fullText"))
        }
    }

    /// Spatial indexes need coordinates. For types unknown to the macro, opening the database checks it.
    private mutating func checkPlace() {
        guard property.has("spatial") else { return }
        if PropertySource.valueTypes.contains(property.baseType) || property.isCollection || property.isToOne
            || property.isAnyObject || property.isSerialized || property.baseType.hasPrefix("[")
        {
            find(
                "spatial", "'\(property.name)' is no Coordinate and has no place; remove .spatial", removing("spatial"))
        }
    }

    /// A column has one NULL.
    private mutating func checkLevels() {
        guard property.isOptional, !property.isSerialized else { return }
        var base = property.baseType
        if base.hasPrefix("("), base.hasSuffix(")") { base = String(base.dropFirst().dropLast()) }
        guard PropertySource.isOptional(base) else { return }
        find(
            "nestedOptional",
            "'\(property.name)' has two levels of optionals, of which a column has one: .some(nil) would be read as nil; "
                + "write '\(base)', or mark it .serialized",
            property.binding?.typeAnnotation.map { annotation in
                Repair.rewriting(annotation.type, as: base, "write '\(base)'", "singleOptional")
            })
    }

    /// The options that a serialized or deferred property cannot have.
    private mutating func checkForm() {
        let name = property.name
        if property.isSerialized {
            if property.isToOne || !(property.relationship ?? []).isEmpty {
                find(
                    "serializedReference", "'\(name)' holds its objects itself; remove .serialized or the relationship",
                    removing("serialized"))
            }
            if property.isMarkedKey || property.has("identity") {
                find(
                    "serializedKey", "'\(name)' is stored as a text of JSON and identifies nothing; remove .serialized",
                    removing("serialized"))
            }
        }
        if property.isDeferred {
            if !source.isClass {
                find(
                    "deferredInStruct", "a struct is not refreshed: .loadOnRefresh belongs to classes",
                    removing("loadOnRefresh"))
            } else if !property.isOptional || property.isToOne {
                find(
                    "deferred", "'\(name)' is nil until its object is refreshed; make it optional",
                    property.isToOne ? nil : property.binding.flatMap(Repair.optional))
            }
            if property.isMarkedKey || property.has("identity") {
                find(
                    "deferredKey", "'\(name)' identifies the object and must be read with it; remove .loadOnRefresh",
                    removing("loadOnRefresh"))
            }
        }
    }

    /// The options that a reference to an object of any entity, or a collection of them, cannot have.
    private mutating func checkAnyObject() {
        guard property.isAnyObject || property.isAnyCollection else { return }
        let name = property.name
        if !source.isClass {
            find("anyObjectInStruct", "a struct holds no objects; make it a class, or store the object's key")
        } else if !property.isOptional, property.isAnyObject {
            find(
                "anyObject", "'\(name)' is nil when its object is removed; write '(any ObjectEntity)?'",
                property.binding?.typeAnnotation.map {
                    Repair.rewriting(
                        $0.type, as: "(any ObjectEntity)?", "write '(any ObjectEntity)?'", "makeOptional")
                })
        }
        if property.isSerialized || property.isMarkedKey || property.has("identity") {
            find("anyObjectKey", "'\(name)' refers to objects and is neither a key nor a value of its own")
        }
        if property.relationship?.contains(where: { $0.name == "owned" }) == true {
            find("anyObjectOwned", "only what has a class of its own can be .owned; give '\(name)' one")
        }
    }

    private mutating func checkRelation() {
        for option in property.relationship ?? [] {
            func removal() -> FixIt? { Repair.removing(option: option.node) }
            if !EntityCheck.relationOptions.contains(option.name) {
                let near = nearest(to: option.name, of: EntityCheck.relationOptions)
                find(
                    "unknownRelation", "@Relationship has no option '.\(option.name)'", at: option.node,
                    near.flatMap { Repair.renaming(option: option.node, to: $0) })
            } else if !source.isClass {
                find("structRelation", "@Relationship(.\(option.name)) belongs to classes", at: option.node, removal())
            } else if property.isMany {
                find(
                    "manyRelation", ".\(option.name) belongs to a property that holds objects, not to a query",
                    at: option.node, removal())
            } else if !property.needsSlot && !property.isToOne {
                find(
                    "valueRelation", "'\(property.name)' refers to no objects; remove .\(option.name)",
                    at: option.node, removal())
            }
        }
        let names = (property.relationship ?? []).map(\.name)
        if names.contains("owned") && names.contains("weak") {
            find(
                "ownedWeak", "'\(property.name)' cannot be .owned and .weak",
                property.relationship?.first { $0.name == "weak" }.flatMap { Repair.removing(option: $0.node) })
        }
        checkSubclasses(names)
        checkStructReference()
    }

    private mutating func checkSubclasses(_ names: [String]) {
        guard let option = property.relationship?.first(where: { $0.name == "subclasses" }), source.isClass else {
            return
        }
        let removal = Repair.removing(option: option.node)
        if property.isAnyObject || property.isAnyCollection {
            find("subclassesOfAny", "'\(property.name)' takes objects of any class as it is", at: option.node, removal)
        }
        if names.contains("owned") {
            find(
                "subclassesOwned",
                "'\(property.name)' cannot be .owned and .subclasses: what an owner lets go of is looked for by its class",
                at: option.node, removal)
        }
    }

    /// The macro sees no types, but @Relationship implies an object.
    private mutating func checkStructReference() {
        guard !source.isClass, property.relationship != nil, property.isOptional, property.needsSlot,
            !property.isCollection, !property.isAnyObject
        else { return }
        let handle = "ToOne<\(property.baseType)>"
        find(
            "structReference",
            "a struct refers to an object of a class by '\(handle)', to another struct by '\(property.type)' alone; "
                + "@Relationship says nothing about either",
            property.binding?.typeAnnotation.map { annotation in
                Repair.rewriting(annotation.type, as: handle, "write '\(handle)'", "structReference")
            })
    }

    /// A delete rule belongs to the to-many side, because it concerns the objects that refer to the removed one.
    private mutating func checkDeleteRule() {
        guard let rule = property.deleteRule else { return }
        let argument = property.argument("deleteRule")
        guard property.isMany else {
            let removal = argument.flatMap { Repair.removing(option: Syntax($0)) }
            let holds = property.needsSlot && !property.isAnyObject && source.isClass
            let owned = argument.map { argument in
                Repair.replacing(
                    argument,
                    with: argument.with(\.label, nil).with(\.colon, nil)
                        .with(\.expression, ExprSyntax(stringLiteral: ".owned")), "write '.owned'", "owned")
            }
            find(
                "deleteRuleSide",
                "'deleteRule:' belongs to the ToMany property of the other side and says what becomes of those who refer "
                    + "to a removed object"
                    + (holds ? "; what is to go with '\(property.name)'s owner is '.owned'" : ""),
                at: argument.map { Syntax($0) }, holds && rule == ".cascade" ? owned : removal)
            return
        }
        if !EntityCheck.deleteRules.contains(rule) {
            let near = nearest(
                to: String(rule.drop { $0 == "." }), of: EntityCheck.deleteRules.map { String($0.dropFirst()) })
            find(
                "deleteRule", "'deleteRule' must be written as .nullify, .cascade or .deny",
                at: argument.map { Syntax($0.expression) },
                near.flatMap { name in
                    argument.map {
                        Repair.rewriting($0.expression, as: ".\(name)", "write '.\(name)'", "renameOption")
                    }
                })
        }
    }

    private func removing(_ name: String) -> FixIt? {
        property.attributes.first { $0.name == name }.flatMap { Repair.removing(option: $0.node) }
    }
}

// MARK: - The property's syntax

extension PropertySource {
    var binding: PatternBindingSyntax? { node.parent?.as(PatternBindingSyntax.self) }
    var variable: VariableDeclSyntax? { binding?.parent?.parent?.as(VariableDeclSyntax.self) }

    func attribute(named name: String) -> AttributeSyntax? {
        variable?.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }
            .first { EntityParser.name(of: $0) == name }
    }

    /// An argument of its @Relationship.
    func argument(_ label: String) -> LabeledExprSyntax? {
        guard case .argumentList(let arguments)? = attribute(named: "Relationship")?.arguments else { return nil }
        return arguments.first { $0.label?.text == label }
    }
}
