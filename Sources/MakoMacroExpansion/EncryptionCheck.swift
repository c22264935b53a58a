import SwiftDiagnostics
import SwiftSyntax

extension EntityCheck {
    /// The options that an encrypted property cannot have: conditions can only test it for nil.
    static func encryptionFindings(_ property: PropertySource, in source: EntitySource) -> [Finding] {
        var found: [Finding] = []
        func find(_ id: String, _ message: String, _ fixIt: FixIt? = nil) {
            found.append(Finding(id: id, message: message, node: property.node, fixIt: fixIt))
        }
        let name = property.name
        func removal() -> FixIt? {
            property.attributes.first { $0.name == "encrypted" }.flatMap { Repair.removing(option: $0.node) }
        }
        if property.isMany || property.isToOne || !(property.relationship ?? []).isEmpty {
            find(
                "encryptedReference", "'\(name)' refers to objects, which cannot be encrypted; remove .encrypted",
                removal())
            return found
        }
        if source.keyProperties.contains(where: { $0.name == name }) || property.has("identity") {
            find("encryptedKey", "'\(name)' is encrypted and identifies nothing; remove .encrypted", removal())
        }
        let searches = ["unique", "indexed", "fullText", "spatial"]
        if searches.contains(where: { property.has($0) })
            || source.indexes.contains(where: { $0.names(name) })
        {
            find(
                "encryptedIndex", "'\(name)' is encrypted and cannot be searched for; remove .encrypted or the index",
                removal())
        }
        if !property.isOptional {
            find(
                "encrypted", "'\(name)' is encrypted and must be optional: nil is a missing value",
                property.binding.flatMap(Repair.optional))
        }
        if let value = property.defaultValue, value != "nil", property.isOptional {
            find(
                "encryptedDefault",
                "'\(name)' is encrypted, and a default would stand in the file; give the value in an initialiser")
        }
        return found
    }
}

extension IndexSource {
    /// Whether one of the key paths names the property.
    fileprivate func names(_ property: String) -> Bool {
        groups.contains { group in
            group.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }).contains { $0 == property }
        }
    }
}
