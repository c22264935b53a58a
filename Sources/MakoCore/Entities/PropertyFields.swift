import MakoRecords

// A property has one column, or one per part of its values. In both cases it has one position and one dirty flag.

/// One column of a property.
struct PropertyField: Sendable {
    /// The Swift name of the field, such as `frame_x`.
    let name: String
    let column: String
    let type: ColumnType
    let isOptional: Bool
    let defaultValue: StoredValue
}

extension PropertyModel {
    /// The property's columns; empty for a property without a column.
    var fields: [PropertyField] {
        guard case .column(let type, let isOptional, let defaultValue, _) = kind else { return [] }
        if parts.isEmpty {
            return [
                PropertyField(
                    name: name, column: column, type: type, isOptional: isOptional, defaultValue: defaultValue)
            ]
        }
        return parts.enumerated().map { number, part in
            PropertyField(
                name: "\(name)_\(part.name)", column: "\(column)_\(part.name)", type: part.columnType,
                isOptional: isOptional || part.isOptional,
                defaultValue: defaultParts.indices.contains(number) ? defaultParts[number] : .null)
        }
    }

    /// The column schemas of a property with several columns.
    func schemas(originalName: String?) -> [ColumnSchema] {
        zip(fields, parts).map { field, part in
            ColumnSchema(
                field.column, field.type, isOptional: field.isOptional, default: field.defaultValue,
                originalName: originalName.map { "\($0)_\(part.name)" })
        }
    }

    /// A readable text of the property's column values.
    func text(of values: [StoredValue]) -> String {
        if parts.isEmpty { return values.first.map(\.description) ?? "" }
        if values.allSatisfy(\.isNull) { return StoredValue.null.description }
        return "(" + zip(parts, values).map { "\($0.name): \($1)" }.joined(separator: ", ") + ")"
    }
}

/// The columns of a model's properties with several columns.
struct CompositeColumns: Sendable {
    struct Place: Sendable {
        /// The property's position in the model's columns.
        let position: Int
        let part: Int
    }

    /// By the column name that the property would have with a single column.
    fileprivate let positions: [String: Int]
    fileprivate let places: [String: Place]

    init(_ columns: [PropertyModel]) {
        var positions: [String: Int] = [:]
        var places: [String: Place] = [:]
        for (position, property) in columns.enumerated() where !property.parts.isEmpty {
            positions[property.column] = position
            for (part, field) in property.fields.enumerated() {
                places[field.column] = Place(position: position, part: part)
            }
        }
        self.positions = positions
        self.places = places
    }
}

extension EntityModel {
    /// The property with several columns that has this column name; nil: none.
    func composite(named name: String) -> PropertyModel? { composites.positions[name].map { columns[$0] } }

    /// The property and the part to which a column belongs.
    func place(ofColumn name: String) -> CompositeColumns.Place? {
        if let place = composites.places[name] { return place }
        return columns.firstIndex { $0.column == name && $0.parts.isEmpty }.map { .init(position: $0, part: 0) }
    }

    /// The names of the properties of columns, each once.
    ///
    /// - Parameter unknown: the name for a column without a property; nil omits it.
    func propertyNames(ofColumns names: [String], _ unknown: (String) -> String?) -> [String] {
        var found: [String] = []
        for name in names {
            let place = place(ofColumn: name)
            guard let property = place.map({ columns[$0.position] }) else {
                if let text = unknown(name) { found.append(text) }
                continue
            }
            if property.parts.isEmpty {
                found.append(property.name)
            } else if !found.contains(property.name) {
                found.append(property.name)
            }
        }
        return found
    }

    /// Throws for properties with several columns that break their restrictions.
    func checkComposites() throws(MakoError) {
        for property in columns {
            guard let coding = property.coding, !property.parts.isEmpty else { continue }
            if keyNames.contains(property.name) {
                throw .migration(
                    entity: name,
                    reason: "\(property.name) has several columns and cannot be the key; make it .unique instead")
            }
            if property.parts[0].isOptional {
                throw .migration(
                    entity: name,
                    reason: "\(property.parts[0].name), the first part of \(coding.typeName), cannot be optional: it "
                        + "says whether there is a value in \(property.name)")
            }
        }
    }
}

extension TableHandle {
    /// A layout with the positions of some properties, including all their columns.
    func layout(of properties: [PropertyModel]) throws(RecordError) -> RowLayout {
        let fields = properties.map(\.fields)
        return try layout(for: fields.map(\.first?.column), further: fields.map { $0.dropFirst().map(\.column) })
    }
}
