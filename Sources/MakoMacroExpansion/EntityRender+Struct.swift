import SwiftSyntax

extension EntityRender {
    func structMembers() -> [String] {
        var members = ["\(access)var _$value = EntityCoding.ValueState()", model()]
        if let identity = identity() { members.append(identity) }
        let stored = source.parameters
        members += stampProperties { _, _ in "" }
        let given = source.memberwiseParameters
        if !given.isEmpty, !hasMemberwise {
            let names = Set(given.map(\.name))
            let others = initialValues(of: stored.filter { !names.contains($0.name) })
            let assignments = others + given.map { "self.\($0.codeName) = \($0.codeName)" }
            members.append(
                block(
                    "\(source.memberwiseAccess.modifier)init(\(given.map(parameter).joined(separator: ", ")))",
                    assignments))
        }
        if stored.allSatisfy(\.hasInitialValue), !writes([]) {
            members.append(block("\(access)init()", initialValues(of: stored)))
        }
        if !writes(["_"]) { members.append(structDictionaryInitializer(stored)) }
        members.append(structRowInitializer())
        members += encoders(
            source.columns.enumerated().map { column, property in
                "try \(codec(property)).write(self.\(property.codeName), &writer, \(column))"
            })
        if let key = source.rowNumberKey {
            members.append(
                """
                \(access)var _$rowNumber: Int64 {
                    get { EntityCoding.rowID(self.\(key.codeName)) }
                    set { self.\(key.codeName) = EntityCoding.integer(newValue, as: (\(key.type)).self) }
                }
                """)
        }
        members.append(contentsOf: keyMembers(prefix: "", mutating: "mutating "))
        members.append(contentsOf: referenceMembers(prefix: "", mutating: "mutating "))
        members += stampMembers(mutating: "mutating ")
        return members
    }

    /// Sets the properties without a default value. Swift itself does so with `T?`, but not with `Optional<T>`.
    private func initialValues(of properties: [PropertySource]) -> [String] {
        properties.filter { $0.defaultValue == nil }
            .map { "self.\($0.codeName) = \($0.isToOne ? ".init()" : "nil")" }
    }

    private func structDictionaryInitializer(_ stored: [PropertySource]) -> String {
        var lines = ["let values = EntityCoding.DictionaryValues(dictionary, entity: \"\(type)\")"]
        let hasRowNumber = source.keyProperties.isEmpty
        if stored.isEmpty && !hasRowNumber { lines[0] = "_ = dictionary" }
        for property in stored {
            let codec = self.codec(property)
            let fallback = property.defaultValue ?? (property.isOptional ? "nil" : property.isToOne ? ".init()" : nil)
            if let fallback {
                lines.append(
                    "if let value = try values.value(\"\(property.name)\", \(codec)) { self.\(property.codeName) = value } "
                        + "else { self.\(property.codeName) = \(fallback) }")
            } else {
                lines.append("self.\(property.codeName) = try values.required(\"\(property.name)\", \(codec))")
            }
        }
        if hasRowNumber { lines.append("try EntityCoding.takeRowNumber(values, &self._$value)") }
        let note = "/// Takes the values of the keys that name a property, without regard to case.\n"
        return block("\(note)\(access)init(_ dictionary: [String: Any]) throws(MakoError)", lines)
    }

    private func structRowInitializer() -> String {
        var lines = source.columns.enumerated().map { column, property in
            "self.\(property.codeName) = try \(codec(property)).read(row, \(column))"
        }
        if let key = source.rowNumberKey {
            lines.append("self.\(key.codeName) = try EntityCoding.key(row, as: (\(key.type)).self)")
        }
        lines.append("self._$value = row.valueState")
        return block("\(access)init(row: EntityCoding.EntityRow) throws(MakoError)", lines)
    }
}
