import MakoRecords
import MakoStorage

/// A codec whose values are saved before the row that holds them.
protocol HeldValueCodec: EntityCoding.PropertyCodec {
    /// Saves the struct that a property holds, and sets its key in the property.
    static func save(_ value: inout Property, in transaction: Transaction) throws(MakoError)
}

extension HeldValueCodec {
    /// Throws for the property of a class that has no slot, because the macro sees no struct in an alias: nothing would
    /// save what it holds.
    fileprivate static func requireStruct(_ writer: borrowing RowWriter, _ position: Int) throws(MakoError) {
        guard ThreadScope.transaction?.held.isInObject == true else { return }
        throw EntityCoding.unstorable(
            writer, position,
            "its type is an alias that hides structs with rows; in a class it must be written out: '\(Property.self)'")
    }
}

extension EntityCoding {
    /// The codec of references to structs, which are stored as the key of the other row. A struct reads that row together
    /// with its own, an object at the first access.
    public enum ValueReferenceCodec<Target: Entity>: HeldValueCodec where Target._$Kind == EntityKind.Value {
        /// The type of the property: an optional struct.
        public typealias Property = Target?

        /// The column type: the key of another row.
        public static var columnType: ColumnType { .reference }
        /// True: the column of a reference may be NULL.
        public static var isOptional: Bool { true }
        /// The entity of the referenced structs.
        public static var target: (any Entity.Type)? { Target.self }

        /// Returns the struct's key; NULL for nil and for a struct that is not stored.
        public static func stored(_ value: Target?) -> StoredValue { value?.conditionValue ?? .null }

        /// Returns nil for NULL, else no value: the key alone is not the struct.
        public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

        /// Returns the struct for a stored key, read from the current database; nil if the value is no key.
        public static func loaded(_ stored: StoredValue) throws(MakoError) -> Property? {
            if let value = value(stored) { return value }
            guard let key = ReferenceKeys.key(stored, of: Target.entityModel) else { return nil }
            return try Database.current(for: Target.entityModel).object(Target.self, key: key)
        }

        /// Reads the key from a row and the struct from its own row.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Target? {
            guard let key = ReferenceKeys.read(row.reader, position, of: Target.entityModel) else { return nil }
            return try row.value(Target.self, key)
        }

        /// Writes the struct's key to the row of a struct.
        public static func write(_ value: Target?, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            try requireStruct(writer, position)
            ReferenceKeys.write(value?.storedValueKey, of: Target.entityModel, &writer, position)
        }

        static func save(_ value: inout Target?, in transaction: Transaction) throws(MakoError) {
            guard var held = value else { return }
            try transaction.saveValue(&held)
            value = held
        }
    }
}

extension EntityRow {
    /// The struct that a field refers to, on the snapshot of the row; nil if its row does not exist.
    fileprivate func value<T: Entity>(_ type: T.Type, _ key: RowKey) throws(MakoError) -> T? {
        guard let context = extra?.context, let moment = context.moment else {
            // A single row that was read by its number has no context.
            return try Database.resolve(number: database, for: T.entityModel).object(type, key: key)
        }
        guard let binding = moment.schema.binding(T.entityModel) else {
            throw .migration(entity: T.entityModel.name, reason: "its table could not be bound")
        }
        return try translated {
            try binding.table.withRow(key, layout: binding.layout, in: moment.view) { reader in
                var maker = RowMaker(database: database, context: context, layout: binding.layout, lazyProperties: 0)
                return try T(row: maker.row(key, reader))
            }
        }
    }
}

// MARK: - Collections

extension EntityCoding {
    /// The codec of collections of structs with rows of their own. They are stored as the keys of these rows, as
    /// collections of objects are. A struct reads them together with its own row, an object at the first access.
    public enum ValueCollectionCodec<Form: CollectionForm>: HeldValueCodec
    where Form.Target: Entity, Form.Target._$Kind == EntityKind.Value {
        /// The type of the property: a collection of structs.
        public typealias Property = Form.Value

        /// The column type: keys of other rows.
        public static var columnType: ColumnType { .keys }
        /// Whether the column may be NULL.
        public static var isOptional: Bool { Form.isOptional }
        /// The entity of the structs.
        public static var target: (any Entity.Type)? { Form.Target.self }

        /// Returns the keys of the structs as the column holds them; NULL for nil.
        public static func stored(_ value: Property) -> StoredValue {
            encoded(value).map { .blob($0) } ?? .null
        }

        /// Returns the collection for a value without keys; else nil: the keys alone are not the structs.
        public static func value(_ stored: StoredValue) -> Property? { Form.keylessValue(stored) }

        /// Returns the collection for stored keys, read from the current database; nil if the keys do not fit its type.
        public static func loaded(_ stored: StoredValue) throws(MakoError) -> Property? {
            if let value = value(stored) { return value }
            guard case .blob(let bytes) = stored, let tree = KeyTree(bytes) else { return nil }
            let database = try Database.current(for: Form.Target.entityModel)
            let held = try database.values(Form.Target.self, tree.rowKeys)
            do throws(OtherForm) { return try Form.value(tree) { held[$0] } } catch { return nil }
        }

        /// Reads the keys from a row and the structs from their own rows.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            if row.reader.isNull(position) { return Form.empty }
            guard let tree = KeyTree(row.reader.blob(position)) else {
                throw EntityCoding.mismatch(row, position, Property.self)
            }
            let keys = tree.rowKeys
            let held = keys.isEmpty ? [:] : try row.values(Form.Target.self, keys, position)
            do throws(OtherForm) {
                return try Form.value(tree) { held[$0] } ?? Form.empty
            } catch { throw EntityCoding.unreadable(row, position, "its keys have another form than \(Property.self)") }
        }

        /// Writes the keys of the structs to the row of a struct.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            try requireStruct(writer, position)
            guard let bytes = encoded(value) else { return writer.setNull(position) }
            try Form.write(bytes, &writer, position)
        }

        static func save(_ value: inout Property, in transaction: Transaction) throws(MakoError) {
            try Form.update(&value) { (held) throws(MakoError) in try transaction.saveValue(&held) }
        }

        /// The content of the column; nil for NULL. Structs without a row are left out.
        private static func encoded(_ value: Property) -> [UInt8]? {
            Form.tree(value) { $0.storedValueKey }?.encoded
        }
    }
}

extension KeyTree {
    /// The keys, each once.
    var rowKeys: [RowKey] {
        var keys: [RowKey] = []
        var seen: Set<RowKey> = []
        forEachKey { _, key in if seen.insert(key).inserted { keys.append(key) } }
        return keys
    }
}

extension Database {
    /// The structs with these keys; keys without a row are not in the result.
    func values<T: Entity>(_ type: T.Type, _ keys: [RowKey]) throws(MakoError) -> [RowKey: T] {
        let found = try objects(type, keys: keys, context: nil, callsHook: false)
        return Dictionary(zip(found.keys, found.objects), uniquingKeysWith: { first, _ in first })
    }
}

extension EntityRow {
    /// The structs whose keys a field of the row holds, on the snapshot of the row.
    fileprivate func values<T: Entity>(
        _ type: T.Type, _ keys: [RowKey], _ position: Int
    ) throws(MakoError) -> [RowKey: T] {
        guard let fetch = extra?.context, let moment = fetch.moment else {
            return try Database.resolve(number: database, for: T.entityModel).values(type, keys)
        }
        if !T.entityModel.refersBack { return try values(type, keys, moment, fetch) }
        guard let deeper = moment.deeper else {
            throw EntityCoding.unreadable(
                self, position,
                "it holds structs that hold others, \(ValueHolder.depthLimit) levels deep, or itself")
        }
        return try StackGuard.run(isDeep: false) { () throws(MakoError) in
            try values(type, keys, deeper, FetchContext(deeper))
        } orElse: { () throws(MakoError) in
            throw EntityCoding.unreadable(self, position, "there is no room for the structs that it holds")
        }
    }

    private func values<T: Entity>(
        _ type: T.Type, _ keys: [RowKey], _ moment: FetchContext.Moment, _ context: FetchContext
    ) throws(MakoError) -> [RowKey: T] {
        guard let binding = moment.schema.binding(T.entityModel) else {
            throw .migration(entity: T.entityModel.name, reason: "its table could not be bound")
        }
        return try translated {
            var maker = RowMaker(database: database, context: context, layout: binding.layout, lazyProperties: 0)
            var held: [RowKey: T] = [:]
            let ids = keys.compactMap(\.rowID)
            if ids.count == keys.count {
                try binding.table.withRows(ids: ids, layout: binding.layout, in: moment.view) { place, reader in
                    if let reader { held[keys[place]] = try T(row: maker.row(ids[place], reader)) }
                }
                return held
            }
            for key in keys {
                try binding.table.withRow(key, layout: binding.layout, in: moment.view) { reader in
                    held[key] = try T(row: maker.row(key, reader))
                }
            }
            return held
        }
    }
}
