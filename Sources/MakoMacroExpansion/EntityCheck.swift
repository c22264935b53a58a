import SwiftDiagnostics
import SwiftSyntax

/// Step two: checks an `EntitySource` for errors that involve several declarations, or the meaning of one.
struct EntityCheck {
    static let supportedAttributes: Set<String> = [
        "primaryKey", "unique", "identity", "indexed", "column", "originalName", "writeOnce", "keepWhenNil",
        "serialized", "loadOnRefresh", "encrypted", "spatial", "fullText",
    ]
    /// Methods that the library calls by name.
    static let hooks = [
        "willInsert", "willUpdate", "willDelete", "didInsert", "didUpdate", "didDelete", "didSave", "didLoad",
    ]
    static let deleteRules: Set<String> = [".nullify", ".cascade", ".deny"]
    static let relationOptions: Set<String> = ["owned", "weak", "subclasses"]
    /// `EntityModel.propertyLimit`, which counts the properties of superclasses, too.
    static let propertyLimit = 1024

    static func findings(in source: EntitySource) -> [Finding] {
        var found: [Finding] = []
        for property in source.properties {
            found += PropertyCheck.findings(property, of: source)
            if property.isEncrypted { found += encryptionFindings(property, in: source) }
        }
        checkKeys(of: source, &found)
        checkConstantKeys(of: source, &found)
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

    /// Findings that concern classes without an entity as superclass.
    static func findings(inRoot source: EntitySource) -> [Finding] {
        var found = inheritanceFindings(in: source)
        checkEquality(of: source, &found)
        if source.keyProperties.isEmpty, !source.isPartial {
            for property in source.columns where property.columnName.lowercased() == "id" {
                found.append(
                    Finding(
                        id: "duplicateColumn",
                        message: "'\(property.name)' would share the column 'id' with the key; mark it .primaryKey, "
                            + "or give it another column", node: property.node))
            }
        }
        guard source.ignoresSuperclass else { return found }
        return found + [
            Finding(
                id: "noSuperclass",
                message: "'\(source.name)' has no superclass that is an entity; remove 'ignoringSuperclass:'",
                node: source.node, fixIt: source.option("ignoringSuperclass").flatMap(Repair.removing(option:)))
        ]
    }

    /// Findings on observation: an observable subclass needs an observable superclass.
    static func observationFindings(in source: EntitySource, superclassObservable: Bool) -> [Finding] {
        func finding(_ id: String, _ message: String, _ fixIt: FixIt? = nil) -> [Finding] {
            [Finding(id: id, message: message, node: source.node, fixIt: fixIt)]
        }
        if !source.isObservable { return [] }
        if !source.isClass {
            return finding(
                "observableStruct", "a struct is observed by its owner; remove 'observable:'",
                source.option("observable").flatMap(Repair.removing(option:)))
        }
        guard source.isSubclass, !superclassObservable else { return [] }
        return finding(
            "observableSubclass",
            "'\(source.name)' cannot be followed without its superclass; write 'observable: true' there, too")
    }

    /// Findings that concern classes with an entity as superclass.
    static func findings(inSubclass source: EntitySource) -> [Finding] {
        source.keyProperties.map { key in
            Finding(
                id: "subclassKey", message: "'\(source.name)' has the key of its superclass and cannot have another",
                node: key.node,
                fixIt: key.attributes.first { $0.name == "primaryKey" }.flatMap { Repair.removing(option: $0.node) })
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
                        node: property.node,
                        fixIt: property.attributes.first { $0.name == "identity" }.flatMap {
                            Repair.renaming(option: $0.node, to: "unique")
                        }))
            }
        }
        for key in keys where keys.count > 1 && key.isOptional {
            let fixIt = key.binding?.typeAnnotation.map {
                Repair.rewriting($0.type, as: key.baseType, "write '\(key.baseType)'", "makeRequired")
            }
            found.append(
                Finding(
                    id: "optionalKey", message: "a property of a composite key cannot be optional", node: key.node,
                    fixIt: fixIt))
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
        let hasColumnKey = !source.keyProperties.isEmpty && source.rowNumberKey == nil
        let generated = ["keyValues", "assignMissingKey"] + (source.isClass ? ["forgetKey"] : [])
        for property in source.properties {
            let backing = "_" + property.name
            let hasBacking = source.isClass && !property.isMany && property.name != source.rowNumberKey?.name
            if hasBacking, source.variableNames.contains(backing) {
                found.append(
                    Finding(
                        id: "backingName",
                        message: "'\(property.name)' is stored as '\(backing)', which is the name of another property; "
                            + "rename that one", node: property.node))
            }
            if hasColumnKey, generated.contains(property.name) {
                found.append(
                    Finding(
                        id: "generatedName",
                        message: "@Entity generates a method '\(property.name)'; give the property another name, and "
                            + ".column(\"\(property.name)\")", node: property.node))
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

    /// The column's name: the option's literal, otherwise the property's name.
    var columnName: String {
        attributes.first { $0.name == "column" }?.literal ?? name
    }
}
