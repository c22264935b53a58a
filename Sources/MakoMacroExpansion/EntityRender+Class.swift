import SwiftSyntax

extension EntityRender {
    func classMembers() -> [String] {
        var members: [String] = []
        if !source.isSubclass {
            let state = source.hasDesignatedInitializer ? " = EntityCoding.ObjectState()" : ": EntityCoding.ObjectState"
            members.append("@exclusivity(unchecked) \(access)var _$state\(state)")
        }
        members += source.isInHierarchy ? modelInHierarchy() : [model()]
        if let base = source.base {
            let start = source.isSubclass ? superPart("_$end") : "0"
            members.append("\(access)static var \(base.dropFirst(type.count + 1)): Int {\n    \(start)\n}")
        }
        if !source.isSubclass, let identity = identity() { members.append(identity) }
        members += stampProperties { column, _ in storedAttribute(column) + " " }
        members += initializers()
        members += classCoding()
        if !source.isSubclass { members += keyMembers(prefix: "_", mutating: "") + keyAssignments() }
        members += referenceMembers(prefix: "_", mutating: "")
        members += stampMembers(mutating: "")
        members += hookMembers()
        members += observationMembers()
        return members
    }

    /// The accessor macro of a property that this macro declares, as the attribute role writes it for the user's
    /// properties.
    private func storedAttribute(_ column: Int) -> String {
        let keeps = source.hasDesignatedInitializer ? ", keepsDefault: true" : ""
        let observed = source.isObservable ? ", observed: true" : ""
        return "@_Stored(\(column), .value\(keeps)\(source.base.map { ", base: \"\($0)\"" } ?? "")\(observed))"
    }

    /// The superclass's member with its class name in the member's name.
    private func superPart(_ prefix: String) -> String {
        "\(source.firstInherited ?? "").\(prefix)\(source.firstInheritedName)"
    }

    /// The model of a class with subclasses or an entity as superclass. Properties and indexes are created for the
    /// calling class.
    private func modelInHierarchy() -> [String] {
        let isFinal = source.isFinalClass
        let root = isFinal ? type : "T"
        let generic = isFinal ? "(_ type: \(type).Type)" : "<T: \(type)>(_ type: T.Type)"
        let inherited: (String) -> String? = { source.isSubclass ? "\(superPart($0))(type)" : nil }
        let ignores = source.ignoresSuperclass
        let properties = inherited("_$properties").map { ignores ? "EntityCoding.absent(\($0))" : $0 }
        let columns = source.columns.count
        var members = [
            block(
                "\(access)static func _$properties\(type)\(generic) -> [EntityCoding.PropertyModel]",
                listing("properties", "EntityCoding.PropertyModel", properties, propertyModels(root: root))
                    + ["return properties"]),
            block(
                "\(access)static func _$indexes\(type)\(generic) -> [EntityCoding.IndexModel]",
                listing(
                    "indexes", "EntityCoding.IndexModel", ignores ? nil : inherited("_$indexes"),
                    indexModels(root: root))
                    + ["return indexes"]),
            "\(member)class var entityModel: EntityCoding.EntityModel {\n    _$model\n}",
            "private static let _$model = EntityCoding.EntityModel(\n    \(type).self, table: \"\(source.table ?? type)\", "
                + "\(idPath)properties: _$properties\(type)(\(type).self), "
                + "keys: \(keyNames), indexes: _$indexes\(type)(\(type).self)\(modelOptions)"
                + "\(modelEnd(superclass: source.isSubclass ? source.firstInherited ?? "" : nil)))",
        ]
        if !isFinal {
            members.append(
                "\(access)static var _$end\(type): Int {\n    \(source.base.map { "\($0) + " } ?? "")\(columns)\n}")
        }
        return members
    }
}

// MARK: - Initialisers

extension EntityRender {
    private func initializers() -> [String] {
        var members: [String] = []
        let stored = source.parameters
        let isSubclass = source.isSubclass
        var start: [String] = []
        if !source.hasDesignatedInitializer {
            if !isSubclass { start.append("self._$state = EntityCoding.ObjectState()") }
        }
        let required = source.isFinalClass && !isSubclass ? "" : "required "
        let rowKey = source.rowNumberKey?.name

        if !writes([]) {
            let lines =
                source.hasDesignatedInitializer
                ? [] : start + stored.compactMap { defaultAssignment($0, rowKey: rowKey) }
            members.append(block("\(access)\(required)init()", lines + (isSubclass ? ["super.init()"] : [])))
        }
        let given = source.memberwiseParameters
        if !given.isEmpty, !hasMemberwise {
            let parameters = given.map(parameter).joined(separator: ", ")
            let assignments = given.map { assignment($0, value: $0.codeName, rowKey: rowKey) }
            let chained = !source.isFinalClass || isSubclass || source.hasDesignatedInitializer
            let names = Set(given.map(\.name))
            let others = stored.filter { !names.contains($0.name) }
                .compactMap { defaultAssignment($0, rowKey: rowKey) }
            members.append(
                block(
                    "\(source.memberwiseAccess.modifier)\(chained ? "convenience " : "")init(\(parameters))",
                    (chained ? ["self.init()"] : start + others) + assignments + memberNotes(given)))
        }
        members += dictionaryInitializer(stored, rowKey: rowKey)
        members.append(classRowInitializer(required))
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

    /// Gives the object to those that it refers to, which save it with themselves.
    private func memberNotes(_ stored: [PropertySource]) -> [String] {
        stored.filter { $0.mayReferToObject && $0.name != source.rowNumberKey?.name }.compactMap { property in
            guard let column = source.columns.firstIndex(where: { $0.name == property.name }) else { return nil }
            return "EntityCoding.noteReference(to: \(property.codeName), of: self, property: \(position(column)))"
        }
    }

    /// The initialiser from a dictionary, and the member that sets the values, which subclasses override.
    private func dictionaryInitializer(_ stored: [PropertySource], rowKey: String?) -> [String] {
        var takes = stored.map { property in
            if property.needsSlot && property.name != rowKey {
                return "if let slot = try values.slot(\"\(property.name)\", \(Self.codec(property))) { "
                    + "self.\(property.backing) = slot }"
            }
            return "if let value = try values.value(\"\(property.name)\", \(Self.codec(property))) { "
                + assignment(property, value: "value", rowKey: rowKey) + " }"
        }
        if source.keyProperties.isEmpty && !source.isSubclass {
            takes.append("try EntityCoding.takeRowNumber(values, &self._$state)")
        }
        let note = "/// Takes the values of the keys that name a property, without regard to case.\n"
        let head = "\(note)\(access)convenience init(_ dictionary: [String: Any]) throws(MakoError)"
        let name = source.isInHierarchy ? "\\(Self.self)" : type
        var members = [
            block(
                "\(member)func _$take(_ values: EntityCoding.DictionaryValues) throws(MakoError)",
                (source.isSubclass ? ["try super._$take(values)"] : []) + takes)
        ]
        // Generated in each class, because a subclass of a class with a handwritten initialiser would not inherit it.
        if !writes(["_"]) {
            members.append(
                block(
                    head,
                    ["self.init()", "try self._$take(EntityCoding.DictionaryValues(dictionary, entity: \"\(name)\"))"]))
        }
        return members
    }

    private func classRowInitializer(_ required: String) -> String {
        let lines = source.columns.enumerated().map { column, property in
            let read = property.needsSlot ? "readSlot" : "read"
            let value = "\(Self.codec(property)).\(read)(row, \(position(column)))"
            if source.isLazy(property, at: column) {
                let placeholder = Self.placeholder(property)
                // The columns of superclasses come first, so that this one may be behind the 64th.
                let content =
                    source.base == nil ? placeholder : "try \(position(column)) < 64 ? \(placeholder) : \(value)"
                return "self.\(property.backing) = \(content)"
            }
            let line = "self.\(property.content) = try \(value)"
            return property.isDeferred ? "if row.isRefresh { \(line) }" : line
        }
        var start = source.isSubclass ? [] : ["self._$state = row.state"]
        // Every row number is an Int64.
        if let key = source.rowNumberKey, key.baseType != "Int64" {
            start.append("try EntityCoding.key(row, as: (\(key.type)).self)")
        }
        let plain = ["super.init()", "self._$state = row.state"]
        let end = source.ignoresSuperclass ? plain : source.isSubclass ? ["try super.init(row: row)"] : []
        return block("\(access)\(required)init(row: EntityCoding.EntityRow) throws(MakoError)", start + lines + end)
    }

    /// The value of a field while the property is in the row.
    private static func placeholder(_ property: PropertySource) -> String {
        property.isOptional ? "nil" : property.type == "String" ? "\"\"" : "\(property.type)()"
    }
}

// MARK: - Rows, keys and hooks

extension EntityRender {
    /// The bits of the class's own properties that may stay in the row.
    private var lazyMask: String { pendingBits(of: source.lazyColumns.map(\.offset)) }

    private func classCoding() -> [String] {
        let writes = source.columns.enumerated().map { column, property in
            let write = property.needsSlot ? "writeSlot" : "write"
            return "try \(Self.codec(property)).\(write)(self.\(property.content), &writer, \(position(column)))"
        }
        let copies = source.columns.map { "self.\($0.content) = other.\($0.content)" }
        let isLazy = !source.lazyColumns.isEmpty
        let isSubclass = source.isSubclass
        let members = [
            block(
                "\(member)func adoptValues(of object: AnyObject)",
                (isSubclass ? ["super.adoptValues(of: object)"] : [])
                    + (copies.isEmpty
                        ? []
                        : ["guard let other = object as? \(type) else { return }"]
                            + (isLazy ? ["other._$decode(.max)", "self._$state.drop(\(lazyMask))"] : []) + copies))
        ]
        return encoders(writes) + members + lazyMembers()
    }

    private func lazyMembers() -> [String] {
        let isLazy = !source.lazyColumns.isEmpty
        var members: [String] = []
        if isLazy || source.ignoresSuperclass || source.isInHierarchy && !source.isSubclass {
            let inherited = source.isSubclass && !source.ignoresSuperclass ? "super._$lazyProperties | " : ""
            members.append(
                "/// The properties that stay in the row until they are read.\n"
                    + "\(member)\(source.isInHierarchy ? "class" : "static") var _$lazyProperties: UInt64 {\n"
                    + "    \(inherited)\(isLazy ? lazyMask : "0")\n}")
        }
        if !isLazy { return members }
        let reads = source.lazyColumns.map { column, property in
            "    if pending & \(pendingBits(of: [column])) != 0 { "
                + "self.\(property.backing) = EntityCoding.field(row, \(position(column))) }"
        }
        members.append(
            block(
                "/// Brings properties from the row to their fields; the object is locked.\n"
                    + "private func _$decode(_ properties: UInt64)",
                // In a hierarchy each class decodes its own properties.
                ["self._$state.decode(properties\(source.isInHierarchy ? " & (\(lazyMask))" : "")) { pending, row in"]
                    + reads + ["}"]))
        return members
    }

    /// Members that set the key properties; none for a row number.
    private func keyAssignments() -> [String] {
        guard source.rowNumberKey == nil, !source.keyProperties.isEmpty else { return [] }
        let keys = source.keyProperties
        let decoding = decodeCall(keys)
        let values = keys.enumerated().map { "let value\($0) = \(Self.codec($1)).value(values[\($0)])" }
        let conditions = ["values.count == \(keys.count)"] + values
        return [
            block(
                "\(member)func forgetKey()",
                decoding
                    + keys.map {
                        defaultAssignment($0, rowKey: nil) ?? "self.\($0.backing) = \(Self.codec($0)).emptySlot"
                    }),
            block(
                "\(member)func takeKey(_ values: [EntityCoding.StoredValue]) -> Bool",
                ["guard \(conditions.joined(separator: ", ")) else { return false }"] + decoding
                    + keys.enumerated().map { assignment($1, value: "value\($0)", rowKey: nil) } + ["return true"]),
        ]
    }

    /// The registrar of an observable class, and the member that notifies observers of changes other than assignments.
    private func observationMembers() -> [String] {
        if !source.isObservable { return [] }
        let notifications = source.columns.enumerated().map { column, property in
            "if properties.contains(\(position(column))) { "
                + "self._$observation.withMutation(of: self, keyPath: \\.\(property.codeName)) {} }"
        }
        let key = source.rowNumberKey.map { [$0.codeName] } ?? (source.keyProperties.isEmpty ? ["id"] : [])
        let ownKey = source.isSubclass ? [] : key
        let notifier = block(
            "\(member)func _$notifyObservers(_ properties: EntityCoding.PropertySet)",
            (source.isSubclass ? ["super._$notifyObservers(properties)"] : [])
                + ownKey.map { "self._$observation.withMutation(of: self, keyPath: \\.\($0)) {}" } + notifications)
        return (source.isSubclass ? [] : ["\(access)let _$observation = EntityCoding.Registrar()"]) + [notifier]
    }

    /// The members for hooks. The hooks of extensions and superclasses are found by overload resolution, because only
    /// the compiler sees them.
    private func hookMembers() -> [String] {
        let tests = EntityCheck.hooks.map {
            "if EntityCoding.implements(\(type).\($0)) { hooks.insert(.\($0)) }"
        }
        let calls = EntityCheck.hooks.map { "case .\($0): return EntityCoding.agrees(self.\($0)())" }
        return [
            block(
                "\(member)\(source.isInHierarchy ? "class" : "static") var _$hooks: EntityCoding.ObjectHooks",
                ["var hooks: EntityCoding.ObjectHooks = []"] + tests + ["return hooks"]),
            block(
                "\(member)func _$call(_ hook: EntityCoding.ObjectHooks) -> Bool",
                ["switch hook {"] + calls + ["default: return true", "}"]),
        ]
    }
}
