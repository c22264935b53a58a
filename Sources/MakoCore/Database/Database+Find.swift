import MakoRecords
import MakoStorage

extension Database {
    /// Reads one row by its key.
    func object<T: Entity>(_ type: T.Type, key: RowKey, context: FetchContext? = nil) throws(MakoError) -> T? {
        try viewing(T.entityModel) { (view, binding, _) throws(MakoError) in
            try translated {
                try binding.table.withRow(key, layout: binding.layout, in: view) { reader in
                    try T(row: EntityRow(reader: reader, state: state(key, context)))
                }
            }
        }
    }

    /// The notes an object starts with.
    func state(_ key: RowKey, _ context: FetchContext?) -> ObjectState {
        guard case .rowID(let id) = key else {
            var state = ObjectState(rowID: 0, database: number, context: context)
            state.extra = ObjectExtra(key: key)
            return state
        }
        return ObjectState(rowID: id, database: number, context: context)
    }

    /// The object with a key, or nil.
    ///
    /// ```swift
    /// let ada = try db.find(Person.self, 42)
    /// ```
    public func find<T: Entity>(_ type: T.Type, _ id: Int) throws(MakoError) -> T? {
        if T.entityModel.hasColumnKey { return try object(type, key: RowKey(values: [.integer(Int64(id))])) }
        if let scope = ThreadScope.current, scope.database === self, let binding = scope.schema.binding(T.entityModel) {
            return try read(id, binding, scope.view)
        }
        return try viewing(T.entityModel) { (view, binding, _) throws(MakoError) in try self.read(id, binding, view) }
    }

    @inline(__always)
    private func read<T: Entity>(_ id: Int, _ binding: Binding, _ view: Snapshot) throws(MakoError) -> T? {
        try translated {
            try binding.table.withRow(id: Int64(id), layout: binding.layout, in: view) { reader in
                try T(
                    row: EntityRow(
                        reader: reader, state: ObjectState(rowID: Int64(id), database: number, context: nil)))
            }
        }
    }

    /// The object with a key of any type, or nil.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ key: K) throws(MakoError) -> T? {
        try object(type, key: RowKey(values: [key.stored], of: T.entityModel))
    }

    /// The object with a key of several properties, or nil.
    public func find<T: Entity>(_ type: T.Type, _ key: CompositeKey) throws(MakoError) -> T? {
        try object(type, key: RowKey(values: key.values))
    }

    /// The objects with these keys, in their order, read together; a key without an object has none in the result.
    public func find<T: Entity>(_ type: T.Type, _ ids: [Int]) throws(MakoError) -> [T] {
        if T.entityModel.hasColumnKey {
            var found: [T] = []
            for id in ids { if let each = try find(type, id) { found.append(each) } }
            return found
        }
        return try viewing(T.entityModel) { (view, binding, _) throws(MakoError) in
            let context = binding.hasReferences ? FetchContext() : nil
            var found: [T] = []
            found.reserveCapacity(ids.count)
            let keys = ids.map { Int64($0) }
            try translated {
                try binding.table.withRows(ids: keys, layout: binding.layout, in: view) { index, reader in
                    guard let reader else { return }
                    let state = ObjectState(rowID: keys[index], database: number, context: context)
                    found.append(try T(row: EntityRow(reader: reader, state: state)))
                }
            }
            return found
        }
    }

    /// The objects with these keys, in their order; a key without an object has none in the result.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ keys: [K]) throws(MakoError) -> [T] {
        var found: [T] = []
        for key in keys { if let each = try find(type, key) { found.append(each) } }
        return found
    }
}

extension RowKey {
    /// The key of a row of an entity, from the value of its one key property.
    init(values: [StoredValue], of model: EntityModel) {
        if !model.hasColumnKey, values.count == 1, case .integer(let id) = values[0] {
            self = .rowID(id)
        } else {
            self = RowKey(values: values)
        }
    }
}

extension Entity {
    /// The object with a key in the current database, or nil: `try Person.find(42)`.
    public static func find(_ id: Int) throws(MakoError) -> Self? {
        if let scope = ThreadScope.current { return try scope.database.find(Self.self, id) }
        return try Database.current(for: entityModel).find(Self.self, id)
    }
    /// The object with a key of any type, or nil: `try Wolf.find("Akela")`.
    public static func find<K: StorableValue>(_ key: K) throws(MakoError) -> Self? {
        try Database.current(for: entityModel).find(Self.self, key)
    }
    public static func find(_ key: CompositeKey) throws(MakoError) -> Self? {
        try Database.current(for: entityModel).find(Self.self, key)
    }
    /// The objects with these keys, read together.
    public static func find(_ ids: [Int]) throws(MakoError) -> [Self] {
        try Database.current(for: entityModel).find(Self.self, ids)
    }
    public static func find<K: StorableValue>(_ keys: [K]) throws(MakoError) -> [Self] {
        try Database.current(for: entityModel).find(Self.self, keys)
    }
    /// The first object whose property has a value, or nil.
    ///
    /// ```swift
    /// let ada = try Person.first(\.name, equals: "Ada")
    /// ```
    public static func first<V: StorableValue>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) throws(MakoError) -> Self? {
        try query().where(keyPath == value).first()
    }
}
