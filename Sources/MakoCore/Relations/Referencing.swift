import MakoRecords
import MakoStorage

/// No object, as the argument of ``Query/referencing(_:)-(NullReference)`` and ``Query/referenced(by:)-(NullReference)``.
public struct NullReference: Sendable {
    /// The only value: no object.
    public static let null = NullReference()
}

extension Query {
    /// Adds the condition that a property refers to this object.
    ///
    /// ```swift
    /// let staff = try Person.query().referencing(engines).fetch()
    /// ```
    ///
    /// - Throws: the terminal throws `MakoError.query` when no property can refer to the object.
    public func referencing(_ object: some ObjectEntity) -> Query {
        referencing(object.storedKey, type(of: object).entityModel)
    }

    private func referencing(_ key: RowKey?, _ target: EntityModel) -> Query {
        let columns = ReferenceColumns.names(of: T.entityModel, to: target)
        if columns.isEmpty {
            return adding(
                .failed(.query(message: "no property of \(T.entityModel.name) refers to objects of \(target.name)")))
        }
        // No row refers to an object without a row; a comparison with NULL would find rows without a reference.
        guard let key else { return adding(.parsed(.constant(false))) }
        return adding(.refers(columns: columns, to: key, of: target))
    }

    /// Adds the condition that a property refers to this struct, alone or in a collection.
    public func referencing<Value: Entity>(_ value: Value) -> Query where Value._$Kind == EntityKind.Value {
        referencing(value.storedValueKey, Value.entityModel)
    }

    /// Adds the condition that no property refers to an object: `referencing(.null)`.
    public func referencing(_ null: NullReference) -> Query {
        return T.entityModel.columns.contains(where: \.isReference) ? adding(.unreferring) : self
    }

    /// Adds the condition that the stored row of an object refers to the objects of the query.
    ///
    /// ```swift
    /// let old = try Address.query().referenced(by: ada).where(\.year < 2000).fetch()
    /// ```
    public func referenced(by object: some ObjectEntity) -> Query {
        guard let key = object.storedKey else { return adding(.parsed(.constant(false))) }
        return adding(.referred(by: key, of: type(of: object).entityModel))
    }

    /// Adds the condition that no object of any entity refers to the objects of the query: `referenced(by: .null)`.
    ///
    /// - Complexity: for each object an index look-up for each property that could refer to it.
    public func referenced(by null: NullReference) -> Query { adding(.unreferred) }
}

extension ObjectEntity {
    // async
    /// Returns the objects and values of one entity that refer to this object.
    public func referencing<T: Entity>(_ type: T.Type) throws(MakoError) -> [T] {
        if storedKey == nil { return [] }
        let database = try Database.resolve(number: lockedState { $0.database }, for: Swift.type(of: self).entityModel)
        // The first use of a type may migrate its table, which must not happen during the read.
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

    // async
    /// Returns the number of rows of any entity that refer to this object; a row with several references counts once.
    public func referencedCount() throws(MakoError) -> Int {
        if storedKey == nil { return 0 }
        let database = try Database.resolve(number: lockedState { $0.database }, for: Swift.type(of: self).entityModel)
        return try referrers(in: database).reduce(0) { $0 + $1.keys.count }
    }

    /// The rows that refer to this object, by table, each once.
    private func referrers(in database: Database) throws(MakoError) -> [(table: String, keys: [RowKey])] {
        guard let key = storedKey else { return [] }
        return try database.viewing(Swift.type(of: self).entityModel) { (view, binding, schema) throws(MakoError) in
            var found: [String: Set<RowKey>] = [:]
            for referrer in binding.referrers {
                let keys = try records { () throws(RecordError) in
                    try referrer.rows(referringTo: key, schema.catalogue, view)
                }
                found[referrer.table.schema.name, default: []].formUnion(keys)
            }
            return found.sorted { $0.key < $1.key }.map { table, keys in
                (table, keys.sorted(by: RowKey.precedes))
            }
        }
    }
}

/// The columns with references.
private enum ReferenceColumns {
    static func names(of model: EntityModel, to wanted: EntityModel) -> [String] {
        model.columns.compactMap { property in
            if property.refersToAny { return property.column }
            guard case .column(_, _, _, let target?) = property.kind, target.entityModel.hasTable(of: wanted) else {
                return nil
            }
            return property.column
        }
    }
}

/// A condition on references, which is evaluated to keys on the snapshot before the query is planned.
enum ReferenceCondition: Sendable {
    /// One of the row's columns refers to a row of another entity.
    case refers(columns: [String], to: RowKey, of: EntityModel)
    /// A row of another entity refers to the row by one of its columns.
    case referred(by: RowKey, of: EntityModel)
    /// The row refers to no row.
    case unreferring
    /// No other row refers to the row.
    case unreferred

    func condition(
        _ binding: Binding, _ schema: SchemaState, _ view: Snapshot
    ) throws(MakoError) -> MakoRecords.Condition {
        switch self {
        case .refers(let columns, let key, let target):
            var parts: [MakoRecords.Condition] = []
            for column in columns {
                let stored = binding.table.schema.column(named: column)
                if let stored, stored.type == .keys {
                    let element = stored.holdsAnyKeys ? AnyReference(table: target.table, key: key).element : key
                    let keys = try records { () throws(RecordError) in
                        try binding.table.keys(holding: element, in: column, view: view)
                    }
                    parts.append(try Self.among(keys, binding.table.schema))
                } else if stored?.target == AnyReference.anyTable {
                    let value = AnyReference(table: target.table, key: key).stored
                    parts.append(.comparison(.equal, .column([column]), .literal(value, at: .none)))
                } else {
                    let value = ReferenceKeys.value(of: key, target)
                    parts.append(.comparison(.equal, .column([column]), .literal(value, at: .none)))
                }
            }
            return parts.count == 1 ? parts[0] : .or(parts)
        case .referred(let key, let model):
            guard let referrer = schema.binding(model) else { return .constant(false) }
            return try Self.among(
                Array(try Self.keys(in: key, referrer, to: binding.model, view)), binding.table.schema)
        case .unreferring:
            return try Self.unreferring(binding, schema, view)
        case .unreferred:
            var keys: [RowKey] = []
            let all = Selection(table: binding.table.schema.name)
            for key in try records({ () throws(RecordError) in try all.plan(schema.catalogue).keys(in: view) }) {
                var isReferred = false
                for referrer in binding.referrers where !isReferred {
                    let isOwn = referrer.table.schema.name == binding.model.table
                    let keys = try records { () throws(RecordError) in
                        try referrer.rows(referringTo: key, schema.catalogue, view)
                    }
                    isReferred = keys.contains { !isOwn || $0 != key }
                }
                if !isReferred { keys.append(key) }
            }
            return try Self.among(keys, binding.table.schema)
        }
    }

    /// The condition that references are NULL and collections empty at any depth. Only the rows show the latter.
    private static func unreferring(
        _ binding: Binding, _ schema: SchemaState, _ view: Snapshot
    ) throws(MakoError) -> MakoRecords.Condition {
        var single: [MakoRecords.Condition] = []
        var many: [Int] = []
        for (position, property) in binding.model.columns.enumerated() {
            guard property.isReference, case .column(let type, _, _, _) = property.kind else { continue }
            if type == .keys { many.append(position) } else { single.append(.isNull(.column([property.column]))) }
        }
        if many.isEmpty { return .and(single) }
        let selection = Selection(
            table: binding.table.schema.name, condition: single.isEmpty ? nil : .and(single))
        var keys: [RowKey] = []
        for key in try records({ () throws(RecordError) in try selection.plan(schema.catalogue).keys(in: view) }) {
            let isEmpty = try translated {
                try binding.table.withRow(key, layout: binding.layout, in: view) { row in
                    var count = 0
                    for position in many where !row.isNull(position) {
                        let isAny = binding.model.columns[position].holdsAnyKeys
                        KeyTree(row.blob(position))?.forEachKey { if !isAny || $1.elementValue == nil { count += 1 } }
                    }
                    return count == 0
                } ?? false
            }
            if isEmpty { keys.append(key) }
        }
        return try among(keys, binding.table.schema)
    }

    /// The keys of rows of one entity to which a stored row of another refers.
    private static func keys(
        in row: RowKey, _ binding: Binding, to target: EntityModel, _ view: Snapshot
    ) throws(MakoError) -> Set<RowKey> {
        try translated {
            var keys: Set<RowKey> = []
            try binding.table.withRow(row, layout: binding.layout, in: view) { reader in
                for (position, property) in binding.model.columns.enumerated() {
                    if property.refersToAny {
                        for reference in AnyReference.all(in: reader.value(position), property)
                        where reference.table == target.table { keys.insert(reference.key) }
                        continue
                    }
                    guard case .column(let type, _, _, let held?) = property.kind,
                        held.entityModel.hasTable(of: target)
                    else { continue }
                    if type == .keys {
                        KeyTree(reader.blob(position))?.forEachKey { _, key in keys.insert(key) }
                    } else if let key = ReferenceKeys.read(reader, position, of: target) {
                        keys.insert(key)
                    }
                }
            }
            return keys
        }
    }

    /// The condition that a row's key is in a list.
    private static func among(_ keys: [RowKey], _ schema: EntitySchema) throws(MakoError) -> MakoRecords.Condition {
        let names: [String] =
            switch schema.key {
            case .rowID(let name): [name]
            case .columns(let names): names
            }
        var rows: [[StoredValue]] = []
        for key in keys { rows.append(try records { () throws(RecordError) in try key.values(in: schema) }) }
        if rows.isEmpty { return .constant(false) }
        if names.count == 1 { return .isAmong(.column(names), rows.map { $0[0] }) }
        return .or(
            rows.map { row in
                .and(zip(names, row).map { .comparison(.equal, .column([$0]), .literal($1, at: .none)) })
            })
    }
}

extension AnyReference {
    /// The references in a value of a property that refers to objects of any entity, in their order.
    static func all(in value: StoredValue, _ property: PropertyModel) -> [AnyReference] {
        guard property.holdsAnyKeys else { return AnyReference(value).map { [$0] } ?? [] }
        guard case .blob(let bytes) = value, let tree = KeyTree(bytes) else { return [] }
        return tree.keys.compactMap { AnyReference(element: $0) }
    }
}

extension RowKey {
    /// The order of rows in their table.
    static func precedes(_ left: RowKey, _ right: RowKey) -> Bool {
        switch (left, right) {
        case (.rowID(let a), .rowID(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        case (.rowID, .bytes): true
        case (.bytes, .rowID): false
        }
    }
}
