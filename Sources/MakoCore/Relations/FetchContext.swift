import MakoRecords
import MakoStorage
import Synchronization

/// The objects of one fetch and of the lazy loads from them: within it there is one object for each row.
@usableFromInline
final class FetchContext: Sendable {
    /// The objects of one type. Row numbers have their own map, whose look-up takes a fraction of the time.
    private struct Objects {
        let model: Int
        private var numbered = NumberedObjects()
        private var keyed = KeyedObjects()

        init(model: Int) { self.model = model }

        mutating func object(_ key: RowKey) -> AnyObject? {
            if case .rowID(let id) = key, id != NumberedObjects.noObject { return numbered.object(id) }
            return keyed.object(key)
        }

        /// Adds an object unless there is one already, which is returned.
        mutating func note(_ object: AnyObject, _ key: RowKey) -> AnyObject? {
            if case .rowID(let id) = key, id != NumberedObjects.noObject { return numbered.note(id, object) }
            return keyed.note(key, object)
        }

        mutating func reserve(_ count: Int) { numbered.reserve(count) }

        func forgetAll() {
            numbered.forgetAll()
            keyed.forgetAll()
        }
    }
    /// A list, because references from a type lead to few other types.
    private let types = Guarded<[Objects]>([])
    /// The snapshot on which rows are read, where reading a row reads others; only with structs, which retain nothing
    /// of it.
    let moment: Moment?

    struct Moment {
        let view: Snapshot
        let schema: SchemaState
        /// The nesting depth of structs of circular types.
        private var depth = 0

        init(view: Snapshot, schema: SchemaState) {
            self.view = view
            self.schema = schema
        }

        /// The snapshot for the content of such a struct; nil at the limit.
        var deeper: Moment? {
            guard depth + 1 < ValueHolder.depthLimit else { return nil }
            var next = self
            next.depth += 1
            return next
        }
    }

    /// Whether several queries share the context.
    @usableFromInline let isShared: Bool

    init(_ moment: Moment? = nil, isShared: Bool = false) {
        self.moment = moment
        self.isShared = isShared
    }

    /// The results of the fetch, until a reference is loaded.
    private let results = LazyReference<FetchedResults>()

    /// The last owner type whose references cannot lead back to it.
    private let harmless = Atomic<UInt>(0)

    deinit { types.withLock { for objects in $0 { objects.forgetAll() } } }

    func object<Target: ObjectEntity>(_ type: Target.Type, _ key: RowKey) -> Target? {
        settleResults()
        let number = Target.entityModel.number
        let object: AnyObject? = types.withLock { types in
            guard let place = types.firstIndex(where: { $0.model == number }) else { return nil }
            return types[place].object(key)
        }
        return object as? Target
    }

    /// Adds an object; returns the one that was there before, if any.
    func note<Target: ObjectEntity>(_ object: Target, _ model: EntityModel, _ key: RowKey) -> Target {
        settleResults()
        return noteSettled(object, model, key)
    }

    private func noteSettled<Target: ObjectEntity>(
        _ object: Target, _ model: EntityModel, _ key: RowKey
    ) -> Target {
        let known = types.withLock { types in types[Self.place(of: model, &types)].note(object, key) }
        return known as? Target ?? object
    }

    private static func place(of model: EntityModel, _ types: inout [Objects]) -> Int {
        if let place = types.firstIndex(where: { $0.model == model.number }) { return place }
        types.append(Objects(model: model.number))
        return types.count - 1
    }

    /// Returns the objects of rows, those of the context and else from the latest commit; nil for keys without a row.
    ///
    /// - Parameter database: called where a row must be read.
    /// - Returns: the objects in the order of the keys.
    /// - Complexity: O(n log n) for n keys; O(n) where they ascend.
    func objects<Target: ObjectEntity>(
        _ type: Target.Type, _ keys: [RowKey], from database: () throws(MakoError) -> Database
    ) throws(MakoError) -> [Target?] {
        if keys.indices.dropFirst().allSatisfy({ RowKey.precedes(keys[$0 - 1], keys[$0]) }) {
            return try ascendingObjects(type, keys, from: database)
        }
        // In ascending order, so that neighbouring rows are read from the same page, and each row once.
        let order = keys.indices.sorted { RowKey.precedes(keys[$0], keys[$1]) }
        var distinct: [RowKey] = []
        var places = Array(repeating: 0, count: keys.count)
        for place in order {
            if distinct.last != keys[place] { distinct.append(keys[place]) }
            places[place] = distinct.count - 1
        }
        let objects = try ascendingObjects(type, distinct, from: database)
        return places.map { objects[$0] }
    }

    private func ascendingObjects<Target: ObjectEntity>(
        _ type: Target.Type, _ keys: [RowKey], from database: () throws(MakoError) -> Database
    ) throws(MakoError) -> [Target?] {
        settleResults()
        let model = Target.entityModel
        let known = knownObjects(model, keys)
        let missing = known.isEmpty ? keys : keys.indices.filter { known[$0] == nil }.map { keys[$0] }
        var objects: [Target?] = known.isEmpty ? Array(repeating: nil, count: keys.count) : known.map { $0 as? Target }
        if missing.isEmpty { return objects }
        let read = try database().objects(type, keys: missing, context: self)
        types.withLock { types in
            let number = Self.place(of: model, &types)
            types[number].reserve(read.keys.count)
            var place = 0
            for (index, key) in read.keys.enumerated() {
                while keys[place] != key { place += 1 }
                // Another thread may have loaded the row meanwhile.
                let object = read.objects[index]
                objects[place] = types[number].note(object, key) as? Target ?? object
                place += 1
            }
        }
        return objects
    }

    /// The objects of keys in their order; empty where there is none of the type.
    private func knownObjects(_ model: EntityModel, _ keys: [RowKey]) -> [AnyObject?] {
        types.withLock { types in
            guard let number = types.firstIndex(where: { $0.model == model.number }) else { return [] }
            var known: [AnyObject?] = []
            known.reserveCapacity(keys.count)
            for key in keys { known.append(types[number].object(key)) }
            return known
        }
    }

    private func settleResults() {
        results.load()?.settle { object, model, key in _ = noteSettled(object, model, key) }
    }

    /// The type as an object type, if references from its rows may lead back to a row of its table.
    @usableFromInline
    func circular(_ type: any Entity.Type) -> (any ObjectEntity.Type)? {
        guard isShared || type.entityModel.refersBack else { return nil }
        return type as? any ObjectEntity.Type
    }

    @usableFromInline
    func add(_ type: any ObjectEntity.Type, _ objects: [Unmanaged<AnyObject>]) {
        results.loadOrMake { FetchedResults() }.add(type, objects)
    }

    /// Adds an object whose references are about to be loaded, if they may lead back to it.
    func note(owner: some ObjectEntity) {
        let type = Swift.type(of: owner)
        let identity = UInt(bitPattern: ObjectIdentifier(type))
        if harmless.load(ordering: .relaxed) == identity { return }
        let model = type.entityModel
        guard model.leadsBack else {
            harmless.store(identity, ordering: .relaxed)
            return
        }
        guard let key = owner.lockedState({ $0.key }) else { return }
        _ = note(owner, model, key)
    }
}

/// Loads the objects of references.
@usableFromInline
enum LazyLoad {
    static func object<Target: ObjectEntity>(
        _ type: Target.Type, key: RowKey, for owner: some ObjectEntity
    ) throws(MakoError) -> Target? {
        let (number, context) = owner.lockedState { state in (state.database, state.requireContext()) }
        context.note(owner: owner)
        if let known = context.object(type, key) { return known }
        let database = try Database.resolve(number: number, for: Target.entityModel)
        database.metricsCounters.lazyLoads.withLock { $0 += 1 }
        guard let loaded = try database.object(type, key: key, context: context) else { return nil }
        return context.note(loaded, Target.entityModel, key)
    }

    /// The objects with these keys, in their order; nil for keys without a row.
    static func objects<Target: ObjectEntity>(
        _ type: Target.Type, keys: [RowKey], for owner: some ObjectEntity
    ) throws(MakoError) -> [Target?] {
        let (number, context) = owner.lockedState { state in (state.database, state.requireContext()) }
        context.note(owner: owner)
        return try context.objects(type, keys) { () throws(MakoError) in
            let database = try Database.resolve(number: number, for: Target.entityModel)
            database.metricsCounters.lazyLoads.withLock { $0 += 1 }
            return database
        }
    }

    @usableFromInline
    static func failed(_ error: MakoError, owner: some ObjectEntity) {
        owner.lockedState { $0.setLoadError(error) }
        Database.of(owner)?.failures.report(FailedLoad(object: owner, error: error))
    }
}

extension ObjectEntity {
    /// The error of the last lazy load of a relationship; nil if it succeeded.
    public var loadError: MakoError? { lockedState { $0.extra?.loadError } }

    /// Loads a relationship and returns its object. Throws where property access would return nil because of an error.
    ///
    /// ```swift
    /// let department = try person.load(\.department)
    /// ```
    @discardableResult
    public func load<Target: ObjectEntity>(_ relation: KeyPath<Self, Target?>) throws(MakoError) -> Target? {
        lockedState { $0.setLoadError(nil) }
        let value = self[keyPath: relation]
        if value == nil, let error = loadError { throw error }
        return value
    }

    /// Loads the struct that a property holds and returns it. Throws where property access would return nil because of
    /// an error.
    @discardableResult
    public func load<Target: Entity>(_ relation: KeyPath<Self, Target?>) throws(MakoError) -> Target?
    where Target._$Kind == EntityKind.Value {
        lockedState { $0.setLoadError(nil) }
        let value = self[keyPath: relation]
        if value == nil, let error = loadError { throw error }
        return value
    }

    /// Loads a collection of objects or structs and returns it. Throws where property access would return an empty one because of
    /// an error.
    ///
    /// ```swift
    /// let songs = try playlist.load(\.songs)
    /// ```
    @discardableResult
    public func load<Objects: Collection>(_ relation: KeyPath<Self, Objects>) throws(MakoError) -> Objects {
        lockedState { $0.setLoadError(nil) }
        let value = self[keyPath: relation]
        if let error = loadError { throw error }
        return value
    }
}
