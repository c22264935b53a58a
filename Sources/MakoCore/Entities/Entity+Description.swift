import MakoRecords

extension Entity {
    /// The entity, the key, the properties with their values and types, and the columns of joined objects. Loaded
    /// relationships show the key; nothing is loaded.
    public var description: String {
        let model = entityModelOfInstance
        var held: [Int: [StoredValue]] = [:]
        visitReferences { position, object in
            let isAny = model.columns[position].holdsAnyKeys
            held[position, default: []].append(
                isAny ? EntityCoding.AnyReferenceCodec.stored(object) : object.conditionValue)
        }
        let fields = model.columns.enumerated().compactMap { index, property -> String? in
            if case .absent = property.kind { return nil }
            let type = writtenType(of: Swift.type(of: property.keyPath).valueType)
            guard case .column(let column, _, _, let target) = property.kind, target != nil || property.holdsAnyKeys
            else {
                return "\(property.name): \(property.text(of: property.values(of: self))) (\(type))"
            }
            if property.coding?.holdsValue == true {
                let value = property.value(of: self)
                if column == .keys { return "\(property.name): \(loadedText(value, target)) (\(type))" }
                return "\(property.name): \(value.isNull ? "nil" : "loaded \(value)") (\(type))"
            }
            let listsValues = property.coding?.listsValues == true
            guard let keys = held[index] else {
                // Values alone do not show whether the collection was read.
                return "\(property.name): \(listsValues ? "no objects" : "not") loaded (\(type))"
            }
            let elements = listsValues ? self.elements(of: property, keys) : keys
            let list = elements.map(\.description).joined(separator: ", ")
            return "\(property.name): loaded \(column == .keys ? "[\(list)]" : list) (\(type))"
        }
        let joined = (self as? any ObjectEntity)?.joinedResults.sorted { $0.key < $1.key } ?? []
        let besides = joined.map { "\($0.key): \($0.value)" }
        let key = keyOfInstance
        let head = model.hasColumnKey ? model.name : "\(model.name) \(key.map { "\($0)" } ?? "unsaved")"
        return "\(head) {\((fields + besides).joined(separator: ", "))}"
    }

    /// The elements of a loaded collection of objects and values: in their order, except for objects without a row.
    private func elements(of property: PropertyModel, _ objects: [StoredValue]) -> [StoredValue] {
        guard case .blob(let bytes) = property.value(of: self), let tree = KeyTree(bytes) else { return objects }
        return tree.keys.compactMap { $0.elementValue ?? AnyReference(element: $0)?.stored }
            + objects.filter(\.isNull)
    }

    /// The keys of the structs in a collection.
    private func loadedText(_ stored: StoredValue, _ target: (any Entity.Type)?) -> String {
        guard case .blob(let bytes) = stored, let tree = KeyTree(bytes), let target else { return "nil" }
        let keys = tree.keys.map { "\(ReferenceKeys.value(of: $0, target.entityModel))" }
        return "loaded [\(keys.joined(separator: ", "))]"
    }

    /// The stored properties by name, with their column values; relationships as their keys, values with several
    /// columns as their parts, such as `frame_x`.
    public var asDictionary: [String: StoredValue] {
        let model = entityModelOfInstance
        var result: [String: StoredValue] = [:]
        for property in model.columns {
            if case .absent = property.kind { continue }
            for (field, value) in zip(property.fields, property.values(of: self)) { result[field.name] = value }
        }
        if !model.hasColumnKey { result[model.rowNumberProperty] = ReferenceKeys.value(of: keyOfInstance, model) }
        return result
    }

    private var entityModelOfInstance: EntityModel { type(of: self).entityModel }

    private var keyOfInstance: RowKey? {
        if let object = self as? any ObjectEntity { return object.storedKey }
        return storedValueKey
    }
}

/// The spelling of a type in a declaration.
private func writtenType(of type: Any.Type) -> String {
    (type as? any SpelledType.Type)?.spelling ?? "\(type)"
}

private protocol SpelledType {
    static var spelling: String { get }
}

extension Optional: SpelledType {
    fileprivate static var spelling: String { writtenType(of: Wrapped.self) + "?" }
}
extension Array: SpelledType {
    fileprivate static var spelling: String { "[\(writtenType(of: Element.self))]" }
}
extension Dictionary: SpelledType {
    fileprivate static var spelling: String {
        "[\(writtenType(of: Key.self)): \(writtenType(of: Value.self))]"
    }
}
