import MakoRecords
import MakoStorage

/// The results of a query of which only the keys and some properties were read; see ``Query/fetchLightweight(prefetching:retaining:)``.
public struct LightweightResults<T: Entity>: RandomAccessCollection, Sendable {
    private let rows: LightweightRows<T>

    init(_ rows: LightweightRows<T>) { self.rows = rows }

    public var startIndex: Int { 0 }
    public var endIndex: Int { rows.keys.count }

    /// One of the objects. Beside the results there is one that can never be read.
    public subscript(position: Int) -> LightweightObject<T> { LightweightObject(rows, position) }
}

/// An object of which only the key and some properties were read. All other properties are read with the whole object, when one of them is
/// asked for.
///
/// ```swift
/// for person in try db.query(Person.self).fetchLightweight(prefetching: \.name) {
///     print(person.name)                          // read already
///     if person.id == wanted { print(person.age) }    // the whole object is read now
/// }
/// ```
///
/// A class's properties are read as an object's are: where reading fails they have their default values, and ``loadError`` says why. A struct's
/// need `try`. It holds the results that it is one of.
@dynamicMemberLookup
public struct LightweightObject<T: Entity>: Sendable {
    private let rows: LightweightRows<T>
    private let place: Int

    init(_ rows: LightweightRows<T>, _ place: Int) {
        self.rows = rows
        self.place = place
    }

    /// The key under which its row was found.
    public var key: RowKey { rows.keys.indices.contains(place) ? rows.keys[place] : .noRow }

    /// The whole object, as it is stored now: the one that was read before and kept, else read anew.
    ///
    /// - Throws: `MakoError.notFound` when its row is gone, `.closed`, `.storage`.
    public func object() throws(MakoError) -> T { try rows.object(place) }

    /// A property: out of what was read with the results, else out of the whole object.
    ///
    /// - Throws: as ``object()``.
    public func value<V>(_ keyPath: KeyPath<T, V>) throws(MakoError) -> V { try rows.value(keyPath, place) }

    public subscript<V>(dynamicMember keyPath: KeyPath<T, V>) -> V {
        get throws(MakoError) { try rows.value(keyPath, place) }
    }

    /// Removes the row, as ``Database/delete(_:)`` does with an object. False: it is gone already, or a hook refused.
    @discardableResult
    public func remove() throws(MakoError) -> Bool { try rows.remove(place) }

    /// Why the object could not be read when it was last asked for; nil when it could, or was not asked for.
    public var loadError: MakoError? { rows.loadError(place) }
}

extension LightweightObject where T: ObjectEntity {
    public subscript<V>(dynamicMember keyPath: KeyPath<T, V>) -> V {
        do throws(MakoError) { return try rows.value(keyPath, place) } catch {
            return T.unread(error)[keyPath: keyPath]
        }
    }
}

extension LightweightObject: Identifiable where T: ObjectEntity {
    public var id: T.ID { rows.id(place) ?? self[dynamicMember: \.id] }
}

extension LightweightObject: CustomStringConvertible {
    /// The entity, the key and what was read with the results.
    public var description: String { rows.description(place) }
}

/// What lightweight objects of one fetch share.
final class LightweightRows<T: Entity>: Sendable {
    private struct Kept {
        var objects: [Int: T] = [:]
        var errors: [Int: MakoError] = [:]
    }

    let keys: [RowKey]
    private let properties: [PropertyModel]
    /// Where the values of each property begin in a row of them, and where the row ends.
    private let starts: [Int]
    /// For each key the values of the properties, one row behind the other.
    private let values: [StoredValue]
    private let isRetaining: Bool
    private let query: Query<T>
    private let database: Database
    private let schema: EntitySchema
    private let kept = Protected(Kept())

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
                throw .query(message: "there is no object at \(place); the results have \(keys.count)")
            }
            // Read outside the lock: reading may lead to hooks, and they here.
            guard let read = try read(keys[place]) else {
                throw .notFound(entity: T.entityModel.name, key: keys[place].text(in: try? T.entityModel.schema()))
            }
            let object = kept.with { kept in
                kept.errors[place] = nil
                guard isRetaining else { return read }
                if let known = kept.objects[place] { return known }
                kept.objects[place] = read
                return read
            }
            if T._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
            return object
        } catch {
            kept.with { $0.errors[place] = error }
            throw error
        }
    }

    func loadError(_ place: Int) -> MakoError? { kept.with { $0.errors[place] } }

    private func keptObject(_ place: Int) -> T? { isRetaining ? kept.with { $0.objects[place] } : nil }

    private func read(_ key: RowKey) throws(MakoError) -> T? {
        database.metricsCounters.lazyLoads.with { $0 += 1 }
        return try translated {
            try database.read {
                try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
                    let context = binding.fetchContext(view, schema)
                    let row = try database.foundRow(T.entityModel, key: key, context: context)
                    guard let object = try row?.untoldObject(T.self, isRefresh: true) else { return nil }
                    try query.follow([object], database, view, schema, context)
                    return object
                }
            }
        }
    }

    /// A property that was read with the results, or is in the key.
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
        // A key that its table cannot read is read with its row, which says so.
        guard let parts = try? keys[place].values(in: schema) else { return nil }
        return (property.coding as? PropertyCoding<V>)?.value(parts[part])
    }

    /// What was read of a property.
    private func row(_ place: Int, of position: Int) -> ArraySlice<StoredValue> {
        let start = place * (starts.last ?? 0)
        return values[start + starts[position]..<start + starts[position + 1]]
    }

    private func number<V>(_ id: Int64) -> V? {
        func made<S: StorableValue>(_ type: S.Type) -> V? { S(stored: .integer(id)).flatMap { $0 as? V } }
        guard let type = V.self as? any StorableValue.Type else { return nil }
        return made(type)
    }

    /// The row's number as the type's `id`; a key path to that of a generic type is not the one that the model has.
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
    /// The keys of the objects and some of their properties, in the query's order; everything else is read object by object when it is asked for.
    ///
    /// ```swift
    /// let people = try db.query(Person.self).orderBy(\.name).fetchLightweight(prefetching: \.name, \.age)
    /// print(people[0].name, people.count)      // read already
    /// let ada = try people[0].object()         // the whole object, read now
    /// ```
    ///
    /// Each object takes 16 bytes for its key and 24 for each property that was read, and what texts longer than 15 bytes take. Whole objects are
    /// read in the state of their moment, inside a transaction in that of the transaction; nothing holds the state of the query. Once a
    /// whole object is kept, all properties come out of it. A property that is wanted of most objects is read faster with the results.
    ///
    /// - Parameters:
    ///   - keyPaths: stored properties that are no relationships. The key needs no mention.
    ///   - retaining: whether a whole object that was read is kept for the next access; else it is read anew.
    /// - Throws: `MakoError.query` for a condition that does not hold together, or a property that cannot be read so.
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

    /// The columns of properties that are to be read alone.
    static func columns(_ keyPaths: [PartialKeyPath<T>]) throws(MakoError) -> [PropertyModel] {
        let model = T.entityModel
        var found: [PropertyModel] = []
        for keyPath in keyPaths {
            guard let name = model.keyPaths[keyPath] else {
                throw .query(
                    message: "\(keyPath.text) is not a stored property of \(model.name); stored ones can be prefetched")
            }
            // The row's number has no column: it is in the key. Of a value with several columns all are read.
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
