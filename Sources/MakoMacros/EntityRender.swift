import SwiftSyntax

/// Step three: `EntitySource` to source text. It decides nothing that step two could have refused.
struct EntityRender {
    let source: EntitySource

    private var access: String { source.access }
    private var type: String { source.name }
    /// The access of a memberwise initialiser: it names every property's type, so it can be no wider than the narrowest.
    private let memberwiseAccess: String

    init(_ source: EntitySource, narrowsMemberwise: Bool) {
        self.source = source
        memberwiseAccess = narrowsMemberwise ? "" : source.access
    }

    func members() -> [DeclSyntax] {
        let texts = source.isClass ? classMembers() : structMembers()
        return texts.map { DeclSyntax(stringLiteral: $0) }
    }

    static func codec(_ property: PropertySource) -> String { "EntityCoding.codec((\(property.type)).self)" }

    private func bit(_ column: Int) -> String { "1 << \(column)" }

    private func block(_ head: String, _ lines: [String]) -> String {
        lines.isEmpty ? head + " {\n}" : head + " {\n" + lines.map { "    " + $0 + "\n" }.joined() + "}"
    }
}

// MARK: - Shared by classes and structs

extension EntityRender {
    private func model() -> String {
        var properties: [String] = []
        let rowKey = source.rowNumberKey?.name
        for property in source.properties {
            let path = "\\\(type).\(property.codeName)"
            if property.isMany {
                properties.append(
                    ".many(\"\(property.name)\", \(path), \(property.manyTarget).self, inverse: "
                        + "\(property.inverse ?? ""), deleteRule: \(property.deleteRule ?? ".nullify"))")
                continue
            }
            if property.name == rowKey {
                properties.append(".rowNumber(\"\(property.name)\", \(path), column: \"\(property.columnName)\")")
                continue
            }
            var text =
                ".column(\"\(property.name)\", \(path), \(Self.codec(property)), column: \"\(property.columnName)\""
            if let value = property.defaultValue { text += ", default: \(value)" }
            let options = property.attributes.filter { !["primaryKey", "column"].contains($0.name) }.map { option in
                option.argument.map { ".\(option.name)(\($0))" } ?? ".\(option.name)"
            }
            if !options.isEmpty { text += ", options: [\(options.joined(separator: ", "))]" }
            properties.append(text + ")")
        }
        let indexes = source.indexes.flatMap { index in
            index.groups.map { "indexes.append(EntityModel.index(\(type).self, \($0), isUnique: \(index.isUnique)))" }
        }
        let keys = source.rowNumberKey == nil ? source.keyProperties.map { "\"\($0.name)\"" } : []
        // One statement each: a single expression of all properties would cost the type checker more than it takes.
        var lines = properties.map { "properties.append(PropertyModel\($0))" } + indexes
        lines.insert("\(properties.isEmpty ? "let" : "var") properties: [PropertyModel] = []", at: 0)
        lines.insert("\(indexes.isEmpty ? "let" : "var") indexes: [IndexModel] = []", at: 1)
        lines.append(
            "return EntityModel(\(type).self, table: \"\(source.table ?? type)\", id: \\\(type).id, "
                + "properties: properties, "
                + "keys: [\(keys.joined(separator: ", "))], indexes: indexes)")
        return block("\(access)static let entityModel: EntityModel =", lines) + "()"
    }

    private func identity() -> String? {
        let keys = source.keyProperties
        if keys.contains(where: { $0.name == "id" }), keys.count == 1 { return nil }
        if source.memberNames.contains("id") { return nil }
        let head = "/// The key of this \(type); an integer given by the database is nil before the first commit.\n"
        if keys.isEmpty {
            return source.isClass
                ? "\(head)\(access)var id: Int? {\n    EntityCoding.rowNumber(of: self, as: (Int?).self)\n}"
                : "\(head)\(access)var id: Int? {\n    _$state.id\n}"
        }
        if keys.count == 1 { return "\(head)\(access)var id: \(keys[0].type) {\n    self.\(keys[0].codeName)\n}" }
        let values = keys.map { "\(Self.codec($0)).stored(self.\($0.codeName))" }.joined(separator: ", ")
        return "\(head)\(access)var id: CompositeKey {\n    CompositeKey([\(values)])\n}"
    }

    private func keyMembers(prefix: String, mutating: String) -> [String] {
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
                "\(access)func keyValues() -> [StoredValue]",
                decoding + ["\(decoding.isEmpty ? "" : "return ")[\(values.joined(separator: ", "))]"]),
            block(
                "\(access)\(mutating)func assignMissingKey()",
                decoding
                    + keys.filter { !source.isClass || !$0.needsSlot && !$0.isScalar }.map {
                        "EntityCoding.assignKey(&self.\(name($0)))"
                    }),
        ]
    }

    /// Brings those of some properties that may still stand in the row to their fields.
    private func decodeCall(_ properties: [PropertySource]) -> [String] {
        let names = Set(properties.filter(\.isLazy).map(\.name))
        let bits = source.lazyColumns.filter { names.contains($0.element.name) }.map { bit($0.offset) }
        return bits.isEmpty ? [] : ["self._$decode(\(bits.joined(separator: " | ")))"]
    }

    /// Members that visit the properties which may hold an object of another entity.
    private func referenceMembers(prefix: String, mutating: String) -> [String] {
        let holders = source.columns.enumerated().filter { entry in
            source.isClass ? entry.element.needsSlot || entry.element.isToOne : entry.element.isToOne
        }
        if holders.isEmpty { return [] }
        let name: (PropertySource) -> String = { prefix.isEmpty ? $0.codeName : prefix + $0.name }
        let visits = holders.map {
            "if let object = self.\(name($0.element)).loadedObject { visit(\($0.offset), object) }"
        }
        let cases = holders.map { "case \($0.offset): self.\(name($0.element)).resolve(object, key: key)" }
        return [
            block("\(access)func visitReferences(_ visit: (Int, any ObjectEntity) -> Void)", visits),
            block(
                "\(access)\(mutating)func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey)",
                ["switch property {"] + cases + ["default: break", "}"]),
        ]
    }

    private func parameter(_ property: PropertySource) -> String {
        var text = "\(property.codeName): \(property.type)"
        if let value = property.defaultValue {
            text += " = \(value)"
        } else if property.isOptional {
            text += " = nil"
        } else if property.isToOne {
            text += " = .init()"
        }
        return text
    }

    private func writes(_ labels: [String]) -> Bool { source.initializers.contains { $0.labels == labels } }
}

// MARK: - Classes

extension EntityRender {
    private func classMembers() -> [String] {
        let state = source.hasDesignatedInitializer ? " = ObjectState()" : ": ObjectState"
        var members = ["@exclusivity(unchecked) \(access)var _$state\(state)", model()]
        if let identity = identity() { members.append(identity) }
        let stored = source.properties.filter { !$0.isMany }
        let isLazy = !source.lazyColumns.isEmpty
        let start =
            source.hasDesignatedInitializer
            ? [] : ["self._$state = ObjectState()"] + (isLazy ? ["self._$row = LazyRow()"] : [])
        let required = source.isFinalClass ? "" : "required "
        let rowKey = source.rowNumberKey?.name

        if !writes([]) {
            let lines =
                source.hasDesignatedInitializer
                ? [] : start + stored.compactMap { defaultAssignment($0, rowKey: rowKey) }
            members.append(block("\(access)\(required)init()", lines))
        }
        if !stored.isEmpty, !writes(stored.map(\.name)) {
            let parameters = stored.map(parameter).joined(separator: ", ")
            let assignments = stored.map { assignment($0, value: $0.codeName, rowKey: rowKey) }
            let chained = !source.isFinalClass || source.hasDesignatedInitializer
            members.append(
                block(
                    "\(memberwiseAccess)\(chained ? "convenience " : "")init(\(parameters))",
                    (chained ? ["self.init()"] : start) + assignments))
        }
        if !writes(["_"]) { members.append(classDictionaryInitializer(stored, rowKey: rowKey)) }
        members.append(classRowInitializer(required))
        members.append(contentsOf: classCoding())
        members.append(contentsOf: keyMembers(prefix: "_", mutating: ""))
        members.append(contentsOf: referenceMembers(prefix: "_", mutating: ""))
        return members
    }

    private func defaultAssignment(_ property: PropertySource, rowKey: String?) -> String? {
        if property.name == rowKey {
            return property.defaultValue.map { "self._$state.rowID = EntityCoding.rowID((\($0)) as \(property.type))" }
        }
        if property.needsSlot {
            return property.defaultValue.map { "self.\(property.backing) = \(Self.codec(property)).slot(\($0))" }
        }
        let value = property.defaultValue ?? (property.isToOne ? ".init()" : "nil")
        return "self.\(property.content) = \(value)"
    }

    private func assignment(_ property: PropertySource, value: String, rowKey: String?) -> String {
        if property.name == rowKey { return "self._$state.rowID = EntityCoding.rowID(\(value))" }
        if property.needsSlot { return "self.\(property.backing) = \(Self.codec(property)).slot(\(value))" }
        return "self.\(property.content) = \(value)"
    }

    private func classDictionaryInitializer(_ stored: [PropertySource], rowKey: String?) -> String {
        var lines = ["self.init()", "let values = DictionaryValues(dictionary, entity: \"\(type)\")"]
        if stored.isEmpty { lines[1] = "_ = dictionary" }
        for property in stored {
            lines.append(
                "if let value = try values.value(\"\(property.name)\", \(Self.codec(property))) { "
                    + assignment(property, value: "value", rowKey: rowKey) + " }")
        }
        let note = "/// Takes the values of the keys that name a property, without regard to case.\n"
        return block("\(note)\(access)convenience init(_ dictionary: [String: Any]) throws(MakoError)", lines)
    }

    private func classRowInitializer(_ required: String) -> String {
        let lines = source.columns.enumerated().map { column, property in
            if property.isLazy { return "self.\(property.backing) = \(Self.placeholder(property))" }
            let read = property.needsSlot ? "readSlot" : "read"
            return "self.\(property.content) = try \(Self.codec(property)).\(read)(row, \(column))"
        }
        var start = ["self._$state = row.state"]
        if !source.lazyColumns.isEmpty { start.append("self._$row = LazyRow(row)") }
        return block("\(access)\(required)init(row: EntityRow) throws(MakoError)", start + lines)
    }

    /// What stands in a field while the value stands in the row.
    private static func placeholder(_ property: PropertySource) -> String {
        property.isOptional ? "nil" : property.type == "String" ? "\"\"" : "\(property.type)()"
    }

    private func classCoding() -> [String] {
        let writes = source.columns.enumerated().map { column, property in
            let write = property.needsSlot ? "writeSlot" : "write"
            return "if properties & (\(bit(column))) != 0 { "
                + "try \(Self.codec(property)).\(write)(self.\(property.content), &writer, \(column)) }"
        }
        let copies = source.columns.map { "self.\($0.content) = other.\($0.content)" }
        let lazies = source.lazyColumns
        let isLazy = !lazies.isEmpty
        let mask = lazies.map { bit($0.offset) }.joined(separator: " | ")
        var members = [
            block(
                "\(access)func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError)",
                (isLazy ? ["self._$decode(properties)"] : []) + writes),
            block(
                "\(access)func adoptValues(of object: AnyObject)",
                copies.isEmpty
                    ? []
                    : ["guard let other = object as? \(type) else { return }"]
                        + (isLazy ? ["other._$decode(.max)", "self._$row.drop()"] : []) + copies),
        ]
        if !isLazy { return members }
        let row = source.hasDesignatedInitializer ? " = LazyRow()" : ": LazyRow"
        members.append("@exclusivity(unchecked) private var _$row\(row)")
        members.append(
            "/// The properties that stay in the row until they are asked for.\n"
                + "\(access)static var _$lazyProperties: UInt64 {\n    \(mask)\n}")
        let reads = lazies.map { column, property in
            "    if pending & (\(bit(column))) != 0 { "
                + "self.\(property.backing) = EntityCoding.field(row, \(column)) }"
        }
        members.append(
            block(
                "/// Brings properties from the row to their fields; the object is locked.\n"
                    + "private func _$decode(_ properties: UInt64)",
                ["self._$row.decode(properties) { pending, row in"] + reads + ["}"]))
        return members
    }
}

// MARK: - Structs

extension EntityRender {
    private func structMembers() -> [String] {
        var members = ["\(access)var _$state = ValueState()", model()]
        if let identity = identity() { members.append(identity) }
        let stored = source.properties.filter { !$0.isMany }
        let allDefaulted = stored.allSatisfy { $0.defaultValue != nil || $0.isOptional || $0.isToOne }
        let assignments = stored.map { "self.\($0.codeName) = \($0.codeName)" }
        if !writes(stored.map(\.name)), !stored.isEmpty {
            members.append(
                block("\(memberwiseAccess)init(\(stored.map(parameter).joined(separator: ", ")))", assignments))
        }
        if allDefaulted, !writes([]) {
            let lines = stored.filter { $0.isToOne && $0.defaultValue == nil }.map { "self.\($0.codeName) = .init()" }
            members.append(block("\(access)init()", lines))
        }
        if !writes(["_"]) { members.append(structDictionaryInitializer(stored)) }
        members.append(structRowInitializer())
        let writes = source.columns.enumerated().map { column, property in
            "if properties & (\(bit(column))) != 0 { "
                + "try \(Self.codec(property)).write(self.\(property.codeName), &writer, \(column)) }"
        }
        members.append(
            block("\(access)func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError)", writes))
        if let key = source.rowNumberKey {
            members.append(
                """
                \(access)var rowNumber: Int64 {
                    get { EntityCoding.rowID(self.\(key.codeName)) }
                    set { self.\(key.codeName) = EntityCoding.integer(newValue, as: (\(key.type)).self) }
                }
                """)
        }
        members.append(contentsOf: keyMembers(prefix: "", mutating: "mutating "))
        members.append(contentsOf: referenceMembers(prefix: "", mutating: "mutating "))
        return members
    }

    private func structDictionaryInitializer(_ stored: [PropertySource]) -> String {
        var lines = ["let values = DictionaryValues(dictionary, entity: \"\(type)\")"]
        if stored.isEmpty { lines[0] = "_ = dictionary" }
        for property in stored {
            let codec = Self.codec(property)
            let fallback = property.defaultValue ?? (property.isOptional ? "nil" : property.isToOne ? ".init()" : nil)
            if let fallback {
                lines.append(
                    "if let value = try values.value(\"\(property.name)\", \(codec)) { self.\(property.codeName) = value } "
                        + "else { self.\(property.codeName) = \(fallback) }")
            } else {
                lines.append("self.\(property.codeName) = try values.required(\"\(property.name)\", \(codec))")
            }
        }
        let note = "/// Takes the values of the keys that name a property, without regard to case.\n"
        return block("\(note)\(access)init(_ dictionary: [String: Any]) throws(MakoError)", lines)
    }

    private func structRowInitializer() -> String {
        var lines = source.columns.enumerated().map { column, property in
            "self.\(property.codeName) = try \(Self.codec(property)).read(row, \(column))"
        }
        if let key = source.rowNumberKey {
            lines.append("self.\(key.codeName) = EntityCoding.integer(row.rowID, as: (\(key.type)).self)")
        }
        lines.append("self._$state = row.valueState")
        return block("\(access)init(row: EntityRow) throws(MakoError)", lines)
    }
}
