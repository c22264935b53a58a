import MakoRecords

/// The objects of one fetch and of what was loaded lazily from them: within it there is one object per row.
@usableFromInline
final class FetchContext: Sendable {
    private struct Entry {
        weak var object: (any ObjectEntity)?
    }
    /// Those of one type. Numbers apart from other keys: to hash one takes a fraction of the time.
    private struct Objects {
        let model: Int
        var byID: [Int64: Entry] = [:]
        var byKey: [[UInt8]: Entry] = [:]

        subscript(key: RowKey) -> Entry? {
            get {
                switch key {
                case .rowID(let id): byID[id]
                case .bytes(let bytes): byKey[bytes]
                }
            }
            set {
                switch key {
                case .rowID(let id): byID[id] = newValue
                case .bytes(let bytes): byKey[bytes] = newValue
                }
            }
        }
    }
    /// Few: the types that references lead to from one.
    private let types = Protected<[Objects]>([])

    func object(_ model: EntityModel, _ key: RowKey) -> (any ObjectEntity)? {
        if sabotaged("twoObjectsForOneRow") { return nil }
        return types.with { types in
            guard let place = types.firstIndex(where: { $0.model == model.number }) else { return nil }
            return types[place][key]?.object
        }
    }

    /// Notes an object; answers the one that was noted before, if there is one.
    func note(_ object: any ObjectEntity, _ model: EntityModel, _ key: RowKey) -> any ObjectEntity {
        types.with { types in
            guard let place = types.firstIndex(where: { $0.model == model.number }) else {
                var objects = Objects(model: model.number)
                objects[key] = Entry(object: object)
                types.append(objects)
                return object
            }
            if let known = types[place][key]?.object, !sabotaged("twoObjectsForOneRow") { return known }
            types[place][key] = Entry(object: object)
            return object
        }
    }

    /// Notes an object whose references are about to be followed, if they may lead to it again.
    func note(owner: some ObjectEntity, _ key: RowKey?) {
        let model = Swift.type(of: owner).entityModel
        if let key, model.leadsBack, !sabotaged("ownerNotNoted") { _ = note(owner, model, key) }
    }
}

/// Loads what a reference leads to.
enum LazyLoad {
    static func object<Target: ObjectEntity>(
        _ type: Target.Type, key: RowKey, for owner: some ObjectEntity
    ) throws(MakoError) -> Target? {
        let (number, context, ownKey) = owner.lockedState { state in
            (state.database, state.requireContext(), state.key)
        }
        let database = try Database.resolve(number: number, for: Target.entityModel)
        context.note(owner: owner, ownKey)
        if let known = context.object(Target.entityModel, key) as? Target { return known }
        database.metricsCounters.lazyLoads.with { $0 += 1 }
        guard let loaded = try database.object(type, key: key, context: context) else { return nil }
        return context.note(loaded, Target.entityModel, key) as? Target ?? loaded
    }

    /// The objects with these keys; a missing one has none in the result.
    static func objects<Target: ObjectEntity>(
        _ type: Target.Type, keys: [RowKey], for owner: some ObjectEntity
    ) throws(MakoError) -> [RowKey: Target] {
        let (number, context, ownKey) = owner.lockedState { state in
            (state.database, state.requireContext(), state.key)
        }
        let model = Target.entityModel
        let database = try Database.resolve(number: number, for: model)
        context.note(owner: owner, ownKey)
        var objects: [RowKey: Target] = [:]
        var missing: [RowKey] = []
        var seen: Set<RowKey> = []
        for key in keys where seen.insert(key).inserted {
            if let known = context.object(model, key) as? Target { objects[key] = known } else { missing.append(key) }
        }
        if missing.isEmpty { return objects }
        database.metricsCounters.lazyLoads.with { $0 += 1 }
        for (key, loaded) in try database.objects(type, keys: missing, context: context) {
            objects[key] = context.note(loaded, model, key) as? Target ?? loaded
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
