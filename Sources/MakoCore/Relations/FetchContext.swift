import MakoRecords
import MakoStorage
import Synchronization

/// The objects of one fetch and of what was loaded lazily from them: within it there is one object per row.
@usableFromInline
final class FetchContext: Sendable {
    /// Those of one type. Numbers apart from other keys: to find one takes a fraction of the time.
    private struct Objects {
        let model: Int
        private var numbered = NumberedObjects()
        private var keyed = KeyedObjects()

        init(model: Int) { self.model = model }

        mutating func object(_ key: RowKey) -> AnyObject? {
            if case .rowID(let id) = key, id != NumberedObjects.nobody { return numbered.object(id) }
            return keyed.object(key)
        }

        mutating func set(_ key: RowKey, _ object: AnyObject) {
            if case .rowID(let id) = key, id != NumberedObjects.nobody {
                numbered.set(id, object)
            } else {
                keyed.set(key, object)
            }
        }

        func forgetAll() {
            numbered.forgetAll()
            keyed.forgetAll()
        }
    }
    /// Few: the types that references lead to from one.
    private let types = Protected<[Objects]>([])
    /// When the rows are read, where reading them means reading others; only with structs, which keep nothing of it.
    let moment: Moment?

    struct Moment {
        let view: Snapshot
        let schema: SchemaState
        /// How many structs of types in a circle hold the row, one within the other.
        private var depth = 0

        /// A longer chain, or a circle of rows, is no value.
        static let depthLimit = 100

        init(view: Snapshot, schema: SchemaState) {
            self.view = view
            self.schema = schema
        }

        /// The moment for what such a struct holds; nil at the limit.
        var deeper: Moment? {
            guard depth + 1 < Self.depthLimit else { return nil }
            var next = self
            next.depth += 1
            return next
        }
    }

    /// Whether several queries share it.
    @usableFromInline let isShared: Bool

    init(_ moment: Moment? = nil, isShared: Bool = false) {
        self.moment = moment
        self.isShared = isShared
    }

    /// What the fetch itself found, until a reference is followed.
    private let results = AtomicLazyReference<FetchedResults>()

    /// The type of the owner that was asked last of those whose references lead to none of their own.
    private let harmless = Atomic<UInt>(0)

    deinit { types.with { for objects in $0 { objects.forgetAll() } } }

    func object<Target: ObjectEntity>(_ type: Target.Type, _ key: RowKey) -> Target? {
        settleResults()
        let number = Target.entityModel.number
        let object: AnyObject? = types.with { types in
            guard let place = types.firstIndex(where: { $0.model == number }) else { return nil }
            return types[place].object(key)
        }
        return object as? Target
    }

    /// Notes an object; answers the one that was noted before, if there is one.
    func note<Target: ObjectEntity>(_ object: Target, _ model: EntityModel, _ key: RowKey) -> Target {
        settleResults()
        return noteSettled(object, model, key)
    }

    private func noteSettled<Target: ObjectEntity>(
        _ object: Target, _ model: EntityModel, _ key: RowKey
    ) -> Target {
        let known: AnyObject? = types.with { types in
            guard let place = types.firstIndex(where: { $0.model == model.number }) else {
                var objects = Objects(model: model.number)
                objects.set(key, object)
                types.append(objects)
                return nil
            }
            if let known = types[place].object(key) { return known }
            types[place].set(key, object)
            return nil
        }
        return known as? Target ?? object
    }

    private func settleResults() {
        results.load()?.settle { object, model, key in _ = noteSettled(object, model, key) }
    }

    /// A type as one of objects, if references from its rows may lead to a row of its table again.
    @usableFromInline
    func circular(_ type: any Entity.Type) -> (any ObjectEntity.Type)? {
        guard isShared || type.entityModel.refersBack else { return nil }
        return type as? any ObjectEntity.Type
    }

    @usableFromInline
    func add(_ type: any ObjectEntity.Type, _ objects: [Unmanaged<AnyObject>]) {
        (results.load() ?? results.storeIfNil(FetchedResults())).add(type, objects)
    }

    /// Notes an object whose references are about to be followed, if they may lead to it again.
    func note(owner: some ObjectEntity) {
        let type = Swift.type(of: owner)
        let asked = UInt(bitPattern: ObjectIdentifier(type))
        if harmless.load(ordering: .relaxed) == asked { return }
        let model = type.entityModel
        guard model.leadsBack else {
            harmless.store(asked, ordering: .relaxed)
            return
        }
        guard let key = owner.lockedState({ $0.key }) else { return }
        _ = note(owner, model, key)
    }
}

/// Loads what a reference leads to.
enum LazyLoad {
    static func object<Target: ObjectEntity>(
        _ type: Target.Type, key: RowKey, for owner: some ObjectEntity
    ) throws(MakoError) -> Target? {
        let (number, context) = owner.lockedState { state in (state.database, state.requireContext()) }
        context.note(owner: owner)
        if let known = context.object(type, key) { return known }
        let database = try Database.resolve(number: number, for: Target.entityModel)
        database.metricsCounters.lazyLoads.with { $0 += 1 }
        guard let loaded = try database.object(type, key: key, context: context) else { return nil }
        return context.note(loaded, Target.entityModel, key)
    }

    /// The objects with these keys; a missing one has none in the result.
    static func objects<Target: ObjectEntity>(
        _ type: Target.Type, keys: [RowKey], for owner: some ObjectEntity
    ) throws(MakoError) -> [RowKey: Target] {
        let (number, context) = owner.lockedState { state in (state.database, state.requireContext()) }
        let model = Target.entityModel
        context.note(owner: owner)
        var objects: [RowKey: Target] = [:]
        var missing: [RowKey] = []
        var seen: Set<RowKey> = []
        for key in keys where seen.insert(key).inserted {
            if let known = context.object(type, key) { objects[key] = known } else { missing.append(key) }
        }
        if missing.isEmpty { return objects }
        // In their own order neighbours are read from the page that is at hand.
        missing.sort(by: RowKey.precedes)
        let database = try Database.resolve(number: number, for: model)
        database.metricsCounters.lazyLoads.with { $0 += 1 }
        for (key, loaded) in try database.objects(type, keys: missing, context: context) {
            objects[key] = context.note(loaded, model, key)
        }
        return objects
    }

    static func failed(_ error: MakoError, owner: some ObjectEntity) {
        owner.lockedState { $0.setLoadError(error) }
        Database.of(owner)?.failures.tell(FailedLoad(object: owner, error: error))
    }
}

extension ObjectEntity {
    /// Why the last lazy load of a relationship failed; nil when none did.
    public var loadError: MakoError? { lockedState { $0.extra?.loadError } }

    /// Loads a relationship and answers it; throws where plain access would answer nil.
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

    /// Loads a collection of objects and answers it; throws where plain access would answer an empty one.
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
