import SwiftSyntax

/// Step three: renders an `EntitySource` to source text. All checks were done in step two.
struct EntityRender {
    let source: EntitySource

    var access: String { source.access }
    var type: String { source.name }

    init(_ source: EntitySource) {
        var source = source
        if source.isClass && source.hasDeinitializer {
            for place in source.properties.indices { source.properties[place].letsGo = true }
        }
        self.source = source
    }

    func members() -> [DeclSyntax] {
        let texts = (source.isClass ? classMembers() : structMembers()) + defaultMembers()
        return texts.map { DeclSyntax(stringLiteral: $0) }
    }

    /// The codec of a class's property.
    static func codec(_ property: PropertySource) -> String {
        if property.isEncrypted {
            return "EntityCoding.encrypted\(property.isSerialized ? "Serialized" : "")Codec((\(property.type)).self)"
        }
        if property.isSerialized { return "EntityCoding.serializedCodec((\(property.type)).self)" }
        if property.isWeak, property.takesSubclasses {
            return "EntityCoding.weakSubclassCodec((\(property.type)).self)"
        }
        if property.takesSubclasses {
            let type = "(\(property.type)).self"
            let given = property.isCollection ? "EntityCoding.collectionCodec(\(type))" : type
            return "EntityCoding.subclassCodec(\(given))"
        }
        if property.isWeak { return "EntityCoding.weakCodec((\(property.type)).self)" }
        // An optional of a known type may be an entity with that name, which the value codec refuses.
        let isKnown = property.isKnown && (!property.isOptional || property.isStamp)
        let family = property.isCollection ? "collectionCodec" : property.needsSlot || isKnown ? "codec" : "valueCodec"
        return "EntityCoding.\(family)((\(property.type)).self)"
    }

    /// The codec of a property of this type: structs hold no objects.
    func codec(_ property: PropertySource) -> String {
        !source.isClass && property.needsSlot
            ? "EntityCoding.valueCodec((\(property.type)).self)" : Self.codec(property)
    }

    /// The position of one of the type's own columns among all columns of a row.
    func position(_ column: Int) -> String { source.base.map { "(\($0) + \(column))" } ?? "\(column)" }

    /// The modifiers of a member that subclasses override, or that overrides one.
    var member: String {
        let access = source.isOpen && source.isInHierarchy ? "open " : access
        return source.isSubclass ? access + "override " : access
    }

    func block(_ head: String, _ lines: [String]) -> String {
        lines.isEmpty ? head + " {\n}" : head + " {\n" + lines.map { "    " + $0 + "\n" }.joined() + "}"
    }
}

// MARK: - Shared by classes and structs

extension EntityRender {
    /// The calls that create the models of the type's own properties and indexes, with key paths from `root`. The
    /// models of a superclass are created for each subclass, because the key paths differ.
    func propertyModels(root: String) -> [String] {
        let rowKey = source.rowNumberKey?.name
        return source.properties.map { property in
            let path = "\\\(root).\(property.codeName)"
            if property.isMany {
                return ".many(\"\(property.name)\", \(path), \(property.manyTarget).self, inverse: "
                    + "\(property.inverse ?? ""), deleteRule: \(property.deleteRule ?? ".nullify"))"
            }
            if property.name == rowKey {
                return ".rowNumber(\"\(property.name)\", \(path), column: \"\(property.columnName)\")"
            }
            var text =
                ".column(\"\(property.name)\", \(path), \(codec(property)), column: \"\(property.columnName)\""
            if let value = property.defaultValue { text += ", default: \(value)" }
            let options = property.attributes.filter { !["primaryKey", "column"].contains($0.name) }.map { option in
                option.argument.map { ".\(option.name)(\($0))" } ?? ".\(option.name)"
            }
            if !options.isEmpty { text += ", options: [\(options.joined(separator: ", "))]" }
            let relation = (property.relationship ?? []).map { ".\($0.name)" }
            if !relation.isEmpty { text += ", relation: [\(relation.joined(separator: ", "))]" }
            return text + ")"
        }
    }

    func indexModels(root: String) -> [String] {
        source.indexes.flatMap { index in
            index.groups.map { group in
                let keys = root == type ? group : group.replacing("\\\(type).", with: "\\.")
                if index.isFullText {
                    return "EntityCoding.EntityModel.fullText(\(root).self, \(keys)"
                        + (index.stemming.map { ", stemming: \($0)" } ?? "") + ")"
                }
                let condition = index.condition.map { ", where: \($0)" } ?? ""
                return "EntityCoding.EntityModel.index(\(root).self, \(keys), isUnique: \(index.isUnique)\(condition))"
            }
        }
    }

    /// One statement per element, because the type checker cannot handle one expression with all.
    func listing(_ name: String, _ element: String, _ start: String?, _ calls: [String]) -> [String] {
        ["\(calls.isEmpty ? "let" : "var") \(name): [\(element)] = \(start ?? "[]")"]
            + calls.map { "\(name).append(\($0.hasPrefix(".") ? element : "")\($0))" }
    }

    /// The options of the model after its properties and indexes.
    var modelOptions: String {
        (source.raisesEvents ? "" : ", raisesEvents: false")
            + (source.database.map { ", database: \"\($0)\"" } ?? "") + (source.hasStamps ? ", hasStamps: true" : "")
            + (source.isPartial ? ", isPartial: true" : "") + (source.isObservable ? ", isObservable: true" : "")
    }

    /// The key path of `id`, where it is the key or stored. A computed `id` has its own meaning.
    var idPath: String {
        let isStored = source.properties.contains { $0.name == "id" && !$0.isMany }
        return !isStored && source.memberNames.contains("id") ? "" : "id: \\\(type).id, "
    }

    /// The last arguments of the model: the superclass, and whether the declaration names the table.
    func modelEnd(superclass: String?) -> String {
        (superclass.map { ", superclass: \($0).entityModel" } ?? "")
            + (source.table == nil ? "" : ", declaresTable: true")
    }

    var keyNames: String {
        let keys = source.rowNumberKey == nil ? source.keyProperties.map { "\"\($0.name)\"" } : []
        return "[\(keys.joined(separator: ", "))]"
    }

    func model() -> String {
        var lines = listing("properties", "EntityCoding.PropertyModel", nil, propertyModels(root: type))
        lines += listing("indexes", "EntityCoding.IndexModel", nil, indexModels(root: type))
        lines.append(
            "return EntityCoding.EntityModel(\(type).self, table: \"\(source.table ?? type)\", \(idPath)"
                + "properties: properties, keys: \(keyNames), indexes: indexes\(modelOptions)\(modelEnd(superclass: nil)))"
        )
        return block("\(access)static let entityModel: EntityCoding.EntityModel =", lines) + "()"
    }

    func identity() -> String? {
        let keys = source.keyProperties
        if keys.contains(where: { $0.name == "id" }), keys.count == 1 { return nil }
        if source.memberNames.contains("id") { return nil }
        let head = "/// The key of this \(type); an integer given by the database is nil before the first commit.\n"
        if keys.isEmpty {
            let note = source.isObservable ? "    self._$observation.access(self, keyPath: \\.id)\n    return " : "    "
            return source.isClass
                ? "\(head)\(access)var id: Int? {\n\(note)EntityCoding.rowNumber(of: self, as: (Int?).self)\n}"
                : "\(head)\(access)var id: Int? {\n    _$value.id\n}"
        }
        if keys.count == 1 { return "\(head)\(access)var id: \(keys[0].type) {\n    self.\(keys[0].codeName)\n}" }
        let values = keys.map { "\(Self.codec($0)).stored(self.\($0.codeName))" }.joined(separator: ", ")
        return "\(head)\(access)var id: EntityCoding.CompositeKey {\n    EntityCoding.CompositeKey([\(values)])\n}"
    }

    func keyMembers(prefix: String, mutating: String) -> [String] {
        guard source.rowNumberKey == nil, !source.keyProperties.isEmpty else { return [] }
        let keys = source.keyProperties
        let name: (PropertySource) -> String = { prefix.isEmpty ? $0.codeName : $0.content }
        let decoding = source.isClass ? decodeCall(keys) : []
        let values = keys.map { property in
            property.needsSlot && source.isClass
                ? "\(Self.codec(property)).stored(self.\(name(property)).value)"
                : "\(Self.codec(property)).stored(self.\(name(property)))"
        }
        return [
            block(
                "\(member)func keyValues() -> [EntityCoding.StoredValue]",
                decoding + ["\(decoding.isEmpty ? "" : "return ")[\(values.joined(separator: ", "))]"]),
            block(
                "\(member)\(mutating)func assignMissingKey()",
                decoding
                    + keys.filter { (!source.isClass || !$0.isScalar) && !$0.isConstant }.map {
                        "EntityCoding.assignKey(&self.\(name($0)))"
                    }),
        ]
    }

    /// Decodes those of some properties that may still be in the row.
    func decodeCall(_ properties: [PropertySource]) -> [String] {
        let names = Set(properties.filter(\.isLazy).map(\.name))
        let columns = source.lazyColumns.filter { names.contains($0.element.name) }.map(\.offset)
        return columns.isEmpty ? [] : ["self._$decode(\(pendingBits(of: columns)))"]
    }

    /// Members that visit the properties which may hold an object of another entity.
    func referenceMembers(prefix: String, mutating: String) -> [String] {
        let holders = source.columns.enumerated().filter { entry in
            source.isClass ? entry.element.needsSlot || entry.element.isToOne : entry.element.isToOne
        }
        // Subclasses may add references, or omit some.
        if holders.isEmpty && (!source.isInHierarchy || source.isSubclass) && !source.ignoresSuperclass { return [] }
        let callsSuper = source.isSubclass && !source.ignoresSuperclass
        let name: (PropertySource) -> String = { prefix.isEmpty ? $0.codeName : $0.backing }
        let visits = holders.map {
            $0.element.isCollection
                ? "self.\(name($0.element)).visitObjects { visit(\(position($0.offset)), $0) }"
                : "if let object = self.\(name($0.element)).loadedObject { visit(\(position($0.offset)), object) }"
        }
        let cases = holders.map {
            "case \(position($0.offset)): self.\(name($0.element)).resolve(object, key: key)"
        }
        // In a class with its own `deinit`, the fields release their objects.
        let releases =
            source.isClass && !source.hasDeinitializer ? holders.map { "self.\(name($0.element)).letGo()" } : []
        let others = callsSuper ? "super.resolveReference(property, to: object, key: key)" : "break"
        return [
            block(
                "\(member)func visitReferences(_ visit: (Int, any ObjectEntity) -> Void)",
                (callsSuper ? ["super.visitReferences(visit)"] : []) + visits),
            block(
                "\(member)\(mutating)func resolveReference(_ property: Int, to object: any ObjectEntity, key: EntityCoding.RowKey)",
                cases.isEmpty ? [] : ["switch property {"] + cases + ["default: \(others)", "}"]),
        ] + (releases.isEmpty ? [] : [block("deinit", releases)])
    }

    /// The member that sets timestamps; in a hierarchy subclasses may have some.
    func stampMembers(mutating: String) -> [String] {
        if !source.hasStamps && (!source.isInHierarchy || source.isSubclass) { return [] }
        let fills = ["if isNew { self.createdAt = date }", "self.updatedAt = date"]
        return [
            block(
                "\(member)\(mutating)func _$stamp(isNew: Bool, at date: EntityCoding.Stamp)",
                (source.isSubclass ? ["super._$stamp(isNew: isNew, at: date)"] : []) + (source.hasStamps ? fills : []))
        ]
    }

    /// The timestamp properties.
    func stampProperties(_ attribute: (Int, PropertySource) -> String) -> [String] {
        source.columns.enumerated().filter(\.element.isStamp).map { column, stamp in
            let note = stamp.name == "createdAt" ? "was stored first; nil before" : "was last stored; nil before it is"
            return "/// When the \(type) \(note).\n\(attribute(column, stamp))\(access)private(set) var "
                + "\(stamp.name): \(stamp.type)"
        }
    }

    /// A parameter of the memberwise initialiser.
    func parameter(_ property: PropertySource) -> String {
        var text = "\(property.codeName): \(property.type)"
        if needsPublicDefault(property) {
            text += " = \(type)._$defaults\(type).\(property.codeName)"
        } else if let value = property.defaultValue {
            text += " = \(value)"
        } else if property.isOptional {
            text += " = nil"
        } else if property.isToOne {
            text += " = .init()"
        }
        return text
    }

    /// The default values of a public initialiser's parameters: as default arguments they could not use declarations
    /// that are not public.
    func defaultMembers() -> [String] {
        if hasMemberwise { return [] }
        let access = source.memberwiseAccess.modifier
        let values = source.memberwiseParameters.filter(needsPublicDefault).map { property in
            let value = Self.naming(type, in: property.defaultValue ?? "nil")
            return "\(access)static var \(property.codeName): \(property.type) { \(value) }"
        }
        return values.isEmpty ? [] : [block("\(access)nonisolated enum _$defaults\(type)", values)]
    }

    /// A default value for another type's body: with the type's name in place of `Self`.
    private static func naming(_ type: String, in value: String) -> String {
        ExprSyntax(stringLiteral: value).tokens(viewMode: .sourceAccurate).map { token in
            let isType = token.tokenKind == .keyword(.Self)
            return isType ? "\(token.leadingTrivia)\(type)\(token.trailingTrivia)" : token.description
        }.joined()
    }

    private func needsPublicDefault(_ property: PropertySource) -> Bool {
        source.memberwiseAccess > .internal && property.defaultValue != nil && !property.hasPlainDefault
    }

    /// Whether the body has the memberwise initialiser: of all properties, or of those that are not private.
    var hasMemberwise: Bool { [source.parameters, source.memberwiseParameters].contains { writes($0.map(\.name)) } }

    func writes(_ labels: [String]) -> Bool { source.initializers.contains { $0.labels == labels } }
}
