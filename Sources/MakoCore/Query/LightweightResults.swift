import MakoRecords
import MakoStorage

/// The results of a query that read only the keys and some properties; see
/// ``Query/fetchLightweight(prefetching:retaining:)``.
public struct LightweightResults<T: Entity>: RandomAccessCollection, Sendable {
    private let rows: LightweightRows<T>

    init(_ rows: LightweightRows<T>) { self.rows = rows }

    /// The position of the first object: 0.
    public var startIndex: Int { 0 }
    /// The position behind the last object.
    public var endIndex: Int { rows.keys.count }

    /// The object at a position. A position outside the results gives an object that cannot be read.
    public subscript(position: Int) -> LightweightObject<T> { LightweightObject(rows, position) }
}

/// An object of which the query read only the key and some properties. Access to another property reads the whole
/// object.
///
/// ```swift
/// for person in try db.query(Person.self).fetchLightweight(prefetching: \.name) {
///     print(person.name)                          // read already
///     if person.id == wanted { print(person.age) }    // the whole object is read now
/// }
/// ```
///
/// A class's property that cannot be read has its default value, and ``loadError`` has the error; a struct's property
/// is read with `try`. The object retains the results that it belongs to.
@dynamicMemberLookup
public struct LightweightObject<T: Entity>: Sendable {
    private let rows: LightweightRows<T>
    private let place: Int

    init(_ rows: LightweightRows<T>, _ place: Int) {
        self.rows = rows
        self.place = place
    }

    /// The key of the row that the query found.
    public var key: RowKey { rows.keys.indices.contains(place) ? rows.keys[place] : .noRow }

    /// Returns the whole object: the retained one if there is one, else the state that is stored now.
    ///
    /// - Throws: `MakoError.notFound` when the row was deleted; `.closed`; `.storage`.
    public func object() throws(MakoError) -> T { try rows.object(place) }

    /// Returns a property: one that was read with the results, else that of the whole object.
    ///
    /// - Throws: as ``object()``.
    public func value<V>(_ keyPath: KeyPath<T, V>) throws(MakoError) -> V { try rows.value(keyPath, place) }

    /// A property: one that was read with the results, else that of the whole object. Throws as ``object()``.
    public subscript<V>(dynamicMember keyPath: KeyPath<T, V>) -> V {
        get throws(MakoError) { try rows.value(keyPath, place) }
    }

    /// Deletes the row, as ``Database/delete(_:)`` deletes an object, and returns false where it was deleted before.
    @discardableResult
    public func remove() throws(MakoError) -> Bool { try rows.remove(place) }

    /// The error of the last attempt to read the whole object; nil if it succeeded, or there was none.
    public var loadError: MakoError? { rows.loadError(place) }
}

extension LightweightObject where T: ObjectEntity {
    /// A property: one that was read with the results, else that of the whole object; the default value where that
    /// cannot be read.
    public subscript<V>(dynamicMember keyPath: KeyPath<T, V>) -> V {
        do throws(MakoError) { return try rows.value(keyPath, place) } catch {
            return T.unread(error)[keyPath: keyPath]
        }
    }
}

extension LightweightObject: Identifiable where T: ObjectEntity {
    /// The object's `id`, read from the key where it is the row number.
    public var id: T.ID { rows.id(place) ?? self[dynamicMember: \.id] }
}

extension LightweightObject: CustomStringConvertible {
    /// The entity, the key and the properties that were read with the results.
    public var description: String { rows.description(place) }
}

/// The state that the lightweight objects of one fetch share.
final class LightweightRows<T: Entity>: Sendable {
    private struct Kept {
        var objects: [Int: T] = [:]
        var errors: [Int: MakoError] = [:]
    }

    let keys: [RowKey]
    private let properties: [PropertyModel]
    /// The offset of each property's values in a row of values, and the length of the row.
    private let starts: [Int]
    /// The values of the properties, row after row in the order of the keys.
    private let values: [StoredValue]
    private let isRetaining: Bool
    private let query: Query<T>
    private let database: Database
    private let schema: EntitySchema
    private let kept = Guarded(Kept())

    init(
        _ keys: [RowKey], _ properties: [PropertyModel], _ values: [StoredValue], isRetaining: Bool, _ query: Query<T>,
        _ database: Database, _ schema: EntitySchema
    ) {
        self.keys = keys
        self.properties = properties
        starts = properties.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.fields.count) }
        self.values = values
        self.isRetaining = isRetaining
        self.query = query
        self.database = database
        self.schema = schema
    }

    func value<V>(_ keyPath: KeyPath<T, V>, _ place: Int) throws(MakoError) -> V {
        if let object = keptObject(place) { return object[keyPath: keyPath] }
        if let known = known(keyPath, place) { return known }
        return try object(place)[keyPath: keyPath]
    }

    func object(_ place: Int) throws(MakoError) -> T {
        if let object = keptObject(place) { return object }
        do throws(MakoError) {
            guard keys.indices.contains(place) else {
                throw .invalidArgument("there is no object at \(place); the results have \(keys.count)")
            }
            // Read outside the lock, because a hook of the object may use these results.
            guard let read = try read(keys[place]) else {
                throw .notFound(entity: T.entityModel.name, key: keys[place].text(in: try? T.entityModel.schema()))
            }
            let object = kept.withLock { kept in
                kept.errors[place] = nil
                guard isRetaining else { return read }
                if let known = kept.objects[place] { return known }
                kept.objects[place] = read
                return read
            }
            if T._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
            return object
        } catch {
            kept.withLock { $0.errors[place] = error }
            throw error
        }
    }

    func loadError(_ place: Int) -> MakoError? { kept.withLock { $0.errors[place] } }

    private func keptObject(_ place: Int) -> T? { isRetaining ? kept.withLock { $0.objects[place] } : nil }

    private func read(_ key: RowKey) throws(MakoError) -> T? {
        database.metricsCounters.lazyLoads.withLock { $0 += 1 }
        return try translated {
            try database.read {
                try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
                    let context = binding.fetchContext(view, schema)
                    let row = try database.foundRow(T.entityModel, key: key, context: context)
                    guard let object = try row?.objectWithoutLoadHook(T.self, isRefresh: true) else { return nil }
                    try query.follow([object], database, view, schema, context)
                    return object
                }
            }
        }
    }

    /// A property that was read with the results, or is part of the key.
    private func known<V>(_ keyPath: KeyPath<T, V>, _ place: Int) -> V? {
        let model = T.entityModel
        guard keys.indices.contains(place), let name = model.keyPaths[keyPath] else { return nil }
        if let position = properties.firstIndex(where: { $0.column == name }) {
            let (coding, row) = (properties[position].coding as? PropertyCoding<V>, row(place, of: position))
            return properties[position].parts.isEmpty
                ? coding?.value(row[row.startIndex]) : coding?.joined(Array(row))
        }
        if case .rowID(let id) = keys[place] { return name == model.rowNumberName ? number(id) : nil }
        guard case .columns(let names) = schema.key, let part = names.firstIndex(of: name),
            let property = model.columns.first(where: { $0.column == name })
        else { return nil }
        // The read of the row reports a key that does not fit its table.
        guard let parts = try? keys[place].values(in: schema) else { return nil }
        return (property.coding as? PropertyCoding<V>)?.value(parts[part])
    }

    /// The values that were read for a property.
    private func row(_ place: Int, of position: Int) -> ArraySlice<StoredValue> {
        let start = place * (starts.last ?? 0)
        return values[start + starts[position]..<start + starts[position + 1]]
    }

    private func number<V>(_ id: Int64) -> V? {
        func made<S: StorableValue>(_ type: S.Type) -> V? { S(stored: .integer(id)).flatMap { $0 as? V } }
        guard let type = V.self as? any StorableValue.Type else { return nil }
        return made(type)
    }

    /// The row number as the type's `id`. The key path to the `id` of a generic type differs from that in the model.
    func id(_ place: Int) -> T.ID? {
        guard keys.indices.contains(place), case .rowID(let id) = keys[place] else { return nil }
        return number(id)
    }

    func remove(_ place: Int) throws(MakoError) -> Bool {
        guard keys.indices.contains(place) else { return false }
        if let object = keptObject(place) as? any ObjectEntity { return try database.delete(object) }
        if !T._$hooks.isDisjoint(with: .aboutRemoval) {
            guard let object = try read(keys[place]) as? any ObjectEntity else { return false }
            return try database.delete(object)
        }
        return try database.writing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            return try transaction.remove(keys[place], try transaction.binding(T.entityModel))
        }
    }

    func description(_ place: Int) -> String {
        guard keys.indices.contains(place) else { return "no \(T.entityModel.name)" }
        let fields = properties.enumerated().map { "\($1.name): \($1.text(of: Array(row(place, of: $0))))" }
        return "\(T.entityModel.name) \(keys[place]) {\(fields.joined(separator: ", "))}"
    }
}

extension Query {
    // async: early
    /// Returns the keys of the objects and some of their properties, in the query's order. Access to another property
    /// reads that object.
    ///
    /// ```swift
    /// let people = try db.query(Person.self).orderBy(\.name).fetchLightweight(prefetching: \.name, \.age)
    /// print(people[0].name, people.count)      // read already
    /// let ada = try people[0].object()         // the whole object, read now
    /// ```
    ///
    /// An object takes 16 bytes for its key and 24 for each property that was read, plus the bytes of texts longer than
    /// 15. A whole object is read in the state of the access, inside a transaction in that of the transaction; no
    /// snapshot is held. Once a whole object is retained, all properties are its own. To read a property of most
    /// objects, prefetch it.
    ///
    /// - Parameters:
    ///   - keyPaths: stored properties that are no relationships. The key is always read.
    ///   - retaining: whether a whole object that was read serves later accesses; else each access reads it again.
    /// - Throws: `MakoError.query` for an invalid condition, or a property that cannot be prefetched.
    public func fetchLightweight(
        prefetching keyPaths: PartialKeyPath<T>..., retaining: Bool = true
    ) throws(MakoError) -> LightweightResults<T> {
        try fetchLightweight(try Query.columns(keyPaths), retaining)
    }

    func fetchLightweight(_ properties: [PropertyModel], _ isRetaining: Bool) throws(MakoError) -> LightweightResults<T>
    {
        try planned { (plan, binding, view, database) throws(MakoError) in
            var keys: [RowKey] = []
            var values: [StoredValue] = []
            if properties.isEmpty {
                keys = try records { () throws(RecordError) in try plan.keys(in: view) }
            } else {
                let layout = try records { () throws(RecordError) in
                    try binding.table.layout(of: properties)
                }
                let counts = properties.map { Swift.max(1, $0.parts.count) }
                try translated {
                    try plan.forEachRow(layout: layout, in: view) { key, reader in
                        keys.append(key)
                        for position in counts.indices {
                            if properties[position].isEncrypted {
                                values.append(
                                    try reader.value(
                                        position,
                                        opening: { () throws(PropertyKeyProblem) in
                                            try database.valueCipher()
                                        }))
                                continue
                            }
                            values.append(reader.value(position))
                            for part in 1..<counts[position] {
                                values.append(reader.value(layout.position(ofPart: part, at: position)))
                            }
                        }
                        return true
                    }
                }
            }
            return LightweightResults(
                LightweightRows(
                    keys, properties, values, isRetaining: isRetaining, self, database, binding.table.schema))
        }
    }

    /// The columns of the properties to prefetch.
    static func columns(_ keyPaths: [PartialKeyPath<T>]) throws(MakoError) -> [PropertyModel] {
        let model = T.entityModel
        var found: [PropertyModel] = []
        for keyPath in keyPaths {
            guard let name = model.keyPaths[keyPath] else {
                throw .query(
                    message: "\(keyPath.text) is not a stored property of \(model.name); stored ones can be prefetched")
            }
            // The row number has no column, because it is the key. A composite property is read with all its columns.
            let whole = model.composite(named: name) ?? model.place(ofColumn: name).map { model.columns[$0.position] }
            guard let property = whole else { continue }
            if case .column(_, _, _, .some) = property.kind {
                throw .query(
                    message: "\(model.name).\(property.name) is a relationship, which cannot be prefetched by itself; "
                        + "use prefetch(\\.\(property.name)) and fetch()")
            }
            if !found.contains(where: { $0.column == property.column }) { found.append(property) }
        }
        return found
    }
}
