import MakoRecords

/// A to-many relationship: the objects whose reference leads to the owner, read lazily by a query.
///
/// ```swift
/// for person in try department.people.load() { … }
/// let old = try department.people.query().where(\.age > 60).orderBy(\.name).fetch()
/// ```
public struct ToMany<Target: ObjectEntity>: @unchecked Sendable {
    // Unchecked: a key path, which is immutable, and a `Sendable` object.
    private let owner: any ObjectEntity
    private let inverse: PartialKeyPath<Target>

    /// Creates the relationship of an owner and the reference that leads to it.
    public init(owner: any ObjectEntity, inverse: PartialKeyPath<Target>) {
        self.owner = owner
        self.inverse = inverse
    }

    /// Returns the query for the objects; it finds none for an owner that is not stored.
    public func query() -> Query<Target> {
        let query = Query<Target>(database: Database.of(owner))
        guard let key = owner.storedKey else { return query.adding(.parsed(.constant(false))) }
        do throws(MakoError) {
            let column = try Target.entityModel.columnName(of: inverse)
            let model = type(of: owner).entityModel
            // A subclass inherits the property, but the column holds keys of the superclass's table, so nothing refers
            // to its rows.
            let refersToAny = Target.entityModel.columns.contains { $0.column == column && $0.refersToAny }
            if !refersToAny && Target.entityModel.target(ofColumn: column)?.hasTable(of: model) != true {
                return query.adding(.parsed(.constant(false)))
            }
            return query.adding(.refers(columns: [column], to: key, of: model))
        } catch {
            return query.adding(.failed(error))
        }
    }

    /// Reads the objects, to be iterated: `for dog in try jo.dogs.load() { … }`. Reads nothing where a query has prefetched
    /// them and no commit followed.
    ///
    /// - Throws: `MakoError.unreadableValue` when one of them cannot be read; the loop over the result never fails.
    public func load() throws(MakoError) -> Results<Target> {
        if let known = try prefetched() { return Results(known) }
        return try query().fetch()
    }

    /// Gives an object to the owner: its reference becomes the owner. The next `commit()` or `save` of the owner, or of
    /// the object, stores that; a query finds it afterwards.
    ///
    /// ```swift
    /// try jo.dogs.append(Dog(name: "Rex"))
    /// try jo.commit()
    /// ```
    ///
    /// - Throws: `MakoError.unsupported` where the other side is neither a reference, an array nor a set; errors of
    ///   loading an array or a set.
    public func append(_ member: Target) throws(MakoError) {
        try change(member, MemberChange.append)
        owner.lockedState { $0.requireMembers() }.add(member)
    }

    /// Takes an object from the owner: its reference becomes nil. The next save of the owner, or of the object, stores
    /// that; the object is not deleted.
    ///
    /// - Returns: false when the object refers to another owner, or to none.
    /// - Throws: as ``append(_:)``.
    @discardableResult
    public func remove(_ member: Target) throws(MakoError) -> Bool {
        guard try change(member, MemberChange.remove) else { return false }
        owner.lockedState { $0.requireMembers() }.add(member, hasLeft: true)
        return true
    }

    /// Changes the other side of the relationship. False: it was so already.
    @discardableResult
    private func change(_ member: Target, _ change: MemberChange) throws(MakoError) -> Bool {
        var model: EntityModel? = Swift.type(of: owner).entityModel
        // The reference of a subclass's object is declared with the superclass.
        while let next = model {
            if let type = next.type as? any ObjectEntity.Type,
                let isChanged = try change.apply(member, inverse, to: owner, as: type)
            {
                return isChanged
            }
            model = next.superclass
        }
        if let isChanged = try change.applyToAny(member, inverse, to: owner) { return isChanged }
        throw .unsupported("changing a ToMany whose other side is neither a reference, an array nor a set")
    }

    /// How many there are, by a query that counts. A property, so that `print(team.members.count)` without `try` does not compile.
    public var count: Int { get throws(MakoError) { try query().count() } }

    /// Returns the query for the objects that fulfil a condition.
    public func `where`(_ condition: Condition<Target>) -> Query<Target> { query().where(condition) }

    /// The prefetched objects, if they are of the latest commit.
    func prefetched() throws(MakoError) -> [Target]? {
        let model = Target.entityModel
        guard owner.lockedState({ $0.extra?.prefetched }) != nil, let column = model.keyPaths[inverse],
            let many = owner.lockedState({ $0.takePrefetched(for: column, of: model) }),
            let database = Database.of(owner), ThreadScope.current(of: database)?.transaction == nil
        else { return nil }
        let newest = try database.viewing(model) { (view, _, _) throws(MakoError) in view.commitNumber }
        return newest == many.commit ? many.objects as? [Target] : nil
    }
}

/// A change of the other side of a ``ToMany``.
private enum MemberChange {
    case append, remove

    /// Changes a member's reference, array or set of owners.
    ///
    /// - Returns: nil where the property has another type; false: it was so already.
    func apply<Target: ObjectEntity, Owner: ObjectEntity>(
        _ member: Target, _ inverse: PartialKeyPath<Target>, to owner: any ObjectEntity, as type: Owner.Type
    ) throws(MakoError) -> Bool? {
        guard let owner = owner as? Owner else { return nil }
        if let path = inverse as? ReferenceWritableKeyPath<Target, Owner?> {
            let isOwn = try member.load(path)?.isSame(as: owner) == true
            // The same row may have another object.
            if self == .append { member[keyPath: path] = owner } else if isOwn { member[keyPath: path] = nil }
            return self == .append || isOwn
        }
        if let path = inverse as? ReferenceWritableKeyPath<Target, [Owner]> {
            var owners = try member.load(path)
            let place = owners.firstIndex { $0.isSame(as: owner) }
            if self == .append, place == nil { owners.append(owner) }
            if self == .remove, let place { owners.remove(at: place) }
            return set(path, of: member, owners, isChanged: (place == nil) == (self == .append))
        }
        guard let path = inverse as? ReferenceWritableKeyPath<Target, Set<Owner>> else { return nil }
        var owners = try member.load(path)
        let known = owners.first { $0.isSame(as: owner) }
        if self == .append, known == nil { owners.insert(owner) }
        if self == .remove, let known { owners.remove(known) }
        return set(path, of: member, owners, isChanged: (known == nil) == (self == .append))
    }

    /// Changes a reference to objects of any entity, or an array of them.
    func applyToAny<Target: ObjectEntity>(
        _ member: Target, _ inverse: PartialKeyPath<Target>, to owner: any ObjectEntity
    ) throws(MakoError) -> Bool? {
        if let path = inverse as? ReferenceWritableKeyPath<Target, [any ObjectEntity]> {
            var owners = try member.load(path)
            let place = owners.firstIndex { $0.isSame(as: owner) }
            if self == .append, place == nil { owners.append(owner) }
            if self == .remove, let place { owners.remove(at: place) }
            return set(path, of: member, owners, isChanged: (place == nil) == (self == .append))
        }
        if let path = inverse as? any OwnerElements {
            return try path.change(member, owner: owner, isAppended: self == .append)
        }
        guard let path = inverse as? ReferenceWritableKeyPath<Target, (any ObjectEntity)?> else { return nil }
        let isOwn = try member.load(path)?.isSame(as: owner) == true
        if self == .append { member[keyPath: path] = owner } else if isOwn { member[keyPath: path] = nil }
        return self == .append || isOwn
    }

    private func set<Target: ObjectEntity, V>(
        _ path: ReferenceWritableKeyPath<Target, V>, of member: Target, _ value: V, isChanged: Bool
    ) -> Bool {
        if isChanged { member[keyPath: path] = value }
        return isChanged
    }
}

/// A key path of an array whose elements hold objects of any class, but are none themselves.
protocol OwnerElements {
    /// Adds an owner to the array of a member, or removes it.
    ///
    /// - Returns: nil for an object without the array; false: it was so already.
    func change(_ member: any ObjectEntity, owner: any ObjectEntity, isAppended: Bool) throws(MakoError) -> Bool?
}
