import SwiftSyntax

/// Step two: `EntitySource` to findings. Rules that need more than one declaration, or a meaning, stand here.
struct EntityCheck {
    static let supportedAttributes: Set<String> = [
        "primaryKey", "unique", "identity", "indexed", "column", "originalName", "writeOnce", "keepWhenNil",
        "serialized", "loadOnRefresh", "encrypted", "spatial", "fullText",
    ]
    /// Methods that the library calls by their names.
    static let hooks = [
        "willInsert", "willUpdate", "willDelete", "didInsert", "didUpdate", "didDelete", "didSave", "didLoad",
    ]
    static let deleteRules: Set<String> = [".nullify", ".cascade", ".deny"]
    static let relationOptions: Set<String> = ["owned", "weak"]
    /// Dirty properties are bits of one word.
    static let propertyLimit = 64

    static func findings(in source: EntitySource) -> [Finding] {
        var found: [Finding] = []
        for property in source.properties {
            check(property, of: source, &found)
            if property.isEncrypted { found += encryptionFindings(property, in: source) }
        }
        checkKeys(of: source, &found)
        checkNames(of: source, &found)
        if source.columns.count > propertyLimit {
            found.append(
                Finding(
                    id: "tooMany",
                    message: "an entity can have at most \(propertyLimit) stored properties; "
                        + "'\(source.name)' has \(source.columns.count)",
                    node: source.node))
        }
        return found
    }

    private static func check(_ property: PropertySource, of source: EntitySource, _ found: inout [Finding]) {
        func find(_ id: String, _ message: String, _ node: Syntax? = nil) {
            found.append(Finding(id: id, message: message, node: node ?? property.node))
        }
        for option in property.attributes {
            if !supportedAttributes.contains(option.name) {
                find("unknownOption", "@Attribute has no option '.\(option.name)'", option.node)
            }
        }
        if property.has("keepWhenNil") && !property.isOptional {
            find("keepWhenNil", "'\(property.name)' is never nil; make it optional or remove .keepWhenNil")
        }
        if property.has("writeOnce") && property.isMarkedKey {
            find("writeOnceKey", "a key never changes in its row; remove .writeOnce")
        }
        checkText(of: property, find)
        checkPlace(of: property, find)
        checkForm(of: property, in: source, find)
        checkAnyObject(property, in: source, find)
        checkRelation(of: property, in: source, find)
        if let rule = property.deleteRule, !deleteRules.contains(rule) {
            find("deleteRule", "'deleteRule' must be written as .nullify, .cascade or .deny")
        }
        if property.isMany {
            if !source.isClass {
                find("manyInStruct", "ToMany belongs to classes; in a struct, query the other side")
            }
            if property.inverse == nil {
                find(
                    "inverse",
                    "'\(property.name)' needs the other side: @Relationship(inverse: \\\(property.manyTarget).property)"
                )
            }
            if property.hasAttribute { find("manyAttribute", "@Attribute cannot be applied to a ToMany property") }
            if property.defaultValue != nil {
                find("manyDefault", "a ToMany property is a query and takes no default value")
            }
            return
        }
        if property.inverse != nil {
            find(
                "inverseSide",
                "'inverse:' belongs to the to-many side only (on both sides Swift reports a circular reference)")
        }
        if source.isClass, property.defaultValue == nil, !property.isOptional, !property.isToOne {
            find(
                "default",
                "'\(property.name)' needs a default value or an optional type: an object of a class exists before it is read"
            )
        }
    }

    /// Only texts have words. Of a type that the macro does not know the opening of the database tells whether it is stored as one.
    private static func checkText(of property: PropertySource, _ find: (String, String, Syntax?) -> Void) {
        guard property.has("fullText") else { return }
        let isOther = PropertySource.valueTypes.subtracting(["String", "Substring"]).contains(property.baseType)
        if isOther || property.isCollection || property.isToOne || property.isAnyObject || property.isSerialized
            || property.baseType.hasPrefix("[")
        {
            find("fullText", "'\(property.name)' is no String and has no words to search; remove .fullText", nil)
        }
    }

    /// Only places are near each other. Of a type that the macro does not know the opening of the database tells what its columns are.
    private static func checkPlace(of property: PropertySource, _ find: (String, String, Syntax?) -> Void) {
        guard property.has("spatial") else { return }
        if PropertySource.valueTypes.contains(property.baseType) || property.isCollection || property.isToOne
            || property.isAnyObject || property.isSerialized || property.baseType.hasPrefix("[")
        {
            find("spatial", "'\(property.name)' is no Coordinate and has no place; remove .spatial", nil)
        }
    }

    /// What a property stored as one text, or read late, cannot be as well.
    private static func checkForm(
        of property: PropertySource, in source: EntitySource, _ find: (String, String, Syntax?) -> Void
    ) {
        let name = property.name
        if property.isSerialized {
            if property.isToOne || !(property.relationship ?? []).isEmpty {
                find(
                    "serializedReference", "'\(name)' holds its objects itself; remove .serialized or the relationship",
                    nil)
            }
            if property.isMarkedKey || property.has("identity") {
                find(
                    "serializedKey", "'\(name)' is stored as a text of JSON and identifies nothing; remove .serialized",
                    nil)
            }
        }
        if property.isDeferred {
            if !source.isClass {
                find("deferredInStruct", "a struct is not refreshed: .loadOnRefresh belongs to classes", nil)
            } else if !property.isOptional || property.isToOne {
                find("deferred", "'\(name)' is nil until its object is refreshed; make it optional", nil)
            }
            if property.isMarkedKey || property.has("identity") {
                find(
                    "deferredKey", "'\(name)' identifies the object and must be read with it; remove .loadOnRefresh",
                    nil)
            }
        }
    }

    /// What a reference to an object of any entity cannot be as well.
    private static func checkAnyObject(
        _ property: PropertySource, in source: EntitySource, _ find: (String, String, Syntax?) -> Void
    ) {
        guard property.isAnyObject else { return }
        let name = property.name
        if !source.isClass {
            find("anyObjectInStruct", "a struct holds no objects; make it a class, or store the object's key", nil)
        } else if !property.isOptional {
            find("anyObject", "'\(name)' is nil when its object is removed; write '(any ObjectEntity)?'", nil)
        }
        if property.isSerialized || property.isMarkedKey || property.has("identity") {
            find("anyObjectKey", "'\(name)' refers to an object and is neither a key nor a value of its own", nil)
        }
        if property.relationship?.contains(where: { $0.name == "owned" }) == true {
            find("anyObjectOwned", "only what has a class of its own can be .owned; give '\(name)' one", nil)
        }
    }

    private static func checkRelation(
        of property: PropertySource, in source: EntitySource, _ find: (String, String, Syntax?) -> Void
    ) {
        for option in property.relationship ?? [] {
            if !relationOptions.contains(option.name) {
                find("unknownRelation", "@Relationship has no option '.\(option.name)'", option.node)
            } else if !source.isClass {
                find("structRelation", "@Relationship(.\(option.name)) belongs to classes", option.node)
            } else if property.isMany {
                find(
                    "manyRelation", ".\(option.name) belongs to a property that holds objects, not to a query",
                    option.node)
            } else if !property.needsSlot && !property.isToOne {
                find("valueRelation", "'\(property.name)' refers to no objects; remove .\(option.name)", option.node)
            }
        }
        let names = (property.relationship ?? []).map(\.name)
        if names.contains("owned") && names.contains("weak") {
            find("ownedWeak", "'\(property.name)' cannot be .owned and .weak", nil)
        }
    }

    /// What only a class can have whose superclass is an entity.
    static func findings(inRoot source: EntitySource) -> [Finding] {
        guard source.ignoresSuperclass else { return [] }
        return [
            Finding(
                id: "noSuperclass",
                message: "'\(source.name)' has no superclass that is an entity; remove 'ignoringSuperclass:'",
                node: source.node)
        ]
    }

    /// A class is observable together with its superclasses.
    static func observationFindings(in source: EntitySource, superclassObservable: Bool) -> [Finding] {
        func finding(_ id: String, _ message: String) -> [Finding] {
            [Finding(id: id, message: message, node: source.node)]
        }
        if !source.isObservable { return [] }
        if !source.isClass {
            return finding("observableStruct", "a struct is observed by whoever holds it; remove 'observable:'")
        }
        guard source.isSubclass, !superclassObservable else { return [] }
        return finding(
            "observableSubclass",
            "'\(source.name)' cannot be followed without its superclass; write 'observable: true' there, too")
    }

    /// What a class cannot have whose superclass is an entity already.
    static func findings(inSubclass source: EntitySource) -> [Finding] {
        source.keyProperties.map {
            Finding(
                id: "subclassKey", message: "'\(source.name)' has the key of its superclass and cannot have another",
                node: $0.node)
        }
    }

    private static func checkKeys(of source: EntitySource, _ found: inout [Finding]) {
        for key in source.keyProperties where key.isMany {
            found.append(Finding(id: "manyKey", message: "a ToMany property cannot be the key", node: key.node))
        }
        let keys = source.keyProperties
        if !keys.isEmpty, source.rowNumberKey == nil {
            for property in source.properties where property.has("identity") {
                found.append(
                    Finding(
                        id: "identityBesideKey",
                        message:
                            "'\(source.name)' is identified by its primary key; make '\(property.name)' .unique instead",
                        node: property.node))
            }
        }
        for key in keys where keys.count > 1 && key.isOptional {
            found.append(
                Finding(id: "optionalKey", message: "a property of a composite key cannot be optional", node: key.node))
        }
    }

    private static func checkNames(of source: EntitySource, _ found: inout [Finding]) {
        var columns: [String: String] = [:]
        for property in source.properties {
            if let other = columns.updateValue(property.name, forKey: property.columnName.lowercased()) {
                found.append(
                    Finding(
                        id: "duplicateColumn",
                        message: "'\(other)' and '\(property.name)' would share the column '\(property.columnName)'",
                        node: property.node))
            }
        }
        if source.keyProperties.isEmpty, source.memberNames.contains("id") {
            found.append(
                Finding(
                    id: "computedID",
                    message: "'id' is taken by the entity's own key; make it a stored property or give it another name",
                    node: source.node))
        }
    }
}

extension PropertySource {
    func has(_ option: String) -> Bool { attributes.contains { $0.name == option } }

    /// The column's name: the option's literal, else the property's name.
    var columnName: String {
        for option in attributes where option.name == "column" {
            guard let text = option.argument, text.hasPrefix("\""), text.hasSuffix("\"") else { continue }
            return String(text.dropFirst().dropLast())
        }
        return name
    }
}
