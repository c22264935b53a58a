import MakoRecords
import MakoStorage

extension Database {
    /// Reads one row by its key.
    @inlinable
    func object<T: Entity>(_ type: T.Type, key: RowKey, context: FetchContext? = nil) throws(MakoError) -> T? {
        try foundRow(type.entityModel, key: key, context: context)?.object(type)
    }

    /// Finds a row and copies it to the row arena.
    @usableFromInline
    func foundRow(_ model: EntityModel, key: RowKey, context: FetchContext?) throws(MakoError) -> FoundRow? {
        try viewing(model, byKey: true) { (view, binding, schema) throws(MakoError) in
            let context = context ?? (binding.readsValues ? binding.fetchContext(view, schema) : nil)
            return try translated {
                try binding.table.withRow(key, layout: binding.layout, in: view) { reader in
                    let extra =
                        key.rowID == nil ? ObjectExtra(context: context, key: key) : ObjectExtra(context: context)
                    var keeper = RowArena(firstChunk: 0, companion: extra)
                    return FoundRow(key, reader, &keeper, number, extra)
                } ?? nil
            }
        }
    }

    /// Finds a row by its integer key and copies it.
    @usableFromInline
    func foundRow(_ model: EntityModel, _ id: Int) throws(MakoError) -> FoundRow? {
        let found = try ThreadScope.withCurrent(of: self) { (scope) throws(MakoError) in
            try scope.foundRow(model, Int64(id))
        }
        if let found { return found }
        return try foundRow(
            model, key: model.hasColumnKey ? RowKey(values: [.integer(Int64(id))]) : .rowID(Int64(id)), context: nil)
    }

    // async
    /// Returns the object with a key, or nil.
    ///
    /// ```swift
    /// let ada = try db.find(Person.self, 42)
    /// ```
    ///
    /// - Complexity: logarithmic in the number of rows.
    @inlinable
    public func find<T: Entity>(_ type: T.Type, _ id: Int) throws(MakoError) -> T? {
        try foundRow(type.entityModel, id)?.object(type)
    }

    // async
    /// Returns the object with a key of any type, or nil.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ key: K) throws(MakoError) -> T? {
        try object(type, key: rowKey(type.entityModel, key))
    }

    private func rowKey(_ model: EntityModel, _ key: some StorableValue) throws(MakoError) -> RowKey {
        let value = key.keyValue
        if !model.hasColumnKey, !value.isInteger {
            throw .typeMismatch(
                entity: model.name, property: model.rowNumberName, expected: "an integer", found: value.description)
        }
        return RowKey(values: [value], of: model)
    }

    // async
    /// Returns the object with a key of several properties, or nil.
    public func find<T: Entity>(_ type: T.Type, _ key: CompositeKey) throws(MakoError) -> T? {
        try object(type, key: RowKey(values: key.values))
    }

    // async
    /// Returns the objects with these keys, in their order, all as of one commit. Keys without an object are omitted.
    @inlinable
    public func find<T: Entity>(_ type: T.Type, _ ids: [Int]) throws(MakoError) -> [T] {
        if let rows = try numberedRows(type.entityModel) { return try rows.makeObjects(of: type, ids) }
        return try foundObjects(type, ids)
    }

    /// Access to many rows by row number; nil for an entity with another key.
    @usableFromInline
    func numberedRows(_ model: EntityModel) throws(MakoError) -> NumberedRows? {
        if model.hasColumnKey { return nil }
        return try viewing(model, byKey: true) { (view, binding, schema) throws(MakoError) in
            NumberedRows(binding, view, schema, self)
        }
    }

    /// The objects with these keys, and their keys, read from one snapshot. Keys without an object are omitted.
    func objects<T: Entity>(
        _ type: T.Type, keys: [RowKey], context: FetchContext?, callsHook: Bool = true
    ) throws(MakoError) -> FoundObjects<T> {
        let found = try viewing(type.entityModel, byKey: true) { (view, binding, schema) throws(MakoError) in
            let context = context ?? (binding.readsValues ? binding.fetchContext(view, schema) : nil)
            var maker = RowMaker(
                database: number, context: context, layout: binding.layout, lazyProperties: type._$lazyProperties)
            var found = FoundObjects<T>()
            let ids = keys.compactMap(\.rowID)
            try translated {
                if ids.count == keys.count {
                    try binding.table.withRows(ids: ids, layout: binding.layout, in: view) { place, reader in
                        guard let reader else { return }
                        found.objects.append(try type.init(row: maker.row(ids[place], reader)))
                        found.keys.append(keys[place])
                    }
                    return
                }
                for key in keys {
                    try binding.table.withRow(key, layout: binding.layout, in: view) { reader in
                        found.objects.append(try type.init(row: maker.row(key, reader)))
                        found.keys.append(key)
                    }
                }
            }
            return found
        }
        if callsHook, type._$hooks.contains(.didLoad) { for object in found.objects { _ = object._$call(.didLoad) } }
        return found
    }

    // async
    /// Returns the objects with these keys, in their order, all as of one commit. Keys without an object are omitted.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ keys: [K]) throws(MakoError) -> [T] {
        try foundObjects(type, keys)
    }

    @usableFromInline
    func foundObjects<T: Entity, K: StorableValue>(_ type: T.Type, _ keys: [K]) throws(MakoError) -> [T] {
        var rowKeys: [RowKey] = []
        rowKeys.reserveCapacity(keys.count)
        for key in keys { rowKeys.append(try rowKey(type.entityModel, key)) }
        return try objects(type, keys: rowKeys, context: nil).objects
    }
}

extension Database {
    // async
    /// Returns the object with a key, or a new object with that key, which is not stored yet.
    ///
    /// ```swift
    /// let settings = try db.find(Settings.self, orNew: 1)
    /// ```
    public func find<T: ObjectEntity>(_ type: T.Type, orNew id: Int) throws(MakoError) -> T {
        if let found = try find(type, id) { return found }
        return try newObject(type, .integer(Int64(id)))
    }

    // async
    /// Returns the object with a key of any type, or a new object with that key, which is not stored yet.
    ///
    /// - Throws: `MakoError.typeMismatch` when the entity's key is of another type.
    public func find<T: ObjectEntity, K: StorableValue>(_ type: T.Type, orNew key: K) throws(MakoError) -> T {
        if let found = try find(type, key) { return found }
        return try newObject(type, key.keyValue)
    }

    private func newObject<T: ObjectEntity>(_ type: T.Type, _ key: StoredValue) throws(MakoError) -> T {
        let object = type.init()
        let model = type.entityModel
        if model.hasColumnKey {
            guard ObjectLock(object).locked({ object.takeKey([key]) }) else {
                throw .typeMismatch(
                    entity: model.name, property: model.keyNames.joined(separator: ", "), expected: "its key",
                    found: key.description)
            }
        } else {
            guard case .integer(let id) = key else {
                throw .typeMismatch(
                    entity: model.name, property: model.rowNumberName, expected: "an integer", found: key.description)
            }
            object._$state.rowID = id
        }
        object._$state.database = number
        return object
    }
}

extension ObjectEntity {
    // async: awaits
    /// Returns the object with a key in the current database, or a new object with that key: `try Person.find(orNew:
    /// 42)`.
    public static func find(orNew id: Int) throws(MakoError) -> Self {
        try Database.current(for: entityModel).find(Self.self, orNew: id)
    }
    // async: awaits
    /// Returns the object with a key of any type in the current database, or a new object with that key.
    ///
    /// - Throws: `MakoError.typeMismatch` when the entity's key is of another type.
    public static func find<K: StorableValue>(orNew key: K) throws(MakoError) -> Self {
        try Database.current(for: entityModel).find(Self.self, orNew: key)
    }
}

extension RowKey {
    /// The key of an entity's row with the values of its key properties.
    init(values: [StoredValue], of model: EntityModel) {
        if !model.hasColumnKey, values.count == 1, case .integer(let id) = values[0] {
            self = .rowID(id)
        } else {
            self = RowKey(values: values)
        }
    }
}

extension Entity {
    // async: awaits
    /// Returns the object with a key in the current database, or nil: `try Person.find(42)`.
    @inlinable
    public static func find(_ id: Int) throws(MakoError) -> Self? {
        try Database.current(for: entityModel).find(Self.self, id)
    }
    // async: awaits
    /// Returns the object with a key of any type, or nil: `try Wolf.find("Akela")`.
    public static func find<K: StorableValue>(_ key: K) throws(MakoError) -> Self? {
        try Database.current(for: entityModel).find(Self.self, key)
    }
    // async: awaits
    /// Returns the object with a key of several properties in the current database, or nil.
    public static func find(_ key: CompositeKey) throws(MakoError) -> Self? {
        try Database.current(for: entityModel).find(Self.self, key)
    }
    // async: awaits
    /// Returns the objects with these keys, in their order. Keys without an object are omitted.
    public static func find(_ ids: [Int]) throws(MakoError) -> [Self] {
        try Database.current(for: entityModel).find(Self.self, ids)
    }
    // async: awaits
    /// Returns the objects with these keys of any type, in their order. Keys without an object are omitted.
    public static func find<K: StorableValue>(_ keys: [K]) throws(MakoError) -> [Self] {
        try Database.current(for: entityModel).find(Self.self, keys)
    }
    // async: awaits
    /// Returns the first object whose property equals a value, or nil.
    ///
    /// ```swift
    /// let ada = try Person.first(\.name, equals: "Ada")
    /// ```
    public static func first<V: StorableValue>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) throws(MakoError) -> Self? {
        try query().where(keyPath == value).first()
    }
    // async: awaits
    /// Returns the first object whose property has a value's raw value, or nil.
    @_disfavoredOverload
    public static func first<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) throws(MakoError) -> Self? where V.RawValue: StorableValue {
        try query().where(keyPath == value).first()
    }
    // async: awaits
    /// Returns the first object whose optional property has a value's raw value, or is nil as the value is, or nil.
    @_disfavoredOverload
    public static func first<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<Self>, Column<V?>>, equals value: V?
    ) throws(MakoError) -> Self? where V.RawValue: StorableValue {
        try query().where(keyPath == value).first()
    }
}

extension StoredValue {
    var isInteger: Bool { if case .integer = self { true } else { false } }
}

extension StorableValue {
    /// The value as a key: a `StoredValue` is used unchanged.
    var keyValue: StoredValue { self as? StoredValue ?? stored }
}

/// Objects that were found, and their keys, of equal length. Two arrays, because in a function that is not specialised
/// an array of pairs takes as long as reading the rows.
struct FoundObjects<T: Entity> {
    var keys: [RowKey] = []
    var objects: [T] = []
}
