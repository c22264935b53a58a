import MakoRecords
import MakoStorage

/// Stands for "no object" in ``Query/referencing(_:)-(Nobody)``.
public struct Nobody: Sendable {
    public static let nobody = Nobody()
}

extension Query {
    /// Objects that refer to this one, by any of their properties.
    ///
    /// ```swift
    /// let staff = try Person.query().referencing(engines).fetch()
    /// ```
    ///
    /// - Throws: the terminal throws `MakoError.query` when no property could refer to it.
    public func referencing(_ object: some ObjectEntity) -> Query {
        let target = type(of: object).entityModel
        let columns = ReferenceColumns.names(of: T.entityModel) { $0 === target }
        if columns.isEmpty {
            return adding(
                .failed(.query(message: "no property of \(T.entityModel.name) refers to objects of \(target.name)")))
        }
        // Nothing refers to an object without a row; NULL would find those that refer to nobody.
        guard let key = object.storedKey else { return adding(.parsed(.constant(false))) }
        let value = ReferenceKeys.value(of: key, target)
        return adding(
            .parsed(.or(columns.map { .comparison(.equal, .column([$0]), .literal(value, at: .none)) })))
    }

    /// Objects that refer to nobody: `referencing(.nobody)`.
    public func referencing(_ nobody: Nobody) -> Query {
        let columns = ReferenceColumns.names(of: T.entityModel) { _ in true }
        return columns.isEmpty ? self : adding(.parsed(.and(columns.map { .isNull(.column([$0])) })))
    }
}

extension ObjectEntity {
    /// The objects and values of one entity that refer to this object.
    public func referencing<T: Entity>(_ type: T.Type) throws(MakoError) -> [T] {
        if storedKey == nil { return [] }
        let database = try Database.resolve(number: lockedState { $0.database }, for: Swift.type(of: self).entityModel)
        // A first use must not migrate in the middle of the read.
        let table = type.entityModel.table
        try database.viewing(type.entityModel) { (_, _, _) throws(MakoError) in }
        return try translated { () throws -> [T] in
            try database.read {
                var found: [T] = []
                for referrer in try self.referrers(in: database) where referrer.table == table {
                    for key in referrer.keys {
                        if let each = try database.object(type, key: key) { found.append(each) }
                    }
                }
                return found
            }
        }
    }

    /// How many rows, of any entity, refer to this object. Each counts once, however often it does.
    public func referencedCount() throws(MakoError) -> Int {
        if storedKey == nil { return 0 }
        let database = try Database.resolve(number: lockedState { $0.database }, for: Swift.type(of: self).entityModel)
        return try referrers(in: database).reduce(0) { $0 + $1.keys.count }
    }

    /// The rows that refer to this object, by table, each once.
    private func referrers(in database: Database) throws(MakoError) -> [(table: String, keys: [RowKey])] {
        guard let key = storedKey else { return [] }
        return try database.viewing(Swift.type(of: self).entityModel) { (view, binding, schema) throws(MakoError) in
            let value = ReferenceKeys.value(of: key, binding.model)
            var columns: [String: [MakoRecords.Condition]] = [:]
            for referrer in binding.referrers {
                columns[referrer.table.schema.name, default: []].append(
                    .comparison(.equal, .column([referrer.column]), .literal(value, at: .none)))
            }
            var found: [(table: String, keys: [RowKey])] = []
            for (table, conditions) in columns.sorted(by: { $0.key < $1.key }) {
                let selection = Selection(table: table, condition: .or(conditions))
                let keys = try records { () throws(RecordError) in
                    try selection.plan(schema.catalogue).keys(in: view)
                }
                found.append((table, keys))
            }
            return found
        }
    }
}

/// The columns that refer to other rows.
private enum ReferenceColumns {
    static func names(of model: EntityModel, where isWanted: (EntityModel) -> Bool) -> [String] {
        model.columns.compactMap { property in
            guard case .column(_, _, _, let target?) = property.kind, isWanted(target.entityModel) else { return nil }
            return property.column
        }
    }
}
