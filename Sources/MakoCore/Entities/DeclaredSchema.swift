import MakoRecords

extension EntityModel {
    /// The schema of the declaration.
    func schema() throws(MakoError) -> EntitySchema {
        try checkShape()
        try checkComposites()
        var declared = DeclaredSchema(self)
        for index in indexes { try declared.add(index) }
        if !identityColumns.isEmpty { declared.addIndex(identityColumns.map { IndexColumn($0) }, isUnique: true) }
        for property in columns { try declared.add(property) }
        declared.indexReferences()
        return EntitySchema(
            name: table, columns: declared.columns,
            key: hasColumnKey ? .columns(keyColumns) : .rowID(column: rowNumberName), indexes: declared.indexes)
    }

    /// Throws if the inverse of a to-many relationship does not refer to this entity: it would be empty for ever.
    func checkInverses() throws(MakoError) {
        for property in properties {
            guard case .many(let target, _) = property.kind, let inverse = property.inverse else { continue }
            let other = target.entityModel
            let found = other.columns.first { $0.column == other.keyPaths[inverse] }
            if let found, found.mayRefer(to: self) { continue }
            let name = found.map { "\(other.name).\($0.name)" } ?? "what 'inverse:' names"
            throw .migration(
                entity: self.name,
                reason: "the inverse of \(property.name) is no reference to \(self.name): \(name) is none; "
                    + "name the property of \(other.name) that refers to \(self.name) in 'inverse:'")
        }
    }

    /// The maximum number of stored properties of an entity. A set of so many is 16 words.
    static var propertyLimit: Int { 1024 }

    private func checkShape() throws(MakoError) {
        if !absentColumns.isEmpty && hasColumnKey {
            throw .migration(
                entity: name,
                reason: "its key is a property of the superclass that it ignores; remove 'ignoringSuperclass:'")
        }
        let limit = EntityModel.propertyLimit
        if columns.count > limit {
            throw .migration(
                entity: name, reason: "it has \(columns.count) properties with its superclasses; \(limit) are the limit"
            )
        }
    }
}

extension PropertyModel {
    /// Whether the property may refer to objects of an entity, a superclass or a subclass.
    fileprivate func mayRefer(to model: EntityModel) -> Bool {
        guard case .column(_, _, _, let target) = kind else { return false }
        if refersToAny { return coding?.superclass.map { model.isRelated(to: $0.entityModel) } ?? true }
        return target.map { model.isRelated(to: $0.entityModel) } ?? false
    }
}

extension EntityModel {
    fileprivate func isRelated(to other: EntityModel) -> Bool {
        hasTable(of: other) || isSubclass(of: other) || other.isSubclass(of: self)
    }
}

/// Collects the columns and indexes of a declaration.
private struct DeclaredSchema {
    private let model: EntityModel
    private(set) var columns: [ColumnSchema] = []
    private(set) var indexes: [IndexSchema] = []

    init(_ model: EntityModel) { self.model = model }

    // MARK: Indexes

    mutating func add(_ index: IndexModel) throws(MakoError) {
        if let options = index.fullText {
            var names: [String] = []
            for part in index.parts { names += try model.columnNames(of: part.keyPath) }
            return try addText(names, options)
        }
        var parts: [IndexColumn] = []
        for part in index.parts {
            for name in try model.columnNames(of: part.keyPath) {
                parts.append(IndexColumn(name, descending: part.descending, noCase: part.noCase))
            }
        }
        addIndex(parts, isUnique: index.isUnique, where: try index.condition.map(model.columnText))
    }

    /// A unique index replaces a non-unique one over the same columns.
    mutating func addIndex(_ parts: [IndexColumn], isUnique: Bool, where condition: String? = nil) {
        let columns = parts.map { $0.name + ($0.descending ? "-" : "") + ($0.noCase ? "~" : "") }
        let name = columns.joined(separator: ",") + (condition.map { " where " + $0 } ?? "")
        if indexes.contains(where: { $0.name == name && ($0.isUnique || !isUnique) }) { return }
        indexes.removeAll { $0.name == name }
        indexes.append(IndexSchema(name, parts, isUnique: isUnique, where: condition))
    }

    private mutating func addText(_ names: [String], _ options: FullTextOptions) throws(MakoError) {
        for name in names {
            guard let property = model.columns.first(where: { $0.column == name }), property.isPlainText else {
                throw .migration(
                    entity: model.name, reason: "\(name) is no String and has no words for a full-text index")
            }
        }
        let name = "text(\(names.joined(separator: ",")))"
        indexes.removeAll { $0.name == name }
        indexes.append(IndexSchema(name, names.map { IndexColumn($0) }, fullText: options))
    }

    /// Removing an object searches for the rows that refer to it.
    mutating func indexReferences() {
        for column in columns where column.target != nil {
            let isIndexed = indexes.contains { $0.columns.first?.name == column.name && $0.condition == nil }
            if !isIndexed { addIndex([IndexColumn(column.name)], isUnique: false) }
        }
    }

    // MARK: Columns

    mutating func add(_ property: PropertyModel) throws(MakoError) {
        guard case .column(var type, let isOptional, let defaultValue, let target) = property.kind else { return }
        if property.options.contains(.encrypted) && !property.isEncrypted {
            throw .migration(
                entity: model.name,
                reason: "\(property.name) is marked .encrypted and needs EntityCoding.encryptedCodec")
        }
        let original = try addIndexes(of: property)
        if !property.parts.isEmpty {
            columns += property.schemas(originalName: original)
            return
        }
        if let target, type != .keys { type = try target.entityModel.referenceType() }
        var column = ColumnSchema(
            property.column, type, isOptional: isOptional && !model.keyNames.contains(property.name),
            default: defaultValue, target: property.refersToAny ? AnyReference.anyTable : target?.entityModel.table,
            originalName: original, sealing: property.sealedType)
        column.takesOneKey = property.coding?.listsObjects == true
        columns.append(column)
    }

    /// - Returns: the former name of the column.
    private mutating func addIndexes(of property: PropertyModel) throws(MakoError) -> String? {
        var original: String?
        let parts = property.fields.map { IndexColumn($0.column) }
        for option in property.options {
            switch option.kind {
            case .unique: addIndex(parts, isUnique: true)
            case .indexed: addIndex(parts, isUnique: false)
            case .spatial: indexes.append(IndexSchema("near " + property.column, parts, isSpatial: true))
            case .originalName(let name): original = name
            case .fullText(let stemming): try addText([property.column], FullTextOptions(stemming: stemming))
            default: break
            }
        }
        return original
    }
}
