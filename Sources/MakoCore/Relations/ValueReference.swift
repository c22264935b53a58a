import MakoRecords

/// Tells structs and classes apart where overloads must: see ``Entity/_$Kind``.
public enum EntityKind {
    public enum Value {}
    public enum Object {}
}

/// A codec whose values are saved before what holds them.
protocol HeldValueCodec: PropertyCodec {
    /// Saves the struct that a property holds, and notes its key there.
    static func save(_ value: inout Property, in transaction: Transaction) throws(MakoError)
}

/// References of structs to structs: stored as the key of the other row, which is read with the row that refers to it.
public enum ValueReferenceCodec<Target: Entity>: HeldValueCodec where Target._$Kind == EntityKind.Value {
    public typealias Property = Target?

    public static var columnType: ColumnType { .reference }
    public static var isOptional: Bool { true }
    public static var target: (any Entity.Type)? { Target.self }

    public static func stored(_ value: Target?) -> StoredValue { value?.conditionValue ?? .null }

    /// A key alone is no value.
    public static func value(_ stored: StoredValue) -> Property? { stored.isNull ? .some(.none) : .none }

    public static func loaded(_ stored: StoredValue) throws(MakoError) -> Property? {
        if let value = value(stored) { return value }
        guard let key = ReferenceKeys.key(stored, of: Target.entityModel) else { return nil }
        return try Database.current(for: Target.entityModel).object(Target.self, key: key)
    }

    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Target? {
        guard let key = ReferenceKeys.read(row.reader, position, of: Target.entityModel) else { return nil }
        return try row.value(Target.self, key)
    }

    public static func write(_ value: Target?, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        ReferenceKeys.write(value?.storedValueKey, of: Target.entityModel, &writer, position)
    }

    static func save(_ value: inout Target?, in transaction: Transaction) throws(MakoError) {
        guard var held = value else { return }
        try transaction.save(&held)
        value = held
    }
}

extension EntityRow {
    /// The struct that a field of the row refers to, as it was at the row's moment; nil: there is none any more.
    fileprivate func value<T: Entity>(_ type: T.Type, _ key: RowKey) throws(MakoError) -> T? {
        guard let context = extra?.context, let moment = context.moment else {
            // Whoever reads one row by its number has its moment at hand.
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

extension Transaction {
    /// Saves the structs that a struct holds, before it is written: their keys are part of its row.
    func saveHeldValues<T: Entity>(of value: inout T, _ model: EntityModel) throws(MakoError) {
        for property in model.columns {
            guard let coding = property.coding, coding.holdsValue else { continue }
            try willWriteFurtherRows()
            try coding.saveHeldValue(property.keyPath, of: &value, in: self)
        }
    }
}
